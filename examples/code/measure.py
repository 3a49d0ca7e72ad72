"""Measures a language model of functions: accuracy and bits of words, and of local names.

    python -m examples.code.measure outputs/code/data --path MODEL --result R.json

reads the functions of each test of ``functions.py``, under all their names. A *first* is a place where
a local name stands first, a *use* is one where it stands again. Uses are also counted without
those of ``self`` and ``cls``, and bits also with those of the letters of new names.
"""

import argparse
from collections import defaultdict
from itertools import chain
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Sequence, Tuple

from examples.code.functions import TESTS, VARIANTS
from examples.code.model import USE, CodeModel, Letters, Word
from examples.code.pieces import Speller
from examples.code.words import PATTERN
from sit_fairseq.evaluation.depends import versions
from sit_fairseq.evaluation.result_file import write_result
from sit_fairseq.storage.files import read_sentences, sha256_of_file

# Functions are also counted by these numbers of names.
NAMES = (2, 3), (4, 6), (7, 9), (10, 12), (13, 16), (17, 24), (25, 40)


def summary(words: Sequence[Word]) -> Dict[str, Any]:
    """Accuracy and mean bits of words."""
    number, bits = len(words), sum(word.bits for word in words)
    spelled = {"bits": (bits + sum(word.letters for word in words)) / number}
    accuracy = sum(word.right for word in words) / number
    return {"number": number, "accuracy": accuracy, "bits": bits / number, "spelled": spelled}


def by_kind(words: Iterable[Tuple[Word, str]]) -> Dict[str, Any]:
    """The :func:`summary` of all words, and of those of each kind; with each word its text in the
    test, in which names are as written."""
    kinds: Dict[str, List[Word]] = defaultdict(list)
    for word, written in words:
        kinds["all"].append(word)
        kinds[word.kind].append(word)
        if word.kind == USE and written not in ("$self", "$cls"):
            kinds["use_without_self"].append(word)
    return {kind: summary(found) for kind, found in kinds.items()}


def measure(model: CodeModel, lines: List[str], written: List[str]) -> Dict[str, Any]:
    """Measures a model on functions: :func:`by_kind`, for all and by the number of local names.

    Args:
        model: reads them.
        lines: the functions.
        written: the same ones, with names as written.
    """
    groups: Dict[str, List[Tuple[Word, str]]] = defaultdict(list)
    for line, words in zip(written, model.read(lines)):
        names = len(PATTERN.symbols(line.split()))
        least, most = next(group for group in NAMES if names <= group[1])
        groups[f"{least}-{most}"] += zip(words, line.split(), strict=True)
    by_names = {group: by_kind(words) for group, words in groups.items()}
    return {**by_kind(chain(*groups.values())), "by_names": by_names}


def main(
    measure: Callable[[CodeModel, List[str], List[str]], Any],
    description: str,
    variants: Sequence[str] = VARIANTS,
) -> None:
    """Reads the command line, measures a model on each test, with names as written and as variants
    have them, and writes the result."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, metavar="DATA", help="the folder of functions.py")
    parser.add_argument("--path", required=True, metavar="MODEL", help="the checkpoint")
    parser.add_argument("--result", required=True, metavar="FILE", help="the JSON file to write")
    args = parser.parse_args()
    pieces = args.data / "spm.model"
    speller, train = Speller(pieces), args.data / "train"
    model = CodeModel.load(args.path, speller, Letters(read_sentences(str(train)), speller))
    result: Dict[str, Dict[str, Any]] = {test: {} for test in TESTS}
    files = [pieces, train, args.path]
    for test in TESTS:
        written = read_sentences(str(args.data / test))
        for variant in ("written", *variants):
            files.append(args.data / (test if variant == "written" else f"{test}.{variant}"))
            result[test][variant] = measure(model, read_sentences(str(files[-1])), written)
    hashes = {str(file): sha256_of_file(str(file)) for file in files}
    content = {"result": result, "files": hashes, "versions": versions(), "undecided": 0}
    write_result(args.result, content)


if __name__ == "__main__":
    main(measure, __doc__)
