"""Signs and words that people write for operators, constants and parentheses.

``examples/playground/reader.js`` has the same tables.
"""

from typing import Dict

SIGNS: Dict[str, str] = {
    **dict.fromkeys(("!", "~", "¬", "￢", "∼"), "!"),
    **dict.fromkeys(("&", "&&", "/\\", "*", "∧", "∩", "⋀", "⋂", "·", "⋅", "∙", "＆"), "&"),
    **dict.fromkeys(("|", "||", "\\/", "+", "∨", "∪", "⋁", "⋃", "｜"), "|"),
    **dict.fromkeys(("->", "=>", "-->", "==>", "→", "⟶", "⇒", "⟹", "⊃"), "->"),
    **dict.fromkeys(("<->", "<=>", "<-->", "<==>", "↔", "⟷", "⇔", "⟺", "≡"), "<->"),
    **dict.fromkeys(("^", "⊕", "⨁", "⊻", "↮", "⇎", "≢"), "xor"),
    **{"⊤": "1", "⊥": "0", "(": "(", ")": ")"},
}
TEMPORAL_SIGNS: Dict[str, str] = {
    **dict.fromkeys(("[]", "□", "⬜", "◻", "◽", "▢", "☐"), "G"),
    **dict.fromkeys(("<>", "◇", "◊", "⋄", "♢", "⬦", "⬨", "⟡"), "F"),
    **dict.fromkeys(("()", "○", "◯", "⚪", "∘"), "X"),
}

# In any case.
WORDS: Dict[str, str] = {
    **{"not": "!", "and": "&", "or": "|", "xor": "xor", "implies": "->", "iff": "<->"},
    **{"true": "1", "false": "0", "1": "1", "0": "0"},
}
TEMPORAL_WORDS: Dict[str, str] = {
    **dict.fromkeys(("always", "globally", "henceforth"), "G"),
    **dict.fromkeys(("eventually", "finally", "sometime", "sometimes"), "F"),
    **dict.fromkeys(("next", "nexttime"), "X"),
    **{"until": "U", "weak until": "W", "weakuntil": "W"},
    **{"release": "R", "releases": "R", "strong release": "M"},
}

# As they are.
LETTERS: Dict[str, str] = {**{letter: letter for letter in "XFGUWRM"}, "V": "R"}

# The same in lbt's prefix notation, whose symbols are p0, p1, ...
LBT: Dict[str, str] = {"i": "->", "e": "<->", "^": "xor", "t": "1", "f": "0", "V": "R"}
