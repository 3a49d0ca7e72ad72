"""Beam search in slot space, with names put back at the end.

The search sees canonical ids alone, so that not even its tie-breaking can depend on how symbols
are called or on how many a dictionary holds.

Shapes: B sentences that are still searched, K hypotheses of each, H = B * K, V columns of canonical
ids.
"""

import math
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor

from sit_fairseq.errors import UserError
from sit_fairseq.models.transformer import log_probabilities
from sit_fairseq.search.constraint import Constraint
from sit_fairseq.search.filters import Filter, Lengths, Prefixes
from sit_fairseq.search.hypotheses import Hypothesis, NoAnswer, SearchOptions, best_possible
from sit_fairseq.search.searchable import Searchable
from sit_fairseq.search.strategies import Sampling, most_probable
from sit_fairseq.symbols.slots import Slots


@contextmanager
def _in_evaluation(models: List[Searchable]) -> Iterator[None]:
    """Context manager: models in evaluation mode, each part of which gets its own mode back."""
    training = [part for model in models for part in model.modules() if part.training]
    try:
        for part in training:
            part.training = False
        yield
    finally:
        for part in training:
            part.training = True


class BeamSearch:
    """Searches for the most probable answers of a model or an ensemble.

    With a beam, the search for a sentence ends when it has K answers and no unfinished hypothesis
    can score better than the ``nbest``-th of them. No token adds to a log-probability. So the score
    of an unfinished hypothesis, divided as for the greatest length, bounds every later one. The
    first ``nbest`` answers are those of the search that never ends before that length.
    A beam of 1 is greedy decoding, which ends with its answer.

    Args:
        models: an ensemble, which answers in evaluation mode.
        options: see :class:`SearchOptions`.
        sampling: draws answers in place of the most probable ones; a sentence then ends as soon as
            it has K answers.
        grammar: of the answers, which are then all well-formed; see :class:`Constraint`.

    Raises:
        UserError: the models have different tokens.
    """

    def __init__(
        self,
        models: List[Searchable],
        options: SearchOptions,
        sampling: Optional[Sampling] = None,
        grammar: Any = None,
    ) -> None:
        for model in models[1:]:
            model.vocabulary.vote_with(models[0].vocabulary)
        self.models, self.options = models, options
        self.choose = sampling or most_probable
        self.constraint = None if grammar is None else Constraint(grammar, models[0].vocabulary)
        self.ends_by_bound = sampling is None and options.beam > 1

    @torch.no_grad()
    def __call__(self, sources: Tensor, prefix: Optional[Tensor] = None) -> List[List[Hypothesis]]:
        """Answers a batch.

        Args:
            sources: (B, U) dictionary indices with ``</s>``, padded on either side.
            prefix: (B, P) dictionary indices that answers begin with, padded on the right.

        Returns:
            For each sentence at most K answers, best first, or :class:`NoAnswer`.
        """
        with _in_evaluation(self.models):
            faults = [
                next(filter(None, (model.unreadable(source) for model in self.models)), None)
                for source in sources.cpu()
            ]
            read = [place for place, fault in enumerate(faults) if fault is None]
            if len(read) < len(faults):
                sources, prefix = sources[read], None if prefix is None else prefix[read]
            found = iter(self._search(sources, prefix) if read else ())
            return [NoAnswer(f"the sentence {fault}") if fault else next(found) for fault in faults]

    def _search(self, sources: Tensor, prefix: Optional[Tensor]) -> List[List[Hypothesis]]:
        encoded = [model.encode(sources) for model in self.models]
        slots = encoded[0].slots.to("cpu", non_blocking=False)  # names are read at once
        least, most, refused = self._lengths(sources)
        if prefix is not None:
            prefix = self._begin(prefix.cpu(), slots, refused)
        slots = slots.named(prefix)
        # The first step takes 2 K candidates out of one row.
        width = max(slots.num_columns, 2 * self.options.beam + 1)
        reason = "all its answers have the probability 0 or none"
        if self.constraint is not None:
            self.constraint.begin(encoded[0].canonical.cpu(), slots.every, width, most)
            refused.update(self.constraint.failures)
            reason = "the grammar allows no answer to it"
            if prefix is not None:
                reason = "no well-formed answer begins with its prefix"
        answers: List[List[Hypothesis]] = [[] for _ in sources]
        left = [place for place in range(len(sources)) if place not in refused]
        if left:
            sentences = torch.tensor(left, device="cpu")
            if prefix is not None:
                prefix = slots.encode(prefix)[sentences]
            search = _Search(self, encoded, sentences, width, answers)
            search.run(least[sentences], most[sentences], prefix)
        if self.constraint is not None:
            refused.update(self.constraint.failures)
        for place, found in enumerate(answers):
            if place in refused or not found:
                answers[place] = NoAnswer(refused.get(place, reason))
                continue
            found.sort(key=lambda answer: -float(answer.score))
            found[:] = [replace(one, tokens=slots.decode(one.tokens, place)) for one in found]
        return answers

    def _begin(self, prefix: Tensor, slots: Slots, refused: Dict[int, str]) -> Tensor:
        """(B, P) dictionary indices that answers can begin with. Notes the sentences whose answers
        cannot begin as they should."""
        vocabulary, pad = self.models[0].vocabulary, self.models[0].vocabulary.dictionary.pad()
        canonical, eos = slots.encode(prefix), vocabulary.dictionary.eos()
        goes_on = prefix[:, :-1].eq(eos) & prefix[:, 1:].ne(pad)
        for place in goes_on.any(1).nonzero().squeeze(1).tolist():
            refused[place] = "its prefix goes on after a </s>, which ends an answer"
        lost = canonical.eq(vocabulary.unk) & prefix.ne(vocabulary.unk)
        impossible = (vocabulary.unproducible(canonical) | lost) & canonical.ne(pad)
        for place in impossible.any(1).nonzero().squeeze(1).tolist():
            token = vocabulary.dictionary[int(prefix[place][impossible[place]][0])]
            refused[place] = (
                f"an answer cannot begin with {token!r}, as its prefix asks for: it is no symbol of "
                "its source, nor a fresh one, and no token that answers can hold"
            )
        return prefix.masked_fill(impossible.any(1, keepdim=True), pad)

    def _lengths(self, sources: Tensor) -> Tuple[Tensor, Tensor, Dict[int, str]]:
        """(B,) the fewest and the most tokens of answers to (B, U) sources, without ``</s>``, and
        why some can have no answer, by their places."""
        options, longest = self.options, self._longest
        size, length = sources.shape
        if options.match_source_len:
            exact = sources.cpu().ne(self.models[0].vocabulary.dictionary.pad()).sum(1)
            refused = {
                place: f"an answer as long as its source has {number} tokens, but the model writes "
                f"at most {longest}"
                for place, number in enumerate(exact.tolist())
                if number > longest
            }
            return exact.clamp(max=longest), exact.clamp(max=longest), refused
        most = int(min(options.max_len_a * length + options.max_len_b, longest))
        if most < 0:
            raise UserError(f"answers of at most {most} tokens", "max_len_a max_len_b")
        least, most = (torch.full((size,), n, device="cpu") for n in (options.min_len, most))
        return least, most, {}

    @property
    def _longest(self) -> int:
        """The most tokens that all models write, without ``</s>``."""
        return min(model.max_decoder_positions() for model in self.models) - 1


