"""examples/code: pieces of words, what language models say of them, and variable misuse."""

import math
from copy import deepcopy
from functools import lru_cache
from itertools import cycle
from random import Random

import pytest
import torch

from examples.code import cost, pieces
from examples.code.copying import COPYING, code_model
from examples.code.functions import renamed
from examples.code.measure import by_kind, measure
from examples.code.misuse import measure_misuse, problem_of
from examples.code.model import FIRST, OTHER, USE, CodeModel, Word
from examples.code.words import LAYOUT, PATTERN
from sit_fairseq.symbols.tokens import TokenTable

LINES = [
    "def area ( $width , $height ) : <newline> <indent> return $width * $height <newline> <dedent>",
    "def first ( $items ) : <newline> <indent> for $item in $items : return $item <newline> <dedent>",
    "def greet ( $self , $name ) : <newline> <indent> $self . say ( 'hello,␣' + $name ) <newline> "
    "return $name <newline> <dedent>",
]


@pytest.fixture(scope="module")
def speller(tmp_path_factory):
    return pieces.train(tmp_path_factory.mktemp("code") / "spm.model", 20 * LINES)


@lru_cache(None)
def model(speller, embedding, names=()):
    """An untrained model, whose dictionary has the given names."""
    torch.manual_seed(1)
    options = dict(_name=COPYING if embedding == "copying" else "", decoder_layers=1, dropout=0.0)
    options.update(decoder_embed_dim=16, decoder_ffn_embed_dim=16, decoder_attention_heads=2)
    options.update(symbol_embedding="fixed" if embedding == "copying" else embedding)
    options.update(stream_attention="DP-DA" if embedding == "streams" else "DP")
    core = code_model(options, TokenTable([*speller.tokens, *names], pattern=PATTERN.text))
    for weight in core.parameters():
        torch.nn.init.normal_(weight, std=0.5)
    return CodeModel(core, speller)


KINDS = {kind: () for kind in ("streams", "canonical", "recency", "plain", "copying")}
KINDS["fixed"] = tuple(pieces.NAMES)


def of_kind(speller, kind):
    return model(speller, "fixed" if kind == "plain" else kind, KINDS[kind])


@pytest.mark.parametrize("word", ["area", "'€␣uro\\n'", "$", "'$item'", "≠", "⁰", *LAYOUT])
def test_every_word_is_spelled_by_known_tokens_of_which_none_is_a_symbol(speller, word):
    (tokens,) = speller.spell([word], names_too=False)
    assert {*tokens} <= {*speller.tokens} and speller.text(tokens) == word
    assert not any(map(PATTERN.is_symbol, speller.tokens))


def test_data_are_written_for_models_of_symbols_and_plain_ones(tmp_path):
    for split in ("train", "valid"):
        long = f"def f ( $a ) : return {' + '.join(['$a'] * pieces.LONGEST)}"
        (tmp_path / split).write_text("".join(f"{line}\n" for line in [*LINES, long]))
    pieces.main(tmp_path)
    for kind in ("symbols", "plain", "exchanged"):
        known = {
            line.split()[0] for line in (tmp_path / kind / "dict.txt").read_text().splitlines()
        }
        text = (tmp_path / kind / "train").read_text()
        assert {*text.split()} <= known and len(text.splitlines()) == len(LINES)
        assert set(PATTERN.symbols(text.split())) == (
            {"$v0", "$v1"} if kind == "symbols" else set()
        )


def test_half_of_the_functions_get_other_names_of_training():
    functions = [line.split() for line in (*LINES, *LINES)]
    found = pieces.exchanged(functions, Random(1))
    known = {name for words in functions for name in PATTERN.symbols(words)}
    for place, (words, new) in enumerate(zip(functions, found)):
        names = {*PATTERN.symbols(new)}
        assert names <= known and names.isdisjoint(PATTERN.symbols(words)) == (place % 2 == 1)
        assert pieces.numbered(new) == pieces.numbered(words)


@torch.no_grad()
def test_the_head_that_copies_sees_the_tokens_so_far_alone(speller):
    core = deepcopy(of_kind(speller, "copying")._core)
    tokens = torch.randint(4, len(speller.tokens), (3, 20))
    tokens[:, 0] = core.vocabulary.dictionary.eos()
    found = core(tokens).exp()
    torch.testing.assert_close(found.sum(2), torch.ones(3, 20))
    torch.testing.assert_close(core(tokens[:, :12]).exp(), found[:, :12])
    core.key.weight.zero_()  # all tokens so far get the same share
    rows, found = core.read(tokens)[0], core(tokens)[0].exp()
    for place in range(1, 20):
        so_far = rows[1 : place + 1]
        least = so_far.eq(so_far.unsqueeze(1)).sum(1) / (place + 1)
        assert (found[place, so_far] > least - 1e-5).all()


