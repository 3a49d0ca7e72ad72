"""Exported files under a grammar of the package, as the page of the playground asks them."""

import numpy

from examples.deployment.answer import ExportedModel


class ConstrainedModel(ExportedModel):
    """Rules out what a grammar does not allow."""

    def __init__(self, folder, grammar, **options):
        super().__init__(folder, **options)
        self.grammar, self.needed = grammar, {}

    def token(self, column):
        """What a grammar calls a column: a base token, or the slot of a symbol."""
        return self.tokens[column] if column < len(self.tokens) else int(column) - len(self.tokens)

    def fewest(self, state, columns):
        """(columns,) the fewest tokens of an answer from each one on, </s> not counted."""
        if (state, columns) not in self.needed:
            after = [self.grammar.next(state, self.token(column)) for column in range(columns)]
            needed = [numpy.inf if s is None else 1 + self.grammar.shortest(s) for s in after]
            needed[self.eos] = numpy.inf if self.grammar.shortest(state) else 0
            self.needed[state, columns] = numpy.array(needed)
        return self.needed[state, columns]

    def rule_out(self, log_probabilities, hypotheses, step, longest):
        for row, hypothesis in zip(log_probabilities, hypotheses):
            state = self.grammar.start()
            for column in hypothesis:
                state = self.grammar.next(state, self.token(column))
            row[self.fewest(state, len(row)) > longest - step] = -numpy.inf
        super().rule_out(log_probabilities, hypotheses, step, longest)
