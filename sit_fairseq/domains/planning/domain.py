"""Planning: a state and a goal, and the action to take next."""

from sit_fairseq.domains import Domain
from sit_fairseq.domains.planning.answering import PlanSolver
from sit_fairseq.domains.planning.grammar import ActionGrammar
from sit_fairseq.domains.planning.judge import NextActionJudge
from sit_fairseq.domains.planning.recipe import LABELS, PlanningRecipe
from sit_fairseq.domains.planning.sentences import symbols

DOMAIN = Domain(
    name="planning",
    version=1,
    symbols=symbols(),
    judges={"good": NextActionJudge},
    grammar=ActionGrammar,
    recipe=PlanningRecipe,
    labels=LABELS,
    solve=PlanSolver,
    model="planning",
)
