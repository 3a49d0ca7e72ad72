"""The language model of transformers, as :mod:`sit_fairseq.export.hugging_face` has other models.

Shapes: B texts, T tokens, L ids, see :class:`~sit_fairseq.export.hugging_face_tokens.Spelling`.
"""

import logging
import math
from typing import Any, Dict, List, Optional, Union

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import GenerationConfig
from transformers.modeling_outputs import CausalLMOutput

from sit_fairseq.export.hugging_face_base import (
    IGNORED,
    Answers,
    SymbolInvariantConfig,
    SymbolInvariantModel,
    padded,
)
from sit_fairseq.export.hugging_face_tokens import EOS, PAD
from sit_fairseq.models.language_model import (
    LanguageModelConfig,
    SymbolInvariantLanguageModel,
    make_vocabulary,
)
from sit_fairseq.search.hypotheses import SearchOptions
from sit_fairseq.search.prompt_search import PromptSearch
from sit_fairseq.search.strategies import Sampling
from sit_fairseq.symbols.slots import Slots

logger = logging.getLogger(__name__)


class SymbolInvariantTextConfig(SymbolInvariantConfig):
    """What ``config.json`` of a language model says."""

    model_type = "symbol_invariant_transformer_lm"

    def model_options(self, kind: Any = LanguageModelConfig) -> LanguageModelConfig:
        """The options of the model alone."""
        return super().model_options(kind)


