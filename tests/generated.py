"""Generates data as users do, and reads what was written."""

from pathlib import Path

from command_line import sit

from sit_fairseq.domains.formulas.syntax import formula_symbols
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


def forms(sources):
    """Formulas or strings up to renaming."""
    return {canonical_form(tokens, formula_symbols(tokens)) for tokens in map(str.split, sources)}
