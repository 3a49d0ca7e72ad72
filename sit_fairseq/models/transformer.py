"""The Symbol-Invariant Transformer (Isik & Li, ICML 2026)."""

from typing import Optional, Tuple

import torch
from torch import Tensor, nn

from sit_fairseq.errors import UserError
from sit_fairseq.models.all_places import AllMemory
from sit_fairseq.models.baselines import make_embedding
from sit_fairseq.models.config import DecoderOptions, ModelConfig, StackConfig, check
from sit_fairseq.models.context import Context, EncodedSource
from sit_fairseq.models.embedding import StreamTable, TokenEmbedding, wide
from sit_fairseq.models.memory import Memory
from sit_fairseq.models.own_places import OwnMemory
from sit_fairseq.models.stacks import Decoder, Encoder, Stack
from sit_fairseq.symbols.slots import Slots, left_align
from sit_fairseq.symbols.vocabulary import Vocabulary

# By the choices of stream_places.
MEMORIES = {"all": AllMemory, "own": OwnMemory, "read": OwnMemory}


class SlotSpaceModel(nn.Module):
    """A model whose ``decoder`` reads and writes canonical ids, as a search asks it.

    Args:
        cfg: the options; a UserError if one is unknown, or some contradict each other.
    """

    decoder: Decoder

    def __init__(self, cfg: DecoderOptions) -> None:
        check(cfg)
        super().__init__()
        self._memory = MEMORIES[cfg.stream_places]

    @property
    def reader(self) -> Stack:
        """The side that reads sentences: a language model has no encoder."""
        return getattr(self, "encoder", self.decoder)

    @property
    def vocabulary(self) -> Vocabulary:
        """Base tokens and the pattern of symbols, with the maps to canonical ids."""
        return self.reader.embed_tokens.vocabulary

    def unreadable(self, tokens: Tensor) -> Optional[str]:
        """The fault of a sentence that the model cannot read, else None: words that follow "the
        sentence". It is (U,) dictionary indices, padded on either side."""
        dictionary, longest = self.vocabulary.dictionary, self.reader.cfg.max_positions
        tokens = tokens[tokens.ne(dictionary.pad()) & tokens.ne(dictionary.eos())]
        if tokens.numel() >= longest:
            return f"has {tokens.numel()} tokens, more than the {longest - 1} that the model reads"
        words = [dictionary[index] for index in tokens.tolist()]
        return self.reader.embed_positions.fault(words) or self.vocabulary.unreadable(tokens)

    def memory(
        self, context: Context, places: Optional[Tensor] = None, keeps: bool = True
    ) -> Memory:
        """The empty memory of a batch with K hypotheses, whose tokens have (B*K, T) places, None for 0,
        1, ...; ``keeps`` says whether what is read will be continued."""
        views = self.decoder.project_encoder(context)
        return self._memory(self.decoder.cfg, views, context, places, keeps)

    @torch.no_grad()
    def step(self, canonical: Tensor, memory: Memory) -> Tensor:
        """(B*K, P, V_n + S + R) logits after the tokens that the memory has not read, see
        :meth:`Decoder.forward`."""
        return self.decoder(canonical, memory)

    def max_decoder_positions(self) -> int:
        """The longest target in tokens, with its ``</s>``."""
        return self.decoder.cfg.max_positions


