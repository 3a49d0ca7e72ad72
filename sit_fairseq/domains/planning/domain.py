"""Planning: a state and a goal, and the action to take next."""

from sit_fairseq.domains import Domain
from sit_fairseq.domains.planning.answering import PlanSolver
from sit_fairseq.domains.planning.learnt import SYMBOLS
from sit_fairseq.domains.planning.teaching import PlanTeacher
from sit_fairseq.judging.equality_judges import ExactJudge

DOMAIN = Domain(
    name="planning",
    version=3,
    symbols=SYMBOLS,
    judges={"exact": ExactJudge},
    solve=PlanSolver,
    train=PlanTeacher,
    model="planning",
)
