"""Files are whole or not there, pairs belong together, and each has one writer at a time."""

import multiprocessing
import os
import stat

import pytest

from sit_fairseq.errors import UserError
from sit_fairseq.storage import files
from sit_fairseq.storage.files import partial_files, read_sentences, replacing


def names(folder):
    """The names of everything in a folder, hidden or not."""
    return sorted(os.listdir(folder))


def write(*paths, text="new"):
    with replacing(*map(str, paths)) as opened:
        for file in opened:
            file.write(text)


def hold(connection, paths):
    with replacing(*paths) as opened:
        opened[0].write("half")
        opened[0].flush()
        connection.send("opened")
        connection.recv()


@pytest.fixture
def held():
    """Lets another process write files, until the end or until it is killed."""
    forking = multiprocessing.get_context("fork")
    processes = []

    def start(*paths):
        connection, other = forking.Pipe()
        process = forking.Process(target=hold, args=(other, [*map(str, paths)]))
        process.start()
        processes.append(process)
        assert connection.recv() == "opened"
        return process

    yield start
    for process in processes:
        process.kill()
        process.join()


def test_files_appear_once_they_are_complete(tmp_path):
    paths = [tmp_path / "a.src", tmp_path / "a.tgt"]
    paths[0].write_text("old")
    with replacing(*map(str, paths)) as opened:
        for file in opened:
            file.write("new\n")
        assert paths[0].read_text() == "old" and not paths[1].exists()
    assert [path.read_bytes() for path in paths] == [b"new\n"] * 2
    assert names(tmp_path) == ["a.src", "a.tgt"]


def test_a_pipe_stays_one(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="pipe is a device or a pipe; name a file"):
        write(tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


def test_nothing_is_left_of_what_fails(tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(KeyboardInterrupt):
        with replacing(str(tmp_path / "a"), str(tmp_path / "b")) as (file, _):
            file.write("new")
            raise KeyboardInterrupt
    assert names(tmp_path) == ["a"] and (tmp_path / "a").read_text() == "old"


def test_files_have_the_usual_permissions(tmp_path):
    write(tmp_path / "a")
    (tmp_path / "b").write_text("")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in "ab"]
    assert modes[0] == modes[1]


@pytest.mark.parametrize("existed", [True, False])
def test_a_symbolic_link_is_written_through(tmp_path, existed):
    (tmp_path / "disk").mkdir()
    target, link = tmp_path / "disk" / "a.src", tmp_path / "x.src"
    if existed:
        target.write_text("old")
    link.symlink_to(target)
    write(link, tmp_path / "x.tgt")
    assert link.is_symlink() and target.read_text() == (tmp_path / "x.tgt").read_text() == "new"
    assert names(tmp_path / "disk") == ["a.src"]


def test_a_second_writer_ends_and_the_first_does_not_notice(tmp_path, held):
    paths = [tmp_path / "a.src", tmp_path / "a.tgt"]
    first = held(*paths)
    before = names(tmp_path)
    for second in (paths, paths[1:], [tmp_path / "b", paths[0]]):
        with pytest.raises(UserError, match=r"a\.(src|tgt) is being written by another process"):
            write(*second)
    assert names(tmp_path) == before and len(before) == 2
    write(tmp_path / "b")  # another file of the folder
    assert first.is_alive()


def test_what_a_killed_writer_has_left_is_replaced_by_the_next(tmp_path, held):
    for _ in range(2):
        process = held(tmp_path / "a")
        process.kill()
        process.join()
        assert names(tmp_path) == [".a.unfinished"]
    write(tmp_path / "a", text="x")
    assert names(tmp_path) == ["a"] and (tmp_path / "a").read_text() == "x"


@pytest.mark.parametrize("existed", [True, False])
def test_if_one_cannot_be_written_none_is(tmp_path, existed):
    paths = [tmp_path / "a.src", tmp_path / "a.tgt"]
    if existed:
        paths[0].write_text("old")
    paths[1].mkdir()  # cannot become a file
    before = names(tmp_path)
    with pytest.raises(UserError, match="Cannot write .*a.src, .*a.tgt: Is a directory"):
        write(*paths)
    assert names(tmp_path) == before
    assert not existed or paths[0].read_text() == "old"


def test_a_kill_between_two_renamings_leaves_no_two_halves(tmp_path, monkeypatch):
    """The last file, which says that all are there, is then missing."""
    paths = [tmp_path / "a.src", tmp_path / "a.tgt"]
    write(*paths, text="old")
    replace = os.replace

    def interrupted(source, target):
        replace(source, target)
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(*paths)
    assert names(tmp_path) == ["a.src"]


def test_files_without_locks_are_written_all_the_same(tmp_path, monkeypatch):
    def refuse(*args):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(files.fcntl, "flock", refuse)
    with partial_files(str(tmp_path / "a")) as (name,):
        with open(name, "w") as file:
            file.write("new")
    assert names(tmp_path) == ["a"] and (tmp_path / "a").read_text() == "new"


def test_read_sentences_keeps_every_line(tmp_path):
    path = tmp_path / "text"
    path.write_bytes("a\r\n\nb\u2028c\n".encode())
    assert read_sentences(str(path)) == ["a", "", "b\u2028c"]
    path.write_bytes(b"a\nb")
    assert read_sentences(str(path)) == ["a", "b"]
    path.write_bytes(b"")
    assert read_sentences(str(path)) == []


def test_unreadable_files_are_the_users_mistake(tmp_path):
    path = tmp_path / "text"
    with pytest.raises(UserError, match="text"):
        read_sentences(str(path))
    for data, message in (
        (b"a\nb\xff\n", "Line 2 of .*text is not UTF-8"),
        (b"\xff\xfea\x00\n\x00", "Line 1 of .*text is not UTF-8"),
        (b"\xef\xbb\xbfa\n", "Line 1 of .*text begins with a byte order mark"),
        (b"a\r\na\rb\n", "Line 2 of .*text has a carriage return in it"),
    ):
        path.write_bytes(data)
        with pytest.raises(UserError, match=message):
            read_sentences(str(path))
