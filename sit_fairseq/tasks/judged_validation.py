"""Judged answers during validation (``--validate-semantics``)."""

import json
import weakref
from argparse import Namespace
from typing import Any, Callable, Dict, List

import torch
from fairseq import utils
from fairseq.logging import metrics

from sit_fairseq.errors import UserError
from sit_fairseq.judging.judge import make_judge
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.precision import autocast
from sit_fairseq.symbols.stream_dictionary import StreamDictionary
from sit_fairseq.tasks.options import StreamTranslationConfig

# What batches report beside their loss: sentences with each verdict, and exact answers.
_VERDICTS = {verdict: f"_verdict_{verdict.value}" for verdict in Verdict}
_EXACT = "_exact"


def generation_options(text: str) -> Namespace:
    """The options of ``--validate-args``.

    Raises:
        UserError: they cannot be read.
    """
    try:
        return Namespace(**json.loads(text))
    except (TypeError, ValueError) as error:
        raise UserError(f"--validate-args must be a JSON object: {error}")


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
        self.judges = JudgePool(make_judge(cfg.validate_semantics))
        weakref.finalize(self, self.judges.close)

    @torch.no_grad()
    def judge(self, sample: Dict[str, Any], model: Any) -> Dict[str, int]:
        """Judges the answers to those sentences of a batch that are among the first.

        Args:
            sample: the batch, with targets.
            model: answers.

        Returns:
            counts to log beside the loss.
        """
        counts = dict.fromkeys([*_VERDICTS.values(), _EXACT], 0)
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
        problems = self.judges.judge.problems(sources, targets)
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
    for key in [*_VERDICTS.values(), _EXACT]:
        metrics.log_scalar(key, sum(utils.item(log.get(key, 0)) for log in logging_outputs))
    for verdict, key in _VERDICTS.items():
        name = "correct" if verdict is Verdict.satisfied else verdict.value
        metrics.log_derived(name, _percentage(key))
    metrics.log_derived("exact", _percentage(_EXACT))


def _percentage(key: str) -> Callable[[Dict[str, Any]], float]:
    def derive(meters: Dict[str, Any]) -> float:
        total = sum(meters[name].sum for name in _VERDICTS.values())
        return round(100.0 * meters[key].sum / total, 2) if total else 0.0

    return derive
