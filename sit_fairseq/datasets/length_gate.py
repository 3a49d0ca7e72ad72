"""How many formulas of which length are wanted, where short lengths have only a few."""

from collections import Counter
from typing import Dict, Sequence, Set

from sit_fairseq.errors import UserError

# There are no more formulas of a length when so many drawn in a row were known or had no
# trace, or when so many draws of any length brought none of it.
MISSES_TO_EXHAUST, DRAWS_TO_EXHAUST = 1000, 300000


class LengthGate:
    """Lets as many formulas of each length pass.

    What exhausted lengths leave is shared by the others.

    Args:
        lengths: the lengths there may be.
        size: number of formulas wanted in all.
    """

    def __init__(self, lengths: Sequence[int], size: int) -> None:
        self.lengths = lengths
        self.size = size
        self.counts: Counter = Counter()
        self.misses: Counter = Counter()
        self.idle: Counter = Counter()
        self.exhausted: Set[int] = set()

    def open_lengths(self) -> Dict[int, int]:
        """How many formulas of which lengths are wanted.

        Raises:
            UserError: none, though there are too few.
        """
        rest = [length for length in self.lengths if length not in self.exhausted]
        found = sum(self.counts.values())
        if not rest:
            raise UserError(
                f"Found only {found} satisfiable formulas that are neither excluded nor renamings "
                f"of each other: lower --size {self.size}, allow of longer formulas or more "
                "symbols, or take another --seed than that of the excluded files."
            )
        share = self.size - sum(self.counts[length] for length in self.exhausted)
        quota = -(-share // len(rest))
        wanted = {length: quota - self.counts[length] for length in rest}
        return {length: number for length, number in wanted.items() if number > 0}

    def accept(self, length: int) -> None:
        """Counts a sample of a length."""
        self.counts[length] += 1
        self.misses[length] = self.idle[length] = 0

    def close_round(self, wanted: Dict[int, int], draws: int) -> None:
        """Takes note of the lengths that a round of so many draws has shown to be exhausted."""
        for length in wanted:
            self.idle[length] += draws
            if self.misses[length] >= MISSES_TO_EXHAUST or self.idle[length] >= DRAWS_TO_EXHAUST:
                self.exhausted.add(length)

    def state(self) -> Dict:
        """What a resumed run cannot see in the samples, as JSON."""
        return {
            "misses": sorted(self.misses.items()),
            "idle": sorted(self.idle.items()),
            "exhausted": sorted(self.exhausted),
        }

    def load_state(self, state: Dict) -> None:
        """Takes the result of :meth:`state` back.

        Raises:
            LookupError, TypeError or ValueError: it is none.
        """
        self.misses, self.idle = (
            Counter({int(length): int(number) for length, number in state[name]})
            for name in ("misses", "idle")
        )
        self.exhausted = set(map(int, state["exhausted"]))
