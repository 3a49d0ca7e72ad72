"""Decoding step by step computes what teacher forcing computes, whatever beams do."""

import pytest
import searches
import torch
from conftest import SOURCES, encode, make_dictionary

from sit_fairseq.models import cache as caches

PATTERNS = ["EP-DP-EA-DA-CP", "EP-DP-EA-CP", "EA-DA-CA-CP", "EP-DA-CA", "DP-CP-CA"]
SLOTS = [0, 1, 2, 4]


def build(pattern="EP-DP-EA-DA-CP", **options):
    dictionary = make_dictionary()
    return dictionary, searches.build(dictionary, stream_attention=pattern, **options)


class Search:
    """fairseq's order of calls, with the reordering chosen by the test."""

    def __init__(self, model, dictionary, hypotheses):
        self.model, self.sources = model, encode(dictionary, SOURCES)
        self.dictionary = dictionary
        count = len(SOURCES)
        self.sentence = torch.arange(count).repeat_interleave(hypotheses)
        self.encoded = model.encode(self.sources).reorder(self.sentence)
        self.tokens = torch.full((self.sentence.numel(), 1), dictionary.eos())
        self.cache = model.new_cache(self.encoded)

    def reorder(self, order):
        self.cache.reorder(order)
        self.encoded = self.encoded.reorder(order)
        self.tokens, self.sentence = self.tokens[order], self.sentence[order]

    def step(self):
        logits = self.model.step(self.tokens, self.cache)
        assert logits.size(1) == 1 and not logits.requires_grad
        return logits[:, 0]

    def append(self, likely_fresh=False):
        """Random tokens that exist in their sentence; of reserved slots those that are taken and
        the next, which may be made likely."""
        drawn = []
        for sentence, tokens in zip(self.sentence.tolist(), self.tokens):
            first = self.model.vocabulary.num_base + SLOTS[sentence]
            taken = int((tokens.max() - first + 1).clamp(min=0))
            end = first + min(taken + 1, self.model.vocabulary.fresh_symbols)
            begin = first if likely_fresh and torch.rand(()) < 0.5 else 2
            drawn.append(int(torch.randint(begin, end, (1,))))
        self.tokens = torch.cat((self.tokens, torch.tensor(drawn).unsqueeze(1)), dim=1)

    def teacher_forced(self, row):
        """The same hypothesis alone: one sentence, no padding, no cache."""
        source = self.sources[self.sentence[row]]
        source = source[source.ne(self.dictionary.pad())].unsqueeze(0)
        with torch.no_grad():
            return self.model.decoder(self.tokens[row : row + 1], self.model.encode(source))[0, -1]

    def check(self, logits, rows=None):
        for row in range(logits.size(0)) if rows is None else rows:
            expected = self.teacher_forced(row)
            found = logits[row, : expected.numel()]
            torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
            assert bool((logits[row, expected.numel() :] == -float("inf")).all())


def shuffled_beams(search, hypotheses, keep):
    """Any hypothesis may continue any of its sentence; other sentences drop out."""
    starts = range(0, search.sentence.numel(), hypotheses)
    starts = [start for start in starts if int(search.sentence[start]) in keep]
    return torch.cat([start + torch.randint(hypotheses, (hypotheses,)) for start in starts])


