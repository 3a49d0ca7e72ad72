"""The judge of placeholders, and the grammar that forces them."""

import math

import pytest
import torch
from conftest import make_dictionary, make_sample
from searches import build, generate

from sit_fairseq.domains.by_name import make_grammar, make_judge
from sit_fairseq.judging.judge import Problem
from sit_fairseq.judging.verdict import Verdict


@pytest.mark.parametrize(
    "source, answer, right",
    [
        ("a %s b {x}", "{x} ä %s", True),
        ("%d of %s", "%s von %d", False),
        ("%1$d of %2$s", "%2$s von %1$d", True),
        ("{a}{b}", "{a}{a}", False),
        ("a", "a %s", False),
        ("100 % sure", "100 % sicher", True),
        ("<b>x</b>", "<b>y</b>", True),
        ("<b>x</b>", "</b>y<b>", False),
        ("<b><i>x</i></b>", "<b><i>y</b></i>", False),
        ("<p>x<br>y<hr/></p>", "<p><hr/>y<br></p>", True),
        ("</b>x<b>", "<b>y</b>", True),
        ("{:d} {:s}", "{:s} {:d}", False),
        ("{a} {}", "{} {a}", True),
    ],
)
def test_identity_number_and_order(source, answer, right):
    verdict = make_judge("placeholders").verify(source, answer)
    assert verdict is (Verdict.satisfied if right else Verdict.violated)


def test_symbols_of_a_model_are_its_placeholders():
    judge, problem = make_judge("placeholders"), Problem("x a b a", symbols="[ab]")
    assert judge.verify(problem, "a b y a") is Verdict.satisfied
    assert judge.verify(problem, "a b b y") is Verdict.violated
    assert judge.verify(Problem("%s a %d", symbols="[ab]"), "%d a %s") is Verdict.violated


@pytest.mark.parametrize("symbols", ["[a-z]", "free=[abc]\nordered=[d-z]"])
def test_a_search_under_the_grammar_has_each_symbol_as_often_as_the_source(symbols):
    dictionary = make_dictionary(pattern=symbols)
    sources = ["& a b", "a", "& a & a c", "! 0", "& f & a & e d"]
    sample = make_sample(dictionary, sources, ["0"] * len(sources))
    model, grammar = build(dictionary), make_grammar("placeholders")
    found = generate([model], dictionary, sample, beam_size=3, max_len_b=8, grammar=grammar)
    for source, nbest in zip(sources, found):
        for hypothesis in nbest:
            answer = dictionary.string(hypothesis["tokens"])
            problem = Problem(source, symbols=symbols)
            assert make_judge("placeholders").verify(problem, answer) is Verdict.satisfied


def test_an_end_that_comes_too_early_goes_to_the_symbols_that_are_left():
    """So that an answer does not babble until the last one comes."""
    dictionary = make_dictionary()
    model, sample = build(dictionary), make_sample(dictionary, ["& a b", "! c"], ["0", "0"])

    def step(tokens, memory):
        logits = torch.zeros(len(tokens), 1, model.vocabulary.num_base + 2)
        logits[:, :, dictionary.eos()] = 20.0
        logits[1:, :, -1] = -math.inf  # the second sentence has one symbol
        return logits

    model.step = step
    options = {"beam_size": 1, "max_len_b": 30, "grammar": make_grammar("placeholders")}
    found = generate([model], dictionary, sample, **options)
    texts = [dictionary.string(nbest[0]["tokens"]).split() for nbest in found]
    assert [sorted(words) for words in texts] == [["a", "b"], ["c"]]
