"""Searches whose answers a grammar accepts."""

import math
import re

import pytest
import torch
from conftest import SOURCES, encode, make_dictionary
from fairseq.search import Sampling
from searches import build, generate

from sit_fairseq.domains import find
from sit_fairseq.domains.ltl.traces import parse_trace
from sit_fairseq.domains.prop.assignment_grammar import AssignmentGrammar
from sit_fairseq.domains.prop.propositional import parse_assignment
from sit_fairseq.models.config import SYMBOL_EMBEDDINGS
from sit_fairseq.search.grammar import Grammar
from sit_fairseq.symbols.renaming import Renaming, rename
from sit_fairseq.symbols.slot import Slot

MARKS = (";", "{", "}")
READERS = {"prop": parse_assignment, "ltl": parse_trace}


def dictionary_of(semantics):
    base = ("!", "&", "|", "<->", "xor", "0", "1", *(MARKS if semantics == "ltl" else ()))
    return make_dictionary(base=base)


def texts(dictionary, found):
    return [[dictionary.string(h["tokens"]) for h in hypotheses] for hypotheses in found]


@pytest.mark.parametrize("semantics", ["prop", "ltl"])
@pytest.mark.parametrize("longest", [3, 9])
@pytest.mark.parametrize(
    "search",
    [
        dict(beam_size=1),
        dict(beam_size=4),
        dict(beam_size=4, len_penalty=3.0),
        dict(beam_size=3, fresh=2),
        dict(beam_size=4, search_strategy=lambda d: Sampling(d)),
    ],
    ids=["greedy", "beam", "long", "fresh", "sampling"],
)
def test_every_answer_of_an_untrained_model_is_well_formed(semantics, longest, search):
    dictionary = dictionary_of(semantics)
    options = dict(search)
    model = build(dictionary, fresh_symbols=options.pop("fresh", 0))
    if "search_strategy" in options:
        options["search_strategy"] = options["search_strategy"](dictionary)
    sample = {"net_input": {"src_tokens": encode(dictionary, SOURCES)}}
    options["max_len_b"] = longest
    free = texts(dictionary, generate([model], dictionary, sample, **options))
    grammar = find(semantics).grammar()
    found = texts(dictionary, generate([model], dictionary, sample, grammar=grammar, **options))
    for answer in sum(found, []):
        READERS[semantics](answer.split())
        assert len(answer.split()) <= longest
    assert free != found  # untrained models write no well-formed answers by themselves


def test_a_sentence_without_symbols_has_the_empty_assignment():
    dictionary = dictionary_of("prop")
    sample = {"net_input": {"src_tokens": encode(dictionary, ["! 0", "& a b"])}}
    options = dict(beam_size=3, grammar=AssignmentGrammar())
    constant, other = texts(
        dictionary, generate([build(dictionary)], dictionary, sample, **options)
    )
    assert constant == [""]
    assert all(other)


