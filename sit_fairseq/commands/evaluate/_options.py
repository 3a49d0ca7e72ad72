"""What the metrics have in common: their options, and one run of a metric."""

import argparse
import os
import sys
from contextlib import contextmanager
from typing import Iterator, List, Union

import torch

from sit_fairseq.commands._options import add_judge
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.decoding import DecodingOptions
from sit_fairseq.evaluation.heat_map import Box
from sit_fairseq.evaluation.run import EvaluationRun
from sit_fairseq.evaluation.settings import Checkpoint, Judging
from sit_fairseq.storage.files import only_writer
from sit_fairseq.symbols.pattern import SymbolPattern


def numbers(text: str) -> List[int]:
    """Reads distinct positive numbers separated by commas, in ascending order."""
    found = sorted(set(map(int, text.split(","))))
    if found[0] < 1:
        raise ValueError
    return found


def add_result_options(parser: argparse.ArgumentParser, required: bool = True) -> None:
    """Adds the options of a run that :func:`evaluation_run` reads."""
    add = parser.add_argument
    add("--result", required=required, metavar="FILE", help="the JSON file to write")
    add("--seed", type=int, default=1, help="of what is drawn at random (default: %(default)s)")
    add("--restart", action="store_true", help="discard the answers of an interrupted run")


@contextmanager
def evaluation_run(
    metric: str, args: argparse.Namespace, where: str = "--result"
) -> Iterator[EvaluationRun]:
    """One run of a metric; Ctrl-C ends it in one sentence.

    Args:
        metric: its name.
        args: has what :func:`add_result_options` adds.
        where: the option that names the result file, for messages.

    Yields:
        The run.

    Raises:
        UserError: there can be no result file of that name, another process is about to write
            it, or the run was interrupted.
    """
    command = [os.path.basename(sys.argv[0]), *sys.argv[1:]]
    run = EvaluationRun(metric, command, args.seed, args.result, args.restart, where)
    try:
        with only_writer(args.result):
            yield run
    except KeyboardInterrupt:
        raise UserError("Interrupted; the same command goes on with the answers it has so far.")


def add_checkpoint_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that :func:`checkpoint` reads, all but ``--path`` and ``--beam``."""
    add = parser.add_argument
    add("--data", metavar="DIR", help="directory of fairseq-preprocess; not needed with streams")
    add("--symbols", metavar="REGEX", help="which tokens are symbols (default: as in training)")
    add("--fresh-names", metavar="x,y,z", help="of symbols that a source lacks, as in generation")
    add("--lenpen", type=float, default=1.0, help="length penalty (default: %(default)s)")
    add(
        "--max-len-a",
        type=float,
        default=0.0,
        metavar="A",
        help="answers have at most A * source length + B tokens (default: %(default)s)",
    )
    add("--max-len-b", type=int, default=200, metavar="B", help="(default: %(default)s)")
    add("--batch-size", type=int, default=64, help="sentences (default: %(default)s)")
    add("--max-tokens", type=int, help="tokens times streams in a batch (default: no limit)")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    add("--device", default=device, help="where to compute (default: %(default)s)")


def add_path(parser: argparse.ArgumentParser) -> None:
    """Adds the checkpoint, for metrics that can ask nobody else."""
    parser.add_argument("--path", metavar="CHECKPOINT", required=True, help="the model")


def add_answers(parser: argparse.ArgumentParser):
    """Adds the checkpoint, and in its place a file, for metrics that need one answer each.

    Returns:
        The group, one of which must be given.
    """
    answers = parser.add_mutually_exclusive_group(required=True)
    answers.add_argument("--path", metavar="CHECKPOINT", help="the model to ask")
    answers.add_argument(
        "--generated",
        metavar="FILE",
        help="or answers, one a line; or what fairseq-generate printed; or the answer log of "
        "sit ask-llm",
    )
    return answers


def answers(args: argparse.Namespace) -> Union[Checkpoint, str]:
    """The model that the command line names, or the file of answers.

    Raises:
        UserError: answers of a file are to be searched for.
    """
    if args.generated is None:
        return checkpoint(args, args.beam)
    if getattr(args, "verify", None) is not None:
        raise UserError(
            "--verify needs a model to search with: name it by --path, not --generated."
        )
    return args.generated


def add_beam(parser: argparse.ArgumentParser) -> None:
    """Adds the width of the beam, for metrics that do not depend on it."""
    parser.add_argument("--beam", type=int, default=3, help="(default: %(default)s)")


def add_verify_options(parser: argparse.ArgumentParser) -> None:
    """Adds the choice of verified answers, for metrics that may ask for them."""
    help_ = "answer by what a judge of these accepts"
    parser.add_argument("--verify", metavar="SEMANTICS", help=help_)
    add_verify_beams(parser)


def add_verify_beams(parser: argparse.ArgumentParser) -> None:
    """Adds how far to search for an answer that is accepted."""
    parser.add_argument(
        "--verify-beams",
        metavar="3,25",
        help="widths for that: what is not verified is searched again, wider (default: --beam)",
    )


def checkpoint(args: argparse.Namespace, beam: int, nbest: int = 1) -> Checkpoint:
    """The model that the command line names.

    Args:
        args: the parsed options.
        beam: width of the beam.
        nbest: number of answers to each sentence.
    """
    search = DecodingOptions(
        beam=beam,
        nbest=nbest,
        lenpen=args.lenpen,
        max_len_a=args.max_len_a,
        max_len_b=args.max_len_b,
        batch_size=args.batch_size,
        max_tokens=args.max_tokens,
        device=args.device,
        verify=getattr(args, "verify", None),
        verify_beams=getattr(args, "verify_beams", None),
    )
    return Checkpoint(args.path, search, args.data, args.symbols, args.fresh_names)


def add_grid_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of figures of a grid."""
    add = parser.add_argument
    add("--training-symbols", type=int, default=5, help="most in training (default: %(default)s)")
    add("--training-length", type=int, default=35, help="longest there (default: %(default)s)")
    add(
        "--full-brightness",
        type=int,
        default=100,
        help="samples of a cell of full brightness (default: %(default)s)",
    )


def box(args: argparse.Namespace) -> Box:
    """What was trained on, as the command line says."""
    return Box(args.training_symbols, args.training_length)


def add_judge_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that :func:`judging` reads."""
    add_judge(parser)
    parser.add_argument(
        "--workers", type=int, help="judging processes (default: as many as the judge needs)"
    )


def judging(args: argparse.Namespace) -> Judging:
    """Who judges, as the command line says.

    Raises:
        UserError: nobody says which tokens are symbols, to a judge that has to know.
    """
    given = getattr(args, "generated", None) is not None
    if args.semantics == "alpha" and given and args.symbols is None:
        raise UserError("--semantics alpha with --generated needs --symbols REGEX.")
    symbols = None if args.symbols is None else SymbolPattern(args.symbols).text
    return Judging(args.semantics, args.judge, args.timeout, args.workers, symbols)
