"""The grammar of a model's answers, by its name or by the domain of the model."""

from typing import Iterable, Optional

from sit_fairseq.errors import UserError
from sit_fairseq.judging.judge import judge_class, own_object, refuse_other_logic
from sit_fairseq.logic.grammars import GRAMMARS, Grammar

# What sentences can be about; a key of GRAMMARS has a grammar.
DOMAINS = ("prop", "ltl", "copying")


def check_domain(domain: Optional[str]) -> None:
    """Raises a UserError unless a domain is known, or one of a user's own (``MODULE:OBJECT``)."""
    if domain is not None and domain not in DOMAINS and ":" not in domain:
        raise UserError(
            f"there is no domain {domain!r}; known are {', '.join(DOMAINS)}, and one of your own by "
            "MODULE:OBJECT",
            "domain",
        )


def make_grammar(
    name: str, domain: Optional[str] = None, base_tokens: Optional[Iterable[str]] = None
) -> Grammar:
    """Makes the grammar of a model's answers.

    Args:
        name: a key of ``GRAMMARS``; ``auto`` for the one of the domain; or ``MODULE:CLASS``, a
            subclass of :class:`Grammar` of your own.
        domain: what the model's sentences are about, None if nobody has said it.
        base_tokens: the model's tokens that are no symbols; None if there is no model.

    Raises:
        UserError: there is no such grammar, or it cannot be of the model's answers.
    """
    if name == "auto":
        name = domain
        if name not in GRAMMARS:
            lacking = "the model has no domain" if domain is None else f"the domain {domain}"
            reason = "that says its grammar" if domain is None else "has no grammar"
            raise UserError(f"{lacking} {reason}; name a grammar: --constrained prop")
    if ":" in name:
        return own_object(name, Grammar, "constrained")
    if name not in GRAMMARS:
        raise UserError(
            f"there is no grammar {name!r}; known are {', '.join(GRAMMARS)}, and one of your own by "
            "MODULE:CLASS",
            "constrained",
        )
    if base_tokens is not None:
        refuse_other_logic(judge_class(name), base_tokens, "constrained")
    return GRAMMARS[name]()
