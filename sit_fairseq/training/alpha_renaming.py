"""Random renaming of training pairs, the data augmentation of the alpha-renaming baseline."""

from typing import Any, Callable, Dict

import numpy
import torch
from torch import Tensor

from sit_fairseq.symbols.tokens import TokenTable

# What of a fairseq sample holds tokens.
_TOKENS = ("src_tokens", "prev_output_tokens", "target")


def rename_at_random(
    sample: Dict[str, Any], dictionary: TokenTable, seed: int, epoch: int
) -> Dict[str, Any]:
    """A copy of a fairseq sample whose symbols have new names, the same in source and target.

    They are drawn for each sentence, by an injective map within each sort of the dictionary's symbols,
    which is a function of the seed, the epoch and the sentence's index in its split. This works on
    batches, in the training process: fairseq does not tell the workers of a data set the epoch.
    """
    known, sorts = dictionary.known_symbols(), []
    for number in range(len(dictionary.sorts)):
        own = [dictionary.indices[name] for name in known if dictionary.sort(name) == number]
        sorts.append(torch.tensor(own, dtype=torch.long, device="cpu"))
    tables = []
    for index in sample["id"].tolist():
        rng = numpy.random.default_rng((seed, epoch, index))
        table = torch.arange(len(dictionary), device="cpu")
        for symbols in sorts:
            table[symbols] = symbols[torch.from_numpy(rng.permutation(len(symbols)))]
        tables.append(table)
    table = torch.stack(tables).to(sample["id"].device, non_blocking=True)
    return rename_sample(sample, lambda tokens: table.gather(1, tokens))


def rename_sample(sample: Dict[str, Any], on_indices: Callable[[Tensor], Tensor]) -> Dict[str, Any]:
    """A copy of a fairseq sample with ``on_indices`` applied to sources and targets."""

    def renamed(name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return rename_sample(value, on_indices)
        return on_indices(value) if name in _TOKENS else value

    return {name: renamed(name, value) for name, value in sample.items()}
