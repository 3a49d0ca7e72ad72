"""Beam search and scoring in slot space, with names put back at the end.

The search sees canonical ids only, so that not even its tie-breaking can depend on how
symbols are called or on how many a dictionary holds.
"""

import math
from typing import Dict, List, Optional

import torch
import torch.nn.functional as F
from fairseq import utils
from fairseq.ngram_repeat_block import NGramRepeatBlock
from fairseq.search import BeamSearch
from fairseq.sequence_generator import EnsembleModel, SequenceGenerator
from fairseq.sequence_scorer import SequenceScorer
from torch import Tensor

from sit_fairseq.errors import UserError
from sit_fairseq.models.encoder import EncodedSource
from sit_fairseq.models.transformer import log_probabilities

_CACHE = "streams"  # our key in fairseq's incremental state


def check_same_columns(models: List) -> None:
    """Members of an ensemble must agree on the columns they vote about.

    Raises:
        UserError: if two models differ in their base tokens or kind of symbols.
    """
    for model in models[1:]:
        if not model.vocabulary.same_columns(models[0].vocabulary):
            raise UserError(
                "the checkpoints given to --path have different base tokens or another "
                "--symbol-embedding or --fresh-symbols and cannot vote as an ensemble; name one of "
                "them, or models trained on the same tokens"
            )


class _SlotSpaceEnsemble(EnsembleModel):
    """Asks the models for a search on the CPU, wherever they are.

    fairseq's search decides on the CPU what to do next, which on a GPU means to wait for it
    some ten times in each step. The columns are few: to fetch them is one wait.
    """

    width = 0

    def has_incremental_states(self) -> bool:
        """A model that is no fairseq decoder remembers steps, too."""
        return True

    def forward_encoder(self, net_input: Dict[str, Tensor]) -> List[EncodedSource]:
        """The encoded sources of each model."""
        return [model.encode(net_input["src_tokens"]) for model in self.models]

    def forward_decoder(self, tokens, encoder_outs, incremental_states, temperature=1.0):
        """As in fairseq; dead columns are added up to the width the search needs."""
        tokens = tokens.to(next(self.single_model.parameters()).device, non_blocking=True)
        found = []
        for model, source, state in zip(self.models, encoder_outs, incremental_states):
            if _CACHE not in state:
                state[_CACHE] = model.new_cache(source)
            logits = model.step(tokens, source, state[_CACHE])
            found.append(log_probabilities(logits.div_(temperature))[:, -1, :])
        lprobs = found[0]
        if len(found) > 1:
            lprobs = torch.logsumexp(torch.stack(found, dim=0), dim=0) - math.log(len(found))
        lprobs = lprobs.cpu()
        return F.pad(lprobs, (0, self.width - lprobs.size(1)), value=-math.inf), None

    def reorder_encoder_out(self, encoder_outs, new_order: Tensor) -> List[EncodedSource]:
        """Makes the hypotheses that ``new_order`` names out of those there are."""
        return [source.reorder(new_order) for source in encoder_outs]

    def reorder_incremental_state(self, incremental_states, new_order: Tensor) -> None:
        """Follows fairseq's beams: each hypothesis takes all its streams along."""
        for state in incremental_states:
            state[_CACHE].reorder(new_order)


class _RepeatedNgramBlocker(torch.nn.Module):
    """fairseq's for the CPU, given what was generated: it would take the end of the buffer for
    it. Where it would leave no token at all, as before --min-len, it leaves those there were."""

    def __init__(self, blocker: NGramRepeatBlock) -> None:
        super().__init__()
        self.blocker = blocker
        blocker.use_extension = False  # which is for a GPU

    def forward(self, tokens: Tensor, lprobs: Tensor, bsz: int, beam_size: int, step: int):
        """(bsz * beam, length) tokens, of which step + 1 are set."""
        found = tokens[:, : step + 1].contiguous()
        blocked = self.blocker(found, lprobs.clone(), bsz, beam_size, step)
        return torch.where(blocked.eq(-math.inf).all(1, keepdim=True), lprobs, blocked)


class _WatchedBeamSearch(BeamSearch):
    """fairseq's, which notes what it could go on with.

    Attributes:
        best_unfinished: (B,) the best log-probability at the last step among each sentence's
            candidates that do not end.
    """

    def step(self, *args, **kwargs):
        """As in fairseq."""
        scores, tokens, beams = super().step(*args, **kwargs)
        self.best_unfinished = scores.masked_fill(tokens.eq(self.eos), -math.inf).amax(1)
        return scores, tokens, beams


