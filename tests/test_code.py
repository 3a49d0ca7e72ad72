"""examples/code: which names of a function are local, and functions as words."""

import ast
import dis
import functools
from collections import Counter
from io import StringIO
from pathlib import Path
from random import Random
from types import CodeType

import pytest

from examples.code import functions
from examples.code.functions import extract, key_of, python_files, renamed, split
from examples.code.names import Unsuited
from examples.code.words import MARK, PATTERN, functions_of, source_of, words_of
from sit_fairseq.symbols.renaming import Renaming

# Functions with local names of every kind.
SCOPES = [
    "def f(a, /, b, *c, d=0, **e): return a",
    "def f(x: int = x) -> x: return x.x(x=x)",
    "def f(self):\n    self.a = 1\n    b.c = a\n    return self",
    "def f():\n    global g\n    g = 1\n    h = g",
    "def f(a):\n    def g():\n        nonlocal a\n        a = 2\n    return g",
    "def f():\n    class C:\n        a = 1\n        b = a\n        def g(self): return a",
    "def f(a):\n    class C(a, b=a):\n        c = a\n    return C",
    "def f():\n    return [a for a in b for c in a if c]",
    "def f(a):\n    return {a: b for a, b in a.a.items()}",
    "def f(a):\n    if any((b := c) for c in a): return b",
    "def f():\n    try: pass\n    except (A, e.e) as e: raise e",
    "def f():\n    import a, b.c, d as e\n    from g import h, i as j\n    return a, b, h, e, j",
    "def f(a):\n    import a\n    return a",
    "def f(q):\n    match q:\n        case [a, *b]: pass\n        case {'c': c, **d,}: pass\n        case P(x=1, y=e) | Q(e): pass\n        case (1 | 2) as g: pass\n        case _: pass",
    "def f():\n    a: b = 1\n    c: d\n    return c",
    "def f():\n    for a, (b.c, d[e]) in g: del a",
    "def f():\n    with a as (b, c), d: return lambda b, g=b: h",
    "def f(α):\n    return 'ä', α",
    "async def f(a):\n    async for b in a: await b",
    "def f(a):\n    @a\n    def b(c=a): return c\n    return b",
    "def f(self, a): super().f(a=a); g(a=a, b='a')",
]

# Functions with arguments, which compute the same whatever local names change places.
EXECUTED = {
    "def f(a, b=2, *c, d=(0,)):\n    e, (g, *h) = a, [b, *c]\n    return [e - x * g for x in d]": (
        5,
        3,
        4,
    ),
    "def f(a, b):\n    class C:\n        c = a\n        def d(self, e=b): return self.c - e\n"
    "    return C().d(), C().d(b + a)": (2, 3),
    "def f(a, b):\n    import math as m\n    match {'k': a, 'l': b}:\n"
    "        case {'k': [x, *y], **z}: return x, y, z, m.sqrt(b)": ([1, 2], 4),
    "def f(a, b):\n    g = lambda c, d=a: c - d * b\n"
    "    return g(a), sorted(a * [b, 1], key=lambda x: -x), dict(q=b)": (2, 3),
}

# Functions of which some names may not.
NOT_EXCHANGED = [
    "def f():\n    def g(a): return a\n    return g(a=1)",
    "def f(b):\n    def g(a): return a\n    return g(**{'a': b})",
    "def f(b):\n    g = lambda a: a\n    return g(**dict(a=b))",
    "def f(b): return (lambda a: a)(**b)",
    "def f(n, m=1): return m if n < 2 else f(n - 1, m=m * n)",
    "def f(self, n): return self.next.f(n=n)",
    "def __init__(self, n): self.n = n and type(self)(n=n - 1)",
    "def f(a):\n    class C(B, a=a):\n        def __init_subclass__(c, a): pass",
    "def f(__a):\n    class C:\n        def g(self): return __a\n    return C().g",
    "def f(a):\n    class C:\n        a = a\n    return C",
    "def f(a, b):\n    class C:\n        a = 1\n        c = b\n    return a, C",
    "def f():\n    global g\n    def h():\n        g = 2\n        return g\n    return g",
    "def f(a):\n    def g():\n        global a\n        a = 2\n    return a, g",
    "def f(b):\n    def g(a=a): return a, b\n    return g",
    "def f(a):\n    def g():\n        import a\n        return a\n    return a, g",
    "def f():\n    def g(): pass\n    return g.__name__",
    "def f(b):\n    def g(a): return a\n    return signature(g)",
    "def f(b):\n    def g(a, **kw): return a, kw\n    return g(1, b=b)",
    "def f(b):\n    class C:\n        def g(self, a): pass\n    class D(C):\n"
    "        def g(self, z): super().g(a=z)\n    return D",
    "def f(p):\n    for _ in p: pass\n    match p:\n        case [a, b]: return a",
    "def f(x):\n    µ = x\n    return μ",
]


def the_function(text):
    (node,) = functions_of(text)
    return words_of(node, list(StringIO(text)))


def test_a_name_is_a_symbol_only_where_it_means_the_local_variable():
    text = "def f(x, y=x):\n    return x.x(x=x, **y)"
    expected = "def f ( $x , $y = x ) : <newline> <indent> "
    expected += "return $x . x ( x = $x , ** $y ) <newline> <dedent>"
    assert the_function(text) == expected.split()


