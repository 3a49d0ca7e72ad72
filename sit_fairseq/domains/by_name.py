"""Judges and grammars, by the name of a domain or of a user's own."""

from typing import Any, Iterable, Mapping, Optional

from sit_fairseq.domains import Domain, find, known, names
from sit_fairseq.domains.formulas.syntax import ARITY
from sit_fairseq.errors import UserError
from sit_fairseq.judging.equality_judges import AlphaJudge, ExactJudge
from sit_fairseq.judging.judge import Judge, own_object, refuse_other_logic
from sit_fairseq.search.grammar import Grammar

# Judges that compare answers with references, whatever these mean.
_COMPARING = {"exact": ExactJudge, "alpha": AlphaJudge}

# Every name of a judge but MODULE:CLASS.
SEMANTICS = (*names(), *_COMPARING)


def make_judge(semantics: str, judge: Optional[str] = None, parameter: str = "semantics") -> Judge:
    """Makes a judge by name; a UserError, which names the ``parameter``, if there is none.

    ``semantics`` is a domain, ``exact``, ``alpha``, or ``MODULE:OBJECT``, a domain or a subclass of
    :class:`~sit_fairseq.judging.judge.Judge`; ``judge`` one of the domain, None for the first one.
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
        known_names = ", ".join([*SEMANTICS, "your own by MODULE:OBJECT"])
        raise UserError(f"unknown semantics {semantics!r}; known are {known_names}", parameter)
    made = _COMPARING[semantics]()
    if judge not in (None, made.name):
        raise UserError(f"{semantics} has no judge {judge!r}, but {made.name}", "judge")
    return made


def accepting_judge(semantics: str, parameter: str = "verify") -> Judge:
    """The default judge of a semantics, which needs nothing but a problem and an answer; a
    UserError if there is none, it compares with references, or lacks what it needs to decide
    anything."""
    judge = make_judge(semantics, parameter=parameter)
    if judge.on_references:
        reason = "compares answers with references, which sentences to be answered do not have"
        raise UserError(f"{semantics} {reason}", parameter)
    if judge.missing is not None:
        raise UserError(f"{semantics} needs what is not installed: {judge.missing}", parameter)
    return judge


def domain_of(judge: Judge) -> Optional[Domain]:
    """The domain that a judge is of; None for a judge by itself."""
    if ":" not in judge.semantics:
        return known(judge.semantics)
    own = own_object(judge.semantics, "semantics", Judge, Domain)
    return own if isinstance(own, Domain) else None


def arity_of(domain: Optional[str]) -> Mapping[str, int]:
    """The numbers of operands of tokens, for the positions of a model in trees; formulas' if the
    model names no domain of the package."""
    found = known(domain)  # not a user's own: nothing is imported because a file says so
    return ARITY if found is None else found.arity


def check_domain(domain: Optional[str]) -> None:
    """Raises a UserError unless a domain is known, or one of a user's own (``MODULE:OBJECT``)."""
    if domain is not None and ":" not in domain:
        find(domain, "domain")


def make_grammar(
    name: str, domain: Optional[str] = None, base_tokens: Optional[Iterable[str]] = None
) -> Grammar:
    """Makes the grammar of a model's answers; a UserError if there is none, or it cannot be theirs.

    ``name`` is a domain; ``auto`` for the model's, ``domain``; or ``MODULE:OBJECT``, a domain or a
    subclass of :class:`~sit_fairseq.search.grammar.Grammar`. ``base_tokens`` are the model's.
    """
    own = own_object(name, "constrained", Grammar, Domain) if ":" in name else None
    if isinstance(own, Grammar):
        return own
    if name == "auto":
        own, name = known(domain), domain or ""
        if own is None:
            lacking = "the model has no domain" if domain is None else f"the domain {domain}"
            reason = "that says its grammar" if domain is None else "is not of the package"
            raise UserError(f"{lacking} {reason}; name a grammar: --constrained prop")
    found = own or find(name, "constrained")
    if found.grammar is None:
        raise UserError(f"the domain {name} has no grammar of answers", "constrained")
    if base_tokens is not None:
        first, *_ = found.judges.values()
        refuse_other_logic(first, base_tokens, "constrained")
    return found.grammar()


def grammar_of_answers(
    constrained: Any,
    judge: Optional[Judge],
    domain: Optional[str],
    base_tokens: Iterable[str],
) -> Optional[Grammar]:
    """The grammar of a search; a UserError if there is none, or it cannot be the model's.

    Args:
        constrained: True for the grammar of the model's domain, a name as :func:`make_grammar` takes
            it, or a grammar; False or ``none`` for none. None for that of the judge's domain, if it
            has one.
        judge: who accepts answers; None if nobody does.
        domain: the model's, None if nobody has said it.
        base_tokens: the model's.
    """
    if constrained is None and judge is not None:
        theirs = domain_of(judge)
        if theirs is not None and theirs.grammar is not None:
            constrained = judge.semantics
    if constrained in (None, False, "none"):
        return None
    if constrained is True or isinstance(constrained, str):
        return make_grammar("auto" if constrained is True else constrained, domain, base_tokens)
    if not hasattr(constrained, "start"):
        kinds = "True, the name of a domain or a grammar"
        raise UserError(f"constrained takes {kinds}, not {constrained!r}", "constrained")
    return constrained
