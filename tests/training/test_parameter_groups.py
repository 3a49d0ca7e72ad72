"""Which parameters decay, and which are Muon's."""

import torch
from conftest import make_dictionary, make_model
from fairseq.optim.fp16_optimizer import FP16Optimizer
from torch import nn

from sit_fairseq.training.optimizers import groups_by_decay, is_for_muon, mark_embeddings

SIZES = dict(
    encoder_embed_dim=48, encoder_ffn_embed_dim=64, encoder_attention_heads=4, encoder_layers=1
)


def names(model, parameters):
    """The names of parameters."""
    chosen = {id(parameter) for parameter in parameters}
    return {name for name, parameter in model.named_parameters() if id(parameter) in chosen}


def large_model(**options):
    """A model whose every matrix has at least 32 rows and columns, embeddings included."""
    dictionary = make_dictionary(base=["!", "&", *(f"+{number}" for number in range(40))])
    model = make_model(dictionary, **{**SIZES, **options})
    assert min(min(p.shape) for p in model.parameters() if p.dim() == 2) >= 32
    return model


def test_matrices_decay_and_nothing_else_does():
    model = make_model()
    decaying, others = groups_by_decay(model.parameters(), 0.1)
    assert decaying["weight_decay"] == 0.1 and others["weight_decay"] == 0.0
    decaying, others = names(model, decaying["params"]), names(model, others["params"])
    assert decaying | others == names(model, model.parameters())
    assert not decaying & others
    assert all(name.endswith(".bias") or "layer_norm" in name for name in others)
    assert not any(name.endswith(".bias") or "layer_norm" in name for name in decaying)
    assert "encoder.embed_tokens.weight" in decaying
    # The scale of the cosines is no parameter at all.
    assert not any("scale" in name for name in decaying | others)


def test_tables_of_any_size_are_not_for_muon():
    model = large_model(encoder_positions="tree", tree_depth=40, decoder_positions="learned")
    tables = {
        "encoder.embed_tokens.weight",
        "encoder.embed_positions.projection.weight",
        "decoder.embed_positions.weight",
    }
    matrices = names(model, [p for p in model.parameters() if p.dim() == 2])
    assert tables < matrices
    mark_embeddings(model)
    assert names(model, filter(is_for_muon, model.parameters())) == matrices - tables


def test_output_matrix_of_its_own_is_a_table():
    model = large_model(share_embeddings="none")
    mark_embeddings(model)
    matrices = [p for p in model.parameters() if p.dim() == 2]
    assert names(model, [p for p in matrices if not is_for_muon(p)]) == {
        "encoder.embed_tokens.weight",
        "decoder.embed_tokens.weight",
        "decoder.output_projection.weight",
    }


def test_matrices_need_32_rows_and_columns():
    shapes = [(32, 32), (31, 500), (500, 31), (500,), (40, 40, 40)]
    assert [is_for_muon(nn.Parameter(torch.zeros(shape))) for shape in shapes] == [
        *(True, False, False, False, False)
    ]


def test_copies_of_mixed_precision_keep_the_mark():
    model = large_model()
    mark_embeddings(model)
    copies = FP16Optimizer.build_fp32_params(None, list(model.half().parameters()), flatten=False)
    assert [*map(is_for_muon, copies)] == [*map(is_for_muon, model.parameters())]
    assert not all(is_for_muon(copy) for copy in copies if copy.dim() == 2)
