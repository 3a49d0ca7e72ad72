"""A batch is itself alone."""

import pytest
from conftest import encode, make_dictionary, make_model

LINES = ["& a b | a c 0", "! d & d d", "1 0 a b c"]


@pytest.mark.parametrize("places", ["all", "own"])
def test_a_batch_equals_itself_alone(places):
    """Tensors have no truth value, so that what holds them cannot be compared by its parts."""
    model = make_model(make_dictionary(), stream_places=places, encoder_positions="rope")
    first, second = (model.encode(encode(model.vocabulary.dictionary, LINES)) for _ in range(2))
    for one, other in (
        (first, second),
        (first.slots, second.slots),
        (first.streams, second.streams),
    ):
        assert one == one and one != other
