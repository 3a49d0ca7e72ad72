"""A user's own judges, domains and grammars, by ``MODULE:OBJECT``."""

import os
import sys
import traceback
from importlib import import_module
from typing import Dict, Optional, Type, TypeVar

from sit_fairseq.errors import UserError

Own = TypeVar("Own")

# Names the folder of modules of the user's own to processes that run in another one.
OWN_MODULES = "SIT_OWN_MODULES"

# The modules of the user's own, by file.
_OWN: Dict[Optional[str], str] = {}


def own_object(place: str, parameter: str, *kinds: Type[Own]) -> Own:
    """Finds a user's own object of one of some kinds, or makes one of a user's own class, by
    ``MODULE:OBJECT``; a UserError if Python finds none from the working directory, or its code
    fails."""
    module, _, name = place.partition(":")
    folder = os.environ.get(OWN_MODULES, os.getcwd())
    if folder not in sys.path:  # worker processes get the same path
        sys.path.append(folder)
    try:
        own = getattr(import_module(module), name)
        _OWN[getattr(sys.modules[module], "__file__", None)] = module
        own = own() if isinstance(own, type) and issubclass(own, kinds) else own
    except UserError as error:
        raise UserError(f"{place} cannot be used: {error}; mend {module}")
    except Exception as error:  # whatever their code raises
        raise UserError(f"{place} cannot be used ({type(error).__name__}: {error}); mend {module}")
    if not isinstance(own, kinds):
        known = " or ".join(f"{kind.__module__}.{kind.__name__}" for kind in kinds)
        raise UserError(f"{place} is no object and no subclass of {known}", parameter)
    return own


def own_failure(error: Exception) -> Exception:
    """The error to raise where one was not caught: a UserError if it comes out of a module that
    :func:`own_object` imported, else ``error``."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename in _OWN:
            what = f"{type(error).__name__}: {error}"
            return UserError(
                f"{_OWN[frame.filename]} fails in line {frame.lineno} ({what}); mend it"
            )
    return error
