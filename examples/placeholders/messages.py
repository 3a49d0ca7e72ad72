"""Messages of programs with one to five placeholders, and their human translations.

They come from the catalogues of ``/usr/share/locale/pt_BR``. A message is of the test if its package is
one of :data:`TEST` or it has more than three placeholders, otherwise of training.
"""

import gettext
import random
import re
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

from sit_fairseq.domains.placeholders.masks import KINDS, in_order

CATALOGUES = Path("/usr/share/locale/pt_BR/LC_MESSAGES")
TEST = {"coreutils", "wget", "dpkg", "apt", "tar", "systemd", "gnutls30", "man-db", "psmisc"}
PLACEHOLDER = re.compile(KINDS["printf"])


class Message(NamedTuple):
    """An English message and its translation.

    Attributes:
        sides: both texts, English first.
        keys: of each side, what each placeholder stands for: equal ones are the same argument.
    """

    sides: Tuple[str, str]
    keys: Tuple[List[str], List[str]]

    @property
    def number(self) -> int:
        """The placeholders."""
        return len(self.keys[0])


def keys_of(text: str) -> List[str]:
    """The argument of each placeholder of a text: its number or name, else its place."""
    found, place = [], 0
    for match in PLACEHOLDER.finditer(text):
        place += in_order(match.group())
        numbered = re.match(r"%(\d+)\$|%\((\w+)\)", match.group())
        found.append(next(filter(None, numbered.groups())) if numbered else str(place))
    return found


def read(english: str, translation: str) -> Optional[Message]:
    """A message that a translator can be asked, else None: one line of 3 to 25 words, two of them of
    letters, with the same arguments once in both texts."""
    sides = tuple(text.replace("_", "").strip() for text in (english, translation))
    words = sides[0].split()
    letters = re.findall(r"[A-Za-z]{2,}", PLACEHOLDER.sub("", sides[0]))
    if not 3 <= len(words) <= 25 or len(letters) < 2 or re.search(r"[\n\t\x04]|%%", "".join(sides)):
        return None
    keys = tuple(map(keys_of, sides))
    rest = [PLACEHOLDER.sub("", text) for text in sides]
    if (
        "%" in "".join(rest)
        or len(set(keys[0])) < len(keys[0])
        or sorted(keys[0]) != sorted(keys[1])
    ):
        return None
    return Message(sides, keys)


def messages() -> Dict[str, List[Message]]:
    """The messages of ``test`` and ``train``, each English text once, in a random order."""
    found: Dict[str, List[Message]] = {"test": [], "train": []}
    known = set()
    for path in sorted(CATALOGUES.glob("*.mo")):
        with open(path, "rb") as file:
            try:
                catalogue = gettext.GNUTranslations(file)._catalog
            except (ValueError, OSError, UnicodeDecodeError):  # no catalogue, or a damaged one
                continue
        for english, translation in catalogue.items():
            if isinstance(english, str) and english not in known:
                known.add(english)
                message = read(english, translation)
                if message is not None and message.number <= 5:
                    test = path.stem in TEST or message.number > 3
                    found["test" if test else "train"].append(message)
    for part in found.values():
        random.Random(1).shuffle(part)
    return found
