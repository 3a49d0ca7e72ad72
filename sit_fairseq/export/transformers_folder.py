"""Folders that transformers loads: those of :func:`export_hub`, with the code of the model."""

import json
import os
import re
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import sit_fairseq
from sit_fairseq.domains.by_name import arity_of
from sit_fairseq.errors import UserError
from sit_fairseq.export.checkpoint_folders import (
    TAGS,
    card,
    is_text,
    small_checkpoint,
    write_folder,
)
from sit_fairseq.export.grammars import GRAMMARS, exported_grammar
from sit_fairseq.models.loading import TEXT_KIND
from sit_fairseq.storage import checkpoints
from sit_fairseq.storage.files import Place, model_file
from sit_fairseq.symbols.pattern import SPECIAL_TOKENS, SymbolPattern
from sit_fairseq.symbols.saved_tokens import buffer_text, vocabulary_prefix

_TOKENIZER, _PIECES = "tokenizer_config.json", "spm.model"
_MODEL, _TEXT_MODEL = "export.hugging_face", "export.hugging_face_text"
_TOKENS = "export.hugging_face_tokens"
_GRAMMARS = "export.grammars"

_IMPORT = re.compile(r"^from sit_fairseq\.([\w.]+) import", flags=re.MULTILINE)

# Errors of the folder are ValueErrors, as those of transformers, and name no option of a command.
_ERRORS = {
    "class UserError(Exception)": "class UserError(ValueError)",
    'super().__init__(f"{message}; change {flags}" if flags else message)': "super().__init__(message)",
}

_USE = """
## Use

```python
from transformers import AutoModelFor{auto}, AutoTokenizer

folder = "."  # this one, or its name on the Hub
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
model = AutoModelFor{auto}.from_pretrained(folder, trust_remote_code=True)
inputs = tokenizer([{sentence!r}], padding=True, return_tensors="pt")
answers = model.generate(**inputs, num_beams=3)
print(tokenizer.batch_decode(answers, skip_special_tokens=True))
```

needs torch, transformers 4.44 or later, and safetensors; the code is in this folder. Symbols are what the pattern
`{pattern}` matches; `AutoTokenizer.from_pretrained(…, symbols=REGEX)` lets them have other names.

`generate` has `num_return_sequences`, `do_sample`, `temperature`, `top_k`, `top_p`,
{options}and what else its docstring says. `logits` are log-probabilities of the tokenizer's ids.
fairseq with sit_fairseq reads the folder too.
"""

_VERIFY = """`verify=` (a function of a sentence and an answer) with `verify_beams=[3, 25]`, """


def export_transformers(checkpoint: Place, folder: Place) -> str:
    """Writes a folder for ``AutoTokenizer`` of transformers, and ``AutoModelForSeq2SeqLM``, or
    ``AutoModelForCausalLM`` of a language model.

    Its card is the ``README.md`` that it has, or else the one beside the checkpoint; the pieces of
    ``spm.model`` there become those of the tokenizer.

    Returns:
        The name of the file of weights.

    Raises:
        UserError: the checkpoint is not that of a stream model, or cannot be read.
    """
    small, tokens, pattern = small_checkpoint(checkpoint)
    beside = os.path.dirname(model_file(checkpoint))
    sorts, domain = SymbolPattern(pattern).sorts, small["cfg"]["task"].get("domain")
    grammar = exported_grammar(domain)
    known, text = {"tokens": tokens, "symbols": pattern}, is_text(small["cfg"])
    prompts = {"ends": False, "padding_side": "left"} if text else {}
    contents = {
        checkpoints.CONFIG: _json({**_config(small, len(tokens), sorts, grammar), **known}),
        _TOKENIZER: _json({**_tokenizer(sorts, os.path.join(beside, _PIECES)), **known, **prompts}),
        checkpoints.CARD: _card(small["cfg"], (folder, beside), tokens, pattern, grammar),
        **source_files(grammar, _TEXT_MODEL if text else _MODEL),
    }
    weights = {f"core.{name}": value for name, value in small["model"].items()}
    return write_folder(folder, {**small, "model": weights}, tokens, contents)


