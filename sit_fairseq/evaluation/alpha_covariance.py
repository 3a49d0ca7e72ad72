"""Alpha-covariance: do renamed inputs give renamed outputs?"""

from typing import Sequence


def alpha_covariance(answers: Sequence[str]) -> float:
    """Consistency of one problem's answers under renaming (section 5.1.1, eq. 2).

    Args:
        answers: the answer to each of n renamings of one problem, with the renaming
            undone.

    Returns:
        ``1 - (U - 1) / (n - 1)`` for U distinct answers: 1 if all agree, 0 if all differ.

    Raises:
        ValueError: for fewer than two answers, where nothing is compared.
    """
    if len(answers) < 2:
        raise ValueError("alpha-covariance needs the answers to at least two renamings")
    return 1.0 - (len(set(answers)) - 1) / (len(answers) - 1)
