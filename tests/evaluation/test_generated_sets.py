"""Answers of fairseq-generate to test sets and to renamed copies of them."""

import pytest

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.correct import measure_correct
from sit_fairseq.evaluation.generate_output import Hypothesis, Sentence
from sit_fairseq.evaluation.generated_sets import (
    generated_table,
    measure_agreement,
    read_generated_set,
    report_generated,
)
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.judging.judge import make_judge

# Source, reference, answer; the second answer is wrong, the third right in another order.
TEST = [("& a b", "a 1 b 1", "a 1 b 1"), ("! a", "a 0", "a 1"), ("& c d", "c 1 d 1", "d 1 c 1")]
COPY = [("& p q", "p 1 q 1", "p 1 q 1"), ("! q", "q 0", "q 1"), ("& a d", "a 1 d 1", "a 1 d 1")]


def answered(source, answer, score="-0.1"):
    return Sentence(source, "", [Hypothesis(score, answer)])


def write(path, sentences, scores=("-0.1", "-0.2", "-0.3")):
    """Writes what fairseq-generate prints, the last sentence first."""
    judge, lines = make_judge("prop"), []
    for number, ((source, target, answer), score) in enumerate(zip(sentences, scores)):
        verdict = judge.verify(source, answer).value
        lines.append(
            f"S-{number}\t{source}\nT-{number}\t{target}\nH-{number}\t{score}\t{answer}\n"
            f"D-{number}\t{score}\t{answer}\nP-{number}\t-0.1\nI-{number}\t{verdict}\n"
        )
    path.write_text("".join(reversed(lines)))


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "test.txt", TEST)
    (tmp_path / "test.log").write_text("x\nTranslated 3 sentences (9 tokens) in 1.5s (2.00 sent\n")
    return tmp_path


def test_answers_are_compared_after_the_renaming_is_undone():
    originals = [answered("& a b", "a 1 b 1"), answered("| a b", "a 1")]
    copies = [
        [answered("& c a", "c 1 a 1"), answered("| c a", "c 1", "-0.2")],
        [answered("& b a", "b 1 a 0"), answered("| x y", "x 1")],
    ]
    agreement = measure_agreement(originals, copies)
    assert agreement.equal == Proportion(2, 4)
    assert agreement.covariance == (0.5 + 1.0) / 2


def test_a_name_that_the_copy_gave_up_is_not_taken_for_another():
    # b is in neither the copy nor its renaming: the answer about it is no answer about a.
    (original,), (copy,) = [answered("! b", "b 0")], [answered("! a", "b 0")]
    agreement = measure_agreement([original], [[copy]])
    assert (agreement.covariance, agreement.equal) == (0.0, Proportion(0, 1))


def test_numbers_are_those_of_sit_evaluate(folder):
    found = read_generated_set(str(folder), "test", "prop")
    sources, targets, answers = zip(*TEST)
    judge = make_judge("prop")
    verdicts = list(map(judge.verify, sources, answers))
    assert found.result == measure_correct(judge, sources, targets, answers, verdicts)
    assert found.result["correct"] == Proportion(2, 3)
    assert found.result["exact"] == Proportion(1, 3)
    assert found.result["exact_modulo_order"] == Proportion(2, 3)
    assert (found.seconds, found.agreement) == ("1.5", None)


def test_symbols_of_what_is_no_formula(folder):
    """Answers that are compared with references are counted by the symbols of their source."""
    lines = [
        ("a met b", "meet a b", "meet a b", "satisfied"),
        ("b slept", "sleep b", "b", "violated"),
    ]
    (folder / "words.txt").write_text(
        "".join(
            f"S-{n}\t{source}\nT-{n}\t{target}\nH-{n}\t-0.1\t{answer}\nD-{n}\t-0.1\t{answer}\n"
            f"I-{n}\t{verdict}\n"
            for n, (source, target, answer, verdict) in enumerate(lines)
        )
    )
    assert "correct_by_symbols" not in read_generated_set(str(folder), "words", "exact").result
    found = read_generated_set(str(folder), "words", "exact", symbols="[a-b]").result
    assert found["correct_by_symbols"] == {"1": Proportion(0, 1), "2": Proportion(1, 1)}


def test_table_has_intervals_and_what_became_of_renamed_copies(folder):
    write(folder / "test.renamed1.txt", COPY)
    write(folder / "plain.txt", COPY)
    sets = {name: read_generated_set(str(folder), name, "prop") for name in ("test", "plain")}
    rows = {row[0]: row[1:] for row in generated_table(sets)}
    assert rows[""][::2] == ["test", "plain"]
    assert rows["correct"] == [2, Proportion(2, 3), 2, Proportion(2, 3)]
    # The answer to the third copy is the renamed one but for its order.
    assert rows["alpha-covariance"] == ["", f"{200 / 3:.2f} %", "", "—"]
    assert rows["renamed alike"] == [2, Proportion(2, 3), "", "—"]
    assert rows["seconds"] == ["", "1.5", "", "—"]


def test_report_counts_equal_answers_and_shows_one(folder):
    write(folder / "test.renamed1.txt", COPY, scores=("-0.1", "-0.2001", "-0.3"))
    write(folder / "plain.txt", COPY)
    text = report_generated(str(folder), {"plain": "Plain", "test": "Some"}, "prop")
    assert "| correct " in text and f"{Proportion(2, 3)}" in text
    assert "\n1 of 3 renamed sentences got the renamed answer with the same score.\n" in text
    assert "  source  & a b\n  answer  a 1 b 1  (satisfied)\n  source  & p q\n" in text
    assert "renamed sentences" not in report_generated(str(folder), {"plain": "Plain"}, "prop")


def test_answers_are_compared_as_words(tmp_path):
    """With ``--bpe`` the sentence, its reference and the D- line are words, the H- line pieces."""
    (tmp_path / "test.txt").write_text(
        "S-0\ta slept\nT-0\tsleep a\nH-0\t-0.1\t▁sl eep ▁a\nD-0\t-0.1\tsleep a\nI-0\tsatisfied\n"
    )
    found = read_generated_set(str(tmp_path), "test", "exact").result
    assert found["exact"] == Proportion(1, 1) and found["mean_edit_distance"] == 0


@pytest.mark.parametrize("lost", ["I-1\tviolated\n", "H-1\t-0.2\ta 1\n"])
def test_answers_that_were_not_judged_are_refused(folder, lost):
    text = (folder / "test.txt").read_text()
    (folder / "test.txt").write_text(text.replace(lost, ""))
    with pytest.raises(UserError, match="test.txt does not have a judged answer"):
        read_generated_set(str(folder), "test", "prop")


def test_copies_of_other_sentences_are_refused(folder):
    write(folder / "test.renamed1.txt", [COPY[1], *COPY[1:]])
    with pytest.raises(UserError, match="Sentence 1 .* no renaming"):
        read_generated_set(str(folder), "test", "prop")
    write(folder / "test.renamed1.txt", COPY[:2])
    with pytest.raises(UserError, match="3 sentences, but a renamed copy 2"):
        read_generated_set(str(folder), "test", "prop")


def test_a_missing_output_is_named(tmp_path):
    with pytest.raises(UserError, match="Cannot read .*none.txt"):
        read_generated_set(str(tmp_path), "none", "prop")
