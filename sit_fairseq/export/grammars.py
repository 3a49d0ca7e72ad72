"""Grammars of answers by domain; an exported folder has a file of this name with that of its model."""

from sit_fairseq.domains import find, names

GRAMMARS = {name: find(name).grammar for name in names() if find(name).grammar is not None}
