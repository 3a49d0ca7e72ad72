"""The adaptive temperature of the cosine head (AdaCos, Zhang et al. 2019)."""

import math
from typing import List

import torch
import torch.distributed as dist
from torch import Tensor, nn

# The fixed scale in common use for cosine heads; softmax saturates beyond.
MAX_SCALE = 30.0


class AdaCosScale(nn.Module):
    """Multiplies cosines by a scale that follows the training statistics.

    It is part of the model, not of the criterion: it is saved with the weights, and generation ranks
    by true log-probabilities. It stays float32 when the model is cast to half precision. At first it
    is ``sqrt(2) * log(C - 1)`` for C classes (AdaCos eq. 12).

    The statistics of an update are pooled over its micro-batches and all ranks, and the scale they give
    holds from the next update on: within one update every gradient sees the same scale, however the
    batch is divided. An update that float16 skips leaves its statistics to the next one.
    """

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        initial = math.sqrt(2) * math.log(max(num_classes, 3) - 1)
        self.register_buffer("scale", torch.tensor(initial, dtype=torch.float32))
        self._least = 1.0
        self._angles: List[Tensor] = []
        self._others: List[Tensor] = []

    def forward(self, cosines: Tensor) -> Tensor:
        """Cosines to logits."""
        return cosines * self.scale.to(cosines.dtype)

    @torch.no_grad()
    def raise_to(self, least: float) -> None:
        """Keeps the scale from now on at or above a lower bound, at least 1."""
        if least != self._least:
            self._least = least
            self.scale.clamp_(min=least)

    @torch.no_grad()
    def observe(self, logits: Tensor, target: Tensor) -> None:
        """Collects the statistics of one micro-batch: (M, V) scaled logits, one row per target token
        that is not padding, and (M,) the columns that are right."""
        right = logits.gather(1, target.unsqueeze(1))
        cosine = (right.squeeze(1) / self.scale).clamp(-1 + 1e-7, 1 - 1e-7)
        self._angles.append(torch.acos(cosine).float())
        # The sum of exp(s cos) over the wrong classes, in float64: s may be large.
        wrong = logits.double().scatter(1, target.unsqueeze(1), -math.inf)
        self._others.append(wrong.exp().sum(1))

    def forget(self) -> None:
        """Drops the last micro-batch, one that only keeps ranks in step, if it was observed."""
        del self._angles[-1:], self._others[-1:]

    @torch.no_grad()
    def update(self) -> None:
        """Turns the collected statistics into the next scale (AdaCos eq. 15).

        Every rank must call this after each optimiser step, also one that saw no data.
        """
        none = self.scale.new_empty(0)
        angles = _gather(torch.cat([none, *self._angles]))
        others = _gather(torch.cat([none.double(), *self._others]))
        self._angles, self._others = [], []
        if angles.numel() == 0:
            return
        median = angles.median().clamp(max=math.pi / 4)
        scale = others.mean().log() / median.cos()
        # Where the model is confidently wrong, the published rule feeds on itself: a larger scale
        # raises the sum of wrong classes, which raises the scale, up to NaN: at update 141 of the
        # paper's own setting, where 37 of the first 600 updates pass 30. At the other end it must
        # stay a positive temperature, and with few classes a useful one (see the criterion).
        limited = scale.clamp(min=self._least, max=MAX_SCALE)
        self.scale.copy_(torch.where(scale.isfinite(), limited, self.scale))

    def _apply(self, fn, *args, **kwargs):
        scale = self.scale
        super()._apply(fn, *args, **kwargs)
        # Follow a move to another device, not a cast to another precision.
        self.scale = scale.to(self.scale.device)
        return self


def _gather(values: Tensor) -> Tensor:
    """Concatenates the 1-D tensors of all ranks, in rank order."""
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        return values
    size = torch.tensor([values.numel()], device=values.device)
    sizes = [torch.zeros_like(size) for _ in range(dist.get_world_size())]
    dist.all_gather(sizes, size)
    most = int(max(sizes))
    padded = torch.nn.functional.pad(values, (0, most - values.numel()))
    parts = [torch.empty_like(padded) for _ in sizes]
    dist.all_gather(parts, padded)
    return torch.cat([part[: int(count)] for part, count in zip(parts, sizes)])
