"""Which sentences a model reads: every message names the line and what to change."""

import logging
import random
import re
from types import SimpleNamespace

import pytest
import torch
from conftest import SOURCES, TARGETS, make_dictionary, make_model, random_formula
from fairseq.data import LanguagePairDataset

from sit_fairseq.errors import UserError
from sit_fairseq.model import Model
from sit_fairseq.models.config import SYMBOL_EMBEDDINGS
from sit_fairseq.tasks import sentences as module
from sit_fairseq.tasks.sentences import Sentences


def checked(sources, targets=None, split="train", dictionary=None, cut=0, **options):
    """Checks a split for a model with these options."""
    dictionary = dictionary or make_dictionary()
    sides = [
        [dictionary.encode_line(line, add_if_not_exist=False).long() for line in side]
        for side in (sources, targets)
        if side is not None
    ]
    arguments = [(side, list(map(len, side)), dictionary) for side in sides]
    pairs = LanguagePairDataset(*sum(arguments, ()), left_pad_source=False)
    return Sentences(dictionary, 999, make_model(dictionary, **options)).split(pairs, split, cut)


ROPE = {"encoder_positions": "rope"}


def test_empty_source():
    with pytest.raises(UserError, match="^line 3 of the valid source is empty"):
        checked(["a", "b", "", "0"], split="valid")


@pytest.mark.parametrize("wrong", ["& a", "a b"])
def test_malformed_formula(wrong):
    message = "^line 3 of the test source is not one formula .*positions rope"
    with pytest.raises(UserError, match=message):
        checked(["a", "& a b", wrong, "! a"], split="test")
    checked(["a", "& a b", wrong, "! a"], **ROPE)


def test_symbol_that_only_the_target_has():
    with pytest.raises(UserError, match="^line 3 of the train target .* 'c', .*--symbols"):
        checked(["& a b", "! c", "| a b"], ["a 1", "c 0", "c 0 a 1"])
    # Another line's symbols do not help, constants need no source.
    checked(["& a b", "! c", "| c b"], ["a 1 0", "c 0", "c 1 b 0"])


@pytest.mark.parametrize("options", [{}, ROPE])
def test_what_a_cut_source_lacks_is_no_fault_of_the_data(options):
    for cut in (3, 4):
        with pytest.raises(UserError) as error:
            checked(["! b", "& a"], ["b 1", "b 1"], cut=cut, **options)
        assert ("--max-source-positions" in str(error.value)) == (cut == 3)


def test_fresh_symbols_are_no_remedy_for_a_model_of_one_stream():
    options = dict(symbol_embedding="canonical", stream_attention="EP-DP-CP")
    with pytest.raises(UserError, match="'b', .* a base token$"):
        checked(["! a"], ["b 1"], **options)


def test_targets_may_hold_as_many_fresh_symbols_as_there_are_slots():
    sources = ["! a", "! 0", "& a b"]
    few, more = ["a c d c", "e f", "b"], ["a c d c", "e a g f e", "c d e"]
    assert checked(sources, few, fresh_symbols=2).most_fresh == {0: 2}
    message = "^line 2 of the train target holds the symbol 'e', .* has 2; .*-symbols 4$"
    with pytest.raises(UserError, match=message):
        checked(sources, more, fresh_symbols=2)
    assert checked(sources, more, fresh_symbols=4).most_fresh == {0: 4}
    assert not checked(["! a"], ["a 1 a"], fresh_symbols=4).most_fresh


def test_fresh_symbols_of_one_sort_have_no_slots_of_another():
    dictionary = make_dictionary(pattern="even=[aceg]\nodd=[bdfh]")
    sides = ["! a", "& a b"], ["a b d", "c e"]
    checked(*sides, dictionary=dictionary, fresh_symbols="even=2,odd=2")
    with pytest.raises(UserError, match="line 1 .* 'b', .* --fresh-symbols even=2,odd=2$"):
        checked(*sides, dictionary=dictionary, fresh_symbols="even=3,odd=1")


