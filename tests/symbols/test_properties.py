"""Laws of symbols, for any sentences, names and patterns."""

import re

import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sit_fairseq.errors import UnansweredError, UserError
from sit_fairseq.symbols.canonical_form import canonical_form, form_key
from sit_fairseq.symbols.pattern import SymbolPattern
from sit_fairseq.symbols.prefix import tree_fault
from sit_fairseq.symbols.renaming import Renaming
from sit_fairseq.symbols.tokens import TokenTable
from sit_fairseq.symbols.vocabulary import Vocabulary

# The same examples in every run, and no limit of time on a machine that others use.
law = settings(
    derandomize=True, deadline=None, max_examples=60, suppress_health_check=list(HealthCheck)
)

ARITY = {"!": 1, "U": 1, "&": 2, "xor": 2}
BASE = ("!", "&", "0", "<->")
# The expression of each sort. Names may be operators elsewhere, and look like fairseq's own.
SORTS = [
    {"": r"[a-z]"},
    {"": r"xor|U|[a-c]\d{0,2}"},
    {"name": r"[^\s!&0<]{1,3}"},
    {"x": r"[a-d]+", "y": r"[a-d]+\d", "z": r"U|xor"},
]


def text_of(sorts):
    return "\n".join(
        f"{name}={expression}" if name else expression for name, expression in sorts.items()
    )


def names_of(sorts):
    """Names of any sort."""
    options = dict(alphabet=st.characters(codec="utf-8", exclude_characters="\n\r \t"))
    return st.one_of(
        *(st.from_regex(f"(?:{one})", fullmatch=True, **options) for one in sorts.values())
    ).filter(lambda name: name.split() == [name])


@st.composite
def problems(draw, most=8):
    """A pattern with its sorts, a sentence, and an injective map of its symbols within sorts."""
    sorts = draw(st.sampled_from(SORTS))
    pattern = SymbolPattern(text_of(sorts))
    names = draw(st.lists(names_of(sorts), min_size=1, max_size=6, unique=True))
    words = st.one_of(st.sampled_from(BASE), st.sampled_from(names))
    sentence = draw(st.lists(words, max_size=most))
    mapping, others = {}, draw(st.lists(names_of(sorts), max_size=8, unique=True))
    others = draw(st.permutations([*dict.fromkeys([*names, *others])]))
    for name in pattern.symbols(sentence):
        new = next(o for o in others if pattern.sort(o) == pattern.sort(name))
        mapping[name] = new
        others = [other for other in others if other != new]
    return sorts, " ".join(sentence), mapping


@law
@given(problems(), st.lists(st.integers(0, 99), max_size=8))
def test_decoding_undoes_encoding(problem, choices):
    """Of a sentence in a table, and of a target over its source's symbols."""
    sorts, source, mapping = problem
    table = TokenTable(BASE, text_of(sorts))
    words = [*BASE, *mapping]
    target = " ".join(words[choice % len(words)] for choice in choices)
    sources = table.encode([source, target])
    assert [table.decode(row) for row in sources] == [source, target]
    canonical, slots = Vocabulary(table).read(table.encode([source]))
    encoded, slots = slots.encode(table.encode([target])), slots.named()
    for row, text in ((canonical[0], source), (encoded[0], target)):
        assert table.decode(slots.decode(row, 0)) == text


