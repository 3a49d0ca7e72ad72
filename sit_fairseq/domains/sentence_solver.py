"""The solver of domains whose problem is a sentence, and so is its answer."""

import re
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from sit_fairseq.domains.by_name import of_file, refuse_other_domain
from sit_fairseq.domains.solver import Limits, Reading, Solved, Solver, Status
from sit_fairseq.errors import UserError, excerpt
from sit_fairseq.judging.judge import accepting
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.symbols.pattern import SymbolPattern

# What problems are read over; whatever people call their symbols takes the place afterwards.
SYMBOLS = r"p\d+"

# Tokens of a problem from which on the rewritten one is asked first, if it has not half as many: the
# time of a search grows with their square.
_LONG = 64

_UNVERIFIED = (
    "no hypothesis of the search was accepted, though an answer exists",
    "no hypothesis of the search was accepted, and whether one exists is unknown",
)

# Why nobody knows whether the best hypothesis is right.
_UNDECIDED = {
    Verdict.timeout: "the judge took too long over the best hypothesis",
    Verdict.error: "the judge failed on the best hypothesis, perhaps for want of memory",
    Verdict.unavailable: "the problem is too hard for the judge",
}


class SentenceSolver(Solver):
    """Reads a problem, asks a model, has the domain's judge accept the answer, and writes it."""

    metavar = "PROBLEM"
    usual = Limits((3, 10, 25, 100), 60.0)

    def __init__(self, domain: Any, given: Any, load: Callable[..., Any], limits: Limits) -> None:
        super().__init__(domain, given, load, limits)
        # A proof that there is no answer may take a sixth of the time: the search needs the rest.
        self._judges = JudgePool(accepting(domain.judge(), ""), timeout=limits.seconds / 6)
        self._pattern = SymbolPattern(domain.symbols)
        self._grammar = domain.grammar() if domain.grammar else False

    def close(self) -> None:
        self._judges.close()

    @cached_property
    def model(self) -> Any:
        own = self.domain.read is None or self._pattern.sorts != [""]
        try:
            model = self.load(symbols=self.domain.symbols if own else SYMBOLS)
        except UserError:
            refuse_other_domain(self.domain.name, partial(of_file, self.load().domain), "path")
            raise
        refuse_other_domain(self.domain.name, partial(of_file, model.domain), "path")
        if model.fresh_symbols:
            raise UserError("the model writes names that problems lack (--fresh-symbols)", "path")
        return model

    def answers(self, places: Sequence[int]) -> Iterator[Tuple[int, Solved]]:
        read = [self._read(place) for place in places]
        sources = [" ".join(one.tokens) for one in read if isinstance(one, Reading)]
        found = iter(self._asked(sources))
        for place, one in zip(places, read):
            if isinstance(one, Reading):
                answer, possible = next(found)
                words = answer.text, answer.verdict, answer.reason
                yield place, self._solved(one, possible, *words)
            else:
                yield place, Solved(Status.unreadable, reason=one)

    def confirms(self, place: int, noted: Solved) -> bool:
        read, right = self._read(place), None
        if isinstance(read, str):
            right = Solved(Status.unreadable, reason=read)
        elif noted.status is Status.verified:
            symbols = {name: symbol for symbol, name in read.names.items()}
            answer = _renamed(noted.answer, symbols) if self._plain(symbols) else str(noted.answer)
            (verdict,) = self._judges.verify_all([(" ".join(read.tokens), answer)])
            if not verdict.decided:
                return False
            if verdict is Verdict.satisfied:
                right = self._solved(read, True, answer, verdict)
        elif noted.status is Status.impossible:
            (possible,) = self._judges.solvable([" ".join(read.tokens)])
            if possible is None:
                return False
            right = None if possible else self._solved(read, possible)
        elif noted.status is Status.unanswered:
            return False
        elif noted.reason in _UNVERIFIED:
            right = replace(self._solved(read, False), status=noted.status, reason=noted.reason)
        if right != noted:
            raise ValueError(f"{noted} is no answer to {read}")
        return True

    def _read(self, place: int) -> "Reading | str":
        """The reading of a problem, or why it cannot be read."""
        _, text = self.problems[place]
        if "\ufffd" in text:
            return "the line is no text in UTF-8"
        try:
            if self.domain.read is None:
                self._judges.judge.check(text)
                tokens = text.split()
                return Reading(tokens, {s: s for s in self._pattern.symbols(tokens)})
            found = self.domain.read(text)
        except ValueError as error:
            return str(error)
        if not isinstance(found, Reading):
            raise UserError(f"{self.domain.name} reads {excerpt(repr(found))}, which is no Reading")
        return found

    def _asked(self, sources: Sequence[str]) -> List[Tuple[Any, Optional[bool]]]:
        """The model's answer to each source, and whether the source has one.

        All forms of a source are asked with the first beam, and then with wider ones, the source
        itself last: another form finds more than a wider beam.
        """
        forms, beams, satisfied = [], self.limits.beams, Verdict.satisfied
        for source in sources:
            made: Dict[str, Callable] = {source: list}
            for tokens, whole in self.domain.rewrite(source.split()) if self.domain.rewrite else ():
                made.setdefault(" ".join(tokens), whole)
            forms.append(list(made.items()))
        found: Dict[int, Any] = {}

        def unmet(places: Iterable[int]) -> List[int]:
            return [p for p in places if p not in found or found[p].verdict is not satisfied]

        def ask(places: Iterable[int], form: int, widths: Sequence[int]) -> None:
            left = [place for place in unmet(places) if form < len(forms[place])]
            asked = [forms[place][form][0] for place in left]
            how = {"verify": self._judges, "constrained": self._grammar, "beams": widths}
            for place, one in zip(left, self.model.answer(asked, **how)):
                if form and one.verdict is satisfied:
                    answer = " ".join(forms[place][form][1](one.text.split()))
                    (verdict,) = self._judges.verify_all([(sources[place], answer)])
                    one = replace(one, text=answer, verdict=verdict)
                if one.verdict is satisfied or not form and place not in found:
                    found[place] = one

        places = range(len(sources))
        sizes = [[len(text.split()) for text, _ in some] for some in forms]
        long = {place for place in places if sizes[place][0] > max(_LONG, 2 * min(sizes[place]))}
        possible: List[Optional[bool]] = [True] * len(sources)

        def ask_in_turn(left: Iterable[int], order: Iterable[int], widths: Sequence[int]) -> None:
            for form in order:
                ask(set(left) - long if form == 1 else left, form, widths)

        others = range(1, max(map(len, forms), default=0))
        ask(long, 1, beams)
        ask_in_turn(places, (0, *others), beams[:1])
        left = unmet(places)
        for place, solvable in zip(left, self._judges.solvable([sources[p] for p in left])):
            possible[place] = solvable
        if beams[1:]:
            ask_in_turn([p for p in left if possible[p] is not False], (*others, 0), beams[1:])
        return [(found[place], possible[place]) for place in places]

    def _solved(
        self,
        reading: Reading,
        possible: Optional[bool],
        text: Optional[str] = None,
        verdict: Optional[Verdict] = None,
        reason: Optional[str] = "",
    ) -> Solved:
        """The outcome for a problem: whether it has an answer, and the model's with its verdict, or the
        reason why there is none."""
        symbols, plain = reading.names, self._plain(reading.names.values())
        source = " ".join(reading.tokens)
        known = {
            "source": _renamed(source, symbols) if plain else source,
            "names": {name: name for name in symbols.values()} if plain else dict(symbols),
        }
        if verdict is Verdict.satisfied:
            write = self.domain.write or (lambda tokens, names: _renamed(" ".join(tokens), names))
            answer = _renamed(text, symbols) if plain else text
            return Solved(
                Status.verified, answer=answer, text=write(text.split(), symbols), **known
            )
        if possible is False:
            reason = "the judge has proved that there is none"
            return Solved(Status.impossible, reason=reason, **known)
        if text is None:
            return Solved(Status.unanswered, reason=reason, **known)
        reason = _UNDECIDED.get(verdict, _UNVERIFIED[not possible])
        return Solved(Status.unverified, reason=reason, decided=verdict.decided, **known)

    def _plain(self, names: Iterable[str]) -> bool:
        """Whether the symbols of data may be called so: each name is one word, and a symbol."""
        return all(
            re.fullmatch(r"\w[\w.]*", name)
            and self._pattern.is_symbol(name)
            and name.lower() not in ("true", "false")
            for name in names
        )


def _renamed(sentence: str, names: Mapping[str, str]) -> str:
    return " ".join(names.get(token, token) for token in sentence.split())
