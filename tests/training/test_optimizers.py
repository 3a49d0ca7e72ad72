"""``--optimizer adamw`` and ``--optimizer muon``, as fairseq builds them."""

import copy

import pytest
import torch
from conftest import make_dictionary, make_model
from fairseq.optim import build_optimizer
from fairseq.optim.fp16_optimizer import FP16Optimizer
from fairseq.optim.lr_scheduler.cosine_lr_scheduler import CosineLRSchedule, CosineLRScheduleConfig
from omegaconf import OmegaConf
from torch import nn

from sit_fairseq.errors import UserError
from sit_fairseq.training.muon import is_for_muon, mark_embeddings
from sit_fairseq.training.optimizers import AdamWConfig

LR = 0.01  # what the trainer updates with
EACH = pytest.mark.parametrize("name", ["adamw", "muon"])


class Network(nn.Module):
    """An embedding and a wide layer, both large, then a layer too small for Muon."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 40)
        self.wide = nn.Linear(40, 64)
        self.small = nn.Linear(64, 5)

    def forward(self) -> torch.Tensor:
        return self.small(torch.tanh(self.wide(self.table.weight))).square().mean()


@pytest.fixture
def network():
    model = Network()
    mark_embeddings(model)
    return model


def built(name, model, **options):
    """The optimizer of a model, by fairseq's registry."""
    cfg = OmegaConf.structured(AdamWConfig(**{"lr": [LR], **options}))
    OmegaConf.set_struct(cfg, False)
    cfg._name = name
    return build_optimizer(cfg, list(model.parameters()))


def test_muon_names_the_pytorch_that_it_needs(network, monkeypatch):
    monkeypatch.delattr(torch.optim, "Muon")
    with pytest.raises(UserError, match="PyTorch 2.9.*optimizer"):
        built("muon", network)


def update(optimizer, model, count=1):
    """Takes steps as the trainer does."""
    for _ in range(count):
        optimizer.zero_grad()
        optimizer.backward(model())
        optimizer.clip_grad_norm(1.0)
        optimizer.step()


def weights(model):
    """A copy of all parameters, by name."""
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def test_muon_and_adamw_each_update_their_own(network):
    """Compared with the two optimizers of PyTorch, each on its own."""
    twin = copy.deepcopy(network)
    options = dict(weight_decay=0.1, momentum=0.95, nesterov=True, adjust_lr_fn="match_rms_adamw")
    muon = torch.optim.Muon([twin.wide.weight], lr=LR, **options)
    groups = [
        {"params": [twin.table.weight, twin.small.weight], "weight_decay": 0.1},
        {"params": [twin.wide.bias, twin.small.bias], "weight_decay": 0.0},
    ]
    adam = torch.optim.AdamW(groups, lr=LR, betas=(0.9, 0.95), eps=1e-8)
    update(built("muon", network, weight_decay=0.1), network, 5)
    for _ in range(5):
        twin.zero_grad()
        twin().backward()
        nn.utils.clip_grad_norm_(twin.parameters(), 1.0)
        muon.step()
        adam.step()
    for name, value in weights(twin).items():
        torch.testing.assert_close(weights(network)[name], value, rtol=1e-4, atol=1e-7)


@EACH
@pytest.mark.parametrize("decay", [0.5, None])
def test_decay_reaches_matrices_only_and_nothing_by_default(network, name, decay):
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.fill_(1.0)
    optimizer = built(name, network, **({} if decay is None else {"weight_decay": decay}))
    for parameter in network.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    for parameter in network.parameters():
        expected = 1 - LR * (decay or 0.0) if parameter.dim() == 2 else 1.0
        torch.testing.assert_close(parameter.data, torch.full_like(parameter, expected))


@EACH
def test_a_scheduler_moves_the_one_rate_of_all_groups(network, name):
    optimizer = built(name, network)
    cfg = CosineLRScheduleConfig(warmup_updates=4, lr=[LR], max_update=20)
    scheduler = CosineLRSchedule(cfg, optimizer)
    for updates in (0, 2, 4, 12, 20):
        rate = scheduler.step_update(updates)
        assert optimizer.get_lr() == rate
        assert {group["lr"] for group in optimizer.param_groups} == {rate}
        before = weights(network)
        update(optimizer, network)
        moved = {n for n, value in weights(network).items() if not torch.equal(value, before[n])}
        assert moved == (set(before) if rate else set())


