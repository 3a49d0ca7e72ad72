"""Files of formulas, and what all renamings of a formula have in common."""

from typing import List, Sequence

from sit_fairseq.domains.formulas.syntax import check_formula, formula_symbols
from sit_fairseq.errors import MalformedFormula, UserError
from sit_fairseq.storage.files import read_sentences
from sit_fairseq.symbols.canonical_form import form_key


def read_formulas(path: str) -> List[str]:
    """:func:`read_sentences`, each a formula in prefix notation; otherwise a UserError."""
    lines = read_sentences(path)
    for number, line in enumerate(lines, start=1):
        try:
            check_formula(line.split())
        except MalformedFormula as error:
            raise UserError(f"Line {number} of {path} is malformed: {error}.")
    return lines


def formula_key(formula: Sequence[str]) -> int:
    """The key that all renamings of a formula share."""
    return form_key(formula, formula_symbols(formula))
