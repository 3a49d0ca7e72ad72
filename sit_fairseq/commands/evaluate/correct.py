r"""Counts correct answers, exact ones and every verdict.

    sit evaluate correct data/test --path model/checkpoint_best.pt --semantics prop \
        --result results/test.json

writes a JSON file and prints a table. With ``--verify prop --verify-beams 3,25`` the answers are
the verified ones. Answers are kept in ``results/test.answers.jsonl``: the same command goes on
where an interrupted one stopped.

No model is needed with ``--generated FILE``: a text with one answer a line, or ``*.jsonl`` with
lines such as ``{"source": "! a", "answer": "a 0"}`` in any order.
"""

import argparse

from sit_fairseq.commands.evaluate import _options as options
from sit_fairseq.datasets.pair_files import read_pairs
from sit_fairseq.evaluation.correct import correct_table, measure_correct


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("prefix", metavar="PREFIX", help="PREFIX.src and PREFIX.tgt, text")
    options.add_model(parser, given=True)
    options.add_judging(parser)
    add("--verify", metavar="SEMANTICS", help="answer by what a judge of these accepts")
    help_ = "widths for that: what is not verified is searched again, wider (default: --beam)"
    add("--verify-beams", metavar="3,25", help=help_)
    options.add_result(parser)


def main(args: argparse.Namespace) -> None:
    pairs = read_pairs(args.prefix)
    sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
    judge, problems, answered = options.judged(args, sources, targets)
    answers = [entry.answers[0] for entry in answered]
    verdicts = [entry.verdicts[0] for entry in answered]
    result = measure_correct(judge, problems, answers, verdicts)
    files = [f"{args.prefix}.src", f"{args.prefix}.tgt"]
    seconds = [entry.seconds for entry in answered]
    options.report(args, "correct", files, result, correct_table(result), seconds, judge, verdicts)
