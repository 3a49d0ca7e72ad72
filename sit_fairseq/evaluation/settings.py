"""Who answers and who judges, as the command line names them."""

from dataclasses import asdict, dataclass
from typing import Optional

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.decoding import CheckpointDecoder, DecodingOptions
from sit_fairseq.evaluation.run import EvaluationRun
from sit_fairseq.judging.judge import make_judge
from sit_fairseq.judging.pool import JudgePool


@dataclass(frozen=True)
class Checkpoint:
    """A trained model and how it is asked.

    Attributes:
        path: the checkpoint of fairseq-train.
        search: how to search for answers.
        data: a directory written by fairseq-preprocess, see ``CheckpointDecoder``.
        symbols: which tokens are symbols, None for those of the checkpoint.
        fresh_names: what answers call symbols that their source lacks, likewise.
    """

    path: str
    search: DecodingOptions
    data: Optional[str] = None
    symbols: Optional[str] = None
    fresh_names: Optional[str] = None

    def load(self, run: EvaluationRun) -> CheckpointDecoder:
        """Loads the model.

        Args:
            run: takes note of it.

        Returns:
            What answers sentences.

        Raises:
            UserError: the checkpoint, the directory or an option cannot be used.
        """
        given = {"symbols": self.symbols, "data": self.data, "fresh_names": self.fresh_names}
        decoder = CheckpointDecoder(self.path, self.search, **given)
        run.answers_from("checkpoint", self.path)
        run.uses_options(**asdict(self.search), **given)
        return decoder


@dataclass(frozen=True)
class Judging:
    """How answers are judged.

    Attributes:
        semantics: what sentences mean.
        judge: who decides, None for the first judge of the semantics.
        timeout: seconds per answer.
        workers: number of processes, None for as many as the judge needs.
        symbols: pattern of the interchangeable tokens, None for that of the model that answers.
    """

    semantics: str
    judge: Optional[str] = None
    timeout: float = 30.0
    workers: Optional[int] = None
    symbols: Optional[str] = None

    def open(self, run: EvaluationRun) -> JudgePool:
        """Makes the judging processes; use the result as a context manager.

        Args:
            run: takes note of the judge.

        Raises:
            UserError: an option cannot be used.
        """
        if self.timeout <= 0 or (self.workers is not None and self.workers < 0):
            raise UserError(
                f"--timeout {self.timeout} --workers {self.workers}: "
                "the time-out must be positive and the number of workers not negative."
            )
        judge = make_judge(self.semantics, self.judge)
        run.symbols = self.symbols
        run.uses_options(
            semantics=self.semantics, judge=judge.name, timeout=self.timeout, symbols=self.symbols
        )
        return JudgePool(judge, self.workers, self.timeout)
