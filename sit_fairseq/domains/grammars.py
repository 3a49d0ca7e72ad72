"""The grammar of a model's answers, by the name of a logic or by the model's tokens."""

from typing import Iterable, Optional

from sit_fairseq.domains.ltl.grammar import GRAMMARS, Grammar
from sit_fairseq.errors import UserError
from sit_fairseq.judging.judge import judge_class, other_logic, own_object, refuse_other_logic


def make_grammar(name: str, base_tokens: Iterable[str]) -> Grammar:
    """Makes the grammar of a model's answers.

    Args:
        name: a key of ``GRAMMARS``; ``auto`` for the one of the model's tokens; or
            ``MODULE:CLASS``, a subclass of :class:`Grammar` of your own.
        base_tokens: the model's tokens that are no symbols.

    Raises:
        UserError: there is no such grammar, or it is not of the model's logic.
    """
    if ":" in name:
        return own_object(name, Grammar, "constrained")
    tokens = list(base_tokens)
    if name == "auto":
        name = grammar_of(tokens)
        if name is None:
            raise UserError(
                "the tokens of the model do not say of which logic its answers are; name one of "
                f"{', '.join(GRAMMARS)}, or a grammar of your own by MODULE:CLASS",
                "constrained",
            )
    elif name not in GRAMMARS:
        raise UserError(
            f"there is no grammar {name!r}; known are {', '.join(GRAMMARS)}, and one of your own by "
            "MODULE:CLASS",
            "constrained",
        )
    else:
        refuse_other_logic(judge_class(name), tokens, "constrained")
    return GRAMMARS[name]()


def grammar_of(base_tokens: Iterable[str]) -> Optional[str]:
    """The key of ``GRAMMARS`` that suits a model's tokens; None if none or several do."""
    tokens = list(base_tokens)
    suitable = [key for key in GRAMMARS if other_logic(judge_class(key), tokens) is None]
    return suitable[0] if len(suitable) == 1 else None
