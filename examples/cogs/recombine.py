"""New sentences made of the phrases of others, after Andreas (2020).

    The frog slept .  +  Emma saw a dog on the mat .  ->  A dog on the mat slept .

Two phrases are of one kind if training has both in one environment: ``a dog`` and ``a dog on the
mat`` in ``Emma saw _ .`` Phrases of a kind may stand for one another everywhere, also within one
another. This is "good-enough compositional data augmentation", with kinds in place of pairs. Nobody
gives a grammar: logical forms tell which words are a phrase, those that one of them, its head,
joins to the rest.
"""

from collections import defaultdict
from random import Random
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

DEEPEST, MOST_WORDS = 8, 40  # phrases within one another that are new; words of a sentence


class Clause(NamedTuple):
    """``give . theme 1 3``: a predicate, and the places of the words that it speaks of."""

    predicate: Tuple[str, ...]
    places: Tuple[int, ...]

    def moved(self, by: int) -> "Clause":
        """The clause of words that stand so many places later."""
        return Clause(self.predicate, tuple(place + by for place in self.places))


class Parsed(NamedTuple):
    """A sentence or a phrase and its logical form; the rest speaks of a phrase's ``head``."""

    words: Tuple[str, ...]
    clauses: Tuple[Clause, ...]
    head: int = 0


def parse(sentence: Sequence[str], form: Sequence[str], names: Set[str]) -> Optional[Parsed]:
    """A sentence and its logical form; none for one word, or with a name twice."""
    words = tuple(word if word in names else word.lower() for word in sentence)
    used = [word for word in words if word in names]
    if len(words) == 1 or len(set(used)) < len(used):
        return None
    clauses = []
    for text in " ".join(form).replace(" ; ", " AND ").split(" AND "):
        *predicate, first, last = text.split()
        binary = first.isdigit() or first in names
        arguments = [first, last] if binary else [last]
        places = tuple(words.index(a) if a in names else int(a) for a in arguments)
        clauses.append(Clause((*predicate, *([] if binary else [first])), places))
    return Parsed(words, tuple(clauses))


def written(parsed: Parsed, names: Set[str]) -> Tuple[List[str], List[str]]:
    """The sentence and its logical form: first what is definite, then clauses by their places."""
    words = parsed.words

    def text(clause: Clause) -> str:
        places = [words[p] if words[p] in names else str(p) for p in clause.places]
        return " ".join((*clause.predicate, *places))

    clauses = sorted(parsed.clauses, key=lambda clause: clause.places[0])
    definite = [text(clause) for clause in clauses if clause.predicate[0] == "*"]
    others = [text(clause) for clause in clauses if clause.predicate[0] != "*"]
    form = " ; ".join([*definite, " AND ".join(others)])
    return [words[0][0].upper() + words[0][1:], *words[1:]], form.split()


def phrase(whole: Parsed, start: int, end: int) -> Optional[Parsed]:
    """The words from ``start`` to ``end``, if the rest speaks of one of them alone.

    Some clause speaks of its last word: ``the cat was`` is no phrase.
    """
    if not any(end - 1 in clause.places for clause in whole.clauses):
        return None
    inside = [sum(start <= place < end for place in c.places) for c in whole.clauses]
    heads = set()
    clauses = []
    for clause, number in zip(whole.clauses, inside):
        if number == len(clause.places):
            clauses.append(clause.moved(-start))
        elif number:
            if start <= clause.places[0] < end:
                return None
            heads.add(clause.places[1] - start)
    return Parsed(whole.words[start:end], tuple(clauses), *heads) if len(heads) == 1 else None


def phrases(whole: Parsed) -> Iterator[Tuple[int, int, Parsed]]:
    """All phrases with their places."""
    length = len(whole.words)
    for start in range(length):
        for end in range(start + 1, length + 1):
            part = phrase(whole, start, end)
            if part is not None:
                yield start, end, part


