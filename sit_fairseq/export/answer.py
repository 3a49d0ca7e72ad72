#!/usr/bin/env python3
"""Answers sentences by a model that `sit export --onnx` wrote. Needs numpy and onnxruntime only.

    python answer.py DIR [--beam 3] [--constrained] <sentences

prints one answer a line. With --constrained all answers are well-formed: assignments or traces, as
the tokens of the model say. Symbols are numbered by first appearance (their slots) before anything is
computed, and get their names back at the end: sentences that differ by a renaming get the renamed
answer with the very same score. A line that cannot be answered gives an empty one, its reason on
stderr, and exit status 1 at the end.
"""

import argparse
import json
import os
import re
import sys
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import onnxruntime

FORMATS = 1, 2  # of vocabulary.json; in the second, symbols are of several sorts

# A folder may be a stranger's, and some patterns take for ever to match. Here a sentence is as
# soon read as the folder is: no part in brackets is repeated or has alternatives, but for a first
# (?!...), no more than three characters are repeated, and symbols are short.
SIMPLE_PATTERN = re.compile(r"(\(\?![^()]*\))?[^()]{1,1000}")
REPETITIONS, LONGEST_SYMBOL = 3, 100

DEEPEST = 10_000  # trees

OPERANDS = {"!": 1, **dict.fromkeys(("&", "|", "->", "<->", "xor"), 2)}


def _reason(error):
    """What went wrong, in one line."""
    return f"{type(error).__name__}: {str(error).strip()}".splitlines()[0][:300]


def sorts_of(pattern):
    """The regular expressions of a pattern by the names of their sorts, "" if there is none."""
    lines = pattern.split("\n")
    return dict(re.fullmatch(r"(?:([A-Za-z_]\w*)=(?=.))?(.*)", line).groups("") for line in lines)


class CannotAnswer(ValueError):
    """A sentence that the model cannot read; the message says why."""


@dataclass
class Sentence:
    """What the model reads of a sentence, in which no name is left, and the names."""

    inputs: dict  # of both networks: the slot of each stream, and its sort if there are several
    source: dict  # of the encoder alone: canonical ids, and paths in the tree of a formula
    names: list  # by slot


@dataclass
class Answer:
    """The text of an answer; its score, the log-probability of a token on average."""

    text: str
    score: np.float32


class Assignments:
    """The grammar of ``a 1 c 0``; see Grammar in sit_fairseq/logic/grammars.py.

    A state is the slots that have a value, as bits, and whether the last one waits for it.
    """

    start = (0, False)

    def next(self, state, token):
        """The state after a base token or the slot of a symbol; None if it cannot follow."""
        used, waits = state
        if waits:
            return (used, False) if token in ("0", "1") else None
        if isinstance(token, str) or used >> token & 1:
            return None
        return used | 1 << token, True

    def shortest(self, state):
        """The fewest tokens with which an answer can end."""
        return int(state[1])


class Traces:
    """The grammar of ``a ; & b c ; { 1 }``.

    A state is whether the cycle has begun, how many operands the step waits for, whether it has no
    token so far, and whether the cycle has ended.
    """

    start = (False, 1, True, False)

    def next(self, state, token):
        """The state after a base token or the slot of a symbol; None if it cannot follow."""
        cycle, operands, fresh, ended = state
        if isinstance(token, int) or token in OPERANDS or token in ("0", "1"):
            if ended or not operands:
                return None
            return cycle, operands - 1 + OPERANDS.get(token, 0), False, False
        if token == "{":
            return (True, 1, True, False) if fresh and not cycle else None
        if operands or ended or not (token == ";" or token == "}" and cycle):
            return None
        return (cycle, 1, True, False) if token == ";" else (cycle, 0, False, True)

    def shortest(self, state):
        """The fewest tokens with which an answer can end."""
        cycle, operands, fresh, ended = state
        if ended:
            return 0
        if cycle:
            return operands + 1
        return 3 if fresh else operands + 4  # "{ 1 }", or "; { 1 }" after the operands


GRAMMARS = {"prop": Assignments, "ltl": Traces}


