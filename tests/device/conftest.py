"""A device for each test."""

import pytest
from pretended_device import PretendedDevice, register

register()  # before any test asks for gradients


@pytest.fixture
def device():
    with PretendedDevice() as device:
        yield device
