"""Grammars of answers that exported folders bring: those of the shipped models."""

from sit_fairseq.domains.ltl.trace_grammar import TraceGrammar
from sit_fairseq.domains.prop.assignment_grammar import AssignmentGrammar

GRAMMARS = {"prop": AssignmentGrammar, "ltl": TraceGrammar}
