"""Judges and grammars, by the name of a domain or of a user's own."""

from typing import Iterable, Optional

from sit_fairseq.domains import Domain, find, known, names
from sit_fairseq.errors import UserError
from sit_fairseq.judging.equality_judges import AlphaJudge, ExactJudge
from sit_fairseq.judging.judge import Judge, other_logic, own_object, refuse_other_logic
from sit_fairseq.search.grammar import Grammar

# Judges that compare answers with references, whatever these mean.
_COMPARING = {"exact": ExactJudge, "alpha": AlphaJudge}

# Every name of a judge but MODULE:CLASS.
SEMANTICS = (*names(), *_COMPARING)


def make_judge(semantics: str, judge: Optional[str] = None, parameter: str = "semantics") -> Judge:
    """Makes a judge by name.

    Args:
        semantics: a domain, ``exact``, ``alpha``, or ``MODULE:CLASS``, a subclass of
            :class:`~sit_fairseq.judging.judge.Judge` in a module that Python finds from the working
            directory.
        judge: a judge of the domain; None for the first one.
        parameter: names the semantics in messages.

    Raises:
        UserError: there is no such semantics, judge or class.
    """
    if ":" in semantics:
        own = own_object(semantics, parameter, Judge, Domain)
        if isinstance(own, Domain):
            own = own.judge(judge)
        elif judge is not None:
            raise UserError(f"{semantics} is a judge already, and has no {judge!r}", "judge")
        else:
            own.name = semantics.partition(":")[2]
        own.semantics = semantics
        return own
    domain = known(semantics)
    if domain is not None:
        return domain.judge(judge)
    if semantics not in _COMPARING:
        raise UserError(
            f"unknown semantics {semantics!r}; known are {', '.join(SEMANTICS)}, and a domain or "
            "judge of your own by MODULE:OBJECT",
            parameter,
        )
    made = _COMPARING[semantics]()
    if judge not in (None, made.name):
        raise UserError(f"{semantics} has no judge {judge!r}, but {made.name}", "judge")
    return made


def accepting_judge(semantics: str, parameter: str = "verify") -> Judge:
    """The default judge of a semantics, which needs nothing but a problem and an answer.

    Raises:
        UserError: there is no such semantics, it compares with references, or its judge lacks what
            it needs to decide anything.
    """
    judge = make_judge(semantics, parameter=parameter)
    if judge.on_references:
        raise UserError(
            f"{semantics} compares answers with references, which sentences to be answered do not "
            "have",
            parameter,
        )
    if judge.missing is not None:
        raise UserError(f"{semantics} needs what is not installed: {judge.missing}", parameter)
    return judge


def domain_of(judge: Judge) -> Optional[Domain]:
    """The domain that a judge is of; None for a judge by itself."""
    if ":" not in judge.semantics:
        return known(judge.semantics)
    own = own_object(judge.semantics, "semantics", Judge, Domain)
    return own if isinstance(own, Domain) else None


def make_grammar(name: str, base_tokens: Iterable[str]) -> Grammar:
    """Makes the grammar of a model's answers.

    Args:
        name: a domain; ``auto`` for the one of the model's tokens; or ``MODULE:CLASS``, a subclass
            of :class:`~sit_fairseq.search.grammar.Grammar` of your own.
        base_tokens: the model's tokens that are no symbols.

    Raises:
        UserError: there is no such grammar, or it is not of the model's logic.
    """
    tokens = list(base_tokens)
    if name == "auto":
        suitable = grammar_of(tokens)
        if suitable is None:
            raise UserError(
                "the tokens of the model do not say of which logic its answers are; name a domain, "
                "or a grammar of your own by MODULE:CLASS",
                "constrained",
            )
        name = suitable
    own = own_object(name, "constrained", Grammar, Domain) if ":" in name else None
    if isinstance(own, Grammar):
        return own
    domain = own or find(name, "constrained")
    if domain.grammar is None:
        raise UserError(f"the domain {name} has no grammar of answers", "constrained")
    refuse_other_logic(domain.judge_class, tokens, "constrained")
    return domain.grammar()


def grammar_of(base_tokens: Iterable[str]) -> Optional[str]:
    """The domain whose grammar suits a model's tokens; None if none or several do."""
    tokens = list(base_tokens)
    suitable = [
        domain.name
        for domain in map(find, names())
        if domain.grammar is not None and other_logic(domain.judge_class, tokens) is None
    ]
    return suitable[0] if len(suitable) == 1 else None
