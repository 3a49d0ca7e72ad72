"""Models that were never trained, and searches for their answers, ours and fairseq's."""

import math

import torch
import torch.nn.functional as F
from conftest import SOURCES, encode, make_model, redraw
from fairseq.sequence_generator import EnsembleModel, SequenceGenerator

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


class _SlotSpace(EnsembleModel):
    """One model as fairseq's search asks it."""

    width = 0

    def has_incremental_states(self):
        return True

    def forward_encoder(self, net_input):
        return [self.single_model.encode(net_input["src_tokens"])]

    def forward_decoder(self, tokens, encoder_outs, incremental_states, temperature=1.0):
        (source,), (state,) = encoder_outs, incremental_states
        if "cache" not in state:
            state["cache"] = self.single_model.memory(source)
        logits = self.single_model.step(tokens, state["cache"])[:, -1, :] / temperature
        log_probs = logits.log_softmax(1)
        return F.pad(log_probs, (0, self.width - log_probs.size(1)), value=-math.inf), None

    def reorder_encoder_out(self, encoder_outs, new_order):
        return [source.reorder(new_order) for source in encoder_outs]

    def reorder_incremental_state(self, incremental_states, new_order):
        incremental_states[0]["cache"].reorder(new_order)


class StockGenerator(SequenceGenerator):
    """fairseq's own search, in slot space: an oracle."""

    def __init__(self, models, tgt_dict, beam_size=1, **kwargs):
        super().__init__(_SlotSpace(models), tgt_dict, beam_size=beam_size, **kwargs)
        self.beam_size = beam_size

    def _generate(self, sample, *args, **kwargs):
        slots = self.model.single_model.read(sample["net_input"]["src_tokens"])[1].named()
        self.vocab_size = max(slots.num_columns, 2 * self.beam_size + 1)
        self.model.width = self.search.vocab_size = self.vocab_size
        found = super()._generate(sample, *args, **kwargs)
        for place, hypotheses in enumerate(found):
            for hypothesis in hypotheses:
                hypothesis["tokens"] = slots.decode(hypothesis["tokens"], place)
        return found


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


def shuffled_beams(search, hypotheses, keep):
    """Any hypothesis may continue any of its sentence; other sentences drop out."""
    starts = range(0, search.sentence.numel(), hypotheses)
    starts = [start for start in starts if int(search.sentence[start]) in keep]
    return torch.cat([start + torch.randint(hypotheses, (hypotheses,)) for start in starts])
