"""Answers to problems of a domain as people write them, for ``sit answer``."""

import re
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

import sit_fairseq
from sit_fairseq.domains import Domain
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.in_time import in_time
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.model import Answer, Model
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


class Status(str, Enum):
    """The outcome for a formula."""

    verified = "verified"  # a judge has accepted the answer
    impossible = "no answer exists"  # the judge has proved it
    unverified = "not verified"  # the search found none that the judge accepts
    unreadable = "cannot be read"
    unanswered = "cannot be answered"  # by this model, as it is too long for example


@dataclass(frozen=True)
class FormulaAnswer:
    """A formula and its answer."""

    formula: str  # as it was given
    status: Status
    # As in data sets; over p0, p1, ... by first appearance, where a name is no single word.
    source: str = ""  # the formula in prefix notation
    answer: str = ""  # if it is verified
    text: str = ""  # the same for people
    reason: str = ""  # why there is no answer
    decided: bool = True  # whether the same would come of it with more time
    # What the formula calls each symbol of `source` and `answer`.
    names: Dict[str, str] = field(default_factory=dict)


def shipped_model(name: str) -> Path:
    """The folder of a trained model that comes with the package; a UserError if there is none."""
    package = Path(sit_fairseq.__file__).parent
    for folder in (package.parent / "checkpoints" / name, package / "checkpoints" / name):
        if (folder / "model.pt").is_file():
            return folder
    raise UserError(f"no model {name} comes with this installation; name one", "path")


def answer_formulas(
    formulas: Iterable[str],
    domain: Domain,
    model: Model,
    judges: JudgePool,
    beams: Sequence[int],
    seconds: float,
) -> Iterator[FormulaAnswer]:
    """Answers formulas, in order, the first one before the second is asked.

    The model's symbols are called p0, p1, ..., see ``SYMBOLS``; a formula is given up after so many
    ``seconds``, see :func:`in_time`.
    """

    def work(batch: List[Tuple[int, str]]) -> Iterable[Tuple[Any, FormulaAnswer]]:
        return zip(batch, _batch([formula for _, formula in batch], domain, model, judges, beams))

    for (_, formula), answer in in_time(enumerate(formulas), work, seconds):
        reason = f"the time limit of {seconds:g} seconds, --seconds"
        given_up = FormulaAnswer(formula, Status.unverified, reason=reason, decided=False)
        yield answer or given_up


def _batch(
    batch: Sequence[str], domain: Domain, model: Model, judges: JudgePool, beams: Sequence[int]
) -> List[FormulaAnswer]:
    """The answers to some formulas."""
    read = [_read(formula, domain) for formula in batch]
    sources = [" ".join(one.tokens) for one in read if not isinstance(one, str)]
    answers = iter(_answers(sources, domain, model, judges, beams))
    return [
        (
            FormulaAnswer(formula, Status.unreadable, reason=one)
            if isinstance(one, str)
            else _answered(formula, one, domain, *next(answers))
        )
        for formula, one in zip(batch, read)
    ]


def _answers(
    sources: Sequence[str],
    domain: Domain,
    model: Model,
    judges: JudgePool,
    beams: Sequence[int],
) -> List[Tuple[Answer, Optional[bool]]]:
    """The model's answer to each formula over p0, p1, ..., and whether the formula has one.

    All forms of a formula are asked with the first beam, and then with wider ones, the formula
    itself last: another form finds more than a wider beam.
    """
    forms = []
    for source in sources:
        made: Dict[str, Callable] = {source: list}
        for tokens, whole in domain.rewrite(source.split()) if domain.rewrite else ():
            made.setdefault(" ".join(tokens), whole)
        forms.append(list(made.items()))
    found: Dict[int, Answer] = {}

    def ask(places: Iterable[int], form: int, widths: Sequence[int]) -> None:
        left = [p for p in places if p not in found or found[p].verdict is not Verdict.satisfied]
        left = [place for place in left if form < len(forms[place])]
        asked = [forms[place][form][0] for place in left]
        for place, one in zip(left, model.answer(asked, beams=widths, verify=judges)):
            if form and one.verdict is Verdict.satisfied:
                answer = " ".join(forms[place][form][1](one.text.split()))
                (verdict,) = judges.verify_all([(sources[place], answer)])
                one = replace(one, text=answer, verdict=verdict)
            if one.verdict is Verdict.satisfied or not form and place not in found:
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
    left = [place for place in places if found[place].verdict is not Verdict.satisfied]
    for place, solvable in zip(left, judges.solvable([sources[place] for place in left])):
        possible[place] = solvable
    if beams[1:]:
        ask_in_turn([p for p in left if possible[p] is not False], (*others, 0), beams[1:])
    return [(found[place], possible[place]) for place in places]


