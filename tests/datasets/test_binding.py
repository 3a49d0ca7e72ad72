"""The generator of nested applications and their A-normal forms."""

from pathlib import Path
from random import Random

import pytest
from command_line import sit

from sit_fairseq.datasets.binding import BindingRecipe, draw_pair, names_in, normal_form, term
from sit_fairseq.errors import UserError

NAMES = tuple("abcdeijklmnopqrstuvwxyz")


def test_inner_applications_are_computed_first_and_from_left_to_right():
    application = ("f", [("g", ["a", ("h", ["b"])]), "a", ("h", ["a"])])
    assert " ".join(term(application)) == "f ( g ( a , h ( b ) ) , a , h ( a ) )"
    bindings, value = normal_form(application, iter("xyz"))
    assert " ".join(bindings) == "let x = h b ; let y = g a x ; let z = h a ;"
    assert " ".join(value) == "f y a z"


def substituted(target):
    """The term that an A-normal form stands for."""
    *bindings, value = [part.split() for part in target.split(";")]
    bound = {}

    def application(tokens):
        inside = " , ".join(bound.get(token, token) for token in tokens[1:])
        return f"{tokens[0]} ( {inside} )"

    for _, name, _, *tokens in bindings:
        bound[name] = application(tokens)
    return application(value)


def test_pairs_are_what_was_asked_for():
    recipe = BindingRecipe(NAMES, (2, 5), (1, 3), 3, 1)
    rng = Random(1)
    seen = set()
    for _ in range(2000):
        source, target = draw_pair(rng, recipe)
        variables = names_in(source.split())
        binders = [name for name in names_in(target.split()) if name not in variables]
        assert substituted(target) == source
        assert binders == [name for name in NAMES if name not in variables][: len(binders)]
        assert target.count("let") == len(binders)
        assert max(len(part.split()) - 1 for part in target.replace("=", ";").split(";")) <= 3
        seen.add((len(variables), len(binders)))
    assert seen == {(v, b) for v in range(2, 6) for b in range(1, 4)}


def test_terms_with_all_the_variables_there_is_room_for():
    recipe = BindingRecipe(tuple(f"v{number}" for number in range(70)), (55, 55), (5, 5), 10, 1)
    source, target = draw_pair(Random(1), recipe)
    assert len(names_in(source.split())) == 55 and target.count("let") == 5
    assert substituted(target) == source


def test_files_and_exclusion(tmp_path, capsys):
    options = ("--variables", 1, "--binders", 0, "--arguments", 2)
    # f, g or h of one or two times the variable
    sit("generate", "binding", tmp_path / "all", *options, "--size", 6)
    lines = Path(tmp_path / "all.src").read_text().splitlines()
    assert len(set(lines)) == 6 and len({line.split()[0] for line in lines}) == 3
    more = (*options, "--variables", "1-2", "--exclude", tmp_path / "all", "--size", 3)
    sit("generate", "binding", tmp_path / "new", *more)
    assert {len(names_in(x.split())) for x in open(tmp_path / "new.src")} == {2}
    assert "3 terms in" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options, message",
    [
        (["--variables", "0-2"], "--variables 0-2: give a number from 1 on"),
        (["--binders", "3-2"], "--binders 3-2"),
        (["--symbols", "a,f", "--variables", "1", "--binders", "0"], "'f' is a word of the terms"),
        (["--symbols", "a,b"], "up to 7 different names, but --symbols has 2"),
        (["--arguments", "0"], "--arguments 0"),
        (["--variables", "5", "--arguments", "2"], "0 binders has room for 2, fewer than 5"),
    ],
)
def test_mistakes_are_told(tmp_path, options, message):
    with pytest.raises(UserError, match=message):
        sit("generate", "binding", tmp_path / "x", "--size", 5, *options)
    assert list(tmp_path.iterdir()) == []
