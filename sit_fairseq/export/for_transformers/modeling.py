"""The models of transformers: `sit export --transformers` copies this file, and those it imports, into
the folder of a model.

Shapes: B sentences or texts, T tokens, L ids; :class:`Spelling` defines the ids.
"""

import math
from dataclasses import fields
from typing import Any, Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput, Seq2SeqLMOutput

from sit_fairseq.domains.formulas.syntax import ARITY
from sit_fairseq.export.for_transformers.generation import Generates
from sit_fairseq.export.for_transformers.spelling import BOS, EOS, PAD, Spelling, over_ids, padded
from sit_fairseq.models.baselines import make_vocabulary
from sit_fairseq.models.config import LanguageModelConfig, ModelConfig, has_source
from sit_fairseq.models.language_model import SymbolInvariantLanguageModel
from sit_fairseq.models.positions import SinusoidalPositions
from sit_fairseq.models.transformer import SymbolInvariantTransformer, log_probabilities
from sit_fairseq.search.prompt_search import PromptSearch
from sit_fairseq.symbols.pattern import SPECIAL_TOKENS
from sit_fairseq.symbols.saved_tokens import text_buffer
from sit_fairseq.symbols.slots import Slots
from sit_fairseq.symbols.tokens import TokenTable

IGNORED = -100  # the label of what no loss counts, by convention


class SymbolInvariantConfig(PretrainedConfig):
    """The content of ``config.json``: the options of training, and the tokens."""

    model_type = "symbol_invariant_transformer"
    _options = ModelConfig

    cfg: Optional[Dict[str, Any]] = None  # the options, as fairseq keeps them
    tokens: Optional[List[str]] = None  # see SymbolTokenizer
    symbols: str = "[a-z]"  # likewise
    operands: Optional[str] = None  # of operators, where no domain of the package says them
    symbol_rows: Optional[str] = None  # of symbol_embedding="canonical", see CanonicalVocabulary
    masked: bool = True  # some tokens cannot be produced
    grammar: Optional[str] = None  # of answers, a key of GRAMMARS, as the domain of training says
    vocab_size: int = 0

    def model_options(self) -> Any:
        """The options of the model alone."""
        given = (self.cfg or {}).get("model", {})
        names = {field.name for field in fields(self._options)}
        return self._options(**{name: value for name, value in given.items() if name in names})


class SymbolInvariantTextConfig(SymbolInvariantConfig):
    """The content of ``config.json`` of a language model."""

    model_type = "symbol_invariant_transformer_lm"
    _options = LanguageModelConfig


class _Names(TokenTable):
    """Tokens of a model; a symbol has the sort that it was spelled with."""

    def __init__(self) -> None:
        self.spelled: Dict[str, int] = {}
        super().__init__()

    def sort(self, token: str) -> Optional[int]:
        """See :class:`TokenTable`."""
        return self.spelled[token] if token in self.spelled else super().sort(token)

    def forget_after(self, size: int) -> None:
        """See :class:`TokenTable`."""
        super().forget_after(size)
        self.spelled.clear()


