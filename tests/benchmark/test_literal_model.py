"""The yardstick of the benchmark computes what the paper's algorithms say."""

from types import SimpleNamespace

import literal
import pytest
import torch
from conftest import make_dictionary, make_model, make_sample, redraw
from fairseq.sequence_generator import SequenceGenerator

from sit_fairseq.benchmark.literal_model import LiteralModel
from sit_fairseq.logic.syntax import ARITY


def build(pattern: str, positions: str = "tree"):
    """The yardstick, and a sample for it."""
    dictionary = make_dictionary()
    options = SimpleNamespace(
        encoder_embed_dim=24,
        encoder_ffn_embed_dim=40,
        encoder_layers=2,
        encoder_attention_heads=3,
        encoder_positions=positions,
        tree_depth=0,
        stream_attention=pattern,
        dropout=0.0,
        layer_norm_eps=0.1,
    )
    model = LiteralModel(options, dictionary).double().eval()
    redraw(model)
    return model, make_sample(dictionary)


@pytest.mark.parametrize(
    "pattern, positions",
    [
        ("EP-DP-EA-DA-CP", "tree"),
        ("EP-DP-EA-CP", "rope"),
        ("EA-DA-CP-CA", "tree"),
        ("EP-DP-DA-CA", "rope"),
    ],
)
def test_logits_are_those_of_the_algorithms(pattern, positions):
    model, sample = build(pattern, positions)
    config = literal.LiteralConfig(
        pattern=pattern, layers=2, heads=3, eps=0.1, encoder_positions=positions
    )
    embedding, dictionary = model.encoder.embed_tokens, model.encoder.dictionary
    weights = model.state_dict()
    weights["decoder.output_projection.weight"] = embedding.weight
    base, symbols = embedding.vocabulary.num_base, embedding.symbols
    columns = torch.cat((embedding.vocabulary.index_of_row, symbols))
    number_of = {index: number for number, index in enumerate(columns.tolist())}
    found = model(**sample["net_input"])[0] / model.decoder.scale
    inputs = sample["net_input"]
    for row, previous, logits in zip(inputs["src_tokens"], inputs["prev_output_tokens"], found):
        x, y = (
            [number_of[token] for token in tokens.tolist() if token != dictionary.pad()]
            for tokens in (row, previous)
        )
        arities = [ARITY.get(token, 0) for token in embedding.vocabulary.row_tokens]
        arities += [0] * symbols.numel()
        formula = [arities[token] for token in x[:-1]] if positions == "tree" else None
        truth = literal.forward(weights, config, x, y, symbols.numel(), formula)
        assert truth.shape[1] == base + symbols.numel()
        torch.testing.assert_close(logits[: len(y)][:, columns], truth, rtol=1e-9, atol=1e-9)


def test_parameters_are_those_of_the_package():
    """So that both are measured with the same amount of work per stream."""
    ours = dict(make_model().named_parameters(remove_duplicate=False))
    theirs = dict(build("EP-DP-EA-DA-CP")[0].named_parameters(remove_duplicate=False))
    assert {k: v.shape for k, v in ours.items()} == {k: v.shape for k, v in theirs.items()}


def test_steps_of_beam_search_are_those_of_teacher_forcing():
    model, sample = build("EP-DP-EA-DA-CP-CA")
    dictionary = model.encoder.dictionary
    generator = SequenceGenerator([model], dictionary, beam_size=3, max_len_a=0, max_len_b=7)
    inputs = {"src_tokens": sample["net_input"]["src_tokens"]}
    inputs["src_lengths"] = sample["net_input"]["src_lengths"]
    answers = generator.generate([model], {"net_input": inputs})
    for number, hypotheses in enumerate(answers):
        for hypothesis in hypotheses:
            target = hypothesis["tokens"]
            previous = torch.cat((target.new_tensor([dictionary.eos()]), target[:-1]))
            source = inputs["src_tokens"][number : number + 1]
            logits = model(source, inputs["src_lengths"][number : number + 1], previous[None])[0]
            scores = logits[0].log_softmax(1).gather(1, target[:, None]).squeeze(1)
            torch.testing.assert_close(
                hypothesis["positional_scores"].double(), scores, rtol=1e-5, atol=1e-5
            )
