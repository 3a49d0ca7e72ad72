"""Every message names the line and what to change."""

import logging

import pytest
import torch
from conftest import SOURCES, TARGETS, encode, make_dictionary

from sit_fairseq.errors import UserError
from sit_fairseq.logic.syntax import ARITY
from sit_fairseq.models.positions import TreePositions
from sit_fairseq.symbols.vocabulary import Vocabulary
from sit_fairseq.tasks import sentence_chunks
from sit_fairseq.tasks.sentence_checks import SentenceChecker


def tree_checker(dictionary):
    """Of a model that reads sources as formulas."""
    vocabulary = Vocabulary(dictionary)
    return SentenceChecker(vocabulary, TreePositions(vocabulary, ARITY, 8).arities)


def check(sources, targets=None, tree=True, split="train"):
    dictionary = make_dictionary()

    def sentences(lines):
        return [encode(dictionary, [line])[0] for line in lines]

    checker = tree_checker(dictionary)
    if not tree:
        checker = SentenceChecker(checker.vocabulary, None)
    checker.check_split(split, sentences(sources), targets and sentences(targets))


@pytest.fixture(params=[1, 2, 50_000], autouse=True)
def chunk_size(request, monkeypatch):
    """Line numbers must not depend on how a split is divided."""
    monkeypatch.setattr(sentence_chunks, "_CHUNK", request.param)


@pytest.mark.parametrize("tree", [True, False])
def test_good_sentences_pass(tree):
    check(SOURCES, TARGETS, tree)
    check(SOURCES, None, tree)


def test_empty_source():
    with pytest.raises(UserError, match="^line 3 of the valid source is empty; remove it"):
        check(["a", "b", "", "0"], split="valid")


def test_empty_target_is_allowed():
    check(["a"], [""])


@pytest.mark.parametrize("wrong", ["& a", "a b", "! & a", "a & b b", "& & a b", "a ! & 0"])
def test_malformed_formula(wrong):
    message = "^line 3 of the test source is not one formula in prefix notation.*rope$"
    with pytest.raises(UserError, match=message):
        check(["a", "& a b", wrong, "! a"], split="test")
    check(["a", "& a b", wrong, "! a"], tree=False)


def test_neighbours_do_not_make_up_for_each_other():
    with pytest.raises(UserError, match="^line 1 "):
        check(["& a", "a b"])


@pytest.mark.parametrize("target", ["a 1 c 0", "c 0 a 1", "b c"])
def test_symbol_that_only_the_target_has(target):
    message = (
        "^line 3 of the train target holds the symbol 'c', which its source does not.*--symbols"
    )
    with pytest.raises(UserError, match=message):
        check(["& a b", "! c", "| a b"], ["a 1", "c 0", target])
    # Another line's symbols do not help, constants need no source.
    check(["& a b", "! c", "| c b"], ["a 1 0", "c 0", "c 1 b 0"])


def test_pairs_with_symbols_of_the_target_alone_are_counted():
    """Pairs and not symbols."""
    sources, targets = ["a", "! b", "& a b", "c", "d"], ["a", "c d c", "b", "a", "d"]
    message = "^line 2 of the train target holds the symbol 'c', .*, as in 2 of the 5 pairs; a symb"
    with pytest.raises(UserError, match=message):
        check(sources, targets)


def test_base_token_that_cannot_be_produced():
    dictionary = make_dictionary()
    vocabulary = Vocabulary(dictionary)
    mask = torch.zeros(vocabulary.num_base)
    mask[vocabulary.rows(torch.tensor(dictionary.index("&")))] = 1
    vocabulary.source_only = mask
    checker = SentenceChecker(vocabulary, None)
    sources, good, bad = (
        [encode(dictionary, [line])[0] for line in lines]
        for lines in (["& a b", "! c", "& c"], ["a 1", "c !", "c"], ["a 1", "c", "c & 0"])
    )
    checker.check_split("train", sources, good)
    message = "^line 3 of the train target holds the base token '&', which only the source"
    with pytest.raises(UserError, match=message):
        checker.check_split("train", sources, bad)


