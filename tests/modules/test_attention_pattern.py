"""The paper's letters for attention patterns."""

import pytest

from sit_fairseq.errors import UserError
from sit_fairseq.models.config import AttentionPattern


def test_parts_may_come_in_any_order():
    pattern = AttentionPattern.parse("EP-DP-EA-DA-CP")
    assert pattern == AttentionPattern(True, True, True, True, ("CP",))
    assert AttentionPattern.parse("CP-DA-DP-EA-EP") == pattern


@pytest.mark.parametrize("letters", ["EP", "EA", "DP", "DA"])
def test_each_part_is_one_attention(letters):
    names = dict(zip(("EP", "EA", "DP", "DA"), AttentionPattern.__dataclass_fields__))
    pattern = AttentionPattern.parse(f"{letters}-CP")
    given = {name for name in names.values() if getattr(pattern, name)}
    assert given == {names[letters]}


def test_order_of_cross_attentions_counts():
    assert AttentionPattern.parse("EP-CA-DP-CP").cross == ("CA", "CP")
    assert AttentionPattern.parse("EP-CP-DP-CA").cross == ("CP", "CA")


@pytest.mark.parametrize(
    "text, part", [("EP-XY-CP", "'XY'"), ("EP-EP-CP", "'EP'"), ("", "''"), ("ep-CP", "'ep'")]
)
def test_unknown_or_repeated_part(text, part):
    with pytest.raises(UserError, match=f"{part} is unknown or repeated; join some of EP DP EA"):
        AttentionPattern.parse(text)


def test_decoder_must_see_the_source():
    with pytest.raises(UserError, match="'EP-DP-EA-DA' lets the decoder see nothing.*CP or CA"):
        AttentionPattern.parse("EP-DP-EA-DA")