@pytest.mark.parametrize("kind", KINDS)
def test_words_are_of_three_kinds(speller, kind):
    for line, words in zip(LINES, of_kind(speller, kind).read(LINES)):
        known = set()
        for text, word in zip(line.split(), words, strict=True):
            name = USE if text in known else FIRST
            expected = name if text.startswith("$") else OTHER
            assert word.kind == expected and word.bits > 0
            known.add(text)


@pytest.mark.parametrize("kind", ["streams", "canonical", "recency"])
def test_names_change_nothing(speller, kind):
    core = of_kind(speller, kind)._core
    for lines in renamed(LINES, LINES, Random(1)).values():
        found = [CodeModel(core, speller).read(one) for one in (lines, LINES)]
        assert lines != LINES and found[0] == found[1]


@pytest.mark.parametrize(
    "target, odds, right, summed",
    [
        ("$v0", {"$v0": 3, "$v1": 2, "$v2": 2}, True, 3),  # a use: unused names count each alone
        ("$v0", {"$v0": 2, "$v1": 3, "$v2": 1}, False, 2),
        ("$v1", {"$v0": 2, "$v1": 1, "$v2": 3}, True, 4),  # a first: any unused name is right
        ("$v1", {"$v0": 3, "$v1": 2, "$v2": 2}, False, 4),
        ("def", {"def": 3, "$v1": 2, "$v2": 2}, True, 3),
    ],
)
def test_a_model_that_knows_names_is_right_where_greedy_decoding_is(
    speller, target, odds, right, summed
):
    reader = of_kind(speller, "fixed")
    tokens = reader._core.vocabulary.row_tokens
    row_of = {**reader._rows, "def": tokens.index(speller.word("def")[0])}.get
    log_probs = torch.full((1, 1, len(tokens)), -math.inf)
    for token, odd in odds.items():
        log_probs[..., row_of(token)] = math.log(odd / sum(odds.values()))
    read, targets = torch.tensor([[row_of("$v0")]]), torch.tensor([[row_of(target)]])
    assert reader._judge(log_probs, read, targets) == (
        [[right]],
        [[pytest.approx(-math.log2(summed / sum(odds.values())), abs=1e-5)]],
    )


def test_numbers_are_summed_by_kind_and_number_of_names(speller):
    words = [Word(USE, True, 1.0), Word(USE, False, 3.0), Word(FIRST, True, 0.5, 1.5)]
    found = by_kind(zip(words, ["$self", "$a", "$b"]))
    assert found["use"] == {"number": 2, "accuracy": 0.5, "bits": 2.0, "spelled": {"bits": 2.0}}
    assert found["all"]["bits"] == 1.5 and found["all"]["spelled"] == {"bits": 2.0}
    assert found["use_without_self"]["number"] == 1
    unseen = renamed(LINES, LINES, Random(1))["unseen"]
    found = measure(of_kind(speller, "streams"), unseen, LINES)
    assert found["use"]["number"] == 7 and found["by_names"].keys() == {"2-3"}
    assert found["use_without_self"]["number"] == 6
    assert found["by_names"]["2-3"]["use"] == found["use"]


def test_misuse_offers_the_names_that_stand_before():
    offered = problem_of(LINES[1], Random(1))
    assert offered[0] == LINES[1] and len(offered) == 2
    assert PATTERN.symbols(offered[1].split()) == ["$items", "$item"]
    differ = [place for place, pair in enumerate(zip(*map(str.split, offered))) if len({*pair}) > 1]
    assert len(differ) == 1
    assert problem_of("def f ( $a ) : return $a <newline>", Random(1)) == []


class Judging:
    """Says which functions are how probable."""

    def __init__(self, *bits):
        self._bits = cycle(bits)

    def read(self, lines):
        return [[Word(OTHER, True, next(self._bits))] for _ in lines]


@pytest.mark.parametrize("bits, accuracy", [((1, 2), 1), ((2, 1), 0), ((1, 1), 0)])
def test_misuse_counts_how_often_the_right_name_is_the_most_probable(bits, accuracy):
    found = measure_misuse(Judging(*bits), LINES)
    assert found == {"number": 3, "accuracy": accuracy, "chance": 0.5}


@pytest.mark.slow
def test_only_models_of_symbols_cost_more_with_more_symbols():
    texts = [cost.text_of(number, Random(1)) for number in (2, 4)]
    assert [len(PATTERN.symbols(text)) for text in texts] == [2, 4]
    found = {name: [cost.cost(one, t) for t in texts] for name, one in cost.MODELS.items()}
    plain, own, light, every = found.values()
    assert plain[0] == plain[1]
    for number in (0, 1):  # operations, and bytes
        assert plain[0][number] < light[1][number] < own[1][number] < every[1][number]
        assert own[0][number] < own[1][number]
