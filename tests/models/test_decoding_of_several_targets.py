"""An encoded sentence with several targets: what teacher forcing of each pair computes."""

import pytest
import torch
from conftest import TARGETS, encode, make_dictionary, make_model, make_sample, redraw, shift

# Sentences of the batch and how many targets each has: in any order, as many or not.
ROWS = [[0, 0, 1, 1, 2, 2, 3, 3], [3, 1, 1, 1, 0], [2], [0, 1, 2, 3]]


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("left_pad", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"stream_attention": "EP-DP-EA-DA-CP"},
        {"stream_attention": "EP-DP-EA-DA-CP-CA", "decoder_positions": "sinusoidal"},
        {"stream_attention": "EA-DA-CA", "fresh_symbols": 2},
        {"stream_attention": "EP-DP-CP", "symbol_embedding": "canonical"},
        {"stream_attention": "EP-DP-CP", "symbol_embedding": "fixed"},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
def test_values_and_gradients_are_those_of_each_pair(options, left_pad, rows):
    dictionary = make_dictionary()
    torch.manual_seed(1)
    model = redraw(make_model(dictionary, dropout=0.0, **options)).double().eval()
    sample = make_sample(dictionary, left_pad=left_pad)
    sources, lengths = (sample["net_input"][name] for name in ("src_tokens", "src_lengths"))
    order = torch.tensor(rows)
    # Cut, so that the targets of a sentence differ; their symbols are in it.
    targets = encode(dictionary, TARGETS)[order]
    for place, target in enumerate(targets):
        length = int(target.ne(dictionary.pad()).sum())
        cut = max(1, length - place % 3)
        target[cut - 1] = dictionary.eos()
        target[cut:] = dictionary.pad()
    previous = shift(dictionary, targets)

    def losses(decode):
        model.zero_grad()
        output = decode()
        log_probs = model.get_normalized_probs(output, log_probs=True)
        canonical = model.get_targets({"target": targets}, output)
        scores = log_probs.gather(2, canonical.unsqueeze(2)).squeeze(2)
        totals = scores.masked_fill(targets.eq(dictionary.pad()), 0.0).sum(1)
        totals.sum().backward()
        return totals.detach(), [parameter.grad for parameter in model.parameters()]

    together, gradients = losses(
        lambda: model.net_output(previous, model.encode(sources).reorder(order))
    )
    apart, expected = losses(lambda: model(sources[order], lengths[order], previous))
    assert together.isfinite().all()
    torch.testing.assert_close(together, apart, rtol=0, atol=1e-10)
    for found, right in zip(gradients, expected):
        assert (found is None) == (right is None)
        if found is not None:
            torch.testing.assert_close(found, right, rtol=0, atol=1e-9)
