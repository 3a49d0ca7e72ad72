"""Nested applications with their A-normal form, drawn at random.

``sit generate binding --help`` says what the data are.
"""

from collections import Counter
from itertools import repeat
from random import Random
from typing import Dict, Iterator, List, NamedTuple, Sequence, Tuple, Union

from sit_fairseq.datasets.drawing import Drawn, excluded_keys, unique_pairs
from sit_fairseq.datasets.pair_files import Pair, write_pairs
from sit_fairseq.errors import UserError
from sit_fairseq.logic.syntax import read_sentences

FUNCTIONS = ("f", "g", "h")
_WORDS = {*FUNCTIONS, "(", ",", ")", "let", "=", ";"}

# Shapes with almost all the room for variables that there can be are too rare to wait for.
_MOST_DRAWS = 1000

# A function with its arguments, each an application or a variable.
Application = Tuple[str, List[Union["Application", str]]]


class BindingRecipe(NamedTuple):
    """What the terms depend on.

    Attributes:
        names: of variables and binders.
        variables: the fewest and the most different variables of a term.
        binders: the fewest and the most applications within another.
        arguments: most arguments of an application.
        seed: the same one brings the same terms.
    """

    names: Tuple[str, ...]
    variables: Tuple[int, int]
    binders: Tuple[int, int]
    arguments: int
    seed: int


def names_in(tokens: Sequence[str]) -> List[str]:
    """The variables and binders of a sentence, each once, in order of first appearance."""
    return list(dict.fromkeys(token for token in tokens if token not in _WORDS))


def term(application: Application) -> Iterator[str]:
    """The tokens of ``f ( g ( a , b ) , h ( a ) )``."""
    function, arguments = application
    yield from (function, "(")
    for number, argument in enumerate(arguments):
        if number:
            yield ","
        yield from (argument,) if isinstance(argument, str) else term(argument)
    yield ")"


def normal_form(application: Application, binders: Iterator[str]) -> Tuple[List[str], List[str]]:
    """The two parts of ``let x = g a b ; let y = h a ; f x y``.

    Args:
        application: the term.
        binders: names for the values of the applications in it, which are computed from left to
            right, inner ones first.

    Returns:
        The tokens of the bindings, and those of what remains of the term itself.
    """
    function, arguments = application
    bindings, values = [], [function]
    for argument in arguments:
        if not isinstance(argument, str):
            inner, value = normal_form(argument, binders)
            argument = next(binders)
            bindings += [*inner, "let", argument, "=", *value, ";"]
        values.append(argument)
    return bindings, values


def draw_shape(rng: Random, binders: int, arguments: int) -> List[Tuple[int, List[int]]]:
    """Draws which application is within which.

    Args:
        rng: source of randomness.
        binders: how many are within another.
        arguments: most of an application.

    Returns:
        For each application, the outermost first, the number of its arguments and the later
        applications that are among them.
    """
    inner: List[List[int]] = [[]]
    for number in range(1, binders + 1):
        room = [outer for outer in inner if len(outer) < arguments]
        rng.choice(room).append(number)
        inner.append([])
    return [(rng.randint(max(1, len(numbers)), arguments), numbers) for numbers in inner]


def draw_pair(rng: Random, recipe: BindingRecipe) -> Pair:
    """Draws a term, with its A-normal form.

    Args:
        rng: source of randomness.
        recipe: what to draw.

    Returns:
        The two, tokens separated by spaces. Binders are the first names that the term lacks.
    """
    fewest, most = recipe.variables
    binders = rng.randint(*recipe.binders)
    wanted = rng.randint(fewest, min(most, _room(recipe, binders)))
    for _ in range(_MOST_DRAWS):
        shape = draw_shape(rng, binders, recipe.arguments)
        places = sum(number - len(inner) for number, inner in shape)
        if places >= wanted:
            break
    while places < wanted:
        place = rng.choice([p for p, (number, _) in enumerate(shape) if number < recipe.arguments])
        shape[place] = (shape[place][0] + 1, shape[place][1])
        places += 1
    chosen = rng.sample(recipe.names, wanted)
    variables = chosen + rng.choices(chosen, k=places - wanted)
    rng.shuffle(variables)
    applications: Dict[int, Application] = {}
    for place in reversed(range(len(shape))):
        number, inner = shape[place]
        arguments: List[Union[Application, str]] = [applications[i] for i in inner]
        arguments += [variables.pop() for _ in range(number - len(inner))]
        rng.shuffle(arguments)
        applications[place] = (rng.choice(FUNCTIONS), arguments)
    source = list(term(applications[0]))
    bindings, value = normal_form(
        applications[0], (name for name in recipe.names if name not in chosen)
    )
    return " ".join(source), " ".join([*bindings, *value])


def generate_binding(
    recipe: BindingRecipe, size: int, exclude: Sequence[str], prefix: str
) -> Drawn:
    """Generates a data set.

    Args:
        recipe: what to draw.
        size: number of pairs.
        exclude: files, or prefixes of pairs of files, of whose sources no term may be a renaming.
        prefix: names the files ``PREFIX.src`` and ``PREFIX.tgt``.

    Returns:
        How many pairs were written and left out.

    Raises:
        UserError: that cannot be done, or a file cannot be used.
    """
    _check(recipe, size)
    excluded = excluded_keys(exclude, read_sentences, names_in)
    rng = Random(recipe.seed)
    drawn = (draw_pair(rng, recipe) for _ in repeat(None))
    skipped: Counter = Counter()
    lengths = write_pairs(prefix, unique_pairs(drawn, size, excluded, skipped, names_in))
    return Drawn(lengths, skipped)


def _check(recipe: BindingRecipe, size: int) -> None:
    wrong = [name for name in recipe.names if name in _WORDS]
    if wrong:
        raise UserError(f"--symbols {','.join(recipe.names)}: {wrong[0]!r} is a word of the terms")
    if size < 1 or recipe.arguments < 1:
        raise UserError(f"--size {size} --arguments {recipe.arguments}: both must be at least 1")
    most = recipe.variables[1] + recipe.binders[1]
    if most > len(recipe.names):
        raise UserError(
            f"--variables and --binders ask for up to {most} different names, but --symbols has "
            f"{len(recipe.names)}; give more"
        )
    room = _room(recipe, recipe.binders[0])
    if recipe.variables[0] > room:
        raise UserError(
            f"--variables: a term of {recipe.binders[0]} binders has room for {room}, fewer than "
            f"{recipe.variables[0]}; ask for fewer, or raise --binders or --arguments"
        )


def _room(recipe: BindingRecipe, binders: int) -> int:
    """The most variables of a term with so many binders."""
    return (binders + 1) * recipe.arguments - binders
