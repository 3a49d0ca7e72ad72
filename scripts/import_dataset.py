"""Turns published data sets into sentence pairs for fairseq-preprocess.

    python scripts/import_dataset.py pairs --semantics ltl ltl-35-supp data/ltl --check 1000
    python scripts/import_dataset.py pairs --semantics prop test.txt data/test
    python scripts/import_dataset.py pickle eval2d-10ap.pkl heat_map.jsonl
    python scripts/import_dataset.py heatmap heat_map.jsonl data/grid

``pairs`` reads files of two lines per sample, a formula and its trace or assignment, in the
notation without spaces of DeepLTL and of the data sets made like it (ltl-35, ltl-35-supp,
prop-35): ``&!ab`` and ``&!ab;{1}``, ``a1b0``. Of a folder it reads train.txt, val.txt and
test.txt, those there are, and writes OUT/train.src, OUT/train.tgt and so on.

``heatmap`` reads one JSON object per line (symbols, length, formula, and trace or
assignment) and writes a folder with grid.src, grid.tgt and manifest.json, cells ordered by
number of symbols and length. Lengths there are numbers of tokens.

``pickle`` turns the pickled heat maps that go with the published code into such lines. It
runs nothing that a pickle asks for and refuses one that asks for more than plain data.
"""

import argparse
import json
import os
import sys
from typing import Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

from sit_fairseq.data.grid import Cell, Grid
from sit_fairseq.data.pickled_heat_map import RefusedPickle, read_pickled_heat_map
from sit_fairseq.data.published_files import (
    ANSWERS,
    BadLine,
    Sample,
    read_heat_map,
    read_pairs,
)
from sit_fairseq.errors import UserError
from sit_fairseq.files import replacing
from sit_fairseq.judging.judge import make_judge
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import VerdictCounts
from sit_fairseq.logic.syntax import formula_symbols

SPLITS = ("train", "val", "test")


def good_samples(
    items: Iterable[Union[Sample, BadLine]], path: str, skipped: Optional[List[BadLine]]
) -> Iterator[Sample]:
    """Passes the samples on.

    Args:
        items: the content of a file.
        path: its name, for the message.
        skipped: gets the lines that cannot be read; None if there must not be any.

    Yields:
        The samples.

    Raises:
        UserError: a line cannot be read and is not to be skipped, or there is no sample.
    """
    found = False
    for item in items:
        if isinstance(item, Sample):
            found = True
            yield item
        elif skipped is None:
            raise UserError(
                f"Line {item.number} of {path} is malformed: {item.reason}. Correct it, or leave "
                "it out with --skip-malformed."
            )
        else:
            skipped.append(item)
    if not found:
        raise UserError(f"{path} has no sample that can be read; is --semantics right?")


def report_skipped(skipped: Sequence[BadLine], path: str) -> str:
    """Lists the lines left out in a file of their own.

    Args:
        skipped: the lines.
        path: the file, written only if there are any.

    Returns:
        Words for the summary.
    """
    if not skipped:
        return ""
    with replacing(path) as (file,):
        file.writelines(f"{line.number}\t{line.reason}\t{line.text}\n" for line in skipped)
    return f"; left out {len(skipped)} malformed lines, see {path}"


def check_answers(pairs: Sequence[Tuple[str, str]], semantics: str) -> str:
    """Judges samples.

    Args:
        pairs: formulas and answers.
        semantics: what they mean.

    Returns:
        Words for the summary.
    """
    with JudgePool(make_judge(semantics)) as pool:
        counts = VerdictCounts(pool.imap(pairs))
    return f"; of the first {len(pairs)}, {counts}"


def import_pairs(args: argparse.Namespace) -> None:
    """Converts a file of pairs, or the splits of a folder.

    Args:
        args: the parsed options.
    """
    if not os.path.isdir(args.input):
        convert_pairs(args.input, args.output, args)
        return
    splits = [name for name in SPLITS if os.path.exists(os.path.join(args.input, name + ".txt"))]
    if not splits:
        raise UserError(f"{args.input} has no train.txt, val.txt or test.txt; name a file instead.")
    for name in splits:
        prefix = os.path.join(args.output, name)
        convert_pairs(os.path.join(args.input, name + ".txt"), prefix, args)