@pytest.mark.parametrize("text, arguments", EXECUTED.items())
def test_a_function_whose_names_change_places_computes_the_same(text, arguments):
    words, rng, results = the_function(text), Random(1), []
    symbols = PATTERN.symbols(words)
    for new in [symbols, *(rng.sample(symbols, len(symbols)) for _ in range(30))]:
        space = {}
        exec(source_of(Renaming(dict(zip(symbols, new))).tokens(words)), space)
        results.append(space["f"](*arguments))
    assert results[1:] == results[:1] * 30


@pytest.mark.parametrize(
    "text",
    [
        "def f(a): return f'{a}'",
        "def f(a): return locals()",
        "def f(a): return eval('a')",
        "def f(a):\n    '''Only this.'''",
        "def f(a): return '''\n'''",
        *NOT_EXCHANGED,
    ],
)
def test_functions_whose_names_tokens_do_not_tell_or_may_not_change_are_left_out(text):
    with pytest.raises(Unsuited):
        the_function(text)


def test_docstrings_and_comments_are_left_out():
    text = 'class C:\n    def f(a):\n        """Text."""  # more\n        # why\n        @a\n'
    text += '        def g():\n            "Text."; return "a  b"\n        return g\n'
    expected = "def f ( $a ) : <newline> <indent> @ $a <newline> def $g ( ) : <newline> <indent> "
    expected += 'return "a␣␣b" <newline> <dedent> return $g <newline> <dedent>'
    assert the_function(text) == expected.split()


def without_docstrings(node):
    for inner in ast.walk(node):
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner.body = inner.body[ast.get_docstring(inner) is not None :]
    node.decorator_list = []
    return node


def instructions(code, original=lambda text: text):
    """The instructions of a code object and of those inside it, with the original names."""

    def plain(value):
        if isinstance(value, CodeType):
            return instructions(value, original)
        if isinstance(value, tuple):
            return tuple(map(plain, value))
        return original(value) if isinstance(value, str) else value

    return [(found.opname, plain(found.argval)) for found in dis.get_instructions(code)]


def local_variables(code):
    found = {*code.co_varnames, *code.co_cellvars} if code.co_flags & 2 else set()
    return found.union(*(local_variables(c) for c in code.co_consts if isinstance(c, CodeType)))


@functools.lru_cache(None)
def library():
    """Words of functions of the standard library, with their nodes."""
    found = []
    for name in ("argparse", "shutil"):
        path = Path(ast.__file__).parent / f"{name}.py"
        text = path.read_text(encoding="utf-8")
        for node in functions_of(text):
            try:
                found.append((words_of(node, list(StringIO(text))), node))
            except Unsuited:
                pass
    return found


def test_words_are_the_whole_function():
    assert len(library()) > 100
    for words, node in library():
        again = ast.parse(source_of(words)).body[0]
        assert ast.dump(again) == ast.dump(without_docstrings(node))
        assert the_function(source_of(words)) == words


def test_a_renamed_function_compiles_to_the_same_instructions():
    # Python orders cells by name; this renaming keeps their order.
    for words, _ in [*library(), *((the_function(text), None) for text in SCOPES)]:
        new = [word.replace(MARK, "$zzq") if PATTERN.is_symbol(word) else word for word in words]
        before, after = (compile(source_of(w), "f", "exec") for w in (words, new))
        assert instructions(after, lambda text: text.replace("zzq", "")) == instructions(before)
        names = {name for name in local_variables(after) if not name.startswith(("zzq", "."))}
        imported = " ".join(words).split(" import ")[1:]  # or has what it imports
        assert all(any(name in part.split() for part in imported) for name in names), source_of(new)


def test_renamings_of_a_function_are_one_and_no_test_is_in_training():
    texts = ["def f(a, b):\n    if a: return b\n    return a + b + {}".format(n) for n in range(30)]
    both = [the_function(text) for text in texts]
    other = [the_function(text.replace("a", "c").replace("b", "a")) for text in texts]
    assert [key_of(w) for w in both] == [key_of(w) for w in other] and len(
        {*map(key_of, both)}
    ) == 30
    splits = split(iter(both[:10] + other[:10]), iter(other + both), Random(1))
    assert len(splits["test"]) == 10 and len(splits["valid"]) + len(splits["train"]) == 20
    assert not {*splits["test"]} & {*splits["valid"]}


def test_tests_get_other_names_of_training_and_names_that_no_training_has():
    lines = [
        " ".join(words) for words, _ in library() if functions.suits(words, functions.TRAINING)
    ]
    train, test = lines[::2], lines[1::2]
    known = {name for line in train for name in PATTERN.symbols(line.split())}
    variants = renamed(test, train, Random(1))
    for place, line in enumerate(test):
        own, words = set(PATTERN.symbols(line.split())), line.split()
        names = {name: set(PATTERN.symbols(new[place].split())) for name, new in variants.items()}
        assert names["permuted"] == own
        assert names["other"] <= known and not names["other"] & own
        assert not names["unseen"] & known
        for new in variants.values():
            new = new[place].split()
            assert key_of(new) == key_of(words)
            moved = zip(PATTERN.symbols(words), PATTERN.symbols(new), strict=True)
            assert all(before != after for before, after in moved)
            compile(source_of(new), "f", "exec")


def test_files_are_read_and_those_of_another_python_are_left_out(tmp_path):
    good = "def f(a, b):\n    if a: return b\n    return a + b + 1\n"
    for name, text in {"a.py": good, "b.py": "print 1", "tests/c.py": good, "d.txt": ""}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    reasons, files = Counter(), python_files(tmp_path, {"tests"})
    assert [path.name for path in files] == ["a.py", "b.py"]
    assert list(extract(files, reasons)) == [the_function(good)]
    assert reasons == {"no file of this Python": 1}
