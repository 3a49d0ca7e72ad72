"""The models of transformers: `sit export --transformers` copies this file, and those it imports, into
the folder of a model.

Shapes: B sentences or texts, T tokens, L ids; :class:`Spelling` defines the ids.
"""

import contextlib
import logging
import math
from dataclasses import dataclass, fields, replace
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Optional,
    Sequence,
    Set,
    Tuple,
    Type,
    Union,
)

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import GenerationConfig, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput, Seq2SeqLMOutput
from transformers.utils import ModelOutput

from sit_fairseq.domains.formulas.syntax import ARITY
from sit_fairseq.export.for_transformers.spelling import BOS, EOS, PAD, Spelling, over_ids
from sit_fairseq.export.grammars import GRAMMARS
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.models.baselines import make_vocabulary
from sit_fairseq.models.config import LanguageModelConfig, ModelConfig
from sit_fairseq.models.language_model import SymbolInvariantLanguageModel
from sit_fairseq.models.positions import SinusoidalPositions
from sit_fairseq.models.transformer import SymbolInvariantTransformer, log_probabilities
from sit_fairseq.search.beam_search import BeamSearch
from sit_fairseq.search.hypotheses import Hypothesis, SearchOptions
from sit_fairseq.search.prompt_search import PromptSearch
from sit_fairseq.search.strategies import Sampling
from sit_fairseq.search.verified_search import VerifiedSearch, beam_widths
from sit_fairseq.symbols.pattern import SPECIAL_TOKENS
from sit_fairseq.symbols.saved_tokens import text_buffer
from sit_fairseq.symbols.slots import Slots
from sit_fairseq.symbols.tokens import TokenTable

logger = logging.getLogger(__name__)

IGNORED = -100  # the label of what no loss counts, by convention

# What transformers passes to generate() and no answer depends on.
_WITHOUT_EFFECT = {"labels", "decoder_attention_mask", "use_cache", "early_stopping"}
_WITHOUT_EFFECT |= {"transformers_version", "_from_model_config"}
# What it passes beside options of a GenerationConfig, for searches that we do not have.
_PASSED = {"logits_processor", "stopping_criteria", "prefix_allowed_tokens_fn", "synced_gpus"}
_PASSED |= {"assistant_model", "streamer", "custom_generate", "tokenizer", "assistant_tokenizer"}
_LONGEST = ("max_new_tokens", "max_length")  # two ways to say it: the one said last counts


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


