"""Trains a translator further on messages with placeholders, and measures it as measure.py does.

    python -m examples.placeholders.tuning MODELS DIRECTION PER_NUMBER UPDATES OUT

One model learns with a row for each placeholder, another with one of five names for each, drawn anew
for each message. Messages of training have one to three placeholders; two of them in one line make the
lines of four and five.
"""

import copy
import random
from functools import partial
from pathlib import Path
from typing import Callable, Iterator, List, Tuple

import torch

from examples.placeholders.measure import HEAD, batches, named, renamed, row, sets, words
from examples.placeholders.messages import PLACEHOLDER, Message
from examples.placeholders.student import load
from examples.script import run
from sit_fairseq.rows import Names
from sit_fairseq.storage.files import replacing

BATCH, RATE, MOST = 16, 1e-4, 5
NAMES = ("Pedro", "David", "Maria", "Paulo", "Carlos")
OTHERS = ("Smith", "Thomas", "London", "Peter", "John")

Lines = Tuple[str, str]


def lines(messages: List[Message], side: int, draw: random.Random) -> Iterator[Lines]:
    """Sources and references for ever, with as many of each number of placeholders; equal arguments
    have one name, ``%(v0)s``, ``%(v1)s``, ..."""
    by_number = {number: [m for m in messages if m.number == number] for number in (1, 2, 3)}
    while True:
        number = draw.randint(1, MOST)
        parts = [number] if number <= 3 else [number - 2, 2]
        found: List[Lines] = []
        for message in (draw.choice(by_number[part]) for part in parts):
            start, keys = sum(len(PLACEHOLDER.findall(one)) for one, _ in found), message.keys[side]
            texts = []
            for text, own in zip(message.sides, message.keys):
                names = iter(f"%(v{start + keys.index(key)})s" for key in own)
                texts.append(PLACEHOLDER.sub(lambda _: next(names), text))
            found.append((texts[side], texts[1 - side]))
        source, reference = (" ".join(texts) for texts in zip(*found))
        yield source, reference


def with_names(draw: random.Random, pair: Lines) -> Lines:
    """A source and its reference with five names, drawn anew, for the placeholders of both."""
    names = draw.sample(NAMES, MOST)
    source, reference = (PLACEHOLDER.sub(lambda m: names[int(m.group()[3:-2])], t) for t in pair)
    return source, reference


def tune(model: Names, parameters, pairs: Iterator[Lines], updates: int) -> None:
    """Trains a model on so many batches of lines."""
    optimizer = torch.optim.Adam(parameters, lr=RATE)
    for number in range(updates):
        some = sorted((next(pairs) for _ in range(BATCH)), key=lambda pair: len(pair[0]))
        loss = model.loss(*map(list, zip(*some)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if number % 20 == 0:
            print(f"{number} updates, loss {loss.item():.3f}", flush=True)


def main(models: Path, direction: str, per_number: int, updates: int, out: Path) -> None:
    torch.set_num_threads(1)
    (folder,) = models.glob(f"{direction}-*")
    model, tokenizer = load(folder)
    side = int(direction == "pten")
    test, tried, messages = sets(side, per_number)
    pair = words(Names(model, tokenizer, r"(?!)"), tried)
    found: List[str] = []

    def tuned(pattern, change: Callable[[Lines], Lines]) -> Names:
        own = copy.deepcopy(model)
        names = Names(own, tokenizer, pattern, *pair)
        drawn = lines(messages, side, random.Random(1))
        tune(names, own.parameters(), map(change, drawn), updates)
        return names

    def measured(name: str, way, other) -> None:
        text, seconds = row(name, way, other, test)
        found.append(f"{text} {seconds:.0f} s |")
        print(found[-1], flush=True)

    by_name = tuned(r"(?!)", partial(with_names, random.Random(2)))
    first, second = (named(batches(by_name), names) for names in (NAMES, OTHERS))
    measured("a name for each", first, second)
    measured("other names", second, first)
    rows = tuned(PLACEHOLDER, lambda pair: pair)
    for name, once in (("streams", False), ("streams, forced", True)):
        way = batches(rows, once=once)
        measured(name, way, renamed(way))
    with replacing(out) as (file,):
        print(f"{len(test)} messages, {direction}, {updates} updates of {BATCH}", file=file)
        print(f"\n| way | {HEAD}\n| --- | --- | --- | ---: | ---: | ---: | ---: |", file=file)
        print(*found, sep="\n", file=file)


if __name__ == "__main__":
    run(main)
