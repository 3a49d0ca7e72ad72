"""The baseline ``--symbol-embedding fixed`` as a source of the conversion.

This is the paper's own experiment: a transformer with a learnt row for each symbol, and
tree positions, rotary positions and a cosine head as the model over streams has them.
"""

from dataclasses import fields
from typing import Any, Dict, Optional, Set

from fairseq.data import Dictionary
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from torch import Tensor

from sit_fairseq.conversion import reading
from sit_fairseq.conversion.original import Original, Table
from sit_fairseq.conversion.refusals import (
    refuse_numbers,
    refuse_symbol_embedding,
    refuse_weights,
)
from sit_fairseq.conversion.slot_space import SlotSpaceTransformer
from sit_fairseq.errors import UserError
from sit_fairseq.logic.syntax import ARITY
from sit_fairseq.models.baselines import FixedVocabulary
from sit_fairseq.models.symbol_invariant_transformer import (
    SymbolInvariantTransformerConfig,
    SymbolInvariantTransformerModel,
)
from sit_fairseq.symbols.saved_tokens import saved_vocabulary
from sit_fairseq.tasks.stream_dictionary import StreamDictionary

# What a model over streams has another value of, or no use for. With fresh symbols it would compute
# something else, as their streams are in every mean: they are for the training that follows, and
# need no weights.
_NOT_CARRIED = (
    "symbol_embedding",
    "symbol_code_dim",
    "aggregated_normalize_before",
    "fresh_names",
)
_TABLES = ("encoder.embed_tokens", "decoder.embed_tokens", "decoder.output_projection")


def read_baseline(
    path: str, state: Dict[str, Any], *, data: Optional[str] = None, ema: bool = False
) -> Original:
    """Describes a checkpoint of a model trained with ``--symbol-embedding fixed``.

    Its tokens are in the checkpoint, so that its data need not be there any more.

    Args:
        path: its name, for messages.
        state: its contents, see :func:`reading.read_state`.
        data: a directory of sentences to compare models on; None for the one recorded.
        ema: take the moving average of the weights.

    Raises:
        UserError: if it cannot be converted.
    """
    options = reading.model_options(state)
    refuse_symbol_embedding(path, options)
    weights = reading.weights(state, path, ema)
    refuse_weights(path, weights)
    cfg = _config(path, options)
    refuse_numbers(path, cfg)
    reading.check_data(data)
    task = reading.task_options(state)
    data = data or reading.recorded_data(task)
    tokens = _tokens(path, weights)
    dictionaries = reading.Dictionaries(data, *reading.languages(task, data), tokens, tokens)
    model = _build(path, cfg, weights)
    return Original(
        model_options=_stream_options(cfg),
        task_options=reading.lasting_task_options(state),
        dictionaries=dictionaries,
        tensors={n: t for n, t in model.state_dict().items() if ".vocabulary." not in n},
        tables={f"{name}.weight": Table(f"{name}.weight", tokens) for name in _TABLES},
        parts=lambda name: [name],
        never_produced=_never_produced(model),
        unused=[name for name in weights if ".vocabulary." in name],
        in_slot_space=lambda vocabulary, actual: SlotSpaceTransformer(
            model, dictionaries, vocabulary, actual
        ),
    )


def _config(path: str, options: Dict[str, Any]) -> DictConfig:
    """The model's options; those that are newer than the file have their defaults."""
    names = [field.name for field in fields(SymbolInvariantTransformerConfig)]
    names.remove("fresh_symbols")
    known = {n: options[n] for n in names if n in options and not n.startswith("_")}
    known["fresh_names"] = None
    try:
        cfg = OmegaConf.merge(OmegaConf.structured(SymbolInvariantTransformerConfig), known)
        OmegaConf.to_container(cfg, resolve=True)
    except OmegaConfBaseException as error:
        reason = str(error).splitlines()[0]
        raise UserError(
            f"{path} holds options that symbol_invariant_transformer cannot read: {reason}"
        )
    return cfg


def _tokens(path: str, weights: Dict[str, Tensor]) -> Dictionary:
    """The tokens in the order of their rows.

    Raises:
        UserError: if they are missing or do not fit the rows.
    """
    try:
        saved = saved_vocabulary(weights)
    except ValueError:  # no text
        saved = None
    if saved is None:
        raise UserError(f"{path} lacks the tokens of its embeddings; name another file")
    dictionary = Dictionary()
    for token in saved[0]:
        dictionary.add_symbol(token)
    for name in _TABLES:
        table = weights.get(f"{name}.weight")
        if table is not None and table.size(0) != len(dictionary):
            raise UserError(
                f"{path} has {table.size(0)} rows in {name}.weight for {len(dictionary)} tokens; "
                "name another file"
            )
    return dictionary


def _build(
    path: str, cfg: DictConfig, weights: Dict[str, Tensor]
) -> SymbolInvariantTransformerModel:
    """The model with its weights; its dictionary is in the order of rows, too."""
    try:
        model = SymbolInvariantTransformerModel(cfg, FixedVocabulary(StreamDictionary()), ARITY)
        model.load_state_dict(dict(weights), strict=True)
    except (ArithmeticError, KeyError, RuntimeError, TypeError, UserError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"the weights of {path} do not fit its options: {reason}")
    return model.eval()


def _never_produced(model: SymbolInvariantTransformerModel) -> Set[str]:
    vocabulary = model.vocabulary
    if vocabulary.source_only is None:
        return set()
    indices = vocabulary.index_of_row[vocabulary.source_only.bool()]
    return {vocabulary.dictionary[index] for index in indices.tolist()}


def _stream_options(cfg: DictConfig) -> Dict[str, Any]:
    """All options but those of ``_NOT_CARRIED``, choices by name."""
    values = OmegaConf.to_container(cfg, resolve=True, enum_to_str=True)
    carried = {name: value for name, value in values.items() if not name.startswith("_")}
    return {name: value for name, value in carried.items() if name not in _NOT_CARRIED}