class SymbolInvariantModel(Generates, PreTrainedModel):
    """The base of models that read the ids of :class:`SymbolTokenizer`; a subclass says how a search
    begins."""

    config_class = SymbolInvariantConfig
    accepts_loss_kwargs = False

    def __init__(self, config: SymbolInvariantConfig) -> None:
        super().__init__(config)
        options, task = config.model_options(), (config.cfg or {}).get("task", {})
        names = task.get("fresh_names") or (config.cfg or {}).get("model", {}).get("fresh_names")
        with torch.device("cpu"):  # tables of the vocabulary are no weights, which come later
            self._dictionary = _Names()
            arity = ARITY if has_source(options) else {}
            vocabulary = make_vocabulary(options, self._dictionary, arity, names)
            saved = {
                "base_tokens": text_buffer("\n".join(config.tokens or ()) or "\n"),
                "symbols": text_buffer(config.symbols),
            }
            if config.masked:
                saved["source_only"] = torch.zeros(len(SPECIAL_TOKENS) + len(config.tokens or ()))
            for name in ("symbol_rows", "operands"):
                if getattr(config, name) is not None:
                    saved[name] = text_buffer(getattr(config, name))
            vocabulary.load_state_dict(saved)
            if has_source(options):
                self.core = SymbolInvariantTransformer(options, vocabulary, task.get("seed", 1))
            else:
                self.core = SymbolInvariantLanguageModel(options, vocabulary)
        self._spelling = Spelling(config.tokens or (), vocabulary.num_sorts)
        self.post_init()
        self._keep_in_fp32_modules_strict = {"output_scale"}  # 4.57 looks for parameters before

    def _init_weights(self, module: nn.Module) -> None:
        """The model has drawn its weights; of tables that no file holds transformers keeps sizes."""
        if isinstance(module, SinusoidalPositions):
            with torch.device("cpu"):
                module.table.copy_(SinusoidalPositions(*module.table.shape).table)

    def save_pretrained(
        self,
        save_directory: Any,
        is_main_process: bool = True,
        state_dict: Any = None,
        **options: Any,
    ) -> None:
        """As in transformers; a matrix with several names is written once for each."""
        given = state_dict or self.state_dict()
        weights = {name: value.clone() for name, value in given.items()}
        super().save_pretrained(save_directory, is_main_process, state_dict=weights, **options)

    @classmethod
    def can_generate(cls) -> bool:
        """True: transformers gives a ``generation_config`` to models that can generate."""
        return True

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
        rows, log_probs = zip(ids.tolist(), known.tolist()), log_probabilities(logits).cpu()
        for log_probs, names, row in zip(log_probs, slots.every.tolist(), rows):
            paths = [tuple(self._ids(self._dictionary[index])) for index in (*base, *names)]
            read = [number if is_known else None for number, is_known in zip(*row)]
            found.append(over_ids(log_probs, paths, read, self._spelling))
        return torch.stack(found).to(logits.device)

    def _loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The mean cross-entropy of a token, however many ids spell it; of those that cannot be produced
        none counts."""
        labels = labels.to(logits.device)
        right = logits.gather(2, labels.clamp(min=0).unsqueeze(2)).squeeze(2)
        labels = labels.masked_fill(labels.eq(PAD) | right.eq(-math.inf), IGNORED)
        tokens = (labels.ne(IGNORED) & labels.lt(self._spelling.further)).sum()
        logits, labels = logits.flatten(0, 1), labels.flatten()
        return F.cross_entropy(logits, labels, ignore_index=IGNORED, reduction="sum") / tokens

    def _read(
        self, ids: Tensor, mask: Optional[Tensor] = None, longest: float = math.inf
    ) -> Tensor:
        """(B, L) ids to (B, T) dictionary indices on the CPU, padded on the right."""
        if not isinstance(ids, Tensor) or ids.dim() != 2 or not len(ids) or ids.is_floating_point():
            raise ValueError("ids are a tensor (B, L) of whole numbers, of one sentence or more")
        if mask is not None and mask.shape != ids.shape:
            raise ValueError("attention_mask needs the shape of input_ids")
        rows = []
        for number, row in enumerate(ids.tolist()):
            kept = row if mask is None else [i for i, m in zip(row, mask[number].tolist()) if m]
            words = self._spelling.read([i for i in kept if i not in (BOS, PAD)])
            self._dictionary.spelled.update(one for one in words if one[1] is not None)
            rows.append([self._dictionary.index(word) for word, _ in words])
            if len(rows[-1]) > longest:
                raise ValueError(f"a sentence has {len(rows[-1])} tokens, more than {longest}")
        return padded(rows)

    @staticmethod
    def _begun(tokens: Tensor) -> Tensor:
        """(B, T) dictionary indices without a first ``</s>``, padded on the right."""
        rows = [[index for index in row if index != PAD] for row in tokens.tolist()]
        return padded([row[1:] if row[:1] == [EOS] else row for row in rows])

    def _ids(self, word: str) -> List[int]:
        known = word in self._spelling.rows
        return self._spelling.ids(word, None if known else self._dictionary.sort(word))


class SymbolInvariantForSeq2SeqLM(SymbolInvariantModel, GenerationMixin):
    """:class:`SymbolInvariantTransformer` over the ids of :class:`SymbolTokenizer`."""

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Optional[Tensor] = None,
        decoder_input_ids: Optional[Tensor] = None,
        labels: Optional[Tensor] = None,
        **others: Any,
    ) -> Seq2SeqLMOutput:
        """Teacher forcing; a ValueError if ids spell no sentences, or another option is given.

        Args:
            input_ids: (B, L) sources with ``</s>``, padded on either side.
            attention_mask: (B, L) 0 at padding.
            decoder_input_ids: (B, L') targets after ``</s>``; made from labels where there are some.
            labels: (B, L') targets with ``</s>``, -100 or ``<pad>`` where no loss counts.

        Returns:
            ``logits``, (B, L', vocab_size) log-probabilities of the id after each one, see
            :func:`over_ids`; with labels ``loss``, the mean cross-entropy of a token. A fresh
            symbol is called as in the target.
        """
        self._refuse(others)
        if labels is None and decoder_input_ids is None:
            raise ValueError("the model needs labels or decoder_input_ids")
        with self._dictionary.names_of_one_call():
            longest = self.core.reader.cfg.max_positions
            source = self.core.encode(self._read(input_ids, attention_mask, longest))
            names, ids = source.slots.names, decoder_input_ids
            if labels is not None:
                ids = labels = labels.masked_fill(labels.eq(IGNORED), PAD)
            targets = previous = self._targets(ids, len(names))
            if labels is not None:
                ids, previous = (F.pad(right, (1, -1), value=EOS) for right in (labels, targets))
            logits = self.core.decode(previous.to(names.device), source)
            slots = source.slots.to("cpu", non_blocking=False)  # names are read at once
            logits = self._logits(logits, ids, None, slots.named(targets))
        loss = None if labels is None else self._loss(logits, labels)
        return Seq2SeqLMOutput(loss=loss, logits=logits)

    @staticmethod
    def _lengths(
        most_new: Optional[int], most: Optional[int], least_new: Optional[int], least: Optional[int]
    ) -> Dict[str, Any]:
        # Lengths of all count the first </s>.
        most, least = (200 if most is None else max(most - 1, 1), max((least or 2) - 1, 1))
        return {
            "max_len_b": most if most_new is None else most_new,
            "min_len": least if least_new is None else least_new,
        }

    def _begin(
        self, ids: Tensor, mask: Optional[Tensor], beginning: Optional[Tensor]
    ) -> Tuple[Tensor, Optional[Tensor], List[Tuple[List[int], int]]]:
        """Sources, how answers begin, and before each answer ids and tokens of it to be left out."""
        sources, prefix = self._read(ids, mask), None
        if beginning is not None:
            prefix = self._begun(self._targets(beginning, len(sources)))
            prefix = prefix if prefix.size(1) else None
        return sources, prefix, [([EOS], 0)] * len(sources)

    def _targets(self, ids: Tensor, count: int) -> Tensor:
        targets = self._read(ids, longest=self.core.max_decoder_positions())
        if len(targets) != count or not targets.size(1):
            raise ValueError(f"{count} sentences need as many targets, with some token")
        return targets


class SymbolInvariantForCausalLM(SymbolInvariantModel, GenerationMixin):
    """:class:`SymbolInvariantLanguageModel` over the ids of :class:`SymbolTokenizer`."""

    config_class = SymbolInvariantTextConfig
    _lacks = {"decoder_input_ids", "min_new_tokens", "min_length"}
    _lacks |= {"constrained", "verify", "verify_beams"}
    _search = PromptSearch

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Optional[Tensor] = None,
        labels: Optional[Tensor] = None,
        **others: Any,
    ) -> CausalLMOutput:
        """Teacher forcing; a ValueError if ids spell no texts, or another option is given.

        Args:
            input_ids: (B, L) texts, padded on either side, with or without a first ``<s>``.
            attention_mask: (B, L) 0 at padding.
            labels: (B, L) the same, -100 where no loss counts.

        Returns:
            ``logits``, (B, L, vocab_size) log-probabilities of the id after each one, see
            :func:`over_ids`; with labels ``loss``, the mean cross-entropy of a token after the
            first. A new symbol is called as in the text.
        """
        self._refuse(others)
        if labels is not None and labels.shape != input_ids.shape:
            raise ValueError("labels need the shape of input_ids")
        with self._dictionary.names_of_one_call():
            texts = self._texts(input_ids, attention_mask)
            for text in texts:
                ends = text[:-1].eq(EOS) & text[1:].ne(PAD)
                fault = "goes on after its </s>" if ends.any() else self.core.unreadable(text)
                if fault is not None:
                    raise ValueError(f"a text {fault}")
            tokens = F.pad(texts, (1, 0), value=EOS)[:, : self.core.max_decoder_positions()]
            slots = Slots(self.core.vocabulary, texts.new_empty(len(texts), 0)).named(texts)
            logits = self._logits(
                self.core(tokens.to(self.device)), input_ids, attention_mask, slots
            )
        if labels is None:
            return CausalLMOutput(logits=logits)
        given = input_ids.ne(PAD) if attention_mask is None else attention_mask
        counted = labels.masked_fill(given.cumsum(1) < 2, IGNORED)
        return CausalLMOutput(loss=self._loss(logits[:, :-1], counted[:, 1:]), logits=logits)

    @staticmethod
    def _lengths(most_new: Optional[int], most: Optional[int], *least: None) -> Dict[str, Any]:
        # Lengths of all count <s>, and those of the search the prompt.
        if most_new is None and most is not None:
            return {"max_len_b": max(most - 1, 0), "min_len": 0}
        return {"max_len_a": 1, "max_len_b": 100 if most_new is None else most_new, "min_len": 0}

    def _begin(
        self, ids: Tensor, mask: Optional[Tensor], unused: None
    ) -> Tuple[Tensor, None, List[Tuple[List[int], int]]]:
        """See :class:`SymbolInvariantForSeq2SeqLM`."""
        prompts = self._texts(ids, mask)
        if (prompts[:, :-1].eq(EOS) & prompts[:, 1:].ne(PAD)).any():
            raise ValueError("a prompt goes on after its </s>")
        prompts = prompts.masked_fill(prompts.eq(EOS), PAD)
        return prompts, None, [*zip(ids.tolist(), prompts.ne(PAD).sum(1).tolist())]

    def _texts(self, ids: Tensor, mask: Optional[Tensor]) -> Tensor:
        """(B, T) dictionary indices of texts, without a first ``<s>`` or ``</s>``, padded on the
        right."""
        return self._begun(self._read(ids, mask))
