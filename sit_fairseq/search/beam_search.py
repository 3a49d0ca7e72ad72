"""Beam search in slot space, with names put back at the end.

The search sees canonical ids alone, so that not even its tie-breaking can depend on how symbols
are called or on how many a dictionary holds.

Shapes: B sentences that are still searched, K hypotheses of each, V columns of canonical ids.
"""

import math
from typing import Any, Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor

from sit_fairseq.errors import UserError
from sit_fairseq.models.transformer import log_probabilities
from sit_fairseq.search.constraint import Constraint
from sit_fairseq.search.hypotheses import (
    Hypothesis,
    NoAnswer,
    SearchOptions,
    best_possible,
)
from sit_fairseq.search.searchable import Searchable
from sit_fairseq.search.strategies import Best
from sit_fairseq.symbols.slots import Slots


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
        strategy: chooses candidates in the place of :class:`Best`; a sentence then ends as soon as
            it has K answers.
        grammar: of the answers, which are then all well-formed; see :class:`Constraint`.

    Raises:
        UserError: the models have different tokens.
    """

    def __init__(
        self,
        models: List[Searchable],
        options: SearchOptions,
        strategy: Any = None,
        grammar: Any = None,
    ) -> None:
        for model in models[1:]:
            model.vocabulary.vote_with(models[0].vocabulary)
        self.models = models
        self.options = options
        self.strategy = strategy or Best()
        self.constraint = None if grammar is None else Constraint(grammar, models[0].vocabulary)
        self.ends_by_bound = strategy is None and options.beam > 1

    @torch.no_grad()
    def __call__(self, sources: Tensor, prefix: Optional[Tensor] = None) -> List[List[Hypothesis]]:
        """Answers a batch.

        Args:
            sources: (B, U) dictionary indices with ``</s>``, padded on either side.
            prefix: (B, P) dictionary indices that answers begin with, padded on the right.

        Returns:
            For each sentence at most K answers, best first, or :class:`NoAnswer`.
        """
        training = [model for model in self.models if model.training]
        try:
            for model in training:
                model.eval()
            return self._answers(sources, prefix)
        finally:
            for model in training:
                model.train()

    def _answers(self, sources: Tensor, prefix: Optional[Tensor]) -> List[List[Hypothesis]]:
        """As :meth:`__call__`; sentences that the models cannot read are left out at once."""
        faults = [
            next(filter(None, (model.unreadable(source) for model in self.models)), None)
            for source in sources.cpu()
        ]
        answers: List[List[Hypothesis]] = [NoAnswer(f"the sentence {fault}") for fault in faults]
        read = [place for place, fault in enumerate(faults) if fault is None]
        if len(read) < len(faults):
            sources, prefix = sources[read], None if prefix is None else prefix[read]
        for place, found in zip(read, self._search(sources, prefix) if read else ()):
            answers[place] = found
        return answers

    def _search(self, sources: Tensor, prefix: Optional[Tensor]) -> List[List[Hypothesis]]:
        encoded = [model.encode(sources) for model in self.models]
        slots = encoded[0].slots.to("cpu")
        least, most, refused = self._lengths(sources)
        if prefix is not None:
            prefix = self._begin(prefix, slots, refused)
        slots = slots.named(prefix)
        # The first step takes 2 K candidates out of one row; some strategies take more.
        fewest = max(2 * self.options.beam + 1, getattr(self.strategy, "sampling_topk", 0))
        width = max(slots.num_columns, fewest)
        if prefix is not None:
            prefix = slots.encode(prefix)
        if self.constraint is not None:
            self.constraint.begin(encoded[0].canonical.cpu(), slots.every, width, most)
            refused.update(self.constraint.failures)
        search = _Search(self, encoded, slots.every, width, refused)
        return [
            found
            and [
                Hypothesis(slots.decode(h.tokens, place), h.score, h.positional_scores)
                for h in found
            ]
            for place, found in enumerate(search.run(least, most, prefix))
        ]

    def _begin(self, prefix: Tensor, slots: Slots, refused: Dict[int, str]) -> Tensor:
        """(B, P) dictionary indices that answers can begin with. Notes the sentences whose answers
        cannot begin as they should."""
        vocabulary, pad = self.models[0].vocabulary, self.models[0].vocabulary.dictionary.pad()
        canonical = slots.encode(prefix)
        impossible = vocabulary.unproducible(canonical) & canonical.ne(pad)
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
        options = self.options
        size, length = sources.shape
        positions = min(model.max_decoder_positions() for model in self.models)
        if options.match_source_len:
            exact = sources.cpu().ne(self.models[0].vocabulary.dictionary.pad()).sum(1)
            refused = {
                place: f"an answer as long as its source has {number} tokens, but the model writes "
                f"at most {positions - 1}"
                for place, number in enumerate(exact.tolist())
                if number >= positions
            }
            exact = exact.clamp(max=positions - 1)
            return exact, exact, refused
        most = min(int(options.max_len_a * length + options.max_len_b), positions - 1)
        if most < 0:
            raise UserError(f"answers of at most {most} tokens", "max_len_a max_len_b")
        least, most = (torch.full((size,), n, device="cpu") for n in (options.min_len, most))
        return least, most, {}


class _Search:
    """The search for the answers to one batch, without sentences that are refused already."""

    def __init__(
        self,
        search: BeamSearch,
        encoded: List,
        slots: Tensor,
        width: int,
        refused: Dict[int, str],
    ) -> None:
        self._search, self._options, self._width = search, search.options, width
        dictionary = search.models[0].vocabulary.dictionary
        self._pad, self._eos, self._unk = dictionary.pad(), dictionary.eos(), dictionary.unk()
        self._refused = refused
        left = [place for place in range(len(slots)) if place not in refused]
        # Those that are still searched, on the CPU.
        self._sentences = torch.tensor(left, dtype=torch.long, device="cpu")
        self._memories = [m.memory(s) for m, s in zip(search.models, encoded)] if left else []
        self._ahead: Optional[Tensor] = None  # log-probabilities after each token of prefixes
        self._reorder(self._sentences)
        self._device = next(search.models[0].parameters()).device
        self._answers: List[List[Hypothesis]] = [[] for _ in slots]
        # Canonical symbols have columns beyond those of a sentence, which read as <unk>.
        first = search.models[0].vocabulary.num_base
        self._nameless = F.pad(slots.eq(self._unk), (first, width - first - slots.size(1)))

    def run(self, least: Tensor, most: Tensor, prefix: Optional[Tensor]) -> List[List[Hypothesis]]:
        """Answers in canonical ids, of ``least`` to ``most`` (B,) tokens without ``</s>``."""
        if not self._sentences.numel():
            return self._found(prefix)
        least, most = least[self._sentences], most[self._sentences]
        prefix = None if prefix is None else prefix[self._sentences]
        beam, longest = self._options.beam, int(most.max())
        if prefix is not None:
            self._read(prefix[:, :longest])
        self._reorder(torch.arange(self._sentences.numel(), device="cpu").repeat_interleave(beam))
        rows = self._sentences.numel() * beam
        tokens = torch.full((rows, longest + 2), self._pad, device="cpu")
        tokens[:, 0] = self._eos
        scores = torch.zeros(rows, longest + 1, device="cpu")
        constraint = self._search.constraint
        states = constraint and constraint.start(self._sentences, beam)
        for step in range(longest + 1):
            log_probs = self._log_probs(tokens[:, : step + 1])
            scores = scores.to(log_probs.dtype)
            if constraint is not None:
                room = (most - step).repeat_interleave(beam)
                sentences = self._sentences.repeat_interleave(beam)
                constraint.restrict(log_probs, states, room, sentences)
                log_probs.masked_fill_(self._nameless[sentences], -math.inf)
            self._restrict(log_probs, tokens, step, least, most, prefix)
            dead = log_probs.amax(1).eq(-math.inf)
            if not isinstance(self._search.strategy, Best):
                log_probs[dead, self._pad] = 0.0  # others may need a token that can follow
            found, columns, parents = self._search.strategy.step(
                step,
                log_probs.view(-1, beam, self._width),
                scores.view(-1, beam, longest + 1)[:, :, :step],
                tokens[:, : step + 1],
                self._sentences,
            )
            parents = parents + torch.arange(parents.size(0), device="cpu").unsqueeze(1) * beam
            found = found.masked_fill(dead[parents], -math.inf)
            ends = columns.eq(self._eos) & found.ne(-math.inf)
            self._note_answers(step, tokens, scores, found, parents, ends)
            found = found.masked_fill(ends, -math.inf)
            left = self._unfinished(step, longest, found, ends)
            if not bool(left.any()):
                break
            # The best K candidates that do not end; a strategy may have fewer.
            chosen = ends.long()[left].argsort(dim=1, stable=True)[:, :beam]
            found, columns, parents = (
                part[left].gather(1, chosen).flatten() for part in (found, columns, parents)
            )
            # A candidate that cannot be may name any column, also a fresh symbol.
            columns = columns.masked_fill(found.eq(-math.inf), self._pad)
            tokens, scores = tokens[parents], scores[parents]
            tokens[:, step + 1], scores[:, step] = columns, found
            least, most = least[left], most[left]
            prefix = None if prefix is None else prefix[left]
            self._sentences = self._sentences[left]
            if constraint is not None:
                sentences = self._sentences.repeat_interleave(beam)
                states = constraint.follow(states[parents], columns, sentences)
            self._reorder(parents)
        return self._found(prefix)

    def _found(self, prefix: Optional[Tensor]) -> List[List[Hypothesis]]:
        """The answers to each sentence, best first, or why there are none."""
        reason = "all its answers have the probability 0 or none"
        if self._search.constraint is not None:
            self._refused.update(self._search.constraint.failures)
            reason = "the grammar allows no answer to it"
            if prefix is not None:
                reason = "no well-formed answer begins with its prefix"
        for place, nbest in enumerate(self._answers):
            if place in self._refused or not nbest:
                self._answers[place] = NoAnswer(self._refused.get(place, reason))
            nbest.sort(key=lambda answer: -float(answer.score))
        return self._answers

    def _read(self, prefix: Tensor) -> None:
        """Reads at once those tokens of (B, P) prefixes that no sentence lacks."""
        length = int(prefix.ne(self._pad).all(0).long().cumprod(0).sum())
        if length:
            self._ahead = self._next(F.pad(prefix[:, :length], (1, 0), value=self._eos))

    def _log_probs(self, tokens: Tensor) -> Tensor:
        """(B*K, V) of the next token."""
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
        return F.pad(log_probs, (0, self._width - log_probs.size(2)), value=-math.inf)

    def _restrict(
        self,
        log_probs: Tensor,
        tokens: Tensor,
        step: int,
        least: Tensor,
        most: Tensor,
        prefix: Optional[Tensor],
    ) -> None:
        """Masks the tokens that an answer cannot go on with."""
        options = self._options
        log_probs.masked_fill_(log_probs.isnan(), -math.inf)
        log_probs[:, self._pad] = -math.inf
        log_probs[:, self._unk] -= options.unk_penalty
        end = log_probs[:, self._eos].clone()
        given = torch.full_like(end, self._pad, dtype=torch.long)
        if prefix is not None and step < prefix.size(1):
            given = prefix[:, step].repeat_interleave(options.beam)
        given = given.masked_fill((most <= step).repeat_interleave(options.beam), self._eos)
        free = given.eq(self._pad)
        too_short = (step < least).repeat_interleave(options.beam) & free
        log_probs[:, self._eos] = -math.inf
        too_short &= log_probs.amax(1) > -math.inf  # where something else can follow
        log_probs[:, self._eos] = end.masked_fill(too_short, -math.inf)
        if not bool(free.all()):
            others = torch.ones_like(log_probs, dtype=torch.bool).scatter(
                1, given.unsqueeze(1), False
            )
            log_probs.masked_fill_(others & ~free.unsqueeze(1), -math.inf)
        if 0 < options.no_repeat_ngram_size <= step + 1:
            self._block_repetitions(log_probs, tokens[:, 1 : step + 1].tolist())

    def _block_repetitions(self, log_probs: Tensor, beginnings: List[List[int]]) -> None:
        """Blocks tokens that would repeat an n-gram, unless nothing else is left."""
        size = self._options.no_repeat_ngram_size - 1
        for row, words in zip(log_probs, beginnings):
            last = words[len(words) - size :]
            places = range(len(words) - size)
            repeated = [words[n + size] for n in places if words[n : n + size] == last]
            blocked = row.index_fill(
                0, torch.tensor(repeated, dtype=torch.long, device="cpu"), -math.inf
            )
            if bool(blocked.ne(-math.inf).any()):
                row.copy_(blocked)

    def _note_answers(
        self,
        step: int,
        tokens: Tensor,
        scores: Tensor,
        found: Tensor,
        parents: Tensor,
        ends: Tensor,
    ) -> None:
        """Keeps the answers that end among the best K candidates."""
        options = self._options
        place, candidate = ends[:, : options.beam].nonzero(as_tuple=True)
        rows, total = parents[place, candidate], found[place, candidate]
        answers = tokens[rows, 1 : step + 2]
        answers[:, step] = self._eos
        each = scores[rows, : step + 1]
        each[:, step] = total
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
        for place in bound.eq(-math.inf).nonzero().squeeze(1).tolist():
            # Nothing can follow, and nothing was found: there is no answer.
            left[place] = bool(self._answers[int(self._sentences[place])])
        for place in ends[:, :beam].any(1).nonzero().squeeze(1).tolist():
            answers = self._answers[int(self._sentences[place])]
            full = len(answers) == beam
            if self._search.ends_by_bound:
                # After a prefix with its </s> nothing goes on, be the answers ever so few.
                nothing = bool(bound[place] == -math.inf)
                left[place] = not nothing and not (
                    full and bool(bound[place] <= answers[nbest - 1].score)
                )
            else:
                left[place] = not full
        return left

    def _reorder(self, rows: Tensor) -> None:
        """Goes on with the hypotheses that continue the given ones."""
        for memory in self._memories:
            memory.reorder(rows)
        if self._ahead is not None:
            self._ahead = self._ahead[rows]
