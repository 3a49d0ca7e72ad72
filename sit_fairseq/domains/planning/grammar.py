"""The grammar of actions."""

from typing import Dict, Optional, Sequence, Tuple

from sit_fairseq.domains.planning.applicable import applicable
from sit_fairseq.domains.planning.sentences import read_sentence
from sit_fairseq.search.grammar import Grammar
from sit_fairseq.symbols.slot import Slot, Token


class _Node:
    """What may follow the first tokens of an action, by the next token."""

    def __init__(self) -> None:
        self.next: Dict[Token, "_Node"] = {}
        self.shortest = 0

    def add(self, tokens: Sequence[Token]) -> None:
        if tokens:
            self.shortest = min(self.shortest or len(tokens), len(tokens))
            self.next.setdefault(tokens[0], _Node()).add(tokens[1:])


class ActionGrammar(Grammar):
    """The actions that are applicable in the state that a sentence tells."""

    def start(self, source: Tuple[Token, ...]) -> _Node:
        names = {f"{t.sort}{int(t)}": t for t in source if isinstance(t, Slot)}
        words = [f"{t.sort}{int(t)}" if isinstance(t, Slot) else t for t in source]
        domain, problem = read_sentence(words)
        root = _Node()
        for name, *objects in applicable(domain, problem.initial, problem.sorts):
            root.add([name, *(names[one] for one in objects)])
        return root

    def next(self, state: _Node, token: Token) -> Optional[_Node]:
        return state.next.get(token)

    def shortest(self, state: _Node) -> int:
        return state.shortest
