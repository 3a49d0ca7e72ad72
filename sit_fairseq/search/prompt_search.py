"""The search for continuations of prompts."""

from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor

from sit_fairseq.errors import UserError
from sit_fairseq.search.beam_search import BeamSearch
from sit_fairseq.search.hypotheses import Hypothesis, SearchOptions
from sit_fairseq.search.searchable import Searchable
from sit_fairseq.search.strategies import Sampling


class PromptSearch(BeamSearch):
    """Searches for the most probable texts that begin with prompts, (B, P) dictionary indices without
    ``</s>``, padded on the right.

    An answer is a whole text: its tokens, score and length are those of prompt and continuation. It has
    ``min_len`` to ``max_len_a * P + max_len_b`` tokens, for the P tokens of its own prompt. A UserError
    if an option needs a source.
    """

    def __init__(
        self,
        models: List[Searchable],
        options: SearchOptions,
        sampling: Optional[Sampling] = None,
    ) -> None:
        super().__init__(models, options, sampling)
        if options.match_source_len:
            raise UserError("a continuation has no source to be as long as", "match_source_len")

    def __call__(self, prompts: Tensor, prefix: Optional[Tensor] = None) -> List[List[Hypothesis]]:
        """As :class:`BeamSearch`; prompts are prefixes, and no other is used."""
        return super().__call__(prompts, prompts if prompts.size(1) else None)

    def _lengths(self, prompts: Tensor) -> Tuple[Tensor, Tensor, Dict[int, str]]:
        options, pad = self.options, self.models[0].vocabulary.dictionary.pad()
        size = prompts.cpu().ne(pad).sum(1)
        most = (options.max_len_a * size + options.max_len_b).long().clamp(max=self._longest)
        refused = {
            place: f"the prompt has {size[place]} tokens, and a text at most {most[place]}"
            for place in (size > most).nonzero().squeeze(1).tolist()
        }
        return torch.full_like(size, options.min_len), most, refused
