"""Domains: all that is known of a task, a folder each.

A folder with a file ``domain.py``, which has an object ``DOMAIN``, is a domain: no other line names
it. One of your own is called ``MODULE:OBJECT``, in a module that Python finds from the working
directory.
"""

import inspect
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Type

from sit_fairseq.domains.solver import Reading, Solver
from sit_fairseq.errors import UserError, excerpt
from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.own import own_object
from sit_fairseq.search.grammar import Grammar
from sit_fairseq.symbols.pattern import SymbolPattern

_FUNCTIONS = ("grammar", "read", "write", "split", "rewrite", "held_out", "equal")


@dataclass(frozen=True)
class Domain:
    """A task.

    Attributes:
        name: of its folder, or ``MODULE:OBJECT``.
        version: changes with what its sentences mean or its data are; :attr:`versioned` names both.
        symbols: pattern of the symbols in its data, as ``--symbols`` takes it.
        judges: classes of judges, by the name of the judge; the first is the default.
        alias: another name of it.
        arity: number of operands of each token that has some, for positions in trees.
        grammar: makes the grammar of its answers.
        read: a problem as people write it, over p0, p1, ... or, where symbols have sorts, over any
            of ``symbols``. A ValueError says why a text is none. None for problems as data have them.
        write: an answer for people, of its tokens and the names by symbol; None for one as data
            have it.
        split: the problems of a file with their lines, from 1; None for one in each line.
        rewrite: other forms of a problem, from its tokens, each with a function that turns answers to
            the form into answers to the problem. If a problem is long and its first form has less
            than half its tokens, the model is asked this form first.
        recipe: a subclass of :class:`~sit_fairseq.datasets.recipes.Recipe`, which draws problems;
            its fields are the options of ``sit generate``.
        labels: find an answer to a problem, by the name of the kind of answers; the first is the
            default, see :data:`~sit_fairseq.datasets.labelling.Labeller`.
        cells: a subclass of :class:`~sit_fairseq.datasets.recipes.Cells`, which draws the problems
            of grids.
        held_out: problems that people wrote, to be measured on, by the name of their set.
        equal: whether an answer is the reference, up to an order that means nothing.
        solve: a subclass of Solver, where one answer of a model is not enough; None where it is.
        train: makes training data of files, for ``sit train``: a dataclass with the options as fields,
            ``metavar``, ``training``, ``files`` and ``teach``. None where data are drawn.
        model: folder of the model that comes with the package.
    """

    name: str
    version: int
    symbols: str
    judges: Mapping[str, Type[Judge]]
    alias: str = ""
    arity: Mapping[str, int] = field(default_factory=dict)
    grammar: Optional[Callable[[], Grammar]] = None
    read: Optional[Callable[[str], Reading]] = None
    write: Optional[Callable[[Sequence[str], Mapping[str, str]], str]] = None
    split: Optional[Callable[[str], List[Tuple[int, str]]]] = None
    rewrite: Optional[
        Callable[[Sequence[str]], List[Tuple[List[str], Callable[[Sequence[str]], List[str]]]]]
    ] = None
    recipe: Optional[Type[Any]] = None
    labels: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)
    cells: Optional[Type[Any]] = None
    held_out: Optional[Callable[[], Dict[str, List[str]]]] = None
    equal: Optional[Callable[[str, str], bool]] = None
    solve: Optional[Type[Solver]] = None
    train: Optional[Type[Any]] = None
    model: Optional[str] = None

    def __post_init__(self) -> None:
        """A UserError says what is missing or of another kind."""
        fault = self._fault()
        if fault is not None:
            raise UserError(f"the domain {self.name!r} {fault}")

    def _fault(self) -> Optional[str]:
        text = isinstance(self.name, str) and isinstance(self.symbols, str)
        if not (text and self.name and isinstance(self.version, int)):
            return "needs a name, a version that is a whole number, and a pattern of symbols"
        draws = self.recipe is not None or self.cells is not None
        needed = ("judges", 1, "class"), ("labels", int(draws), "function"), ("arity", 0, "number")
        for name, least, what in needed:
            if not isinstance(getattr(self, name), Mapping) or len(getattr(self, name)) < least:
                return f"needs {name}: a {what} for each name"
        try:
            if self.name not in names():  # whose patterns are compiled when they are needed
                SymbolPattern(self.symbols)
        except UserError as error:
            return f"has a wrong pattern of symbols: {error}"
        for number in self.arity.values():
            if not isinstance(number, int) or number < 1:
                return f"has the arity {number!r}, which is no number of operands"
        kinds = [*((name, one, Judge) for name, one in self.judges.items())]
        kinds += [("grammar", self.grammar, Grammar)] * isinstance(self.grammar, type)
        kinds += [("solve", self.solve, Solver)] * (self.solve is not None)
        for name, one, kind in kinds:
            if not (isinstance(one, type) and issubclass(one, kind)):
                return f"has {name}={excerpt(repr(one))}, which is no class of {kind.__name__}"
            if one.__abstractmethods__:
                return f"has {one.__name__}, which lacks {min(one.__abstractmethods__)}"
            try:
                inspect.signature(one).bind(*[None] * 4 * (kind is Solver))
            except TypeError as error:
                return f"has {one.__name__}, which cannot be made ({error})"
        functions = {**self.labels, **{name: getattr(self, name) for name in _FUNCTIONS}}
        for name, one in functions.items():
            if not (callable(one) or one is None and name in _FUNCTIONS):
                return f"has {name}={excerpt(repr(one))}, which is no function"
        for name, method in (("recipe", "draw"), ("cells", "usual")):
            one = getattr(self, name)
            if one is not None and not (isinstance(one, type) and hasattr(one, method)):
                return f"has {name}={excerpt(repr(one))}, which is no class with {method}"
        return "has cells but no recipe" if self.cells and not self.recipe else None

    @property
    def versioned(self) -> str:
        """Name and version, ``ltl@1``."""
        return f"{self.name}@{self.version}"

    def judge(self, name: Optional[str] = None) -> Judge:
        """Makes a judge by its name, None for the default one; a UserError if there is none."""
        name = name or next(iter(self.judges))
        if name not in self.judges:
            known = ", ".join(self.judges)
            raise UserError(f"{self.name} has no judge {name!r}, but {known}", "judge")
        judge = self.judges[name]()
        judge.semantics, judge.name = self.alias or self.name, name
        return judge


def names() -> List[str]:
    """The names of the domains of the package."""
    return sorted(path.parent.name for path in Path(__file__).parent.glob("*/domain.py"))


def find(name: str, parameter: str = "semantics") -> Domain:
    """The domain of a name: of the package, an alias, or ``MODULE:OBJECT``; a UserError, which
    names the ``parameter``, if there is none."""
    domain = known(name)
    if domain is None and ":" in name:
        return own_object(name, parameter, Domain)
    if domain is None:
        known_names = ", ".join([*names(), "your own by MODULE:OBJECT"])
        raise UserError(f"there is no domain {name!r}; known are {known_names}", parameter)
    return domain


def known(name: Optional[str]) -> Optional[Domain]:
    """The domain of the package with a name or an alias; None if there is none."""
    folders = names() if name else []
    for folder in [name] if name in folders else folders:
        domain = import_module(f"{__name__}.{folder}.domain").DOMAIN
        if name in (domain.name, domain.alias):
            return domain
    return None