@dataclass
class Answers(ModelOutput):
    """The return value of :meth:`SymbolInvariantModel.generate`.

    Attributes:
        sequences: (B * N, L) ids of the answers, best first: of a sentence after a first ``</s>``, of
            a prompt after its ids.
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

    A subclass makes its vocabulary and its core, and says how a search begins.
    """

    config_class = SymbolInvariantConfig
    accepts_loss_kwargs = False
    _lacks: Set[str] = set()  # options of generate
    _search: Type[BeamSearch] = BeamSearch

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
            for name in ("symbol_rows", "operands"):
                if getattr(config, name) is not None:
                    saved[name] = text_buffer(getattr(config, name))
            vocabulary.load_state_dict(saved)
            self.core = self._core(options, vocabulary, task.get("seed", 1))
        self._spelling = Spelling(config.tokens or (), vocabulary.num_sorts)
        self.post_init()
        self._keep_in_fp32_modules_strict = {"output_scale"}  # 4.57 looks for parameters before

    def _init_weights(self, module: nn.Module) -> None:
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

    @torch.no_grad()
    def generate(
        self,
        input_ids: Optional[Tensor] = None,
        attention_mask: Optional[Tensor] = None,
        generation_config: Optional[GenerationConfig] = None,
        **options: Any,
    ) -> Union[Tensor, Answers]:
        """Answers the sentences of a batch, or continues its prompts. Options are called as in
        transformers and count tokens, not ids.

        Args:
            input_ids: (B, L) sources or prompts; also called ``inputs``.
            attention_mask: (B, L) 0 at padding.
            generation_config: options, in the place of ``model.generation_config``.
            num_beams: width of the beam; 1 is greedy.
            num_return_sequences: N, answers to each sentence.
            do_sample: draw N answers instead of searching for the best.
            temperature: logits are divided by it.
            top_k, top_p: see :class:`Sampling`.
            max_new_tokens: the most tokens of an answer without its ``</s>``.
            max_length: in its place the most with the first ``</s>``, or with ``<s>`` and the prompt.
            length_penalty: log-probabilities are divided by the length to the power of it.
            return_dict_in_generate: return :class:`Answers`.

        Args, with sources alone:
            decoder_input_ids: (B, L') how answers begin, after ``</s>``.
            min_new_tokens, min_length: the fewest tokens, as above.
            constrained: True for well-formed answers of the model's domain, or the name of a grammar,
                or one of your own. By default, where the model has a grammar, True with ``verify``.
            verify: a function of the texts of a sentence and an answer. The best answer that it
                accepts comes first; a sentence without one is searched again with a wider beam.
            verify_beams: widths from narrow to wide, in the place of ``num_beams``.

        Returns:
            ``sequences`` of :class:`Answers`, or all of it. A sentence that cannot be answered is
            logged, and has a reason in its place.

        Raises:
            ValueError: there is no such option, or options contradict each other.
        """
        given = options.pop("inputs", None) if input_ids is None else input_ids
        if given is None:
            raise ValueError("generate needs input_ids")
        return self._answer(given, attention_mask, **self._chosen(generation_config, options))

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
        ours = self._answer.__kwdefaults__.keys() - self._lacks
        chosen: Dict[str, Any] = {}
        for given in (said, options):
            given = {name: value for name, value in given.items() if value is not None}
            if given.keys() & set(_LONGEST):
                chosen = {name: value for name, value in chosen.items() if name not in _LONGEST}
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
                listed = ", ".join(sorted(ours))
                raise ValueError(f"generate has no {name}={shown}; it has {listed}")
            del chosen[name]
        return chosen

    def _answer(
        self,
        input_ids: Tensor,
        attention_mask: Optional[Tensor],
        *,
        decoder_input_ids: Optional[Tensor] = None,
        num_beams: int = 1,
        num_return_sequences: int = 1,
        do_sample: bool = False,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        max_new_tokens: Optional[int] = None,
        max_length: Optional[int] = None,
        min_new_tokens: Optional[int] = None,
        min_length: Optional[int] = None,
        length_penalty: float = 1.0,
        constrained: Any = None,
        verify: Optional[Callable[[str, str], bool]] = None,
        verify_beams: Optional[Sequence[int]] = None,
        return_dict_in_generate: bool = False,
    ) -> Union[Tensor, Answers]:
        """See :meth:`generate`."""
        widths = beam_widths([num_beams] if verify_beams is None else verify_beams)
        if verify_beams is not None and verify is None:
            raise ValueError("verify_beams need verify")
        if verify is not None and not callable(verify):
            raise ValueError(f"verify is a function of a sentence and an answer, not {verify!r}")
        if do_sample and (num_beams > 1 or verify_beams):
            raise ValueError("samples have no beam; num_return_sequences says how many there are")
        if do_sample:
            widths = beam_widths([num_return_sequences])
        options = SearchOptions(
            nbest=num_return_sequences,
            len_penalty=length_penalty,
            temperature=temperature,
            **self._lengths(max_new_tokens, max_length, min_new_tokens, min_length),
        )
        count = options.nbest
        if count > widths[0]:
            raise ValueError(f"a beam of {widths[0]} has no {count} answers")
        grammar = self._grammar(constrained, verify)
        more = {} if grammar is None else {"grammar": grammar}
        strategy = Sampling(top_k, top_p) if do_sample else None
        searches = {
            width: self._search([self.core], replace(options, beam=width), strategy, **more)
            for width in widths
        }
        with self._names():
            sources, prefix, begun = self._begin(input_ids, attention_mask, decoder_input_ids)

            def find(width: int, places: List[int]) -> List[List[Hypothesis]]:
                return searches[width](sources[places], None if prefix is None else prefix[places])

            if verify is None:
                verified, found = None, find(widths[0], list(range(len(sources))))
            else:
                decode = self._dictionary.decode
                search = VerifiedSearch(searches, _Function(verify)).search
                judged = search([*map(decode, sources)], find, lambda one: decode(one.tokens))
                found = [one.nbest for one in judged]
                verified = torch.tensor([one.verdict is Verdict.satisfied for one in judged])
            rows, scores = [], []
            for (start, skipped), nbest in zip(begun, found):
                for one in nbest[:count]:
                    words = [self._dictionary[index] for index in one.tokens[skipped:].tolist()]
                    rows.append([*start, *(number for word in words for number in self._ids(word))])
                    scores.append(float(one.score))
                missing = count - len(nbest[:count])
                rows += [[*start, EOS]] * missing
                scores += [-math.inf] * missing
        reasons = [getattr(nbest, "reason", None) for nbest in found]
        for number, reason in enumerate(reasons, start=1):
            if reason is not None:
                logger.warning("sentence %d has no answer: %s", number, reason)
        sequences, scores = (part.to(self.device) for part in (padded(rows), torch.tensor(scores)))
        return (
            Answers(sequences, scores, verified, reasons) if return_dict_in_generate else sequences
        )

    def _grammar(self, constrained: Any, verify: Any) -> Any:
        if constrained is None:
            constrained = verify is not None and self.config.grammar is not None
        name = self.config.grammar if constrained is True else constrained
        if constrained is True and name is None or isinstance(name, str) and name not in GRAMMARS:
            known = ", ".join(GRAMMARS) or "none"
            raise ValueError(f"name a grammar, as constrained=NAME; known here: {known}")
        if name is None or name is False:
            return None
        if not isinstance(name, str) and not hasattr(name, "start"):
            raise ValueError(f"constrained takes True, a name or a grammar, not {name!r}")
        return GRAMMARS[name]() if isinstance(name, str) else name

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


