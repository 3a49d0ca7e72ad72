import pytest

from sit_fairseq.evaluation.exact_match import EXACT_MODULO_ORDER, exact


def test_strict_compares_tokens_and_nothing_else():
    assert exact("a 1  b 0", "a 1 b 0")
    assert not exact("b 0 a 1", "a 1 b 0")
    assert not exact("a 1 b 0 b 0", "a 1 b 0")
    assert exact("", "")


@pytest.mark.parametrize(
    "answer, target, equal",
    [
        ("b 0 a 1", "a 1 b 0", True),
        ("a 1 a 1 b 0", "a 1 b 0", True),
        ("a 0 b 1", "a 1 b 0", False),  # the same tokens, other literals
        ("a 1", "a 1 b 0", False),
        ("", "", True),
        ("1 a 0", "a 1 0", False),  # no literals
        ("a 1 0", "a 1 0", True),
    ],
)
def test_assignments_modulo_order(answer, target, equal):
    assert EXACT_MODULO_ORDER["prop"](answer, target) is equal


@pytest.mark.parametrize(
    "answer, target, equal",
    [
        ("& a b ; { c }", "& b a ; { c }", True),
        ("{ | & a ! b c }", "{ | c & ! b a }", True),
        ("{ & a & b c }", "{ & & c b a }", True),
        ("{ & a & b c }", "{ & b & a c }", False),  # regrouped
        ("{ -> a b }", "{ -> b a }", False),
        ("{ xor a b }", "{ xor b a }", False),  # equivalent, but no swap of & or |
        ("a ; b ; { c }", "a ; { b ; c }", False),  # the same steps, another cycle
        ("a ; b ; { c }", "b ; a ; { c }", False),
        ("{ a }", "{ a ; a }", False),  # the same words
        ("{ a", "{ a", True),  # no trace
        ("& b a ; { c", "& a b ; { c", False),
        ("{ & a b }", "{ & a b", False),
    ],
)
def test_traces_modulo_swaps(answer, target, equal):
    assert EXACT_MODULO_ORDER["ltl"](answer, target) is equal


def test_deep_steps_are_compared():
    deep = "& a " * 3000
    assert EXACT_MODULO_ORDER["ltl"]("{ " + deep + "b }", "{ " + deep + "b }")
    assert not EXACT_MODULO_ORDER["ltl"]("{ " + deep + "b }", "{ " + deep + "c }")
