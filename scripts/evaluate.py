"""Measures trained models: correct answers, alpha-covariance, top n, heat maps, cost.

    python scripts/evaluate.py correct data/test --path model/checkpoint_best.pt \
        --semantics prop --result results/test.json
    python scripts/evaluate.py alpha-covariance data/test --path model/checkpoint_best.pt \
        --names a,b,c,d,e --result results/covariance.json
    python scripts/evaluate.py top-n data/test --path model/checkpoint_best.pt \
        --semantics prop --result results/top.json
    python scripts/evaluate.py heat-map data/grid --path model/checkpoint_best.pt \
        --semantics prop --result results/grid.json
    python scripts/evaluate.py cost --path model/checkpoint_best.pt --result results/cost.json

Each writes one JSON file (``--result``), prints a table, and draws a figure beside the file
where there is something to draw. Answers are kept in ``RESULT.answers.jsonl``: the same
command goes on where an interrupted one stopped.
"""

import argparse
import random
import sys
from dataclasses import asdict
from typing import List, Optional, Sequence

import torch

from sit_fairseq.datasets.pair_files import read_pairs
from sit_fairseq.datasets.grid import MANIFEST, Grid
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation import plots
from sit_fairseq.evaluation.alpha_covariance import (
    alpha_covariance_table,
    choose_problems,
    measure_alpha_covariance,
)
from sit_fairseq.evaluation.answering import GeneratedAnswers
from sit_fairseq.evaluation.correct import correct_table, measure_correct
from sit_fairseq.evaluation.cost import (
    cost_table,
    draw_cost,
    measure_cost,
    synthetic_sentences,
)
from sit_fairseq.evaluation.decoding import CheckpointDecoder, DecodingOptions
from sit_fairseq.evaluation.heat_map import (
    Box,
    draw_heat_map,
    heat_map_table,
    measure_heat_map,
)
from sit_fairseq.evaluation.run import EvaluationRun
from sit_fairseq.evaluation.top_n import draw_top_n, measure_top_n, top_n_table
from sit_fairseq.judging.judge import JUDGES, make_judge
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.logic.syntax import read_sentences


def load_decoder(
    args: argparse.Namespace, run: EvaluationRun, beam: int, nbest: int = 1
) -> CheckpointDecoder:
    """Loads the checkpoint."""
    options = DecodingOptions(
        beam=beam,
        nbest=nbest,
        lenpen=args.lenpen,
        max_len_a=args.max_len_a,
        max_len_b=args.max_len_b,
        batch_size=args.batch_size,
        max_tokens=args.max_tokens,
        device=args.device,
    )
    decoder = CheckpointDecoder(args.path, options, data=args.data, symbols=args.symbols)
    run.answers_from("checkpoint", args.path)
    run.uses_options(**asdict(options), symbols=args.symbols, data=args.data)
    return decoder


def make_judges(args: argparse.Namespace, run: EvaluationRun) -> JudgePool:
    """Makes the judging processes; use the result as a context manager."""
    if args.timeout <= 0 or (args.workers is not None and args.workers < 0):
        raise UserError(
            f"--timeout {args.timeout} --workers {args.workers}: "
            "the time-out must be positive and the number of workers not negative."
        )
    judge = make_judge(args.semantics, args.judge)
    run.uses_options(semantics=args.semantics, judge=judge.name, timeout=args.timeout)
    return JudgePool(judge, args.workers, args.timeout)


def numbers(text: str) -> List[int]:
    """Reads distinct positive numbers separated by commas, in ascending order."""
    found = sorted(set(map(int, text.split(","))))
    if found[0] < 1:
        raise ValueError
    return found


def correct(args: argparse.Namespace, run: EvaluationRun) -> None:
    """The sub-command ``correct``."""
    pairs = read_pairs(args.prefix)
    for side in ("src", "tgt"):
        run.uses_file(f"{args.prefix}.{side}")
    sources = [source for source, _ in pairs]
    with make_judges(args, run) as judges:
        if args.generated is None:
            decoder = load_decoder(args, run, args.beam)
        else:
            decoder = GeneratedAnswers(args.generated)
            run.answers_from("generated", args.generated)
        answered = run.answer(decoder, sources, judges)
    result = measure_correct(
        make_judge(args.semantics, args.judge),
        sources,
        [target for _, target in pairs],
        [entry.answers[0] for entry in answered],
        [entry.verdicts[0] for entry in answered],
    )
    run.finish(result, len(sources), correct_table(result))