@pytest.mark.parametrize(
    "options",
    [
        *(dict(pattern=pattern) for pattern in PATTERNS),
        *(
            dict(
                decoder_positions=positions,
                decoder_embed_dim=30,
                share_embeddings="none",
                layernorm_embedding=True,
            )
            for positions in ("sinusoidal", "learned", "none")
        ),
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
@pytest.mark.parametrize("hypotheses", [1, 3])
def test_steps_equal_teacher_forcing(options, hypotheses):
    dictionary, model = build(**options, decoder_normalize_before=hypotheses == 1)
    search = Search(model, dictionary, hypotheses)
    for keep in [{0, 1, 2, 3}] * 2 + [{0, 1, 3}] * 2 + [{0, 1}, {1}]:
        search.check(search.step())
        search.append()
        search.reorder(shuffled_beams(search, hypotheses, keep))
    assert search.sentence.unique().tolist() == [1]


@pytest.mark.parametrize("pattern", PATTERNS[::2])
@pytest.mark.parametrize("hypotheses", [1, 3])
def test_reserved_slots_are_taken_step_by_step(pattern, hypotheses):
    """Each hypothesis takes its own, in streams that go on from the one that stood for them."""
    dictionary, model = build(pattern, fresh_symbols=3)
    search = Search(model, dictionary, hypotheses)
    first = model.vocabulary.num_base + torch.tensor(SLOTS)
    seen = set()
    for keep in [{0, 1, 2, 3}] * 4 + [{0, 1, 3}] * 2 + [{0, 1}] * 2:
        search.check(search.step())
        search.append(likely_fresh=True)
        search.reorder(shuffled_beams(search, hypotheses, keep))
        taken = (search.tokens.amax(1) - first[search.sentence] + 1).clamp(min=0)
        seen.update(zip(search.sentence.tolist(), taken.tolist()))
    search.check(search.step())
    assert {taken for _, taken in seen} == {0, 1, 2, 3}


@pytest.mark.parametrize("pattern", PATTERNS[::2])
@pytest.mark.parametrize("reserved", [0, 3])
def test_a_step_reads_all_tokens_that_are_new(pattern, reserved):
    """At first, after other steps, and before hypotheses are told apart."""
    dictionary, model = build(pattern, fresh_symbols=reserved)
    search = Search(model, dictionary, 1)
    for length, hypotheses in ((3, 2), (1, 1), (2, 1)):
        for _ in range(length):
            search.append(likely_fresh=reserved > 0)
        logits = model.step(search.tokens, search.cache)
        search.check(logits[:, -1])
        forced = model.decoder(search.tokens, search.encoded)[:, -logits.size(1) :]
        torch.testing.assert_close(logits, forced, rtol=1e-12, atol=1e-12)
        search.reorder(torch.arange(len(search.tokens)).repeat_interleave(hypotheses))


def test_streams_of_reserved_slots_are_made_when_they_are_taken():
    """One stream stands for all that no hypothesis has taken."""
    dictionary, model = build(fresh_symbols=3)
    search = Search(model, dictionary, 2)
    assert search.encoded.states.size(0) == sum(SLOTS) + len(SLOTS)
    first = model.vocabulary.num_base + torch.tensor(SLOTS)[search.sentence]
    next_tokens = [first, torch.where(torch.arange(8) % 2 == 0, first + 1, first), first]
    for taken, tokens in zip((0, 1, 2, 2), [*next_tokens, first]):
        search.check(search.step())
        assert search.cache.context.streams.num_slots.tolist() == [n + taken for n in SLOTS]
        search.tokens = torch.cat((search.tokens, tokens.unsqueeze(1)), dim=1)


@pytest.mark.parametrize("reserved", [0, 3])
def test_hypotheses_without_a_cache(reserved):
    """Whole prefixes of several hypotheses, which share the encoding of their sentence and may have
    taken different numbers of reserved slots."""
    dictionary, model = build("EP-DP-EA-CA-CP", fresh_symbols=reserved)
    search = Search(model, dictionary, 3)
    for _ in range(4):
        search.append(likely_fresh=reserved > 0)
    logits = model.decoder(search.tokens, search.encoded)
    assert logits.size(1) == 5
    search.check(logits[:, -1])


# Orders of hypotheses, and how many each sentence has at first: runs of unequal length, sentences out
# of order and repeated; hypotheses that became sentences of their own and have hypotheses again.
ORDERS = [
    (2, [[7, 0, 0, 1, 4, 5, 3], [0, 0, 6, 2, 3], [3, 4, 4, 4], [1, 0, 0, 2]]),
    (1, [[3, 3, 3, 2, 2, 2], [2, 0, 1, 5, 5, 4], [0, 3, 4], [0, 0, 1, 1, 2, 2]]),
]


@pytest.mark.parametrize("hypotheses, orders", ORDERS)
@pytest.mark.parametrize("reserved", [0, 3])
@pytest.mark.parametrize("pattern", ["EP-DP-EA-DA-CP", "EP-DP-DA-CA-CP"])
def test_ragged_orders(pattern, reserved, hypotheses, orders, monkeypatch):
    """In blocks of one row, as long searches have them, and also before the first step."""
    monkeypatch.setattr(caches, "_BLOCK", 1)
    dictionary, model = build(pattern, fresh_symbols=reserved)
    search = Search(model, dictionary, hypotheses)
    if hypotheses == 2:
        search.reorder(torch.tensor([7, 6, 2, 3, 0, 1, 4, 5]))
    for order in orders:
        search.check(search.step())
        search.append(likely_fresh=reserved > 0)
        search.reorder(torch.tensor(order))
    search.check(search.step())


def test_reordering_keeps_one_encoding_per_sentence():
    dictionary, model = build()
    search = Search(model, dictionary, 3)
    assert search.encoded.states.size(0) == sum(max(s, 1) for s in SLOTS)
    search.reorder(torch.tensor([6, 8, 8]))
    assert search.encoded.states.size(0) == 2
    assert search.encoded.streams.hypotheses == 3


@pytest.mark.parametrize("reserved", [0, 2])
@pytest.mark.parametrize("pattern", ["EP-DP-EA-DA-CP", "EP-DA-CA"])
def test_dead_beams_disturb_nobody(pattern, reserved):
    """A dead beam may hold any id: no slot, no column, a name of another sentence."""
    dictionary, model = build(pattern, fresh_symbols=reserved)
    search = Search(model, dictionary, 3)
    dead = torch.zeros(search.sentence.numel(), dtype=torch.bool)
    dead[[1, 5, 6, 11]] = True
    num_base = model.vocabulary.num_base
    for step in range(4):
        logits = search.step()
        assert not logits.isnan().any()
        search.check(logits, [row for row in range(dead.numel()) if not dead[row]])
        search.append()
        search.tokens[dead, -1] = torch.tensor([num_base + 3, num_base + 4, num_base + 77, 10**6])
        order = torch.arange(dead.numel()).view(-1, 3).flip(1).flatten()
        search.reorder(order)
        dead = dead[order]


def test_padding_on_either_side():
    for encoder_positions in ("tree", "rope", "sinusoidal", "learned", "none"):
        dictionary, model = build(encoder_positions=encoder_positions)
        previous = torch.full((len(SOURCES), 3), dictionary.eos())
        right, left = (
            model(encode(dictionary, SOURCES, left_pad), None, previous)[0]
            for left_pad in (False, True)
        )
        assert torch.equal(left, right)
