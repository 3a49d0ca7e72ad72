"""What the conversion has to know about a trained model, whatever its kind."""

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, NamedTuple, Set

from fairseq.data import Dictionary
from fairseq.models import FairseqEncoderDecoderModel
from torch import Tensor

from sit_fairseq.conversion.reading import Dictionaries
from sit_fairseq.symbols.vocabulary import Vocabulary


class Table(NamedTuple):
    """A matrix with one row per token of a dictionary."""

    name: str
    dictionary: Dictionary


@dataclass(frozen=True)
class Original:
    """A trained model, described in terms of the model that it becomes.

    Attributes:
        model_options: options of ``symbol_invariant_transformer``, by their names in its
            configuration, under which it computes the same function of one stream.
        task_options: options of ``stream_translation`` that hold on.
        dictionaries: the tokens of its sources and targets.
        tensors: its weights in float32, by name.
        tables: which table the rows of each embedding of the converted model come from.
        parts: maps the name of any other tensor of the converted model to the names of
            the tensors which that one consists of, one below the other.
        never_produced: tokens that no answer of it can hold.
        unused: names of what its file holds besides ``tensors``.
        in_slot_space: wraps it to compute over the canonical ids of a vocabulary, for
            sentences whose only symbol is the given token.
    """

    model_options: Dict[str, Any]
    task_options: Dict[str, Any]
    dictionaries: Dictionaries
    tensors: Dict[str, Tensor]
    tables: Dict[str, Table]
    parts: Callable[[str], List[str]]
    never_produced: Set[str]
    unused: List[str]
    in_slot_space: Callable[[Vocabulary, str], FairseqEncoderDecoderModel]
