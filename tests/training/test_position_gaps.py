"""Random gaps between positions in training."""

from types import SimpleNamespace

import numpy
import pytest
import torch
from conftest import SYMBOLS, encode, make_dictionary, make_model, make_sample, make_task, shift

from sit_fairseq.testing import rename, renaming
from sit_fairseq.training.position_gaps import PositionGaps, draw_shifts

# With base tokens first, without any, with symbols first, and with nothing but </s>.
SOURCES = ["& a b | c d ! a", "a b a c d", "a b & c d 1", "", "! 1 ! 0"]
TARGETS = ["a 1 b", "a b a c d", "1 a b c 0 d 1 a 0 b 1 c 0 d", "a", "1"]
MOST, LONGEST = 40, (256, 200)


def spread(sample, dictionary, seed=1, update=3, most=MOST, longest=LONGEST):
    return PositionGaps(dictionary, seed).spread(sample, update, most, longest)["net_input"]


def rows(tokens, places, dictionary):
    """Tokens and places of each sentence, without padding."""
    for line, place in zip(tokens, places):
        real = line.ne(dictionary.pad())
        yield [dictionary[index] for index in line[real].tolist()], place[real].tolist()


def both_sides(net_input, dictionary):
    sources = rows(net_input["src_tokens"], net_input["src_places"], dictionary)
    targets = rows(net_input["prev_output_tokens"], net_input["target_places"], dictionary)
    return list(zip(sources, targets))


@pytest.fixture(scope="module")
def drawn():
    """Sentences of 400 updates with their places."""
    dictionary = make_dictionary()
    sample = make_sample(dictionary, SOURCES, TARGETS)
    return dictionary, [
        both_sides(spread(sample, dictionary, update=update), dictionary) for update in range(400)
    ]


def test_positions_increase_by_no_more_than_the_option(drawn):
    for batch in drawn[1]:
        for sides in batch:
            for tokens, places in sides:
                assert all(later > earlier for earlier, later in zip(places, places[1:]))
                assert places[0] >= 0 and places[-1] - (len(tokens) - 1) <= MOST


def test_atoms_stay_whole_and_symbols_before_them_stand_alone(drawn):
    dictionary, batches = drawn
    widest = {}
    for batch in batches:
        for number, sides in enumerate(batch):
            for side, (tokens, places) in enumerate(sides):
                for at in range(1, len(tokens)):
                    key = number, side, at, dictionary.is_symbol(tokens[at])
                    gap = places[at] - places[at - 1] - 1
                    widest[key] = max(widest.get(key, 0), gap)
    for (number, side, at, is_symbol), gap in widest.items():
        words = TARGETS[number].split()[: at - 1] if side else SOURCES[number].split()[:at]
        within = is_symbol and any(word in "&|!01" for word in words)
        assert (gap == 0) == within, (number, side, at)


def test_totals_of_a_source_are_even_and_all_spread(drawn):
    for number in range(len(SOURCES)):
        totals = [batch[number][0][1][-1] - len(SOURCES[number].split()) for batch in drawn[1]]
        counts = numpy.bincount(totals, minlength=MOST + 1)
        assert len(counts) == MOST + 1 and counts.max() < 30  # 10 are expected
        assert abs(numpy.mean(totals) - MOST / 2) < 2


def test_a_target_grows_with_its_length(drawn):
    """One of the length of its source is spread as it; a short one less, a long one no further."""
    for (_, copied), (_, places) in (batch[1] for batch in drawn[1]):
        assert places == copied
    short, long = (
        numpy.mean([batch[number][1][1][-1] - len(TARGETS[number].split()) for batch in drawn[1]])
        for number in (4, 2)
    )
    assert short < MOST / 3 < long <= MOST


def test_no_position_is_beyond_what_a_side_reads():
    dictionary = make_dictionary()
    sample = make_sample(dictionary, SOURCES, TARGETS)
    for update in range(50):
        net_input = spread(sample, dictionary, update=update, longest=(10, 16))
        assert net_input["src_places"].max() < 10 and net_input["target_places"].max() < 16


def test_gaps_depend_on_seed_update_and_index_only():
    dictionary = make_dictionary()
    sample = make_sample(dictionary, SOURCES * 2, TARGETS * 2)
    everything = both_sides(spread(sample, dictionary), dictionary)
    assert everything[:5] != everything[5:]
    order = torch.tensor([6, 2, 9, 1])
    part = {
        "id": sample["id"][order],
        "net_input": {name: value[order] for name, value in sample["net_input"].items()},
        "target": sample["target"][order],
    }
    torch.manual_seed(99)
    assert both_sides(spread(part, dictionary), dictionary) == [everything[i] for i in order]
    left = make_sample(dictionary, SOURCES * 2, TARGETS * 2, left_pad=True)
    assert both_sides(spread(left, dictionary), dictionary) == everything
    for other in (dict(seed=2), dict(seed=-1), dict(update=4)):
        assert both_sides(spread(sample, dictionary, **other), dictionary) != everything


def test_shifts_of_large_numbers_are_drawn_without_a_warning(recwarn):
    shifts = draw_shifts(
        2**70, 2**40, numpy.array([0, 2**40]), numpy.array([0, 9]), numpy.array([3, 1])
    )
    assert shifts[0].tolist() == [0, 0, 0] and 0 <= shifts[1, 0] <= 9 and not len(recwarn)


def test_validation_and_a_model_without_the_option_have_no_gaps():
    dictionary, seen = make_dictionary(), []

    def criterion(model, sample):
        seen.append(sample["net_input"].keys())
        return torch.zeros((), requires_grad=True), 1, {}

    optimizer = SimpleNamespace(backward=torch.Tensor.backward)
    sample, task = make_sample(dictionary), make_task(dictionary, seed=1)
    plain, gaps = (make_model(dictionary, position_gaps=number) for number in (0, 9))
    task.train_step(sample, plain, criterion, optimizer, 1)
    task.valid_step(sample, gaps, criterion)
    task.train_step(sample, gaps, criterion, optimizer, 1)
    assert seen[0] == seen[1] == sample["net_input"].keys()
    assert seen[2] - seen[0] == {"src_places", "target_places"}


def test_sentences_are_spread_alike_whatever_their_symbols_are_called():
    """Pairs, and texts."""
    dictionary, found = make_dictionary(), []
    names = renaming(dictionary, dict(zip(SYMBOLS, SYMBOLS[::-1])))
    sample = make_sample(dictionary, SOURCES[:3], TARGETS[:3])
    one, other = (spread(pairs, dictionary) for pairs in (sample, rename(sample, names)))
    assert not torch.equal(one["src_tokens"], other["src_tokens"])
    assert all(torch.equal(one[side], other[side]) for side in ("src_places", "target_places"))
    for lines in (["& a b | a c 0", "! d"], ["& h e | h b 0", "! a"]):
        tokens = shift(dictionary, encode(dictionary, lines))
        sample = {"id": torch.arange(2), "net_input": {"src_tokens": tokens}}
        found.append(PositionGaps(dictionary, 1).spread(sample, 3, 40, 200)["net_input"])
    places = found[0]["src_places"]
    assert torch.equal(places, found[1]["src_places"]) and int(places.max()) > tokens.size(1)
    assert bool((places[0].diff() > 0).all())
