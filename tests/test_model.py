"""A model by itself: it answers as fairseq does, in any order of batches, threads and processes."""

import copy
import os
import pickle
import threading

import numpy
import pytest
import torch
from conftest import PACKAGE, make_dictionary, make_model, redraw
from moody import PickyJudge

from sit_fairseq.errors import UserError
from sit_fairseq.judging.equality_judges import ExactJudge
from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.judging.workers import _Worker
from sit_fairseq.model import Model
from sit_fairseq.search.hypotheses import SearchOptions

CHECKPOINTS = PACKAGE.parent / "checkpoints"

SENTENCES = ["& a ! b", "! a", "| & a b & c ! d", "xor e f", "<-> a | b ! a", "& & a b c"]


@pytest.fixture(scope="module")
def prop():
    return Model.load(str(CHECKPOINTS / "prop"))


def texts(answers):
    return [(answer.text, answer.score) for answer in answers]


def test_renamed_sentences_get_the_renamed_answers_with_equal_scores(prop):
    names = dict(zip("abcdef", ("x1", "bus_7", "naïve", "F1", "a", "long_name_of_a_signal")))

    def renamed(text):
        return " ".join(names.get(token, token) for token in text.split())

    found = prop.answer(SENTENCES)
    again = prop.answer(list(map(renamed, SENTENCES)))
    assert texts(again) == [(renamed(text), score) for text, score in texts(found)]


def test_answers_come_in_order_whatever_is_left_out_of_a_batch(prop):
    whole = prop.answer(SENTENCES, batch_size=2)
    places = list(prop.answers(SENTENCES, batch_size=2))
    assert [len(batch) for batch in places] == [2, 2, 2]
    skipped, rest = set(places[0]), {}
    for batch in prop.answers(SENTENCES, batch_size=2, skip=skipped):
        rest.update(batch)
    assert rest == {place: whole[place] for place in range(6) if place not in skipped}
    assert [one.text for one in prop.answer(SENTENCES, max_tokens=1)] == [one.text for one in whole]
    assert prop.answer([]) == []


def test_a_sentence_that_cannot_be_answered_has_its_reason(prop):
    reasons = {"": "empty", "& a": "operand", "& a =": "'='", "</s> a": "</s>"}
    reasons["! " * 2000 + "a"] = "1023"
    good, *bad, other = prop.answer(["! a", *reasons, "& a b"])
    assert all(one.text is None and one.score is None for one in bad)
    assert all(word in one.reason for word, one in zip(reasons.values(), bad))
    assert good.text == "a 0" and other.text == "a 1 b 1"


def test_a_token_that_the_pattern_cannot_tell_costs_one_answer():
    dictionary = make_dictionary("ab", ["&"], "table=[a-z]\ncolumn=.?1?x")
    model = Model([redraw(make_model(dictionary))], None)
    good, odd = model.answer(["& a c1x", "& a x"])
    assert good.text is not None and "is of the sorts table and column" in odd.reason
    assert good == model.answer(["& a c1x"])[0]


def test_verified_answers_are_those_that_the_judge_accepts(prop):
    accepted, impossible = prop.answer(["& a ! b", "& a ! a"], beams=(1, 3), verify="prop")
    assert accepted.text == "a 1 b 0" and accepted.reason is None
    assert accepted.verdict is Verdict.satisfied
    assert impossible.verdict is not Verdict.satisfied and "accepted" in impossible.reason


@pytest.fixture
def processes(monkeypatch):
    """The worker processes that were started."""
    started, begin = [], _Worker.__init__

    def note(worker, *given):
        begin(worker, *given)
        started.append(worker.process)

    monkeypatch.setattr(_Worker, "__init__", note)
    return started


def test_a_judge_of_ones_own_decides_and_leaves_no_process_behind(prop, processes):
    """It cannot be hashed. A pool is the caller's, and is used as it is."""
    (best,) = prop.answer(["| a b"])
    judge = PickyJudge(best.text)
    (chosen,) = prop.answer(["| a b"], verify=judge)
    assert chosen.text != best.text and chosen.verdict is Verdict.satisfied
    for batch in prop.answers(["| a b"] * 2, verify=judge, batch_size=1):
        break  # and forgets the others
    del batch
    assert len(processes) == 2 and all(process.poll() is not None for process in processes)
    with JudgePool(judge) as pool:
        assert prop.answer(["| a b"], verify=pool) == [chosen]
        assert processes[-1].poll() is None


class Plain(Judge):
    """All that a judge needs."""

    def verify(self, problem, answer):
        return Verdict.satisfied


def test_a_judge_needs_no_name_and_one_with_references_is_refused_at_once(prop):
    for judge in (Plain(), JudgePool(Plain())):
        assert prop.answer(["! a"], verify=judge)[0].verdict is Verdict.satisfied
    for judge in (ExactJudge(), JudgePool(ExactJudge())):
        with pytest.raises(UserError, match="change verify"):
            prop.answers(["! a"], verify=judge)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_answer_alike_also_after_a_judge_was_asked(copied):
    model = Model.load(CHECKPOINTS / "prop")
    expected = model.answer(SENTENCES, verify="prop")
    copy_of_it = copied(model)
    del model
    assert copy_of_it.answer(SENTENCES, verify="prop") == expected


def test_numbers_of_numpy_are_numbers(prop):
    three, one = numpy.int64(3), numpy.float32(1)
    search = SearchOptions(nbest=three, len_penalty=one, temperature=one, max_len_a=numpy.int8(0))
    assert type(search.nbest) is int and type(search.len_penalty) is float
    options = dict(beams=numpy.array([3]), batch_size=three, max_length=numpy.int32(9))
    found = prop.answer(SENTENCES, search=search, max_tokens=numpy.uint8(200), **options)
    options = dict(batch_size=3, max_length=9, max_tokens=200)
    assert found == prop.answer(SENTENCES, search=SearchOptions(nbest=3), **options)