def test_dead_hypotheses_take_no_fresh_symbols(monkeypatch):
    """What cannot be an answer may name any symbol; no stream is opened for that."""
    dictionary = dictionary_of("prop")
    model = build(dictionary, fresh_symbols=20)
    streams, step = [], model.step

    def count(tokens, cache):
        logits = step(tokens, cache)
        streams.append(cache.context.streams.sentence.numel())
        return logits

    monkeypatch.setattr(model, "step", count)
    sample = {"net_input": {"src_tokens": encode(dictionary, ["& a b"])}}
    options = dict(beam_size=5, max_len_b=8, grammar=AssignmentGrammar())
    generate([model], dictionary, sample, **options)
    # Two symbols of the source, those of the answers so far, and one that stands for the others.
    assert all(found <= 3 + (n + 1) // 2 for n, found in enumerate(streams)), streams


def test_a_grammar_that_allows_all_changes_nothing():
    class Everything(Grammar):
        def start(self, source):
            return 0

        def next(self, state, token):
            return 0

        def shortest(self, state):
            return 0

    dictionary = dictionary_of("ltl")
    model = build(dictionary)
    sample = {"net_input": {"src_tokens": encode(dictionary, SOURCES)}}
    free, found = (
        generate([model], dictionary, sample, beam_size=4, max_len_b=9, grammar=grammar)
        for grammar in (None, Everything())
    )
    for one, other in zip(sum(free, []), sum(found, [])):
        assert torch.equal(one["tokens"], other["tokens"])
        assert one["score"] == other["score"]


def test_renamed_sentences_get_the_renamed_answers_with_equal_scores():
    dictionary = dictionary_of("ltl")
    model = build(dictionary)
    tokens = encode(dictionary, SOURCES)
    names = {"a": "h", "b": "a", "c": "e", "d": "c", "e": "b", "h": "f", "f": "d"}
    table = Renaming(names).table(dictionary)
    grammar = find("ltl").grammar()
    found, renamed = (
        generate(
            [model], dictionary, {"net_input": {"src_tokens": t}}, beam_size=4, grammar=grammar
        )
        for t in (tokens, rename(tokens, table))
    )
    for one, other in zip(sum(found, []), sum(renamed, [])):
        assert torch.equal(rename(one["tokens"], table), other["tokens"])
        assert one["score"] == other["score"]


class Unhashable(int):
    __hash__ = None


class Odd(Grammar):
    """Its own answers to sentences that begin with ``!``, none to other ones, with faults of all
    kinds."""

    def __init__(self, fault):
        self.fault = fault

    def start(self, source):
        fails = source[0] != "!"
        if fails and self.fault == "start":
            raise RuntimeError("line one\nline two")
        return fails, 0

    def next(self, state, token):
        fails, number = state
        if fails and number == 1:
            if self.fault == "next":
                return [][0]
            if self.fault == "state":
                return fails, Unhashable(1)
            if self.fault == "nothing follows":
                return None
        return None if number > 2 else (fails, number + 1)

    def shortest(self, state):
        fails, number = state
        if fails and number == 1 and self.fault == "shortest":
            return "many"
        if fails and self.fault == "negative":
            return number - 2
        return 99 if fails and self.fault == "length" else max(2 - number, 0)


@pytest.mark.parametrize("strategy", [None, "sampling"])
@pytest.mark.parametrize(
    "fault, reason",
    [
        ("start", "Odd fails .RuntimeError: line one line two"),
        ("next", "Odd fails .IndexError"),
        ("state", "Odd fails .TypeError"),
        ("shortest", "Odd fails .TypeError"),
        ("negative", "Odd fails .ValueError: shortest returns -2, which is no number of tokens"),
        ("nothing follows", "the grammar allows no answer"),
        ("length", "at least 99 tokens, more than the 8"),
    ],
)
def test_a_sentence_without_an_answer_is_one_sentence(fault, reason, strategy):
    dictionary = dictionary_of("prop")
    model, options = build(dictionary), dict(beam_size=3, max_len_b=8)
    if strategy == "sampling":
        options["search_strategy"] = Sampling(dictionary)
    sources = ["! a", "& a b", "! 0", "0"]
    sample = {"net_input": {"src_tokens": encode(dictionary, sources)}}
    found = generate([model], dictionary, sample, grammar=Odd(fault), **options)
    for source, nbest in zip(sources, found):
        if source[0] == "!":
            assert len(nbest) == 3 and all("reason" not in h for h in nbest)
        else:
            assert re.search(reason, nbest[0]["reason"]) and nbest[0]["score"] == -math.inf


def test_what_a_model_cannot_compute_is_no_answer():
    """All log-probabilities are NaN, or -inf."""
    dictionary = make_dictionary()
    model = build(dictionary)
    for value in (math.nan, math.inf):
        with torch.no_grad():
            model.decoder.layers[0].final_layer_norm.weight.fill_(value)
        sample = {"net_input": {"src_tokens": encode(dictionary, SOURCES)}}
        found = generate([model], dictionary, sample, beam_size=2)
        assert all("probability 0 or none" in nbest[0]["reason"] for nbest in found)


def test_a_prefix_that_begins_no_answer_is_one_sentence():
    dictionary = dictionary_of("prop")
    tokens = encode(dictionary, SOURCES[1:])
    prefix = encode(dictionary, ["a a", "b 1", "c c"])[:, :2]
    sample = {"net_input": {"src_tokens": tokens}}
    options = dict(beam_size=2, grammar=AssignmentGrammar())
    found = generate([build(dictionary)], dictionary, sample, prefix, **options)
    reasons = [nbest[0].get("reason") for nbest in found]
    assert reasons[1] is None and all("begins with its prefix" in reasons[n] for n in (0, 2))


class Recording(AssignmentGrammar):
    """Assignments; notes what it is given."""

    def __init__(self):
        self.sources, self.tokens = [], set()

    def start(self, source):
        self.sources.append(source)
        return super().start(source)

    def next(self, state, token):
        self.tokens.add((int(token), token.sort) if isinstance(token, Slot) else token)
        return super().next(state, token)


@pytest.mark.parametrize(
    "kind, pattern",
    [
        *((kind, "[a-h]") for kind in SYMBOL_EMBEDDINGS),
        *((kind, "x=[a-d]\ny=[e-h]") for kind in ("streams", "canonical")),
    ],
)
def test_grammars_are_given_slots_by_first_appearance_in_the_sentence(kind, pattern):
    dictionary = make_dictionary(pattern=pattern)
    options = {} if kind == "streams" else {"stream_attention": "EP-DP-CP"}
    if kind == "streams":
        options["fresh_symbols"] = "1" if pattern == "[a-h]" else "x=1,y=1"
    model = build(dictionary, symbol_embedding=kind, **options)
    grammar = Recording()
    sample = {"net_input": {"src_tokens": encode(dictionary, ["& & f b f", "! 0", "& c g"])}}
    found = generate([model], dictionary, sample, grammar=grammar, beam_size=3, max_len_b=6)
    answers = sum(texts(dictionary, found), [])
    for answer in answers:
        parse_assignment(answer.split())
    assert any(answers) and not any("<unk>" in answer for answer in answers)
    first, constant, last = grammar.sources
    two = pattern != "[a-h]"
    assert first == ("&", "&", 0, 1, 0) and constant == ("!", "0") and last == ("&", 0, 1)
    sorts = [[t.sort for t in source if isinstance(t, Slot)] for source in (first, last)]
    assert sorts == ([["y", "x", "y"], ["x", "y"]] if two else [[""] * 3, [""] * 2])
    slots = {token for token in grammar.tokens if isinstance(token, tuple)}
    if kind == "streams":
        # Own ones, then fresh ones in the order of their sorts.
        own = {(0, "y"), (1, "x"), (2, "x"), (3, "y"), (0, "x"), (1, "y")} if two else set()
        assert slots == own or not two and slots == {(0, ""), (1, ""), (2, "")}
    assert not {"a", "f"} & grammar.tokens
