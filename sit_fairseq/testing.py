"""Tests of invariance under renaming of symbols, for models built on streams.

They sample the claim. A model whose symbols are made canonical has an error of zero.
"""

import itertools
import logging
import math
import random
from typing import Any, Callable, Dict, Iterator, Optional, Sequence, Tuple, Union

import torch
import torch.nn.functional as F
from torch import Tensor

from sit_fairseq.symbols import renaming as symbol_renaming
from sit_fairseq.symbols.renaming import Renaming
from sit_fairseq.symbols.slots import numbered
from sit_fairseq.symbols.tokens import TokenTable
from sit_fairseq.training.alpha_renaming import rename_sample

logger = logging.getLogger(__name__)

Sample = Union[Tensor, Dict[str, Any]]
Measure = Callable[[Sample], Dict[str, Tensor]]

# Largest differences that rounding explains.
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-1}


def renaming(dictionary: TokenTable, names: Dict[str, str], into=None) -> Tensor:
    """The table that takes the index of each token to the index of its new name.

    Args:
        dictionary: of the sample to rename.
        names: new names of some symbols, which may be in no dictionary so far.
        into: the dictionary of the renamed sample, if it is another one.

    Returns:
        As :meth:`~sit_fairseq.symbols.renaming.Renaming.table`.

    Raises:
        ValueError: the dictionary lacks one of the symbols, or two would get one name.
    """
    return Renaming(names).table(dictionary, into)


def renamings(
    dictionary: TokenTable, symbols: Sequence[str], count: int = 10, seed: int = 0
) -> Dict[str, Tensor]:
    """Tables by description: the identity, one swap and the full cycle in each sort (which generate
    all permutations within sorts), and ``count`` random ones, or every one of up to four symbols.

    Raises:
        ValueError: no sort has two of the symbols, or the dictionary lacks one.
    """
    sorts = [
        [s for s in symbols if (dictionary.sort(s) or 0) == n] for n in range(len(dictionary.sorts))
    ]
    if len(set(symbols)) < len(symbols) or max(map(len, sorts)) < 2:
        raise ValueError(f"at least two symbols, each once, are needed to rename: {symbols}")
    orders = {
        "identity": sorts,
        "swap": [[*names[1:2], *names[:1], *names[2:]] for names in sorts],
        "cycle": [names[1:] + names[:1] for names in sorts],
    }
    drawn = itertools.product(*map(itertools.permutations, sorts))
    if len(symbols) > 4:
        rng = random.Random(seed)
        drawn = ([rng.sample(names, len(names)) for names in sorts] for _ in range(count))
    old = sum(sorts, [])
    for order in drawn:
        orders[f"{' '.join(old)} -> {' '.join(itertools.chain(*order))}"] = order
    return {
        case: renaming(dictionary, dict(zip(old, itertools.chain(*order))))
        for case, order in orders.items()
    }


def rename(sample: Sample, table: Tensor) -> Sample:
    """Renames a tensor of dictionary indices, or source and target of a fairseq sample.

    Raises:
        ValueError: a symbol would merge with one that is renamed to its name.
    """
    if torch.is_tensor(sample):
        return symbol_renaming.rename(sample, table)
    return rename_sample(sample, lambda tokens: symbol_renaming.rename(tokens, table))


def number_fresh(tokens: Tensor, source: Tensor, dictionary: TokenTable) -> Tensor:
    """An answer up to the names of the symbols that its source lacks, for a :data:`Measure`.

    They are called by the first names that the source leaves, so that a renaming of the source
    changes them in its own way. Numbers, which no renaming changes, are to be compared instead.

    Args:
        tokens: (T,) dictionary indices of the answer.
        source: (U,) those of its source.
        dictionary: tells symbols from base tokens.

    Returns:
        (T,) the same, but -1, -2, ... for the first, second, ... of such symbols.
    """
    is_symbol = torch.tensor(
        [dictionary.is_symbol(dictionary[i]) for i in tokens.tolist()], device="cpu"
    )
    fresh = is_symbol.to(tokens.device) & ~torch.isin(tokens, source)
    number = numbered(tokens.unsqueeze(0), fresh.unsqueeze(0)).squeeze(0)
    return torch.where(fresh, -1 - number, tokens)


