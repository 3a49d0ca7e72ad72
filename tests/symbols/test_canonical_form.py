"""The canonical form: equal just for renamings of each other."""

from itertools import product

from sit_fairseq.domains.formulas.syntax import formula_symbols
from sit_fairseq.symbols.canonical_form import canonical_form, form_key, text_key


def form(line):
    return canonical_form(line.split(), formula_symbols(line.split()))


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
