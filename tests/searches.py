"""Models that were never trained, and searches for their answers, ours and fairseq's."""

import math

import torch.nn.functional as F
from conftest import make_model, redraw
from fairseq.sequence_generator import EnsembleModel, SequenceGenerator

from sit_fairseq.search.fairseq_generator import StreamSequenceGenerator


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
            state["cache"] = self.single_model.new_cache(source)
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
