"""Folders of safetensors: to upload, and with the code of the model for transformers."""

import json
import os
from pathlib import Path
from typing import Any, Dict, List, Optional

from sit_fairseq.errors import UserError
from sit_fairseq.export.folders import PIECES, is_text, write_folder
from sit_fairseq.export.for_transformers.card import card, with_use
from sit_fairseq.export.for_transformers.code import MODEL, TOKENIZER, source_files
from sit_fairseq.export.for_transformers.spelling import BOS, EOS, PAD
from sit_fairseq.export.grammars import exported_grammar
from sit_fairseq.model import Model
from sit_fairseq.models.loading import TEXT_KIND
from sit_fairseq.storage import checkpoints
from sit_fairseq.storage.files import Place
from sit_fairseq.symbols.pattern import SPECIAL_TOKENS, SymbolPattern
from sit_fairseq.symbols.saved_tokens import buffer_text, saved_vocabulary, vocabulary_prefix

_TOKENIZER = "tokenizer_config.json"


def export(model: Model, folder: Place, beside: Optional[Place] = None, code: bool = True) -> str:
    """Writes a folder to upload: weights as safetensors, options as JSON, dictionaries and a card.

    Args:
        beside: a folder whose ``README.md`` becomes the card, unless ``folder`` has one, and whose
            pieces of ``spm.model`` become those of the tokenizer; by default where the model was
            loaded from.
        code: whether it gets a tokenizer and the code of the model. Then ``AutoTokenizer`` of
            transformers loads it, and ``AutoModelForSeq2SeqLM``, or ``AutoModelForCausalLM`` of a
            language model.

    Returns:
        The name of the file of weights; a UserError for an ensemble, or a file that cannot be read or
        written.
    """
    beside = (model.folder or folder) if beside is None else beside
    state = model.checkpoint(half=True)
    cfg, (tokens, pattern) = state["cfg"], saved_vocabulary(state["model"])
    known, config = {"tokens": tokens, "symbols": pattern}, checkpoints.hub_config(cfg)
    library = "transformers" if code else "sit_fairseq"
    text, files = card(cfg, pattern, (folder, beside), library), {}
    if code:
        grammar, sorts = exported_grammar(cfg["task"].get("domain")), SymbolPattern(pattern).sorts
        text = with_use(text, cfg, tokens, pattern, grammar)
        config.update({**_config(state, len(tokens), sorts, grammar), **known})
        prompts = {"ends": False, "padding_side": "left"} if is_text(cfg) else {}
        tokenizer = _tokenizer(sorts, os.path.join(beside, PIECES))
        files = {_TOKENIZER: _json({**tokenizer, **known, **prompts}), **source_files(grammar)}
    return write_folder(
        folder, state, {checkpoints.CONFIG: _json(config), checkpoints.CARD: text, **files}
    )


def _config(
    state: Dict[str, Any], num_tokens: int, sorts: List[str], grammar: Optional[str]
) -> Dict[str, Any]:
    """The entries of ``config.json`` beside options and tokens."""
    weights = state["model"]
    prefix = vocabulary_prefix(weights)
    rows, operands = (weights.get(prefix + name) for name in ("symbol_rows", "operands"))
    text, module = is_text(state["cfg"]), MODEL.split(".")[-1]
    auto, config = ("CausalLM", "TextConfig") if text else ("Seq2SeqLM", "Config")
    return {
        **({"model_type": TEXT_KIND} if text else {}),
        "is_encoder_decoder": not text,
        "bos_token_id": BOS,
        "pad_token_id": PAD,
        "eos_token_id": EOS,
        "decoder_start_token_id": EOS,
        "architectures": [f"SymbolInvariantFor{auto}"],
        "auto_map": {
            "AutoConfig": f"{module}.SymbolInvariant{config}",
            f"AutoModelFor{auto}": f"{module}.SymbolInvariantFor{auto}",
        },
        "dtype": "float32",
        "grammar": grammar,
        "masked": prefix + "source_only" in weights,
        "operands": None if operands is None else buffer_text(operands),
        "symbol_rows": None if rows is None else buffer_text(rows),
        "vocab_size": len(SPECIAL_TOKENS) + num_tokens + 256 * (len(sorts) + 1),
    }


def _tokenizer(sorts: List[str], pieces: str) -> Dict[str, Any]:
    """The entries of ``tokenizer_config.json`` beside the tokens."""
    place = f"{TOKENIZER.split('.')[-1]}.SymbolTokenizer"
    found = {"tokenizer_class": "SymbolTokenizer", "auto_map": {"AutoTokenizer": [place, None]}}
    if os.path.isfile(pieces):
        from google.protobuf.message import DecodeError
        from sentencepiece import sentencepiece_model_pb2

        model = sentencepiece_model_pb2.ModelProto()
        try:
            model.ParseFromString(Path(pieces).read_bytes())
        except DecodeError:
            model.Clear()
        if model.trainer_spec.model_type != model.trainer_spec.BPE:
            raise UserError(f"{pieces} is no BPE model; only BPE models can be exported")
        how, trained = model.normalizer_spec, model.trainer_spec
        usual = how.name == "nmt_nfkc" and how.add_dummy_prefix
        usual = usual and how.remove_extra_whitespaces and not trained.treat_whitespace_as_suffix
        if not usual or trained.byte_fallback:
            reason = "normalizes text, or spells bytes, as the exported tokenizer does not"
            raise UserError(
                f"{pieces} {reason}; train it with --model_type bpe and SentencePiece's other defaults"
            )
        kind = sentencepiece_model_pb2.ModelProto.SentencePiece
        scores = {kind.NORMAL: lambda piece: piece.score, kind.USER_DEFINED: lambda piece: None}
        found["pieces"] = {p.piece: scores[p.type](p) for p in model.pieces if p.type in scores}
    return {**found, "sorts": sorts}


def _json(content: Dict[str, Any]) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"