def _renamed(sentence: str, names: Mapping[str, str]) -> str:
    return " ".join(names.get(token, token) for token in sentence.split())


@dataclass(frozen=True)
class _Question:
    tokens: Sequence[str]
    names: Mapping[str, str]  # what people call each symbol among them


def symbols_of_questions(domain: Domain) -> str:
    """The pattern of the symbols that a domain's problems are read over."""
    sorts = SymbolPattern(domain.symbols).sorts != [""]
    return domain.symbols if domain.read is None or sorts else SYMBOLS


def _read(formula: str, domain: Domain) -> Any:
    """A :class:`_Question`, or why a text is none."""
    if "\ufffd" in formula:
        return "the line is no text in UTF-8"
    try:
        if domain.read is None:
            domain.judge().check(formula)
            tokens = formula.split()
            return _Question(tokens, {s: s for s in SymbolPattern(domain.symbols).symbols(tokens)})
        found = domain.read(formula)
    except ValueError as error:
        return str(error)
    names = found.names
    if not isinstance(names, Mapping):
        names = {f"p{number}": name for number, name in enumerate(names)}
    return _Question(found.tokens, names)


def _answered(
    formula: str, reading: Any, domain: Domain, answer: Optional[Answer], possible: Optional[bool]
) -> FormulaAnswer:
    symbols, plain = reading.names, _plain(reading.names.values(), domain)
    names = {name: name for name in symbols.values()} if plain else dict(symbols)
    source = " ".join(reading.tokens)
    source = _renamed(source, symbols) if plain else source
    if answer is not None and answer.verdict is Verdict.satisfied:
        write = domain.write or (lambda tokens, names: _renamed(" ".join(tokens), names))
        text = write(answer.text.split(), symbols)
        words = _renamed(answer.text, symbols) if plain else answer.text
        return FormulaAnswer(formula, Status.verified, source, words, text, names=names)
    if possible is False:
        status, reason = Status.impossible, "the judge has proved that there is none"
    elif answer.text is None:
        status, reason = Status.unanswered, answer.reason
    else:
        status, reason = Status.unverified, _UNDECIDED.get(answer.verdict)
        if reason is not None:
            return FormulaAnswer(formula, status, source, reason=reason, decided=False, names=names)
        reason = _UNVERIFIED[not possible]
    return FormulaAnswer(formula, status, source, reason=reason, names=names)


def confirmed(
    formula: str, entry: Mapping[str, Any], domain: Domain, judges: JudgePool
) -> Optional[FormulaAnswer]:
    """A journal's entry of a formula, judged again; None if the model is to answer again. A
    ValueError or TypeError if it is not what becomes of the formula."""
    noted = FormulaAnswer(**{**entry, "status": Status(entry["status"])})
    if noted.decided is not True:
        return None
    read = _read(formula, domain)
    if isinstance(read, str):
        right: Any = FormulaAnswer(formula, Status.unreadable, reason=read)
    elif noted.status is Status.verified:
        names = {name: symbol for symbol, name in read.names.items()}
        plain = _plain(names, domain)
        answer = _renamed(noted.answer, names) if plain else str(noted.answer)
        (verdict,) = judges.verify_all([(" ".join(read.tokens), answer)])
        if not verdict.decided:
            return None
        given = Answer(answer, verdict=verdict)
        right = verdict is Verdict.satisfied and _answered(formula, read, domain, given, True)
    elif noted.status is Status.impossible:
        (possible,) = judges.solvable([" ".join(read.tokens)])
        if possible is None:
            return None
        right = _answered(formula, read, domain, None, possible) if not possible else None
    elif noted.status is Status.unanswered:
        return None
    else:
        given = _answered(formula, read, domain, None, False)
        right = replace(given, status=Status.unverified, reason=noted.reason)
        right = right if noted.reason in _UNVERIFIED else None
    if right != noted:
        raise ValueError(f"{entry} is no answer to {formula}")
    return noted


def _plain(names: Iterable[str], domain: Domain) -> bool:
    """Whether the symbols of data may be called so: each name is one word, and a symbol."""
    pattern = SymbolPattern(domain.symbols)
    return all(
        re.fullmatch(r"\w[\w.]*", name)
        and pattern.is_symbol(name)
        and name.lower() not in ("true", "false")
        for name in names
    )