class StreamSequenceGenerator(SequenceGenerator):
    """fairseq's generator over ``V_n + S`` canonical columns instead of a dictionary.

    Beam search also ends differently. fairseq ends a sentence as soon as as many
    hypotheses are finished as the beam is wide; short ones finish first, and AdaCos
    keeps probabilities flat enough for them to crowd out the answer that greedy decoding
    finds. Here the search goes on while an unfinished hypothesis may still come to a score
    better than that of the ``nbest``-th finished one. No token adds to a log-probability, so
    that no score will be better than that of an unfinished hypothesis if it is divided as for
    the greatest length: the first ``nbest`` answers are those of the search that never ends
    before that length. The reference implementations compare so too. What a list holds beyond
    them may differ. A beam of 1 is greedy decoding, which ends with its answer.

    Args:
        models: an ensemble of stream models.
        tgt_dict: only its special tokens are used.
        beam_size: may exceed the number of columns.
        nbest: number of answers to a sentence that will be used.
        **kwargs: as in fairseq, without language model fusion, suppressed tokens and
            lexical constraints.
    """

    def __init__(self, models, tgt_dict, beam_size: int = 1, *, nbest: int = 1, **kwargs) -> None:
        if kwargs.get("lm_model") is not None or kwargs.get("tokens_to_suppress"):
            raise UserError("--lm-path and suppressed tokens are not supported with streams")
        check_same_columns(models)
        if type(kwargs.get("search_strategy")) in (type(None), BeamSearch):
            kwargs["search_strategy"] = _WatchedBeamSearch(tgt_dict)
        super().__init__(_SlotSpaceEnsemble(models), tgt_dict, beam_size=beam_size, **kwargs)
        self.beam_size = beam_size
        self._ends_by_bound = beam_size > 1 and isinstance(self.search, _WatchedBeamSearch)
        self._nbest = min(nbest, beam_size)
        if self.repeat_ngram_blocker is not None:
            self.repeat_ngram_blocker = _RepeatedNgramBlocker(self.repeat_ngram_blocker)

    def is_finished(self, step, unfin_idx, max_len, finalized_sent_len, beam_size) -> bool:
        """Whether fairseq's own bookkeeping ends a sentence: at the greatest length only."""
        if not self._ends_by_bound:
            return super().is_finished(step, unfin_idx, max_len, finalized_sent_len, beam_size)
        return step == max_len

    def finalize_hypos(
        self,
        step,
        bbsz_idx,
        eos_scores,
        tokens,
        scores,
        finalized,
        finished,
        beam_size,
        attn,
        src_lengths,
        max_len,
    ) -> List[int]:
        """Adds finished hypotheses, keeps the best, and ends sentences that are done.

        A sentence is looked at only when a hypothesis of its own finishes, so that when it ends
        is its own affair. Equal batches have equal results; beside other sentences the scores
        may differ by rounding, as products of matrices of another size do, and where scores are
        that close so may the tokens.

        Returns:
            positions, in the batch as it is now, of the sentences that end.
        """
        rest = (tokens, scores)
        common = (finished, beam_size, attn, src_lengths, max_len)
        if not self._ends_by_bound:
            return super().finalize_hypos(step, bbsz_idx, eos_scores, *rest, finalized, *common)
        sentences = [sentence for sentence, done in enumerate(finished) if not done]
        new: List[List[Dict[str, Tensor]]] = [[] for _ in finalized]
        ended = super().finalize_hypos(step, bbsz_idx, eos_scores, *rest, new, *common)
        for hypotheses, added in zip(finalized, new):
            hypotheses.extend(added)
            hypotheses.sort(key=lambda hypothesis: -float(hypothesis["score"]))
            del hypotheses[beam_size:]
        bound = self._best_possible(self.search.best_unfinished, step, max_len)
        for position in torch.unique(bbsz_idx // beam_size).tolist():
            sentence = sentences[position]
            best = finalized[sentence]
            # After a prefix with its </s>, for one, nothing goes on, be the answers ever so few.
            done = bound[position] == -math.inf or (
                len(best) == beam_size and bound[position] <= best[self._nbest - 1]["score"]
            )
            if done and not finished[sentence]:
                finished[sentence] = True
                ended.append(position)
        return ended

    def _best_possible(self, unfinished: Tensor, step: int, max_len: int) -> Tensor:
        """The best scores that unfinished hypotheses can come to.

        Args:
            unfinished: (B,) their log-probabilities.
            step: the last one, from 0.
            max_len: the greatest number of tokens without ``</s>``.

        Returns:
            (B,) scores.
        """
        if self.unk_penalty < 0:  # a bonus, which each token to come may earn
            unfinished = unfinished - self.unk_penalty * (max_len - step)
        if not self.normalize_scores:
            return unfinished
        # With its </s> a hypothesis will have step + 2 to max_len + 1 tokens. What it is divided
        # by rises or falls all the way.
        shortest, longest = (
            unfinished / length**self.len_penalty for length in (step + 2, max_len + 1)
        )
        return torch.maximum(shortest, longest)

    def _generate(
        self,
        sample: Dict,
        prefix_tokens: Optional[Tensor] = None,
        constraints: Optional[Tensor] = None,
        bos_token: Optional[int] = None,
    ) -> List[List[Dict[str, Tensor]]]:
        vocabulary = self.model.single_model.vocabulary
        sample = utils.move_to_cpu(sample)
        # Diverse beams index a table of the batch by what the search believes to be its places.
        sample.pop("id", None)
        names = vocabulary.canonicalise(sample["net_input"]["src_tokens"])[1]
        prefix_tokens = None if prefix_tokens is None else prefix_tokens.cpu()
        slots = vocabulary.slots(names, prefix_tokens)
        self._check_names(names, slots)
        if prefix_tokens is not None:
            prefix_tokens = self._encode_prefix(prefix_tokens, names)
        # The search takes 2 x beam candidates out of one row at its first step; sampling
        # sorts out as many as --sampling-topk says.
        least = max(2 * self.beam_size + 1, getattr(self.search, "sampling_topk", 0))
        self.vocab_size = max(vocabulary.num_columns(names), least)
        self.model.width = self.search.vocab_size = self.vocab_size
        finished = super()._generate(sample, prefix_tokens, constraints, bos_token)
        for hypotheses, own in zip(finished, slots):
            for hypothesis in hypotheses:
                hypothesis["tokens"] = vocabulary.decode(hypothesis["tokens"], own)
        return finished

    def _check_names(self, names: Tensor, slots: Tensor) -> None:
        """Raises if a sentence leaves too few names for its reserved slots.

        Raises:
            UserError: naming how many there are.
        """
        vocabulary = self.model.single_model.vocabulary
        wanted = names.ne(self.pad).sum(1) + vocabulary.fresh_symbols
        lacking = slots.ne(self.pad).sum(1) < wanted
        if vocabulary.fresh is not None and bool(lacking.any()):
            own = names[lacking][0][names[lacking][0].ne(self.pad)].tolist()
            raise UserError(f"a sentence of {len(own)} symbols {vocabulary.fresh.lacking(own)}")

    def _encode_prefix(self, prefix: Tensor, names: Tensor) -> Tensor:
        """(B, T) dictionary indices to canonical ids.

        Raises:
            UserError: no answer can begin so.
        """
        vocabulary = self.model.single_model.vocabulary
        canonical = vocabulary.encode(prefix, names)
        impossible = vocabulary.unproducible(canonical) & canonical.ne(self.pad)
        if bool(impossible.any()):
            token = vocabulary.dictionary[int(prefix[impossible][0])]
            raise UserError(
                f"an answer cannot begin with {token!r}, as a prefix asks for: it is no symbol of "
                "its source (nor within --fresh-symbols) and no token that answers can hold; "
                "change the prefix, or lower --prefix-size"
            )
        return canonical


class StreamSequenceScorer(SequenceScorer):
    """fairseq's scorer of given targets (``--score-reference``)."""

    def generate(self, models, sample, **kwargs):
        """As in fairseq; the target is compared in canonical ids.

        Raises:
            UserError: there are no targets.
        """
        if sample.get("target") is None:
            raise UserError(
                "scores of given answers need answers, but the data have no targets; use "
                "fairseq-generate --score-reference with data that have"
            )
        check_same_columns(models)
        vocabulary = models[0].vocabulary
        names = vocabulary.canonicalise(sample["net_input"]["src_tokens"])[1]
        slots = vocabulary.slots(names.cpu(), sample["target"].cpu()).to(names.device)
        target = vocabulary.encode(sample["target"], names)
        scored = super().generate(models, {**sample, "target": target}, **kwargs)
        for hypotheses, own in zip(scored, slots):
            for hypothesis in hypotheses:
                hypothesis["tokens"] = vocabulary.decode(hypothesis["tokens"], own)
        return scored
