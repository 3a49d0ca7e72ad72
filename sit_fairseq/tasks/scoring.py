"""``fairseq-generate --scoring semantic``: answers judged against their source or reference."""

from dataclasses import dataclass, field
from typing import List, Optional

from fairseq.dataclass import FairseqDataclass
from fairseq.scoring import BaseScorer, register_scorer

from sit_fairseq.errors import UserError
from sit_fairseq.judging.judge import make_judge
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict, VerdictCounts
from sit_fairseq.tasks.run import current_run


@dataclass
class SemanticScorerConfig(FairseqDataclass):
    """Options of the scorer."""

    semantics: str = field(
        default="prop",
        metadata={
            "help": "what answers mean: prop, ltl, copy; or exact, to compare with the references; "
            "alpha likewise, up to the names of symbols that the source lacks; or MODULE:CLASS, a "
            "judge of your own"
        },
    )
    judge: Optional[str] = field(
        default=None,
        metadata={
            "help": "who judges; prop: bits (truth tables, default) or aiger; ltl: spot; copy, "
            "exact and alpha: equality"
        },
    )
    judge_workers: Optional[int] = field(
        default=None, metadata={"help": "judging processes (default: as many as the judge needs)"}
    )
    judge_timeout: float = field(default=30.0, metadata={"help": "seconds for one answer"})


@register_scorer("semantic", dataclass=SemanticScorerConfig)
class SemanticScorer(BaseScorer):
    """Counts verdicts on the best hypothesis of each sentence, and exact matches.

    fairseq hands a scorer references and hypotheses only. The current run therefore passes
    each batch through :meth:`judge_answers`, where the sources are known as well.

    Raises:
        UserError: if no task has begun a run, or the options do not name a judge.
    """

    def __init__(self, cfg: SemanticScorerConfig) -> None:
        super().__init__(cfg)
        run = current_run()
        if run is None:
            raise UserError("--scoring semantic needs --task stream_translation")
        self._run = run
        self._judge = make_judge(cfg.semantics, cfg.judge)
        self._judges = JudgePool(self._judge, cfg.judge_workers, cfg.judge_timeout)
        self.counts = VerdictCounts()
        self.exact = 0
        self._run.judge_by(self.judge_answers)

    def judge_answers(
        self,
        sources: List[str],
        references: Optional[List[str]],
        answers: List[List[str]],
    ) -> List[List[Verdict]]:
        """Judges all answers to each source, and counts the verdicts on the best ones.

        Args:
            sources: the sentences of a batch.
            references: to each of them, None if the data have none.
            answers: to each of them, best first.

        Returns:
            a verdict on each answer.

        Raises:
            UserError: the judge needs references and there are none.
        """
        problems = self._judge.problems(sources, references, self._run.symbols)
        verdicts = self._judges.verify_answers(problems, answers)
        for problem, nbest, (best, *_) in zip(problems, answers, verdicts):
            self.counts[best] += 1
            self.counts.add_distance(self._judge.distance(problem, nbest[0]))
        return verdicts

    def add_string(self, ref: str, pred: str) -> None:
        """Compares the best hypothesis with the reference, token by token."""
        self.exact += ref == pred

    def score(self) -> float:
        """Percentage of sentences whose best hypothesis is right."""
        return 100.0 * self.counts.correct / max(self.counts.total, 1)

    def result_string(self) -> str:
        """Correct and exact shares, every verdict's count, the distance if there is one.

        This is the last that fairseq asks for, so the run is over and the judges may go.
        """
        self._run.end_judging()
        self._judges.close()
        total = max(self.counts.total, 1)
        exact = f"exact {100.0 * self.exact / total:.2f} % ({self.exact}/{self.counts.total})"
        return f"correct {self.score():.2f} %, {exact}; {self.counts}"
