"""Data of planning: what is drawn, and what is left out."""

import pickle
import re
import shutil
from dataclasses import replace
from random import Random

import pytest
from command_line import sit
from domains.planning.problems import DOMAINS
from generated import generate, read

from examples.planning import overlap, problems
from examples.planning.five import PlanningRecipe, known, read_sentence
from examples.planning.folders import problems_in
from examples.planning.sampling import SAMPLERS
from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.domains.planning import learnt
from sit_fairseq.domains.planning.applicable import applicable
from sit_fairseq.domains.planning.kinds import by_kind
from sit_fairseq.domains.planning.labelling import read_plan, shortened
from sit_fairseq.domains.planning.pddl_files import read_domain, read_problem
from sit_fairseq.domains.planning.sentences import Writer
from sit_fairseq.domains.planning.strips import apply, execute
from sit_fairseq.errors import MalformedFormula, UserError
from sit_fairseq.judging.verdict import Verdict

FIVE = "examples.planning.five:DOMAIN"
BLOCKS = """(define (domain blocks)
  (:predicates (on ?x ?y) (ontable ?x) (clear ?x) (handempty) (holding ?x))
  (:action pick-up :parameters (?x)
    :precondition (and (clear ?x) (ontable ?x) (handempty))
    :effect (and (not (ontable ?x)) (not (clear ?x)) (not (handempty)) (holding ?x)))
  (:action put-down :parameters (?x)
    :precondition (holding ?x)
    :effect (and (not (holding ?x)) (clear ?x) (handempty) (ontable ?x)))
  (:action stack :parameters (?x ?y)
    :precondition (and (holding ?x) (clear ?y))
    :effect (and (not (holding ?x)) (not (clear ?y)) (clear ?x) (handempty) (on ?x ?y)))
  (:action unstack :parameters (?x ?y)
    :precondition (and (on ?x ?y) (clear ?x) (handempty))
    :effect (and (holding ?x) (clear ?y) (not (clear ?x)) (not (handempty)) (not (on ?x ?y)))))"""
TOWER = """(define (problem x) (:domain blocks) (:objects p q)
  (:init (handempty) (ontable q) (on p q) (clear p)) (:goal (and (on q p))))"""


@pytest.fixture
def folder(tmp_path):
    """A problem of two blocks, with its domain in the folder above."""
    (tmp_path / "pddl/set").mkdir(parents=True)
    (tmp_path / "pddl/domain.pddl").write_text(BLOCKS)
    (tmp_path / "pddl/set/instance-1.pddl").write_text(TOWER)
    return tmp_path / "pddl"


def test_labels_are_good_actions_and_sizes_as_asked_for(tmp_path):
    options = ["--sizes", "blocksworld=3,5-6", "gripper=2", "--size", 300]
    sources, targets = read(generate(FIVE, tmp_path / "x", *options))
    judge = make_judge(FIVE)
    assert {judge.verify(*pair) for pair in zip(sources, targets)} == {Verdict.satisfied}
    sizes = {
        (source.split()[0], len(set(re.findall(r"\b(?:block|ball)\d+", source))))
        for source in sources
    }
    assert sizes == {("blocksworld", 3), ("blocksworld", 5), ("blocksworld", 6), ("gripper", 2)}


def test_problems_of_folders_are_left_out(folder, tmp_path):
    options = ["--sizes", "blocksworld=2", "--size", 40, "--workers", 1]
    lengths = []
    for more in ([], ["--without", folder]):
        sources, _ = read(generate(FIVE, tmp_path / "x", *options, *more))
        lengths.append({len(source.split()) for source in sources})
    assert lengths[0] - lengths[1] == {9}  # blocksworld on ? ? ontable ? on? ? ?


def test_folders_are_read_once_however_many_processes_draw(folder):
    recipe = PlanningRecipe(sizes=[("blocksworld", (2,))], without=[str(folder)])
    shutil.rmtree(folder)
    copy = pickle.loads(pickle.dumps(recipe))
    drawn = [copy.draw(Random(seed)) for seed in range(60)]
    assert [] in drawn and any(drawn)


def test_the_domain_of_a_problem_is_the_nearest(folder):
    with pytest.raises(UserError, match="nowhere"):
        list(problems_in(str(folder / "nowhere")))
    ((path, text, domain),) = problems_in(str(folder))
    assert path.name == "instance-1.pddl" and text == TOWER and domain.domain.name == "blocks"
    (folder / "domain.pddl").unlink()
    with pytest.raises(UserError, match="instance-1.pddl has no domain"):
        list(problems_in(str(folder)))


@pytest.mark.parametrize("sizes", ["chess", "gripper=0", "gripper=a", "gripper=5-4"])
def test_sizes_that_are_none_are_said(tmp_path, capsys, sizes):
    with pytest.raises(SystemExit):
        sit("generate", FIVE, tmp_path / "x", "--sizes", sizes)
    assert sizes.partition("=")[0] in capsys.readouterr().err