@EACH
def test_overrides_reach_the_groups_that_have_the_value(network, name):
    optimizer = built(name, network)
    update(optimizer, network)
    state = optimizer.state_dict()
    optimizer.load_state_dict(state, {"weight_decay": 0.3, "betas": (0.8, 0.9)})
    for group in optimizer.param_groups:
        decaying = all(parameter.dim() == 2 for parameter in group["params"])
        assert group["weight_decay"] == (0.3 if decaying else 0.0)
        matrices = any(map(is_for_muon, group["params"])) and name == "muon"
        assert group.get("betas") == (None if matrices else (0.8, 0.9))


@EACH
def test_weights_in_half_precision_are_refused(name, network):
    with pytest.raises(UserError, match="name adam; change memory_efficient_fp16 or"):
        built(name, network).supports_memory_efficient_fp16


def test_muon_is_copied_whole_and_takes_all_parameters_at_once(network):
    optimizer = built("muon", network)
    update(optimizer, network)
    own, twin = optimizer.optimizer, copy.deepcopy(optimizer.optimizer)
    (first, *_), (other, *_) = (one.param_groups[0]["params"] for one in (own, twin))
    assert torch.equal(first, other) and first is not other
    other.grad = first.grad.clone()
    own.step(), twin.step()
    assert torch.equal(first, other)
    with pytest.raises(UserError, match="takes all parameters when it is made"):
        own.add_param_group({"params": [nn.Parameter(torch.ones(1))]})


@pytest.mark.parametrize("betas", ["(0.8, 0.9)", [0.8, 0.9]])
def test_betas_may_be_a_text_or_a_list(network, betas):
    optimizer = built("adamw", network, adam_betas=betas)
    assert {group["betas"] for group in optimizer.param_groups} == {(0.8, 0.9)}


# Which parameters decay, and which are Muon's.


def names(model, parameters):
    chosen = {id(parameter) for parameter in parameters}
    return {name for name, parameter in model.named_parameters() if id(parameter) in chosen}


def large_model(**options):
    """A model whose every matrix has at least 32 rows and columns, embeddings included."""
    sizes = dict(encoder_embed_dim=48, encoder_ffn_embed_dim=64, encoder_attention_heads=4)
    dictionary = make_dictionary(base=["!", "&", *(f"+{number}" for number in range(40))])
    model = make_model(dictionary, **{**sizes, "encoder_layers": 1, **options})
    assert min(min(p.shape) for p in model.parameters() if p.dim() == 2) >= 32
    return model


@pytest.mark.parametrize(
    "options, tables",
    [
        (
            {"tree_depth": 40, "decoder_positions": "learned"},
            {
                *("encoder.embed_tokens.weight", "encoder.embed_positions.projection.weight"),
                "decoder.embed_positions.weight",
            },
        ),
        (
            {"share_embeddings": "none"},
            {
                *("encoder.embed_tokens.weight", "decoder.embed_tokens.weight"),
                "decoder.output_projection.weight",
            },
        ),
    ],
)
def test_tables_of_any_size_are_not_for_muon(options, tables):
    model = large_model(**options)
    mark_embeddings(model)
    matrices = [p for p in model.parameters() if p.dim() == 2]
    assert names(model, [p for p in matrices if not is_for_muon(p)]) == tables


def test_matrices_need_32_rows_and_columns():
    shapes = [(32, 32), (31, 500), (500, 31), (500,), (40, 40, 40)]
    found = [is_for_muon(nn.Parameter(torch.zeros(shape))) for shape in shapes]
    assert found == [True, False, False, False, False]


def test_copies_of_mixed_precision_keep_the_mark():
    model = large_model()
    mark_embeddings(model)
    copies = FP16Optimizer.build_fp32_params(None, list(model.half().parameters()), flatten=False)
    assert [*map(is_for_muon, copies)] == [*map(is_for_muon, model.parameters())]
    assert not all(is_for_muon(copy) for copy in copies if copy.dim() == 2)
