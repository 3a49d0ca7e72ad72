"""How symbols get their vectors: the choices of ``--symbol-embedding``."""

from typing import Any, Callable

from sit_fairseq.errors import UserError
from sit_fairseq.modules.attention_pattern import AttentionPattern
from sit_fairseq.modules.baseline_embeddings import (
    CanonicalEmbedding,
    FixedEmbedding,
    RandomEmbedding,
)
from sit_fairseq.modules.stream_embedding import StreamEmbedding, TiedEmbedding
from sit_fairseq.symbols.baseline_vocabularies import (
    CanonicalVocabulary,
    FixedVocabulary,
    NamedVocabulary,
)
from sit_fairseq.symbols.stream_dictionary import StreamDictionary
from sit_fairseq.symbols.stream_vocabulary import StreamVocabulary

# Each has a column of the output, and a checkpoint may ask for any number.
_MOST_FRESH = 1000

SYMBOL_EMBEDDINGS = {
    "streams": (StreamVocabulary, StreamEmbedding),
    "fixed": (FixedVocabulary, FixedEmbedding),
    "canonical": (CanonicalVocabulary, CanonicalEmbedding),
    "random": (NamedVocabulary, RandomEmbedding),
}


def symbol_embedding(
    cfg: Any, task: Any, pattern: AttentionPattern
) -> Callable[[int], TiedEmbedding]:
    """What makes the matrices of a model, all with one vocabulary.

    Args:
        cfg: the model's options.
        task: gives the dictionary and the seed of random codes.
        pattern: the model's attentions.

    Returns:
        a function from the number of channels to a new matrix.

    Raises:
        UserError: if the task is another, or other options do not go with
            ``--symbol-embedding``.
    """
    if not isinstance(task.source_dictionary, StreamDictionary):
        raise UserError(
            "models with symbols need a dictionary that knows them; pass --task stream_translation"
        )
    name = str(cfg.symbol_embedding)
    vocabulary_class, embedding_class = SYMBOL_EMBEDDINGS[name]
    if vocabulary_class.one_stream and pattern.aggregated:
        raise UserError(
            f"--symbol-embedding {name} has one stream per sentence, so that aggregated attention "
            f"({cfg.stream_attention}) has nothing to aggregate; pass --stream-attention EP-DP-CP"
        )
    if not 0 <= cfg.fresh_symbols <= _MOST_FRESH:
        raise UserError(
            f"--fresh-symbols {cfg.fresh_symbols} must be a number of symbols up to {_MOST_FRESH}, "
            "or 0"
        )
    fresh_names = getattr(task.cfg, "fresh_names", None) if cfg.fresh_symbols else None
    vocabulary = vocabulary_class(task.source_dictionary, cfg.fresh_symbols, fresh_names)
    cosine = str(cfg.output_head) == "cosine"
    scaled = cfg.scale_cosine_embedding if cosine else not cfg.no_scale_embedding
    options = {}
    if embedding_class is RandomEmbedding:
        _check_random(cfg)
        options = {"code_dim": cfg.symbol_code_dim, "seed": task.cfg.seed}

    def embedding(dim: int) -> TiedEmbedding:
        return embedding_class(vocabulary, dim, cosine=cosine, scaled=scaled, **options)

    return embedding


def _check_random(cfg: Any) -> None:
    if str(cfg.share_embeddings) != "all":
        raise UserError(
            "--symbol-embedding random needs the same codes in encoder and decoder; pass "
            "--share-embeddings all"
        )
    if not 0 < cfg.symbol_code_dim < cfg.encoder_embed_dim:
        raise UserError(
            f"--symbol-code-dim {cfg.symbol_code_dim} must be at least 1 and leave some of the "
            f"{cfg.encoder_embed_dim} channels of --encoder-embed-dim"
        )
