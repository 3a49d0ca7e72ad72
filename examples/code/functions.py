"""Extracts functions from Python's packages and library, as text for language models.

    python -m examples.code.functions outputs/code/data

reads the files of all packages that are installed beside this Python, for training and validation,
and of Python's standard library, for tests. It writes a function a line, see ``words.py``:

    train, valid   2 to 6 local names, of packages
    test           2 to 6 local names, of the standard library
    more           7 to 16 local names and longer, of the standard library
    many           17 to 40 local names and longer still, of the standard library

The tests also stand there with other names: ``test.permuted`` exchanges the names of a function,
``test.other`` has names that are frequent in training, and ``test.unseen`` names that are in none.
Functions that differ by local names alone are one: none is there twice, nor in training if the
standard library has it.
"""

import sysconfig
from collections import Counter
from io import StringIO
from multiprocessing import Pool
from pathlib import Path
from random import Random
from typing import Dict, Iterator, List, NamedTuple, Set, Tuple

from tqdm import tqdm

from examples.code.names import Unsuited
from examples.code.words import MARK, PATTERN, functions_of, words_of
from examples.script import run
from sit_fairseq.storage.files import make_folder, replacing
from sit_fairseq.symbols.canonical_form import form_key
from sit_fairseq.symbols.renaming import Renaming, random_renamings


class Size(NamedTuple):
    """How many local names and words functions have, and how many functions are wanted."""

    names: Tuple[int, int]
    words: Tuple[int, int]
    most: int


MOST_NAMES = 40
TRAINING = Size((2, 6), (16, 72), 100_000)
TESTS = {
    "test": Size((2, 6), (16, 72), 1000),
    "more": Size((7, 16), (16, 160), 1000),
    "many": Size((17, MOST_NAMES), (16, 600), 1000),
}
VARIANTS = ("permuted", "other", "unseen")
VALID = 500
FREQUENT = 1000  # names of training that tests may get

# A function of more lines, after its docstring, has too many words.
_MOST_LINES = 150
# Not read: Python's own tests, and what packages put beside the standard library.
_LEFT_OUT = {"test", "tests", "idle_test", "site-packages", "dist-packages"}


def python_files(folder: Path, left_out: Set[str] = frozenset()) -> List[Path]:
    """The Python files of a folder, in order, without those in folders of some names."""
    every = (path.relative_to(folder) for path in folder.rglob("*.py"))
    return [folder / path for path in sorted(every) if left_out.isdisjoint(path.parts)]


def extract(files: List[Path], reasons: Counter) -> Iterator[List[str]]:
    """Yields the words of the functions of files that suit a split; each file is read once.

    Args:
        files: of Python.
        reasons: counts files and functions that are left out, by reason.
    """
    with Pool() as pool:
        for found, why in tqdm(pool.imap(_read, files, 16), total=len(files), unit=" files"):
            reasons.update(why)
            yield from found


def _read(path: Path) -> Tuple[List[List[str]], Counter]:
    """The words of the functions of a file, and why others are left out."""
    found, reasons = [], Counter()
    try:
        text = path.read_text(encoding="utf-8")
        functions = list(functions_of(text))
    except (SyntaxError, ValueError, RecursionError):
        return [], Counter(["no file of this Python"])
    lines = list(StringIO(text))
    for node in functions:
        if node.end_lineno - node.body[0].end_lineno >= _MOST_LINES:
            reasons["too long, or of other numbers of names"] += 1
            continue
        try:
            words = words_of(node, lines)
        except Unsuited as reason:
            reasons[str(reason)] += 1
            continue
        if any(suits(words, size) for size in (TRAINING, *TESTS.values())):
            found.append(words)
        else:
            reasons["too long, or of other numbers of names"] += 1
    return found, reasons


def suits(words: List[str], size: Size) -> bool:
    """Whether a function is of a size."""
    names = len(PATTERN.symbols(words))
    return all(
        least <= number <= most
        for number, (least, most) in ((names, size.names), (len(words), size.words))
    )


def key_of(words: List[str]) -> int:
    """A number that functions share which differ by local names alone."""
    return form_key(words, PATTERN.symbols(words))


def split(
    library: Iterator[List[str]], packages: Iterator[List[str]], rng: Random
) -> Dict[str, List[str]]:
    """The lines of the splits, from the words of functions.

    Args:
        library: functions to test on.
        packages: functions to train on.
        rng: chooses where there are more than wanted.
    """
    forms: Set[int] = set()
    splits: Dict[str, List[str]] = {name: [] for name in TESTS}
    for words in library:
        key = key_of(words)
        for name, size in TESTS.items():
            if key not in forms and suits(words, size):
                splits[name].append(" ".join(words))
        forms.add(key)
    training = []
    for words in packages:
        if suits(words, TRAINING) and (key := key_of(words)) not in forms:
            forms.add(key)
            training.append(" ".join(words))
    splits = {
        name: rng.sample(lines, min(len(lines), TESTS[name].most)) for name, lines in splits.items()
    }
    training = rng.sample(training, min(len(training), TRAINING.most + VALID))
    return {**splits, "valid": training[:VALID], "train": training[VALID:]}


def unseen_names(known: Set[str], number: int, rng: Random) -> List[str]:
    """Names of syllables, none of them known."""
    names: Dict[str, None] = {}
    while len(names) < number:
        name = MARK + "".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(3))
        if name not in known:
            names[name] = None
    return list(names)


def renamed(lines: List[str], train: List[str], rng: Random) -> Dict[str, List[str]]:
    """The functions of a test with other names, by the name of the variant."""
    count = Counter(word for line in train for word in line.split() if PATTERN.is_symbol(word))
    names = {
        "other": [name for name, _ in count.most_common(FREQUENT)],
        "unseen": unseen_names({*count}, FREQUENT, rng),
    }
    found: Dict[str, List[str]] = {"permuted": [], **{name: [] for name in names}}
    for line in lines:
        words = line.split()
        symbols = PATTERN.symbols(words)
        moved = rng.randrange(1, len(symbols))  # no name stays
        permuted = Renaming(dict(zip(symbols, symbols[moved:] + symbols[:moved])))
        found["permuted"].append(permuted(line))
        for variant, choice in names.items():
            # Globals and attributes keep their meaning.
            free = [name for name in choice if name not in symbols and name[1:] not in words]
            free = [name for name in free if name[1:] != "_" or "case" not in words]
            (renaming,) = random_renamings(symbols, free, 1, rng)
            found[variant].append(renaming(line))
    return found


def main(folder: str) -> None:
    """Extracts the functions and writes the splits."""
    make_folder(folder)
    paths, reasons, rng = sysconfig.get_paths(), Counter(), Random(1)
    library = python_files(Path(paths["stdlib"]), _LEFT_OUT)
    packages = python_files(Path(paths["purelib"]))
    splits = split(extract(library, reasons), extract(packages, reasons), rng)
    for name in TESTS:
        more = renamed(splits[name], splits["train"], rng)
        splits.update({f"{name}.{variant}": lines for variant, lines in more.items()})
    for name, lines in splits.items():
        with replacing(f"{folder}/{name}") as (file,):
            file.writelines(f"{line}\n" for line in lines)
        print(f"{name}: {len(lines)} functions")
    print("left out:", ", ".join(f"{n} ({reason})" for reason, n in reasons.most_common()))


if __name__ == "__main__":
    run(main)
