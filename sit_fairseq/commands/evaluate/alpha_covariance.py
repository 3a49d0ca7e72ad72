r"""Measures whether renamed problems get renamed answers.

    sit evaluate alpha-covariance data/test --path model/checkpoint_best.pt --names a,b,c,d,e \
        --result results/covariance.json

writes a JSON file and prints a table, as ``sit evaluate correct``. Whoever has no checkpoint, a
language model for instance, gets the renamed problems as a data set of its own, and its answers
to them, in their order, are measured with the same options:

    sit evaluate alpha-covariance data/test --names a,b,c,d,e --questions data/renamed
    sit evaluate alpha-covariance data/test --names a,b,c,d,e --generated answers.txt \
        --result results/covariance.json

Symbols are then all tokens of formulas but operators and constants, unless ``--symbols`` says
which tokens are.
"""

import argparse

from sit_fairseq.commands.evaluate import _options as options
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.alpha_covariance import evaluate_alpha_covariance
from sit_fairseq.evaluation.renamed_problems import Choice, write_questions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    add = parser.add_argument
    add("prefix", metavar="PREFIX", help="problems in PREFIX.src, text")
    add(
        "--counts",
        type=options.numbers,
        default="3,4,5",
        help="numbers of distinct symbols (default: %(default)s)",
    )
    add("--samples", type=int, default=1000, help="problems for each (default: %(default)s)")
    add("--names", help="a,b,c,...: rename to these (default: the symbols in PREFIX.src)")
    add(
        "--max-renamings",
        type=int,
        default=120,
        help="draw so many where there are more (default: %(default)s)",
    )
    answers = options.add_answers(parser)
    answers.add_argument(
        "--questions",
        metavar="OUT_PREFIX",
        help="or write the renamed problems to OUT_PREFIX.src and .tgt, and ask nobody",
    )
    options.add_beam(parser)
    options.add_result_options(parser, required=False)
    options.add_checkpoint_options(parser)


def main(args: argparse.Namespace) -> None:
    """Does what the verb says.

    Raises:
        UserError: an option or a file cannot be used, or the run was interrupted.
    """
    choice = Choice(
        args.counts,
        args.samples,
        args.max_renamings,
        args.names and list(dict.fromkeys(args.names.split(","))),
        args.seed,
    )
    if args.questions is not None:
        lines = write_questions(args.prefix, args.questions, choice, args.symbols)
        print(f"{lines} problems in {args.questions}.src and .tgt")
        return
    if args.result is None:
        raise UserError("Name the file to be written with --result, or ask for --questions.")
    with options.evaluation_run("alpha-covariance", args) as run:
        evaluate_alpha_covariance(run, args.prefix, options.answers(args), choice, args.symbols)
