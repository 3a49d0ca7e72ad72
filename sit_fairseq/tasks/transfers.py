"""Between CPU and GPU without making the CPU wait more often than it must.

A GPU works on what the CPU has queued for it. Whenever the CPU asks for a result, it waits
till all of that is done, and the GPU then idles until there is new work.
"""

from typing import Any, Dict, List

import torch
from torch import Tensor


def fetch_numbers(logs: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """What was logged, its numbers on the CPU after one wait for all of them.

    Args:
        logs: fairseq's logging outputs, of numbers and 0-dimensional tensors.
    """

    def is_away(value: Any) -> bool:
        return isinstance(value, Tensor) and value.is_cuda

    away = [value for log in logs for value in log.values() if is_away(value)]
    if not away:
        return logs
    numbers = iter(torch.stack([value.double() for value in away]).cpu())
    return [
        {
            name: next(numbers).to(value.dtype) if is_away(value) else value
            for name, value in log.items()
        }
        for log in logs
    ]
