"""``fairseq-generate --scoring semantic``: answers judged against their source."""

from dataclasses import dataclass, field
from typing import Callable, Dict, List, Optional

from fairseq.dataclass import FairseqDataclass
from fairseq.scoring import BaseScorer, register_scorer

from sit_fairseq.errors import UserError
from sit_fairseq.judging.judge import make_judge
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import VerdictCounts


@dataclass
class SemanticScorerConfig(FairseqDataclass):
    """Options of the scorer."""

    semantics: str = field(default="prop", metadata={"help": "what answers mean: prop, ltl, copy"})
    judge: Optional[str] = field(
        default=None,
        metadata={
            "help": "who judges; prop: bits (truth tables, default) or aiger; ltl: spot; copy: "
            "equality"
        },
    )
    judge_workers: Optional[int] = field(
        default=None, metadata={"help": "judging processes (default: as many as the judge needs)"}
    )
    judge_timeout: float = field(default=30.0, metadata={"help": "seconds for one answer"})


@register_scorer("semantic", dataclass=SemanticScorerConfig)
class SemanticScorer(BaseScorer):
    """Counts verdicts on the best hypothesis of each sentence, and exact matches.

    fairseq hands a scorer references and hypotheses only. The task therefore passes each
    batch through :meth:`judge_batch`, where the sources are known.
    """

    def __init__(self, cfg: SemanticScorerConfig) -> None:
        super().__init__(cfg)
        # Here, as the task imports this package's judges too.
        from sit_fairseq.tasks.stream_translation import StreamTranslationTask

        if StreamTranslationTask.generating is None:
            raise UserError("--scoring semantic needs --task stream_translation")
        StreamTranslationTask.generating.attach_scorer(self)
        self._judge = make_judge(cfg.semantics, cfg.judge)
        self._judges = JudgePool(self._judge, cfg.judge_workers, cfg.judge_timeout)
        self.counts = VerdictCounts()
        self.exact = 0

    def judge_batch(
        self, sources: List[str], hypotheses: List[List[Dict]], string: Callable
    ) -> None:
        """Judges all hypotheses of a batch and writes each verdict into its ``steps``."""
        pairs = [
            (source, string(hypothesis["tokens"]))
            for source, nbest in zip(sources, hypotheses)
            for hypothesis in nbest
        ]
        judged = zip(pairs, self._judges.verify_all(pairs))
        for nbest in hypotheses:
            for rank, hypothesis in enumerate(nbest):
                pair, verdict = next(judged)
                hypothesis["steps"] = verdict.value
                if rank == 0:
                    self.counts[verdict] += 1
                    self.counts.add_distance(self._judge.distance(*pair))

    def add_string(self, ref: str, pred: str) -> None:
        """Compares the best hypothesis with the reference, token by token."""
        self.exact += ref == pred

    def score(self) -> float:
        """Percentage of sentences whose best hypothesis is right."""
        return 100.0 * self.counts.correct / max(self.counts.total, 1)

    def result_string(self) -> str:
        """Correct and exact shares, every verdict's count, the distance if there is one.

        This is the last that fairseq asks for, so the judges may go.
        """
        self._judges.close()
        total = max(self.counts.total, 1)
        exact = f"exact {100.0 * self.exact / total:.2f} % ({self.exact}/{self.counts.total})"
        return f"correct {self.score():.2f} %, {exact}; {self.counts}"
