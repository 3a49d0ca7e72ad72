r"""Finds pairs for training: a model's own answers that a judge accepts.

    sit harvest formulas.txt data/harvest --path model/checkpoint_best.pt --semantics prop \
        --verify-beams 3,25

reads formulas without labels (a prefix stands for PREFIX.src) and writes data/harvest.src and
.tgt, the formulas with a verified answer and that answer. The share that was verified, by length
and number of symbols, is printed and written to data/harvest.json. Answers are kept in
data/harvest.answers.jsonl: the same command goes on where an interrupted one stopped.

Formulas that cannot be read are listed with their line numbers at the end, and the exit status is
then 1; the shares are those of all others.
"""

import argparse
from dataclasses import replace

from sit_fairseq.commands._options import add_semantics
from sit_fairseq.commands.evaluate import _options as options
from sit_fairseq.evaluation.harvest import harvest
from sit_fairseq.evaluation.settings import Judging
from sit_fairseq.judging.judge import accepting_judge


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    add = parser.add_argument
    add("formulas", metavar="FORMULAS", help="a file with one formula a line, or PREFIX")
    add("out", metavar="OUT", help="write OUT.src, OUT.tgt and OUT.json")
    options.add_path(parser)
    add_semantics(parser)
    add("--beam", type=int, default=25, help="hypotheses to judge (default: %(default)s)")
    options.add_verify_beams(parser)
    add(
        "--choose",
        choices=("first", "shortest"),
        default="first",
        help="which of a beam's accepted ones (default: the first, which is the best)",
    )
    add("--restart", action="store_true", help="discard the answers of an interrupted run")
    options.add_checkpoint_options(parser)


def main(args: argparse.Namespace) -> None:
    """Does what the verb says.

    Raises:
        UserError: an option or a file cannot be used, the run was interrupted, or formulas could
            not be read.
    """
    accepting_judge(args.semantics, "semantics")
    args.result, args.seed = f"{args.out}.json", 1
    with options.evaluation_run("harvest", args, "OUT") as run:
        model = options.checkpoint(args, args.beam)
        search = replace(model.search, verify=args.semantics, verify_choose=args.choose)
        harvest(
            run, args.formulas, args.out, replace(model, search=search), Judging(args.semantics)
        )
