"""The models with a source, for transformers, in the folders of `sit export --transformers`.

Shapes: B sentences, T tokens, L ids; :class:`Spelling` defines the ids.
"""

import logging
import math
from dataclasses import replace
from typing import (
    Any,
    Callable,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Union,
)

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import GenerationConfig
from transformers.modeling_outputs import Seq2SeqLMOutput

from sit_fairseq.domains.formulas.syntax import ARITY
from sit_fairseq.export.grammars import GRAMMARS
from sit_fairseq.export.hugging_face_base import (  # noqa: F401  AutoConfig asks for it here
    IGNORED,
    Answers,
    SymbolInvariantConfig,
    SymbolInvariantModel,
    padded,
)
from sit_fairseq.export.hugging_face_tokens import EOS, PAD
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.models.baselines import make_vocabulary
from sit_fairseq.models.transformer import SymbolInvariantTransformer
from sit_fairseq.search.beam_search import BeamSearch
from sit_fairseq.search.hypotheses import Hypothesis, SearchOptions
from sit_fairseq.search.strategies import Sampling
from sit_fairseq.search.verified_search import VerifiedSearch, beam_widths

logger = logging.getLogger(__name__)


class SymbolInvariantForSeq2SeqLM(SymbolInvariantModel):
    """:class:`SymbolInvariantTransformer` over the ids of :class:`SymbolTokenizer`."""

    def _vocabulary(self, options: Any, names: Optional[str]) -> Any:
        return make_vocabulary(options, self._dictionary, ARITY, names)

    def _core(self, options: Any, vocabulary: Any, seed: int) -> torch.nn.Module:
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
            targets = previous = self._read_targets(ids, len(names))
            if labels is not None:
                ids, previous = (F.pad(right, (1, -1), value=EOS) for right in (labels, targets))
            logits = self.core.decode(previous.to(names.device), source)
            logits = self._logits(logits, ids, None, source.slots.to("cpu").named(targets))
        loss = None if labels is None else self._loss(logits, labels)
        return Seq2SeqLMOutput(loss=loss, logits=logits)

    @torch.no_grad()
    def generate(
        self,
        input_ids: Optional[Tensor] = None,
        attention_mask: Optional[Tensor] = None,
        decoder_input_ids: Optional[Tensor] = None,
        generation_config: Optional[GenerationConfig] = None,
        **options: Any,
    ) -> Union[Tensor, "Answers"]:
        """Answers a batch. Options are called as in transformers and count tokens, not ids.

        Args:
            input_ids: (B, L) sources; also called ``inputs``.
            attention_mask: (B, L) 0 at padding.
            decoder_input_ids: (B, L') how answers begin, after ``</s>``.
            generation_config: options, in the place of ``model.generation_config``.
            num_beams: width of the beam; 1 is greedy.
            num_return_sequences: N, answers to each sentence.
            do_sample: draw N answers instead of searching for the best.
            temperature: logits are divided by it.
            top_k, top_p: see :class:`Sampling`.
            max_new_tokens, min_new_tokens: bounds of an answer without its ``</s>``.
            max_length, min_length: the same, with the first ``</s>``.
            length_penalty: log-probabilities are divided by the length to the power of it.
            constrained: True for well-formed answers of the model's domain, or the name of a grammar,
                or one of your own. By default, where the model has a grammar,
                True with ``verify``.
            verify: a function of the texts of a sentence and an answer. The best answer that it
                accepts comes first; a sentence without one is searched again with a wider beam.
            verify_beams: widths from narrow to wide, in the place of ``num_beams``.
            return_dict_in_generate: return :class:`Answers`.

        Returns:
            ``sequences`` of :class:`Answers`, or all of it. A sentence that cannot be answered is
            logged, and has a reason in its place.

        Raises:
            ValueError: there is no such option, or options contradict each other.
        """
        sources = options.pop("inputs", None) if input_ids is None else input_ids
        if sources is None:
            raise ValueError("generate needs input_ids")
        chosen = self._chosen(generation_config, options)
        return self._answer(sources, attention_mask, decoder_input_ids, **chosen)

    def _answer(
        self,
        input_ids: Tensor,
        attention_mask: Optional[Tensor],
        decoder_input_ids: Optional[Tensor],
        *,
        num_beams: int = 1,
        num_return_sequences: int = 1,
        do_sample: bool = False,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        max_new_tokens: int = 200,
        min_new_tokens: int = 1,
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
            max_len_b=max_new_tokens,
            min_len=min_new_tokens,
            len_penalty=length_penalty,
            temperature=temperature,
        )
        if options.nbest > widths[0]:
            raise ValueError(f"a beam of {widths[0]} has no {options.nbest} answers")
        grammar = self._grammar(constrained, verify)
        strategy = Sampling(top_k, top_p) if do_sample else None
        searches = {
            width: BeamSearch([self.core], replace(options, beam=width), strategy, grammar)
            for width in widths
        }
        with self._names():
            sources = self._read(input_ids, attention_mask, limited=False)
            prefix = None
            if decoder_input_ids is not None and decoder_input_ids.size(1) > 1:
                prefix = self._read_targets(decoder_input_ids[:, 1:], len(sources))
            found, verified = self._search(searches, sources, prefix, verify)
            answers = self._spell(found, num_return_sequences)
        answers.reasons = [getattr(nbest, "reason", None) for nbest in found]
        for number, reason in enumerate(answers.reasons, start=1):
            if reason is not None:
                logger.warning("sentence %d has no answer: %s", number, reason)
        answers.verified = None if verify is None else verified
        return answers if return_dict_in_generate else answers.sequences

    def _spell(self, found: List[List[Hypothesis]], count: int) -> Answers:
        """As many answers to each sentence, as ids."""
        rows, scores = [], []
        for nbest in found:
            for answer in nbest[:count]:
                words = [self._dictionary[index] for index in answer.tokens.tolist()]
                rows.append([EOS, *(number for word in words for number in self._ids(word))])
                scores.append(float(answer.score))
            rows += [[EOS]] * (count - len(nbest))
            scores += [-math.inf] * (count - len(nbest))
        sequences = padded(rows).to(self.device)
        return Answers(sequences, torch.tensor(scores, device=self.device))

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

    def _search(
        self,
        searches: Mapping[int, BeamSearch],
        sources: Tensor,
        prefix: Optional[Tensor],
        verify: Optional[Callable[[str, str], bool]],
    ) -> Tuple[List[List[Hypothesis]], Tensor]:
        """The answers to each sentence, and whether the first of them is verified."""

        def find(width: int, places: List[int]) -> List[List[Hypothesis]]:
            return searches[width](sources[places], None if prefix is None else prefix[places])

        def text(hypothesis: Hypothesis) -> str:
            return self._dictionary.decode(hypothesis.tokens)

        if verify is None:
            (width,) = searches
            return find(width, list(range(len(sources)))), torch.ones(len(sources)).bool()
        problems = list(map(self._dictionary.decode, sources))
        found = VerifiedSearch(searches, _Function(verify)).search(problems, find, text)
        accepted = [one.verdict is Verdict.satisfied for one in found]
        return [one.nbest for one in found], torch.tensor(accepted)

    def _read_targets(self, ids: Tensor, count: int) -> Tensor:
        targets = self._read(ids, longest=self.core.max_decoder_positions())
        if len(targets) != count or not targets.size(1):
            raise ValueError(f"{count} sentences need as many targets, with some token")
        return targets


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
