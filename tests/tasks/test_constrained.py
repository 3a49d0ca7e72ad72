"""Runs with --constrained: which grammar, for which models, and what becomes of answers."""

import math

import pytest
import torch
from conftest import SOURCES, encode, make_dictionary, make_model, make_task, redraw
from fairseq.dataclass.configs import GenerationConfig

from sit_fairseq.domains.prop.propositional import parse_assignment
from sit_fairseq.errors import MalformedAnswer, UnansweredError
from sit_fairseq.search.grammar import Grammar


class TwoSymbols(Grammar):
    """Answers of two symbols, each once or twice: a grammar as users write one."""

    def start(self, source):
        return 0

    def next(self, state, token):
        return state + 1 if isinstance(token, int) and state < 2 else None

    def shortest(self, state):
        return 2 - state


@pytest.fixture(scope="module")
def model():
    dictionary = make_dictionary()
    torch.manual_seed(5)
    return redraw(make_model(dictionary, encoder_positions="rope", decoder_positions="rope").eval())


def answers(model, lines=SOURCES, given=(), **options):
    """The hypotheses of lines and their scores; ``given`` are options of the generation."""
    dictionary, task = make_dictionary(), make_task(**options)
    search = GenerationConfig(beam=2, max_len_b=6, nbest=2)
    vars(search).update(given)
    generator = task.build_generator([model], search)
    tokens = encode(dictionary, lines)
    lengths = tokens.ne(dictionary.pad()).sum(1)
    sample = {"net_input": {"src_tokens": tokens, "src_lengths": lengths}}
    found = task.inference_step(generator, [model], sample)
    return [[(dictionary.text(h["tokens"]), float(h["score"])) for h in nbest] for nbest in found]


def is_assignment(answer):
    try:
        parse_assignment(answer.split())
    except MalformedAnswer:
        return False
    return True


def test_answers_are_well_formed(model):
    found = answers(model, constrained="auto", domain="prop")
    assert all(is_assignment(text) for nbest in found for text, _ in nbest)
    assert found == answers(model, given={"constrained": True}, domain="prop")
    free = answers(model)
    assert not all(is_assignment(text) for nbest in free for text, _ in nbest)


def test_verified_search_is_constrained_by_default(model):
    found = answers(model, verify="prop")
    assert found and all(is_assignment(text) for nbest in found for text, _ in nbest)
    free = answers(model, verify="prop", constrained="none")
    assert not all(is_assignment(text) for nbest in free for text, _ in nbest)


def test_a_sentence_without_an_answer_is_one_sentence(model):
    name = f"{__name__}:TwoSymbols"
    (first, *_), (second, *_) = answers(model, ["& a b", "! 0"], constrained=name)
    own = first[0].split()
    assert len(own) == 2 and "".join(own).isalpha() and second == ("<unk>", -math.inf)
    with pytest.raises(UnansweredError, match="'! 0'"):
        answers(model, ["& a b", "! 0"], constrained=name, strict=True)
