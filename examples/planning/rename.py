"""Copies PDDL files with a random word for each name: of actions, predicates, types and objects.

    python -m examples.planning.rename plan-bench my/renamed

Folders and files keep their names, so that examples.planning.tables measures the copies as it does
the files. Each problem has names of its own for its objects, in the places of the old ones.
"""

import argparse
import re
from pathlib import Path
from random import Random
from string import ascii_lowercase
from typing import Dict

from examples.planning.folders import domain_file
from sit_fairseq.domains.planning.pddl_files import read_text
from sit_fairseq.storage.files import replacing

# Words of PDDL; so are those with a colon.
_WORDS = {
    *("define", "domain", "problem", "and", "not", "either", "object", "="),
    *("total-cost", "increase", "minimize", "number"),
}


def renamed(text: str, names: Dict[str, str], rng: Random) -> str:
    """A file in other names, which are added to those known."""

    def other(found: "re.Match[str]") -> str:
        word = found[0].lower()
        if word in _WORDS or word[0] in ":?" or not word[0].isalpha():
            return word
        while word not in names:
            new = "".join(rng.choices(ascii_lowercase, k=8))
            if new not in _WORDS and new not in names.values():
                names[word] = new
        return names[word]

    return re.sub(r"[^\s()]+", other, re.sub(r";[^\n]*", "", text))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="has the PDDL files, at any depth")
    parser.add_argument("out", type=Path, help="gets the copies")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    domains: Dict[Path, Dict[str, str]] = {}
    for path in sorted(args.folder.rglob("*.pddl")):
        domain = domain_file(path).resolve()
        if domain not in domains:
            domains[domain] = {}
            renamed(read_text(str(domain)), domains[domain], Random(f"{args.seed} {domain.name}"))
        rng = Random(f"{args.seed} {path.relative_to(args.folder)}")
        text = renamed(read_text(str(path)), dict(domains[domain]), rng)
        copy = args.out / path.relative_to(args.folder)
        with replacing(str(copy)) as (file,):
            file.write(text)


if __name__ == "__main__":
    main()
