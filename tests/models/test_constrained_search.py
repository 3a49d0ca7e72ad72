"""Searches whose answers a grammar accepts."""

import pytest
import torch
from conftest import SOURCES, encode, make_dictionary
from fairseq.search import DiverseBeamSearch, Sampling
from searches import build, generate

from sit_fairseq.domains import find
from sit_fairseq.domains.ltl.trace_grammar import TraceGrammar
from sit_fairseq.domains.ltl.traces import parse_trace
from sit_fairseq.domains.prop.assignment_grammar import AssignmentGrammar
from sit_fairseq.domains.prop.propositional import parse_assignment
from sit_fairseq.errors import UserError
from sit_fairseq.search.grammar import Grammar
from sit_fairseq.symbols.renaming import Renaming, rename

MARKS = (";", "{", "}")
READERS = {"prop": parse_assignment, "ltl": parse_trace}


def dictionary_of(semantics):
    base = ("!", "&", "|", "<->", "xor", "0", "1", *(MARKS if semantics == "ltl" else ()))
    return make_dictionary(base=base)


def texts(dictionary, found):
    return [[dictionary.string(h["tokens"]) for h in hypotheses] for hypotheses in found]


@pytest.mark.parametrize("semantics", ["prop", "ltl"])
@pytest.mark.parametrize("longest", [3, 6, 17])
@pytest.mark.parametrize(
    "search",
    [
        dict(beam_size=1),
        dict(beam_size=4),
        dict(beam_size=4, len_penalty=3.0),
        dict(beam_size=3, fresh=2),
        dict(beam_size=4, search_strategy=lambda d: Sampling(d)),
        dict(beam_size=4, search_strategy=lambda d: DiverseBeamSearch(d, 2, 0.5)),
    ],
    ids=["greedy", "beam", "long", "fresh", "sampling", "diverse"],
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

    def count(tokens, source, cache):
        logits = step(tokens, source, cache)
        streams.append(cache.streams.sentence.numel())
        return logits

    monkeypatch.setattr(model, "step", count)
    sample = {"net_input": {"src_tokens": encode(dictionary, ["& a b"])}}
    options = dict(beam_size=5, max_len_b=8, grammar=AssignmentGrammar())
    generate([model], dictionary, sample, **options)
    # Two symbols of the source, those of the answers so far, and one that stands for the others.
    assert all(found <= 3 + (n + 1) // 2 for n, found in enumerate(streams)), streams


def test_a_grammar_that_allows_all_changes_nothing():
    class Everything(Grammar):
        def start(self):
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


@pytest.mark.parametrize("semantics", ["prop", "ltl"])
def test_renamed_sentences_get_the_renamed_answers_with_equal_scores(semantics):
    dictionary = dictionary_of(semantics)
    model = build(dictionary)
    tokens = encode(dictionary, SOURCES)
    names = {"a": "h", "b": "a", "c": "e", "d": "c", "e": "b", "h": "f", "f": "d"}
    table = Renaming(names).table(dictionary)
    grammar = find(semantics).grammar()
    found, renamed = (
        generate(
            [model], dictionary, {"net_input": {"src_tokens": t}}, beam_size=4, grammar=grammar
        )
        for t in (tokens, rename(tokens, table))
    )
    for one, other in zip(sum(found, []), sum(renamed, [])):
        assert torch.equal(rename(one["tokens"], table), other["tokens"])
        assert one["score"] == other["score"]


def test_a_grammar_whose_answers_are_all_too_long_is_told_before_the_search():
    dictionary = dictionary_of("ltl")
    sample = {"net_input": {"src_tokens": encode(dictionary, SOURCES)}}
    with pytest.raises(UserError, match="at least 3 tokens, more than the 2 .*--max-len-b"):
        generate([build(dictionary)], dictionary, sample, grammar=TraceGrammar(), max_len_b=2)


def test_a_prefix_that_begins_no_answer_is_told():
    dictionary = dictionary_of("prop")
    tokens = encode(dictionary, SOURCES[1:])
    prefix = encode(dictionary, ["a a", "b b", "c c"])[:, :2]
    sample = {"net_input": {"src_tokens": tokens}}
    with pytest.raises(UserError, match="begins with a prefix"):
        options = dict(beam_size=2, grammar=AssignmentGrammar())
        generate([build(dictionary)], dictionary, sample, prefix, **options)