def training_measure(model, seed: int = 1) -> Measure:
    """Logits, summed loss and all gradients of a fairseq model; dropout uses the seed."""

    def measure(sample: Sample) -> Dict[str, Tensor]:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            net_output = model(**sample["net_input"])
        log_probs = model.get_normalized_probs(net_output, log_probs=True).transpose(1, 2)
        target = model.get_targets(sample, net_output)
        # A plain transformer, which is to fail, keeps its dictionary with its decoder.
        dictionary = getattr(model.decoder, "dictionary", None) or model.vocabulary.dictionary
        loss = F.nll_loss(log_probs, target, ignore_index=dictionary.pad(), reduction="sum")
        names, parameters = zip(*model.named_parameters())
        gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
        found = {f"gradient of {name}": g for name, g in zip(names, gradients) if g is not None}
        return {"logits": net_output[0].detach(), "loss": loss.detach(), **found}

    return measure


def invariance_error(
    measure: Measure,
    sample: Sample,
    cases: Dict[str, Tensor],
    renamed_measure: Optional[Measure] = None,
) -> Dict[Tuple[str, str], float]:
    """Largest differences between renaming then measuring, and measuring then renaming.

    Args:
        measure: takes a sample to tensors by name. Floating point tensors must not change
            under renaming; integer tensors are dictionary indices and must be renamed, or
            negative numbers of :func:`number_fresh`.
        sample: see :func:`rename`.
        cases: tables of dictionary indices, by description.
        renamed_measure: measures the renamed sample, if it belongs to another model.

    Returns:
        the error of each (case, quantity); infinite if the shapes differ.

    Raises:
        ValueError: none of the cases renames anything in the sample.
    """
    errors = _errors(measure, sample, cases, renamed_measure)
    return {(case, quantity): error for case, quantity, _, error in errors}


def assert_symbol_invariant(
    measure: Measure,
    sample: Sample,
    cases: Dict[str, Tensor],
    renamed_measure: Optional[Measure] = None,
    tolerance: Optional[float] = None,
) -> None:
    """Asserts that :func:`invariance_error` is at most ``tolerance``, by default what
    rounding explains in the dtype of each quantity.

    Raises:
        AssertionError: naming the renaming, the quantity and its dtype.
        ValueError: none of the cases renames anything in the sample.
    """
    __tracebackhide__ = True
    worst = 0.0
    for case, quantity, dtype, error in _errors(measure, sample, cases, renamed_measure):
        allowed = TOLERANCE.get(dtype, 0.0) if tolerance is None else tolerance
        if not error <= allowed:
            raise AssertionError(
                f"{quantity} ({dtype}) changes by {error:g} under the renaming {case!r}, "
                f"more than {allowed:g}"
            )
        worst = max(worst, error)
    logger.info("largest error under %d renamings: %g", len(cases), worst)


def _errors(measure, sample, cases, renamed_measure) -> Iterator:
    renamed_samples = {case: rename(sample, table) for case, table in cases.items()}
    if all(_equal(sample, renamed) for renamed in renamed_samples.values()):
        raise ValueError(
            "none of the renamings changes the sample, so that nothing would be tested: rename "
            "symbols that it holds"
        )
    expected = measure(sample)
    if not isinstance(expected, dict) or not expected:
        raise ValueError("the measure gives no tensors by name, so that nothing would be tested")
    for case, table in cases.items():
        found = (renamed_measure or measure)(renamed_samples[case])
        for quantity in {**expected, **found}:
            before, after = expected.get(quantity), found.get(quantity)
            if before is not None and not before.is_floating_point():
                numbers = before < 0
                before = torch.where(numbers, before, rename(before.clamp(min=0), table))
            dtype = (after if before is None else before).dtype
            yield case, quantity, dtype, _difference(before, after)


def _equal(one: Sample, other: Sample) -> bool:
    if isinstance(one, dict):
        return all(_equal(one[name], other[name]) for name in one)
    return torch.equal(one, other) if torch.is_tensor(one) else True


def _difference(before: Optional[Tensor], after: Optional[Tensor]) -> float:
    if before is None or after is None or before.shape != after.shape:
        return math.inf
    # Equal infinities do not differ; whatever is not a number does.
    difference = (before.double() - after.double()).abs().nan_to_num(math.inf)
    return float(difference.masked_fill(before == after, 0.0).max()) if before.numel() else 0.0
