"""Generates data as users do, and reads what was written."""

from collections import Counter
from pathlib import Path

from command_line import sit

from sit_fairseq.logic.syntax import formula_symbols
from sit_fairseq.symbols.canonical_form import canonical_form


def generate(kind, prefix, *options):
    """Runs ``sit generate`` in this process and returns the prefix."""
    sit("generate", kind, prefix, *options)
    return prefix


def read(prefix):
    """The lines of PREFIX.src and PREFIX.tgt."""
    return [
        Path(f"{prefix}.{side}").read_text(encoding="utf-8").splitlines() for side in ("src", "tgt")
    ]


def homogeneous(first: Counter, second: Counter) -> bool:
    """Whether two samples of the same size can be from one distribution (chi-square)."""
    keys = first | second
    statistic = sum((first[key] - second[key]) ** 2 / (first[key] + second[key]) for key in keys)
    freedom = len(keys) - 1
    return statistic < freedom + 4 * (2 * freedom) ** 0.5


def forms(sources):
    """Sentences up to renaming."""
    return {canonical_form(tokens, formula_symbols(tokens)) for tokens in map(str.split, sources)}
