"""examples/binding: terms and their A-normal form."""

from random import Random

from examples.binding.terms import NAMES, PATTERN, SPLITS, draw, key, normal_form, term, terms


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


def test_terms_are_what_was_asked_for():
    rng, seen = Random(1), set()
    for _ in range(2000):
        source, target = draw(rng, (2, 5), (1, 3), 3)
        variables = PATTERN.symbols(source.split())
        binders = [name for name in PATTERN.symbols(target.split()) if name not in variables]
        assert substituted(target) == source
        assert binders == [name for name in NAMES if name not in variables][: len(binders)]
        assert target.count("let") == len(binders)
        assert max(len(part.split()) - 1 for part in target.replace("=", ";").split(";")) <= 3
        seen.add((len(variables), len(binders)))
    assert seen == {(v, b) for v in range(2, 6) for b in range(1, 4)}


def test_all_terms_of_a_size_come_once():
    # f, g or h of one or two times the variable
    found = dict(terms(6, 1, (1, 1), (0, 0), 2))
    assert len(found) == 6 and len({source.split()[0] for source in found}) == 3


def test_no_term_is_a_renaming_of_an_excluded_one():
    train = {key(source) for source, _ in terms(500, *SPLITS["train"][1:-1])}
    valid = [key(source) for source, _ in terms(*SPLITS["valid"][:-1], exclude=train)]
    assert len({*train, *valid}) == 1000
