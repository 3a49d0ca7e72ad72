"""The Symbol-Invariant Transformer (Isik & Li, ICML 2026)."""

from dataclasses import replace
from typing import Optional, Tuple

import torch
from torch import Tensor, nn

from sit_fairseq.errors import UserError
from sit_fairseq.models.baselines import make_embedding, read_slots
from sit_fairseq.models.cache import KeyValueCache
from sit_fairseq.models.config import ModelConfig, StackConfig, check
from sit_fairseq.models.context import EncodedSource
from sit_fairseq.models.decoder import StreamDecoder
from sit_fairseq.models.embedding import StreamTable, TokenEmbedding
from sit_fairseq.models.encoder import StreamEncoder, left_align
from sit_fairseq.models.own_places import RowDecoder, RowEncoder
from sit_fairseq.symbols.rows import Places
from sit_fairseq.symbols.slots import Slots
from sit_fairseq.symbols.vocabulary import Vocabulary


class SymbolInvariantTransformer(nn.Module):
    """Encoder-decoder over parallel embedding streams.

    Equivariant under renaming of symbols: ``f(rename(x)) = rename(f(x))``.

    Args:
        cfg: the options.
        vocabulary: base tokens and symbols, see :func:`~sit_fairseq.models.baselines.make_vocabulary`.
        seed: of the codes of ``symbol_embedding="random"`` in evaluation.

    Raises:
        UserError: an option is unknown, or some contradict each other.
    """

    def __init__(self, cfg: ModelConfig, vocabulary: Vocabulary, seed: int = 1) -> None:
        super().__init__()
        check(cfg)
        sides = [StackConfig.of(cfg, side) for side in ("encoder", "decoder")]

        def embedding(side: StackConfig) -> TokenEmbedding:
            return make_embedding(cfg, vocabulary, side.embed_dim, seed)

        own = cfg.stream_places == "own"
        self.encoder = (RowEncoder if own else StreamEncoder)(embedding(sides[0]), sides[0])
        shared = cfg.share_embeddings == "all"
        target = self.encoder.embed_tokens if shared else embedding(sides[1])
        output = embedding(sides[1]) if cfg.share_embeddings == "none" else None
        self.decoder = (RowDecoder if own else StreamDecoder)(target, sides[1], output)

    def _load_from_state_dict(self, state_dict, prefix, *args, **kwargs) -> None:
        """Refuses copies of one matrix that differ, as only the last would be taken."""
        first = {}
        for name, own in self.state_dict(prefix=prefix, keep_vars=True).items():
            other = first.setdefault(id(own), name)
            both = name in state_dict and other in state_dict
            if both and not torch.equal(state_dict[name], state_dict[other]):
                raise UserError(
                    f"the checkpoint is damaged: {other} and {name} are one matrix, but differ; "
                    "name another file"
                )
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    @property
    def vocabulary(self) -> Vocabulary:
        """Base tokens and the pattern of symbols, with the maps to canonical ids."""
        return self.encoder.embed_tokens.vocabulary

    @property
    def reader(self) -> StreamEncoder:
        """The side that reads sentences."""
        return self.encoder

    def unreadable(self, tokens: Tensor) -> Optional[str]:
        """The fault of a source that the model cannot read, else None: words that follow "the
        sentence". The source is (U,) dictionary indices with ``</s>``, padded on either side."""
        dictionary, longest = self.vocabulary.dictionary, self.encoder.cfg.max_positions
        tokens = tokens[tokens.ne(dictionary.pad())]
        if tokens.numel() > longest:
            return (
                f"has {tokens.numel() - 1} tokens, more than the {longest - 1} that the model reads"
            )
        words = [dictionary[index] for index in tokens.tolist() if index != dictionary.eos()]
        fault = self.encoder.embed_positions.fault(words)
        return fault or self.vocabulary.unreadable(tokens)

    def encode(self, tokens: Tensor, places: Optional[Tensor] = None) -> EncodedSource:
        """Makes one stream per symbol of each sentence and encodes them together.

        Names end here: the source is made canonical before anything is embedded, so that two
        sources that differ by a renaming give equal tensors, bit for bit.

        Args:
            tokens: (B, U) dictionary indices with ``</s>``, padded on either side.
            places: (B, U) the positions of tokens that are padded on the right; None for 0, 1, ...

        Raises:
            ValueError: positions are those of trees, and a source is not one formula.
        """
        dictionary = self.vocabulary.dictionary
        # A GPU waits for the CPU whenever a size depends on what it computed: hence sizes and
        # layout are computed on the CPU, which then says them once.
        tokens, padding = left_align(tokens.cpu(), dictionary.pad())
        canonical, slots = self.read(tokens)
        streams = slots.streams()
        length = (~padding & tokens.ne(dictionary.eos())).sum(1)
        prepared = self.encoder.embed_positions.prepare(canonical, length)
        padding = padding if bool(padding.any()) else None
        rows = self.encoder.rows(canonical, streams, padding)
        device = self.encoder.embed_tokens.weight.device
        slots, streams = slots.to(device), streams.to(device)
        canonical, padding, prepared, rows = (
            None if part is None else part.to(device, non_blocking=True)
            for part in (canonical, padding, prepared, rows)
        )
        at = 0 if places is None else Places.of(places, device)
        if rows is not None and places is not None:
            rows = replace(rows, spread=at)
        source, *tables = self.tables()
        states = self.encoder(canonical, streams, source, padding, prepared, rows, at)
        return EncodedSource(slots, streams, *tables, states, canonical, padding, rows, at)

    def read(self, tokens: Tensor) -> Tuple[Tensor, Slots]:
        """(B, T) dictionary indices of sources to canonical ids and the slots of their symbols."""
        return read_slots(self.vocabulary, tokens)

    def tables(self) -> Tuple[StreamTable, StreamTable, StreamTable]:
        """The vectors of a batch for sources, targets and output; one for all if they share it."""
        own, output = self.decoder.embed_tokens, self.decoder.output_projection
        source = self.encoder.embed_tokens.table()
        target = source if own is self.encoder.embed_tokens else own.table()
        return source, target, target if output is None else output.table()

    def decode(
        self, targets: Tensor, source: EncodedSource, places: Optional[Tensor] = None
    ) -> Tensor:
        """Computes logits for K targets of each encoded source (teacher forcing).

        Args:
            targets: (B*K, T) dictionary indices of the targets, each after ``</s>``.
            source: the sources, with K hypotheses.
            places: (B*K, T) the positions of the targets; None for 0, 1, ...

        Returns:
            (B*K, T, V_n + S + R) logits over canonical ids.
        """
        at = 0 if places is None else Places.of(places, targets.device)
        return self.decoder(source.hypothesis_slots.encode(targets), source, at)

    def new_cache(self, source: EncodedSource) -> KeyValueCache:
        """The empty memory of the steps of a search."""
        return self.decoder.new_cache(source)

    def step(self, canonical: Tensor, cache: KeyValueCache) -> Tensor:
        """(B*K, P, V_n + S + R) logits of the next tokens, see :meth:`StreamDecoder.step`."""
        return self.decoder.step(canonical, cache)

    def max_decoder_positions(self) -> int:
        """The longest target in tokens."""
        return self.decoder.cfg.max_positions

    def forward(self, sources: Tensor, targets: Tensor) -> Tensor:
        """(B, U) sources and (B, T) shifted targets to (B, T, V_n + S + R) logits."""
        return self.decode(targets, self.encode(sources))


def log_probabilities(logits: Tensor) -> Tensor:
    """Log-probabilities of logits, in float32 or float64."""
    wide = torch.float64 if logits.dtype == torch.float64 else torch.float32
    return torch.log_softmax(logits, dim=-1, dtype=wide)
