"""The shared base of our two kinds of transformers models. `sit export --transformers` copies this
file, and those it imports, into the folder of a model.

Shapes: B sentences, L ids, T tokens; :class:`Spelling` defines the ids.
"""

import contextlib
import math
from dataclasses import dataclass, fields
from typing import Any, Dict, Iterator, List, Optional

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import GenerationConfig, PretrainedConfig, PreTrainedModel
from transformers.utils import ModelOutput

from sit_fairseq.export.hugging_face_ids import over_ids
from sit_fairseq.export.hugging_face_tokens import BOS, EOS, PAD, Spelling
from sit_fairseq.models.config import ModelConfig
from sit_fairseq.models.positions import SinusoidalPositions
from sit_fairseq.models.transformer import log_probabilities
from sit_fairseq.symbols.pattern import SPECIAL_TOKENS
from sit_fairseq.symbols.saved_tokens import text_buffer
from sit_fairseq.symbols.slots import Slots
from sit_fairseq.symbols.tokens import TokenTable

IGNORED = -100  # the label of what no loss counts, by convention

# What transformers passes to generate() and no answer depends on.
_WITHOUT_EFFECT = {"labels", "decoder_attention_mask", "use_cache", "early_stopping"}
_WITHOUT_EFFECT |= {"transformers_version", "_from_model_config"}
# What it passes beside options of a GenerationConfig, for searches that we do not have.
_PASSED = {"logits_processor", "stopping_criteria", "prefix_allowed_tokens_fn", "synced_gpus"}
_PASSED |= {"assistant_model", "streamer", "custom_generate", "tokenizer", "assistant_tokenizer"}


class SymbolInvariantConfig(PretrainedConfig):
    """The content of ``config.json``: the options of training, and the tokens."""

    model_type = "symbol_invariant_transformer"

    cfg: Optional[Dict[str, Any]] = None  # the options, as fairseq keeps them
    tokens: Optional[List[str]] = None  # see SymbolTokenizer
    symbols: str = "[a-z]"  # likewise
    operands: Optional[str] = None  # of operators, where no domain of the package says them
    symbol_rows: Optional[str] = None  # of symbol_embedding="canonical", see CanonicalVocabulary
    masked: bool = True  # some tokens cannot be produced
    grammar: Optional[str] = None  # of answers, a key of GRAMMARS, as the domain of training says
    vocab_size: int = 0

    def model_options(self, kind: Any = ModelConfig) -> Any:
        """The options of the model alone."""
        given = (self.cfg or {}).get("model", {})
        names = {field.name for field in fields(kind)}
        return kind(**{name: value for name, value in given.items() if name in names})


class _Names(TokenTable):
    """Tokens of a model; a symbol has the sort that it was spelled with."""

    def __init__(self) -> None:
        self.spelled: Dict[str, int] = {}
        super().__init__()

    def sort(self, token: str) -> Optional[int]:
        """See :class:`TokenTable`."""
        return self.spelled[token] if token in self.spelled else super().sort(token)


@dataclass
class Answers(ModelOutput):
    """The return value of :meth:`SymbolInvariantForSeq2SeqLM.generate`.

    Attributes:
        sequences: (B * N, L) ids of the answers, best first, after a first ``</s>``.
        sequences_scores: (B * N,) log-probabilities divided by lengths; -inf where there are fewer
            answers than N.
        verified: (B,) whether ``verify`` has accepted the first answer; None without it.
        reasons: why a sentence has no answer, for each of them; None where it has one. Its ids are
            those of the empty text, with a score of -inf.
    """

    sequences: Optional[Tensor] = None
    sequences_scores: Optional[Tensor] = None
    verified: Optional[Tensor] = None
    reasons: Optional[List[Optional[str]]] = None


