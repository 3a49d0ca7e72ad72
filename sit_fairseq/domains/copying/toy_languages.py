"""Three toy languages: strings to copy, sentences about entities, and nested applications."""

from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from random import Random
from typing import Dict, Iterator, List, Optional, Sequence, Set, Tuple, Union

from sit_fairseq.datasets.pair_files import Pair
from sit_fairseq.datasets.recipes import Recipe, draw_pairs, write_unique
from sit_fairseq.domains.formulas.sampling import (
    StringSampler,
    SymbolRangeSampler,
    feasible_lengths,
)
from sit_fairseq.domains.formulas.syntax import formula_symbols
from sit_fairseq.errors import UserError

# Another number changes the data of a seed.
STRINGS_PER_CHUNK = 1000


def generate_copies(recipe: Recipe) -> Counter:
    """Generates strings to be copied, all of one length as likely; a UserError if there are too
    few."""
    sampler = None
    if recipe.distinct_symbols:
        sampler = SymbolRangeSampler(StringSampler(recipe.symbols), *recipe.distinct_symbols)
    lengths = feasible_lengths(recipe.min_length, recipe.max_length, sampler)
    draw = partial(_draw_string, recipe.symbols, lengths, sampler)
    return write_unique(recipe, draw_pairs(recipe, draw, STRINGS_PER_CHUNK), formula_symbols)


def _draw_string(
    symbols: Sequence[str], lengths: List[int], sampler: Optional[SymbolRangeSampler], rng: Random
) -> Pair:
    length = rng.choice(lengths)
    line = " ".join(sampler.draw(rng, length) if sampler else rng.choices(symbols, k=length))
    return line, line


# Ways to say an event, with its formal notation; A, B and C are distinct entities.
_EVENTS: List[Tuple[List[str], str]] = [
    (["A met B in C", "in C , A met B"], "meet ( A , B , C )"),
    (["A called B", "B was called by A"], "call ( A , B )"),
    (["A gave B to C", "A gave C B", "B was given to C by A"], "give ( A , B , C )"),
    (["A visited B", "B was visited by A"], "visit ( A , B )"),
    (["A sold B to C", "C bought B from A"], "sell ( A , B , C )"),
    (["A did not like B", "B was not liked by A"], "not ( like ( A , B ) )"),
    (["A slept"], "sleep ( A )"),
]
# Ways to join two events X and Y.
_JOINS: List[Tuple[List[str], str]] = [
    (["X before Y", "Y after X", "after X , Y"], "before ( X , Y )"),
    (["Y because X", "X , therefore Y"], "cause ( X , Y )"),
    (["X while Y"], "while ( X , Y )"),
]
_MOST_ENTITIES = 6
# All words that are no entities.
_ENGLISH = {
    word
    for forms, meaning in (*_EVENTS, *_JOINS)
    for text in (*forms, meaning)
    for word in text.split()
} - set("ABCXY")


def entities(tokens: Sequence[str]) -> List[str]:
    """Lists the entities of a sentence or of its meaning, in order of first appearance."""
    return list(dict.fromkeys(token for token in tokens if token not in _ENGLISH))


def _draw_sentence(rng: Random, joined: bool, names: Sequence[str]) -> Pair:
    """Draws a sentence of two joined events or of one, and its meaning."""
    if joined:
        forms, meaning = rng.choice(_JOINS)
        parts = {part: _draw_sentence(rng, False, names) for part in "XY"}
    else:
        forms, meaning = rng.choice(_EVENTS)
        parts = dict(zip("ABC", ((name, name) for name in rng.sample(names, 3))))
    sentence = " ".join(parts[t][0] if t in parts else t for t in rng.choice(forms).split())
    return sentence, " ".join(parts[t][1] if t in parts else t for t in meaning.split())


def generate_entities(recipe: Recipe) -> Counter:
    """Generates English sentences about entities with their meaning in a formal notation; a
    UserError if there are too few."""
    names = recipe.symbols
    _check_names(names, _ENGLISH)
    fewest, most = recipe.distinct_symbols or (1, _MOST_ENTITIES)
    if len(names) < 3 or fewest > min(len(names), _MOST_ENTITIES):
        raise UserError(
            f"a sentence has at most {_MOST_ENTITIES} of at least three entities, not {fewest} of "
            f"{len(names)}",
            "symbols distinct_symbols",
        )
    rng = Random(recipe.seed)
    drawn = (_draw_sentence(rng, rng.random() < 0.8, names) for _ in repeat(None))
    fitting = (pair for pair in drawn if fewest <= len(entities(pair[0].split())) <= most)
    return write_unique(recipe, fitting, entities)


