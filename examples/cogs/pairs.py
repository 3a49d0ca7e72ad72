"""COGS as pairs of files, in which symbols carry their sort.

    python -m examples.cogs.pairs DATA outputs/cogs/data

reads the token-removal form of COGS and writes two folders of pairs such as

    The cookie/N 1 was lended 3 to Liam/P .
    * cookie/N 1 ; lend . theme 3 1 AND lend . recipient 3 Liam/P

The logical forms of training tell which tokens are symbols: a capitalised one that stands in the
sentence, too, is a name; a predicate of a variable alone, or one with a preposition, is a noun.
A variable is the place of a word, so the place follows each word that may have a variable.
In the folder `recombined` training also has sentences made of phrases of others.
"""

from collections import Counter
from pathlib import Path
from random import Random
from typing import List, NamedTuple, Set

from examples.cogs.recombine import Recombiner, parse, written
from examples.public_files import read_public
from examples.script import run
from sit_fairseq.datasets.pair_files import write_pairs
from sit_fairseq.storage.files import replacing

CATEGORIES = "gen.categories"  # a line for each pair of the generalisation set
# Of each category the first so many are measured: whole, they would take longer than the trainings.
MEASURED = {"test": 1000, "gen": 200}
REPEATED = 10  # times that training has each of its sentences that teach a word or stand alone
RECOMBINED = 6000  # new sentences


class Example(NamedTuple):
    """A sentence, its logical form and its category."""

    sentence: List[str]
    form: List[str]
    category: str


def read_examples(folder: Path, name: str) -> List[Example]:
    """The examples of a split, in the token-removal form."""
    lines = read_public(folder, f"{name}.token_removal.tsv").splitlines()
    rows = [line.split("\t") for line in lines]
    return [Example(sentence.split(), form.split(), kind) for sentence, form, kind in rows]


def first_of_each(examples: List[Example], most: int) -> List[Example]:
    """The first examples of each category, at most so many."""
    seen: Counter = Counter()
    kept = []
    for example in examples:
        seen[example.category] += 1
        if seen[example.category] <= most:
            kept.append(example)
    return kept


def find_nouns(examples: List[Example]) -> Set[str]:
    """The nouns that logical forms show: `cookie 1`, `cookie . nmod`, `LAMBDA a . cookie a`."""
    nouns = set()
    for _, form, _ in examples:
        if form[:1] == ["LAMBDA"] and len(form) == 5:
            nouns.add(form[3])
        for before, token, *after in zip(["AND", *form], form, form[1:], [*form[2:], ""]):
            if before in ("AND", "*", ";") and (after[0].isdigit() or after == [".", "nmod"]):
                nouns.add(token)
    return nouns


def find_names(examples: List[Example]) -> Set[str]:
    """The names, which sentence and logical form have alike."""
    both = {token for sentence, form, _ in examples for token in sentence if token in form}
    return {token for token in both if token.istitle()}


def find_placed(examples: List[Example]) -> Set[str]:
    """The words in lower case that a variable stands for, or that are a whole sentence; names too."""
    placed = set()
    for sentence, form, _ in examples:
        words = [sentence[int(token)] for token in form if token.isdigit()]
        placed.update(map(str.lower, words or (sentence if len(sentence) == 1 else ())))
    return placed


def find_rare(examples: List[Example]) -> List[Example]:
    """The sentences of one word, and those with a word that no other sentence has."""
    seen = Counter(word for row in examples for word in {word.lower() for word in row.sentence})
    return [
        row
        for row in examples
        if len(row.sentence) == 1 or any(seen[word.lower()] == 1 for word in row.sentence)
    ]


def recombine(examples: List[Example], nouns: Set[str], names: Set[str]) -> List[Example]:
    """New sentences made of phrases of the examples, the same at each call."""
    parsed = [parse(row.sentence, row.form, names) for row in examples]
    recombiner = Recombiner([one for one in parsed if one is not None], nouns, names)
    draw = Random(1)
    drawn = [written(recombiner.draw(draw), names) for _ in range(RECOMBINED)]
    return [Example(sentence, form, "recombined") for sentence, form in drawn]


def main(data: Path, out: Path) -> None:
    """Writes the pairs of all splits, and the categories, to ``sentences`` and ``recombined``.

    Left out are the few sentences with a word that training lacks.
    """
    examples = {name: read_examples(data, name) for name in ("train", "dev", "test", "gen")}
    nouns, names = find_nouns(examples["train"]), find_names(examples["train"])
    placed = find_placed(examples["train"]) - {name.lower() for name in names}
    words = {word.lower() for row in examples["train"] for word in row.sentence}
    for name, rows in examples.items():
        known = [row for row in rows if words.issuperset(map(str.lower, row.sentence))]
        examples[name] = first_of_each(known, MEASURED.get(name, len(known)))

    def mark(token: str) -> str:
        """A token with the sort of its symbol."""
        if token.lower() in nouns:
            return f"{token.lower()}/N"
        return f"{token}/P" if token in names else token

    def source(sentence: List[str]) -> str:
        """A sentence whose symbols have their sort and whose words have their place."""
        return " ".join(
            f"{mark(word)} {place}" if word.lower() in placed else mark(word)
            for place, word in enumerate(sentence)
        )

    train = examples["train"] + (REPEATED - 1) * find_rare(examples["train"])
    more = train + recombine(examples["train"], nouns, names)
    for folder, rows in ((out / "sentences", train), (out / "recombined", more)):
        for name, split in {**examples, "train": rows}.items():
            pairs = [(source(row.sentence), " ".join(map(mark, row.form))) for row in split]
            write_pairs(str(folder / name), pairs)
        with replacing(str(folder / CATEGORIES)) as (file,):
            file.writelines(f"{row.category}\n" for row in examples["gen"])


if __name__ == "__main__":
    run(main)
