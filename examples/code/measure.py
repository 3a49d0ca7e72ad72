"""Measures a language model of functions: accuracy and bits of words, and of local names.

    python -m examples.code.measure outputs/code/data --path MODEL --result R.json

reads the functions of each test of ``functions.py``, under all their names. A *first* is a place where
a local name stands first, a *use* is one where it stands again.
"""

import argparse
from collections import defaultdict
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Sequence

from examples.code.functions import TESTS, VARIANTS
from examples.code.model import CodeModel, Word
from examples.code.pieces import Speller
from examples.code.words import PATTERN
from sit_fairseq.evaluation.depends import versions
from sit_fairseq.evaluation.result_file import write_result
from sit_fairseq.storage.files import read_sentences, sha256_of_file

NAMES = (2, 3), (4, 6), (7, 9), (10, 12), (13, 16)  # functions are also counted by these numbers


def summary(words: Iterable[Word]) -> Dict[str, Any]:
    """Accuracy and mean bits of words."""
    words = list(words)
    number = len(words)
    accuracy, bits = sum(word.right for word in words), sum(word.bits for word in words)
    return {"number": number, "accuracy": accuracy / number, "bits": bits / number}


def by_kind(words: Iterable[Word]) -> Dict[str, Any]:
    """The :func:`summary` of all words, and of those of each kind."""
    kinds: Dict[str, List[Word]] = defaultdict(list)
    for word in words:
        kinds["all"].append(word)
        kinds[word.kind].append(word)
    return {kind: summary(found) for kind, found in kinds.items()}


def measure(model: CodeModel, lines: List[str]) -> Dict[str, Any]:
    """Measures a model on functions: :func:`by_kind`, for all and by the number of local names."""
    found = model.read(lines)
    groups: Dict[str, List[Word]] = defaultdict(list)
    for line, words in zip(lines, found):
        names = len(PATTERN.symbols(line.split()))
        least, most = next(group for group in NAMES if names <= group[1])
        groups[f"{least}-{most}"] += words
    by_names = {group: by_kind(words) for group, words in groups.items()}
    return {**by_kind(word for words in found for word in words), "by_names": by_names}


def main(
    measure: Callable[[CodeModel, List[str]], Any],
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
    model = CodeModel.load(args.path, Speller(pieces))
    result: Dict[str, Dict[str, Any]] = {test: {} for test in TESTS}
    files = [pieces, args.path]
    for test in TESTS:
        for variant in ("written", *variants):
            files.append(args.data / (test if variant == "written" else f"{test}.{variant}"))
            result[test][variant] = measure(model, read_sentences(str(files[-1])))
    hashes = {str(file): sha256_of_file(str(file)) for file in files}
    content = {"result": result, "files": hashes, "versions": versions(), "undecided": 0}
    write_result(args.result, content)


if __name__ == "__main__":
    main(measure, __doc__)
