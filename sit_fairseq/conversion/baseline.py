"""The baseline ``--symbol-embedding fixed`` as a source of the conversion, as in the paper."""

from typing import Any, Dict, Optional

from fairseq.data import Dictionary
from omegaconf import OmegaConf
from torch import Tensor

from sit_fairseq.conversion import original
from sit_fairseq.conversion.original import Original
from sit_fairseq.domains.formulas.syntax import ARITY
from sit_fairseq.errors import UserError
from sit_fairseq.models.baselines import FixedVocabulary
from sit_fairseq.models.symbol_invariant_transformer import SymbolInvariantTransformerModel
from sit_fairseq.symbols.saved_tokens import saved_vocabulary
from sit_fairseq.tasks.stream_dictionary import StreamDictionary

# What a model over streams has another value of, or no use for. With fresh symbols, which need no
# weights, it would compute something else, as their streams are in every mean.
_NOT_CARRIED = (
    *("symbol_embedding", "symbol_code_dim", "aggregated_normalize_before"),
    *("fresh_symbols", "fresh_names"),
)
_TABLES = ("encoder.embed_tokens", "decoder.embed_tokens", "decoder.output_projection")


def read_baseline(
    path: str, state: Dict[str, Any], *, data: Optional[str] = None, ema: bool = False
) -> Original:
    """As :func:`~sit_fairseq.conversion.vanilla.read_vanilla`; the tokens are in the checkpoint, and
    ``data`` only has sentences to compare models on."""
    options = {n: v for n, v in original.model_options(state).items() if not n.startswith("_")}
    kind = options["symbol_embedding"]
    if kind != "fixed":
        raise UserError(
            f"{path} was trained with symbol_embedding = {kind}; only fixed gives each symbol a row "
            "of its own that a stream can take over"
        )
    weights = original.weights(path, state, ema)
    data = data or original.recorded_data(state)
    tokens = _tokens(path, weights)
    dictionaries = original.Dictionaries(data, *original.languages(state, data), tokens, tokens)
    cfg = OmegaConf.create({**options, "fresh_symbols": 0})
    with original.explaining_weights(path):
        vocabulary = FixedVocabulary(StreamDictionary(), arity=ARITY)
        model = SymbolInvariantTransformerModel(cfg, vocabulary)
        model.load_state_dict(dict(weights), strict=True)
    vocabulary, closed = model.eval().vocabulary, []
    if vocabulary.source_only is not None:
        closed = vocabulary.index_of_row[vocabulary.source_only.bool()].tolist()
    return Original(
        model_options={n: v for n, v in options.items() if n not in _NOT_CARRIED},
        task_options=original.lasting_task_options(state),
        dictionaries=dictionaries,
        tensors=model.state_dict(),
        tables={f"{name}.weight": tokens for name in _TABLES},
        parts=lambda name: [name],
        never_produced={vocabulary.dictionary[index] for index in closed},
        model=model,
    )


def _tokens(path: str, weights: Dict[str, Tensor]) -> Dictionary:
    """The tokens in the order of their rows."""
    saved = saved_vocabulary(weights)
    if saved is None:
        raise UserError(f"{path} lacks the tokens of its embeddings; name another file")
    dictionary = Dictionary()
    for token in saved[0]:
        dictionary.add_symbol(token)
    rows = weights["encoder.embed_tokens.weight"].size(0)
    if rows != len(dictionary):  # loading would cut or fill them
        raise UserError(f"{path} has {rows} embeddings for {len(dictionary)} tokens")
    return dictionary
