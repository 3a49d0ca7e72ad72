"""Random renaming of training pairs."""

from types import SimpleNamespace

import torch
from conftest import SOURCES, TARGETS, make_dictionary, make_model, make_sample, make_task

from sit_fairseq.training.alpha_renaming import rename_at_random


def text(dictionary, tokens):
    return [dictionary.string(line[line.ne(dictionary.pad())]).split() for line in tokens]


def test_source_and_target_of_a_sentence_get_the_same_map():
    dictionary = make_dictionary()
    sample = make_sample(dictionary)
    renamed = rename_at_random(sample, dictionary, 1, 1)
    net_input = renamed["net_input"]
    shifted = renamed["target"].roll(1, 1)
    kept = net_input["prev_output_tokens"].ne(dictionary.pad())
    kept[:, 0] = False
    assert torch.equal(net_input["prev_output_tokens"][kept], shifted[kept])
    sources = text(dictionary, net_input["src_tokens"])
    targets = text(dictionary, renamed["target"])
    maps = []
    for before, after in zip(zip(SOURCES, TARGETS), zip(sources, targets)):
        pairs = {
            *zip(before[0].split(), after[0], strict=True),
            *zip(before[1].split(), after[1], strict=True),
        }
        names = dict(pairs)
        assert len(pairs) == len(names) == len(set(names.values()))  # an injective map
        for token, name in pairs:
            assert dictionary.is_symbol(name) if dictionary.is_symbol(token) else name == token
        maps.append(names)
    assert any(token != name for names in maps for token, name in names.items())
    assert sample["target"].equal(make_sample(dictionary)["target"])  # the batch is not changed
    assert renamed["ntokens"] == sample["ntokens"] and renamed["id"] is sample["id"]


def test_names_are_drawn_evenly_among_all_symbols_of_the_dictionary():
    dictionary = make_dictionary(symbols="abcdef")
    count = 3000
    sample = make_sample(dictionary, ["& a b"] * count, ["a 1"] * count)
    source = rename_at_random(sample, dictionary, 1, 1)["net_input"]["src_tokens"]
    pairs = (source[:, 1] * 100 + source[:, 2]).unique(return_counts=True)[1]
    assert pairs.numel() == 6 * 5  # 100 of each are expected, with a deviation of 10
    assert 60 < pairs.min() and pairs.max() < 140


def test_map_depends_on_seed_epoch_and_index_only():
    dictionary = make_dictionary()
    sample = make_sample(dictionary, ["& | a b & c d"] * 8, ["a 1"] * 8)

    def renamed(seed=1, epoch=1, order=slice(None)):
        part = {
            "id": sample["id"][order],
            "net_input": {k: v[order] for k, v in sample["net_input"].items()},
            "target": sample["target"][order],
        }
        return rename_at_random(part, dictionary, seed, epoch)["net_input"]["src_tokens"]

    first = renamed()
    torch.manual_seed(99)
    assert torch.equal(renamed(), first)
    order = torch.tensor([5, 2, 7])
    assert torch.equal(renamed(order=order), first[order])
    assert not torch.equal(renamed(seed=2), first)
    assert not torch.equal(renamed(epoch=2), first)
    assert len({tuple(line.tolist()) for line in first}) == 8


def test_a_sort_may_have_no_symbol_in_the_dictionary():
    dictionary = make_dictionary(pattern="first=[a-z]\nsecond=[A-Z]")
    renamed = rename_at_random(make_sample(dictionary), dictionary, 1, 1)
    assert renamed["target"].shape == make_sample(dictionary)["target"].shape


def test_training_is_renamed_anew_in_each_epoch_and_validation_is_not():
    dictionary, seen = make_dictionary(), []

    def criterion(model, sample):
        seen.append(sample["net_input"]["src_tokens"])
        return torch.zeros((), requires_grad=True), 1, {}

    optimizer = SimpleNamespace(backward=torch.Tensor.backward)
    task = make_task(dictionary, seed=1, symbols="[a-z]", alpha_renaming=True)
    sample, model = make_sample(dictionary), make_model(dictionary)
    for epoch in (1, 1, 2):
        task.begin_epoch(epoch, model)
        task.train_step(sample, model, criterion, optimizer, 1)
    task.valid_step(sample, model, criterion)
    assert torch.equal(seen[0], seen[1]) and not torch.equal(seen[0], seen[2])
    assert seen[3] is sample["net_input"]["src_tokens"] and not torch.equal(seen[0], seen[3])
