"""Types and static unary predicates as sorts: what an object is in the eyes of actions.

A file says in two ways what an object is: by a type, or by an atom such as ``(truck t1)`` that no
action changes. Hierarchies of types say it several times over. An object's kind is all that holds for
it of what actions ask of some parameter. Kinds are the sorts of what is made here.
"""

from dataclasses import replace
from typing import Dict, FrozenSet, List, Set, Tuple

from sit_fairseq.domains.planning.pddl_files import OBJECT, PddlProblem
from sit_fairseq.domains.planning.strips import Atom, Operator, PlanningDomain, Problem


def by_kind(read: PddlProblem) -> Tuple[PlanningDomain, Problem]:
    """The domain and the problem of files, with kinds for sorts, in the names of the files.

    Atoms that say what an object is are left out, and so are the parts of the goal that hold in all
    states because no action changes them.
    """
    domain, problem = read.domain.domain, read.problem
    operators = domain.operators.values()
    types = {t for o in operators for some in o.parameters.values() for t in some} - {OBJECT}
    asked = _asked(domain)
    said: Dict[str, Set[str]] = {name: set() for name in problem.sorts}
    for atom in problem.initial:
        if atom[0] in asked:
            said[atom[1]].add(f"({atom[0]})")
    kinds = {
        name: frozenset(said[name] | (read.domain.above[sort] & types))
        for name, sort in problem.sorts.items()
    }
    labels = {kind: " + ".join(sorted(kind)) or OBJECT for kind in kinds.values()}
    static = {atom for atom in problem.initial if atom[0] in domain.static}
    return (
        PlanningDomain(
            domain.name,
            {name: n for name, n in domain.predicates.items() if name not in asked},
            {o.name: _by_kind(o, labels, asked) for o in operators},
        ),
        Problem(
            {name: labels[kind] for name, kind in kinds.items()},
            frozenset(atom for atom in problem.initial if atom[0] not in asked),
            problem.goal - static,
        ),
    )


def lacking(read: PddlProblem) -> List[str]:
    """The types that parameters of actions have and no object has."""
    operators = read.domain.domain.operators.values()
    types = {t for o in operators for some in o.parameters.values() for t in some}
    found = {t for sort in read.problem.sorts.values() for t in read.domain.above[sort]}
    return sorted(types - found)


def _asked(domain: PlanningDomain) -> Set[str]:
    """The static unary predicates that actions ask of parameters alone."""
    operators = domain.operators.values()
    atoms = [atom for o in operators for atom in o.before + o.without if atom[0] in domain.static]
    others = {atom[0] for atom in atoms if len(atom) != 2 or not atom[1].startswith("?")}
    return {atom[0] for atom in atoms} - others


def _by_kind(operator: Operator, labels: Dict[FrozenSet[str], str], asked: Set[str]) -> Operator:
    """An operator with the kinds that its parameters may have."""

    def of(atoms: Tuple[Atom, ...], parameter: str) -> Set[str]:
        return {f"({a[0]})" for a in atoms if a[0] in asked and a[1] == parameter}

    def others(atoms: Tuple[Atom, ...]) -> Tuple[Atom, ...]:
        return tuple(atom for atom in atoms if atom[0] not in asked)

    parameters = {}
    for parameter, types in operator.parameters.items():
        needs, bars = of(operator.before, parameter), of(operator.without, parameter)
        parameters[parameter] = frozenset(
            label
            for kind, label in labels.items()
            if needs <= kind and not kind & bars and (OBJECT in types or kind & types)
        )
    before, without = others(operator.before), others(operator.without)
    return replace(operator, parameters=parameters, before=before, without=without)
