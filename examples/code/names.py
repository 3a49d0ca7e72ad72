"""Finds the local names among the tokens of a Python function: parameters and local variables.

A local name may be renamed wherever it stands in its function, and the function computes the same.
So attributes, keyword names of calls, globals, builtins, names in the body of a class, and names
that ``import`` binds without ``as`` are no local names. Scopes are those of the language reference,
section 4.2; :mod:`symtable` agrees, which the tests check.

A function is left out if some of its names may not be exchanged:

- A call in it may name a parameter, of a function inside or of itself, as in ``g(a=1)`` and
  ``g(**{"a": 1})``. Calls elsewhere are no part of its text.
- It has a class, and a name such as ``__x``, which Python changes by the name of the class.
- A name means a local variable at one place, and at another one of a class or module.
- It asks what the functions and classes inside are called.
"""

import ast
import contextlib
import io
import tokenize
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Dict, Iterable, Iterator, List, Optional, Set, Tuple, Union

FunctionNode = Union[ast.FunctionDef, ast.AsyncFunctionDef]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# With these a program reads the names of its variables.
_READERS_OF_NAMES = {"locals", "vars", "dir", "eval", "exec"}
_NAMES_OF_A_FUNCTION = {
    *("__name__", "__qualname__", "__code__", "__annotations__", "__kwdefaults__", "f_locals"),
    *("signature", "getfullargspec", "getclosurevars"),
}
# Methods that calls of other names reach.
_CALLED_BY_PYTHON = {"__init__", "__new__", "__call__", "__init_subclass__"}


class Unsuited(Exception):
    """A function whose names cannot all be told by its tokens; the message says why."""


class Tokens:
    """The tokens of some lines of a file, found by where the syntax tree says they are.

    Args:
        lines: of the file, each with its line break.
        first: the number of the first line to read, from 1.
        last: the number of the last one.
    """

    def __init__(self, lines: List[str], first: int, last: int) -> None:
        self._lines, self._first = lines, first
        text = io.StringIO("".join(lines[first - 1 : last]))
        try:
            self.tokens = list(tokenize.generate_tokens(text.readline))
        except (tokenize.TokenError, SyntaxError):
            raise Unsuited("no tokens")
        self._names = [p for p, token in enumerate(self.tokens) if token.type == tokenize.NAME]
        self._starts = [self.tokens[place].start for place in self._names]

    def named(self, name: str, line: int, offset: int) -> int:
        """The place of the first token that is ``name``, from a position on."""
        first = bisect_left(self._starts, self._position(line, offset))
        return self._only(p for p in self._names[first:] if self.tokens[p].string == name)

    def first(self, name: str, node: ast.AST) -> int:
        """The place of the first token of a node, which has to be ``name``."""
        return self._only(p for p in self.inside(node)[:1] if self.tokens[p].string == name)

    def last(self, name: str, node: ast.AST) -> int:
        """The place of the last name of a node, which has to be ``name``."""
        return self._only(p for p in self.inside(node)[-1:] if self.tokens[p].string == name)

    def inside(self, node: ast.AST) -> List[int]:
        """The places of all names of a node."""
        start = self._position(node.lineno, node.col_offset)
        end = self._position(node.end_lineno, node.end_col_offset)
        return self._names[bisect_left(self._starts, start) : bisect_left(self._starts, end)]

    def to_the_end(self, node: ast.stmt) -> List[int]:
        """The places of the tokens of a statement, and of what ends it."""
        start = self._position(node.lineno, node.col_offset)
        end = self._position(node.end_lineno, node.end_col_offset)
        places = [p for p, token in enumerate(self.tokens) if start <= token.start < end]
        ends = (p for p in range(places[-1], len(self.tokens)) if self._ends(p))
        return [*places, *range(places[-1] + 1, next(ends) + 1)]

    def _ends(self, place: int) -> bool:
        token = self.tokens[place]
        return token.type == tokenize.NEWLINE or token.string == ";"

    def _position(self, line: int, offset: int) -> Tuple[int, int]:
        """A line and the bytes before a place in it, as tokens have it: a line of those that were
        read, and the characters before the place."""
        text = self._lines[line - 1]
        return line - self._first + 1, (
            offset if text.isascii() else len(text.encode()[:offset].decode())
        )

    def _only(self, places: Iterable[int]) -> int:
        place = next(iter(places), None)
        if place is None:  # written in other characters than Python reads
            raise Unsuited("a name in other characters")
        return place


