"""The searches as fairseq calls them, to generate answers and to score given ones."""

import math
from typing import Any, Dict, List, Mapping, Optional

import torch
from fairseq.search import BeamSearch as FairseqBeamSearch
from fairseq.search import LengthConstrainedBeamSearch
from fairseq.search import Sampling as FairseqSampling
from fairseq.sequence_scorer import SequenceScorer
from torch import Tensor

from sit_fairseq.errors import UserError
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.models.language_model import SymbolInvariantLanguageModel
from sit_fairseq.models.transformer import log_probabilities
from sit_fairseq.search.beam_search import BeamSearch
from sit_fairseq.search.hypotheses import NoAnswer, SearchOptions
from sit_fairseq.search.prompt_search import PromptSearch
from sit_fairseq.search.strategies import Sampling
from sit_fairseq.search.verified_search import VerifiedSearch
from sit_fairseq.symbols.tokens import TokenTable

# A sentence's hypotheses, best first.
Hypotheses = List[Dict[str, Any]]


class StreamSequenceGenerator:
    """fairseq's generator over canonical ids, with its arguments. The sources of language models are
    prompts; ``grammar`` is that of the answers, ``options`` are those of :class:`SearchOptions`. A
    UserError if the models cannot vote together, or the search is none of ours.
    """

    def __init__(
        self,
        models: List,
        tgt_dict,
        beam_size: int = 1,
        normalize_scores: bool = True,
        search_strategy: Any = None,
        lm_model: Any = None,
        lm_weight: float = 1.0,
        no_repeat_ngram_size: int = 0,
        grammar: Any = None,
        **options: Any,
    ) -> None:
        if lm_model is not None:
            raise UserError("a language model cannot vote with streams; leave it out", "lm_path")
        self.eos, self._unk = tgt_dict.eos(), tgt_dict.unk()
        if no_repeat_ngram_size:
            raise UserError("no_repeat_ngram_size is not supported with symbols; leave it out")
        given = SearchOptions(beam=beam_size, normalize=normalize_scores, **options)
        if isinstance(models[0], SymbolInvariantLanguageModel):
            self.search = PromptSearch(models, given, _sampling(search_strategy))
        else:
            self.search = BeamSearch(models, given, _sampling(search_strategy), grammar)

    def generate(
        self,
        models: List,
        sample: Dict[str, Any],
        prefix_tokens: Optional[Tensor] = None,
        constraints: Optional[Tensor] = None,
    ) -> List[Hypotheses]:
        """Answers a batch as fairseq's generators do: for each sentence its hypotheses, best first,
        with ``tokens``, ``score`` and ``positional_scores``.

        A sentence without an answer has one hypothesis, ``<unk>`` with the score -inf, which no judge
        takes for right, and its ``reason``: fairseq counts on a first hypothesis."""
        sources = sample["net_input"]["src_tokens"]
        added = {name: torch.empty(0, device="cpu") for name in ("attention", "alignment")}
        scores = torch.full((2,), -math.inf, device="cpu")
        none = {"tokens": torch.tensor([self._unk, self.eos], device="cpu"), "score": scores[0]}
        return [
            [
                (
                    {**none, "positional_scores": scores.clone(), "reason": nbest.reason, **added}
                    if isinstance(nbest, NoAnswer)
                    else {**vars(answer), **added}
                )
                for answer in nbest or [None]
            ]
            for nbest in self.search(sources, prefix_tokens)
        ]


def _sampling(strategy: Any) -> Optional[Sampling]:
    """How to draw answers where fairseq's strategy does; None for its beam search."""
    if isinstance(strategy, FairseqSampling):
        top_k, top_p = max(strategy.sampling_topk, 0), strategy.sampling_topp
        return Sampling(top_k, top_p if top_p > 0 else 1.0)
    if type(strategy) in (type(None), FairseqBeamSearch, LengthConstrainedBeamSearch):
        return None
    kind = type(strategy).__name__
    raise UserError(f"{kind} is not supported with symbols; search by beams or by sampling")


