"""The canonical form: equal just for renamings of each other."""

from itertools import product
from random import Random

from sit_fairseq.domains.formulas.syntax import formula_symbols
from sit_fairseq.domains.prop.propositional import random_formula
from sit_fairseq.symbols.canonical_form import canonical_form, form_key, text_key
from sit_fairseq.symbols.renaming import Renaming


def form(line):
    return canonical_form(line.split(), formula_symbols(line.split()))


def test_renamings_have_one_form():
    rng = Random(0)
    names = [f"p{index}" for index in range(9)]
    for _ in range(500):
        tokens = random_formula(rng, rng.randint(1, 20), "abcd")
        symbols = formula_symbols(tokens)
        chosen = rng.sample([*symbols, *names], len(symbols))
        other = Renaming(dict(zip(symbols, chosen))).tokens(tokens)
        assert canonical_form(tokens, symbols) == canonical_form(other, chosen)
        assert form_key(tokens, symbols) == form_key(other, chosen)


def test_all_others_have_different_ones():
    lines = [" ".join(line) for line in product("ab01!", repeat=3)]

    def renaming(x, y):
        """Whether one renaming of symbols and no other token turns x into y, and one back."""
        pairs = set(zip(x.split(), y.split()))
        injective = len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
        return injective and all(a == b or {a, b} <= set("ab") for a, b in pairs)

    for x, y in product(lines, repeat=2):
        assert (form(x) == form(y)) == renaming(x, y)
    assert len({text_key(form(line)) for line in lines}) == len({form(line) for line in lines})


def test_no_base_token_is_taken_for_a_symbol():
    tokens = ["x", "p0", "0", "<0>"]
    assert len({canonical_form(tokens, [token]) for token in tokens}) == 4
    assert canonical_form(tokens, []) == "x p0 0 <0>"


def test_keys_are_the_same_in_every_process():
    assert form_key(["&", "b", "a"], ["b", "a"]) == 13655073351734265300
