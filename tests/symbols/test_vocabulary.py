"""Canonical ids: base tokens by string, symbols by order of first appearance."""

import pytest
import torch
from conftest import encode, make_dictionary, make_model

from sit_fairseq.symbols.saved_tokens import buffer_text
from sit_fairseq.symbols.vocabulary import Vocabulary

BASE = ["!", "&", "0", "1", "<->", "xor", "|"]  # sorted


def build(**options):
    dictionary = make_dictionary(**options)
    return dictionary, Vocabulary(dictionary)


def test_rows_of_base_tokens():
    dictionary, vocabulary = build()
    assert vocabulary.num_base == 4 + len(BASE)
    rows = vocabulary.rows(torch.tensor([dictionary.index(token) for token in BASE]))
    assert rows.tolist() == list(range(4, 11))
    assert vocabulary.rows(torch.arange(4)).tolist() == [0, 1, 2, 3]
    assert vocabulary.rows(torch.tensor([dictionary.index("a"), 999])).tolist() == [-1, -1]
    filler = dictionary.symbols.index("madeupword0000")
    assert vocabulary.rows(torch.tensor([filler])).item() == dictionary.unk()


def test_slots_by_first_appearance():
    dictionary, vocabulary = build()
    tokens = encode(dictionary, ["& c | a c", "! 0", "xor b b"])
    canonical, read = vocabulary.read(tokens)
    slot = vocabulary.num_base
    row = {token: 4 + index for index, token in enumerate(BASE)}
    assert canonical[0].tolist() == [row["&"], slot, row["|"], slot + 1, slot, 2]
    assert canonical[1].tolist() == [row["!"], row["0"], 2, 1, 1, 1]
    assert canonical[2].tolist() == [row["xor"], slot, slot, 2, 1, 1]
    a, b, c, pad = (dictionary.index(token) for token in ("a", "b", "c", "<pad>"))
    assert read.names.tolist() == [[c, a], [pad, pad], [b, pad]]


def test_padding_is_no_slot():
    """Unused slots hold <pad>; padding of a target must not match them."""
    dictionary, vocabulary = build()
    _, slots = vocabulary.read(encode(dictionary, ["& a b", "! c"]))
    target = encode(dictionary, ["a 1 b 1", "c"])
    assert slots.encode(target)[1, 2:].tolist() == [dictionary.pad()] * 3


def test_checkpoint_into_a_dictionary_of_other_order_and_size():
    _, vocabulary = build()
    other = make_dictionary(list("zyx"), ["xor", "1", "|", "&", "!"], pattern=None)
    loaded = Vocabulary(other)
    loaded.load_state_dict(vocabulary.state_dict())
    assert other.pattern == "[a-z]" and loaded.num_base == vocabulary.num_base
    tokens = torch.tensor([other.index(token) for token in [*BASE, "z", "a"]])
    assert loaded.rows(tokens).tolist() == [*range(4, 11), -1, -1]
    assert loaded.row_tokens == vocabulary.row_tokens
    # Decoding names base tokens by the indices of the other dictionary.
    assert torch.equal(loaded.index_of_row[4:11], tokens[:7])


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8, torch.float16, torch.bfloat16])
def test_checkpoint_of_any_precision(dtype):
    """Earlier versions saved bytes."""
    _, vocabulary = build(pattern="[a-h]|é")
    _, loaded = build(pattern=None)
    state = vocabulary.state_dict()
    loaded.load_state_dict({name: v.to(dtype) for name, v in state.items()})
    assert loaded.dictionary.pattern == "[a-h]|é" and loaded.same_columns(vocabulary)
    assert set(state) == {"base_tokens", "symbols", "source_only"}


def test_loading_leaves_the_callers_weights_as_they_are():
    """Torch copies the dictionary of tensors before it asks modules, but not everybody does."""
    state = dict(build()[1].state_dict())
    before = {name: (value, value.clone()) for name, value in state.items()}
    _, loaded = build(pattern="[a-z]|v\\d+")
    loaded._load_from_state_dict(state, "", {}, True, [], [], [])
    assert state.keys() == before.keys()
    for name, (tensor, value) in before.items():
        assert state[name] is tensor and torch.equal(tensor, value)
    assert buffer_text(loaded.symbols) == "[a-z]|v\\d+"


def test_model_takes_over_the_number_of_base_tokens():
    model = make_model(make_dictionary())
    bare = make_model(make_dictionary(base=("1",), pattern=None))
    assert bare.encoder.embed_tokens.weight.size(0) != 13
    bare.load_state_dict(model.state_dict())
    assert torch.equal(bare.encoder.embed_tokens.weight, model.encoder.embed_tokens.weight)


def test_ensemble_members_do_not_blame_the_data_for_each_others_tokens():
    richer = make_model(make_dictionary())
    poorer = make_model(make_dictionary(base=("!", "&", "0")))
    dictionary = make_dictionary("ab", ("!", "&", "0"), None)
    make_model(dictionary).load_state_dict(richer.state_dict())
    make_model(dictionary).load_state_dict(poorer.state_dict())


def test_fresh_symbols_are_numbered_by_first_appearance_in_the_target():
    dictionary = make_dictionary()
    vocabulary = Vocabulary(dictionary, 2)
    slots = vocabulary.read(encode(dictionary, ["& b a", "! 0"]))[1]
    base = vocabulary.num_base
    canonical = slots.encode(encode(dictionary, ["h a e h c e b", "c c 0 h b"]))
    unk, zero = dictionary.unk(), vocabulary.rows(encode(dictionary, ["0"]))[0, 0]
    assert canonical[0, :7].tolist() == [base + i for i in (2, 1, 3, 2)] + [unk, base + 3, base]
    assert canonical[1, :5].tolist() == [base, base, zero, base + 1, unk]
    targets = slots.targets(encode(dictionary, ["h a e h c e b", "c c 0 h b"]))
    assert targets[0, 4] == targets[1, 4] == dictionary.pad()  # it cannot be produced
    assert slots.first_reserved.tolist() == [base + 2, base]
    assert slots.num_columns == base + 4
