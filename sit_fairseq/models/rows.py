"""A model of transformers as a model with streams: each stream is a row of a batch.

With the attention pattern EP-DP-CP streams meet in the output alone (paper, section 3.2). So S rows of
a batch, decoded together with joined scores, are the stream form of a model that was trained without
streams. In row s the name s is the word ``actual``, and all other names are the word ``placeholder``.

Shapes: B sentences of U tokens, H hypotheses, T tokens so far, P of them new, S names, V tokens of the
model.
"""

import inspect
import math
from dataclasses import dataclass
from typing import Any, List, Optional

import torch
from torch import Tensor, nn

from sit_fairseq.errors import UserError
from sit_fairseq.symbols.slots import Slots, left_align
from sit_fairseq.symbols.tokens import TokenTable
from sit_fairseq.symbols.vocabulary import Vocabulary

_NONE = 2**20  # positions of a model that has no limit


@dataclass
class RowContext:
    """A batch as the model reads it.

    Attributes:
        canonical: (B, U) canonical ids.
        slots: the names of each sentence.
        rows: (B,) the rows of each sentence, at least one.
        states: (rows, U, C) the encoder's output; None for a causal model.
        mask: (rows, U) 0 at padding.
    """

    canonical: Tensor
    slots: Slots
    rows: Tensor
    states: Optional[Tensor] = None
    mask: Optional[Tensor] = None


class RowMemory:
    """The memory of the rows of hypotheses.

    Attributes:
        numbers: (H,) the names of the sentence of each hypothesis.
        prompt: (H, U) the canonical ids that the texts of a causal model begin with.
        cache: the model's keys and values, or its state; None before the first token.
        read: the tokens that were read.
        begun: whether the model has read some of them.
    """

    def __init__(self, context: RowContext) -> None:
        self.numbers, self._rows = context.slots.num_slots, context.rows
        self.prompt = context.canonical[:, : 0 if context.states is not None else None]
        self.states, self.mask = context.states, context.mask
        self.cache: Any = None
        self.read, self.begun = 0, False

    @property
    def owner(self) -> Tensor:
        """(rows,) the hypothesis of each row."""
        return torch.arange(len(self._rows)).repeat_interleave(self._rows)

    @property
    def number(self) -> Tensor:
        """(rows,) the number of each row among those of its hypothesis."""
        starts = self._rows.cumsum(0) - self._rows
        return torch.arange(int(self._rows.sum())) - starts[self.owner]

    def reorder(self, hypotheses: Tensor) -> None:
        """Goes on with these hypotheses."""
        starts = self._rows.cumsum(0) - self._rows
        self.numbers, self._rows = self.numbers[hypotheses], self._rows[hypotheses]
        self.prompt = self.prompt[hypotheses]
        places = starts[hypotheses][self.owner] + self.number
        if self.states is not None:
            places = places.to(self.states.device)
            self.states, self.mask = self.states[places], self.mask[places]
        if self.cache is not None:
            self._reorder_cache(places)

    def _reorder_cache(self, rows: Tensor) -> None:
        if hasattr(self.cache, "reorder_cache"):
            self.cache.reorder_cache(rows)
        else:  # keys and values by layer, before transformers 4.5x
            self.cache = tuple(
                tuple(part.index_select(0, rows.to(part.device)) for part in layer)
                for layer in self.cache
            )


