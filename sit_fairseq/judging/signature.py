"""The code and the library versions that verdicts depend on."""

import ast
import hashlib
import os
import sys
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import Dict, Iterable, List, Optional, Tuple

_distributions = lru_cache(maxsize=None)(packages_distributions)


def hash_of_files(paths: Iterable[Path]) -> str:
    """The SHA-256 of the contents of files, in the order of their paths."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def versions_of(distributions: Iterable[str]) -> Dict[str, Optional[str]]:
    """The installed version of each distribution; None for one that is missing."""
    found: Dict[str, Optional[str]] = {}
    for name in distributions:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def code_of(module: str) -> Tuple[List[Path], List[str]]:
    """Follows the imports of a module within its own package, folder and folders below: the source
    files, and the distributions of other packages that they import."""
    first, top = _place(module), module.partition(".")[0]
    files: Dict[str, Optional[Path]] = {}
    foreign, todo = set(), [module]
    while todo:
        name = todo.pop()
        package = name.partition(".")[0]
        if name in files or package in sys.stdlib_module_names:
            continue
        # Names within other packages are not looked for, as that imports the packages.
        if package == top or first and _below(_place(package), first.parent):
            files[name] = path = _place(name)
            if path and path.suffix == ".py":
                within = name if path.name == "__init__.py" else name.rpartition(".")[0]
                todo += _imports(within, path.read_bytes())
        else:
            foreign.add(package)
    foreign.discard(__name__.partition(".")[0])  # its version stands in every key
    known = _distributions() if foreign else {}
    distributions = {found for name in foreign for found in known.get(name, [name])}
    return sorted({p for p in files.values() if p and p.is_file()}), sorted(distributions)


def _below(path: Optional[Path], folder: Path) -> bool:
    """Whether a file is in a folder or below, but not installed there."""
    return path is not None and folder in path.parents and "site-packages" not in path.parts


def _place(module: str) -> Optional[Path]:
    """The file of a module, or its folder if it has none; None if there is no such module."""
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):  # its parent is no package; or it is __main__
        spec = None
    place = getattr(sys.modules.get(module), "__file__", None)
    if place is None and spec is not None:
        places = [spec.origin] if spec.has_location else spec.submodule_search_locations
        place = next(iter(places or ()), None)
    return None if place is None else Path(os.path.realpath(place))


@lru_cache(maxsize=None)
def _imports(package: str, text: bytes) -> List[str]:
    """The names that the text of a module of a package imports anywhere; those of functions and
    classes are among them. Reading a text takes longer than judging some hundred answers."""
    found: Dict[str, None] = {}
    for node in ast.walk(ast.parse(text)):
        names: List[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            base = resolve_name("." * node.level + base, package) if node.level else base
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            found.update((".".join(parts[: end + 1]), None) for end in range(len(parts)))
    return list(found)
