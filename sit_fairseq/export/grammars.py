"""Grammars of answers by domain; an exported folder has a file of this name with that of its model."""

import logging
from typing import Optional

from sit_fairseq.domains import find, names

GRAMMARS = {name: find(name).grammar for name in names() if find(name).grammar is not None}


def exported_grammar(domain: Optional[str]) -> Optional[str]:
    """The domain whose grammar an export has, by that of the model; None, with a warning that says
    why, if it is none of the package."""
    if domain is not None and domain not in names():
        logging.getLogger(__name__).warning(
            "The export has no grammar of answers: the domain %s is not of the package, and its code "
            "stays where it is.",
            domain,
        )
    return domain if domain in GRAMMARS else None
