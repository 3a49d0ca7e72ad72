"""Models that were never trained, and searches for their answers."""

import math

import torch
from conftest import SOURCES, encode, make_model, redraw

from sit_fairseq.tasks.generators import StreamSequenceGenerator

# The symbols of each of SOURCES.
SLOTS = [0, 1, 2, 4]


def build(dictionary, **options):
    """A model in double precision, whose weights are larger than those of a new one."""
    return redraw(make_model(dictionary, **options)).double().eval()


def generate(models, dictionary, sample, prefix_tokens=None, **options):
    """The hypotheses of each sentence of a batch."""
    options = {"max_len_b": 6, "unk_penalty": 100.0, **options}
    generator = StreamSequenceGenerator(models, dictionary, **options)
    return generator.generate(models, sample, prefix_tokens=prefix_tokens)


class Stepwise:
    """A search in fairseq's order of calls, with the reordering chosen by the test.

    Attributes:
        sentence: of each hypothesis.
        tokens: the hypotheses so far, in canonical ids.
    """

    def __init__(self, model, hypotheses):
        self.model, self.dictionary = model, model.vocabulary.dictionary
        self.sources = encode(self.dictionary, SOURCES)
        self.sentence = torch.arange(len(SOURCES)).repeat_interleave(hypotheses)
        self.encoded = model.encode(self.sources).reorder(self.sentence)
        self.tokens = torch.full((self.sentence.numel(), 1), self.dictionary.eos())
        self.cache = model.memory(self.encoded)

    def reorder(self, order):
        self.cache.reorder(order)
        self.encoded = self.encoded.reorder(order)
        self.tokens, self.sentence = self.tokens[order], self.sentence[order]

    def step(self):
        logits = self.model.step(self.tokens, self.cache)
        assert logits.size(1) == 1 and not logits.requires_grad
        return logits[:, 0]

    def append(self, logits):
        """Random tokens that may come next; half of the time a fresh symbol, if one may."""
        drawn = []
        for sentence, row in zip(self.sentence.tolist(), logits):
            columns = row.isfinite().nonzero().flatten()
            fresh = columns[columns >= self.model.vocabulary.num_base + SLOTS[sentence]]
            if self.model.vocabulary.fresh_symbols and fresh.numel() and torch.rand(()) < 0.5:
                columns = fresh
            drawn.append(columns[torch.randint(columns.numel(), ())])
        self.tokens = torch.cat((self.tokens, torch.stack(drawn).unsqueeze(1)), dim=1)

    def teacher_forced(self, row):
        """The same hypothesis alone: one sentence, no padding, no cache."""
        source = self.sources[self.sentence[row]]
        source = source[source.ne(self.dictionary.pad())].unsqueeze(0)
        with torch.no_grad():
            memory = self.model.memory(self.model.encode(source), keeps=False)
            return self.model.decoder(self.tokens[row : row + 1], memory)[0, -1]

    def check(self, logits, rows=None):
        """Compares logits of the last step with teacher forcing, for some of the hypotheses."""
        for row in range(logits.size(0)) if rows is None else rows:
            expected = self.teacher_forced(row)
            found = logits[row, : expected.numel()]
            torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
            assert bool((logits[row, expected.numel() :] == -math.inf).all())
