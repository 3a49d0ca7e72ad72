"""Shows that exported files compute what the model does."""

import itertools
import os
import random
from typing import Any, Dict, List, Sequence

import numpy
import onnxruntime
import torch
from torch import Tensor, nn

from sit_fairseq.errors import UserError
from sit_fairseq.models.context import EncodedSource
from sit_fairseq.models.transformer import log_probabilities

# Of log-probabilities: both compute in float32, in another order, and logits are as large as 10 or 30.
TOLERANCE = 1e-3

# Short and long sentences, with few symbols and with many, and targets that go on after them.
SENTENCES, LONGEST, SYMBOLS, HYPOTHESES, LONGEST_ANSWER = 40, 24, 8, 3, 30


def _log_probabilities(
    networks: List[Any], said: Dict, source: EncodedSource, tree: Any, targets: Tensor
) -> numpy.ndarray:
    """(K, T, V + S) of the tokens after (K, T) canonical ids, for one sentence, step by step, as a
    program asks encoder and decoder that ``said`` describes."""
    encoder, decoder = networks
    count = source.slots.names.size(1) if said["symbol_embedding"] == "streams" else 0
    given = {"slots": numpy.array(list(range(count)) or [-1])}
    if said["format"] == 2:
        given["sorts"] = source.slots.sorts[0].numpy() if count else numpy.array([0])
    read = {**given, "tokens": source.canonical[0].numpy()}
    if said["tree"] is not None:
        read["tree"] = tree
    memories = encoder.run(None, read)
    given.update((f"memory_{kind}", one) for kind, one in zip(said["cross"], memories))
    size, found = len(given["slots"]), []
    caches = [
        numpy.zeros([len(targets), *(size if n == "S" else n for n in shape)], numpy.float32)
        for shape in said["caches"].values()
    ]
    for step, tokens in enumerate(targets.T.numpy()):
        given.update(tokens=tokens, position=numpy.array(step))
        given.update((f"cache_{kind}", one) for kind, one in zip(said["caches"], caches))
        log_probs, *caches = decoder.run(None, given)
        found.append(log_probs)
    return numpy.stack(found, 1)


def _sentence(rng: random.Random, symbols: Sequence[str], others: Sequence[str], said: Dict) -> str:
    """Draws a sentence that a model reads, a formula where operators have operands."""
    arity = (said["tree"] or {"arity": {}})["arity"]
    length = rng.randint(1, min(LONGEST, said["longest"]["source"] - 1))
    symbols = itertools.cycle(rng.sample(symbols, rng.randint(1, len(symbols))))
    words, missing = [], 1 if arity else length
    while missing:
        operator = rng.choice(list(arity) or [None])
        if operator and len(words) + missing + arity[operator] <= length:
            words.append(operator)
        else:
            other = others and rng.random() < 0.1
            words.append(rng.choice(others) if other else next(symbols))
        missing += arity.get(words[-1], 0) - 1
    return " ".join(words)


@torch.no_grad()
def compare(core: nn.Module, folder: str, description: Dict[str, Any]) -> str:
    """Compares the files in a folder with a model, on the CPU, in float32 and evaluation mode, whose
    symbols have other names afterwards. Returns how far they agree, in words; a UserError if a
    log-probability differs. ``description`` is the content of ``vocabulary.json``."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # more would only wait for each other
    files = (os.path.join(folder, f"{name}.onnx") for name in ("encoder", "decoder"))
    networks = [onnxruntime.InferenceSession(file, options) for file in files]
    vocabulary, rng, draw = core.vocabulary, torch.Generator(), random.Random(1)
    dictionary = vocabulary.dictionary
    known = vocabulary.row_tokens[dictionary.nspecial :]
    names = list(filter(dictionary.is_symbol, known))[:SYMBOLS]
    if not vocabulary.one_stream:
        # Names that no model has for base tokens, of all sorts in turn.
        sorts = dictionary.sorts
        patterns = (rf"{sort}=symbol_of_{n}_\d+".lstrip("=") for n, sort in enumerate(sorts))
        dictionary.set_pattern("\n".join(patterns))
        names = [f"symbol_of_{number % len(sorts)}_{number}" for number in range(SYMBOLS)]
    tree = description["tree"] or {"arity": {}, "depth": 0}
    others = [token for token in known if token not in tree["arity"] and token not in names]
    sentences, largest = [], 0.0
    for _ in range(SENTENCES):
        sentences.append(_sentence(draw, names, others, description))
        tokens, paths = dictionary.encode(sentences[-1:]), None
        source, length = core.encode(tokens), tokens.size(1)
        if tree["depth"]:
            inside = torch.tensor([length - 1])
            steps = core.encoder.embed_positions.prepare(source.canonical, inside)
            paths = numpy.full((length, tree["depth"]), -1)
            paths[:, : steps.size(2)] = steps[0]
        size = HYPOTHESES, min(LONGEST_ANSWER, core.decoder.cfg.max_positions)
        targets = torch.randint(source.slots.num_columns, size, generator=rng)
        targets[:, 0] = dictionary.eos()
        several = source.reorder(torch.zeros(HYPOTHESES, dtype=torch.long))
        expected = log_probabilities(core.decoder(targets, core.memory(several, keeps=False)))
        expected = expected.numpy()
        found = _log_probabilities(networks, description, source, paths, targets)
        # The files have a column for the one stream of a sentence without symbols, too.
        more = found.shape[2] - expected.shape[2]
        expected = numpy.pad(expected, ((0, 0), (0, 0), (0, more)), constant_values=-numpy.inf)
        apart = found != expected  # both may be -inf
        difference = float(numpy.abs(found[apart] - expected[apart]).max(initial=0.0))
        if not difference <= TOLERANCE:
            raise UserError(
                f"the exported files and the model differ by {difference:.1e} for "
                f"{sentences[-1]!r}; nothing was written: this checkpoint cannot be exported"
            )
        largest = max(largest, difference)
    words = list(map(str.split, sentences))
    return (
        f"{SENTENCES} sentences of up to {max(len(set(names) & set(one)) for one in words)} symbols "
        f"and {max(map(len, words))} tokens: log-probabilities differ from the model's by at most "
        f"{largest:.1e}"
    )
