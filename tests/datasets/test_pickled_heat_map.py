"""Pickles are read without being run."""

import os
import pickle
from collections import OrderedDict, defaultdict

import pytest

from sit_fairseq.datasets import pickled_heat_map
from sit_fairseq.datasets.pickled_heat_map import Entry, RefusedPickle, read_pickled_heat_map

CELLS = {
    (0, 1): [("{1}", "1")],
    (2, 300): [],
    (2, 70000): [("a;{b}", "&aXb"), ("{\u00e9}" + "a" * 300, "b" * 70000)],
    (10, 2): [("{!a}", "!a")] * 2,
}
ENTRIES = [
    Entry(0, 1, "1", "{1}"),
    Entry(2, 70000, "&aXb", "a;{b}"),
    Entry(2, 70000, "b" * 70000, "{\u00e9}" + "a" * 300),
    *[Entry(10, 2, "!a", "{!a}")] * 2,
]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("kind", [dict, lambda cells: defaultdict(list, cells)])
def test_every_protocol(protocol, kind):
    assert list(read_pickled_heat_map(pickle.dumps(kind(CELLS), protocol))) == ENTRIES


def test_defaultdict_without_a_factory():
    assert list(read_pickled_heat_map(pickle.dumps(defaultdict(None, CELLS)))) == ENTRIES


class Payload:
    """Makes a file when it is unpickled."""

    def __init__(self, path, function=os.system):
        self.path, self.function = path, function

    def __reduce__(self):
        return self.function, (f"touch {self.path}",)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("where", ["top", "key", "value", "text"])
def test_nothing_is_run(tmp_path, protocol, where):
    victim = tmp_path / "made"
    payload = Payload(victim)
    value = {
        "top": payload,
        "key": {(1, payload): []},
        "value": {(1, 1): payload},
        "text": {(1, 1): [("{a}", payload)]},
    }[where]
    data = pickle.dumps(value, protocol)
    with pytest.raises(RefusedPickle, match=f"it asks for '{os.system.__module__}.system'"):
        list(read_pickled_heat_map(data))
    assert not victim.exists()
    try:  # it is dangerous indeed
        pickle.loads(data)
    except TypeError:
        pass
    assert victim.exists()


@pytest.mark.parametrize(
    "data, message",
    [
        (pickle.dumps(OrderedDict()), "asks for 'collections.OrderedDict'"),
        (pickle.dumps({(1, 1): {"a"}}), "kind EMPTY_SET"),
        (pickle.dumps({(1, 1): 0.5}), "kind BINFLOAT"),
        (pickle.dumps({(1, 1): [("a", None)]}), "kind NONE"),
        (pickle.dumps({(1, True): []}), "kind NEWTRUE"),
        (b"I01\n.", "kind INT"),
        (b"(iposix\nsystem\n.", "asks for 'posix.system'"),
        (b"cposix\nsystem\n(S'touch x'\ntR.", "asks for 'posix.system'"),
        (b"\x8c\x08builtins\x8c\x04eval\x93.", "asks for 'builtins.eval'"),
        (b"c__builtin__\nlist\n(tR.", "calls something that is no defaultdict"),
        (b"\x82\x01.", "kind EXT1"),
        (b"Pid\n.", "kind PERSID"),
        (b"]]b.", "kind BUILD"),
        (pickle.dumps([1]), "holds a list"),
        (pickle.dumps({1: []}), "key of its dict"),
        (pickle.dumps({(1, 2, 3): []}), "key of its dict"),
        (pickle.dumps({("1", 2): []}), "key of its dict"),
        (pickle.dumps({(1, 2): "ab"}), r"under \(1, 2\)"),
        (pickle.dumps({(1, 2): ["ab"]}), r"under \(1, 2\)"),
        (pickle.dumps({(1, 2): [("a", "b", "c")]}), r"under \(1, 2\)"),
        (pickle.dumps({(1, 2): [["a", "b"]]}), r"under \(1, 2\)"),
        (b"ccollections\ndefaultdict\n.", "holds a _Name"),
        (b"", "damaged"),
        (b"not a pickle", "damaged"),
        (pickle.dumps(CELLS)[:-20], "damaged"),
        (b"]).", "holds a tuple"),
        (b"}]K\x01s.", "key of a dict"),
        (b"K\x01a.", "damaged"),
        (b"K\x01K\x01a.", "damaged"),
        (b"u.", "damaged"),
        (b"h\x07.", "damaged"),
        (b".", "damaged"),
        (b"I" + b"9" * 10000 + b"\n.", "damaged"),
        (b"\x8d" + b"\xff" * 7 + b"\x7f.", "damaged"),  # a text of 2^63 - 1 bytes
    ],
)
def test_everything_else_is_refused(data, message):
    with pytest.raises(RefusedPickle, match=message):
        list(read_pickled_heat_map(data))


def test_memory_is_not_wasted_on_what_the_file_only_claims():
    # Python's own unpickler makes room for a memo of four thousand million entries.
    data = b"\x80\x04}r\xff\xff\xff\xff."
    assert list(read_pickled_heat_map(data)) == []


def test_depth():
    deep = b")" + b"\x85" * 100_000  # tuples in tuples
    for data in (b"}" + deep + b"K\x01s.", deep + b")\x93."):
        with pytest.raises(RefusedPickle):
            list(read_pickled_heat_map(data))


def test_size(monkeypatch):
    shared = [("a" * 50, "b" * 50)] * 30
    data = pickle.dumps({(1, length): shared for length in range(30)})
    assert len(list(read_pickled_heat_map(data))) == 900
    monkeypatch.setattr(pickled_heat_map, "MAX_CHARACTERS", 50_000)
    with pytest.raises(RefusedPickle, match="more than 50000 characters"):
        list(read_pickled_heat_map(data))
    monkeypatch.setattr(pickled_heat_map, "MAX_BYTES", 200)
    with pytest.raises(RefusedPickle, match="larger than 200 bytes"):
        list(read_pickled_heat_map(data))
