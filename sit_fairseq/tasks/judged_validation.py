"""Judged answers during validation (``--validate-semantics``)."""

import json
import weakref
from argparse import Namespace
from typing import Any, Callable, Dict, List

import torch
from fairseq import utils
from fairseq.dataclass.configs import GenerationConfig
from fairseq.logging import metrics
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from sit_fairseq.errors import UserError
from sit_fairseq.judging.judge import make_judge
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.precision import autocast
from sit_fairseq.tasks.stream_dictionary import StreamDictionary

# What batches report beside their loss: sentences with each verdict, and exact answers.
_VERDICTS = {verdict: f"_verdict_{verdict.value}" for verdict in Verdict}
_EXACT = "_exact"

# What the shares of judged sentences are logged as.
_SHARES = {
    **{_VERDICTS[verdict]: verdict.value for verdict in Verdict},
    _VERDICTS[Verdict.satisfied]: "correct",
    _EXACT: "exact",
}
METRICS = tuple(_SHARES.values())
BETTER_IF_HIGHER = ("correct", "exact")


def generation_options(text: str) -> Namespace:
    """The options of ``--validate-args``.

    Raises:
        UserError: they cannot be read, or fairseq has no such option or value.
    """
    try:
        options = json.loads(text)
        if "${" in str(options):
            raise ValueError("${ is replaced by something of this machine")
        known = OmegaConf.merge(GenerationConfig(), options)
    except (OmegaConfBaseException, TypeError, ValueError) as error:
        reason = str(error).split("\n")[0]
        raise UserError(
            "--validate-args must be a JSON object of options of fairseq-generate, with _ for -, "
            f"as in '{{\"beam\": 3}}': {reason}"
        )
    if known.beam < 1:
        raise UserError(f"--validate-args has a beam of {known.beam}; it must be at least 1")
    return Namespace(**options)


class JudgedValidation:
    """Generates answers to the first sentences of each split and counts their verdicts.

    It ends its judges when it goes itself, as fairseq does not say when the last validation
    is over.

    Args:
        cfg: options of the task.
        generator: of answers.
        dictionary: of sources and answers.
    """

    def __init__(
        self, cfg: StreamTranslationConfig, generator: Any, dictionary: StreamDictionary
    ) -> None:
        self._cfg = cfg
        self._generator = generator
        self._dictionary = dictionary
        self.judges = JudgePool(make_judge(cfg.validate_semantics, parameter="validate_semantics"))
        weakref.finalize(self, self.judges.close)

    def require_judge(self) -> None:
        """A training is not to find out at its end that nothing could be judged.

        Raises:
            UserError: the judge lacks what it needs to decide anything.
        """
        missing = self.judges.judge.missing
        if missing is not None:
            raise UserError(
                f"--validate-semantics {self._cfg.validate_semantics} needs what is not installed: "
                f"{missing}; install it, or leave the option out"
            )

    @torch.no_grad()
    def judge(self, sample: Dict[str, Any], model: Any) -> Dict[str, int]:
        """Judges the answers to those sentences of a batch that are among the first.

        Args:
            sample: the batch, with targets.
            model: answers.

        Returns:
            counts to log beside the loss.
        """
        counts = dict.fromkeys(_SHARES, 0)
        keep = sample["id"] < self._cfg.validate_samples
        if not bool(keep.any()):
            return counts
        net_input = {name: value[keep] for name, value in sample["net_input"].items()}
        part = {"id": sample["id"][keep], "net_input": net_input}
        with autocast(self._cfg, part):
            hypotheses = self._generator.generate([model], part)
        text = self._dictionary.text
        answers = [text(nbest[0]["tokens"]) for nbest in hypotheses]
        sources = [text(tokens) for tokens in net_input["src_tokens"]]
        targets = [text(tokens, escape_unk=True) for tokens in sample["target"][keep]]
        problems = self.judges.judge.problems(sources, targets, self._dictionary.pattern)
        for verdict in self.judges.verify_all(zip(problems, answers)):
            counts[_VERDICTS[verdict]] += 1
        counts[_EXACT] = sum(map(str.__eq__, answers, targets))
        return counts


def log_verdicts(logging_outputs: List[Dict[str, Any]]) -> None:
    """Logs percentages of judged sentences: correct, exact, each other verdict.

    Args:
        logging_outputs: of batches; if none was judged, nothing is logged.
    """
    if not any(_EXACT in log for log in logging_outputs):
        return
    for key in _SHARES:
        metrics.log_scalar(key, sum(utils.item(log.get(key, 0)) for log in logging_outputs))
    for key, name in _SHARES.items():
        metrics.log_derived(name, _percentage(key))


def _percentage(key: str) -> Callable[[Dict[str, Any]], float]:
    def derive(meters: Dict[str, Any]) -> float:
        total = sum(meters[name].sum for name in _VERDICTS.values())
        return round(100.0 * meters[key].sum / total, 2) if total else 0.0

    return derive
