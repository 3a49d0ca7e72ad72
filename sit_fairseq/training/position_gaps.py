"""Random gaps between positions in training, so that a model knows those of longer sentences.

After randomised positions (Ruoss et al. 2023, arXiv 2305.16843). Shapes: B sentences, U and T tokens of
source and target, M atoms.
"""

from typing import Any, Dict, Tuple, Union

import numpy
import torch
from torch import Tensor

from sit_fairseq.symbols.slots import left_align
from sit_fairseq.symbols.tokens import TokenTable


class PositionGaps:
    """Spreads places over the gaps before atoms.

    An atom begins at each base token, ``</s>`` among them; symbols after it belong to it. Symbols
    before the first base token of a sentence, ``</s>`` aside, are atoms of their own.

    A source gets a total between 0 and the most, evenly drawn, and all of it is spread. The gap before
    an atom of the target is that before the source's of the same number, so that the target grows in
    proportion: where it has more atoms than the source, the gaps begin anew, up to the most in total.
    No position reaches beyond what its side reads.

    Gaps are a function of the seed, the update, the sentence's index in its split, and where its base
    tokens stand. So they depend on no name, no rank and no other sentence of the batch.
    """

    def __init__(self, dictionary: TokenTable, seed: int) -> None:
        self.dictionary = dictionary
        self.seed = seed
        self._base = torch.empty(0, dtype=torch.bool, device="cpu")

    def spread(
        self, sample: Dict[str, Any], update: int, most: int, longest: Union[int, Tuple[int, int]]
    ) -> Dict[str, Any]:
        """A copy of a fairseq sample of B pairs, or texts, whose ``net_input`` has ``src_places`` and
        ``target_places``: the (B, U) and (B, T) positions of the tokens, on the CPU, which increase
        along each sentence. Its sources are padded on the right.

        Args:
            update: the number of updates before it.
            most: the most places to spread over a sentence.
            longest: the most tokens that the model reads of a source and of a target, or of a text.
        """
        given, pad = sample["net_input"], self.dictionary.pad()
        if "prev_output_tokens" not in given:
            return self._spread_text(sample, update, most, longest)
        tokens = given["src_tokens"], given["prev_output_tokens"]
        # At once, as each copy waits for a GPU.
        copied = torch.cat((sample["id"].unsqueeze(1), *tokens), 1).cpu()
        indices, sources, targets = copied.split([1, *(side.size(1) for side in tokens)], 1)
        sources, padding = left_align(sources, pad)
        atoms, of_target = self._atoms(sources), self._atoms(targets)
        room = numpy.minimum(most, longest[0] - (~padding).sum(1).numpy())
        shifts = draw_shifts(self.seed, update, indices[:, 0].numpy(), room, atoms[:, -1])
        rows = numpy.arange(len(shifts))[:, None]
        again, number = numpy.divmod(of_target - 1, atoms[:, -1:])
        total = shifts[rows, atoms[:, -1:] - 1]
        of_target = shifts[rows, number] + again * total
        room = numpy.minimum(most, longest[1] - targets.ne(pad).sum(1).numpy())
        of_target = numpy.minimum(of_target, room[:, None])
        net_input = {
            **given,
            "src_tokens": sources.to(tokens[0].device, non_blocking=True),
            "src_places": _places(sources, shifts[rows, atoms - 1], pad),
            "target_places": _places(targets, of_target, pad),
        }
        return {**sample, "net_input": net_input}

    def _spread_text(self, sample: Dict[str, Any], update: int, most: int, longest: int):
        tokens, pad = sample["net_input"]["src_tokens"].cpu(), self.dictionary.pad()
        atoms = self._atoms(tokens)
        room = numpy.minimum(most, longest - tokens.ne(pad).sum(1).numpy())
        shifts = draw_shifts(self.seed, update, sample["id"].cpu().numpy(), room, atoms[:, -1])
        shifts = shifts[numpy.arange(len(shifts))[:, None], atoms - 1]
        net_input = {**sample["net_input"], "src_places": _places(tokens, shifts, pad)}
        return {**sample, "net_input": net_input}

    def _atoms(self, tokens: Tensor) -> numpy.ndarray:
        """(B, T) how many atoms have begun at each of (B, T) tokens; padding begins none."""
        known, eos = self.dictionary.symbols, self.dictionary.eos()
        if len(known) != len(self._base):
            self._base = torch.tensor(
                [not self.dictionary.is_symbol(token) for token in known], device="cpu"
            )
        real, base = tokens.ne(self.dictionary.pad()), self._base[tokens]
        before = (base & tokens.ne(eos)).cumsum(1) == 0
        return ((base | before) & real).cumsum(1).numpy()


def draw_shifts(
    seed: int, update: int, indices: numpy.ndarray, most: numpy.ndarray, atoms: numpy.ndarray
) -> numpy.ndarray:
    """Draws how far the (B,) ``atoms`` of the (B,) sentences ``indices``, at least one, are moved: by
    none to all of a total, which each number of 0 to (B,) ``most`` is with equal probability.

    Returns:
        (B, M) the shift of each atom, never falling; the last one of a sentence has the total.
    """
    state = numpy.array([seed % 2**64], dtype=numpy.uint64)
    for numbers in ([update], indices):
        state = _mixed(state + numpy.array(numbers, dtype=numpy.uint64) * _STEP)
    number = numpy.arange(int(atoms.max()) + 1, dtype=numpy.uint64)
    drawn = (_mixed(state[:, None] + number * _STEP) >> numpy.uint64(11)) * 2.0**-53
    total = (drawn[:, :1] * (most[:, None] + 1)).astype(numpy.int64)
    shifts = (drawn[:, 1:] * (total + 1)).astype(numpy.int64)
    last = numpy.arange(shifts.shape[1]) >= atoms[:, None] - 1
    return numpy.sort(numpy.where(last, total, shifts), axis=1)


# SplitMix64 (Steele et al. 2014): the numbers of all sentences at once, from a state of each.
_STEP = numpy.uint64(0x9E3779B97F4A7C15)


def _mixed(state: numpy.ndarray) -> numpy.ndarray:
    """Well mixed bits of (...) 64-bit numbers."""
    state = state + _STEP
    state = (state ^ state >> numpy.uint64(30)) * numpy.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ state >> numpy.uint64(27)) * numpy.uint64(0x94D049BB133111EB)
    return state ^ state >> numpy.uint64(31)


def _places(tokens: Tensor, shifts: numpy.ndarray, pad: int) -> Tensor:
    """(B, T) the positions of tokens that are moved by (B, T) shifts."""
    moved = torch.from_numpy(shifts).masked_fill(tokens.eq(pad), 0)
    return torch.arange(tokens.size(1), device="cpu") + moved
