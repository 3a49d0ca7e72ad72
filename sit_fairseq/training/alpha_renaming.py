"""Random renaming of training pairs, the data augmentation of the alpha-renaming baseline."""

from typing import Any, Callable, Dict, List

import numpy
import torch
from torch import Tensor

from sit_fairseq.symbols.tokens import TokenTable

# What of a fairseq sample holds tokens.
_TOKENS = ("src_tokens", "prev_output_tokens", "target")


class AlphaRenaming:
    """Renames the symbols of each sentence by a random injective map, within each sort of the
    dictionary's symbols.

    The map is a function of the seed, the epoch and the sentence's index in its split. It works on
    batches, in the training process: fairseq does not tell the workers of a data set the epoch.
    """

    def __init__(self, dictionary: TokenTable, seed: int) -> None:
        self.dictionary = dictionary
        self.seed = seed

    def rename(self, sample: Dict[str, Any], epoch: int) -> Dict[str, Any]:
        """A copy of a fairseq sample with new names, the same in source and target."""
        indices, known, sort = sample["id"], self.dictionary.known_symbols(), self.dictionary.sort
        sorts = [
            torch.tensor(
                [self.dictionary.indices[name] for name in known if sort(name) == number],
                dtype=torch.long,
                device="cpu",
            )
            for number in range(len(self.dictionary.sorts))
        ]
        tables = torch.stack([self._table(index, epoch, sorts) for index in indices.tolist()])
        tables = tables.to(indices.device, non_blocking=True)
        return rename_sample(sample, lambda tokens: tables.gather(1, tokens))

    def _table(self, index: int, epoch: int, sorts: List[Tensor]) -> Tensor:
        """(V,) the new index of each token of the dictionary, given the symbols of each sort."""
        rng = numpy.random.default_rng((self.seed, epoch, index))
        table = torch.arange(len(self.dictionary), device="cpu")
        for symbols in sorts:
            table[symbols] = symbols[torch.from_numpy(rng.permutation(len(symbols)))]
        return table


def rename_sample(sample: Dict[str, Any], on_indices: Callable[[Tensor], Tensor]) -> Dict[str, Any]:
    """A copy of a fairseq sample with ``on_indices`` applied to sources and targets."""

    def renamed(name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return rename_sample(value, on_indices)
        return on_indices(value) if name in _TOKENS else value

    return {name: renamed(name, value) for name, value in sample.items()}
