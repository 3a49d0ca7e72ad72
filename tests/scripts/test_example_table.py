"""Answers to renamed sentences, compared with those to the sentences."""

from command_line import script_module

from sit_fairseq.evaluation.generate_output import Hypothesis, Sentence


def answered(source, answer, score="-0.1"):
    return Sentence(source, "", [Hypothesis(score, answer)])


def test_answers_are_compared_after_the_renaming_is_undone():
    compare = script_module("example_table").compare
    originals = [answered("& a b", "a 1 b 1"), answered("| a b", "a 1")]
    copies = [
        [answered("& c a", "c 1 a 1"), answered("| c a", "c 1", "-0.2")],
        [answered("& b a", "b 1 a 0"), answered("| x y", "x 1")],
    ]
    covariance, compared, equal = compare(originals, copies)
    assert (compared, equal) == (4, 2)
    assert covariance == (0.5 + 1.0) / 2


def test_a_name_that_the_copy_gave_up_is_not_taken_for_another():
    # b is in neither the copy nor its renaming: the answer about it is no answer about a.
    compare = script_module("example_table").compare
    (original,), (copy,) = [answered("! b", "b 0")], [answered("! a", "b 0")]
    assert compare([original], [[copy]]) == (0.0, 1, 0)