@dataclass
class _Scope:
    """A function, lambda or comprehension, or the body of a class; the root is all that is outside."""

    kind: str
    parent: Optional["_Scope"] = None
    bound: Set[str] = field(default_factory=set)
    imported: Set[str] = field(default_factory=set)  # by names that say what to import
    outer: Dict[str, str] = field(default_factory=dict)  # names with "global" or "nonlocal"

    def variable_of(self, name: str) -> Optional["_Scope"]:
        """The function that has the variable which ``name`` means here; None for any other."""
        scope = self
        while scope.kind != "root":
            visible = scope is self or scope.kind != "class"
            if visible and scope.outer.get(name) == "global":
                return None
            if visible and name in scope.bound and name not in scope.outer:
                local = scope.kind != "class" and name not in scope.imported
                return scope if local else None
            scope = scope.parent
        return None


class _Reader(ast.NodeVisitor):
    """Walks through a function and notes where names stand, and what binds them."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.scope = _Scope("root")
        self.uses: List[Tuple[int, str, _Scope]] = []
        self.docstrings: List[int] = []
        self.captures = False  # whether a pattern binds names
        self.others: Set[str] = set()  # names with "global", or of an import

    def read(self, node: FunctionNode) -> None:
        """Reads the function, without its decorators and its own name."""
        self._function(node)

    def _body(self, body: List[ast.stmt]) -> None:
        first = body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            if isinstance(first.value.value, str):
                if len(body) == 1:
                    raise Unsuited("nothing but a docstring")
                self.docstrings += self.tokens.to_the_end(first)
        self._every(body)

    def _use(self, place: int, name: str) -> None:
        self.uses.append((place, name, self.scope))

    def _bind(self, place: int, name: str) -> None:
        self.scope.bound.add(name)
        self._use(place, name)

    @contextlib.contextmanager
    def _inside(self, kind: str) -> Iterator[None]:
        self.scope = _Scope(kind, self.scope)
        yield
        self.scope = self.scope.parent

    def _every(self, nodes) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def _function(self, node: Union[FunctionNode, ast.Lambda]) -> None:
        if getattr(node, "type_params", None):
            raise Unsuited("type parameters")
        args = node.args
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        every = [arg for arg in every if arg is not None]
        # Where the function is defined, not in it.
        self._every([*args.defaults, *args.kw_defaults, *(arg.annotation for arg in every)])
        self._every([getattr(node, "returns", None)])
        with self._inside("function"):
            for arg in every:
                self._bind(self.tokens.first(arg.arg, arg), arg.arg)
            if isinstance(node, ast.Lambda):
                self.visit(node.body)
            else:
                self._body(node.body)

    def visit_FunctionDef(self, node: FunctionNode) -> None:
        self._every(node.decorator_list)
        self._bind(self.tokens.named(node.name, node.lineno, node.col_offset), node.name)
        self._function(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    visit_Lambda = _function

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if getattr(node, "type_params", None):
            raise Unsuited("type parameters")
        self._every([*node.decorator_list, *node.bases, *node.keywords])
        self._bind(self.tokens.named(node.name, node.lineno, node.col_offset), node.name)
        with self._inside("class"):
            self._body(node.body)

    def _comprehension(self, node: ast.AST) -> None:
        first, *more = node.generators
        self.visit(first.iter)
        with self._inside("comprehension"):
            self._every([first.target, *first.ifs, *more])
            values = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            self._every(values)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_Name(self, node: ast.Name) -> None:
        place = self.tokens.first(node.id, node)
        if isinstance(node.ctx, ast.Load):
            self._use(place, node.id)
        else:
            self._bind(place, node.id)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        # In a comprehension it binds a variable of the function around it.
        name = node.target.id
        self._use(self.tokens.first(name, node.target), name)
        scope = self.scope
        while scope.kind == "comprehension":
            scope = scope.parent
        scope.bound.add(name)
        self.visit(node.value)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self._every([node.type])
        if node.name is not None:
            end = node.type.end_lineno, node.type.end_col_offset
            self._bind(self.tokens.named(node.name, *end), node.name)
        self._every(node.body)

    def _import(self, node: Union[ast.Import, ast.ImportFrom]) -> None:
        for alias in node.names:
            if alias.asname is not None:
                self._bind(self.tokens.last(alias.asname, alias), alias.asname)
            else:
                name = alias.name.partition(".")[0]
                self.scope.bound.add(name)
                self.scope.imported.add(name)
                self.others.add(name)

    visit_Import = visit_ImportFrom = _import

    def visit_Global(self, node: ast.Global) -> None:
        self.scope.outer.update(dict.fromkeys(node.names, "global"))
        self.others.update(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.scope.outer.update(dict.fromkeys(node.names, "nonlocal"))
        for place, name in zip(self.tokens.inside(node)[1:], node.names, strict=True):
            self._use(place, name)

    def _pattern(self, node: Union[ast.MatchAs, ast.MatchStar, ast.MatchMapping]) -> None:
        self.generic_visit(node)
        name = node.rest if isinstance(node, ast.MatchMapping) else node.name
        if name is not None:
            self.captures = True
            self._bind(self.tokens.last(name, node), name)

    visit_MatchAs = visit_MatchStar = visit_MatchMapping = _pattern

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        raise Unsuited("an f-string")  # its names are no tokens before Python 3.12

    visit_TemplateStr = visit_JoinedStr

    def visit_TypeAlias(self, node: ast.AST) -> None:
        raise Unsuited("type parameters")


def local_names(node: FunctionNode, tokens: Tokens) -> Tuple[Dict[int, str], List[int]]:
    """The local names of a function, and its docstrings.

    Args:
        node: the function.
        tokens: the tokens of its lines.

    Returns:
        Names by the places of their tokens, and the places of the tokens of docstrings.

    Raises:
        Unsuited: a name stands in an f-string, or the function can read names of variables, has
            type parameters, or nothing but a docstring; or names may not be exchanged.
    """
    reader = _Reader(tokens)
    reader.read(node)
    names = {}
    for place, name, scope in reader.uses:
        if scope.variable_of(name) is not None:
            names[place] = name
        elif name in _READERS_OF_NAMES:
            raise Unsuited("a function that reads names")
        elif scope.kind != "root":  # where the function is defined, its names mean nothing
            reader.others.add(name)
    if not reader.others.isdisjoint(names.values()):
        raise Unsuited("a name of two variables, one of which is not local")
    if reader.captures and "_" in names.values():
        raise Unsuited("a name that a pattern may not have")
    _check_inside(node, {token.string for token in tokens.tokens}, set(names.values()))
    return names, reader.docstrings


def _check_inside(node: FunctionNode, tokens: Set[str], names: Set[str]) -> None:
    """Refuses a function by what is defined and called in it; ``names`` are its local ones."""
    parts = [part for part in ast.walk(node) if part is not node]
    classes = [part for part in parts if isinstance(part, ast.ClassDef)]
    if classes and any(t.startswith("__") and not t.endswith("__") for t in tokens):
        raise Unsuited("a name that a class changes")
    functions = [part for part in parts if isinstance(part, (*_FUNCTIONS, ast.Lambda))]
    if (functions or classes) and not _NAMES_OF_A_FUNCTION.isdisjoint(tokens):
        raise Unsuited("a function that reads names")
    # Of a class inside, super() may be another one inside.
    calls = [part for part in parts if isinstance(part, ast.Call)]
    other = {id(part.func) for part in calls if _is_super(part.func) and not classes}
    used = {getattr(p, "id", getattr(p, "attr", "")) for p in parts if id(p) not in other}
    functions += [node] * (node.name in used or node.name in _CALLED_BY_PYTHON)
    parameters = {a.arg for part in functions for a in (*part.args.args, *part.args.kwonlyargs)}
    if any(part.args.kwarg for part in functions):  # a keyword may be none yet
        parameters |= names
    calls = [part for part in calls if id(part.func) not in other]
    spoken = {keyword.arg for part in (*calls, *classes) for keyword in part.keywords}
    unpacked = None in spoken  # **, of names that may come from anywhere
    spoken.update(part.value for part in parts if isinstance(part, ast.Constant))
    if parameters and (unpacked or not parameters.isdisjoint(spoken)):
        raise Unsuited("a parameter that a call may name")


def _is_super(called: ast.expr) -> bool:
    """Whether a call is ``super().…()``, which is of another function."""
    base = getattr(called, "value", None)
    return isinstance(base, ast.Call) and getattr(base.func, "id", "") == "super"
