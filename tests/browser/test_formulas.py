"""The page's reader and grammar, run by node, against those of the package."""

import json
import random
import subprocess
from pathlib import Path

from sit_fairseq.domains import find
from sit_fairseq.domains.formulas.syntax import CONSTANTS
from sit_fairseq.domains.prop.propositional import OPERATORS, random_formula

PAGE = Path(__file__).parents[2] / "examples" / "playground" / "formulas.js"

_SCRIPT = """
import {{ readFileSync }} from "node:fs";
import * as page from "{page}";
const ask = {function};
const attempt = (given) => {{ try {{ return ask(given); }} catch (error) {{ return error.message; }} }};
console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(attempt)));
"""


def node(function, asked):
    """What a function of JavaScript says to each argument, or the message of its error."""
    script = _SCRIPT.format(page=PAGE.as_uri(), function=function)
    command = ["node", "--input-type=module", "--eval", script]
    given = json.dumps(asked)
    result = subprocess.run(command, input=given, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_symbols_of_a_formula_are_numbered_by_first_appearance():
    rng = random.Random(1)
    words = [random_formula(rng, rng.randint(1, 25), "abcde", OPERATORS) for _ in range(200)]
    expected = []
    for formula in words:
        names = list(dict.fromkeys(word for word in formula if word in "abcde"))
        tokens = [names.index(word) if word in names else word for word in formula]
        expected.append({"tokens": tokens, "names": names})
    assert node("page.readFormula", list(map(" ".join, words))) == expected


def test_the_grammar_is_that_of_the_package():
    rng, grammar = random.Random(8), find("prop").grammar()
    alphabet = [*OPERATORS, *CONSTANTS, "<unk>", 0, 1, 2]
    asked = []
    for _ in range(500):
        tokens, state = [], grammar.start()
        while state is not None and len(tokens) < 12:
            following = [token for token in alphabet if grammar.next(state, token) is not None]
            tokens.append(rng.choice(following or alphabet))
            state = grammar.next(state, tokens[-1])
        asked.append([*tokens[:-1], rng.choice(alphabet)] if rng.random() < 0.5 else tokens)

    def needed(tokens):
        state, found = grammar.start(), []
        for token in tokens:
            state = grammar.next(state, token)
            if state is None:
                return [*found, None]
            found.append(grammar.shortest(state))
        return found

    script = """(tokens) => {
        const found = [];
        let state = page.assignments.start;
        for (const token of tokens) {
            state = page.assignments.next(state, token);
            if (!state) return [...found, null];
            found.push(page.assignments.shortest(state));
        }
        return found;
    }"""
    assert node(script, asked) == list(map(needed, asked))
