"""The models in checkpoints/: intact, loadable without executing anything, and able."""

import hashlib
import re

import pytest
import sentencepiece
import torch
from command_line import ROOT
from conftest import needs_spot
from domains.planning.problems import DOMAINS, PROBLEMS, writer
from generated import generate, read

from examples.binding.terms import terms
from examples.entities.sentences import UNSEEN, sentences
from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.domains.planning.solving import ModelActions, PlanSearch, solve
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.model import Model
from sit_fairseq.search.hypotheses import SearchOptions

CHECKPOINTS = ROOT / "checkpoints"

FIVE = "examples.planning.five:DOMAIN"

# What each model is asked: pairs, or the kind of data with options of its generation.
QUESTIONS = {
    "prop": ("prop", "--max-length", 9),
    "converted": ("prop", "--symbols", 3, "--max-length", 6),
    "ltl": ("ltl", "--max-length", 8),
    "copy": ("copy", "--symbols", 8, "--min-length", 1, "--max-length", 12),
    "binding": list(terms(10, 42, (1, 3), (0, 3), 3)),
    "planning": (FIVE, "--sizes", "blocksworld=3"),
    "entities": list(sentences(10, 42, UNSEEN, 1, 4)),
}
SEMANTICS = {"converted": "prop", "planning": FIVE, "binding": "alpha", "entities": "exact"}
MODELS = [pytest.param(name, marks=[needs_spot] * (name == "ltl")) for name in QUESTIONS]


def test_every_folder_is_tested():
    assert {path.parent.name for path in CHECKPOINTS.glob("*/model.pt")} == set(QUESTIONS)


@pytest.mark.parametrize("name", QUESTIONS)
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


def test_a_problem_of_each_domain_of_planning_is_solved_within_twenty_states():
    ask = ModelActions(Model.load(str(CHECKPOINTS / "planning")), 3)
    tasks = [writer(*item) for item in PROBLEMS.items()]
    found = dict(solve(ask, tasks, PlanSearch(budget=20)))
    assert len(found) == len(DOMAINS)
    assert [list(PROBLEMS)[place] for place, one in found.items() if one.plan is None] == []