class SymbolInvariantForSeq2SeqLM(SymbolInvariantModel):
    """:class:`SymbolInvariantTransformer` over the ids of :class:`SymbolTokenizer`."""

    def _vocabulary(self, options: Any, names: Optional[str]) -> Any:
        return make_vocabulary(options, self._dictionary, ARITY, names)

    def _core(self, options: Any, vocabulary: Any, seed: int) -> nn.Module:
        return SymbolInvariantTransformer(options, vocabulary, seed)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Optional[Tensor] = None,
        decoder_input_ids: Optional[Tensor] = None,
        labels: Optional[Tensor] = None,
        **others: Any,
    ) -> Seq2SeqLMOutput:
        """Teacher forcing.

        Args:
            input_ids: (B, L) sources with ``</s>``, padded on either side.
            attention_mask: (B, L) 0 at padding.
            decoder_input_ids: (B, L') targets after ``</s>``; made from labels where there are some.
            labels: (B, L') targets with ``</s>``, -100 or ``<pad>`` where no loss counts.

        Returns:
            ``logits``, (B, L', vocab_size) log-probabilities of the id after each one, see
            :func:`over_ids`; with labels ``loss``, the mean cross-entropy of an id. A fresh symbol
            is called as in the target.

        Raises:
            ValueError: ids spell no sentences, or another option of transformers is given.
        """
        self._refuse(others)
        if labels is None and decoder_input_ids is None:
            raise ValueError("the model needs labels or decoder_input_ids")
        with self._names():
            source = self.core.encode(self._read(input_ids, attention_mask))
            names, ids = source.slots.names, decoder_input_ids
            if labels is not None:
                ids = labels = labels.masked_fill(labels.eq(IGNORED), PAD)
            targets = previous = self._targets(ids, len(names))
            if labels is not None:
                ids, previous = (F.pad(right, (1, -1), value=EOS) for right in (labels, targets))
            logits = self.core.decode(previous.to(names.device), source)
            logits = self._logits(logits, ids, None, source.slots.to("cpu").named(targets))
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
        sources, prefix = self._read(ids, mask, limited=False), None
        if beginning is not None and beginning.size(1) > 1:
            prefix = self._targets(beginning[:, 1:], len(sources))
        return sources, prefix, [([EOS], 0)] * len(sources)

    def _targets(self, ids: Tensor, count: int) -> Tensor:
        targets = self._read(ids, longest=self.core.max_decoder_positions())
        if len(targets) != count or not targets.size(1):
            raise ValueError(f"{count} sentences need as many targets, with some token")
        return targets