@law
@given(problems(), st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_fresh_symbols_are_decoded_to_other_names(problem, choices):
    """A target over fresh symbols comes back up to their names, which the source lacks."""
    sorts, source, mapping = problem
    first = next(iter(sorts))
    known = dict.fromkeys([*BASE, *mapping, *mapping.values()])  # the first names of fresh symbols
    table = TokenTable(known, text_of(sorts))
    vocabulary = Vocabulary(table, f"{first}=3" if first else 3)
    _, slots = vocabulary.read(table.encode([source]))
    try:
        slots = slots.named()
    except UserError:  # too few names
        assume(False)
    fresh = [table[index] for index in slots.every[0].tolist()]
    fresh = fresh[slots.names.size(1) :]
    assert len(set(fresh) - set(source.split())) == 3
    order = list(dict.fromkeys(choice % 3 for choice in choices))
    target = " ".join(fresh[choice % 3] for choice in choices)
    encoded = slots.encode(table.encode([target]))[0]
    decoded = table.decode(slots.decode(encoded, 0))
    assert decoded == " ".join(fresh[order.index(choice % 3)] for choice in choices)


@law
@given(problems())
def test_what_is_canonical_does_not_know_names(problem):
    sorts, source, mapping = problem
    renamed = Renaming(mapping)(source)
    table = TokenTable(BASE, text_of(sorts))
    vocabulary = Vocabulary(table)
    rows = [vocabulary.read(table.encode([one]))[0] for one in (source, renamed)]
    assert torch.equal(*rows)
    words = (source.split(), list(mapping)), (renamed.split(), list(mapping.values()))
    for form in (canonical_form, form_key):
        assert form(*words[0]) == form(*words[1])


@law
@given(problems(), st.lists(st.integers(0, 99), max_size=8))
def test_the_inverse_of_a_renaming_undoes_it_and_merges_nothing(problem, choices):
    """Even names that a model made up stay apart, and in their sort."""
    sorts, source, mapping = problem
    renaming, pattern = Renaming(mapping), SymbolPattern(text_of(sorts))
    inverse = renaming.inverse()
    assert inverse(renaming(source)) == source
    known = [*dict.fromkeys([*mapping, *mapping.values(), "0"])]
    answer = [known[choice % len(known)] for choice in choices]
    back = inverse.tokens(answer)
    assert len(set(zip(answer, back))) == len(set(back)) == len(set(answer))
    assert list(map(pattern.sort, back)) == list(map(pattern.sort, answer))


@law
@given(
    st.lists(
        st.sampled_from(["v", "v_*", r"v\d*", r"[a-z]\d?", "v0+", ".*x", "[^<].*"]), min_size=1
    ),
    st.lists(st.sampled_from(["v0", "v_1", "a0", "v", "w9"]), unique=True),
)
def test_widening_a_pattern_ends(expressions, tokens):
    """In numbered names of the sort, without another sort for any token; or in one sentence."""
    sorts = [f"s{number}" for number in range(len(expressions))]
    text = "\n".join(f"{sort}={one}" for sort, one in zip(sorts, expressions))
    try:
        table = TokenTable(tokens, text)
        before = list(map(table.sort, tokens))
    except UserError:  # two sorts match a token
        assume(False)
    try:
        stem = table.add_numbered_symbols(0)
    except UserError as error:
        assert "fresh_names" in str(error)
        return
    assert list(map(table.sort, tokens)) == before
    assert [table.sort(f"{stem}{number}") for number in (0, 7, 12345)] == [0, 0, 0]
    pattern = table.pattern
    assert table.add_numbered_symbols(0) == stem and table.pattern == pattern


@law
@given(problems(most=5), st.booleans())
def test_what_is_read_is_read_when_it_is_renamed(problem, foreign):
    """Whatever symbols are called: operators are base tokens."""
    sorts, source, mapping = problem
    assume(source)
    sentences = [source, Renaming(mapping)(source)]
    if foreign:
        sentences = [f"{sentence} <->> {sentence}" for sentence in sentences]
    table = TokenTable(BASE, text_of(sorts))
    vocabulary = Vocabulary(table, arity=ARITY)
    assert vocabulary.operators == {"!": 1, "&": 2}
    found = []
    for sentence in sentences:
        try:
            rows = vocabulary.read(table.read(sentence)[None])[0]
            fault = tree_fault(sentence.split(), vocabulary.operators)
            found.append((rows.tolist(), vocabulary.arities(rows).tolist(), fault))
        except UnansweredError as error:
            found.append(re.sub(": .*", "", error.reason))
    assert found[0] == found[1] and isinstance(found[0], str) == foreign
