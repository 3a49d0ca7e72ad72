"""The encoder: dictionary indices in, packed streams out."""

from typing import Any, Dict, List, Optional, Tuple

import torch.nn.functional as F
from fairseq.models import FairseqEncoder
from torch import Tensor, nn

from sit_fairseq.models.stack_config import StackConfig
from sit_fairseq.modules.functional import dropout
from sit_fairseq.modules.stream_embedding import TiedEmbedding
from sit_fairseq.modules.stream_layers import StreamEncoderLayer
from sit_fairseq.modules.tree_positions import TreePositions, tree_paths
from sit_fairseq.symbols.fresh_slots import SlotVectors
from sit_fairseq.symbols.streams import Streams, SymbolPositions, is_identity
from sit_fairseq.transfers import upload


class StreamEncoder(FairseqEncoder):
    """Makes one stream per symbol of each sentence and encodes them together.

    Names end here: the source is made canonical before anything is embedded, so that two
    sources that differ by a renaming give equal tensors, bit for bit.

    Args:
        embed_tokens: the matrix of embeddings, with the vocabulary.
        cfg: layers, positions and norms.
    """

    def __init__(self, embed_tokens: TiedEmbedding, cfg: StackConfig) -> None:
        super().__init__(embed_tokens.vocabulary.dictionary)
        self.embed_tokens = embed_tokens
        self.dropout = cfg.layer.dropout
        if cfg.positions == "tree":
            self.embed_positions = TreePositions(cfg.layer.embed_dim, cfg.tree_depth)
        else:
            self.embed_positions = cfg.absolute_positions(self.dictionary.pad())
        self.layernorm_embedding = cfg.optional_norm(cfg.layernorm_embedding)
        self.layers = nn.ModuleList(
            StreamEncoderLayer(cfg.layer, cfg.pattern) for _ in range(cfg.num_layers)
        )
        self.layer_norm = cfg.optional_norm(cfg.final_norm)
        self.positions = cfg.positions
        self._max_positions = cfg.max_positions

    def forward(
        self, src_tokens: Tensor, src_lengths: Optional[Tensor] = None, **unused: Any
    ) -> Dict[str, List]:
        """Encodes a batch.

        Args:
            src_tokens: (B, T) dictionary indices, padded on either side.
            src_lengths: not needed.

        Returns:
            one-element lists: ``encoder_out`` (N, T, C); ``encoder_padding_mask`` (B, T),
            True at padding, or None if there is none; ``streams``, their layout; ``names``
            (B, S), the dictionary index of each slot; ``canonical`` (B, T), the source in
            canonical ids; ``codes``, those of the batch that the decoder must embed with, or
            None; ``vectors`` (B, S + R), those of the slots in baselines, or None.
        """
        vocabulary = self.embed_tokens.vocabulary
        # A GPU waits for the CPU whenever a size depends on what it computed: hence sizes and
        # layout are computed on the CPU, which then says them once.
        src_tokens, padding = self._left_align(src_tokens.cpu())
        canonical, names = vocabulary.canonicalise(src_tokens)
        streams = vocabulary.streams(names)
        vectors = vocabulary.vectors(names)
        codes = self.embed_tokens.draw_codes()  # of the names that there are now
        tree = self._tree(canonical, padding)
        padding = padding if bool(padding.any()) else None
        device = self.embed_tokens.weight.device
        streams = streams.to(device)
        canonical, names, padding, tree, codes, vectors = (
            part if part is None else upload(part, device)
            for part in (canonical, names, padding, tree, codes, vectors)
        )
        x = self.encode(canonical, streams, tree, padding, codes, vectors)
        return {
            "encoder_out": [x],
            "encoder_padding_mask": [padding],
            "streams": [streams],
            "names": [names],
            "canonical": [canonical],
            "codes": [codes],
            "vectors": [vectors],
        }

    def encode(
        self,
        canonical: Tensor,
        streams: Streams,
        tree: Optional[Tensor] = None,
        padding: Optional[Tensor] = None,
        codes: Optional[Tensor] = None,
        vectors: Optional[Tensor] = None,
    ) -> Tensor:
        """Encodes a batch that has no names any more.

        Args:
            canonical: (B, T) canonical ids, padded on the right.
            streams: those of the sentences.
            tree: (B, T, D) paths of :func:`tree_paths`, for positions in trees.
            padding: (B, T) True at padding, None if there is none.
            codes: see :meth:`TiedEmbedding.draw_codes`.
            vectors: (B, S + R) those of the slots in baselines, None otherwise.

        Returns:
            (N, T, C) output of the last layer.
        """
        vocabulary = self.embed_tokens.vocabulary
        positions = SymbolPositions.of(canonical, vocabulary.num_base, streams)
        ids = canonical
        if vectors is not None:
            ids = SlotVectors(vectors, vocabulary).ids(canonical)
        x = self.embed_tokens(ids, streams, codes)
        if self.embed_positions is not None:
            ids = canonical if tree is None else tree
            x = x + streams.expand(self.embed_positions(ids).to(x.dtype))
        if self.layernorm_embedding is not None:
            x = self.layernorm_embedding(x)
        x = dropout(x, self.dropout if self.training else 0.0)
        mask = stream_mask(padding, streams)
        for layer in self.layers:
            x = layer(x, positions, mask)
        if self.layer_norm is not None:
            x = self.layer_norm(x)
        return x

    def reorder_encoder_out(self, encoder_out: Dict[str, List], new_order: Tensor):
        """Makes the hypotheses ``new_order`` names out of those there are.

        The encoder's tensors stay one per sentence; only the layout counts hypotheses.
        """
        streams, sentences, stream_rows, _ = encoder_out["streams"][0].reorder(new_order)
        out = {name: [value[0]] for name, value in encoder_out.items()}
        out["streams"] = [streams]
        if is_identity(sentences, encoder_out["names"][0].size(0)):
            return out
        device = self.embed_tokens.weight.device
        stream_rows, sentences = upload(stream_rows, device), upload(sentences, device)
        out["encoder_out"] = [out["encoder_out"][0].index_select(0, stream_rows)]
        for name in ("encoder_padding_mask", "names", "canonical", "vectors"):
            if out[name][0] is not None:
                out[name] = [out[name][0].index_select(0, sentences)]
        return out

    def max_positions(self) -> int:
        """The longest source in tokens."""
        return self._max_positions

    def _left_align(self, tokens: Tensor) -> Tuple[Tensor, Tensor]:
        # Positions must not depend on the padding, which fairseq puts on the left in
        # interactive use and wherever --left-pad-source is given.
        padding = tokens.eq(self.dictionary.pad())
        if bool(padding[:, 0].any()):
            order = padding.long().argsort(dim=1, stable=True)
            tokens, padding = tokens.gather(1, order), padding.gather(1, order)
        return tokens, padding

    def _tree(self, canonical: Tensor, padding: Tensor) -> Optional[Tensor]:
        """The paths in the trees of the sources, if positions are in trees."""
        if not isinstance(self.embed_positions, TreePositions):
            return None
        table = F.pad(self.embed_tokens.vocabulary.arity_of_row, (0, 1))  # symbols are leaves
        arity = table[canonical.clamp(max=table.numel() - 1)]
        length = (~padding & canonical.ne(self.dictionary.eos())).sum(1)
        return tree_paths(arity, length)


def stream_mask(padding: Optional[Tensor], streams: Streams) -> Optional[Tensor]:
    """(B, T) padding to an (N, 1, 1, T) mask, True at real tokens; None if all are real."""
    return None if padding is None else ~padding[streams.sentence][:, None, None, :]
