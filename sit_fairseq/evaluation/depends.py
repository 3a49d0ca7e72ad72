"""The key of a result, all that its numbers depend on, and the key as one line."""

import platform
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, Iterable, Mapping, Optional

import torch

import sit_fairseq
from sit_fairseq.domains import find, names
from sit_fairseq.domains.by_name import domain_of
from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.signature import hash_of_files, versions_of
from sit_fairseq.storage.files import sha256_of_file

_SHOWN = 8  # digits of a hash in a signature


@lru_cache(maxsize=None)
def package_version() -> str:
    """The version of this package and a hash of its code: ``0.5.0+1a2b3c4d``."""
    code = hash_of_files(Path(sit_fairseq.__file__).parent.rglob("*.py"))
    return f"{sit_fairseq.__version__}+{code[:_SHOWN]}"


def versions(others: Iterable[str] = ()) -> Dict[str, Optional[str]]:
    """The versions of what numbers may depend on, other distributions too; None if missing."""
    fairseq = versions_of(["fairseq", "fairseq-fixed"])
    known = {
        "sit_fairseq": package_version(),
        "fairseq": fairseq["fairseq"] or fairseq["fairseq-fixed"],
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
    for name in names():
        known.update(find(name).judge().versions())
    return {**versions_of(name for name in others if name not in known), **known}


def depends_on(
    files: Mapping[str, str], options: Mapping[str, Any], judge: Optional[Judge] = None
) -> Dict[str, Any]:
    """The key of answers and numbers, as JSON: of the models and data, by what they are, all options
    that matter, and the judge whose verdicts they hold or were chosen by."""
    first = {} if judge is None else {"judge": _versioned(judge)}
    first.update({name: sha256_of_file(path) for name, path in files.items()})
    return {
        **first,
        **options,
        **first,
        "torch": torch.__version__,
        "sit_fairseq": package_version(),
    }


def _versioned(judge: Judge) -> str:
    """The signature of a judge, with the version of its domain if it is of one."""
    domain, text = domain_of(judge), judge.signature()
    return text if domain is None else f"{domain.versioned}|{text.partition('|')[2]}"


def signature(key: Mapping[str, Any]) -> str:
    """One line for people of a key: ``domain@1|judge:name|library:2.13|model:1a2b3c4d|beam:3``. It
    has the options with a value, and of hashes the beginning."""
    parts = []
    for name, value in key.items():
        text = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
        text = text[:_SHOWN] if len(text) == 64 else text
        parts += [] if value is None else [text if name == "judge" else f"{name}:{text}"]
    return "|".join(parts)
