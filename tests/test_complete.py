"""Continuations of prompts by a language model in Python."""

import pytest
import torch
from conftest import make_dictionary, make_model
from texts import SORTS, make_language_model

from sit_fairseq.errors import UserError
from sit_fairseq.model import Model
from sit_fairseq.search.hypotheses import SearchOptions
from sit_fairseq.search.strategies import Sampling

PROMPTS = ["& a b | a", "! d d", "", "0"]
RENAMED = ["& x q | x", "! h h", "", "0"]
NAMES = {"x": "a", "q": "b", "h": "d"}
PLACES = ("all", "own", "read")


def build(**options):
    return Model([make_language_model(make_dictionary(), **options).float()])


def numbered(text):
    """Names by first appearance."""
    names = {}
    return [names.setdefault(t, len(names)) if t.isalnum() and not t.isdigit() else t for t in text]


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("beam, sampling", [(1, None), (3, None), (2, Sampling(top_p=0.9))])
def test_renamed_prompts_have_renamed_continuations_with_equal_scores(places, beam, sampling):
    model, found = build(stream_places=places), []
    for prompts in (PROMPTS, RENAMED):
        torch.manual_seed(1)
        found.append(model.complete(prompts, beam, 12, sampling, search=SearchOptions(nbest=beam)))
    for prompt, one, renamed, other in zip(PROMPTS, found[0], RENAMED, found[1]):
        assert one.score == other.score and len(one.others) == beam - 1
        for text, same in zip((one.text, *one.others), (other.text, *other.others)):
            whole = f"{prompt} {text}".split(), f"{renamed} {same}".split()
            assert numbered(whole[0]) == numbered(whole[1])


def test_prompts_of_a_batch_are_continued_as_alone():
    model = build()
    together = model.complete(PROMPTS, 3, 10)
    alone = [model.complete([prompt], 3, 10)[0] for prompt in PROMPTS]
    assert [one.text for one in together] == [one.text for one in alone]
    scores = torch.tensor([[one.score, other.score] for one, other in zip(together, alone)])
    torch.testing.assert_close(*scores.unbind(1))


def test_a_continuation_has_the_length_that_is_asked_for_whatever_its_prompt():
    for length in (0, 3):
        for one in build().complete(PROMPTS, max_length=length):
            assert len(one.text.split()) <= length


def test_the_score_is_that_of_the_whole_text():
    model = build()
    core, (one,) = model.core, model.complete(["& a b"], 2, 6)
    targets = core.vocabulary.dictionary.read(f"& a b {one.text}").unsqueeze(0)
    tokens = torch.cat((targets[:, -1:], targets[:, :-1]), 1)
    scores = core(tokens).log_softmax(2).gather(2, core.targets(tokens, targets).unsqueeze(2))
    assert one.score == pytest.approx(float(scores.mean()), abs=1e-5)


def test_prompts_that_cannot_be_read_cost_none_of_the_others_its_continuation():
    prompts = ["a b c d e f", "nothing", "& a b | a"]
    model = build()
    first, second, third = model.complete(prompts, max_length=5)
    assert (first.text, second.text) == (None, None)
    assert "holds 6 symbols, more than the 5" in first.reason
    assert "unknown token 'nothing'" in second.reason
    assert third.text == model.complete(["& a b | a"], max_length=5)[0].text


def test_a_loaded_model_reads_more_symbols_than_its_training_had_and_is_saved_so(tmp_path):
    build().save(str(tmp_path / "model.pt"))
    more = Model.load(str(tmp_path / "model.pt"), fresh_symbols=9)
    more.save(str(tmp_path / "more.pt"))
    again = Model.load(str(tmp_path / "more.pt"))
    assert (more.fresh_symbols, again.fresh_symbols) == (9, 9)
    found = [model.complete(["a b c d e f g"], max_length=5)[0] for model in (more, again)]
    assert found[0].text and found[0] == found[1]
    for wrong in (-1, True, "x", "odd=3"):
        with pytest.raises(UserError, match="fresh symbols"):
            Model.load(str(tmp_path / "model.pt"), fresh_symbols=wrong)


def test_names_of_new_symbols_are_those_that_are_given_and_of_their_sort():
    dictionary = make_dictionary(pattern=SORTS)
    core = make_language_model(dictionary, "m,o,n,p,k", fresh_symbols="odd=3,even=2").float()
    texts = Model([core]).complete(["o p"], 4, 30, search=SearchOptions(nbest=4))[0]
    new = {t for text in (texts.text, *texts.others) for t in text.split() if t.isalpha()}
    assert new - {"xor"} <= set("mnopk")


def test_each_kind_of_model_has_its_own_question():
    with pytest.raises(UserError, match="let it complete prompts"):
        build().answer(["& a b"])
    with pytest.raises(UserError, match="only a language model completes"):
        Model([make_model(make_dictionary())]).complete(["& a b"])
    with pytest.raises(TypeError, match="a list of texts"):
        build().complete("& a b")
    with pytest.raises(UserError, match="batch_size is a whole number"):
        build().complete(["a"], batch_size=0)
    with pytest.raises(UserError, match="no source to be as long as"):
        build().complete(["a"], search=SearchOptions(match_source_len=True))


def test_an_ensemble_votes():
    one, other = build(), build()
    both = Model([one.core, other.core]).complete(PROMPTS, 3, 8)
    assert [answer.score for answer in both] != [a.score for a in one.complete(PROMPTS, 3, 8)]
