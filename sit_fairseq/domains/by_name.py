"""Judges and grammars, by the name of a domain or of a user's own.

Whoever calls may name what is imported, ``MODULE:OBJECT``. A file may not: its names go through
:func:`of_file` first.
"""

from functools import lru_cache
from typing import Any, Callable, Collection, Mapping, Optional

from sit_fairseq.domains import Domain, find, known, names
from sit_fairseq.errors import UserError, excerpt
from sit_fairseq.judging.equality_judges import AlphaJudge, ExactJudge
from sit_fairseq.judging.judge import Judge, accepting
from sit_fairseq.judging.own import own_object
from sit_fairseq.search.grammar import Grammar
from sit_fairseq.symbols.prefix import OwnArity

# Judges that compare answers with references, whatever these mean.
_COMPARING = {"exact": ExactJudge, "alpha": AlphaJudge}

# Every name of a judge but MODULE:CLASS.
SEMANTICS = (*names(), *_COMPARING)


def is_ours(name: Any) -> bool:
    """Whether a name is that of a domain of the package or its alias, or of a judge by comparison."""
    return isinstance(name, str) and (name in SEMANTICS or known(name) is not None)


def of_file(name: Any, parameter: str = "", known: Optional[Collection[str]] = None) -> str:
    """A name that a file holds, before anything is imported or run by it.

    Args:
        name: whatever the file has; None if it has none.
        parameter: by which the caller may name any object; empty if there is none.
        known: all names that are allowed; None for those of the package, see :func:`is_ours`.

    Raises:
        UserError: the name is another one.
    """
    if is_ours(name) if known is None else isinstance(name, str) and name in known:
        return name
    if name is None:
        raise UserError("the model says no domain, so name one", parameter)
    reason = "is not of the package, and nothing is imported because a file names it"
    advice = "; if you trust it, name it yourself" if parameter else ""
    shown = excerpt(name) if isinstance(name, str) else excerpt(repr(name))
    raise UserError(f"{shown} {reason}{advice}", parameter)


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
    """The default judge of a semantics, see :func:`~sit_fairseq.judging.judge.accepting`."""
    return accepting(make_judge(semantics, parameter=parameter), parameter)


def domain_of(judge: Judge) -> Optional[Domain]:
    """The domain that a judge is of; None for a judge by itself."""
    return domain_named(judge.semantics)


def domain_named(name: str) -> Optional[Domain]:
    """The domain of a name; None for a judge or a grammar by itself."""
    if ":" not in name:
        return known(name)
    own = own_object(name, "semantics", Judge, Grammar, Domain)
    return own if isinstance(own, Domain) else None


@lru_cache(maxsize=None)
def assumed() -> Domain:
    """The domain of the package with the most operators: formulas are read by it where nobody names
    a domain."""
    return max(map(find, names()), key=lambda domain: len(domain.arity))


def arity_of(domain: Optional[str] = None) -> Mapping[str, int]:
    """The numbers of operands of tokens, for the positions of a model in trees, by the domain that
    its file names; of the :func:`assumed` one if that is none of the package."""
    found = known(domain) if is_ours(domain) else None
    return (found or assumed()).arity


def given_arity(domain: str) -> Mapping[str, int]:
    """The same by the domain that the caller names, which may be a user's own."""
    found = find(domain, "domain")
    return found.arity if is_ours(domain) else OwnArity(found.arity)


def refuse_other_domain(
    semantics: Optional[str], domain: Callable[[str], str], parameter: str = "verify"
) -> None:
    """Raises a UserError if a judge or a grammar is of another domain of the package than a model,
    whose ``domain`` is that of :func:`grammar_of_answers`; a model that says none is asked."""
    try:
        name = domain(parameter)
    except UserError:
        return
    theirs, own = known(semantics), known(name)
    if None not in (theirs, own) and theirs.name != own.name:
        reason = f"does not suit this model, which is of {own.name}"
        raise UserError(f"{semantics} {reason}", parameter)


def make_grammar(name: str) -> Grammar:
    """Makes a grammar of answers by the name of a domain, or ``MODULE:OBJECT``, a domain or a subclass
    of :class:`~sit_fairseq.search.grammar.Grammar`; a UserError if the name has no grammar."""
    own = own_object(name, "constrained", Grammar, Domain) if ":" in name else None
    if isinstance(own, Grammar):
        return own
    found = own or find(name, "constrained")
    if found.grammar is None:
        raise UserError(f"the domain {name} has no grammar of answers", "constrained")
    return found.grammar()


def grammar_of_answers(
    constrained: Any, judge: Optional[Judge], domain: Callable[[str], str]
) -> Optional[Grammar]:
    """The grammar of a search; a UserError if the name has no grammar, or judge and model differ in
    domain.

    Args:
        constrained: True or ``auto`` for the grammar of the model's domain, a name as
            :func:`make_grammar` takes it, or a grammar; False or ``none`` for none. None for that of
            the judge's domain, if it has one.
        judge: who accepts answers; None if nobody does.
        domain: gives the name of the model's domain, or raises a UserError that advises to change
            the parameter that it is given.
    """
    if judge is not None:
        refuse_other_domain(getattr(judge, "semantics", None), domain)
    if constrained is None and judge is not None:
        theirs = domain_of(judge)
        if theirs is not None and theirs.grammar is not None:
            constrained = judge.semantics
    if constrained in (None, False, "none"):
        return None
    if constrained in (True, "auto"):
        constrained = domain("constrained")
    if isinstance(constrained, str):
        refuse_other_domain(constrained, domain, "constrained")
        return make_grammar(constrained)
    if isinstance(constrained, type) or not hasattr(constrained, "start"):
        kinds = "True, the name of a domain or a grammar"
        raise UserError(f"constrained takes {kinds}, not {constrained!r}", "constrained")
    return constrained
