"""Strings to be copied (Isik et al. 2025, and the paper's appendix on copying)."""

from dataclasses import dataclass
from random import Random
from typing import List, Sequence

from sit_fairseq.datasets.labelling import Label
from sit_fairseq.datasets.options import at_least, option, symbol_names, symbols
from sit_fairseq.datasets.recipes import SYMBOLS_HELP, Cells, SizedRecipe
from sit_fairseq.datasets.sampling import StringSampler
from sit_fairseq.domains import Domain
from sit_fairseq.judging.equality_judges import EqualityJudge


class CopyJudge(EqualityJudge):
    """Satisfied if the answer equals the source token by token, violated otherwise."""

    semantics = "copy"

    def right(self, problem: str) -> str:
        return problem


@dataclass
class CopyRecipe(SizedRecipe):
    """Strings to be copied: lengths and tokens are uniform.

    No string is a renaming of another, so short strings are few.
    """

    size: int = option(10_000_000, "number of samples", type=at_least(1))
    symbols: Sequence[str] = option(
        symbol_names(20), f"{SYMBOLS_HELP} (default: 20)", type=symbols(1)
    )
    min_length: int = option(20, "fewest tokens", type=at_least(1))
    max_length: int = option(80, "most tokens", type=at_least(1))

    per_chunk = 1000

    def samples(self) -> StringSampler:
        return StringSampler(self.symbols)

    def draw(self, rng: Random) -> List[str]:
        length = rng.choice(self.lengths)
        if self.sampler is not None:
            return self.sampler.draw(rng, length)
        return rng.choices(self.symbols, k=length)


class CopyCells(Cells):
    """Draws strings, each with exactly its symbols as likely as the others."""

    usual = (160, 160, 20)

    def samples(self, max_symbols: int, max_length: int) -> StringSampler:
        return StringSampler(symbol_names(max_symbols))

    def feasible(self, k: int, length: int) -> bool:
        return 0 < k <= length  # however small their share


DOMAIN = Domain(
    name="copying",
    alias="copy",
    version=1,
    symbols="[^<].*",
    judges={"equality": CopyJudge},
    recipe=CopyRecipe,
    labels={"same": Label},
    cells=CopyCells,
)
