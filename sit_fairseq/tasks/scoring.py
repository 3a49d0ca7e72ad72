"""Judged answers: ``fairseq-generate --scoring semantic``, and ``--validate-semantics`` in training."""

import json
import weakref
from argparse import Namespace
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Callable, Dict, List, Optional

import torch
from fairseq import utils
from fairseq.dataclass import FairseqDataclass
from fairseq.dataclass.configs import GenerationConfig
from fairseq.logging import metrics
from fairseq.scoring import BaseScorer, register_scorer

from sit_fairseq.domains.by_name import make_judge, refuse_other_domain
from sit_fairseq.errors import UserError, check_numbers
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict, VerdictCounts
from sit_fairseq.tasks.generators import Hypotheses
from sit_fairseq.tasks.options import StreamTranslationConfig, option, refuse_given
from sit_fairseq.tasks.run import current_run, judge_answers
from sit_fairseq.tasks.stream_dictionary import StreamDictionary

# What batches report beside their loss, sentences with each verdict and exact answers, and what
# their shares of the judged sentences are logged as.
_VERDICTS = {f"_verdict_{verdict.value}": verdict.value for verdict in Verdict}
_SHARES = {**_VERDICTS, "_verdict_satisfied": "correct", "_exact": "exact"}


def generation_options(text: str) -> Namespace:
    """The options of ``--validate-args``; a UserError unless fairseq has them."""
    try:
        options = json.loads(text)
        unknown = set(options).difference(field.name for field in fields(GenerationConfig))
        if not unknown:
            given = Namespace(**options)
            refuse_given(given, "prefix_size", "lm_path", "score_reference")
            return given
        reason = f"there is no option {min(unknown)!r}"
    except (TypeError, ValueError) as error:
        reason = str(error)
    raise UserError(
        "--validate-args must be a JSON object of options of fairseq-generate, with _ for -, as in "
        f"'{{\"beam\": 3}}': {reason}"
    )


class JudgedValidation:
    """Counts the verdicts on the answers to the first sentences of each split. Its judges end with it:
    fairseq does not say which validation is the last. A ``required`` judge lacks nothing."""

    def __init__(
        self, cfg: StreamTranslationConfig, dictionary: StreamDictionary, required: bool
    ) -> None:
        check_numbers(1, validate_samples=cfg.validate_samples)
        self._samples, self._dictionary = cfg.validate_samples, dictionary
        judge = make_judge(cfg.validate_semantics, parameter="validate_semantics")
        if required and judge.missing is not None:
            raise UserError(
                f"--validate-semantics {cfg.validate_semantics} needs what is not installed: "
                f"{judge.missing}; install it, or leave the option out"
            )
        self.judges = JudgePool(judge, forgiven=True)  # training goes on
        weakref.finalize(self, self.judges.close)

    def judge(
        self, sample: Dict[str, Any], answer: Callable[[Dict[str, Any]], List[Hypotheses]]
    ) -> Dict[str, int]:
        """Judges the answers to those sentences of a batch among the first, and counts."""
        counts = dict.fromkeys(_SHARES, 0)
        keep = sample["id"] < self._samples
        if not bool(keep.any()):
            return counts
        net_input = {name: value[keep] for name, value in sample["net_input"].items()}
        part = {"id": sample["id"][keep], "net_input": net_input, "target": sample["target"][keep]}
        best = [nbest[:1] for nbest in answer(part)]
        _, answers, verdicts = judge_answers(self.judges, self._dictionary, part, best)
        for target, (text,), (verdict,) in zip(part["target"], answers, verdicts):
            counts[f"_verdict_{verdict.value}"] += 1
            counts["_exact"] += text == self._dictionary.text(target, escape_unk=True)
        return counts


def log_verdicts(logging_outputs: List[Dict[str, Any]]) -> None:
    """Logs percentages of judged sentences, if any: correct, exact, each other verdict."""
    if any("_exact" in log for log in logging_outputs):
        for key in _SHARES:
            metrics.log_scalar(key, sum(utils.item(log.get(key, 0)) for log in logging_outputs))
        for key, name in _SHARES.items():
            metrics.log_derived(name, partial(_percentage, key))


def _percentage(key: str, meters: Dict[str, Any]) -> float:
    total = sum(meters[name].sum for name in _VERDICTS)
    return round(100.0 * meters[key].sum / total, 2) if total else 0.0


def fetch_numbers(logs: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """Fetches all numbers among fairseq's logging outputs, so that the CPU waits for a GPU once."""
    away = [(log, name) for log in logs for name in log if getattr(log[name], "is_cuda", False)]
    if not away:
        return logs
    fetched = torch.stack([log[name].double() for log, name in away]).cpu()
    copies = {id(log): dict(log) for log in logs}
    for number, (log, name) in zip(fetched, away):
        copies[id(log)][name] = number.to(log[name].dtype)
    return list(copies.values())


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
        None, "the judge, one of its domain's (default: the first; sit judge --help lists them)"
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
        check_numbers(0, judge_workers=cfg.judge_workers)
        if not cfg.judge_timeout > 0:
            raise UserError(f"nothing is judged in {cfg.judge_timeout:g} seconds", "judge_timeout")
        refuse_other_domain(cfg.semantics, run.domain, "semantics")
        judge = make_judge(cfg.semantics or run.domain("semantics"), cfg.judge)
        self._judges = JudgePool(judge, cfg.judge_workers, cfg.judge_timeout)
        self._dictionary = run.dictionary
        self.counts, self.exact, self.compared, self.told = VerdictCounts(), 0, 0, False
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
        self.compared += 1

    def score(self) -> float:
        """Percentage of sentences whose best hypothesis is right."""
        return 100.0 * self.counts.correct / max(self.counts.total, 1)

    def result_string(self) -> str:
        """Correct shares, exact ones if there are references, every verdict's count, the distance if
        there is one."""
        self._judges.close()  # fairseq asks for nothing after this
        self.told = True
        exact = 100.0 * self.exact / max(self.counts.total, 1)
        exact = f", exact {exact:.2f} % ({self.exact}/{self.counts.total})" * bool(self.compared)
        return f"correct {self.score():.2f} %{exact}; {self.counts}"
