"""Nested applications with their A-normal form, in which inner ones have names.

    python -m examples.binding.terms outputs/binding/data

writes DIR/train.src, DIR/train.tgt and so on, lines such as

    f ( g ( a , b ) , h ( a ) )
    let c = g a b ; let d = h a ; f c d

Variables are drawn among all names; binders are the first names that the term lacks.
"""

from random import Random
from typing import Dict, Iterable, Iterator, List, Set, Tuple, Union

from examples.script import run
from sit_fairseq.datasets.pair_files import Pair, write_pairs
from sit_fairseq.symbols.canonical_form import form_key
from sit_fairseq.symbols.pattern import SymbolPattern

FUNCTIONS = ("f", "g", "h")
NAMES = "abcdeijklmnopqrstuvwxyz"
PATTERN = SymbolPattern("[a-ei-z]")
# Pairs, seed, different variables, inner applications, most arguments, and the splits of which no
# term is a renaming. The tables of README.md measure on the longer terms too.
SPLITS = {
    "train": (100000, 1, (1, 4), (0, 3), 4, []),
    "valid": (500, 2, (1, 4), (0, 3), 4, ["train"]),
    "test": (1000, 3, (1, 4), (0, 3), 4, ["train", "valid"]),
    "variables": (1000, 4, (5, 10), (3, 3), 4, []),
    "binders": (1000, 5, (1, 4), (4, 6), 3, []),
    "both": (1000, 6, (5, 10), (4, 6), 3, []),
    "control": (100000, 1, (1, 4), (0, 6), 3, ["test", "binders", "both"]),
}
# Shapes with room for almost as many variables as possible are too rare to wait for.
MOST_DRAWS = 1000

Range = Tuple[int, int]
# A function with its arguments, each an application or a variable.
Application = Tuple[str, List[Union["Application", str]]]


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


def draw_shape(rng: Random, binders: int, arguments: int) -> List[Tuple[int, List[int]]]:
    """Draws, for each application from the outermost on, its number of arguments and the later
    applications that are among them."""
    inner: List[List[int]] = [[]]
    for number in range(1, binders + 1):
        room = [outer for outer in inner if len(outer) < arguments]
        rng.choice(room).append(number)
        inner.append([])
    return [(rng.randint(max(1, len(numbers)), arguments), numbers) for numbers in inner]


def draw(rng: Random, variables: Range, binders: Range, arguments: int) -> Pair:
    """Draws a term and its A-normal form."""
    bound = rng.randint(*binders)
    fewest, most = variables
    wanted = rng.randint(fewest, min(most, (bound + 1) * arguments - bound))
    for _ in range(MOST_DRAWS):
        shape = draw_shape(rng, bound, arguments)
        places = sum(number - len(inner) for number, inner in shape)
        if places >= wanted:
            break
    while places < wanted:
        place = rng.choice([p for p, (number, _) in enumerate(shape) if number < arguments])
        shape[place] = (shape[place][0] + 1, shape[place][1])
        places += 1
    chosen = rng.sample(NAMES, wanted)
    leaves = chosen + rng.choices(chosen, k=places - wanted)
    rng.shuffle(leaves)
    applications: Dict[int, Application] = {}
    for place in reversed(range(len(shape))):
        number, inner = shape[place]
        parts: List[Union[Application, str]] = [applications[i] for i in inner]
        parts += [leaves.pop() for _ in range(number - len(inner))]
        rng.shuffle(parts)
        applications[place] = (rng.choice(FUNCTIONS), parts)
    unused = (name for name in NAMES if name not in chosen)
    bindings, value = normal_form(applications[0], unused)
    return " ".join(term(applications[0])), " ".join([*bindings, *value])


def key(text: str) -> int:
    """A key that all renamings of a term share."""
    return form_key(text.split(), PATTERN.symbols(text.split()))


def terms(
    size: int,
    seed: int,
    variables: Range,
    binders: Range,
    arguments: int,
    exclude: Iterable[int] = (),
) -> Iterator[Pair]:
    """Pairs of which none is a renaming of another, nor has a key of ``exclude``."""
    rng, known, found = Random(seed), set(exclude), 0
    while found < size:
        pair = draw(rng, variables, binders, arguments)
        if key(pair[0]) not in known:
            known.add(key(pair[0]))
            found += 1
            yield pair


def main(folder: str) -> None:
    """Writes the splits."""
    keys: Dict[str, Set[int]] = {}
    for split, (*recipe, others) in SPLITS.items():
        pairs = list(terms(*recipe, exclude=set().union(*(keys[other] for other in others))))
        keys[split] = {key(source) for source, _ in pairs}
        write_pairs(f"{folder}/{split}", pairs)


if __name__ == "__main__":
    run(main)
