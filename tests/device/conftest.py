"""A device for each test."""

from contextlib import contextmanager
from unittest import mock

import pytest
import torch
from pretended_device import PretendedDevice, register

register()  # before any test asks for gradients


@pytest.fixture
def device():
    with PretendedDevice() as device:
        yield device


@pytest.fixture
def as_gpu(device):
    """A context within which fairseq takes the device for a GPU."""

    @contextmanager
    def patched():
        with mock.patch.multiple(
            torch.cuda,
            is_available=lambda: True,
            current_device=lambda: device.name,
            get_device_capability=lambda index: (8, 0),
            # There is one generator of random numbers, which fairseq looks after.
            manual_seed=lambda seed: None,
            get_rng_state=lambda: None,
            set_rng_state=lambda state: None,
        ):
            yield

    return patched
