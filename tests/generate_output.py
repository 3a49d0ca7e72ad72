"""Reads what ``fairseq-generate`` prints."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, NamedTuple

_LINE = re.compile(r"([STVHDPI])-(\d+)\t(.*)")


class Hypothesis(NamedTuple):
    """One answer: its score as printed, its text, and its verdict if it was judged or verified."""

    score: str
    text: str
    verdict: str = ""


@dataclass
class Sentence:
    """One source with its reference and its hypotheses, best first."""

    source: str = ""
    target: str = ""
    hypotheses: List[Hypothesis] = field(default_factory=list)
    verdict: str = ""  # of its V- line, and so of the best hypothesis

    @property
    def best(self) -> Hypothesis:
        return self.hypotheses[0]


def read_generate_output(path: str) -> List[Sentence]:
    """The sentences of a run in the order of the data, from a file of what it printed."""
    sentences: Dict[int, Sentence] = {}
    for line in Path(path).read_text(encoding="utf-8").split("\n"):
        match = _LINE.match(line)
        if match is None:
            continue
        kind, number, rest = match.groups()
        first, _, second = rest.partition("\t")
        sentence = sentences.setdefault(int(number), Sentence())
        hypotheses = sentence.hypotheses
        if kind == "S":
            sentence.source = rest
        elif kind == "T":
            sentence.target = rest
        elif kind == "V":
            sentence.verdict = first
        elif kind == "H":
            hypotheses.append(Hypothesis(first, second, "" if hypotheses else sentence.verdict))
        elif kind == "D":  # what a tokenizer or subwords had divided is one again
            hypotheses[-1] = hypotheses[-1]._replace(text=second)
        elif kind == "I":
            hypotheses[-1] = hypotheses[-1]._replace(verdict=rest)
    return [sentences[number] for number in sorted(sentences)]
