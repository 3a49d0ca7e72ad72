#!/usr/bin/env python3
"""Answers sentences by a model that `sit export --onnx` wrote. Needs numpy and onnxruntime only.

    python answer.py DIR [--beam 3] <sentences

prints one answer a line. Symbols are numbered by first appearance (their slots) before anything is
computed, and get their names back at the end: sentences that differ by a renaming get the renamed
answer with the very same score. A line that cannot be answered gives an empty one, its reason on
stderr, and exit status 1 at the end.
"""

import argparse
import json
import re
import sys
from collections import namedtuple

import numpy as np
import onnxruntime


class CannotAnswer(ValueError):
    """A sentence that the model cannot read; the message says why."""


# A score is the log-probability of a token on average.
Answer = namedtuple("Answer", "text score")


def sorts_of(pattern):
    """The regular expression of each sort, by the name of the sort; a sort without a name has ""."""
    lines = pattern.split("\n")
    return dict(re.fullmatch(r"(?:([A-Za-z_]\w*)=(?=.))?(.*)", line).groups("") for line in lines)


class ExportedModel:
    """A folder with encoder.onnx, decoder.onnx and vocabulary.json, one of your own.

    ``symbols`` takes the place of the model's own pattern: a line NAME=REGEX for each of several
    sorts.
    """

    def __init__(self, folder, symbols=None):
        with open(f"{folder}/vocabulary.json", encoding="utf-8") as file:
            self.vocabulary = vocabulary = json.load(file)
        self.tokens = vocabulary["tokens"]
        self.rows = {token: row for row, token in enumerate(self.tokens) if row > 3}
        self.pad, self.eos = (vocabulary["specials"][name] for name in ("pad", "eos"))
        self.longest = vocabulary["longest"]
        self.one_stream = vocabulary["symbol_embedding"] == "fixed"
        self.cross, self.caches = vocabulary["cross"], vocabulary["caches"]
        tree = vocabulary["tree"] or {"arity": {}, "depth": 0}
        self.arity, self.depth = tree["arity"], tree["depth"]
        own = sorts_of(vocabulary["symbols"])
        given = own if symbols is None else sorts_of(symbols)
        if own.keys() != given.keys() and len(own) + len(given) > 2:
            raise SystemExit("--symbols has to name " + " ".join(f"{name}=REGEX" for name in own))
        ordered = [given[name] for name in own] if len(own) > 1 else given.values()
        self.patterns = list(map(re.compile, ordered))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # more would only wait for each other
        self.encoder, self.decoder = (
            onnxruntime.InferenceSession(f"{folder}/{name}.onnx", options)
            for name in ("encoder", "decoder")
        )

    def read(self, line):
        """Takes the names away: base tokens become their rows, symbols V + slot.

        Returns the inputs of both networks (the slot of each stream, its sort if there are several),
        those of the encoder alone (the ids, and paths in the tree of a formula), and names by slot.
        """
        words = line.split()
        if not words:
            raise CannotAnswer("the sentence is empty")
        if len(words) >= self.longest["source"]:
            raise CannotAnswer(f"{len(words)} tokens are more than {self.longest['source'] - 1}")
        names, ids = {}, []  # the sort of each symbol
        for word in words:
            if word in self.rows:
                ids.append(self.rows[word])
                continue
            sorts = [n for n, sort in enumerate(self.patterns) if sort.fullmatch(word)]
            if not sorts:
                raise CannotAnswer(f"{word[:99]!r} is no symbol and no token that the model knows")
            if len(sorts) > 1:
                raise CannotAnswer(f"{word!r} is of several sorts")
            if self.one_stream:
                raise CannotAnswer(f"the model has no embedding for {word!r}")
            names[word] = sorts[0]
            ids.append(len(self.tokens) + list(names).index(word))
        source = {"tokens": np.array([*ids, self.eos])}
        if self.depth:
            source["tree"] = self.tree(words)
        # One anonymous stream if there are no symbols.
        inputs = {"slots": np.array(list(range(len(names))) or [-1])}
        if len(self.patterns) > 1 and not self.one_stream:
            inputs["sorts"] = np.array(list(names.values()) or [0])
        return inputs, source, list(names)

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

    def answer(self, line, beam=3, max_length=200):
        """The best answer to a sentence of space-separated tokens; see the options of main()."""
        inputs, source, names = self.read(line)
        memory = self.encoder.run(None, {**inputs, **source})
        inputs.update((f"memory_{kind}", part) for kind, part in zip(self.cross, memory))
        ids, score = self.search(inputs, beam, min(max_length, self.longest["target"] - 1))
        return Answer(" ".join([*self.tokens, *names][token] for token in ids), score)

    def search(self, given, beam, longest):
        """Beam search over canonical ids, as in sit_fairseq/search/beam_search.py.

        It goes on while an unfinished hypothesis may still come to the best score: its
        log-probability of now, divided as for the length that favours it most.
        """
        streams = len(given["slots"])
        shapes = [[streams if n == "S" else n for n in shape] for shape in self.caches.values()]
        caches = [np.zeros([1, *shape], np.float32) for shape in shapes]
        hypotheses, scores, finished = [[]], np.zeros(1, np.float32), []
        for step in range(longest + 1):
            given.update((f"cache_{kind}", cache) for kind, cache in zip(self.caches, caches))
            last = np.array(
                [hypothesis[-1] if hypothesis else self.eos for hypothesis in hypotheses]
            )
            given.update(tokens=last, position=np.array(step))
            log_probabilities, *caches = self.decoder.run(None, given)
            self.rule_out(log_probabilities, hypotheses, step, longest)
            totals = scores[:, None] + log_probabilities
            order = np.argsort(-totals, axis=None, kind="stable")[: 2 * beam]
            found = [(*divmod(place, totals.shape[1]), totals.flat[place]) for place in order]
            found = [candidate for candidate in found if candidate[2] > -np.inf]
            ended = [candidate for candidate in found[:beam] if candidate[1] == self.eos]
            alive = [candidate for candidate in found if candidate[1] != self.eos][:beam]
            for parent, _, total in ended:
                finished.append((total / np.float32(step + 1), hypotheses[parent]))
            finished = sorted(finished, key=lambda hypothesis: -hypothesis[0])[:beam]
            if not alive:
                break
            if ended and len(finished) == beam:
                possible = max(alive[0][2] / length for length in (step + 2, longest + 1))
                if beam == 1 or possible <= finished[0][0]:
                    break
            parents = [parent for parent, _, _ in alive]
            hypotheses = [[*hypotheses[parent], token] for parent, token, _ in alive]
            scores = np.array([total for _, _, total in alive], np.float32)
            caches = [cache[parents] for cache in caches]
        return finished[0][::-1]

    def rule_out(self, log_probabilities, hypotheses, step, longest):
        """Makes impossible what may not come next: an empty answer, and more than the longest. A
        subclass may rule out more, by the tokens of the hypotheses."""
        log_probabilities[:, self.pad] = -np.inf
        others = np.arange(log_probabilities.shape[1]) != self.eos
        if step == longest:
            log_probabilities[:, others] = -np.inf
        elif step == 0 and log_probabilities[:, others].max() > -np.inf:
            log_probabilities[:, self.eos] = -np.inf


def main():
    """Answers the lines of the standard input."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", metavar="DIR", help="of `sit export --onnx`")
    parser.add_argument("--beam", type=int, default=3, help="1 is greedy decoding (default: 3)")
    parser.add_argument("--max-length", type=int, default=200, help="tokens of an answer, at most")
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
            answer = model.answer(line, args.beam, args.max_length)
            text = f"{answer.score!s}\t{answer.text}" if args.scores else answer.text
        except CannotAnswer as error:
            print(f"line {number}: {error}", file=sys.stderr)
            text, status = "", 1
        print(text, flush=True)
    sys.exit(status)


if __name__ == "__main__":
    main()
