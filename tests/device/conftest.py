"""A device for each test: the pretended one, or a real one by ``TEST_DEVICE=cuda``."""

import os
import warnings
from contextlib import contextmanager
from typing import Iterator, List
from unittest import mock

import pytest
import torch
from pretended_device import PretendedDevice, Wait, register

REAL = os.environ.get("TEST_DEVICE", "cpu")
if REAL == "cpu":
    register()  # before any test asks for gradients


class RealDevice:
    """A GPU, of which PyTorch says where the host waits for it."""

    name = REAL

    @contextmanager
    def counting(self) -> Iterator[List[Wait]]:
        """Gives a list to which each wait within is added."""
        waits: List[Wait] = []

        def note(message, category, filename, lineno, *others):
            if "synchroniz" in str(message):
                waits.append(Wait(f"line {lineno}", filename))

        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = note
            torch.cuda.set_sync_debug_mode("warn")
            try:
                yield waits
            finally:
                torch.cuda.set_sync_debug_mode("default")


@pytest.fixture
def device():
    if REAL != "cpu":
        yield RealDevice()
        return
    with PretendedDevice() as device:
        yield device


@pytest.fixture
def as_gpu(device):
    """A context within which fairseq takes the device for a GPU."""

    @contextmanager
    def patched():
        if REAL != "cpu":
            yield
            return
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