class SymbolInvariantTransformer(SlotSpaceModel):
    """Encoder-decoder over parallel embedding streams.

    Equivariant under renaming of symbols: ``f(rename(x)) = rename(f(x))``.

    Args:
        cfg: see :class:`SlotSpaceModel`.
        vocabulary: of :func:`~sit_fairseq.models.baselines.make_vocabulary`.
        seed: of the codes of ``symbol_embedding="random"`` in evaluation.
    """

    def __init__(self, cfg: ModelConfig, vocabulary: Vocabulary, seed: int = 1) -> None:
        super().__init__(cfg)
        sides = [StackConfig.of(cfg, side) for side in ("encoder", "decoder")]

        def embedding(side: StackConfig) -> TokenEmbedding:
            return make_embedding(cfg, vocabulary, side.embed_dim, seed)

        self.encoder = Encoder(embedding(sides[0]), sides[0])
        shared = cfg.share_embeddings == "all"
        target = self.encoder.embed_tokens if shared else embedding(sides[1])
        output = embedding(sides[1]) if cfg.share_embeddings == "none" else None
        self.decoder = Decoder(target, sides[1], output)

    def _load_from_state_dict(self, state_dict, prefix, *args, **kwargs) -> None:
        """Refuses copies of one matrix that differ, as only the last would be taken."""
        first = {}
        for name, own in self.state_dict(prefix=prefix, keep_vars=True).items():
            other = first.setdefault(id(own), name)
            both = name in state_dict and other in state_dict
            if both and not torch.equal(state_dict[name], state_dict[other]):
                raise UserError(
                    f"{other} and {name} are one matrix, but differ in the checkpoint; name another "
                    "file, or train with its --share-embeddings"
                )
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def encode(self, tokens: Tensor, places: Optional[Tensor] = None) -> EncodedSource:
        """Makes one stream per symbol of each sentence and encodes them together.

        Names end here: the source is made canonical before anything is embedded, so that two
        sources that differ by a renaming give equal tensors, bit for bit. A ValueError if positions are
        those of trees, and a source is not one formula.

        Args:
            tokens: (B, U) dictionary indices with ``</s>``, padded on either side.
            places: (B, U) the positions of tokens that are padded on the right; None for 0, 1, ...
        """
        dictionary = self.vocabulary.dictionary
        # To read a size from a GPU the CPU waits for it: sizes and layout are computed on the CPU.
        tokens, padding = left_align(tokens.cpu(), dictionary.pad())
        canonical, slots = self.read(tokens)
        streams = slots.streams()
        length = (~padding & tokens.ne(dictionary.eos())).sum(1)
        prepared = self.encoder.embed_positions.prepare(canonical, length)
        padding = padding if bool(padding.any()) else None
        layout = self._memory.lay_out(canonical, self.vocabulary.num_base, streams, padding)
        position = places
        if position is None:
            position = torch.arange(tokens.size(1), device="cpu").unsqueeze(0)
        device = self.encoder.embed_tokens.weight.device
        slots, layout, position, prepared = (
            None if part is None else part.to(device, non_blocking=True)
            for part in (slots, layout, position, prepared)
        )
        source, *tables = self.tables()
        states = self.encoder(layout, source, position, prepared)
        return EncodedSource(slots, layout.streams, *tables, layout, states, position)

    def read(self, tokens: Tensor) -> Tuple[Tensor, Slots]:
        """See :meth:`Vocabulary.read`."""
        return self.vocabulary.read(tokens)

    def tables(self) -> Tuple[StreamTable, StreamTable, StreamTable]:
        """The vectors of a batch for sources, targets and output; one for all if they share it."""
        own, output = self.decoder.embed_tokens, self.decoder.output_projection
        source = self.encoder.embed_tokens.table()
        target = source if own is self.encoder.embed_tokens else own.table()
        return source, target, target if output is None else output.table()

    def decode(
        self, targets: Tensor, source: EncodedSource, places: Optional[Tensor] = None
    ) -> Tensor:
        """(B*K, T, V_n + S + R) logits for K targets of each encoded source (teacher forcing):
        dictionary indices, each after ``</s>``, at (B*K, T) places, None for 0, 1, ..."""
        canonical = source.hypothesis_slots.encode(targets)
        places = None if places is None else places.to(canonical.device, non_blocking=True)
        return self.decoder(canonical, self.memory(source, places, keeps=False))

    def forward(self, sources: Tensor, targets: Tensor) -> Tensor:
        """(B, U) sources and (B, T) shifted targets to (B, T, V_n + S + R) logits."""
        return self.decode(targets, self.encode(sources))


def log_probabilities(logits: Tensor) -> Tensor:
    """Log-probabilities of logits, in float32 or float64."""
    return torch.log_softmax(wide(logits), dim=-1)
