"""The domains that a model has learnt: plain data in the folder ``domains`` beside it.

Each domain is a file in PDDL. ``words.json`` says, by the name of the domain, how sentences write it:
the attributes of :class:`Learnt` but its text.
"""

import json
import re
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Collection, Dict, List, Mapping, Sequence

from sit_fairseq.domains.planning.kinds import (
    Kind,
    label,
    roles,
    said_of_types,
    with_kinds,
    without_told,
)
from sit_fairseq.domains.planning.pddl_files import PddlDomain, read_domain, read_text
from sit_fairseq.domains.planning.strips import PlanningDomain
from sit_fairseq.errors import UserError
from sit_fairseq.storage.files import replacing

_FOLDER, WORDS = "domains", "words.json"

# Names of sorts, as many as a domain may have.
SORTS = "abcdefghijklmnopqrstuvwxyz"

# The pattern of the symbols.
SYMBOLS = "\n".join(rf"{sort}={sort}\d+" for sort in SORTS)


@dataclass(frozen=True)
class Learnt:
    """A domain that a model has learnt, and how its sentences write it.

    Attributes:
        text: the domain in PDDL.
        sorts: the sort of the symbols for objects, and the kinds of these objects.
        first: the word that a sentence begins with.
        prefix: of the words for predicates and actions.
        unwritten: predicates whose atoms follow from the others. A sentence has those of the goal.
        ordered: static predicates that are strict orders. A sentence has their single steps.
        told: static unary predicates that sentences write, where others make the sort of an object.
        both: the words for two atoms of a static predicate, one in each direction, where these are
            not the predicate with ``~``.
    """

    text: str
    sorts: Mapping[str, Sequence[Sequence[str]]]
    first: str
    prefix: str = ""
    unwritten: Sequence[str] = ()
    ordered: Sequence[str] = ()
    told: Sequence[str] = ()
    both: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def domain(self) -> PlanningDomain:
        """The domain, whose operators have the sorts of symbols."""
        return with_kinds(self.read, self.by_kind, self.told)

    @cached_property
    def structure(self) -> PlanningDomain:
        """The domain without types and without the predicates that act as types."""
        return with_kinds(self.read, {})

    @cached_property
    def read(self) -> PddlDomain:
        """The domain as its file has it."""
        return read_domain(self.text, "a domain of the model")

    @cached_property
    def by_kind(self) -> Dict[Kind, str]:
        """The sort of each kind of objects."""
        return {frozenset(kind): sort for sort, kinds in self.sorts.items() for kind in kinds}

    def word(self, name: str) -> str:
        """The word for a predicate or an action."""
        return f"{self.prefix}{name}"

    def both_ways(self, predicate: str) -> str:
        """The word for two atoms of a predicate, one in each direction."""
        return self.both.get(predicate) or f"{self.word(predicate)}~"


def learn(text: str, name: str, kinds: Collection[Kind], ordered: Collection[str]) -> Learnt:
    """How sentences write a domain that is learnt from problems.

    Args:
        text: in PDDL.
        name: of its file, for errors.
        kinds: of the objects of all problems. Those that actions take alike have one sort.
        ordered: static predicates that are strict orders.
    """
    read = read_domain(text, name)
    told = said_of_types(kinds)
    sorts = without_told(kinds, told)
    where = roles(with_kinds(read, {kind: label(kind) for kind in sorts}, told))
    alike: Dict[frozenset, List[List[str]]] = {}
    for kind in sorted(sorts, key=sorted):
        alike.setdefault(where.get(label(kind), frozenset()), []).append(sorted(kind))
    if len(alike) > len(SORTS):
        raise UserError(f"{name} has {len(alike)} kinds of objects, more than {len(SORTS)}")
    _refuse_words(read.domain, name)
    title = read.domain.name
    named = dict(zip(SORTS, alike.values()))
    return Learnt(text, named, f"{title}:", f"{title}.", (), ordered, told)


def _refuse_words(domain: PlanningDomain, name: str) -> None:
    """Raises a UserError if a predicate is a word that sentences use otherwise."""
    arity = domain.predicates
    taken = {f"the-{constant}" for constant in domain.constants} | {f"{one}-" for one in arity}
    taken |= {"is"} if arity.get("is") == 1 else set()
    for predicate in sorted(taken & arity.keys()):
        reason = f"sentences have another use for the predicate {predicate}"
        raise UserError(f"{name}: {reason}; name it otherwise")


def write(folder: str, learnt: Sequence[Learnt]) -> None:
    """Writes the domains of the model of a folder."""
    files = [file_of(one.read.domain.name) for one in learnt]
    names = [one.name for one in fields(Learnt) if one.name != "text"]
    words = {one.read.domain.name: {name: getattr(one, name) for name in names} for one in learnt}
    texts = [json.dumps(words, indent=1) + "\n", *(one.text for one in learnt)]
    paths = [str(Path(folder, _FOLDER, file)) for file in (WORDS, *files)]
    with replacing(*paths) as opened:
        for file, text in zip(opened, texts):
            file.write(text)


def read(folder: str) -> List[Learnt]:
    """The domains of the model of a folder; a UserError if it has none, or they are damaged."""
    path = Path(folder, _FOLDER, WORDS)
    if not path.is_file():
        raise UserError(f"{folder} lacks {_FOLDER}/{WORDS}, the domains of the model", "path")
    try:
        words = json.loads(read_text(str(path)))
        found = [
            Learnt(read_text(str(path.with_name(file_of(name)))), **known)
            for name, known in words.items()
        ]
        for one in found:
            one.domain, [one.both_ways(predicate) for predicate in one.ordered]
        return found
    except (AttributeError, LookupError, TypeError, ValueError):
        raise UserError(f"{path} is damaged", "path")


def file_of(name: str) -> str:
    """The file of a domain of this name."""
    return re.sub(r"[^\w-]", "_", name) + ".pddl"
