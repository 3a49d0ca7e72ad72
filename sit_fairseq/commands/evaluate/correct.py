r"""Counts correct answers, exact ones and every verdict.

    sit evaluate correct data/test --path model/checkpoint_best.pt --semantics prop \
        --result results/test.json

writes a JSON file and prints a table. With ``--verify prop --verify-beams 3,25`` the answers are
the verified ones. Answers are kept in ``results/test.answers.jsonl``: the same command goes on
where an interrupted one stopped.
"""

import argparse

from sit_fairseq.commands.evaluate import _options as options
from sit_fairseq.evaluation.correct import evaluate_correct


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    parser.add_argument("prefix", metavar="PREFIX", help="PREFIX.src and PREFIX.tgt, text")
    options.add_answers(parser)
    options.add_judge_options(parser)
    options.add_beam(parser)
    options.add_verify_options(parser)
    options.add_result_options(parser)
    options.add_checkpoint_options(parser)


def main(args: argparse.Namespace) -> None:
    """Does what the verb says.

    Raises:
        UserError: an option or a file cannot be used, or the run was interrupted.
    """
    with options.evaluation_run("correct", args) as run:
        evaluate_correct(run, args.prefix, options.answers(args), options.judging(args))