def test_unknown_tokens_are_counted(caplog):
    with caplog.at_level(logging.WARNING):
        found = checked(["a", "NEW"], ["1", "OTHER 1"], split="test", **ROPE)
        assert "2 tokens of test are <unk>" in caplog.text
        assert found.collater([found[0], found[1]])["ntokens"] == 4  # with two </s>
        caplog.clear()
        checked(SOURCES, TARGETS)
    assert not caplog.text


@pytest.mark.parametrize("kind", SYMBOL_EMBEDDINGS)
@pytest.mark.parametrize("pattern", [".", "[a-z]"])
def test_what_is_read_can_be_encoded_and_nothing_else(kind, pattern):
    tokens = list("abUXF") + (["!", "&"] if pattern != "." else [])
    dictionary = make_dictionary(tokens, ("xor", "0", "1"), pattern)
    options = {} if kind == "streams" else {"stream_attention": "EP-DP-CP"}
    model = make_model(dictionary, symbol_embedding=kind, **options).eval()
    rng = random.Random(3)
    for _ in range(40):
        line = " ".join(rng.choices(tokens, k=rng.randint(1, 4)))
        pairs, refused = Sentences(dictionary, 99, model).read([line], str.strip, None)
        indices = dictionary.encode_line(line, add_if_not_exist=False).long()
        if refused:
            with pytest.raises(ValueError, match="is not one formula"):
                model.encode(indices.unsqueeze(0))
        else:
            model.encode(pairs.src[0].unsqueeze(0))


def test_an_operator_that_is_a_symbol_is_named():
    dictionary = make_dictionary(pattern="[a-z]+")
    with pytest.raises(UserError, match="^line 2 .*'xor' is a symbol, which has no operands"):
        checked(["! a", "xor a b"], dictionary=dictionary)


def make_sentences(dictionary, longest=999, **options):
    return Sentences(dictionary, longest, make_model(dictionary, **options))


def test_training_needs_symbols():
    for pattern, fault in ((None, "no --symbols are named"), ("[A-Z]", "'[A-Z]' matches no token")):
        sentences = make_sentences(make_dictionary(pattern=pattern), **ROPE)
        with pytest.raises(UserError, match=re.escape(fault)):
            sentences.require_symbols()
    make_sentences(make_dictionary()).require_symbols()


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize("wrong", [[], [4], [4, 10_000, 2], [-1, 2]])
def test_numbers_of_another_dictionary(side, wrong):
    """As of data that are damaged."""
    dictionary = make_dictionary()
    good = [dictionary.encode_line("a").long()] * 2
    bad = [good[0], torch.tensor(wrong, dtype=torch.long)]
    sides = (bad, good) if side == "source" else (good, bad)
    arguments = [(one, list(map(len, one)), dictionary) for one in sides]
    pairs = LanguagePairDataset(*sum(arguments, ()), left_pad_source=False)
    message = f"^line 2 of the valid {side} does not end in </s>, or has a token beyond the dict"
    with pytest.raises(UserError, match=message):
        make_sentences(dictionary).split(pairs, "valid")


def faulty_pairs(dictionary, rng, number):
    """Pairs of which a few are at fault, each in another way."""
    for _ in range(number):
        source = random_formula(rng, "abcd", 3).split()
        target = rng.choices(["0", "1", *filter("abcd".__contains__, source)], k=3)
        fault = rng.choice([None] * 60 + [0, 1, 2, 3, 4])
        if fault == 0:
            source.pop(rng.randrange(len(source)))
        elif fault == 1:
            source.insert(
                rng.randrange(len(source)), rng.choice(["a", "!", "xor", "</s>", "<pad>"])
            )
        elif fault == 2:
            target.append("h")
        sides = [[*map(dictionary.index, side), 2] for side in (source, target)]
        if fault in (3, 4):
            rng.choice(sides)[-1] = {3: 4, 4: 999}[fault]
        yield sides


