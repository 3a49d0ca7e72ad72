"""``fairseq-generate --scoring semantic``: answers judged against their source or reference."""

from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from fairseq.dataclass import FairseqDataclass
from fairseq.scoring import BaseScorer, register_scorer

from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.errors import UserError
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import VerdictCounts
from sit_fairseq.search.fairseq_generator import Hypotheses
from sit_fairseq.tasks.options import option
from sit_fairseq.tasks.run import current_run, judge_answers


@dataclass
class SemanticScorerConfig(FairseqDataclass):
    """Options of the scorer."""

    semantics: str = option(
        "",
        "what answers mean: a domain (default: the model's); exact, which compares with "
        "references; alpha, which does so up to the names of symbols that the source lacks; or "
        "MODULE:OBJECT, a domain or judge of your own",
    )
    judge: Optional[str] = option(
        None,
        "the judge, one of its domain's (default: the first; sit judge --help lists them)",
    )
    judge_workers: Optional[int] = option(
        None, "judging processes (default: as many as the judge needs)"
    )
    judge_timeout: float = option(30.0, "seconds for one answer")


@register_scorer("semantic", dataclass=SemanticScorerConfig)
class SemanticScorer(BaseScorer):
    """Counts verdicts on the best hypothesis of each sentence, and exact matches.

    fairseq hands a scorer references and hypotheses only, so the current run passes each batch
    through :meth:`judge`, where the sources are known as well.
    """

    def __init__(self, cfg: SemanticScorerConfig) -> None:
        super().__init__(cfg)
        run = current_run()
        if run is None:
            raise UserError("--scoring semantic needs --task stream_translation")
        run.check_scored()
        judge = make_judge(cfg.semantics or run.domain or "", cfg.judge)
        self._judges = JudgePool(judge, cfg.judge_workers, cfg.judge_timeout)
        self._dictionary = run.dictionary
        self.counts = VerdictCounts()
        self.exact = 0
        run.scorer, run.options.print_step = self, True  # fairseq then prints "steps" of answers

    def judge(self, sample: Dict[str, Any], hypotheses: List[Hypotheses]) -> None:
        """Judges the answers to a batch, best first, and counts the verdicts on the best ones."""
        judged = judge_answers(self._judges, self._dictionary, sample, hypotheses)
        for nbest, problem, answers, verdicts in zip(hypotheses, *judged):
            self.counts[verdicts[0]] += 1
            self.counts.add_distance(self._judges.judge.distance(problem, answers[0]))
            for hypothesis, verdict in zip(nbest, verdicts):
                hypothesis["steps"] = verdict.value

    def add_string(self, ref: str, pred: str) -> None:
        """Compares the best hypothesis with the reference, token by token."""
        self.exact += ref == pred

    def score(self) -> float:
        """Percentage of sentences whose best hypothesis is right."""
        return 100.0 * self.counts.correct / max(self.counts.total, 1)

    def result_string(self) -> str:
        """Correct and exact shares, every verdict's count, the distance if there is one."""
        self._judges.close()  # fairseq asks for nothing after this
        exact = 100.0 * self.exact / max(self.counts.total, 1)
        exact = f"exact {exact:.2f} % ({self.exact}/{self.counts.total})"
        return f"correct {self.score():.2f} %, {exact}; {self.counts}"
