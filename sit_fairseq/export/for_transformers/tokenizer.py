"""The tokenizer of transformers: a name travels in the ids themselves, see :class:`Spelling`."""

import re
import unicodedata
from typing import Any, Dict, List, Optional, Sequence, Tuple

from transformers import PreTrainedTokenizer

from sit_fairseq.export.for_transformers.spelling import BOS, EOS, UNK, Spelling
from sit_fairseq.symbols.pattern import SPECIAL_TOKENS, SymbolPattern, word_fault


class SymbolTokenizer(PreTrainedTokenizer):
    """Splits a sentence at spaces, and spells the symbols.

    Args:
        tokens: base tokens by row, special ones left out; they are no symbols.
        symbols: what is a symbol: a regular expression, or for each sort a line ``NAME=REGEX``. Give
            another one to ``from_pretrained`` for names of another form, with the same sorts.
        sorts: the names of the sorts.
        pieces: the scores of SentencePiece pieces, for models of plain text.
        ends: whether a sentence ends in ``</s>``. Otherwise it begins with ``<s>``, and what does
            not goes on after a space.
    """

    vocab_files_names: Dict[str, str] = {}
    model_input_names = ["input_ids", "attention_mask"]

    def __init__(
        self,
        tokens: Sequence[str] = (),
        symbols: str = "[a-z]",
        sorts: Sequence[str] = ("",),
        pieces: Optional[Dict[str, float]] = None,
        ends: bool = True,
        **options: Any,
    ) -> None:
        if not isinstance(symbols, str):
            raise ValueError(f"symbols is a regular expression, not {symbols!r}")
        self._pattern, self._pieces, self._ends = SymbolPattern(symbols), pieces, ends
        if self._pattern.sorts != list(sorts):
            raise ValueError(
                f"the sorts of {symbols!r} must be {', '.join(sorts) or 'without name'}"
            )
        self._spelling = Spelling(tokens, len(sorts))
        names = map(self._spelling.piece, range(self._spelling.size))
        self._vocabulary = {name: number for number, name in enumerate(names)}
        self._names = list(self._vocabulary)
        special = dict(zip(("bos_token", "pad_token", "eos_token", "unk_token"), SPECIAL_TOKENS))
        given = {"tokens": list(tokens), "symbols": symbols, "sorts": list(sorts), "pieces": pieces}
        given["ends"] = ends
        super().__init__(**{**special, **options, **given})

    @property
    def vocab_size(self) -> int:
        """How many ids there are."""
        return self._spelling.size

    def get_vocab(self) -> Dict[str, int]:
        """The ids by what they are called."""
        return dict(self._vocabulary)

    def tokenize(self, text: str, **options: Any) -> List[str]:
        """The names of a sentence's ids; a ValueError if a token is no symbol and none that the model
        knows, or an option has a value that this tokenizer lacks."""
        for name, value in options.items():
            if value:
                raise ValueError(f"the tokenizer has no {name}")
        words = text.split() if self._pieces is None else split(text, self._pieces)
        return [self._names[number] for word in words for number in self._ids(word)]

    def _ids(self, word: str) -> List[int]:
        sort = None if word in self._spelling.rows else self._pattern.sort(word)
        known = word in self._spelling.rows or sort is not None
        fault = word_fault(word, known, self._pattern.text)
        if fault is not None:
            other = "pass from_pretrained another pattern, symbols=REGEX"
            advice = "leave it out" if word in SPECIAL_TOKENS else other
            raise ValueError(f"the sentence {fault}; {advice}")
        return self._spelling.ids(word, sort)

    def _convert_token_to_id(self, token: str) -> int:
        return self._vocabulary.get(token, UNK)

    def _convert_id_to_token(self, index: int) -> str:
        return self._names[index]

    def prepare_for_model(self, ids: List[int], pair_ids: Any = None, **options: Any) -> Any:
        """As in transformers; a ValueError for a pair of sentences."""
        if pair_ids is not None:
            raise ValueError("the model reads one sentence, no pair; a target is text_target=...")
        return super().prepare_for_model(ids, **options)

    def truncate_sequences(self, ids: List[int], *others: Any, **options: Any) -> Any:
        """A ValueError: a part of a sentence means something else, and so does that of a name."""
        raise ValueError(f"a sentence has {len(ids) + 1} ids, more than max_length; leave it out")

    def build_inputs_with_special_tokens(self, ids: List[int], pair: Any = None) -> List[int]:
        """A sentence ends in ``</s>``, a prompt begins with ``<s>``."""
        return [*ids, EOS] if self._ends else [BOS, *ids]

    def get_special_tokens_mask(
        self,
        token_ids_0: List[int],
        token_ids_1: Any = None,
        already_has_special_tokens: bool = False,
    ) -> List[int]:
        """1 at ids that are no part of a sentence, of those with or without what is added to them."""
        if already_has_special_tokens:
            return [int(number <= UNK) for number in token_ids_0]
        none = [0] * len(token_ids_0)
        return [*none, 1] if self._ends else [1, *none]

    def _decode(self, token_ids: Any, skip_special_tokens: bool = False, **unused: Any) -> str:
        ids = [token_ids] if isinstance(token_ids, int) else list(map(int, token_ids))
        words = [word for word, _ in self._spelling.read(ids)]
        if skip_special_tokens:
            words = [word for word in words if word not in SPECIAL_TOKENS]
        text = " ".join(words) if self._pieces is None else join(words)
        if self._ends or not words or ids[0] <= UNK:
            return text.lstrip()
        return text if self._pieces is not None else f" {text}"

    def save_vocabulary(self, *unused: Any, **also_unused: Any) -> Tuple[str, ...]:
        """No file: all is in ``tokenizer_config.json``."""
        return ()


_SPACE = "\u2581"  # in the place of spaces


# SentencePiece's default rule, nmt_nfkc, drops these characters, makes spaces of those, and keeps one
# that NFKC would change.
_DROPPED = [*range(1, 9), 0xB, *range(0xE, 0x20), 0x7F, 0x8F, 0x9F]
_SPACES = [0x61C, 0x200B, 0x200C, 0x200E, 0x200F, 0xFEFF, 0xFFFD]
_KEPT = "\uff5e"
_RULE = {**dict.fromkeys(_DROPPED, ""), **dict.fromkeys(_SPACES, " ")}


def split(text: str, pieces: Dict[str, Optional[float]]) -> List[str]:
    """Splits plain text as SentencePiece does by a BPE model and its default rule. ``pieces`` have a
    score if they are merged of others, and None if they are kept whole."""
    parts = (unicodedata.normalize("NFKC", part) for part in text.translate(_RULE).split(_KEPT))
    text = _SPACE + _SPACE.join(re.findall(r"(?:\S|\x85)+", _KEPT.join(parts)))
    kept = sorted((piece for piece, score in pieces.items() if score is None), key=len)
    parts = re.findall("|".join([*map(re.escape, reversed(kept)), "."]), text)
    while True:
        pairs = [
            (pieces[left + right], -place)
            for place, (left, right) in enumerate(zip(parts, parts[1:]))
            if pieces.get(left + right) is not None
        ]
        if not pairs:
            return parts
        place = -max(pairs)[1]
        parts[place : place + 2] = [parts[place] + parts[place + 1]]


def join(words: Sequence[str]) -> str:
    """The plain text of pieces."""
    return "".join(words).replace(_SPACE, " ").rstrip()
