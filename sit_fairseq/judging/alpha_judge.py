"""The judge of answers with symbols of their own choice: binders, witnesses, aliases."""

from typing import List, Optional, Sequence

from sit_fairseq.judging.judge import Judge, Sentence, as_tokens
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.symbols.canonical_form import canonical_form
from sit_fairseq.symbols.pattern import SymbolPattern


def without_fresh_names(answer: str, source: str, pattern: SymbolPattern) -> str:
    """An answer in which the symbols that its source lacks are numbered.

    Args:
        answer: tokens separated by spaces.
        source: likewise.
        pattern: tells which of them are symbols.

    Returns:
        The answer with numbers, in order of first appearance, in their place.
    """
    tokens, own = answer.split(), set(source.split())
    return canonical_form(tokens, [s for s in pattern.symbols(tokens) if s not in own])


class AlphaJudge(Judge):
    """Compares an answer with the reference, up to the names of symbols that the source lacks.

    The verdict is satisfied, if an injective renaming of such symbols turns one into the other,
    and violated otherwise; unavailable, if nobody has said which tokens are symbols.
    """

    semantics = "alpha"
    name = "equality"
    quick = True
    on_references = True

    def problems(
        self, sources: Sequence[Sentence], references: Optional[Sequence[Sentence]]
    ) -> List[str]:
        """Pattern, source and reference, separated by tabs, of which the last two have none.

        Raises:
            UserError: there are no references.
        """
        references = super().problems(sources, references)
        return [
            "\t".join([self.symbols or "", *(" ".join(as_tokens(side)) for side in pair)])
            for pair in zip(sources, references)
        ]

    def verify(self, problem: Sentence, answer: Sentence) -> Verdict:
        regex, source, reference = problem.rsplit("\t", 2)
        if not regex:
            return Verdict.unavailable
        pattern = SymbolPattern(regex)
        forms = {
            without_fresh_names(text, source, pattern)
            for text in (reference, " ".join(as_tokens(answer)))
        }
        return Verdict.satisfied if len(forms) == 1 else Verdict.violated
