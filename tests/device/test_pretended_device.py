"""The pretended device refuses, computes and waits as a GPU does."""

import pytest
import torch
from pretended_device import table


@pytest.mark.parametrize(
    "operation",
    [
        lambda here, host: here + host,
        lambda here, host: here.index_select(0, torch.tensor([0])),
        lambda here, host: host.add_(here),
        lambda here, host: host[torch.zeros(1, dtype=torch.long, device=here.device)],
    ],
)
def test_mixing_devices_is_refused(device, operation):
    here = torch.ones(2, 2, device=device.name)
    with pytest.raises(RuntimeError, match="same device.*pretended and cpu"):
        operation(here, torch.ones(2, 2))


WAITING = {
    "item": lambda x: x[0].item(),
    "cpu": lambda x: x.cpu(),
    "copy to device": lambda x: x.copy_(torch.zeros(4)),
    "new tensor": lambda x: torch.tensor([1, 2], device=x.device),
    "mask as index": lambda x: x[x > 0],
    "nonzero": lambda x: x.nonzero(),
    "repeat_interleave": lambda x: x.repeat_interleave(x.long()),
    "equal": lambda x: torch.equal(x, x),
}
SILENT = {
    "sum": lambda x: x.sum(),
    "copy without waiting": lambda x: x.copy_(torch.zeros(4), non_blocking=True),
    "upload without waiting": lambda x: torch.zeros(4).to(x.device, non_blocking=True),
    "number where a mask says": lambda x: x.index_put_((x > 0,), torch.tensor(0.0)),
    "repeat_interleave of a known size": lambda x: x.repeat_interleave(x.long(), output_size=6),
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