class RowModel(nn.Module):
    """A model of transformers as a search asks it, see
    :class:`~sit_fairseq.search.searchable.Searchable`.

    Its base tokens are the ids of the model, written as numbers.

    Args:
        model: a seq2seq or causal model with a language modelling head.
        symbols: patterns of the names, one a line.
        actual, placeholder: ids of the two words.
        hidden: ids that no answer holds.

    Raises:
        UserError: no token ends the answers of the model; when it is asked, it keeps no cache.
    """

    def __init__(
        self, model: nn.Module, symbols: str, actual: int, placeholder: int, hidden: List[int]
    ) -> None:
        super().__init__()
        self.model, self._actual, self._placeholder = model, actual, placeholder
        self._hidden = torch.tensor(hidden, dtype=torch.long, device="cpu")
        self._size = model.get_output_embeddings().weight.size(0)
        tokens = tuple(f"{index:07d}" for index in range(self._size))
        self.vocabulary = Vocabulary(TokenTable(tokens, symbols))
        self._first = self.vocabulary.num_base - self._size
        self._seq2seq = model.config.is_encoder_decoder
        ends = model.generation_config.eos_token_id
        every = ends if isinstance(ends, list) else [ends]
        known = [one for one in every if one in range(self._size)]
        if not known:
            reason = f"the model's generation_config.eos_token_id is {ends}, no token of it"
            raise UserError(f"{reason}; set it")
        self._ends = torch.tensor(known, device="cpu")
        known = inspect.signature(model.forward).parameters
        names = (name for name in ("cache", "cache_params") if name in known)  # of states
        self._cache = next(names, "past_key_values")
        start = model.generation_config.decoder_start_token_id
        if start is None:
            start = getattr(model.config, "decoder_start_token_id", None)
        self._start = start or 0  # causal models have none

    def max_decoder_positions(self) -> int:
        """The longest answer in tokens, with its ``</s>``."""
        config = self.model.config
        if hasattr(config, "relative_attention_num_buckets"):  # T5's n_positions is no limit
            return _NONE
        names = ("max_position_embeddings", "n_positions", "max_target_positions")
        limits = [getattr(config, name, None) or 0 for name in names]
        return next((limit for limit in limits if limit > 0), _NONE)

    def unreadable(self, tokens: Tensor) -> Optional[str]:
        """The fault of a sentence that is too long for the model; words after "the sentence"."""
        number = tokens.ne(self.vocabulary.dictionary.pad()).sum() - int(self._seq2seq)
        most = self.max_decoder_positions()
        return f"has {number} tokens, more than the {most} of the model" if number > most else None

    def encode(self, tokens: Tensor) -> RowContext:
        """Reads (B, U) dictionary indices; those of an encoder end in ``</s>``, which it is not
        shown."""
        tokens, padding = left_align(tokens.cpu(), self.vocabulary.dictionary.pad())
        canonical, slots = self.vocabulary.read(tokens)
        context = RowContext(canonical, slots, slots.num_slots.clamp(min=1))
        if self._seq2seq:
            memory = RowMemory(context)
            shown = ~padding & tokens.ne(self.vocabulary.dictionary.eos())
            mask = shown[memory.owner][:, : int(shown.sum(1).max())].long()
            ids = self._ids(canonical[:, : mask.size(1)], memory, 0) * mask
            device = self.model.device
            context.mask = mask.to(device)
            encoder = self.model.get_encoder()
            context.states = encoder(
                input_ids=ids.to(device), attention_mask=context.mask
            ).last_hidden_state
        return context

    def memory(self, context: RowContext) -> RowMemory:
        """The empty memory of a batch."""
        return RowMemory(context)

    @torch.no_grad()
    def step(self, canonical: Tensor, memory: RowMemory) -> Tensor:
        """:meth:`forward` without gradients."""
        return self(canonical, memory)

    def forward(self, canonical: Tensor, memory: RowMemory) -> Tensor:
        """(H, P, V + 4 + S) logits after what the memory has not read of (H, T) canonical ids: base
        logits from the mean over the rows, that of a name from its own row (Algorithm 5)."""
        new = canonical[:, memory.read :].cpu()
        given = memory.prompt[:, memory.read : canonical.size(1)]
        begins = not memory.read and not self._seq2seq  # causal models have no </s> before a text
        memory.read = canonical.size(1)
        fed = new[:, 1:] if begins else new
        logits = torch.zeros(len(memory.owner), 0, self._size)
        if fed.size(1):
            ids = self._ids(fed, memory, self._start).to(self.model.device)
            logits = self._logits(ids, memory).float().cpu()
        if begins:
            logits = torch.cat((logits.new_zeros(logits.size(0), 1, self._size), logits), 1)
        return self._joined(logits, memory, given)

    def _logits(self, ids: Tensor, memory: RowMemory) -> Tensor:
        from transformers.modeling_outputs import BaseModelOutput

        if memory.begun and memory.cache is None:
            raise UserError(f"{type(self.model).__name__} keeps no cache that is known", "model")
        memory.begun = True
        given = {self._cache: memory.cache, "use_cache": True}
        if self._seq2seq:
            encoded = BaseModelOutput(last_hidden_state=memory.states)
            more = {"encoder_outputs": encoded, "attention_mask": memory.mask}
            output = self.model(decoder_input_ids=ids, **more, **given)
        else:
            output = self.model(input_ids=ids, **given)
        memory.cache = getattr(output, self._cache, None)
        return output.logits

    def _ids(self, canonical: Tensor, memory: RowMemory, start: int) -> Tensor:
        """(rows, P) ids of the model for (H, P) canonical ids."""
        owner, number = memory.owner, memory.number
        canonical = canonical[owner]
        slot = canonical - self.vocabulary.num_base
        word = torch.where(slot == number.unsqueeze(1), self._actual, self._placeholder)
        base = torch.where(canonical < self._first, start, canonical - self._first)
        return torch.where(slot >= 0, word, base)  # special tokens begin a text

    def _joined(self, logits: Tensor, memory: RowMemory, given: Tensor) -> Tensor:
        """Logits of hypotheses from those of rows; ``given`` is what follows in a prompt."""
        owner, numbers = memory.owner, memory.numbers
        total = logits.new_zeros(len(numbers), *logits.shape[1:]).index_add_(0, owner, logits)
        base = total / numbers.clamp(min=1)[:, None, None]
        end = base[:, :, self._ends].amax(2, keepdim=True)
        closed = base.new_full((*base.shape[:2], 1), -math.inf)
        never = torch.zeros_like(base, dtype=torch.bool)
        never[:, :, torch.cat((self._ends, self._hidden))] = True
        # The two words belong to names where they are fed.
        for word, least in ((self._actual, 1), (self._placeholder, 2)):
            never[:, :, word] |= (numbers >= least).unsqueeze(1)
        # A prompt may hold what no answer can.
        token, shown = given.unsqueeze(2) - self._first, never[:, : given.size(1)]
        place = token.clamp(min=0, max=self._size - 1)
        shown.scatter_(2, place, shown.gather(2, place) & token.ne(place))
        base = base.masked_fill(never, -math.inf)
        own = base.new_full((*base.shape[:2], int(numbers.max())), -math.inf)
        named = memory.number < numbers[owner]
        own[owner[named], :, memory.number[named]] = logits[named, :, self._actual]
        return torch.cat((closed, closed, end, closed, base, own), 2)
