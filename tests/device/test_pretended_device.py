"""The pretended device refuses, computes and waits as a GPU does."""

import pytest
import torch
import torch.nn.functional as F
from pretended_device import PretendedDevice, table
from torch import nn


def test_tensors_say_where_they_are(device):
    x = torch.ones(2, 3).to(device.name)
    assert x.is_cuda and x.device.type == device.name
    for y in (x + 1, x[0], torch.zeros(2, device=x.device), x.new_ones(2), torch.empty_like(x)):
        assert y.is_cuda and y.device == x.device
    assert not x.cpu().is_cuda and torch.equal((2 * x).cpu(), torch.full((2, 3), 2.0))


def test_views_and_changes_in_place_share_memory(device):
    x = torch.zeros(2, 3, device=device.name)
    x[1].add_(1)
    x.view(-1)[0] = 5
    assert x.tolist() == [[5, 0, 0], [1, 1, 1]]
    out = torch.empty(2, device=device.name)
    assert torch.sum(x, 1, out=out) is out and out.tolist() == [5, 3]
    x.resize_(1, 3)
    assert x.shape == (1, 3) and x.tolist() == [[5, 0, 0]]


@pytest.mark.parametrize(
    "operation",
    [
        lambda here, host: here + host,
        lambda here, host: torch.cat((here, host)),
        lambda here, host: here.index_select(0, torch.tensor([0])),
        lambda here, host: F.linear(here, host),
        lambda here, host: host.add_(here),
        lambda here, host: host[torch.zeros(1, dtype=torch.long, device=here.device)],
        lambda here, host: here.masked_fill(host > 0, 0.0),
    ],
)
def test_mixing_devices_is_refused(device, operation):
    here = torch.ones(2, 2, device=device.name)
    with pytest.raises(RuntimeError, match="same device.*pretended and cpu"):
        operation(here, torch.ones(2, 2))


def test_numbers_and_indices_may_come_from_the_host(device):
    x = torch.arange(6.0, device=device.name).view(3, 2)
    assert (x + torch.tensor(1.0)).is_cuda
    assert x[torch.tensor([2, 0])].tolist() == [[4, 5], [0, 1]]
    x[torch.tensor([0])] = torch.tensor(7.0)
    assert x[0].tolist() == [7, 7]


def test_gradients_are_those_of_the_cpu(device):
    torch.manual_seed(0)
    host = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 1)).double()
    here = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 1)).double()
    here.load_state_dict(host.state_dict())
    here.to(device.name)
    assert isinstance(here[0].weight, nn.Parameter)
    x = torch.randn(5, 4, dtype=torch.float64)
    host(x).square().mean().backward()
    here(x.to(device.name)).square().mean().backward()
    for expected, found in zip(host.parameters(), here.parameters()):
        assert found.grad.is_cuda
        assert torch.equal(expected.grad, found.grad.cpu())
    torch.optim.AdamW(host.parameters()).step()
    torch.optim.AdamW(here.parameters()).step()
    for expected, found in zip(host.parameters(), here.parameters()):
        torch.testing.assert_close(found.detach().cpu(), expected.detach(), rtol=0, atol=1e-15)


def test_autocast_computes_products_in_its_precision(device):
    linear = nn.Linear(4, 4).to(device.name)
    x = torch.ones(2, 4, device=device.name)
    with torch.autocast(device.name, dtype=torch.bfloat16):
        assert linear(x).dtype == torch.bfloat16
        assert linear(x).softmax(1).dtype == torch.float32
        with torch.autocast(device.name, enabled=False):
            assert linear(x).dtype == torch.float32
        linear(x).sum().backward()
    assert linear(x).dtype == linear.weight.grad.dtype == torch.float32


WAITING = {
    "item": lambda x: x[0].item(),
    "bool": lambda x: bool(x.any()),
    "tolist": lambda x: x.tolist(),
    "cpu": lambda x: x.cpu(),
    "copy to host": lambda x: torch.zeros(4).copy_(x),
    "copy to device": lambda x: x.copy_(torch.zeros(4)),
    "new tensor": lambda x: torch.tensor([1, 2], device=x.device),
    "list as index": lambda x: x[[0, 1]],
    "mask as index": lambda x: x[x > 0],
    "store where a mask says": lambda x: x.index_put_((x > 0,), x.new_zeros(())),
    "masked_select": lambda x: x.masked_select(x > 0),
    "nonzero": lambda x: x.nonzero(),
    "unique": lambda x: x.unique(),
    "unique_consecutive": lambda x: x.unique_consecutive(),
    "repeat_interleave": lambda x: x.repeat_interleave(x.long()),
    "equal": lambda x: torch.equal(x, x),
}
SILENT = {
    "sum": lambda x: x.sum(),
    "copy without waiting": lambda x: x.copy_(torch.zeros(4), non_blocking=True),
    "upload without waiting": lambda x: torch.zeros(4).to(x.device, non_blocking=True),
    "nothing to copy": lambda x: torch.empty(0).to(x.device),
    "number where a mask says": lambda x: x.index_put_((x > 0,), torch.tensor(0.0)),
    "assign where a mask says": lambda x: x.__setitem__(x > 0, 0.0),
    "repeat_interleave of a known size": lambda x: x.repeat_interleave(x.long(), output_size=6),
    "repeat_interleave by a number": lambda x: x.repeat_interleave(2),
    "within the device": lambda x: x.to(torch.float64),
    "where": lambda x: torch.where(x > 0, x, 0.0),
}


@pytest.mark.parametrize("kind", WAITING)
def test_waits_are_counted(device, kind):
    x = torch.arange(4.0, device=device.name)
    with device.counting() as waits:
        WAITING[kind](x)
    assert len(waits) == 1, table(waits)
    assert waits[0].place.startswith("device/test_pretended_device.py:")


@pytest.mark.parametrize("kind", SILENT)
def test_what_does_not_wait_is_not_counted(device, kind):
    x = torch.arange(4.0, device=device.name)
    with device.counting() as waits:
        SILENT[kind](x)
    assert not waits, table(waits)


def test_checks_of_operators_are_waits(device):
    x, lengths = torch.ones(4, device=device.name), torch.tensor([1, 3]).to(device.name)
    for unsafe, number in ((False, 2), (True, 0)):
        with device.counting() as waits:
            total = torch.segment_reduce(x, "sum", lengths=lengths, unsafe=unsafe)
        assert len(waits) == number and total.tolist() == [1, 3]
    with device.counting() as waits:
        torch.multinomial(x, 1)
    assert [wait.operator for wait in waits] == ["multinomial"] * 2


def test_waits_of_a_part_are_no_waits_of_the_whole(device):
    x = torch.ones((), device=device.name)
    with device.counting() as outer:
        with device.counting() as inner:
            x.item()
        float(x), float(x)
    assert len(inner) == 1 and len(outer) == 2
    assert table(outer).split()[:2] == ["2", "item"]


def test_waits_in_the_backward_pass_are_counted(device):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * int(grad.sum() > 0) * 2

    x = torch.ones(3, device=device.name, requires_grad=True)
    with device.counting() as waits:
        Double.apply(x).sum().backward()
    assert len(waits) == 1 and "backward" in waits[0].place
    assert x.grad.tolist() == [2, 2, 2]


def test_nothing_computes_on_a_device_that_was_left():
    with PretendedDevice() as device:
        x = torch.ones(2, device=device.name)
    with pytest.raises(RuntimeError, match="has been left"):
        x + 1
