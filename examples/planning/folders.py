"""Folders of problems in PDDL, each problem with the nearest file of a domain."""

import re
from pathlib import Path
from typing import Dict, Iterator, Tuple

from sit_fairseq.domains.planning.pddl_files import (
    PddlDomain,
    read_domain,
    read_text,
)
from sit_fairseq.errors import UserError


def problems_in(folder: str) -> Iterator[Tuple[Path, str, PddlDomain]]:
    """Yields the files of problems below a folder in the order of their numbers, with texts and domains.

    The domain of a problem is in the file ``*domain*.pddl`` of its folder or, if there is none, of
    the nearest folder above. Files without a problem are passed over.

    Raises:
        UserError: there is no such folder, or a problem has no domain that can be read.
    """
    if not Path(folder).is_dir():
        raise UserError(f"there is no folder {folder}")
    domains: Dict[Path, PddlDomain] = {}
    for path in sorted(Path(folder).rglob("*.pddl"), key=_number):
        text = read_text(str(path))
        if not re.search(r"\(\s*define\s*\(\s*problem\b", text, re.IGNORECASE):
            continue
        place = domain_file(path)
        if place not in domains:
            domains[place] = read_domain(read_text(str(place)), str(place))
        yield path, text, domains[place]


def domain_file(path: Path) -> Path:
    """The file of the domain of a problem; a UserError if there is none."""
    for folder in path.absolute().parents:
        found = sorted(folder.glob("*domain*.pddl"))
        if found:
            return found[0]
    raise UserError(f"{path} has no domain: no *domain*.pddl beside it or above it")


def _number(path: Path) -> Tuple:
    """Sorts names by the numbers in them: instance-9 before instance-10."""
    parts = re.split(r"(\d+)", str(path))
    return tuple((int(part), "") if part.isdigit() else (0, part) for part in parts)