def _check_names(names: Sequence[str], words: Set[str]) -> None:
    """Refuses names that a language has for something else."""
    for word in sorted(words.intersection(names)):
        raise UserError(f"{word!r} is a word of the language", "symbols")


FUNCTIONS = ("f", "g", "h")
_NOTATION = {*FUNCTIONS, "(", ",", ")", "let", "=", ";"}

# Shapes with room for almost as many variables as possible are too rare to wait for.
_MOST_DRAWS = 1000

# A function with its arguments, each an application or a variable.
Application = Tuple[str, List[Union["Application", str]]]


@dataclass
class BindingRecipe(Recipe):
    """What nested applications depend on.

    Attributes:
        variables: fewest and most different variables of a term.
        binders: fewest and most inner applications of a term.
        arguments: most arguments of an application.
    """

    variables: Tuple[int, int] = (1, 4)
    binders: Tuple[int, int] = (0, 3)
    arguments: int = 3

    def room(self, binders: int) -> int:
        """The most variables of a term with so many binders."""
        return (binders + 1) * self.arguments - binders


def names_in(tokens: Sequence[str]) -> List[str]:
    """The variables and binders of a sentence, in order of first appearance."""
    return list(dict.fromkeys(token for token in tokens if token not in _NOTATION))


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
    """The tokens of ``let x = g a b ; let y = h a ;`` and of the remaining ``f x y``.

    ``binders`` are names for the values of inner applications, computed from left to right and from
    the inside out.
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


def _draw_shape(rng: Random, binders: int, arguments: int) -> List[Tuple[int, List[int]]]:
    """Draws, for each application from the outermost on, its number of arguments and the later
    applications that are among them."""
    inner: List[List[int]] = [[]]
    for number in range(1, binders + 1):
        room = [outer for outer in inner if len(outer) < arguments]
        rng.choice(room).append(number)
        inner.append([])
    return [(rng.randint(max(1, len(numbers)), arguments), numbers) for numbers in inner]


def draw_binding(recipe: BindingRecipe, rng: Random) -> Pair:
    """Draws a term, with its A-normal form, whose binders are the first names the term lacks."""
    binders = rng.randint(*recipe.binders)
    fewest, most = recipe.variables
    wanted = rng.randint(fewest, min(most, recipe.room(binders)))
    for _ in range(_MOST_DRAWS):
        shape = _draw_shape(rng, binders, recipe.arguments)
        places = sum(number - len(inner) for number, inner in shape)
        if places >= wanted:
            break
    while places < wanted:
        place = rng.choice([p for p, (number, _) in enumerate(shape) if number < recipe.arguments])
        shape[place] = (shape[place][0] + 1, shape[place][1])
        places += 1
    chosen = rng.sample(recipe.symbols, wanted)
    variables = chosen + rng.choices(chosen, k=places - wanted)
    rng.shuffle(variables)
    applications: Dict[int, Application] = {}
    for place in reversed(range(len(shape))):
        number, inner = shape[place]
        arguments: List[Union[Application, str]] = [applications[i] for i in inner]
        arguments += [variables.pop() for _ in range(number - len(inner))]
        rng.shuffle(arguments)
        applications[place] = (rng.choice(FUNCTIONS), arguments)
    unused = (name for name in recipe.symbols if name not in chosen)
    bindings, value = normal_form(applications[0], unused)
    return " ".join(term(applications[0])), " ".join([*bindings, *value])


def generate_binding(recipe: BindingRecipe) -> Counter:
    """Generates nested applications with their A-normal form; a UserError if there are too few."""
    _check_names(recipe.symbols, _NOTATION)
    most, room = recipe.variables[1] + recipe.binders[1], recipe.room(recipe.binders[0])
    if most > len(recipe.symbols):
        raise UserError(f"terms need up to {most} names, not {len(recipe.symbols)}", "symbols")
    if recipe.variables[0] > room:
        raise UserError(
            f"a term of {recipe.binders[0]} binders has room for {room} variables, not "
            f"{recipe.variables[0]}",
            "variables binders arguments",
        )
    rng = Random(recipe.seed)
    pairs = (draw_binding(recipe, rng) for _ in repeat(None))
    return write_unique(recipe, pairs, names_in)
