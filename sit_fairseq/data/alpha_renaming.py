"""Random renaming of training pairs, the data augmentation of the alpha-renaming baseline."""

from typing import Any, Dict

import numpy
import torch
from torch import Tensor

from sit_fairseq.symbols.stream_dictionary import StreamDictionary


class AlphaRenaming:
    """Renames the symbols of each sentence by a random injective map.

    New names are drawn among all symbols of the dictionary, those that no training pair
    holds included. The map of a sentence is a function of the seed, the epoch and the
    sentence's index in its split, and nothing else: it does not depend on batches,
    workers, the number of processes or whether training was interrupted.

    It works on batches, in the training process. A data set would rename in workers,
    which fairseq keeps from epoch to epoch without telling them which it is.

    Args:
        dictionary: of source and target.
        seed: at least 0.
    """

    def __init__(self, dictionary: StreamDictionary, seed: int) -> None:
        self.dictionary = dictionary
        self.seed = seed

    def rename(self, sample: Dict[str, Any], epoch: int) -> Dict[str, Any]:
        """A copy of a batch with new names, the same in source and target of a sentence.

        Args:
            sample: a batch as fairseq collates it, of dictionary indices.
            epoch: counted from 1.
        """
        tables = self._tables(sample["id"].tolist(), epoch).to(sample["id"].device)
        net_input = dict(sample["net_input"])
        for name in ("src_tokens", "prev_output_tokens"):
            net_input[name] = tables.gather(1, net_input[name])
        target = tables.gather(1, sample["target"])
        return {**sample, "net_input": net_input, "target": target}

    def _tables(self, indices, epoch: int) -> Tensor:
        """(B, V) the new index of each token of the dictionary."""
        dictionary = self.dictionary
        symbols = numpy.array([dictionary.indices[s] for s in dictionary.known_symbols()])
        tables = numpy.tile(numpy.arange(len(dictionary)), (len(indices), 1))
        for table, index in zip(tables, indices):
            table[symbols] = numpy.random.default_rng((self.seed, epoch, index)).permutation(
                symbols
            )
        return torch.from_numpy(tables)
