"""Types and static unary predicates as sorts: what an object is in the eyes of actions.

A file says in two ways what an object is: by a type, or by an atom such as ``(truck t1)`` that no
action changes. Hierarchies of types say it several times over. An object's kind is all that holds for
it of what actions ask of some parameter. Kinds are the sorts of what is made here.

A domain may have predicates that are *told*, ``(equipped_for_imaging rover1)``: they stay atoms.
"""

from dataclasses import replace
from typing import Collection, Dict, FrozenSet, Iterable, List, Mapping, Set, Tuple

from sit_fairseq.domains.planning.pddl_files import OBJECT, PddlDomain, PddlProblem
from sit_fairseq.domains.planning.strips import Atom, Operator, PlanningDomain, Problem

# The types of an object, and the static unary predicates that hold for it in parentheses.
Kind = FrozenSet[str]


def kinds_of(read: PddlProblem) -> Dict[str, Kind]:
    """The kind of each object of a problem."""
    domain, problem = read.domain.domain, read.problem
    types = {t for some in _parameters(domain) for t in some} - {OBJECT}
    asked = _asked(domain)
    said: Dict[str, Set[str]] = {name: set() for name in problem.sorts}
    for atom in problem.initial:
        if atom[0] in asked:
            said[atom[1]].add(f"({atom[0]})")
    return {
        name: frozenset(said[name] | (read.domain.above[sort] & types))
        for name, sort in problem.sorts.items()
    }


def label(kind: Kind) -> str:
    """A kind as a sort."""
    return " + ".join(sorted(kind)) or OBJECT


def said_of_types(kinds: Iterable[Kind]) -> List[str]:
    """The static unary predicates that split what has a type, or what another such predicate holds for:
    some of these objects have them. One that always comes with a type is among them."""
    kinds = list(kinds)
    having = {part: {kind for kind in kinds if part in kind} for kind in kinds for part in kind}
    untyped = {part for kind in kinds if all(map(_of_atom, kind)) for part in kind}
    narrow = {p for p, some in having.items() if any(some < more for more in having.values())}
    return sorted(p[1:-1] for p in having if _of_atom(p) and (p not in untyped or p in narrow))


def _of_atom(part: str) -> bool:
    return part.startswith("(")


def without_told(kinds: Iterable[Kind], told: Collection[str]) -> Set[Kind]:
    """Kinds but for predicates that are told."""
    return {kind.difference(f"({name})" for name in told) for kind in kinds}


def with_kinds(
    read: PddlDomain, sorts: Mapping[Kind, str], told: Collection[str] = ()
) -> PlanningDomain:
    """A domain whose parameters have the sorts of kinds in place of types. Predicates that say what an
    object is are left out, but for those that are told."""
    domain, asked = read.domain, _asked(read.domain).difference(told)
    return PlanningDomain(
        domain.name,
        {name: n for name, n in domain.predicates.items() if name not in asked},
        {o.name: _by_kind(o, sorts, asked) for o in domain.operators.values()},
    )


def by_kind(read: PddlProblem) -> Tuple[PlanningDomain, Problem]:
    """The domain and the problem of files, with kinds for sorts, in the names of the files.

    Atoms that say what an object is are left out, and so are the parts of the goal that hold in all
    states because no action changes them.
    """
    domain, problem, kinds = read.domain.domain, read.problem, kinds_of(read)
    labels = {kind: label(kind) for kind in kinds.values()}
    asked = _asked(domain)
    static = {atom for atom in problem.initial if atom[0] in domain.static}
    without = {atom for atom in problem.without if atom[0] not in domain.static or atom in static}
    return with_kinds(read.domain, labels), Problem(
        {name: labels[kind] for name, kind in kinds.items()},
        frozenset(a for a in problem.initial if a[0] not in asked or a in without),
        problem.goal - static,
        frozenset(without),
    )


def roles(domain: PlanningDomain) -> Dict[str, FrozenSet[Tuple[str, str]]]:
    """The operators and parameters that take objects of each sort."""
    found: Dict[str, Set[Tuple[str, str]]] = {}
    for operator in domain.operators.values():
        for parameter, sorts in operator.parameters.items():
            for sort in sorts:
                found.setdefault(sort, set()).add((operator.name, parameter))
    return {sort: frozenset(where) for sort, where in found.items()}


def lacking(read: PddlProblem) -> List[str]:
    """The types that parameters of actions have and no object has."""
    types = {t for some in _parameters(read.domain.domain) for t in some}
    found = {t for sort in read.problem.sorts.values() for t in read.domain.above[sort]}
    return sorted(types - found)


def _parameters(domain: PlanningDomain) -> List[FrozenSet[str]]:
    """The sorts of each parameter of each action."""
    return [some for o in domain.operators.values() for some in o.parameters.values()]


def _asked(domain: PlanningDomain) -> Set[str]:
    """The static unary predicates that actions ask of parameters alone."""
    operators = domain.operators.values()
    atoms = [atom for o in operators for atom in o.before + o.without if atom[0] in domain.static]
    others = {atom[0] for atom in atoms if len(atom) != 2 or not atom[1].startswith("?")}
    return {atom[0] for atom in atoms} - others


def _by_kind(operator: Operator, sorts: Mapping[Kind, str], asked: Set[str]) -> Operator:
    """An operator with the sorts of the kinds that its parameters may have."""

    def of(atoms: Tuple[Atom, ...], parameter: str) -> Set[str]:
        return {f"({a[0]})" for a in atoms if a[0] in asked and a[1] == parameter}

    def others(atoms: Tuple[Atom, ...]) -> Tuple[Atom, ...]:
        return tuple(atom for atom in atoms if atom[0] not in asked)

    parameters = {}
    for parameter, types in operator.parameters.items():
        needs, bars = of(operator.before, parameter), of(operator.without, parameter)
        parameters[parameter] = frozenset(
            sort
            for kind, sort in sorts.items()
            if needs <= kind and not kind & bars and (OBJECT in types or kind & types)
        )
    before, without = others(operator.before), others(operator.without)
    return replace(operator, parameters=parameters, before=before, without=without)