class ExportedModel:
    """A folder with encoder.onnx, decoder.onnx and vocabulary.json.

    ``symbols`` takes the place of the model's own pattern: a line NAME=REGEX for each of several
    sorts.
    """

    def __init__(self, folder, symbols=None):
        try:
            with open(os.path.join(folder, "vocabulary.json"), encoding="utf-8") as file:
                self.vocabulary = json.load(file)
            self._take(folder, self.vocabulary)
        except OSError as error:
            raise SystemExit(f"{folder} is no folder of sit export --onnx ({error.strerror})")
        except Exception as error:  # whatever a damaged file ends in
            raise SystemExit(f"{folder} is damaged ({_reason(error)}); export the model again")
        if symbols is None:
            self._refuse_long_matching(folder)
        pattern = self.symbols if symbols is None else symbols
        own, given = sorts_of(self.symbols), sorts_of(pattern)
        if own.keys() != given.keys() and len(own) + len(given) > 2:
            names = " ".join(f"{name}=REGEX" for name in own)
            raise SystemExit(f"the pattern {pattern!r} is not of the sorts of the model: {names}")
        try:
            ordered = [given[name] for name in own] if len(own) > 1 else given.values()
            self.patterns = list(map(re.compile, ordered))
        except (re.error, RecursionError, OverflowError) as error:
            raise SystemExit(f"the pattern {pattern!r} is not a regular expression: {error}")
        self.needed = lru_cache(maxsize=10_000)(self.needed)

    def _take(self, folder, vocabulary):
        """Reads the files; raises something if they lack anything."""
        if vocabulary["format"] not in FORMATS or vocabulary["fresh_symbols"]:
            raise SystemExit(f"{folder} was exported for another version of answer.py")
        self.tokens, self.symbols = vocabulary["tokens"], str(vocabulary["symbols"])
        self.rows = {token: row for row, token in enumerate(self.tokens) if row > 3}
        self.pad, self.eos = (vocabulary["specials"][name] for name in ("pad", "eos"))
        self.longest_source, self.longest_target = (
            int(vocabulary["longest"][side]) for side in ("source", "target")
        )
        self.one_stream = vocabulary["symbol_embedding"] == "fixed"
        known = vocabulary.get("grammar")
        self.grammar = GRAMMARS[known]() if known is not None and not self.one_stream else None
        self.cross, self.caches = list(vocabulary["cross"]), dict(vocabulary["caches"])
        self.arity, self.depth = {}, 0
        if vocabulary["tree"]:
            self.arity, self.depth = dict(vocabulary["tree"]["arity"]), vocabulary["tree"]["depth"]
        if not 0 <= self.depth <= DEEPEST:
            raise ValueError(f"trees as deep as {self.depth}")
        if not all(0 in shape for shape in self.caches.values()):
            raise ValueError("caches with something in them")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # more would only wait for each other
        self.encoder, self.decoder = (
            onnxruntime.InferenceSession(os.path.join(folder, name), options)
            for name in ("encoder.onnx", "decoder.onnx")
        )

    def _refuse_long_matching(self, folder):
        """Refuses a pattern of the folder that may take long."""
        expressions = sorts_of(self.symbols).values()
        repetitions = [sum(map(e.replace("(?", "").count, "*+?{")) for e in expressions]
        if max(repetitions) > REPETITIONS or not all(map(SIMPLE_PATTERN.fullmatch, expressions)):
            raise SystemExit(
                f"{folder} has the pattern {self.symbols[:80]!r}, which may take for ever; say what "
                "is a symbol by --symbols, with the same pattern if you trust it"
            )

    def read(self, line):
        """Takes the names away: base tokens become their rows, symbols V + slot."""
        words = line.split()
        if not words:
            raise CannotAnswer("the sentence is empty")
        if len(words) >= self.longest_source:
            raise CannotAnswer(f"{len(words)} tokens are more than {self.longest_source - 1}")
        names, ids, sorts = [], [], []
        for word in words:
            if word in self.rows:
                ids.append(self.rows[word])
            elif len(word) > LONGEST_SYMBOL:
                raise CannotAnswer(f"{word[:20]!r}... has more than {LONGEST_SYMBOL} characters")
            elif not any(found := [bool(sort.fullmatch(word)) for sort in self.patterns]):
                raise CannotAnswer(f"{word!r} is no symbol and no token that the model knows")
            elif sum(found) > 1:
                raise CannotAnswer(f"{word!r} is of several sorts")
            elif self.one_stream:
                raise CannotAnswer(f"the model has no embedding for {word!r}")
            else:
                if word not in names:
                    names.append(word)
                    sorts.append(found.index(True))
                ids.append(len(self.tokens) + names.index(word))
        slots = list(range(len(names))) or [-1]  # one anonymous stream if there are no symbols
        source = {"tokens": np.array([*ids, self.eos])}
        if self.depth:
            source["tree"] = self.tree(words)
        inputs = {"slots": np.array(slots)}
        if len(self.patterns) > 1 and not self.one_stream:
            inputs["sorts"] = np.array(sorts or [0])
        return Sentence(inputs, source, names)

    def tree(self, words):
        """The path from each token of a prefix formula up to the root: 0 for a step from a first
        operand, 1 from a second one, -1 beyond the root and for </s>."""
        paths = np.full((len(words) + 1, self.depth), -1)
        waiting = [[[], 0, 1]]  # operators without all their operands: path, how many, of how many
        for row, word in enumerate(words):
            if not waiting:
                raise CannotAnswer(f"the formula is complete after token {row}, but more follow")
            parent, number, _ = waiting[-1]
            # As when the model was trained, the model reads the nearest steps alone.
            path = [min(number, 1), *parent][: self.depth] if row else []
            paths[row, : len(path)] = path
            waiting[-1][1] += 1
            waiting.append([path, 0, self.arity.get(word, 0)])
            while waiting and waiting[-1][1] == waiting[-1][2]:
                waiting.pop()
        if waiting:
            raise CannotAnswer("the formula ends too early: operands are missing")
        return paths

    def answer(self, line, beam=3, lenpen=1.0, max_length=200, constrained=False):
        """The best answer to a sentence of space-separated tokens; see the options of main()."""
        if constrained and self.grammar is None:
            raise CannotAnswer("the model does not say which answers are well-formed (its domain)")
        sentence = self.read(line)
        ids, score = self.search(sentence, beam, lenpen, max_length, constrained)
        words = [*self.tokens, *sentence.names]
        return Answer(" ".join(words[token] for token in ids), score)

    def token(self, column):
        """What a grammar calls a column: a base token, or the slot of a symbol."""
        return self.tokens[column] if column < len(self.tokens) else int(column) - len(self.tokens)

    def needed(self, state, columns):
        """(columns,) the fewest tokens of an answer from each one on, </s> not counted."""
        needed = np.full(columns, np.inf)
        for column in range(columns):
            after = self.grammar.next(state, self.token(column))
            if after is not None:
                needed[column] = 1 + self.grammar.shortest(after)
        needed[self.eos] = np.inf if self.grammar.shortest(state) else 0
        return needed

    def rule_out(self, log_probabilities, states, step, longest):
        """Makes impossible what may not come next: an empty answer, more than the longest, and
        what a grammar, in the state of each row, does not allow."""
        columns = log_probabilities.shape[1]
        log_probabilities[:, self.pad] = -np.inf
        for row, state in zip(log_probabilities, states):
            row[self.needed(state, columns) > longest - step] = -np.inf
        others = np.arange(columns) != self.eos
        if step == longest:
            log_probabilities[:, others] = -np.inf
        elif step == 0 and log_probabilities[:, others].max() > -np.inf:  # no answer is empty
            log_probabilities[:, self.eos] = -np.inf

    def search(self, sentence, beam, lenpen, max_length, constrained):
        """Beam search over canonical ids, as in sit_fairseq/search/beam_search.py.

        It goes on while an unfinished hypothesis may still come to the best score: its
        log-probability of now, divided as for the length that favours it most.
        """
        memory = self.encoder.run(None, {**sentence.inputs, **sentence.source})
        constant = {f"memory_{kind}": part for kind, part in zip(self.cross, memory)}
        streams = len(sentence.inputs["slots"])
        cache_names = [f"cache_{kind}" for kind in self.caches]
        caches = [
            np.zeros([1, *(streams if size == "S" else size for size in shape)], np.float32)
            for shape in self.caches.values()
        ]
        longest = min(max_length, self.longest_target - 1)
        states = [self.grammar.start] if constrained else []
        if constrained and self.grammar.shortest(states[0]) > longest:
            raise CannotAnswer(f"no well-formed answer has at most {longest} tokens")
        hypotheses, scores = [[]], np.zeros(1, np.float32)
        finished = []
        for step in range(longest + 1):
            last = [hypothesis[-1] if hypothesis else self.eos for hypothesis in hypotheses]
            log_probabilities, *caches = self.decoder.run(
                None,
                {
                    "tokens": np.array(last),
                    "position": np.array(step),
                    **sentence.inputs,
                    **constant,
                    **dict(zip(cache_names, caches)),
                },
            )
            self.rule_out(log_probabilities, states, step, longest)
            totals = scores[:, None] + log_probabilities
            order = np.argsort(-totals, axis=None, kind="stable")[: 2 * beam]
            found = [(*divmod(place, totals.shape[1]), totals.flat[place]) for place in order]
            found = [candidate for candidate in found if candidate[2] > -np.inf]
            ended = [candidate for candidate in found[:beam] if candidate[1] == self.eos]
            alive = [candidate for candidate in found if candidate[1] != self.eos][:beam]
            for parent, _, total in ended:
                finished.append((total / np.float32((step + 1) ** lenpen), hypotheses[parent]))
            finished = sorted(finished, key=lambda hypothesis: -hypothesis[0])[:beam]
            if not alive:
                break
            if ended and len(finished) == beam:
                possible = max(alive[0][2] / length**lenpen for length in (step + 2, longest + 1))
                if beam == 1 or possible <= finished[0][0]:
                    break
            parents = [parent for parent, _, _ in alive]
            hypotheses = [[*hypotheses[parent], token] for parent, token, _ in alive]
            scores = np.array([total for _, _, total in alive], np.float32)
            caches = [cache[parents] for cache in caches]
            if constrained:
                states = [self.grammar.next(states[p], self.token(t)) for p, t, _ in alive]
        score, ids = finished[0]
        return ids, score


