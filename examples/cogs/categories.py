"""The generalisation set of COGS by category, of the answers that `run.sh` measured.

    python -m examples.cogs.categories outputs/cogs

prints a table in Markdown: the shares of right answers of each model, the mean over its seeds.
"""

import json
from pathlib import Path
from statistics import mean
from typing import Dict, List

from examples.cogs.pairs import CATEGORIES
from examples.script import run
from sit_fairseq.evaluation.result_file import markdown_table

STRUCTURES = ("obj_pp_to_subj_pp", "cp_recursion", "pp_recursion")


def right_answers(path: Path) -> Dict[int, bool]:
    """Whether each sentence of a journal of answers was answered rightly, by its index."""
    entries = map(json.loads, path.read_text(encoding="utf-8").splitlines()[1:])
    return {entry["index"]: entry["verdicts"][0] == "satisfied" for entry in entries}


def group_of(category: str) -> str:
    """The group that a category is summed up in."""
    if category in STRUCTURES:
        return "structures"
    return "nouns and names" if category.endswith(("common", "proper")) else "verbs"


def main(folder: Path) -> None:
    """Prints the table."""
    categories = (folder / "data" / "recombined" / CATEGORIES).read_text(encoding="utf-8").split()
    members: Dict[str, List[int]] = {}
    for index, category in enumerate(categories):
        for name in (category, f"all {group_of(category)}", "all"):
            members.setdefault(name, []).append(index)
    shares: Dict[str, Dict[str, List[float]]] = {}
    for path in sorted((folder / "runs").glob("*/*/*/gen.answers.jsonl")):
        right = right_answers(path)
        for name, indices in members.items():
            share = mean(right[index] for index in indices)
            model = ", ".join(path.parts[-4:-2]).replace("_", " ")
            shares.setdefault(model, {}).setdefault(name, []).append(share)
    rows = [["Category", *shares]]
    for name in sorted(members, key=lambda name: (name.startswith("all"), group_of(name), name)):
        rows.append([name, *(f"{mean(of[name]):.1%}" for of in shares.values())])
    print(markdown_table(rows))


if __name__ == "__main__":
    run(main)
