"""The card of a model: what hubs read at its head, and how the model is used."""

import os
import re
from string import ascii_lowercase
from typing import Any, Dict, Optional, Sequence

from sit_fairseq.domains.by_name import arity_of
from sit_fairseq.export.folders import is_text
from sit_fairseq.storage import checkpoints
from sit_fairseq.storage.files import Place, read_sentences
from sit_fairseq.symbols.pattern import SymbolPattern

# The table of options in the card of a model that has none.
_DESCRIBED = (
    *("symbol_embedding", "stream_attention", "encoder_positions", "decoder_positions"),
    *("encoder_layers", "decoder_layers", "encoder_embed_dim", "encoder_ffn_embed_dim"),
    *("encoder_attention_heads", "output_head"),
)

_HEAD = """\
---
license: mit
library_name: {library}
tags:
- symbol-invariant-transformer
- fairseq
- symbolic-reasoning
---

"""

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


def card(cfg: Dict[str, Any], pattern: str, folders: Sequence[Place], library: str) -> str:
    """The card with what hubs read at its head, ``library`` among it: that of the first folder that has
    one, or a table of the options ``cfg``."""
    paths = [os.path.join(folder, checkpoints.CARD) for folder in folders]
    path = next(filter(os.path.isfile, paths), None)
    if path is not None:
        text = "\n".join([*read_sentences(path), ""])
        if text.startswith("---\n"):
            return text
    else:
        rows = [("symbols", line) for line in pattern.splitlines()]
        known = (name for name in _DESCRIBED if name in cfg["model"])
        rows += [(name.replace("_", " "), cfg["model"][name]) for name in known]
        cells = [(name, str(value).replace("|", "\\|")) for name, value in rows]
        table = "".join(f"| {name} | `{value}` |\n" for name, value in cells)
        text = f"# Symbol-Invariant Transformer\n\n| | |\n| --- | --- |\n{table}"
    return _HEAD.format(library=library) + text


def with_use(
    text: str, cfg: Dict[str, Any], tokens: Sequence[str], pattern: str, grammar: Optional[str]
) -> str:
    """A card with a snippet for transformers, if it has none. Its sentence is one that the card asks,
    or a formula, or else the first base tokens and symbols."""
    if "AutoModelFor" in text:
        return text
    asked = re.search(r"echo '([^']+)'", text)
    arity = {} if grammar is None else arity_of(grammar)
    operator = max(tokens, key=lambda token: arity.get(token, 0), default="")
    known, number = SymbolPattern(pattern), arity.get(operator, 0)
    names = [t for t in (*ascii_lowercase, "p0", "p1", "p2") if known.is_symbol(t)]
    if asked and not any(map(known.is_symbol, asked[1].split())):
        asked = None  # its names are of another form
    formula = [operator, *names[:number]] if len(names) >= number else []
    sentence = asked[1] if asked else " ".join(formula if formula[1:] else [*tokens, *names][:3])
    options = "" if is_text(cfg) else _VERIFY
    use = _USE.format(
        auto="CausalLM" if is_text(cfg) else "Seq2SeqLM",
        sentence=sentence,
        pattern=" ".join(pattern.splitlines()),
        options=options if grammar is None else f"`constrained=True`, {options}",
    )
    return text.rstrip("\n") + "\n" + use
