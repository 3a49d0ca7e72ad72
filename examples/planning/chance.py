"""Random actions in the place of a model: what the search does alone."""

from math import log
from random import Random
from typing import List, Tuple

from sit_fairseq.domains.planning.solving import Question


def random_actions(questions: List[Question]) -> List[List[Tuple[List[str], float]]]:
    """All actions in random order, which the sentence draws."""
    found = []
    for sentence, actions in questions:
        actions = [words for words, _ in actions]
        Random(" ".join(sentence)).shuffle(actions)
        found.append([(action, -log(len(actions))) for action in actions])
    return found