def exchanged(whole: Parsed, start: int, end: int, new: Parsed) -> Parsed:
    """The whole with another phrase from ``start`` to ``end``."""
    later = len(new.words) - (end - start)

    def moved(place: int) -> int:
        return place + later if place >= end else start + new.head if place >= start else place

    clauses = [
        Clause(clause.predicate, tuple(map(moved, clause.places)))
        for clause in whole.clauses
        if not all(start <= place < end for place in clause.places)
    ]
    clauses += [clause.moved(start) for clause in new.clauses]
    words = (*whole.words[:start], *new.words, *whole.words[end:])
    return Parsed(words, tuple(clauses), moved(whole.head))


class Recombiner:
    """Draws new sentences. Of nouns and names only the sort counts, of other words all."""

    def __init__(self, wholes: Sequence[Parsed], nouns: Set[str], names: Set[str]) -> None:
        self._sorts = {**dict.fromkeys(nouns, "N"), **dict.fromkeys(names, "P")}
        self._phrases: Dict[Parsed, List[Parsed]] = defaultdict(list)  # those of each pattern
        self._wholes = wholes
        hole = Parsed(("_",), ())
        shared: Dict[Parsed, Set[Parsed]] = defaultdict(set)  # the patterns of an environment
        for whole in wholes:
            for start, end, part in phrases(whole):
                pattern = self._pattern(part)
                self._phrases[pattern].append(part)
                shared[self._pattern(exchanged(whole, start, end, hole))].add(pattern)
        self._kind = {pattern: number for number, pattern in enumerate(self._phrases)}
        members = {number: [pattern] for pattern, number in self._kind.items()}
        for patterns in shared.values():
            first, *others = {self._kind[pattern] for pattern in patterns}
            for other in others:
                self._kind.update(dict.fromkeys(members[other], first))
                members[first] += members.pop(other)
        self._patterns = {kind: sorted(patterns) for kind, patterns in members.items()}
        self._inner = {  # the places of phrases of its own kind
            pattern: [
                (start, end)
                for start, end, part in phrases(pattern)
                if self._kind.get(part) == kind
            ]
            for pattern, kind in self._kind.items()
        }

    def draw(self, rng: Random) -> Parsed:
        """A random sentence with a new phrase, in which another may be new, and so on."""
        while True:
            whole = _any_length(rng, self._wholes)
            places: Dict[int, List[Tuple[int, int]]] = defaultdict(list)  # of each kind
            for start, end, part in phrases(whole):
                places[self._kind[self._pattern(part)]].append((start, end))
            kind = rng.choice(list(places))
            start, end = rng.choice(places[kind])
            new = self._nested(rng, kind, rng.randint(0, DEEPEST))
            drawn = exchanged(whole, start, end, new)
            if len(drawn.words) <= MOST_WORDS:
                return drawn

    def _nested(self, rng: Random, kind: int, depth: int) -> Parsed:
        """A phrase of a kind that holds another of its kind, and so on, if there are any."""
        patterns = self._patterns[kind]
        holding = [pattern for pattern in patterns if self._inner[pattern]] if depth else []
        pattern = _any_length(rng, holding or patterns)
        new = rng.choice(self._phrases[pattern])
        if not holding:
            return new
        start, end = rng.choice(self._inner[pattern])
        return exchanged(new, start, end, self._nested(rng, kind, depth - 1))

    def _pattern(self, parsed: Parsed) -> Parsed:
        """A phrase or sentence with the sort, N or P, in place of each noun and name."""
        words = tuple(self._sorts.get(word, word) for word in parsed.words)
        clauses = {
            Clause(tuple(self._sorts.get(word, word) for word in c.predicate), c.places)
            for c in parsed.clauses
        }
        return Parsed(words, tuple(sorted(clauses)), parsed.head)


def _any_length(rng: Random, parsed: Sequence[Parsed]) -> Parsed:
    """One of these, each number of words as often: most are short."""
    length = rng.choice(sorted({len(one.words) for one in parsed}))
    return rng.choice([one for one in parsed if len(one.words) == length])
