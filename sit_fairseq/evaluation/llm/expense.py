"""What answers took: time, tokens and money."""

from typing import Any, Dict, Optional, Sequence

import numpy

from sit_fairseq.evaluation.llm.endpoint import Reply

_PRICED_TOKENS = 1e6


def seconds(replies: Sequence[Reply]) -> Dict[str, float]:
    """How long answers took.

    Args:
        replies: at least one.

    Returns:
        Mean, median and the 95th percentile in seconds, interpolated between answers.
    """
    times = [reply.seconds for reply in replies]
    p50, p95 = numpy.percentile(times, [50, 95])
    return {"mean": float(numpy.mean(times)), "p50": float(p50), "p95": float(p95)}


def tokens(replies: Sequence[Reply]) -> Dict[str, Any]:
    """How many tokens were read and written.

    Args:
        replies: the replies.

    Returns:
        The sums as ``prompt`` and ``completion``, and as ``unknown`` the number of replies
        of which the server did not say it, which are not in the sums.
    """
    known = [
        (reply.prompt_tokens, reply.completion_tokens)
        for reply in replies
        if reply.prompt_tokens is not None and reply.completion_tokens is not None
    ]
    prompt, completion = (sum(column) for column in zip((0, 0), *known))
    return {"prompt": prompt, "completion": completion, "unknown": len(replies) - len(known)}


def cost(
    counts: Dict[str, Any], input_price: Optional[float], output_price: Optional[float]
) -> Optional[float]:
    """What answers cost.

    Args:
        counts: from :func:`tokens`.
        input_price: price of a million tokens read.
        output_price: price of a million tokens written.

    Returns:
        The sum in the currency of the prices; None if a price or a number of tokens is
        unknown.
    """
    if input_price is None or output_price is None or counts["unknown"]:
        return None
    return (counts["prompt"] * input_price + counts["completion"] * output_price) / _PRICED_TOKENS