@pytest.mark.parametrize("options", [{}, ROPE, {"fresh_symbols": 1}], ids=str)
def test_the_first_line_at_fault_is_the_first_that_is_refused_by_itself(options, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 7)
    dictionary, rng, first_lines = make_dictionary(), random.Random(1), set()
    sentences = make_sentences(dictionary, **options)

    def refusal(lines):
        sides = [[torch.tensor(side, dtype=torch.long) for side in sides] for sides in zip(*lines)]
        arguments = [(side, list(map(len, side)), dictionary) for side in sides]
        try:
            sentences.split(
                LanguagePairDataset(*sum(arguments, ()), left_pad_source=False), "train"
            )
        except UserError as error:
            return str(error)

    for _ in range(20):
        lines = list(faulty_pairs(dictionary, rng, 30))
        alone = [refusal([line]) for line in lines]
        # Too many symbols are told when all lines are known to be sound.
        kinds = ("holds the symbol" in str(one) for one in alone)
        found = sorted((kind, n) for n, kind in enumerate(kinds) if alone[n])
        expected = None
        if found:
            line = found[0][1]
            expected = alone[line].replace("line 1 ", f"line {line + 1} ")
            first_lines.add(line)
        assert refusal(lines) == expected
    assert len(first_lines) > 10


def test_a_split_without_sentences():
    with pytest.raises(UserError, match="^the valid split has no sentences"):
        checked([], [], split="valid")


REFUSED = {
    "": "the sentence is empty",
    "NEW z": "unknown token 'NEW'",
    "& y": "the sentence is not one formula in prefix notation (the formula ends too early",
    "& & z y & x w": "has 7 tokens, more than the 6 that the model reads",
    "& z & y x": "counts 18 tokens (6 with </s>; streams: 3), more than the 17 of --max-tokens",
    "& a \udcff": "the line is no text in UTF-8",
    "a </s>": "the sentence holds </s>, a token of fairseq's own",
    "a <unk>": "holds <unk>",
    "& a madeupword0000": "holds madeupword0000",
}


def test_each_typed_line_is_read_or_refused_for_a_reason_of_its_own():
    dictionary = make_dictionary()
    sentences, size = make_sentences(dictionary, 7), len(dictionary)
    lines = ["! v", *REFUSED, "& a u", "! v"]
    pairs, refused = sentences.read(lines, str.strip, 17)
    assert [lines[place] for place in refused] == list(REFUSED)
    for error, reason in zip(refused.values(), REFUSED.values()):
        assert reason in error.reason and len(error.reason) < 200
    assert list(map(dictionary.string, pairs.src)) == pairs.lines == ["! v", "& a u", "! v"]
    assert pairs.num_streams.tolist() == [1, 2, 1]
    # It has learnt the names of the sentences that can be answered, and no others.
    assert dictionary.symbols[size:] == ["v", "u"]
    pairs, _ = sentences.read([" & z  & y x"], str.strip, None)
    assert dictionary.string(pairs.src[0]) == pairs.lines[0] == "& z & y x"


@pytest.mark.parametrize("options", [{}, ROPE])
def test_a_line_is_refused_for_one_reason_whoever_reads_it(options):
    dictionary = make_dictionary()
    model, lines = make_model(dictionary, **options), [*REFUSED][:3] + [*REFUSED][6:]
    _, refused = Sentences(dictionary, 999, model).read(lines, str, None)
    reasons = [refused[place].reason if place in refused else None for place in range(len(lines))]
    assert [answer.reason for answer in Model([model]).answer(lines)] == reasons
    assert reasons.count(None) == len(options)


def test_a_model_of_fairseqs_own_knows_no_new_names():
    dictionary = make_dictionary()
    sentences = Sentences(dictionary, 999, SimpleNamespace(max_positions=lambda: (999, 999)))
    pairs, refused = sentences.read(["& a b", "& a z"], str, None)
    assert dictionary.string(pairs.src[0]) == "& a b"
    reason = "the sentence holds tokens that the model has no embedding for: 'z'"
    assert refused[1].reason == reason
