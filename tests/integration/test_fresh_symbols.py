"""Answers with symbols that their sources lack, through fairseq's commands."""

import re
from types import SimpleNamespace

import pytest
from command_line import generate, interactive, preprocess, printed, train

from examples.binding.terms import terms
from sit_fairseq.datasets.pair_files import write_pairs
from sit_fairseq.errors import UserError

SYMBOLS = "[a-ei-z][0-9]?"  # f, g and h are functions
SHORT = ("--beam", 3, "--max-len-a", 1, "--max-len-b", 4)


@pytest.fixture(scope="module")
def binding(tmp_path_factory) -> SimpleNamespace:
    """Terms with their A-normal form, and a model that writes bindings, right or wrong."""
    root = tmp_path_factory.mktemp("binding")
    write_pairs(str(root / "train"), terms(200, 42, (1, 3), (0, 2), 2))
    write_pairs(str(root / "test"), terms(12, 7, (1, 3), (1, 1), 2))
    data = preprocess(
        root / "bin",
        *("--trainpref", root / "train", "--validpref", root / "test"),
        *("--testpref", root / "test"),
    )
    options = ("--max-tokens", 400, "--encoder-positions", "rope", "--no-epoch-checkpoints")
    model = train(
        *(data, root / "model", *options, "--fresh-symbols", 2, "--max-update", 40),
        *("--validate-semantics", "alpha", "--validate-samples", 4),
        *("--best-checkpoint-metric", "correct", "--maximize-best-checkpoint-metric"),
        symbols=SYMBOLS,
    )
    return SimpleNamespace(root=root, data=data, model=model, options=options)


def fresh_of(source, answer):
    own = source.split()
    new = dict.fromkeys(token for token in answer.split() if token not in own)
    return [token for token in new if re.fullmatch(SYMBOLS, token)]


def answers(out):
    """Each source with each of its answers."""
    return [(sentence.source, text) for sentence in printed(out) for text in sentence.answers]


def test_generation_names_what_sources_lack(binding, capsys):
    options = ("--nbest", 3, "--scoring", "semantic", "--semantics", "alpha", *SHORT)
    names = "z,y,x,w,v,u"
    generate(binding.data, binding.model, *options, "--fresh-names", names)
    found = answers(capsys.readouterr().out)
    assert len(found) == 36
    for source, answer in found:
        free = [name for name in names.split(",") if name not in source.split()]
        fresh = fresh_of(source, answer)
        assert fresh == free[: len(fresh)]
    assert any(fresh_of(*pair) for pair in found)


def test_typed_lines(binding, tmp_path, capsys):
    """Names that were typed before are no names of fresh symbols for that."""
    lines = ["f ( q1 , q2 )", "f ( g ( a ) )", "f ( f )", "f ( g ( q3 ) )"]
    interactive(binding.data, binding.model, lines, tmp_path, *SHORT)
    found = answers(capsys.readouterr().out)
    assert [source for source, _ in found] == lines
    assert {name for pair in found for name in fresh_of(*pair)} <= {"a", "b", "c", "d"} | set(
        re.findall(r"\b[a-z]\b", (binding.root / "bin" / "dict.src.txt").read_text())
    )
    few = ("--fresh-names", "a,b", *SHORT)
    with pytest.raises(UserError, match="1 of 4 lines"):
        interactive(binding.data, binding.model, lines, tmp_path, *few)
    assert "leaves names for 1 of the 2 fresh symbols" in capsys.readouterr().out


def test_names_are_saved_with_the_model(binding, tmp_path, capsys):
    """Another command need not repeat them, and may give others."""
    options = (*binding.options, "--fresh-symbols", 2, "--fresh-names", "q1,q2,q3,q4,q5")
    model = train(
        *(binding.data, tmp_path / "named", *options, "--finetune-from-model", binding.model),
        *("--lr", 0, "--max-update", 1),
        symbols=SYMBOLS,
    )
    for given, names in (((), {"q1", "q2"}), (("--fresh-names", "x,y,z,u,v,w"), set("xyzuvw"))):
        capsys.readouterr()
        generate(binding.data, model, *SHORT, *given)
        found = {name for pair in answers(capsys.readouterr().out) for name in fresh_of(*pair)}
        assert found and found <= names