class _Search:
    """The search for the answers to one batch, in V = ``width`` canonical ids. Each model has read the
    batch; the sentences to be searched stand there at (B,) places, as their lists of answers do."""

    def __init__(
        self,
        search: BeamSearch,
        encoded: List,
        sentences: Tensor,
        width: int,
        answers: List[List[Hypothesis]],
    ) -> None:
        self._search, self._options, self._width = search, search.options, width
        dictionary = search.models[0].vocabulary.dictionary
        self._pad, self._eos, self._unk = dictionary.pad(), dictionary.eos(), dictionary.unk()
        self._memories = [m.memory(s) for m, s in zip(search.models, encoded)]
        self._ahead: Optional[Tensor] = None  # log-probabilities after each token of prefixes
        self._sentences, self._answers = sentences, answers
        self._reorder(sentences)
        self._device = next(search.models[0].parameters()).device

    def run(self, least: Tensor, most: Tensor, prefix: Optional[Tensor]) -> None:
        """Finds answers of ``least`` to ``most`` (B,) tokens without ``</s>``, which begin with
        ``prefix`` (B, P)."""
        beam, longest = self._options.beam, int(most.max())
        filters = self._filters(least, most, prefix)
        if prefix is not None:  # those of its tokens that no sentence lacks are read at once
            length = int(prefix[:, :longest].ne(self._pad).all(0).long().cumprod(0).sum())
            if length:
                self._ahead = self._next(F.pad(prefix[:, :length], (1, 0), value=self._eos))
        self._reorder(torch.arange(self._sentences.numel(), device="cpu").repeat_interleave(beam))
        rows = self._sentences.numel() * beam
        tokens = torch.full((rows, longest + 2), self._pad, device="cpu")
        tokens[:, 0] = self._eos
        scores = torch.zeros(rows, longest + 1, device="cpu")
        for step in range(longest + 1):
            log_probs = self._log_probs(tokens[:, : step + 1])
            scores = scores.to(log_probs.dtype)
            for keep in filters:
                keep(step, log_probs)
            found, columns, parents = self._search.choose(
                log_probs.view(-1, beam, self._width),
                scores[:, step - 1].view(-1, beam) if step else None,
            )
            parents = parents + torch.arange(parents.size(0), device="cpu").unsqueeze(1) * beam
            ends = columns.eq(self._eos) & found.ne(-math.inf)
            place, candidate = ends[:, :beam].nonzero(as_tuple=True)
            rows, total = parents[place, candidate], found[place, candidate]
            self._note_answers(step, tokens[rows], scores[rows], place, total)
            found = found.masked_fill(ends, -math.inf)
            left = self._unfinished(step, longest, found, ends)
            if not bool(left.any()):
                break
            # The best K candidates that do not end; samples may be fewer.
            chosen = ends.long()[left].argsort(dim=1, stable=True)[:, :beam]
            found, columns, parents = (
                part[left].gather(1, chosen).flatten() for part in (found, columns, parents)
            )
            # A candidate that cannot be may name any column, also a fresh symbol.
            columns = columns.masked_fill(found.eq(-math.inf), self._pad)
            tokens, scores = tokens[parents], scores[parents]
            tokens[:, step + 1], scores[:, step] = columns, found
            self._sentences = self._sentences[left]
            for keep in filters:
                keep.follow(parents, columns)
            self._reorder(parents)

    def _filters(self, least: Tensor, most: Tensor, prefix: Optional[Tensor]) -> List[Filter]:
        """The filters of the search; that of lengths comes last, after all else is known."""
        beam, filters = self._options.beam, []
        sentences, least, most = (
            part.repeat_interleave(beam) for part in (self._sentences, least, most)
        )
        if self._search.constraint is not None:
            filters.append(self._search.constraint.start(sentences, most))
        if prefix is not None:
            prefix = prefix.repeat_interleave(beam, 0)
            beyond = torch.arange(prefix.size(1), device="cpu") >= most.unsqueeze(1)
            filters.append(Prefixes(prefix.masked_fill(beyond, self._pad), self._pad))
        return [*filters, Lengths(least, most, self._eos)]

    def _log_probs(self, tokens: Tensor) -> Tensor:
        """(H, V) of the next token."""
        if self._ahead is not None and tokens.size(1) <= self._ahead.size(1):
            return self._ahead[:, tokens.size(1) - 1].clone()
        self._ahead = None
        return self._next(tokens)[:, -1]

    def _next(self, tokens: Tensor) -> Tensor:
        """(rows, P, V) log-probabilities of the tokens after each one that no model has read. They
        are on the CPU, where the search decides: a GPU would be waited for many times in each step.
        """
        tokens = tokens.to(self._device, non_blocking=True)
        found = []
        for model, memory in zip(self._search.models, self._memories):
            logits = model.step(tokens, memory)
            found.append(log_probabilities(logits.div_(self._options.temperature)))
        log_probs = found[0]
        if len(found) > 1:
            # Of equal models exactly what each says.
            votes = torch.stack(found)
            most = votes.amax(0).clamp(min=torch.finfo(votes.dtype).min)
            log_probs = (votes - most).exp().mean(0).log() + most
        log_probs = log_probs.cpu()
        log_probs = F.pad(log_probs, (0, self._width - log_probs.size(2)), value=-math.inf)
        log_probs.masked_fill_(log_probs.isnan(), -math.inf)
        log_probs[:, :, self._pad] = -math.inf
        log_probs[:, :, self._unk] -= self._options.unk_penalty
        return log_probs

    def _note_answers(
        self, step: int, tokens: Tensor, scores: Tensor, place: Tensor, total: Tensor
    ) -> None:
        """Keeps answers, tokens without the ``</s>`` of this step, of sentences at these places, with
        their total scores and those of all steps before."""
        options = self._options
        tokens[:, step + 1], scores[:, step] = self._eos, total
        answers, each = tokens[:, 1 : step + 2], scores[:, : step + 1]
        each[:, 1:] = each[:, 1:] - each[:, :-1]
        if options.normalize:
            total = total / (step + 1) ** options.len_penalty
        sentences = self._sentences[place].tolist()
        for sentence, *parts in zip(sentences, answers, total, each):
            self._answers[sentence].append(Hypothesis(*parts))
        for sentence in set(sentences):
            if self._search.ends_by_bound:
                self._answers[sentence].sort(key=lambda answer: -float(answer.score))
            del self._answers[sentence][options.beam :]

    def _unfinished(self, step: int, longest: int, going_on: Tensor, ends: Tensor) -> Tensor:
        """(B,) whether each sentence is searched on, given (B, candidates) scores, and which of
        them end. It is looked at only when an answer of its own ends, so that other sentences of
        the batch do not change when it ends."""
        if step == longest:
            return torch.zeros(ends.size(0), dtype=torch.bool, device="cpu")
        beam, nbest = self._options.beam, min(self._options.nbest, self._options.beam)
        left = torch.ones(ends.size(0), dtype=torch.bool, device="cpu")
        bound = best_possible(going_on.amax(1), step, longest, self._options)
        nothing, ended = bound.eq(-math.inf), ends[:, :beam].any(1)
        for place in (nothing | ended).nonzero().squeeze(1).tolist():
            answers = self._answers[int(self._sentences[place])]
            full = len(answers) == beam
            if nothing[place]:  # also after a prefix with its </s>, be the answers ever so few
                left[place] = False
            elif self._search.ends_by_bound:
                left[place] = not (full and bool(bound[place] <= answers[nbest - 1].score))
            else:
                left[place] = not full
        return left

    def _reorder(self, rows: Tensor) -> None:
        """Goes on with the hypotheses that continue the given ones."""
        for memory in self._memories:
            memory.reorder(rows)
        if self._ahead is not None:
            self._ahead = self._ahead[rows]
