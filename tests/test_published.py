"""examples/paper/published.py: read sample by sample, where a bad one spoils no other and nothing is run."""

import os
import pickle
import sys
import time
from collections import OrderedDict, defaultdict
from pathlib import Path

import pytest
from generated import read

from examples.paper import published
from examples.paper.published import compact_tokens, read_pickled_heat_map, read_published_pairs
from sit_fairseq.datasets.grid import Cell, Grid
from sit_fairseq.errors import MalformedFormula, UserError

LTL = "&!ab\n&!ab;{1}\nU1Xc\nc;1;{c;!c}\n"
PROP = "<->a!b\na0b1\nxorab\na1b0\n&ab\na1\n"


@pytest.fixture
def import_(monkeypatch):
    """Runs the script in this process."""

    def run(kind, semantics, *arguments):
        words = ["published.py", kind, "--semantics", semantics, *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", words)
        published.main()

    return run


def test_splits_of_a_folder(import_, tmp_path, capsys):
    folder, out = tmp_path / "ltl-35", tmp_path / "new" / "data"
    folder.mkdir()
    (folder / "train.txt").write_bytes(LTL.encode() * 3)
    (folder / "val.txt").write_bytes(LTL.replace("\n", "\r\n").encode())  # from Windows
    (folder / "notes.txt").write_text("?")
    import_("pairs", "ltl", folder, out)
    sources = ["& ! a b", "U 1 X c"]
    targets = ["& ! a b ; { 1 }", "c ; 1 ; { c ; ! c }"]
    assert read(out / "train") == [sources * 3, targets * 3]
    assert read(out / "val") == [sources, targets]
    assert len(list(out.iterdir())) == 4
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("6 samples of") and second.startswith("2 samples of")


def test_malformed_samples_stop_or_are_left_out(import_, tmp_path, caplog):
    path, out = tmp_path / "data.txt", tmp_path / "out"
    path.write_text(PROP + "?a\na1\n" + PROP + "&a\n")
    with pytest.raises(UserError, match="^.*data.txt is malformed, line 7: "):
        import_("pairs", "prop", path, out)
    assert list(tmp_path.iterdir()) == [path]
    import_("pairs", "prop", path, out, "--skip-malformed")
    right = [["<-> a ! b", "xor a b", "& a b"], ["a 0 b 1", "a 1 b 0", "a 1"]]
    assert read(out) == [side * 2 for side in right]
    said = [record.getMessage() for record in caplog.records]
    assert [text.split(",")[1].split(":")[0] for text in said] == [" line 7", " line 8", " line 15"]


def pairs(tmp_path, text, semantics):
    """The pairs of a file, and what is wrong with it."""
    (tmp_path / "data.txt").write_text(text)
    bad = []
    return list(read_published_pairs(str(tmp_path / "data.txt"), semantics, bad)), bad


def test_blank_lines_count_only_before_the_end(tmp_path):
    assert pairs(tmp_path, "a\na1\n\n \n", "prop") == ([("a", "a 1")], [])
    found, bad = pairs(tmp_path, "a\na1\n\nb\nb1\n", "prop")
    assert found == [("a", "a 1"), ("b", "b 1")]
    assert bad == ["line 3: the formula was expected, but the formula is empty"]
    assert pairs(tmp_path, "", "prop") == ([], [])
    _, bad = pairs(tmp_path, "a\n", "prop")
    assert bad == ["line 1: the assignment of this formula is missing"]


@pytest.mark.parametrize(
    "semantics, text, number, reason",
    [
        ("ltl", "&a\na;{1}\n", 3, "operand"),
        ("ltl", "&ab\n", 4, "the trace was expected, but a trace has one '{'"),  # no trace at all
        ("ltl", "&ab\na;b\n", 4, "a trace has one '{'"),
        ("ltl", "&ab\na;{c}\n", 4, "symbol 'c' is not in the formula"),
        ("ltl", "&aY\na;{1}\n", 3, "'Y' is neither"),
        ("ltl", "&a;\na;{1}\n", 3, "';' belongs to traces"),
        ("prop", "Xa\na1\n", 3, "unknown operator 'X'"),
        ("prop", "a\na\n", 4, "'a' has no value"),
        ("prop", "a\n1a\n", 4, "'1' stands where a symbol should"),
        ("prop", "a\na1b1\n", 4, "symbol 'b' is not in the formula"),
        ("prop", "a\n\n", 4, "the line is empty"),
    ],
)
def test_a_bad_line_is_named_and_the_others_are_read(tmp_path, semantics, text, number, reason):
    good, pair = {
        "ltl": ("Xa\n1;a;{1}\n", ("X a", "1 ; a ; { 1 }")),
        "prop": ("a\na1\n", ("a", "a 1")),
    }[semantics]
    found, bad = pairs(tmp_path, good + text + good, semantics)
    assert found == [pair] * 2
    assert bad[0].startswith(f"line {number}: ") and reason in bad[0]


@pytest.mark.parametrize(
    "kind, semantics, source, target, message",
    [
        ("pairs", "ltl", "none", "out", "Cannot read .*none"),
        ("pairs", "ltl", "", "out", "no train.txt, val.txt or test.txt"),
        ("pairs", "ltl", "empty", "out", "no sample .* change --semantics"),
        ("pairs", "ltl", "ltl.txt", "empty/out", "empty is a file; name a folder"),
        ("heat-map", "ltl", "ltl.txt", "out", "ltl.txt is not the pickle of a heat map"),
        ("heat-map", "ltl", "none", "out", "Cannot read .*none"),
    ],
)
def test_mistakes_are_told(import_, tmp_path, kind, semantics, source, target, message):
    (tmp_path / "ltl.txt").write_text(LTL)
    (tmp_path / "empty").write_text("")
    with pytest.raises(UserError, match=message):
        import_(kind, semantics, tmp_path / source, tmp_path / target)
    assert sorted(os.listdir(tmp_path)) == ["empty", "ltl.txt"]


CELLS = {
    (2, 4): [("&!ab;{1}", "&!ab"), ("1;{b}", "UaXb")],
    (0, 1): [("{1}", "1")],
    (1, 4): [],
    (2, 3): [("{b}", "Uab")],
}


@pytest.fixture
def pickled(tmp_path):
    """A function that writes bytes, or what is to be pickled, to a file."""

    def write(data, protocol=None):
        path = tmp_path / "map.pkl"
        path.write_bytes(data if isinstance(data, bytes) else pickle.dumps(data, protocol))
        return str(path)

    return write


def test_heat_map_to_grid(import_, tmp_path, pickled, capsys):
    import_("heat-map", "ltl", pickled(CELLS), tmp_path / "grid")
    assert "4 samples" in capsys.readouterr().out
    grid = Grid.read(str(tmp_path / "grid"))
    assert grid.cells == [Cell(0, 1, 0, 1), Cell(2, 3, 1, 1), Cell(2, 4, 2, 2)]
    assert grid.sources == ["1", "U a b", "& ! a b", "U a X b"]
    assert grid.targets == ["{ 1 }", "{ b }", "& ! a b ; { 1 }", "1 ; { b }"]
    assert grid.options == {"semantics": "ltl", "imported": "map.pkl"} and grid.seed is None


def test_heat_map_with_a_bad_sample(import_, tmp_path, pickled):
    path = pickled({(2, 5): [("a1b0", "xorab"), ("a", "&ab")]})
    with pytest.raises(UserError, match="map.pkl is malformed, sample 2: .* 'a' has no value"):
        import_("heat-map", "prop", path, tmp_path / "grid")
    assert not (tmp_path / "grid").exists()
    import_("heat-map", "prop", path, tmp_path / "grid", "--skip-malformed")
    assert Grid.read(str(tmp_path / "grid")).cells == [Cell(2, 3, 0, 1)]  # xor is one token


@pytest.mark.parametrize("protocol", [0, 2, pickle.HIGHEST_PROTOCOL])
@pytest.mark.parametrize("kind", [dict, lambda cells: defaultdict(list, cells)])
def test_pickles_of_every_age(pickled, protocol, kind):
    found = read_pickled_heat_map(pickled(kind(CELLS), protocol))
    assert found == [(formula, answer) for cell in CELLS.values() for answer, formula in cell]


class Payload:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("where", ["top", "key", "value", "text"])
def test_nothing_is_run(tmp_path, pickled, where):
    victim = tmp_path / "made"
    payload = Payload(victim)
    value = {
        "top": payload,
        "key": {(1, payload): []},
        "value": {(1, 1): payload},
        "text": {(1, 1): [("{a}", payload)]},
    }[where]
    path = pickled(value)
    with pytest.raises(UserError, match=f"it asks for '{os.system.__module__}.system'"):
        read_pickled_heat_map(path)
    assert not victim.exists()
    try:  # it is dangerous indeed
        pickle.loads(Path(path).read_bytes())
    except TypeError:
        pass
    assert victim.exists()


@pytest.mark.parametrize(
    "data, message",
    [
        (OrderedDict(), "asks for 'collections.OrderedDict'"),
        (b"(iposix\nsystem\n.", "asks for 'posix.system'"),
        (b"cposix\nsystem\n(S'touch x'\ntR.", "asks for 'posix.system'"),
        (b"\x8c\x08builtins\x8c\x04eval\x93.", "asks for 'builtins.eval'"),
        (b"c__builtin__\nlist\n}b.", "not the pickle"),  # sets an attribute of a class
        (b"\x82\x01.", "not the pickle"),  # of the registry of extensions
        ([1], "no dict of lists"),
        ({(1, 2): [("a", "b", "c")]}, "no dict of lists"),
        ({(1, 1): [("a", None)]}, "something else than texts"),
        (pickle.dumps(CELLS)[:-20], "not the pickle"),
        (b"I" + b"9" * 10000 + b"\n.", "not the pickle"),
        (b"\x8d" + b"\xff" * 7 + b"\x7f.", "not the pickle"),  # a text of 2^63 - 1 bytes
    ],
)
def test_everything_else_is_refused(pickled, data, message):
    with pytest.raises(UserError, match=message):
        read_pickled_heat_map(pickled(data))


@pytest.mark.parametrize(
    "data",
    [
        b"})" + b"2\x86" * 60 + b"K\x01s.",  # a key of pairs of pairs: its hash takes 2^60 steps
        b"})" + b"\x85" * 1_000_000 + b"K\x01s.",  # a key of a million tuples in tuples
        b"\x80\x04}r\xff\xff\xff\xff.",  # a memo of four thousand million entries
        b"\x80\x05\x96" + (2**40).to_bytes(8, "little") + b".",  # an array of 2^40 bytes
    ],
)
def test_time_and_memory_are_limited(pickled, data, monkeypatch):
    monkeypatch.setattr(published, "_SECONDS", 0.3)
    started = time.monotonic()
    with pytest.raises(UserError, match="takes more than 0.3 s or 1 GiB"):
        read_pickled_heat_map(pickled(data))
    assert time.monotonic() - started < 10


def test_texts_that_are_stored_once_and_used_often_are_counted_each_time(monkeypatch):
    shared = [("a" * 50, "b" * 50)] * 30
    data = pickle.dumps({(1, length): shared for length in range(30)})
    assert len(published.unpickle(data)) == 900
    monkeypatch.setattr(published, "_MAX_CHARACTERS", 50_000)
    assert published.unpickle(data) == "its texts have more than 50000 characters"


@pytest.mark.parametrize(
    "text, tokens",
    [
        ("xor<->ab->c1", "xor <-> a b -> c 1"),
        ("<->xor!x0|or", "<-> xor ! x 0 | o r"),
        ("GFWRMaabc", "G F W R M a a b c"),
        ("a;&ab;{b}", "a ; & a b ; { b }"),
        (" & a\tb ", "& a b"),
        ("", ""),
    ],
)
def test_compact_notation(text, tokens):
    assert compact_tokens(text) == tokens.split()


@pytest.mark.parametrize(
    "text, character",
    [
        ("&aQ", "Q"),
        ("&a\u00e9", "\u00e9"),
    ],
)
def test_unknown_characters_are_named(text, character):
    with pytest.raises(MalformedFormula, match=f"^'{character}' is neither"):
        compact_tokens(text)
