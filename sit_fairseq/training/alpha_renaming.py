"""Random renaming of training pairs, the data augmentation of the alpha-renaming baseline."""

from typing import Any, Dict

import numpy
import torch
from torch import Tensor

from sit_fairseq.symbols.renaming import Renaming, rename_sample
from sit_fairseq.symbols.tokens import TokenTable


class AlphaRenaming:
    """Renames the symbols of each sentence by a random injective map.

    New names are drawn among all symbols of a sort in the dictionary, those that no training pair
    holds included. The map of a sentence is a function of the seed, the epoch and the sentence's
    index in its split: it does not depend on batches, workers, the number of processes or
    interruptions.

    It works on batches, in the training process. A data set would rename in workers, which fairseq
    keeps from epoch to epoch without telling them which it is.
    """

    def __init__(self, dictionary: TokenTable, seed: int) -> None:
        self.dictionary = dictionary
        self.seed = seed

    def rename(self, sample: Dict[str, Any], epoch: int) -> Dict[str, Any]:
        """A copy of a batch of fairseq's with new names, the same in source and target of a
        sentence."""
        indices = sample["id"]
        tables = torch.stack([self._table(index, epoch) for index in indices.tolist()])
        tables = tables.to(indices.device, non_blocking=True)
        return rename_sample(sample, lambda tokens: tables.gather(1, tokens))

    def _table(self, index: int, epoch: int) -> Tensor:
        """(V,) the new index of each token of the dictionary."""
        rng = numpy.random.default_rng((self.seed, epoch, index))
        names = {}
        for sort in range(len(self.dictionary.sorts)):
            symbols = [
                s for s in self.dictionary.known_symbols() if self.dictionary.sort(s) == sort
            ]
            order = rng.permutation(len(symbols)).tolist()
            names.update((old, symbols[new]) for old, new in zip(symbols, order))
        return Renaming(names).table(self.dictionary)
