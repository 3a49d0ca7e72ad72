"""Models that were never trained, and searches for their answers."""

from conftest import make_model, redraw

from sit_fairseq.search.slot_search import StreamSequenceGenerator


def build(dictionary, **options):
    """A model in double precision, whose weights are larger than those of a new one."""
    model = make_model(dictionary, **options)
    redraw(model)
    return model.double().eval()


def generate(models, dictionary, sample, prefix_tokens=None, **options):
    """The hypotheses of each sentence of a batch."""
    options = {"max_len_b": 6, "unk_penalty": 100.0, **options}
    generator = StreamSequenceGenerator(models, dictionary, **options)
    return generator.generate(models, sample, prefix_tokens=prefix_tokens)
