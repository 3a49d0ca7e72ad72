"""Known domains and their problems in PDDL, as some author may write them."""

from dataclasses import dataclass
from random import Random
from typing import Dict, Iterable, List, Tuple

from sit_fairseq.domains.planning.strips import Atom, Operator, PlanningDomain, Problem, written


@dataclass
class Author:
    """Names, orders, and whether sorts are types or atoms, all drawn by a seed.

    Attributes:
        typed: sorts are types, of a hierarchy where a parameter has several; or else atoms.
    """

    seed: int
    typed: bool

    def __post_init__(self) -> None:
        self.rng = Random(self.seed)
        self.names: Dict[Tuple[str, str], str] = {}
        self.orders: Dict[Tuple[str, str], List[int]] = {}

    def name(self, what: str, name: str) -> str:
        """A new name, the same for each predicate, action, sort or object."""
        new = f"{self.rng.choice('abcXYZ')}{len(self.names)}-{self.rng.randint(0, 99)}"
        return self.names.setdefault((what, name), new)

    def shuffled(self, items: Iterable) -> List:
        items = sorted(items)
        return self.rng.sample(items, len(items))

    def order(self, what: str, name: str, items: List) -> List:
        """Items in another order, the same for each predicate or action."""
        order = self.orders.setdefault((what, name), self.rng.sample(range(len(items)), len(items)))
        return [items[place] for place in order]

    def action(self, action: Tuple[str, ...]) -> Tuple[str, ...]:
        """An action in the author's names."""
        objects = [self.name("object", name) for name in action[1:]]
        return (self.name("action", action[0]), *self.order("action", action[0], objects))

    def domain(self, domain: PlanningDomain) -> str:
        sorts = {
            s for o in domain.operators.values() for some in o.parameters.values() for s in some
        }
        unions = {
            frozenset(some)
            for o in domain.operators.values()
            for some in o.parameters.values()
            if len(some) > 1
        }
        predicates = {
            self._atom((name, *(f"?x{at}" for at in range(number))), {})
            for name, number in domain.predicates.items()
        }
        types = ""
        if self.typed:
            above = {sort: "object" for sort in sorts}
            lines = []
            for union in unions:
                lines.append(f"{self._union(union)} - object")
                above.update(dict.fromkeys(union, self._union(union)))
            lines += [f"{self.name('sort', sort)} - {above[sort]}" for sort in sorts]
            types = f"(:requirements :strips :typing)\n  (:types {' '.join(self.shuffled(lines))})"
        else:
            predicates |= {f"({self.name('sort', sort)} ?x)" for sort in sorts}
            predicates |= {f"({self._union(union)} ?x)" for union in unions}
        actions = [self._operator(operator) for operator in domain.operators.values()]
        parts = [types, f"(:predicates {' '.join(self.shuffled(predicates))})"]
        return f"(define (domain d)\n  {chr(10).join([*parts, *self.shuffled(actions)])})"

    def problem(self, problem: Problem, unions: Iterable[frozenset] = ()) -> str:
        names = {name: self.name("object", name) for name in problem.sorts}
        atoms = {self._atom(atom, names) for atom in problem.initial}
        objects = list(names.values())
        if self.typed:
            objects = [f"{names[o]} - {self.name('sort', s)}" for o, s in problem.sorts.items()]
        else:
            for name, sort in problem.sorts.items():
                atoms.add(f"({self.name('sort', sort)} {names[name]})")
                atoms |= {f"({self._union(u)} {names[name]})" for u in unions if sort in u}
        goal = {self._atom(atom, names) for atom in problem.goal}
        texts = (" ".join(self.shuffled(some)) for some in (objects, atoms, goal))
        return "(define (problem p) (:domain d) (:objects {}) (:init {}) (:goal (and {})))".format(
            *texts
        )

    def _union(self, union: frozenset) -> str:
        return self.name("sort", "|".join(sorted(union)))

    def _atom(self, atom: Atom, names: Dict[str, str]) -> str:
        terms = self.order("predicate", atom[0], [names.get(term, term) for term in atom[1:]])
        return written((self.name("predicate", atom[0]), *terms))

    def _operator(self, operator: Operator) -> str:
        names = {name: f"?{self.name(operator.name, name)}" for name in operator.parameters}
        before = [self._atom(atom, names) for atom in operator.before]
        listed = []
        for name, sorts in operator.parameters.items():
            sort = self._union(sorts) if len(sorts) > 1 else self.name("sort", min(sorts))
            listed.append(f"{names[name]} - {sort}" if self.typed else names[name])
            before += [] if self.typed else [f"({sort} {names[name]})"]
        effects = [self._atom(atom, names) for atom in operator.add]
        effects += [f"(not {self._atom(atom, names)})" for atom in operator.delete]
        listed = self.order("action", operator.name, listed)
        return (
            f"(:action {self.name('action', operator.name)} :parameters ({' '.join(listed)})\n"
            f"    :precondition (and {' '.join(self.shuffled(before))})\n"
            f"    :effect (and {' '.join(self.shuffled(effects))}))"
        )


def unions(domain: PlanningDomain) -> List[frozenset]:
    """The sets of sorts that some parameter may have."""
    return sorted(
        {s for o in domain.operators.values() for s in o.parameters.values() if len(s) > 1},
        key=sorted,
    )
