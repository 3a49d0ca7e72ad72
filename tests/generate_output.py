"""Reads what ``fairseq-generate`` prints."""

import re
from dataclasses import dataclass, field
from typing import Dict, List

from sit_fairseq.errors import UserError

_LINE = re.compile(r"([STVHDPI])-(\d+)\t(.*)")


@dataclass
class Hypothesis:
    """One answer: its text, its score as printed, and its verdict if it was judged or verified."""

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
        """The hypothesis with the highest score."""
        return self.hypotheses[0]


def read_generate_output(path: str) -> List[Sentence]:
    """Parses the output of one run.

    Args:
        path: a file that holds the standard output, or ``generate-<subset>.txt`` of
            ``--results-path``.

    Returns:
        the sentences in the order of the data, whatever the order of decoding.

    Raises:
        UserError: the file cannot be read.
    """
    sentences: Dict[int, Sentence] = {}
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.readlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"Cannot read {path} ({error}); name an output of fairseq-generate.")
    for line in lines:
        match = _LINE.match(line.rstrip("\n"))
        if match is None:
            continue
        kind, number, rest = match.groups()
        sentence = sentences.setdefault(int(number), Sentence())
        if kind == "S":
            sentence.source = rest
        elif kind == "V":
            sentence.verdict = rest.partition("\t")[0]
        elif kind == "T":
            sentence.target = rest
        elif kind == "H":
            score, _, text = rest.partition("\t")
            verdict = "" if sentence.hypotheses else sentence.verdict
            sentence.hypotheses.append(Hypothesis(score, text, verdict))
        elif kind == "D" and sentence.hypotheses:
            # As S- and T- lines are: what a tokenizer or subwords had divided is one again.
            sentence.hypotheses[-1].text = rest.partition("\t")[2]
        elif kind == "I" and sentence.hypotheses:
            sentence.hypotheses[-1].verdict = rest
    return [sentences[number] for number in sorted(sentences)]
