"""Rotary positions of attention."""

import literal
import torch

from sit_fairseq.models.attention import Rotary


def test_agrees_with_the_definition():
    x = torch.randn(9, 6, dtype=torch.float64)
    expected = literal.rotate(x, literal.rotary_angles(9, 6))
    torch.testing.assert_close(Rotary(6)(x), expected, rtol=1e-12, atol=1e-12)
    assert torch.equal(Rotary(6)(x)[0], x[0])


def test_offset_is_the_position_of_the_first_vector():
    rotary, x = Rotary(8), torch.randn(2, 3, 10, 8)
    whole = rotary(x)
    for position in range(10):
        assert torch.equal(
            rotary(x[..., position : position + 1, :], position)[..., 0, :], whole[..., position, :]
        )


def test_products_depend_on_the_distance_only():
    rotary = Rotary(8)
    query, key = torch.randn(2, 8, dtype=torch.float64)

    def product(i, j):
        return rotary(query[None], i)[0] @ rotary(key[None], j)[0]

    torch.testing.assert_close(product(3, 1), product(45, 43))
    assert (product(3, 1) - product(1, 3)).abs() > 1e-3


def test_gradient():
    x = torch.randn(2, 5, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: Rotary(6)(x, offset=3), x)


def test_tables_follow_length_and_dtype():
    rotary = Rotary(4)
    short = rotary(torch.ones(2, 4))
    longer = rotary(torch.ones(50, 4))
    assert torch.equal(longer[:2], short)
    double = rotary(torch.ones(50, 4, dtype=torch.float64))
    assert double.dtype == torch.float64
    expected = literal.rotate(torch.ones(50, 4).double(), literal.rotary_angles(50, 4))
    torch.testing.assert_close(double, expected, rtol=1e-12, atol=1e-12)
    assert rotary(torch.ones(3, 4).bfloat16()).dtype == torch.bfloat16


def test_nothing_is_saved():
    rotary = Rotary(4)
    rotary(torch.ones(5, 4))
    assert not rotary.state_dict()
