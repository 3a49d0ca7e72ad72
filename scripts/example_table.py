"""Prints the table at the end of an example, and one renamed pair of sentences.

    python scripts/example_table.py DIR test='5 training symbols' unseen='10 symbols never seen'

reads what fairseq-generate left in DIR of each test set: its output ``test.txt``, its log
``test.log``, and its outputs on renamed copies, ``test.renamed1.txt`` ...
"""

import argparse
import glob
import os
import re
from collections import Counter
from typing import List, Optional, Tuple

from sit_fairseq.evaluation.alpha_covariance import alpha_covariance
from sit_fairseq.evaluation.generate_output import Sentence, read_generate_output
from sit_fairseq.symbols.renaming import Renaming
from sit_fairseq.validation.verdict import Verdict


def renaming_between(original: Sentence, renamed: Sentence) -> Renaming:
    """The renaming that turned one source into the other."""
    return Renaming(dict(zip(original.source.split(), renamed.source.split())))


def compare(
    originals: List[Sentence], copies: List[List[Sentence]]
) -> Tuple[Optional[float], int, int]:
    """Compares answers with those to renamed copies.

    Returns:
        the mean alpha-covariance (None without copies), the number of pairs compared, and how many agree in
        both the answer (renamed) and the score as printed.
    """
    if not copies:
        return None, 0, 0
    covariances, equal = [], 0
    for original, *renamed in zip(originals, *copies):
        answers = [original.best.text]
        for copy in renamed:
            answers.append(renaming_between(copy, original)(copy.best.text))
            equal += (answers[-1], copy.best.score) == (answers[0], original.best.score)
        covariances.append(alpha_covariance(answers))
    return sum(covariances) / len(covariances), len(originals) * len(copies), equal


def seconds(log: str) -> str:
    """The decoding time that fairseq-generate reports."""
    with open(log, encoding="utf-8") as file:
        return re.search(r"Translated .* in ([\d.]+)s", file.read()).group(1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", metavar="DIR")
    parser.add_argument("rows", metavar="SET=LABEL", nargs="+", help="test sets in order")
    args = parser.parse_args()
    directory, labels = args.directory, dict(row.split("=", 1) for row in args.rows)

    others = [verdict.value for verdict in Verdict if verdict is not Verdict.satisfied]
    rows = [["test set", "n", "correct", "exact", *others, "alpha-cov", "seconds"]]
    pairs = equal = 0
    for name, label in labels.items():
        path = os.path.join(directory, f"{name}.txt")
        originals = read_generate_output(path)
        copies = [
            read_generate_output(copy)
            for copy in sorted(glob.glob(os.path.join(directory, f"{name}.renamed*.txt")))
        ]
        covariance, compared, agreeing = compare(originals, copies)
        pairs, equal = pairs + compared, equal + agreeing
        total = len(originals)
        verdicts = Counter(sentence.best.verdict for sentence in originals)
        exact = sum(sentence.best.text == sentence.target for sentence in originals)
        rows.append(
            [
                label,
                str(total),
                f"{100 * verdicts['satisfied'] / total:.1f} %",
                f"{100 * exact / total:.1f} %",
                *(str(verdicts[word]) for word in others),
                "—" if covariance is None else f"{100 * covariance:.2f} %",
                seconds(os.path.join(directory, f"{name}.log")),
            ]
        )
    widths = [max(map(len, column)) for column in zip(*rows)]
    print()
    for row in rows:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths)))
    if not pairs:  # the paper's scale makes no renamed copies
        return
    print(f"\n{equal} of {pairs} renamed sentences got the renamed answer with the same score.")

    test, renamed = (
        read_generate_output(os.path.join(directory, f"test{suffix}.txt"))
        for suffix in ("", ".renamed1")
    )
    example = max(range(len(test)), key=lambda i: len(set(test[i].best.text.split())))
    print("\nAn example, and the same renamed:")
    for sentence in (test[example], renamed[example]):
        print(f"  source  {sentence.source}")
        print(f"  answer  {sentence.best.text}  ({sentence.best.verdict})")


if __name__ == "__main__":
    main()