def test_unknown_tokens_are_counted(caplog):
    with caplog.at_level(logging.WARNING):
        check(["a", "NEW"], ["1", "0"], split="test")
    assert "1 source tokens of test are <unk>" in caplog.text
    caplog.clear()
    check(SOURCES, TARGETS)
    assert not caplog.text


def test_typed_lines_are_quoted():
    dictionary = make_dictionary()
    checker = tree_checker(dictionary)
    lines = ["a", "& a"]
    tokens = [dictionary.encode_line(line, add_if_not_exist=False).long() for line in lines]
    with pytest.raises(UserError, match="^the sentence is not one formula .* it: '& a'$"):
        checker.check_input(tokens, lambda index: lines[index])


def test_long_lines_cost_no_square_of_their_length():
    """However deep a formula is, it is none only for operands that are missing or too many."""
    deep = " ".join(["!"] * 30_000 + ["a"])
    check(["a", deep])
    with pytest.raises(UserError, match="^line 2 of the train source is not one formula"):
        check(["a", deep + " a"])


@pytest.mark.parametrize("side", ["source", "target"])
def test_numbers_beyond_the_dictionary(side):
    dictionary = make_dictionary()
    good = [encode(dictionary, [line])[0] for line in ("a", "b")]
    bad = [good[0], torch.tensor([dictionary.index("b"), len(dictionary), dictionary.eos()])]
    pairs = (bad, good) if side == "source" else (good, bad)
    message = (
        f"^line 2 of the valid {side} holds token number {len(dictionary)}, but the dictionary"
    )
    with pytest.raises(UserError, match=message):
        SentenceChecker(Vocabulary(dictionary), None).check_split("valid", *pairs)


def reserving(number, dictionary=None, names=None):
    """A checker of pairs whose targets may hold so many symbols that their sources lack."""
    return SentenceChecker(Vocabulary(dictionary or make_dictionary(), number, names), None)


def pairs(dictionary, sources, targets):
    return [[dictionary.encode_line(line).long() for line in side] for side in (sources, targets)]


def test_targets_may_hold_as_many_fresh_symbols_as_there_are_slots():
    dictionary = make_dictionary()
    split = pairs(dictionary, ["! a", "! 0", "& a b"], ["a c d c", "e f", "b"])
    assert reserving(2, dictionary).check_split("train", *split) == 2
    more = pairs(dictionary, ["! a", "! 0", "& a b"], ["a c d c", "e a g f e", "c d e"])
    message = (
        "line 2 of the train target holds the symbol 'e' and more symbols that its source does "
        "not, than the 2 of --fresh-symbols, as in 2 of the 3 pairs; train with --fresh-symbols 4"
    )
    with pytest.raises(UserError, match=message):
        reserving(2, dictionary).check_split("train", *more)
    assert reserving(4, dictionary).check_split("train", *more) == 4
    own = pairs(dictionary, ["! a"], ["a 1 a"])
    assert reserving(4, dictionary).check_split("train", *own) == 0
    with pytest.raises(UserError, match="in 3 of the 3 pairs; .* or train with --fresh-symbols 4"):
        reserving(0, dictionary).check_split("train", *more)


def test_sources_must_leave_names_for_answers():
    dictionary = make_dictionary("abc")
    split = pairs(dictionary, ["! a", "& b & a b"], ["a", "b"])
    reserving(1, dictionary, "a,b,c").check_split("test", *split)
    with pytest.raises(UserError, match="line 2 of the test source leaves 1 names for the 2"):
        reserving(2, dictionary, "a,b,c").check_split("test", *split)
    reserving(2, dictionary, "x,y").check_split("test", *split)
    reserving(2, dictionary).check_split("test", *split)
