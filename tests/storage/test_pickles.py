"""Files of ``torch.save`` are data: what they ask for is checked before it is made."""

import pickle
import zipfile

import pytest
import torch

from sit_fairseq.storage import pickles


class Rebuilt:
    """A tensor of 4 numbers that claims another place in its storage."""

    def __init__(self, *place):
        self.place = place

    def __reduce__(self):
        return torch._utils._rebuild_tensor_v2, (Storage(), *self.place, False, {})


class Storage:
    pass


class Pickler(pickle._Pickler):
    def persistent_id(self, value):
        return (
            ("storage", torch.FloatStorage, "0", "cpu", 4) if isinstance(value, Storage) else None
        )


@pytest.mark.parametrize(
    "offset, shape, stride",
    [
        (0, (0, -2), (1, 1)),
        (0, (-1, 0), (1, 1)),
        (0, (5, 2**31, "1"), (1, 1, 1)),  # a text of 10 GB
        (0, (2.0,), (1,)),
        (-1, (2,), (1,)),
        (0, (2,), (-1,)),
        (3, (2,), (1,)),
        (0, (2,), (2**62,)),
        (0, (2,), (1, 1)),
    ],
)
def test_tensors_lie_within_their_storage(tmp_path, offset, shape, stride):
    path = tmp_path / "model.pt"
    with zipfile.ZipFile(path, "w") as archive:
        with archive.open("a/data.pkl", "w") as file:
            Pickler(file, 2).dump([Rebuilt(offset, shape, stride)])
        archive.writestr("a/data/0", bytes(16))
    with pytest.raises((pickle.UnpicklingError, RuntimeError)):
        pickles.read(str(path))