def alpha_covariance(args: argparse.Namespace, run: EvaluationRun) -> None:
    """The sub-command ``alpha-covariance``."""
    if args.samples < 1 or args.max_renamings < 2:
        raise UserError(
            f"--samples {args.samples} --max-renamings {args.max_renamings}: at least 1 sample "
            "and 2 renamings are needed."
        )
    sources = read_sentences(f"{args.prefix}.src")
    run.uses_file(f"{args.prefix}.src")
    decoder = load_decoder(args, run, args.beam)
    if args.names is None:
        names = sorted({t for source in sources for t in source.split() if decoder.is_symbol(t)})
    else:
        names = list(dict.fromkeys(args.names.split(",")))
        for name in names:
            if not decoder.is_symbol(name):
                raise UserError(f"--names: {name!r} is no symbol of the model; see --symbols.")
    run.uses_options(names=names, max_renamings=args.max_renamings)
    problems = choose_problems(
        sources,
        decoder.is_symbol,
        names,
        args.counts,
        args.samples,
        args.max_renamings,
        random.Random(args.seed),
    )
    renamed = [source for problem in problems for source in problem.sources]
    answered = run.answer(decoder, renamed)
    answers = [entry.answers[0] for entry in answered]
    result = measure_alpha_covariance(problems, answers, args.counts)
    run.finish(result, len(renamed), alpha_covariance_table(result))


def top_n(args: argparse.Namespace, run: EvaluationRun) -> None:
    """The sub-command ``top-n``."""
    plots.require_matplotlib()
    sources = read_sentences(f"{args.prefix}.src")
    run.uses_file(f"{args.prefix}.src")
    with make_judges(args, run) as judges:
        decoder = load_decoder(args, run, max(args.n), nbest=max(args.n))
        answered = run.answer(decoder, sources, judges)
    result = measure_top_n([entry.verdicts for entry in answered], args.n)
    draw_top_n(result, run.beside(".png"))
    run.finish(result, len(sources), top_n_table(result))


def heat_map(args: argparse.Namespace, run: EvaluationRun) -> None:
    """The sub-command ``heat-map``."""
    plots.require_matplotlib()
    if args.full_brightness < 1:
        raise UserError(f"--full-brightness {args.full_brightness}: it must be at least 1.")
    grid = Grid.read(args.folder)
    for name in ("grid.src", "grid.tgt", MANIFEST):
        run.uses_file(f"{args.folder}/{name}")
    with make_judges(args, run) as judges:
        decoder = load_decoder(args, run, args.beam)
        answered = run.answer(decoder, grid.sources, judges)
    verdicts = [entry.verdicts[0] for entry in answered]
    box = Box(args.training_symbols, args.training_length)
    result = measure_heat_map(grid.cells, verdicts, box)
    draw_heat_map(result, run.beside(".png"), args.full_brightness)
    run.finish(result, len(verdicts), heat_map_table(result))


def cost(args: argparse.Namespace, run: EvaluationRun) -> None:
    """The sub-command ``cost``."""
    plots.require_matplotlib()
    if args.samples < 1 or args.repetitions < 1:
        raise UserError(
            f"--samples {args.samples} --repetitions {args.repetitions}: both must be at least 1."
        )
    most = max(args.counts)
    length = max(35, 2 * most - 1) if args.length is None else args.length
    if length < 2 * most - 1:
        raise UserError(f"--length {length}: {most} symbols need at least {2 * most - 1} tokens.")
    decoder = load_decoder(args, run, args.beam)
    run.uses_options(repetitions=args.repetitions, length=length)
    names, rng = decoder.symbol_names(most), random.Random(args.seed)
    sentences = {
        count: synthetic_sentences(names[:count], decoder.base_tokens, length, args.samples, rng)
        for count in args.counts
    }
    result = measure_cost(decoder, sentences, args.repetitions, torch.device(args.device))
    draw_cost(result, run.beside(".png"))
    run.finish(result, args.samples * len(args.counts), cost_table(result))


def add_result_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of every sub-command."""
    add = parser.add_argument
    add("--result", required=True, metavar="FILE", help="the JSON file to write")
    add("--seed", type=int, default=1, help="of what is drawn at random (default: %(default)s)")


def add_decoding_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the search, all but the beam."""
    add = parser.add_argument
    add("--data", metavar="DIR", help="directory of fairseq-preprocess; not needed with streams")
    add("--symbols", metavar="REGEX", help="which tokens are symbols (default: as in training)")
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
    add("--restart", action="store_true", help="discard the answers of an interrupted run")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    add("--device", default=device, help="where to compute (default: %(default)s)")