class SymbolInvariantForCausalLM(SymbolInvariantModel):
    """:class:`SymbolInvariantLanguageModel` over the ids of :class:`SymbolTokenizer`."""

    config_class = SymbolInvariantTextConfig
    _lacks = {"decoder_input_ids", "min_new_tokens", "min_length"}
    _lacks |= {"constrained", "verify", "verify_beams"}
    _search = PromptSearch

    def _vocabulary(self, options: LanguageModelConfig, names: Optional[str]) -> Any:
        return make_vocabulary(options, self._dictionary, fresh_names=names)

    def _core(self, options: LanguageModelConfig, vocabulary: Any, seed: int) -> nn.Module:
        return SymbolInvariantLanguageModel(options, vocabulary)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Optional[Tensor] = None,
        labels: Optional[Tensor] = None,
        **others: Any,
    ) -> CausalLMOutput:
        """Teacher forcing.

        Args:
            input_ids: (B, L) texts, padded on either side, with or without a first ``<s>``.
            attention_mask: (B, L) 0 at padding.
            labels: (B, L) the same, -100 where no loss counts.

        Returns:
            ``logits``, (B, L, vocab_size) log-probabilities of the id after each one, see
            :func:`over_ids`; with labels ``loss``, the mean cross-entropy of an id after the first.
            A new symbol is called as in the text.

        Raises:
            ValueError: ids spell no texts, or another option of transformers is given.
        """
        self._refuse(others)
        if labels is not None and labels.shape != input_ids.shape:
            raise ValueError("labels need the shape of input_ids")
        with self._names():
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
        prompts = prompts.masked_fill(prompts.eq(EOS), PAD)
        return prompts, None, [*zip(ids.tolist(), prompts.ne(PAD).sum(1).tolist())]

    def _texts(self, ids: Tensor, mask: Optional[Tensor]) -> Tensor:
        """(B, T) dictionary indices of texts, without a first ``<s>`` or ``</s>``, padded on the
        right."""
        read = self._read(ids, mask, limited=False)
        rows = [[index for index in row if index != PAD] for row in read.tolist()]
        return padded([row[1:] if row[:1] == [EOS] else row for row in rows])


class _Function:
    """Judges by a function of a sentence and an answer; see :class:`VerifiedSearch`."""

    def __init__(self, accepts: Callable[[str, str], bool]) -> None:
        self._accepts = accepts

    def readable(self, problem: str) -> bool:
        """Whether it is asked about a sentence."""
        return True

    def verify_all(self, pairs: Iterable[Tuple[str, str]]) -> List[Verdict]:
        """Judges pairs of problem and answer."""
        accepted = (self._accepts(*pair) for pair in pairs)
        return [Verdict.satisfied if one else Verdict.violated for one in accepted]


def padded(rows: List[List[int]]) -> Tensor:
    """Rows as one tensor, padded on the right."""
    width = max(map(len, rows))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows], dtype=torch.long)