class VerifiedGenerator(VerifiedSearch):
    """The verified search as fairseq calls it; ``generators`` are fairseq's kind, by beam width, from
    narrow to wide."""

    def __init__(
        self, generators: Mapping[int, Any], judges: JudgePool, dictionary: TokenTable
    ) -> None:
        super().__init__(generators, judges)
        self._generators = generators
        self._dictionary = dictionary
        self.eos = dictionary.eos()

    def generate(
        self,
        models: List,
        sample: Dict[str, Any],
        prefix_tokens: Any = None,
        constraints: Any = None,
    ) -> List[Hypotheses]:
        """Answers a batch, as fairseq's generators do. The first hypothesis of a sentence has its
        ``verdict``, and the width of its ``beam``."""
        if prefix_tokens is not None or constraints is not None:
            raise UserError("a prefix or constraints are not for verified answers; leave them out")
        text, pattern = self._dictionary.text, self._dictionary.pattern
        # As they were typed, where the command says so.
        sources = sample.get("lines") or list(map(text, sample["net_input"]["src_tokens"]))
        problems = self.judges.judge.problems(sources, symbols=pattern)

        def find(width: int, places: List[int]) -> List[Hypotheses]:
            inputs = {n: sample["net_input"][n][places] for n in ("src_tokens", "src_lengths")}
            return self._generators[width].generate(models, {"net_input": inputs})

        found = self.search(
            problems,
            find,
            lambda hypothesis: None if "reason" in hypothesis else text(hypothesis["tokens"]),
        )
        for nbest, verdict, beam in found:
            nbest[0].update(verdict=verdict, beam=beam)
        return [one.nbest for one in found]

    def summary(self) -> str:
        """One line: how many answers were verified, at which width, and what judging took."""
        widths = ", ".join(f"{number} with beam {width}" for width, number in self.verified.items())
        verified = sum(self.verified.values())
        unread = f"; the judge cannot read {self.unreadable} sentences: their answers are invalid"
        return (
            f"Verified {verified} of {self.total} answers by {self.judges.judge.name}: {widths}; "
            f"{self.total - verified} not verified; judged {self.judges.number} answers in "
            f"{self.judges.seconds:.2f} s{unread * bool(self.unreadable)}"
        )


class StreamSequenceScorer(SequenceScorer):
    """fairseq's scorer of given targets (``--score-reference``)."""

    def generate(self, models, sample, **kwargs):
        """As in fairseq; the target, which there must be, is compared in canonical ids."""
        if sample.get("target") is None:
            raise UserError(
                "scores of given answers need answers, but the data have no targets; use "
                "fairseq-generate --score-reference with data that have"
            )
        BeamSearch(models, SearchOptions())  # refuses models that cannot vote together
        slots = models[0].read(sample["net_input"]["src_tokens"])[1].named(sample["target"])
        target = slots.encode(sample["target"])
        scored = super().generate(models, {**sample, "target": target}, **kwargs)
        for place, hypotheses in enumerate(scored):
            for hypothesis in hypotheses:
                hypothesis["tokens"] = slots.decode(hypothesis["tokens"], place)
        return scored


class TextScorer:
    """fairseq's scorer of texts, as fairseq-eval-lm calls it; ``fairseqs`` makes fairseq's own, which
    scores for fairseq's language models."""

    def __init__(self, fairseqs: Any, tgt_dict: TokenTable, softmax_batch: int) -> None:
        self._fairseqs = fairseqs(tgt_dict, softmax_batch)

    @torch.no_grad()
    def generate(self, models: List, sample: Dict[str, Any]) -> List[Hypotheses]:
        """One hypothesis for each text, with ``tokens`` and ``positional_scores``. Tokens that no text
        can hold, as ``<unk>``, are left out."""
        (model,) = models
        if not isinstance(model, SymbolInvariantLanguageModel):
            return self._fairseqs.generate(models, sample)
        model.eval()
        tokens, targets = sample["net_input"]["src_tokens"], sample["target"]
        canonical = model.targets(tokens, targets)
        log_probs = log_probabilities(model(tokens)[0])
        scores = log_probs.gather(2, canonical.unsqueeze(2)).squeeze(2)
        counted = canonical.ne(model.vocabulary.dictionary.pad())
        return [
            [{"tokens": target[kept], "positional_scores": score[kept]}]
            for target, score, kept in zip(targets, scores, counted)
        ]