def add_beam(parser: argparse.ArgumentParser) -> None:
    """Adds the width of the beam, for metrics that do not depend on it."""
    parser.add_argument("--beam", type=int, default=3, help="(default: %(default)s)")


def add_judge_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say who judges the answers."""
    add = parser.add_argument
    choices = "; ".join(f"{semantics}: {', '.join(names)}" for semantics, names in JUDGES.items())
    add("--semantics", required=True, help=f"what sentences mean ({', '.join(JUDGES)})")
    add("--judge", help=f"who decides, by default the first ({choices})")
    add("--timeout", type=float, default=30.0, help="seconds per answer (default: %(default)s)")
    add("--workers", type=int, help="judging processes (default: as many as the judge needs)")


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="metric", metavar="METRIC", required=True)

    sub = commands.add_parser("correct", help="correct, exact and every verdict")
    sub.set_defaults(function=correct)
    sub.add_argument("prefix", metavar="PREFIX", help="PREFIX.src and PREFIX.tgt, text")
    answers = sub.add_mutually_exclusive_group(required=True)
    answers.add_argument("--path", metavar="CHECKPOINT", help="the model to ask")
    answers.add_argument("--generated", metavar="FILE", help="or what fairseq-generate printed")
    add_judge_options(sub)
    add_beam(sub)

    sub = commands.add_parser("alpha-covariance", help="are renamed problems answered alike?")
    sub.set_defaults(function=alpha_covariance)
    sub.add_argument("prefix", metavar="PREFIX", help="problems in PREFIX.src, text")
    add_beam(sub)
    add = sub.add_argument
    add(
        "--counts",
        type=numbers,
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

    sub = commands.add_parser("top-n", help="is one of the first n answers correct?")
    sub.set_defaults(function=top_n)
    sub.add_argument("prefix", metavar="PREFIX", help="problems in PREFIX.src, text")
    sub.add_argument(
        "--n",
        type=numbers,
        default="1,3,10,25",
        help="the beam is as wide as the largest (default: %(default)s)",
    )
    add_judge_options(sub)

    sub = commands.add_parser("heat-map", help="correct by number of symbols and length")
    sub.set_defaults(function=heat_map)
    sub.add_argument("folder", metavar="FOLDER", help="has grid.src, grid.tgt, manifest.json")
    add_judge_options(sub)
    add_beam(sub)
    add = sub.add_argument
    add("--training-symbols", type=int, default=5, help="most in training (default: %(default)s)")
    add("--training-length", type=int, default=35, help="longest there (default: %(default)s)")
    add(
        "--full-brightness",
        type=int,
        default=100,
        help="samples of a cell of full brightness (default: %(default)s)",
    )

    sub = commands.add_parser("cost", help="time and memory against the number of symbols")
    sub.set_defaults(function=cost)
    add_beam(sub)
    add = sub.add_argument
    add(
        "--counts",
        type=numbers,
        default="1,2,5,10,20",
        help="numbers of symbols (default: %(default)s)",
    )
    add("--samples", type=int, default=64, help="sentences for each (default: %(default)s)")
    add("--repetitions", type=int, default=5, help="measurements (default: %(default)s)")
    add("--length", type=int, help="tokens per sentence (default: 35, more if symbols need it)")

    for name, sub in commands.choices.items():
        if name != "correct":
            sub.add_argument("--path", metavar="CHECKPOINT", required=True, help="the model")
        add_result_options(sub)
        add_decoding_options(sub)
    return parser.parse_args(argv)


def main(argv: Optional[Sequence[str]] = None) -> None:
    """Runs the script.

    Args:
        argv: the command line, without the program's name; None for the real one.

    Raises:
        UserError: an option or a file cannot be used, or the run was interrupted.
    """
    command = ["evaluate.py", *(sys.argv[1:] if argv is None else argv)]
    args = parse_args(argv)
    run = EvaluationRun(args.metric, command, args.seed, args.result, args.restart)
    try:
        args.function(args, run)
    except KeyboardInterrupt:
        raise UserError("Interrupted; the same command goes on with the answers it has so far.")


if __name__ == "__main__":
    main()
