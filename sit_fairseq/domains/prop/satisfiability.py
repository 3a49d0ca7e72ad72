"""Whether a propositional formula of any number of symbols can be true: clause learning.

The formula becomes clauses with a variable for each operator (Tseitin 1968). The search assigns
variables, follows what that implies, and learns a clause from each conflict (Marques-Silva and
Sakallah 1999, "GRASP"; two watched literals as in Moskewicz et al. 2001, "Chaff").
"""

from typing import Dict, List, Optional, Sequence

from sit_fairseq.domains.formulas.syntax import fold

# Conflicts after which the search is given up: about a second.
BUDGET = 2000

Clause = List[int]


def clauses_of(tokens: Sequence[str]) -> List[Clause]:
    """Clauses that are satisfiable exactly if a well-formed propositional formula is; a literal is
    a variable, a positive number, or its negative."""
    clauses: List[Clause] = [[1]]  # variable 1 is true
    leaves: Dict[str, int] = {"1": 1, "0": -1}
    number = 1

    def literal(token: str, operands: List[int]) -> int:
        nonlocal number
        if token == "!":
            return -operands[0]
        if not operands and token in leaves:
            return leaves[token]
        number += 1
        if not operands:
            leaves[token] = number
            return number
        x, (left, right) = number, operands
        if token in ("xor", "<->"):
            y = -x if token == "xor" else x
            clauses.extend([[-y, -left, right], [-y, left, -right], [y, left, right]])
            clauses.append([y, -left, -right])
            return x
        if token == "&":  # of the negations it is a disjunction
            left, right, x = -left, -right, -x
        elif token == "->":
            left = -left
        clauses.extend([[-x, left, right], [x, -left], [x, -right]])
        return number

    clauses.append([fold(tokens, literal)])
    return clauses


class _Search:
    """Whether each literal is true (``value``; None if that is open), the literals that were made
    true in order (``trail``), and how many of them there were before each decision (``ends``)."""

    def __init__(self, clauses: Sequence[Clause]) -> None:
        self.variables = range(1, 1 + max(abs(x) for clause in clauses for x in clause))
        literals = [sign * v for v in self.variables for sign in (1, -1)]
        self.value: Dict[int, Optional[bool]] = dict.fromkeys(literals)
        self.trail: List[int] = []
        self.ends: List[int] = []
        self._watching: Dict[int, List[Clause]] = {x: [] for x in literals}
        self._reason: Dict[int, Optional[Clause]] = {}
        self._level: Dict[int, int] = {}
        self._activity = dict.fromkeys(self.variables, 0.0)
        self._bump, self._next = 1.0, 0
        self.possible = all(self.add(list(dict.fromkeys(clause))) for clause in clauses)

    def add(self, clause: Clause) -> bool:
        """Adds a clause, of which at most the first literal is open or true; whether it can
        hold."""
        if len(clause) > 1:
            for x in clause[:2]:
                self._watching[x].append(clause)
            return True
        return self._assign(clause[0], clause)

    def _assign(self, x: int, reason: Optional[Clause]) -> bool:
        if self.value[x] is None:
            self.value[x], self.value[-x] = True, False
            self._reason[abs(x)], self._level[abs(x)] = reason, len(self.ends)
            self.trail.append(x)
        return bool(self.value[x])

    def propagate(self) -> Optional[Clause]:
        """Follows what is implied; returns a clause that is violated, if there is one."""
        value = self.value
        while self._next < len(self.trail):
            false = -self.trail[self._next]
            self._next += 1
            watching, self._watching[false] = self._watching[false], []
            for place, clause in enumerate(watching):
                if clause[0] == false:
                    clause[0], clause[1] = clause[1], false
                if value[clause[0]]:
                    self._watching[false].append(clause)
                    continue
                for other in range(2, len(clause)):
                    if value[clause[other]] is not False:
                        clause[1], clause[other] = clause[other], false
                        self._watching[clause[1]].append(clause)
                        break
                else:
                    self._watching[false].append(clause)
                    if not self._assign(clause[0], clause):
                        self._watching[false] += watching[place + 1 :]
                        return clause
        return None

    def learn(self, conflict: Clause) -> None:
        """Goes back from a conflict, and adds the clause that would have prevented it."""
        seen, learnt, open_, reason = set(), [], 0, conflict
        trail = reversed(self.trail)
        while True:
            for x in reason:
                variable = abs(x)
                if variable in seen or not self._level[variable]:
                    continue
                seen.add(variable)
                self._activity[variable] += self._bump
                if self._level[variable] == len(self.ends):
                    open_ += 1
                else:
                    learnt.append(x)
            x = next(x for x in trail if abs(x) in seen)
            open_ -= 1
            if not open_:
                break
            reason = self._reason[abs(x)]
        self._bump *= 1.05
        learnt.sort(key=lambda x: -self._level[abs(x)])
        self._back_to(self._level[abs(learnt[0])] if learnt else 0)
        clause = [-x, *learnt]
        self.add(clause)
        self._assign(-x, clause)

    def _back_to(self, level: int) -> None:
        for x in self.trail[self.ends[level] :]:
            self.value[x] = self.value[-x] = None
        del self.trail[self.ends[level] :], self.ends[level:]
        self._next = len(self.trail)
        if self._bump > 1e100:
            self._activity = {v: a / self._bump for v, a in self._activity.items()}
            self._bump = 1.0

    def decide(self) -> bool:
        """Makes the most active open variable false; whether there is one."""
        left = [v for v in self.variables if self.value[v] is None]
        if left:
            self.ends.append(len(self.trail))
            self._assign(-max(left, key=self._activity.__getitem__), None)
        return bool(left)


def satisfiable(tokens: Sequence[str], budget: int = BUDGET) -> Optional[bool]:
    """Whether a well-formed propositional formula can be true; None after ``budget`` conflicts."""
    search = _Search(clauses_of(tokens))
    while search.possible:
        conflict = search.propagate()
        if conflict is None:
            if not search.decide():
                return True
        elif not search.ends:
            return False
        elif not budget:
            return None
        else:
            budget -= 1
            search.learn(conflict)
    return False