def as_drawn(name, problem):
    """Writes sentences with the names of objects that a problem was drawn with."""
    return Writer(known()[name], DOMAINS[name], problem, numbered=False)


@pytest.mark.parametrize("name", DOMAINS)
def test_sentences_are_read_as_they_were_written(name):
    """In visitall all but places that were visited and wanted, and places visited otherwise."""
    domain, rng = DOMAINS[name], Random(1)
    draw, sizes = SAMPLERS[name]
    for _ in range(20):
        problem = draw(rng.choice(sizes), rng)
        state = problem.initial
        for _ in range(rng.randrange(8)):
            actions = sorted(applicable(domain, state, problem.sorts))
            state = apply(domain, state, rng.choice(actions))
        read_domain, read = read_sentence(as_drawn(name, problem).sentence(state, rng))
        assert read_domain == domain
        done = {atom for atom in state if atom[0] == "visited"}
        assert (read.goal - done, read.initial - done) == (problem.goal - done, state - done)


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "begins with one of blocksworld"),
        ("blocksworld in block1 block2", "token 2, 'in', begins no atom of blocksworld"),
        ("blocksworld on block1 table", "'table' after 'on' is no object"),
    ],
)
def test_what_is_no_sentence_is_said(text, message):
    with pytest.raises(MalformedFormula, match=message):
        read_sentence(text.split())


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes a few problems of each domain, with plans, and returns what is printed."""

    def write(name, *without):
        counts = dict.fromkeys(SAMPLERS, 8)
        monkeypatch.setattr(problems, "COUNTS", counts)
        problems.main(tmp_path / name, *map(str, without))
        return tmp_path / name

    return write


def test_problems_are_written_with_plans_that_reach_the_goal(written):
    folder = written("x")
    for name, known_domain in known().items():
        domain = read_domain(known_domain.text, name)
        assert (folder / name / "domain.pddl").read_text() == known_domain.text
        paths = sorted((folder / name).glob(f"{name}-*.pddl"))
        assert len(paths) == 8
        for path in paths:
            found = read_problem(path.read_text(), str(path), domain)
            names = {one: one for one in (*domain.domain.operators, *found.problem.sorts)}
            plan = read_plan((folder / "plans" / f"{path.stem}.plan").read_text(), names, names)
            assert plan and execute(*by_kind(found), plan) is None


def test_problems_with_a_state_of_a_test_problem_are_not_written(written, capsys):
    """In other names, and wherever it stands on the way."""
    first = written("x")
    assert "8 problems; 0 were left out" in capsys.readouterr().out
    tests = first.parent / "tests"
    tests.mkdir()
    (tests / "domain.pddl").write_text((first / "blocksworld/domain.pddl").read_text())
    text = (first / "blocksworld/blocksworld-1.pddl").read_text()
    domain = known()["blocksworld"].read
    task = read_problem(text, "p", domain).problem
    names = {one: one for one in (*domain.domain.operators, *task.sorts)}
    plan = read_plan((first / "plans/blocksworld-1.plan").read_text(), names, names)
    later = replace(task, initial=apply(domain.domain, task.initial, plan[0]))
    asked = problems.text_of("blocksworld", later)
    (tests / "p.pddl").write_text(re.sub(r"block(\d)", r"other\1", asked))
    second = written("y", tests)
    assert "blocksworld: 8 problems; 1 were left out" in capsys.readouterr().out
    texts = [(second / f"blocksworld/blocksworld-{n}.pddl").read_text() for n in range(1, 9)]
    assert text not in texts


@pytest.mark.parametrize("name", SAMPLERS)
def test_plans_of_written_problems_have_no_useless_action(name):
    """``sit train planning`` follows them as they are, through the states that were compared."""
    rng, domain = Random(5), known()[name].domain
    for _ in range(40):
        problem, plan, states = problems.drawn(name, rng)
        assert shortened(domain, problem, plan) == plan
        assert states[0] == problem.initial and len(states) == len(plan)
        assert problem.reached(apply(domain, states[-1], plan[-1]))


def test_problems_that_begin_as_a_state_of_training_are_counted(folder, tmp_path, capsys):
    model = tmp_path / "model"
    shutil.copytree("checkpoints/planning/domains", model / "domains")
    (state,) = overlap.first_states(str(folder), learnt.read(str(model)))
    domain, *words = state.split()
    atoms = re.findall(r"\S+(?: [a-z]\d+)*", " ".join(words))
    other = " ".join([domain, *reversed(atoms)]).translate(str.maketrans("12", "87"))
    assert sorted(other) != sorted(state)
    without = other.replace("blocksworld.handempty", "")
    assert without != other
    for text, count in ((other, 1), (other.replace("on?", "on"), 0), (without, 0)):
        (model / "train.src").write_text(f"{text}\n")
        overlap.main(str(model), str(folder))
        assert f"{count} of 1 problems" in capsys.readouterr().out
    with pytest.raises(UserError, match="no train.src"):
        overlap.main(str(tmp_path), str(folder))
