"""The models in checkpoints/: intact, loadable without executing anything, and able."""

import hashlib
import re

import pytest
import sentencepiece
import torch
from command_line import ROOT
from conftest import needs_spot
from domains.planning.problems import PROBLEMS, problem
from generated import generate, read

from examples.binding.terms import terms
from examples.entities.sentences import UNSEEN, sentences
from examples.planning.problems import text_of
from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.domains.planning import learnt
from sit_fairseq.domains.planning.matching import match
from sit_fairseq.domains.planning.pddl_files import read_problem
from sit_fairseq.domains.planning.sentences import Writer
from sit_fairseq.domains.planning.solving import ModelActions, PlanSearch, solve
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.model import Model
from sit_fairseq.search.hypotheses import SearchOptions

CHECKPOINTS = ROOT / "checkpoints"

# What each model is asked: pairs, or the kind of data with options of its generation.
QUESTIONS = {
    "prop": ("prop", "--max-length", 9),
    "converted": ("prop", "--symbols", 3, "--max-length", 6),
    "ltl": ("ltl", "--max-length", 8),
    "copy": ("copy", "--symbols", 8, "--min-length", 1, "--max-length", 12),
    "binding": list(terms(10, 42, (1, 3), (0, 3), 3)),
    "entities": list(sentences(10, 42, UNSEEN, 1, 4)),
}
SEMANTICS = {"converted": "prop", "binding": "alpha", "entities": "exact"}
FOLDERS = [*QUESTIONS, "planning"]
MODELS = [pytest.param(name, marks=[needs_spot] * (name == "ltl")) for name in QUESTIONS]


def test_every_folder_is_tested():
    assert {path.parent.name for path in CHECKPOINTS.glob("*/model.pt")} == set(FOLDERS)


@pytest.mark.parametrize("name", FOLDERS)
def test_files_are_those_of_the_card_small_and_without_a_path_of_a_machine(name):
    data = (CHECKPOINTS / name / "model.pt").read_bytes()
    assert hashlib.sha256(data).hexdigest() in (CHECKPOINTS / name / "README.md").read_text()
    assert len(data) < 8 * 2**20
    state = torch.load(CHECKPOINTS / name / "model.pt", weights_only=True)
    assert {t.dtype for t in state["model"].values() if t.dim() > 1} == {torch.float16}
    files = [path for path in (CHECKPOINTS / name).rglob("*") if path.is_file()]
    assert len(files) >= 4
    for path in files:
        assert not re.search(rb"/(root|home|tmp|Users|work)/", path.read_bytes()), path


@pytest.mark.parametrize("name", MODELS)
def test_ten_questions_are_answered_correctly(name, tmp_path):
    asked = QUESTIONS[name]
    if isinstance(asked, tuple):
        kind, *options = asked
        asked = list(zip(*read(generate(kind, tmp_path / "x", "--size", 10, *options))))
    questions, references = zip(*asked)
    model, judge = Model.load(CHECKPOINTS / name), make_judge(SEMANTICS.get(name, name))
    pieces, given = CHECKPOINTS / name / "spm.model", questions
    if pieces.exists():
        processor = sentencepiece.SentencePieceProcessor(model_file=str(pieces))
        given = [" ".join(processor.encode(question, out_type=str)) for question in questions]
    options = SearchOptions(max_len_a=2, max_len_b=20)
    answers = [answer.text for answer in model.answer(given, search=options)]
    if pieces.exists():
        answers = [processor.decode(answer.split()) for answer in answers]
    problems = judge.problems(questions, references, model.symbols)
    verdicts = dict(zip(questions, map(judge.verify, problems, answers)))
    assert len(verdicts) == 10
    assert set(verdicts.values()) == {Verdict.satisfied}, verdicts


# Those of the learning track beside the five.
MORE = {
    "ferry": problem(
        "car a b, location x y z", "at a x, at b y, at-ferry z, empty-ferry", "at a y, at b x"
    ),
    "miconic": problem(
        "passenger a b, floor f g h",
        "above f g, above g h, above f h, origin a f, destin a h, origin b h, destin b g, lift-at g",
        "served a, served b",
    ),
    "satellite": problem(
        "satellite s, direction d e, instrument i, mode m",
        "on_board i s, supports i m, calibration_target i d, pointing s e, power_avail s",
        "have_image e m",
    ),
    "spanner": problem(
        "man m, spanner s t, nut n, location a b c",
        "at m a, at s b, at t b, usable s, usable t, loose n, at n c, link a b, link b c",
        "tightened n",
    ),
    "transport": problem(
        "vehicle v, package p q, size s t, location a b c",
        "road a b, road b a, road b c, road c b, at v b, at p a, at q c, capacity v t, "
        "capacity-predecessor s t",
        "at p c, at q b",
    ),
}


def test_a_problem_of_each_domain_of_planning_is_solved_within_twenty_states():
    model, tasks = Model.load(str(CHECKPOINTS / "planning")), {}
    known = learnt.read(str(CHECKPOINTS / "planning"))
    for name, asked in {**PROBLEMS, **MORE}.items():
        (domain,) = (one.read for one in known if one.read.domain.name == name)
        found = match(read_problem(text_of(name, asked), name, domain), name, known)
        tasks[name] = Writer(found.learnt, found.domain, found.problem, model.base_tokens)
    solved = dict(solve(ModelActions(model), list(tasks.values()), PlanSearch(budget=20)))
    assert len(solved) == len(known) == 10
    assert [list(tasks)[place] for place, one in solved.items() if one.plan is None] == []