class SymbolInvariantForCausalLM(SymbolInvariantModel):
    """:class:`SymbolInvariantLanguageModel` over the ids of :class:`SymbolTokenizer`."""

    config_class = SymbolInvariantTextConfig
    _lengths: Dict[str, str] = {}

    def _vocabulary(self, options: LanguageModelConfig, names: Optional[str]) -> Any:
        return make_vocabulary(options, self._dictionary, names)

    def _core(self, options: LanguageModelConfig, vocabulary: Any, seed: int) -> torch.nn.Module:
        return SymbolInvariantLanguageModel(options, vocabulary)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Optional[Tensor] = None,
        labels: Optional[Tensor] = None,
        **others: Any,
    ) -> CausalLMOutput:
        """Teacher forcing.

        Args:
            input_ids: (B, L) texts, padded on either side, with or without a first ``<s>``.
            attention_mask: (B, L) 0 at padding.
            labels: (B, L) the same, -100 where no loss counts.

        Returns:
            ``logits``, (B, L, vocab_size) log-probabilities of the id after each one, see
            :func:`over_ids`; with labels ``loss``, the mean cross-entropy of an id after the first.
            A new symbol is called as in the text.

        Raises:
            ValueError: ids spell no texts, or another option of transformers is given.
        """
        self._refuse(others)
        if labels is not None and labels.shape != input_ids.shape:
            raise ValueError("labels need the shape of input_ids")
        with self._names():
            texts = self._texts(input_ids, attention_mask)
            for text in texts:
                ends = text[:-1].eq(EOS) & text[1:].ne(PAD)
                fault = "goes on after its </s>" if ends.any() else self.core.unreadable(text)
                if fault is not None:
                    raise ValueError(f"a text {fault}")
            tokens = F.pad(texts, (1, 0), value=EOS)[:, : self.core.max_decoder_positions()]
            slots = Slots(self.core.vocabulary, texts.new_empty(len(texts), 0)).named(texts)
            logits = self._logits(
                self.core(tokens.to(self.device)), input_ids, attention_mask, slots
            )
        if labels is None:
            return CausalLMOutput(logits=logits)
        given = input_ids.ne(PAD) if attention_mask is None else attention_mask
        counted = labels.masked_fill(given.cumsum(1) < 2, IGNORED)
        return CausalLMOutput(loss=self._loss(logits[:, :-1], counted[:, 1:]), logits=logits)

    @torch.no_grad()
    def generate(
        self,
        input_ids: Optional[Tensor] = None,
        attention_mask: Optional[Tensor] = None,
        generation_config: Optional[GenerationConfig] = None,
        **options: Any,
    ) -> Union[Tensor, Answers]:
        """Continues a batch of prompts. Options are called as in transformers and count tokens.

        Args:
            input_ids: (B, L) prompts, padded on either side; also called ``inputs``.
            attention_mask: (B, L) 0 at padding.
            generation_config: options, in the place of ``model.generation_config``.
            num_beams: width of the beam; 1 is greedy.
            num_return_sequences: N, continuations of each prompt.
            do_sample: draw N continuations instead of searching for the best.
            temperature: logits are divided by it.
            top_k, top_p: see :class:`Sampling`.
            max_new_tokens: the most tokens of a continuation without its ``</s>``.
            max_length: the most tokens of a text without ``<s>`` and ``</s>``, in its place.
            length_penalty: log-probabilities are divided by the length of the text to the power of it.
            no_repeat_ngram_size: no sequence of so many tokens comes twice; 0 for no such limit.
            return_dict_in_generate: return :class:`Answers`.

        Returns:
            ``sequences`` of :class:`Answers`, the given ids and those of the continuations, or all of
            it. A prompt that cannot be continued is logged, and has a reason in its place.

        Raises:
            ValueError: there is no such option, or options contradict each other.
        """
        prompts = options.pop("inputs", None) if input_ids is None else input_ids
        if prompts is None:
            raise ValueError("generate needs input_ids")
        chosen = self._chosen(generation_config, options)
        return self._answer(prompts, attention_mask, **chosen)

    def _answer(
        self,
        input_ids: Tensor,
        attention_mask: Optional[Tensor],
        *,
        num_beams: int = 1,
        num_return_sequences: int = 1,
        do_sample: bool = False,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        max_new_tokens: int = 100,
        max_length: Optional[int] = None,
        length_penalty: float = 1.0,
        no_repeat_ngram_size: int = 0,
        return_dict_in_generate: bool = False,
    ) -> Union[Tensor, Answers]:
        """See :meth:`generate`."""
        if do_sample and num_beams > 1:
            raise ValueError("samples have no beam; num_return_sequences says how many there are")
        options = SearchOptions(
            beam=num_return_sequences if do_sample else num_beams,
            nbest=num_return_sequences,
            max_len_a=float(max_length is None),
            max_len_b=max_new_tokens if max_length is None else max_length,
            min_len=0,
            len_penalty=length_penalty,
            temperature=temperature,
            no_repeat_ngram_size=no_repeat_ngram_size,
        )
        if options.nbest > options.beam:
            raise ValueError(f"a beam of {options.beam} has no {options.nbest} continuations")
        search = PromptSearch([self.core], options, Sampling(top_k, top_p) if do_sample else None)
        with self._names():
            prompts = self._texts(input_ids, attention_mask)
            prompts = prompts.masked_fill(prompts.eq(EOS), PAD)
            found = search(prompts)
            rows, scores = [], []
            for given, prompt, nbest in zip(input_ids.tolist(), prompts, found):
                length = int(prompt.ne(PAD).sum())
                for answer in nbest[: options.nbest]:
                    words = [self._dictionary[index] for index in answer.tokens[length:].tolist()]
                    rows.append([*given, *(number for word in words for number in self._ids(word))])
                    scores.append(float(answer.score))
                missing = options.nbest - len(nbest[: options.nbest])
                rows += [[*given, EOS]] * missing
                scores += [-math.inf] * missing
        reasons = [getattr(nbest, "reason", None) for nbest in found]
        for number, reason in enumerate(reasons, start=1):
            if reason is not None:
                logger.warning("prompt %d has no continuation: %s", number, reason)
        sequences, scores = padded(rows).to(self.device), torch.tensor(scores, device=self.device)
        return Answers(sequences, scores, reasons=reasons) if return_dict_in_generate else sequences

    def _texts(self, ids: Tensor, mask: Optional[Tensor]) -> Tensor:
        """(B, T) dictionary indices of texts, without a first ``<s>`` or ``</s>``, padded on the
        right."""
        read = self._read(ids, mask, limited=False)
        rows = [[index for index in row if index != PAD] for row in read.tolist()]
        return padded([row[1:] if row[:1] == [EOS] else row for row in rows])
