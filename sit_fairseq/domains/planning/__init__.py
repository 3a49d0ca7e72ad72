"""Planning: problems in PDDL, and plans, found action by action."""
