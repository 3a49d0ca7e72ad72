"""The file of what has been done: kept, found again, refused where it does not fit."""

import json
import multiprocessing
import os
import threading

import pytest

from sit_fairseq.errors import UserError
from sit_fairseq.storage.journal import Journal


def open_journal(path, kind="answers", restart=False, **depends):
    return Journal(
        str(path),
        kind,
        depends or {"beam": 3},
        advice="pass --restart to discard it",
        where="--result",
        restart=restart,
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "some.jsonl"


def fill(path, *entries, **depends):
    with open_journal(path, **depends) as journal:
        for entry in entries:
            journal.append(entry)


def test_the_file_is_lines_of_readable_json_with_a_header(path):
    depends = {"beam": 3, "sizes": (1, 2)}
    any_text = {"text": "half a pair \ud800, a line\n\u2028, a NUL \0"}
    fill(path, {"text": "∧ – ünï"}, any_text, **depends)
    header, entry, *_ = path.read_text(encoding="utf-8").split("\n")
    assert json.loads(header) == {"journal": "answers", "beam": 3, "sizes": [1, 2]}
    assert "∧ – ünï" in entry
    with open_journal(path, **depends) as journal:
        assert journal.entries[1] == any_text


@pytest.mark.parametrize("lost", [1, 2, 7])
def test_a_torn_last_line_is_dropped(path, lost):
    fill(path, {"n": 1}, {"n": 2})
    whole = path.read_bytes()
    path.write_bytes(whole[:-lost])
    with open_journal(path) as journal:
        assert journal.entries == [{"n": 1}]
        journal.append({"n": 2})
    assert path.read_bytes() == whole


@pytest.mark.parametrize("kept", [0, 5, 15, 20])
def test_a_torn_header_is_written_again(path, kept):
    fill(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:kept])
    fill(path)
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "theirs, ours, words",
    [
        ({"beam": 3, "x": 1}, {"beam": 5, "x": 1}, r"\(beam 3, not 5\)"),
        ({"max_len": 3}, {}, r"\(beam null, not 3; max len 3, not null\)"),
        ({"data": "0" * 64, "n": 1}, {"data": "1" * 64, "n": 2}, r"\(other data; n 1, not 2\)"),
    ],
)
def test_entries_of_other_settings_are_refused_and_kept(path, theirs, ours, words):
    fill(path, {"n": 1}, **theirs)
    before = path.read_bytes()
    with pytest.raises(UserError, match=f"has answers of another run {words}; pass --restart"):
        open_journal(path, **ours)
    assert path.read_bytes() == before
    with open_journal(path, restart=True, **ours) as journal:
        assert journal.entries == []
    assert b'"n": 1}\n' not in path.read_bytes()
    fill(path, {"n": 2}, beam=7)  # there was no entry


def test_a_journal_of_something_else_is_refused(path):
    fill(path)
    with pytest.raises(UserError, match="is no journal of cells; pass --restart"):
        open_journal(path, kind="cells")


@pytest.mark.parametrize("text", ["hello", "{}", "a file of somebody's\n", "[1]\n", "\n", "null\n"])
def test_other_files_are_left_alone(path, text):
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(UserError, match="some.jsonl .*--restart"):
        open_journal(path)
    assert path.read_text() == text


@pytest.mark.parametrize(
    "line", ["hello", "[1]", "", '{"n": ', "[" * 100000, "1" * 10000, "\udcff"]
)
def test_a_damaged_line_is_named(path, line):
    fill(path, {"n": 1})
    with open(path, "a", encoding="utf-8", errors="surrogateescape") as file:
        file.write(line + "\n")
    before = path.read_bytes()
    with pytest.raises(UserError, match="Line 3 of .*some.jsonl is damaged; pass --restart"):
        open_journal(path)
    assert path.read_bytes() == before


def hold(path, connection):
    with open_journal(path) as journal:
        journal.append({"n": 1})
        connection.send("opened")
        connection.recv()


def test_another_process_is_refused_until_this_one_is_killed(path):
    forking = multiprocessing.get_context("fork")
    connection, other = forking.Pipe()
    process = forking.Process(target=hold, args=(path, other))
    process.start()
    try:
        assert connection.recv() == "opened"
        with pytest.raises(UserError, match="in use by another process"):
            open_journal(path)
    finally:
        process.kill()
        process.join()
    with open_journal(path) as journal:
        assert journal.entries == [{"n": 1}]
        with pytest.raises(UserError, match="in use by another process.*--result"):
            open_journal(path, restart=True)
        journal.remove()
    assert not path.exists()


def test_entries_of_many_threads_do_not_mix(path):
    with open_journal(path) as journal:
        threads = [
            threading.Thread(target=journal.append, args=({"n": n, "text": "x" * 5000},))
            for n in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with open_journal(path) as journal:
        assert sorted(entry["n"] for entry in journal.entries) == list(range(20))


def test_a_full_disk_costs_only_the_entry(path, monkeypatch):
    with open_journal(path) as journal:
        journal.append({"n": 1})
        with monkeypatch.context() as patch:

            def full(descriptor):
                raise OSError(28, "No space left on device")

            patch.setattr(os, "fsync", full)
            with pytest.raises(UserError, match="No space left on device; change --result"):
                journal.append({"n": 2})
        journal.append({"n": 3})
    with open_journal(path) as journal:
        assert journal.entries == [{"n": 1}, {"n": 3}]


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "some.jsonl"):
        with pytest.raises(UserError, match="Cannot write .*; change --result"):
            open_journal(path)
