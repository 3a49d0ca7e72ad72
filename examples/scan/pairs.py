"""SCAN as pairs of files, in which an action has one name in commands and in answers.

    python -m examples.scan.pairs DATA outputs/scan/data

`I_JUMP` becomes `jump` and `I_TURN_LEFT` `left`, so that the answer to a renamed command is the
renamed answer. Every hundredth pair of training is kept for validation.
"""

from pathlib import Path
from typing import List, Tuple

from examples.public_files import read_public
from examples.script import run
from sit_fairseq.datasets.pair_files import write_pairs

SPLITS = ("simple", "addprim_jump", "template_around_right", "length")


def read_pairs(folder: Path, name: str) -> List[Tuple[str, str]]:
    """Commands and answers of a file of SCAN."""
    pairs = []
    for line in read_public(folder, name).splitlines():
        command, answer = line.removeprefix("IN: ").split(" OUT: ")
        actions = [token.removeprefix("I_").removeprefix("TURN_") for token in answer.split()]
        pairs.append((command.strip(), " ".join(actions).lower()))
    return pairs


def main(data: Path, out: Path) -> None:
    """Writes the pairs of all splits."""
    for split in SPLITS:
        train = read_pairs(data, f"tasks_train_{split}.txt")
        test = read_pairs(data, f"tasks_test_{split}.txt")
        rest = [pair for i, pair in enumerate(train) if i % 100]
        for name, pairs in (("train", rest), ("valid", train[::100]), ("test", test)):
            write_pairs(str(out / split / name), pairs)


if __name__ == "__main__":
    run(main)
