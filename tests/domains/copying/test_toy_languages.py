"""Strings to copy, sentences about entities, and nested applications: what they mean."""

import re
from collections import Counter
from random import Random

import pytest
from generated import forms, generate, read

from sit_fairseq.domains.copying.toy_languages import (
    BindingRecipe,
    draw_binding,
    names_in,
    normal_form,
    term,
)

ENTITY = re.compile(r"<ent\d+>")


def test_strings_are_as_in_the_paper_unless_told_otherwise(tmp_path):
    sources, targets = read(generate("copy", tmp_path / "x", "--size", 6100))
    assert sources == targets
    lengths = Counter(len(line.split()) for line in sources)
    assert set(lengths) == set(range(20, 81))
    assert all(60 < number < 145 for number in lengths.values()), lengths  # 100 +- 4 sigma
    letters = Counter(" ".join(sources).split())
    assert set(letters) == set("abcdefghijklmnopqrst")
    assert max(letters.values()) < 1.1 * min(letters.values())  # about 15000 of each


def test_all_short_strings_come_once(tmp_path):
    options = ["--symbols", "a,b,c", "--min-length", 1, "--max-length", 4, "--size", 22]
    # As many as there are partitions of 1, 2, 3 and 4 places into at most 3 classes.
    assert len(forms(read(generate("copy", tmp_path / "x", *options))[0])) == 1 + 2 + 5 + 14


def test_strings_with_some_number_of_symbols_are_uniform(tmp_path):
    options = ["--symbols", 8, "--min-length", 9, "--max-length", 9, "--size", 1500]
    lines, _ = read(generate("copy", tmp_path / "x", *options, "--distinct-symbols", "3-4"))
    # Of the strings of 9 tokens over 8 symbols 56 * 18150 have three, 70 * 186480 four of them.
    three = sum(len(set(line.split())) == 3 for line in lines) / len(lines)
    assert abs(three - 0.0723) < 4 * (0.0723 * 0.93 / len(lines)) ** 0.5


@pytest.fixture(scope="module")
def meanings(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("entities") / "x"
    return dict(zip(*read(generate("entities", prefix, "--size", 400, "--seed", 3))))


def test_meaning_has_the_entities_of_its_sentence(meanings):
    for source, target in meanings.items():
        entities = [set(ENTITY.findall(side)) for side in (source, target)]
        assert entities[0] == entities[1] and entities[0]
        assert target.count("(") == target.count(")")


def test_order_of_events_and_voices_are_resolved(meanings):
    kinds = set()
    for source, target in meanings.items():
        match = re.fullmatch(r"(<ent.>) was called by (<ent.>) after (<ent.>) slept", source)
        if match:
            called, caller, sleeper = match.groups()
            assert target == f"before ( sleep ( {sleeper} ) , call ( {caller} , {called} ) )"
            kinds.add("after")
        match = re.fullmatch(r"(<ent.>) bought (<ent.>) from (<ent.>)", source)
        if match:
            buyer, thing, seller = match.groups()
            assert target == f"sell ( {seller} , {thing} , {buyer} )"
            kinds.add("bought")
    assert kinds == {"after", "bought"}


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


def recipe(names, variables, binders, arguments):
    options = dict(variables=variables, binders=binders, arguments=arguments)
    return BindingRecipe("", names, 1, 1, **options)


def test_terms_are_what_was_asked_for():
    names = "abcdeijklmnopqrstuvwxyz"
    rng, asked = Random(1), recipe(names, (2, 5), (1, 3), 3)
    seen = set()
    for _ in range(2000):
        source, target = draw_binding(asked, rng)
        variables = names_in(source.split())
        binders = [name for name in names_in(target.split()) if name not in variables]
        assert substituted(target) == source
        assert binders == [name for name in names if name not in variables][: len(binders)]
        assert target.count("let") == len(binders)
        assert max(len(part.split()) - 1 for part in target.replace("=", ";").split(";")) <= 3
        seen.add((len(variables), len(binders)))
    assert seen == {(v, b) for v in range(2, 6) for b in range(1, 4)}


def test_terms_with_all_the_variables_there_is_room_for():
    names = [f"v{number}" for number in range(70)]
    source, target = draw_binding(recipe(names, (55, 55), (5, 5), 10), Random(1))
    assert len(names_in(source.split())) == 55 and target.count("let") == 5
    assert substituted(target) == source


def test_all_terms_of_a_size_come_once(tmp_path):
    options = ("--variables", 1, "--binders", 0, "--arguments", 2, "--size", 6)
    # f, g or h of one or two times the variable
    lines = read(generate("binding", tmp_path / "x", *options))[0]
    assert len(set(lines)) == 6 and len({line.split()[0] for line in lines}) == 3