def main():
    """Answers the lines of the standard input."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", metavar="DIR", help="of `sit export --onnx`")
    parser.add_argument("--beam", type=int, default=3, help="1 is greedy decoding (default: 3)")
    parser.add_argument("--lenpen", type=float, default=1.0, help="exponent of the length")
    parser.add_argument("--max-length", type=int, default=200, help="tokens of an answer, at most")
    parser.add_argument("--constrained", action="store_true", help="well-formed answers alone")
    help_ = "what is a symbol (default: as trained); of several sorts NAME=REGEX for each"
    parser.add_argument("--symbols", nargs="+", metavar="REGEX", help=help_)
    parser.add_argument("--scores", action="store_true", help="print the score before the answer")
    args = parser.parse_args()
    if args.beam < 1 or args.max_length < 1:
        parser.error("--beam and --max-length must be at least 1")
    model = ExportedModel(args.folder, args.symbols and "\n".join(args.symbols))
    status = 0
    sys.stdin.reconfigure(errors="backslashreplace")  # bytes that are no text
    for number, line in enumerate(sys.stdin, start=1):
        try:
            limits = (args.beam, args.lenpen, args.max_length)
            answer = model.answer(line, *limits, args.constrained)
            text = f"{answer.score!s}\t{answer.text}" if args.scores else answer.text
        except CannotAnswer as error:
            print(f"line {number}: {error}", file=sys.stderr)
            text, status = "", 1
        except Exception as error:  # whatever networks of strangers end in
            sys.exit(f"{args.folder} cannot be used ({_reason(error)}); export the model again")
        print(text, flush=True)
    sys.exit(status)


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:  # as in `answer.py DIR | head`: nobody reads any further
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)  # as a shell says it