def test_a_model_that_was_loaded_where_nothing_is_learnt_learns():
    with torch.inference_mode():
        model = Model.load(CHECKPOINTS / "prop")
        answers = model.answer(SENTENCES[:2])
    assert model.answer(SENTENCES[:2]) == answers
    tokens = model.core.vocabulary.dictionary.encode(SENTENCES[:2])
    logits = model.core(tokens, tokens)
    logits[logits.isfinite()].sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.core.parameters())


def test_answers_are_well_formed_under_a_grammar(prop):
    random = Model([redraw(Model.load(str(CHECKPOINTS / "prop")).core)], "prop")
    for grammar in (True, "prop"):
        for answer in random.answer(SENTENCES, beams=(1,), constrained=grammar, max_length=6):
            tokens = answer.text.split()
            assert len(tokens) <= 6 and len(tokens) % 2 == 0
            assert set(tokens[1::2]) <= {"0", "1"}
    with pytest.raises(UserError, match="domain"):
        Model([random.core]).answer(SENTENCES, constrained=True)


def test_names_of_another_form(prop):
    other = Model.load(str(CHECKPOINTS / "prop"), symbols=r"<\d+>")
    (answer,), (expected,) = other.answer(["& <1> ! <22>"]), prop.answer(["& a ! b"])
    assert (answer.text, answer.score) == ("<1> 1 <22> 0", expected.score)
    with pytest.raises(UserError, match="base tokens"):
        Model.load(str(CHECKPOINTS / "prop"), symbols="&")


@pytest.fixture
def one_thread():
    """A fork copies the locks that MKL's own threads hold, and its child would wait for ever."""
    number = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(number)


def test_threads_and_forked_processes_answer_alike(prop, one_thread):
    expected, found = prop.answer(SENTENCES), {}

    def ask(number):
        found[number] = prop.answer(SENTENCES)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    child = os.fork()  # while others answer
    if child == 0:
        status = 1
        try:
            status = int(texts(prop.answer(SENTENCES)) != texts(expected))
        finally:
            os._exit(status)
    for thread in threads:
        thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert all(found[number] == expected for number in range(3))


def test_other_threads_answer_between_two_batches(prop):
    batches = prop.answers(SENTENCES, batch_size=2)
    first, found = next(batches), []
    thread = threading.Thread(target=lambda: found.extend(prop.answer(SENTENCES)), daemon=True)
    thread.start()
    thread.join(20)
    assert found == prop.answer(SENTENCES)
    assert all(found[place].text == one.text for place, one in first.items())


@pytest.mark.parametrize(
    "name, values",
    [
        ("beams", (3, (), (0,), (3.5,), (10**9,), ("a",), (10, 3), (3, 10), (True,), "3,2")),
        ("verify", (5, True, "", "nothing", print, ["prop"], "ltl")),
        ("constrained", (5, "", "nothing", "copying", print, ["prop"])),
        ("max_length", (-1, "9", 2.5, True)),
        ("batch_size", (0, "9", 2.5, True)),
        ("max_tokens", (0, "9")),
    ],
)
def test_an_option_of_another_kind_is_named(prop, name, values):
    for value in values:
        with pytest.raises(UserError, match=name) as error:
            prop.answers(["! a"], **{name: value})  # by the call: nothing is asked for
        assert "\n" not in str(error.value) and "--" not in str(error.value)


@pytest.mark.parametrize(
    "option",
    [
        *(dict(nbest=0), dict(beam=0), dict(beam="3"), dict(beam=True), dict(normalize="no")),
        *(dict(len_penalty=float("nan")), dict(temperature="warm"), dict(temperature=True)),
    ],
)
def test_options_of_a_search_are_numbers(option):
    with pytest.raises(UserError, match=next(iter(option))):
        SearchOptions(**option)


@pytest.mark.parametrize("sentences", ["! a", ["! a", None], [b"! a"], [["!", "a"]], None])
def test_sentences_are_a_list_of_texts(prop, sentences):
    for ask in (prop.answer, prop.answers):
        with pytest.raises(TypeError):
            ask(sentences)


@pytest.mark.parametrize(
    "option",
    [
        dict(symbols=5),
        dict(symbols="("),
        dict(fresh_names=5),
        dict(fresh_names="k,l"),
        dict(device="meta"),
        dict(device="cuda:99"),
    ],
)
def test_an_argument_of_loading_is_named(option):
    (name,) = option
    with pytest.raises(UserError, match=f"change {name}$"):
        Model.load(CHECKPOINTS / "prop", **option)
    with pytest.raises(TypeError):
        Model.load(None)


def of_task(**options):
    return lambda state: state["cfg"]["task"].update(options)


@pytest.mark.parametrize(
    "change",
    [
        of_task(source_lang="/../../evil"),  # which exports would name a file after
        *(of_task(target_lang="a\0"), of_task(source_lang="\ud800"), of_task(domain=[])),
    ],
)
def test_a_file_of_other_options_is_one_sentence(change, tmp_path):
    state = torch.load(CHECKPOINTS / "prop" / "model.pt", weights_only=True)
    change(state)
    torch.save(state, tmp_path / "other", _use_new_zipfile_serialization=False)
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("no model")
    for name in ("other", "nothing", "folder", "text"):
        with pytest.raises(UserError, match=f"^[^\n]*{name}[^\n]*$"):
            Model.load(str(tmp_path / name))