def convert_pairs(path: str, prefix: str, args: argparse.Namespace) -> None:
    """Converts one file of pairs.

    Args:
        path: the file.
        prefix: what the names of the files to be written begin with.
        args: the parsed options.
    """
    skipped: Optional[List[BadLine]] = [] if args.skip_malformed else None
    samples = good_samples(read_pairs(path, args.semantics), path, skipped)
    first: List[Tuple[str, str]] = []
    count = 0
    os.makedirs(os.path.dirname(prefix) or ".", exist_ok=True)
    with replacing(prefix + ".src", prefix + ".tgt") as (src, tgt):
        for count, sample in enumerate(samples, start=1):
            source, target = " ".join(sample.formula), " ".join(sample.answer)
            src.write(source + "\n")
            tgt.write(target + "\n")
            if count <= args.check:
                first.append((source, target))
    text = f"{count} samples of {path} in {prefix}.src and .tgt"
    text += report_skipped(skipped or [], prefix + ".skipped")
    print(text + (check_answers(first, args.semantics) if first else ""))


def import_heat_map(args: argparse.Namespace) -> None:
    """Converts a heat map to a grid.

    Args:
        args: the parsed options.
    """
    skipped: Optional[List[BadLine]] = [] if args.skip_malformed else None
    cells: Dict[Tuple[int, int], List[Tuple[str, str]]] = {}
    for sample in good_samples(read_heat_map(args.input, args.semantics), args.input, skipped):
        cell = cells.setdefault((len(formula_symbols(sample.formula)), len(sample.formula)), [])
        cell.append((" ".join(sample.formula), " ".join(sample.answer)))
    grid = Grid([], [], [], {"semantics": args.semantics, "imported": os.path.basename(args.input)})
    for (n_symbols, length), pairs in sorted(cells.items()):
        grid.cells.append(Cell(n_symbols, length, len(grid.sources), len(pairs)))
        grid.sources += [source for source, _ in pairs]
        grid.targets += [target for _, target in pairs]
    grid.write(args.output)
    text = (
        f"{len(grid.sources)} samples of {args.input} in {len(grid.cells)} cells in {args.output}"
    )
    text += report_skipped(skipped or [], os.path.join(args.output, "grid.skipped"))
    first = list(zip(grid.sources, grid.targets))[: args.check]
    print(text + (check_answers(first, args.semantics) if first else ""))


def convert_pickle(args: argparse.Namespace) -> None:
    """Converts a pickled heat map to lines of JSON.

    Args:
        args: the parsed options.
    """
    try:
        with open(args.input, "rb") as file:
            data = file.read()
    except OSError as error:
        raise UserError(f"Cannot read {args.input}: {error.strerror}; name an existing file.")
    count = 0
    os.makedirs(os.path.dirname(args.output) or ".", exist_ok=True)
    try:
        with replacing(args.output) as (out,):
            for count, entry in enumerate(read_pickled_heat_map(data), start=1):
                values = (entry.symbols, entry.length, entry.formula, entry.answer)
                names = ("symbols", "length", "formula", ANSWERS[args.semantics])
                out.write(json.dumps(dict(zip(names, values))) + "\n")
    except RefusedPickle as error:
        raise UserError(f"{args.input} is not the pickle of a heat map: {error}.")
    print(f"{count} samples of {args.input} in {args.output}")


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, function, source, target in (
        ("pairs", import_pairs, "file or folder", "prefix of the files, or folder, to be written"),
        ("heatmap", import_heat_map, "file of JSON lines", "folder to be written"),
        ("pickle", convert_pickle, "pickle", "file of JSON lines to be written"),
    ):
        command = commands.add_parser(name)
        command.set_defaults(function=function)
        add = command.add_argument
        add("input", metavar="IN", help=source)
        add("output", metavar="OUT", help=target)
        add(
            "--semantics",
            choices=sorted(ANSWERS),
            required=name == "pairs",
            default="ltl",
            help="what the formulas mean" + ("" if name == "pairs" else " (default: %(default)s)"),
        )
        if name == "pickle":
            continue
        add(
            "--skip-malformed",
            action="store_true",
            help="leave out lines that cannot be read, and list them in a file",
        )
        add("--check", type=int, default=0, metavar="N", help="judge the first N samples")
    return parser.parse_args(argv)


def main(argv: Optional[Sequence[str]] = None) -> None:
    """Runs the script.

    Args:
        argv: the command line, without the program's name; None for the real one.

    Raises:
        UserError: an option or a file cannot be used.
    """
    args = parse_args(argv)
    try:
        args.function(args)
    except OSError as error:
        raise UserError(f"Cannot write {args.output}: {error.strerror}.")


if __name__ == "__main__":
    sys.exit(main())
