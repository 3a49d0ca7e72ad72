"""The models in checkpoints/: intact, loadable without executing anything, and able."""

import hashlib
import re

import pytest
import torch
from command_line import ROOT

from sit_fairseq.judging.judge import make_judge
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.models.symbol_invariant_transformer import SymbolInvariantTransformerModel

CHECKPOINTS = ROOT / "checkpoints"

# Simple ones, and none chosen for the answer that the model gives to it.
QUESTIONS = {
    "prop": [
        *("& a ! b", "| a b", "xor p q", "<-> p q", "! & a b"),
        *("& | a b ! a", "<-> ! a b", "& a & b c", "xor a & b c", "! | x y"),
    ],
    "ltl": [
        *("X a", "& a X b", "U a b", "! a", "U 1 & a b"),
        *("& ! p X p", "X X q", "& & a b c", "U a X b", "! X z"),
    ],
    "copy": [
        *("a", "a b", "a b a", "c c c c", "a b c d e f g h"),
        *("z y x w v", "q q r q", "k l m n k l m n", "b a b a b a b a b a", "o p o o p"),
    ],
}
QUESTIONS["converted"] = QUESTIONS["prop"]
# Terms of at most 4 variables and 3 binders, and one of more variables.
REFERENCES = {
    "binding": {
        "f ( a )": "f a",
        "f ( g ( a ) )": "let x = g a ; f x",
        "g ( a , b , a )": "g a b a",
        "f ( g ( a , b ) , h ( a ) )": "let x = g a b ; let y = h a ; f x y",
        "h ( h ( h ( p ) ) )": "let x = h p ; let y = h x ; h y",
        "f ( p , g ( q ) , p )": "let x = g q ; f p x p",
        "g ( f ( x , y ) , f ( y , x ) )": "let a = f x y ; let b = f y x ; g a b",
        "f ( g ( h ( a ) , b ) , c )": "let x = h a ; let y = g x b ; f y c",
        "f ( g ( a ) , g ( b ) , g ( c ) )": "let x = g a ; let y = g b ; let z = g c ; f x y z",
        "h ( f ( a , b , c ) , d , e , i )": "let x = f a b c ; h x d e i",
    },
    "entities": {
        "<ent0> slept": "sleep ( <ent0> )",
        "<ent7> called <ent5>": "call ( <ent7> , <ent5> )",
        "<ent1> was visited by <ent8>": "visit ( <ent8> , <ent1> )",
        "in <ent2> , <ent3> met <ent1>": "meet ( <ent3> , <ent1> , <ent2> )",
        "<ent60> bought <ent61> from <ent62>": "sell ( <ent62> , <ent61> , <ent60> )",
        "<ent3> slept because <ent1> slept": "cause ( sleep ( <ent1> ) , sleep ( <ent3> ) )",
        "after <ent1> slept , <ent4> called <ent1>": (
            "before ( sleep ( <ent1> ) , call ( <ent4> , <ent1> ) )"
        ),
        "<ent1> gave <ent2> <ent3> while <ent2> slept": (
            "while ( give ( <ent1> , <ent3> , <ent2> ) , sleep ( <ent2> ) )"
        ),
        "<ent9> did not like <ent8> , therefore <ent8> called <ent7>": (
            "cause ( not ( like ( <ent9> , <ent8> ) ) , call ( <ent8> , <ent7> ) )"
        ),
        "<ent1> sold <ent2> to <ent3> before <ent4> was given to <ent5> by <ent6>": (
            "before ( sell ( <ent1> , <ent2> , <ent3> ) , give ( <ent6> , <ent4> , <ent5> ) )"
        ),
    },
}
QUESTIONS.update({name: list(pairs) for name, pairs in REFERENCES.items()})
SEMANTICS = {"converted": "prop", "binding": "alpha", "entities": "exact"}


def test_every_folder_is_tested():
    assert {path.parent.name for path in CHECKPOINTS.glob("*/model.pt")} == set(QUESTIONS)


@pytest.mark.parametrize("name", QUESTIONS)
def test_file_is_the_one_of_its_card_and_small(name):
    data = (CHECKPOINTS / name / "model.pt").read_bytes()
    assert hashlib.sha256(data).hexdigest() in (CHECKPOINTS / name / "README.md").read_text()
    assert len(data) < 8 * 2**20


@pytest.mark.parametrize("name", QUESTIONS)
def test_file_holds_half_precision_weights(name):
    state = torch.load(CHECKPOINTS / name / "model.pt", weights_only=True)
    assert {t.dtype for t in state["model"].values() if t.dim() > 1} == {torch.float16}


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_file_holds_a_path_of_a_machine(name):
    files = list((CHECKPOINTS / name).iterdir())
    assert len(files) >= 4
    for path in files:
        assert not re.search(rb"/(root|home|tmp|Users|work)/", path.read_bytes()), path


def from_pretrained(name):
    """A shipped model, by its folder alone."""
    folder, pieces = str(CHECKPOINTS / name), CHECKPOINTS / name / "spm.model"
    splitting = {"bpe": "sentencepiece", "sentencepiece_model": str(pieces)}
    return SymbolInvariantTransformerModel.from_pretrained(
        folder, "model.pt", folder, **(splitting if pieces.exists() else {})
    )


@pytest.mark.parametrize("name", QUESTIONS)
def test_ten_questions_are_answered_correctly(name):
    model, questions = from_pretrained(name), QUESTIONS[name]
    answers = model.translate(questions, beam=3, max_len_a=2, max_len_b=20)
    judge = make_judge(SEMANTICS.get(name, name))
    references = list(REFERENCES.get(name, {}).values()) or None
    problems = judge.problems(questions, references, model.task.source_dictionary.pattern)
    verdicts = dict(zip(questions, map(judge.verify, problems, answers)))
    assert len(verdicts) == 10
    assert set(verdicts.values()) == {Verdict.satisfied}, verdicts
