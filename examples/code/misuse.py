"""Variable misuse: which local name was meant at a place where one stands again.

    python -m examples.code.misuse outputs/code/data --path MODEL --result R.json

One use of a local name is taken away. Each name that stands before it is put there, and the model
chooses the one that makes the whole function most probable. This is the task of repairing variable
misuse (Allamanis et al. 2018) where the place is known.
"""

from random import Random
from typing import Any, Dict, List, Sequence

from examples.code.measure import main
from examples.code.model import CodeModel
from examples.code.words import PATTERN

FUNCTIONS = 300  # of each test


def problem_of(line: str, rng: Random) -> List[str]:
    """A function with each of the names that may stand at a random use of one, the right name first;
    nothing if there is no choice."""
    words = line.split()
    uses = [
        place
        for place, word in enumerate(words)
        if PATTERN.is_symbol(word)
        and word in words[:place]
        and len(PATTERN.symbols(words[:place])) > 1
    ]
    if not uses:
        return []
    place = rng.choice(uses)
    known = PATTERN.symbols(words[:place])
    names = [words[place], *(name for name in known if name != words[place])]
    return [" ".join([*words[:place], name, *words[place + 1 :]]) for name in names]


def measure_misuse(model: CodeModel, lines: Sequence[str]) -> Dict[str, Any]:
    """How often the model chooses the right name, and how often chance would.

    Args:
        model: says how probable functions are.
        lines: functions, of which the first :data:`FUNCTIONS` with a choice are taken.
    """
    rng = Random(1)
    problems = list(filter(None, (problem_of(line, rng) for line in lines)))[:FUNCTIONS]
    read = iter(model.read([line for problem in problems for line in problem]))
    right = 0
    for problem in problems:
        bits = [sum(word.bits for word in next(read)) for _ in problem]
        right += all(bits[0] < other for other in bits[1:])  # a tie is no answer
    chance = sum(1 / len(problem) for problem in problems)
    number = len(problems)
    return {"number": number, "accuracy": right / number, "chance": chance / number}


if __name__ == "__main__":
    main(lambda model, lines, _: measure_misuse(model, lines), __doc__, ["unseen"])
