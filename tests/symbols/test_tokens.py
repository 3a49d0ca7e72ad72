"""Tokens by index, without fairseq's dictionary."""

import os
import signal
import threading

from sit_fairseq.symbols.tokens import TokenTable

SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]


def build(tokens=("&", "a", "!", "b"), pattern="[a-z]"):
    return TokenTable(tokens, pattern)


def test_symbols_are_told_by_the_pattern():
    table = build()
    assert table.symbols == ["<s>", "<pad>", "</s>", "<unk>", "&", "a", "!", "b"]
    assert [table[index] for index in (1, 4, 99)] == ["<pad>", "&", "<unk>"]
    assert table.pattern == "[a-z]" and table.known_symbols() == ["a", "b"]
    assert table.own_tokens() == ["!", "&", "a", "b"] and table.base_tokens() == ["!", "&"]
    assert table.is_symbol("z") and not table.is_symbol("zz") and not table.is_symbol("<s>")


def test_without_a_pattern_nothing_is_a_symbol():
    table = build(pattern=None)
    assert table.pattern is None and not table.is_symbol("a") and table.known_symbols() == []
    assert table.index("z") == table.unk() and len(table) == 8
    table.set_pattern("[a-z]")
    assert table.known_symbols() == ["a", "b"]


def test_a_symbol_gets_an_index_when_it_is_looked_up_and_no_other_token_does():
    table = build()
    assert [table.index(token) for token in ("z", "y", "z", "a", "NEW")] == [8, 9, 8, 5, 3]
    assert table.symbols[8:] == ["z", "y"] and table.indices["y"] == 9


def test_adopted_tokens_are_known_but_not_the_tables_own():
    table = build()
    table.adopt(["|", "&", "xor"])
    assert (table.index("|"), table.index("&"), table.index("xor")) == (8, 4, 9)
    assert table.base_tokens() == ["!", "&"]


def test_a_fork_waits_for_the_call_of_another_thread():
    """A child that is born within it would find the lock taken, and names of no call of its own."""
    table, begun, end = build(), threading.Event(), threading.Event()

    def call():
        with table.names_of_one_call():
            table.index("z")
            begun.set()
            end.wait(30)

    thread = threading.Thread(target=call)
    thread.start()
    begun.wait(30)
    threading.Timer(0.2, end.set).start()
    child = os.fork()
    if not child:
        signal.alarm(20)
        with table.names_of_one_call():
            os._exit(int("z" in table))
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
