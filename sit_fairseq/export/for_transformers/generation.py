"""How models of transformers generate: the options of ``generate`` to those of our search.

Shapes: B sentences or texts, N answers to each, L ids.
"""

import logging
import math
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple, Type, Union

import torch
from torch import Tensor
from transformers import GenerationConfig
from transformers.utils import ModelOutput

from sit_fairseq.export.for_transformers.spelling import EOS, padded
from sit_fairseq.export.grammars import GRAMMARS
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.search.beam_search import BeamSearch
from sit_fairseq.search.hypotheses import Hypothesis, SearchOptions
from sit_fairseq.search.strategies import Sampling
from sit_fairseq.search.verified_search import VerifiedSearch, beam_widths

logger = logging.getLogger(__name__)

# What transformers passes to generate() and no answer depends on.
_WITHOUT_EFFECT = {"labels", "decoder_attention_mask", "use_cache", "early_stopping"}
_WITHOUT_EFFECT |= {"transformers_version", "_from_model_config", "pad_token_id"}
# What it passes beside options of a GenerationConfig, for searches that we do not have.
_PASSED = {"logits_processor", "stopping_criteria", "prefix_allowed_tokens_fn", "synced_gpus"}
_PASSED |= {"assistant_model", "streamer", "custom_generate", "tokenizer", "assistant_tokenizer"}
_LONGEST = ("max_new_tokens", "max_length")  # two ways to say it: the one said last counts


@dataclass
class Answers(ModelOutput):
    """The return value of :meth:`Generates.generate`.

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


class Generates:
    """Gives a model that reads the ids of :class:`SymbolTokenizer` the method ``generate``."""

    _lacks: Set[str] = set()  # options that it has not
    _search: Type[BeamSearch] = BeamSearch

    @torch.no_grad()
    def generate(
        self,
        input_ids: Optional[Tensor] = None,
        generation_config: Optional[GenerationConfig] = None,
        attention_mask: Optional[Tensor] = None,
        **options: Any,
    ) -> Union[Tensor, Answers]:
        """Answers the sentences of a batch, or continues its prompts. Options are called as in
        transformers and count tokens, not ids.

        Args:
            input_ids: (B, L) sources or prompts; also called ``inputs``.
            generation_config: options, in the place of ``model.generation_config``.
            attention_mask: (B, L) 0 at padding.
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
            decoder_input_ids: (B, L') how answers begin, with or without a first ``</s>``.
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
            is_id = name.endswith("_token_id")  # 0 is one, too
            own = getattr(self.config, name, None) if is_id else None
            known = name in usual or name in _PASSED
            if name not in _WITHOUT_EFFECT and not (
                known and (not is_id and not value or value in (usual.get(name), own, [own]))
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
        with self._dictionary.names_of_one_call():
            sources, prefix, begun = self._begin(input_ids, attention_mask, decoder_input_ids)

            def find(width: int, places: List[int]) -> List[List[Hypothesis]]:
                return searches[width](sources[places], None if prefix is None else prefix[places])

            if verify is None:
                verified, found = None, find(widths[0], list(range(len(sources))))
            else:
                verified, found = self._verified(verify, searches, sources, find)
            rows, scores = self._written(begun, found, count)
        reasons = [getattr(nbest, "reason", None) for nbest in found]
        for number, reason in enumerate(reasons, start=1):
            if reason is not None:
                logger.warning("sentence %d has no answer: %s", number, reason)
        sequences, scores = (part.to(self.device) for part in (padded(rows), torch.tensor(scores)))
        return (
            Answers(sequences, scores, verified, reasons) if return_dict_in_generate else sequences
        )

    def _verified(
        self,
        verify: Callable[[str, str], bool],
        searches: Dict[int, BeamSearch],
        sources: Tensor,
        find: Callable[[int, List[int]], List[List[Hypothesis]]],
    ) -> Tuple[Tensor, List[List[Hypothesis]]]:
        """(B,) whether the first hypothesis of each sentence is accepted, and the hypotheses."""
        decode = self._dictionary.decode
        verdicts = {True: Verdict.satisfied, False: Verdict.violated}
        judges = SimpleNamespace(
            readable=lambda problem: True,
            verify_all=lambda pairs: [verdicts[bool(verify(*pair))] for pair in pairs],
        )
        search = VerifiedSearch(searches, judges).search
        judged = search([*map(decode, sources)], find, lambda one: decode(one.tokens))
        accepted = torch.tensor([one.verdict is Verdict.satisfied for one in judged])
        return accepted, [one.nbest for one in judged]

    def _written(
        self, begun: List[Tuple[List[int], int]], found: List[List[Hypothesis]], count: int
    ) -> Tuple[List[List[int]], List[float]]:
        """The ids and scores of ``count`` answers to each sentence, given how each is begun."""
        rows, scores = [], []
        for (start, skipped), nbest in zip(begun, found):
            for one in nbest[:count]:
                words = [self._dictionary[index] for index in one.tokens[skipped:].tolist()]
                rows.append([*start, *(number for word in words for number in self._ids(word))])
                scores.append(float(one.score))
            missing = count - len(nbest[:count])
            rows += [[*start, EOS]] * missing
            scores += [-math.inf] * missing
        return rows, scores

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