class SymbolInvariantModel(PreTrainedModel):
    """The base of models that read the ids of :class:`SymbolTokenizer`.

    A subclass makes its ``_vocabulary`` and its ``_core``, and has ``_answer``, whose options are those
    of ``generate``.
    """

    config_class = SymbolInvariantConfig
    accepts_loss_kwargs = False
    # What transformers says of lengths with the first </s>, and how ours are called.
    _lengths = {"max_length": "max_new_tokens", "min_length": "min_new_tokens"}

    def __init__(self, config: SymbolInvariantConfig) -> None:
        super().__init__(config)
        options, task = config.model_options(), (config.cfg or {}).get("task", {})
        names = task.get("fresh_names") or (config.cfg or {}).get("model", {}).get("fresh_names")
        with torch.device("cpu"):  # tables of the vocabulary are no weights, which come later
            self._dictionary = _Names()
            vocabulary = self._vocabulary(options, names)
            saved = {
                "base_tokens": text_buffer("\n".join(config.tokens or ()) or "\n"),
                "symbols": text_buffer(config.symbols),
            }
            if config.masked:
                saved["source_only"] = torch.zeros(len(SPECIAL_TOKENS) + len(config.tokens or ()))
            if config.symbol_rows is not None:
                saved["symbol_rows"] = text_buffer(config.symbol_rows)
            if config.operands is not None:
                saved["operands"] = text_buffer(config.operands)
            vocabulary.load_state_dict(saved)
            self.core = self._core(options, vocabulary, task.get("seed", 1))
        self._spelling = Spelling(config.tokens or (), vocabulary.num_sorts)
        self.post_init()
        self._keep_in_fp32_modules_strict = {"output_scale"}  # 4.57 looks for parameters before

    def _init_weights(self, module: torch.nn.Module) -> None:
        """The model has drawn its weights; of tables that no file holds transformers keeps sizes."""
        if isinstance(module, SinusoidalPositions):
            with torch.device("cpu"):
                module.table.copy_(SinusoidalPositions(*module.table.shape).table)

    def save_pretrained(self, folder: Any, state_dict: Any = None, **options: Any) -> None:
        """As in transformers; a matrix with several names is written once for each."""
        given = state_dict or self.state_dict()
        weights = {name: value.clone() for name, value in given.items()}
        super().save_pretrained(folder, state_dict=weights, **options)

    @classmethod
    def can_generate(cls) -> bool:
        """True: transformers gives a ``generation_config`` to models that can generate."""
        return True

    def _chosen(
        self, config: Optional[GenerationConfig], options: Dict[str, Any]
    ) -> Dict[str, Any]:
        """The options of :meth:`_answer` among those of a configuration and those given."""
        usual = GenerationConfig().to_dict()
        if config is None:
            config = self.generation_config
            # Trainers write what is usual into the configuration of a model.
            usual.update(getattr(config, "_get_default_generation_params", dict)())
        said = {n: value for n, value in config.to_dict().items() if value != usual.get(n)}
        ours, chosen = self._answer.__kwdefaults__, {}
        for given in (said, options):
            given = {name: value for name, value in given.items() if value is not None}
            for name, new in self._lengths.items():
                if name in given:
                    given.setdefault(new, max(given.pop(name) - 1, 1))
            chosen.update(given)
        for name, value in list(chosen.items()):
            if name in ours:
                continue
            own = getattr(self.config, name, None) if name.endswith("_token_id") else None
            known = name in usual or name in _PASSED
            if name not in _WITHOUT_EFFECT and not (
                known and (not value or value in (usual.get(name), own, [own]))
            ):
                shown = " ".join(repr(value).split())[:80]
                raise ValueError(f"generate has no {name}={shown}; it has {', '.join(ours)}")
            del chosen[name]
        return chosen

    def _refuse(self, options: Dict[str, Any]) -> None:
        """Refuses options of transformers that ``forward`` does not have."""
        said = ("output_hidden_states", "output_attentions", "return_dict")
        given = {name: getattr(self.config, name, None) for name in said}
        given.update((name, value) for name, value in options.items() if value is not None)
        for name, value in given.items():
            if name != "use_cache" and value is not None and value is not (name == "return_dict"):
                raise ValueError(f"the model has no {name}; it computes logits and loss alone")

    def _logits(self, logits: Tensor, ids: Tensor, mask: Optional[Tensor], slots: Slots) -> Tensor:
        """(B, T, V) logits of the tokens after (B, L) ids to (B, L, vocab_size) log-probabilities."""
        base, found = self.core.vocabulary.index_of_row.tolist(), []
        known = ids.gt(PAD) if mask is None else ids.gt(PAD) & mask.bool()
        rows = zip(ids.tolist(), known.tolist())
        for log_probs, names, row in zip(
            log_probabilities(logits).cpu(), slots.every.tolist(), rows
        ):
            words = [self._dictionary[index] for index in (*base, *names)]
            paths = [tuple(self._ids(word)) for word in words]
            read = [number if is_known else None for number, is_known in zip(*row)]
            found.append(over_ids(log_probs, paths, read, self._spelling))
        return torch.stack(found).to(logits.device)

    @staticmethod
    def _loss(logits: Tensor, labels: Tensor) -> Tensor:
        """The mean cross-entropy of an id; of those that cannot be produced none counts."""
        labels = labels.to(logits.device)
        right = logits.gather(2, labels.clamp(min=0).unsqueeze(2)).squeeze(2)
        labels = labels.masked_fill(labels.eq(PAD) | right.eq(-math.inf), IGNORED)
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)

    @contextlib.contextmanager
    def _names(self) -> Iterator[None]:
        """The dictionary learns the names of one call, and forgets them at its end."""
        with self._dictionary.names_of_one_call():
            try:
                yield
            finally:
                self._dictionary.spelled.clear()

    def _read(
        self,
        ids: Tensor,
        mask: Optional[Tensor] = None,
        longest: Optional[int] = None,
        limited: bool = True,
    ) -> Tensor:
        """(B, L) ids to (B, T) dictionary indices on the CPU, padded on the right; by default those
        of sources."""
        if not isinstance(ids, Tensor) or ids.dim() != 2 or not len(ids) or ids.is_floating_point():
            raise ValueError("ids are a tensor (B, L) of whole numbers, of one sentence or more")
        if mask is not None and mask.shape != ids.shape:
            raise ValueError("attention_mask needs the shape of input_ids")
        longest = longest or self.core.reader.cfg.max_positions
        rows = []
        for number, row in enumerate(ids.tolist()):
            kept = row if mask is None else [i for i, m in zip(row, mask[number].tolist()) if m]
            words = self._spelling.read([i for i in kept if i not in (BOS, PAD)])
            self._dictionary.spelled.update(
                (word, sort) for word, sort in words if sort is not None
            )
            rows.append([self._dictionary.index(word) for word, _ in words])
            if limited and len(rows[-1]) > longest:
                raise ValueError(f"a sentence has {len(rows[-1])} tokens, more than {longest}")
        return padded(rows)

    def _ids(self, word: str) -> List[int]:
        known = word in self._spelling.rows
        return self._spelling.ids(word, None if known else self._dictionary.sort(word))


def padded(rows: List[List[int]]) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows], dtype=torch.long)
