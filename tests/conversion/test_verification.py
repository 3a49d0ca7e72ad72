"""The comparison of two models notices every difference."""

import pytest
import torch
from vanilla_models import REGEX, failing

from sit_fairseq.conversion import mapping, verification
from sit_fairseq.conversion.mapping import Symbols, convert, stream_dictionary
from sit_fairseq.conversion.original import read_vanilla
from sit_fairseq.model import Model
from sit_fairseq.tasks.file_options import read_state

SYMBOLS = Symbols(REGEX, ("a",), ("b",))


@pytest.fixture(scope="module")
def models(vanilla):
    """Original, converted model, and sentences to compare them on."""
    configurations = {}

    def make(kind, symbols=SYMBOLS, added=()):
        path = str(vanilla(kind))
        original = read_vanilla(path, read_state(path))
        key = (kind, symbols, *added)
        if key not in configurations:  # slow to make, and changed by nobody
            arguments = mapping.training_options(original, list(added))
            configurations[key] = mapping.configuration(original, symbols, arguments)
        converted, _ = convert(original, symbols, configurations[key].model)
        dictionary = stream_dictionary(original, symbols)
        pairs, _ = verification.sentences(original, dictionary, *symbols.actual)[0]
        return original, converted, pairs

    return make


@pytest.mark.parametrize("kind", ["separate-everything", "two-sizes"])
def test_every_weight_counts(models, kind):
    original, converted, pairs = models(kind)
    pairs = pairs[:2]
    assert verification.compare(original, converted, pairs, "a").equal
    for name, parameter in converted.named_parameters():
        before = parameter.detach().clone()
        with torch.no_grad():
            parameter.add_(0.05 * torch.randn_like(parameter))
        comparison = verification.compare(original, converted, pairs, "a")
        assert not comparison.equal, name
        assert comparison.difference > 10 * comparison.allowed, name
        with torch.no_grad():
            parameter.copy_(before)
    assert verification.compare(original, converted, pairs, "a").equal


def test_wrong_symbol_counts(models):
    """A row off by one, as in the published notebook, cannot go unnoticed."""
    original, converted, pairs = models("plain", Symbols(REGEX, ("c",), ("b",)))
    assert verification.compare(original, converted, pairs, "c").equal
    comparison = verification.compare(original, converted, pairs, "a")
    assert comparison.difference > 0.01 and not comparison.equal


def test_a_difference_is_an_error_and_leaves_no_file(vanilla, convert, tmp_path, monkeypatch):
    load = Model.load

    def damaged(path):
        model = load(path)
        with torch.no_grad():
            model.core.decoder.layers[0].fc1.bias += 0.01
        return model

    monkeypatch.setattr(Model, "load", damaged)
    failing(lambda: convert(vanilla("plain"), "--verify"), "differs from the original")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "kind, added",
    [("plain", ["EA"]), ("mixed-norm", ["DA", "EA"])],
)
def test_added_attentions_change_nothing_at_first(models, kind, added):
    """Not a bit, for sentences of several symbols too; but they take part in training."""
    _, converted, _ = models(kind)
    _, extended, _ = models(kind, added=added)
    generator = torch.Generator().manual_seed(1)
    dictionary = converted.vocabulary.dictionary
    base = dictionary.nspecial
    source = torch.randint(base, len(dictionary), (6, 9), generator=generator)
    previous = torch.randint(base, len(dictionary), (6, 5), generator=generator)
    assert converted.read(source)[1].names.size(1) > 2
    before, after = (model(source, None, previous)[0] for model in (converted, extended))
    assert torch.equal(before, after)
    new = {n for n, _ in extended.named_parameters()} - {n for n, _ in converted.named_parameters()}
    sides = {"EA": "encoder", "DA": "decoder"}
    assert {name.split(".")[0] for name in new} == {sides[letters] for letters in added}
    after.softmax(2)[:, :, 0].sum().backward()
    for name, parameter in extended.named_parameters():
        if "aggregated_attn.out_proj.weight" in name:
            assert parameter.grad.abs().max() > 0, name