def source_files(grammar: Optional[str], model: str = _MODEL) -> Dict[str, str]:
    """The text of the modules that the model needs, by the names of their files in one flat folder.

    transformers 4 copies a file that ``auto_map`` names, and those that it imports itself. So each
    such file ends with imports of all that it needs.

    Args:
        grammar: the domain whose grammar is among them; None for none.
        model: the module of the model.
    """
    files: Dict[str, str] = {}
    for first in (_TOKENS, model):
        needed = _needed(grammar, first)
        others = sorted(needed.keys() - {_flat(first)})
        needed[_flat(first)] += "\n" + "".join(
            f"from .{name[:-3]} import __name__ as _  # transformers 4 copies the file\n"
            for name in others
        )
        files = {**needed, **files}
    for ours, theirs in _ERRORS.items():
        files["errors.py"] = files["errors.py"].replace(ours, theirs)
    return files


def _needed(grammar: Optional[str], first: str) -> Dict[str, str]:
    """The text of a module and of all that it imports, by the names of their files."""
    package = Path(sit_fairseq.__file__).parent
    files: Dict[str, str] = {}
    waiting = [first]
    while waiting:
        module = waiting.pop()
        name = _flat(module)
        if name in files:
            continue
        path = package.joinpath(*module.split(".")).with_suffix(".py")
        text = _grammars(grammar) if module == _GRAMMARS else path.read_text(encoding="utf-8")
        waiting += _IMPORT.findall(text)
        files[name] = _IMPORT.sub(lambda match: f"from .{_flat(match[1])[:-3]} import", text)
    return files


def _grammars(domain: Optional[str]) -> str:
    """The module of grammars that a folder has in place of that of the package."""
    if domain is None:
        return "GRAMMARS = {}\n"
    made = GRAMMARS[domain]
    name = made.__name__
    return f"from {made.__module__} import {name}\n\nGRAMMARS = {{{domain!r}: {name}}}\n"


def _flat(module: str) -> str:
    return module.split(".")[-1] + ".py"


def _config(
    small: Dict[str, Any], num_tokens: int, sorts: List[str], grammar: Optional[str]
) -> Dict[str, Any]:
    """The entries of ``config.json`` beside the tokens."""
    weights = small["model"]
    prefix = vocabulary_prefix(weights)
    rows, operands = (weights.get(prefix + name) for name in ("symbol_rows", "operands"))
    kind = {} if not is_text(small["cfg"]) else {"model_type": TEXT_KIND}
    config, place, auto = "SymbolInvariantConfig", _MODEL, "Seq2SeqLM"
    if kind:
        config, place, auto = "SymbolInvariantTextConfig", _TEXT_MODEL, "CausalLM"
    module = place.split(".")[-1]
    bos, pad, eos, _ = range(len(SPECIAL_TOKENS))
    return {
        **checkpoints.hub_config(small["cfg"]),
        **kind,
        "is_encoder_decoder": not kind,
        "bos_token_id": bos,
        "pad_token_id": pad,
        "eos_token_id": eos,
        "decoder_start_token_id": eos,
        "architectures": [f"SymbolInvariantFor{auto}"],
        "auto_map": {
            "AutoConfig": f"{module}.{config}",
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
    place = f"{_TOKENS.split('.')[-1]}.SymbolTokenizer"
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
        kind = sentencepiece_model_pb2.ModelProto.SentencePiece
        scores = {kind.NORMAL: lambda piece: piece.score, kind.USER_DEFINED: lambda piece: None}
        found["pieces"] = {p.piece: scores[p.type](p) for p in model.pieces if p.type in scores}
    return {**found, "sorts": sorts}


def _card(
    cfg: Dict[str, Any],
    folders: Sequence[str],
    tokens: Sequence[str],
    pattern: str,
    grammar: Optional[str],
) -> str:
    """The card, with a snippet, if it has none. Its sentence is one that the card asks, or a
    formula, or else the first base tokens."""
    tags = TAGS.replace("library_name: sit_fairseq", "library_name: transformers")
    text = card(cfg, pattern, folders, tags)
    if "AutoModelFor" in text:
        return text
    asked = re.search(r"echo '([^']+)'", text)
    arity = {} if grammar is None else arity_of(grammar)
    operator = max(tokens, key=lambda token: arity.get(token, 0), default="")
    formula = [operator, *"abc"[: arity.get(operator, 0)]]
    sentence = asked[1] if asked else " ".join(formula if formula[1:] else tokens[:3])
    options = "" if is_text(cfg) else _VERIFY
    use = _USE.format(
        auto="CausalLM" if is_text(cfg) else "Seq2SeqLM",
        sentence=sentence,
        pattern=" ".join(pattern.splitlines()),
        options=options if grammar is None else f"`constrained=True`, {options}",
    )
    return text.rstrip("\n") + "\n" + use


def _json(content: Dict[str, Any]) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"
