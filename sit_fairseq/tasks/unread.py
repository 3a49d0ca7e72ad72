"""Sentences of a batch that the model cannot read: formulas deeper than its tree positions.

They count as wrong, with a verdict of their own, and the rest of the batch goes on without them.
"""

import math
from typing import Any, Dict, List

import torch
from torch import Tensor

from sit_fairseq.data.sentence_checks import SentenceChecker


def readable(sample: Dict[str, Any], checker: SentenceChecker) -> Tensor:
    """(B,) whether the model can read each source of a batch, on the batch's device."""
    source = sample["net_input"]["src_tokens"]
    tokens = source.cpu()
    real = tokens.ne(checker.vocabulary.dictionary.pad())
    keep = torch.ones(tokens.size(0), dtype=torch.bool)
    keep[list(checker.too_deep(tokens[real], real.sum(1)))] = False
    return keep.to(source.device)


def part_of(sample: Dict[str, Any], keep: Tensor, pad: int) -> Dict[str, Any]:
    """Those sentences of a batch that are to be kept.

    Args:
        sample: of a :class:`~sit_fairseq.data.stream_pairs.StreamPairDataset`.
        keep: (B,) which ones.
        pad: index of ``<pad>``.

    Returns:
        A batch.
    """
    net_input = {name: value[keep] for name, value in sample["net_input"].items()}
    part = {**sample, "id": sample["id"][keep], "net_input": net_input}
    part["nsentences"] = int(keep.sum())
    if sample.get("target") is not None:
        part["target"] = sample["target"][keep]
        part["ntokens"] = int(part["target"].ne(pad).sum())
    return part


def stand_in(sample: Dict[str, Any], pad: int, eos: int) -> Dict[str, Any]:
    """A batch that can be read, for one of which no sentence can.

    What a criterion reports of it is to count for nothing, but has the names that it has on other
    ranks, whose reports are added up by place.

    Args:
        sample: of a :class:`~sit_fairseq.data.stream_pairs.StreamPairDataset`.
        pad: index of ``<pad>``.
        eos: index of ``</s>``.

    Returns:
        The last leaf of the first formula, which is a formula of its own, with an empty target.
    """
    source = sample["net_input"]["src_tokens"][0]
    leaf = source[source.ne(pad)][-2:].unsqueeze(0)
    target = leaf.new_full((1, 1), eos)
    net_input = {"src_tokens": leaf, "src_lengths": target.new_full((1,), leaf.size(1))}
    net_input["prev_output_tokens"] = target
    return {
        "id": target[0],
        "nsentences": 1,
        "ntokens": 1,
        "net_input": net_input,
        "target": target,
    }


def with_unread(
    hypotheses: List[List[Dict[str, Any]]], keep: Tensor, eos: int
) -> List[List[Dict[str, Any]]]:
    """Puts an empty answer, marked ``unread``, in the place of each sentence that was left out.

    Args:
        hypotheses: of those sentences that were kept.
        keep: (B,) which ones were.
        eos: index of ``</s>``.

    Returns:
        Hypotheses of all sentences.
    """
    answered = iter(hypotheses)
    return [next(answered) if kept else [_no_answer(eos)] for kept in keep.tolist()]


def _no_answer(eos: int) -> Dict[str, Any]:
    return {
        "tokens": torch.tensor([eos]),
        "score": torch.tensor(-math.inf),
        "positional_scores": torch.tensor([-math.inf]),
        "attention": None,
        "alignment": torch.empty(0),
        "unread": True,
    }
