"""fairseq-generate, with the plug-in."""

import random
import re
import shutil
from string import ascii_lowercase

import pytest
from command_line import (
    PLUG_IN,
    ROOT,
    UNVALIDATED,
    generate,
    preprocess,
    preprocess_lines,
    printed,
    sit,
    train,
)

from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.errors import UserError
from sit_fairseq.judging.equality_judges import edit_distance
from sit_fairseq.symbols.renaming import random_renamings

SEMANTIC = ("--scoring", "semantic", "--semantics")
SHORT = ("--beam", 2, "--max-len-b", 8)


@pytest.fixture
def answers(capsys):
    """What fairseq-generate prints of each sentence, and all that it prints."""

    def answer(data, checkpoint, *arguments):
        capsys.readouterr()
        generate(data, checkpoint, *arguments)
        out = capsys.readouterr().out
        return printed(out), out

    return answer


@pytest.fixture(scope="session")
def five(prop, tmp_path_factory):
    """Binarised data of five formulas."""
    lines = prop.lines[:5]
    return lines, preprocess_lines(tmp_path_factory.mktemp("five"), lines, ["1"] * 5)


def test_every_line_comes_back_in_whatever_number(prop, tmp_path, answers):
    targets = (prop.root / "test.tgt").read_text().splitlines()[:97]
    data = preprocess_lines(tmp_path, prop.lines[:97], targets)
    found, _ = answers(data, prop.random, "--batch-size", 32, *SHORT)
    assert [sentence.source for sentence in found] == prop.lines[:97]
    assert [sentence.target for sentence in found] == targets
    assert all(sentence.answers for sentence in found)


def test_three_hundred_renamings_change_nothing_but_names(prop, tmp_path, answers):
    rng, lines = random.Random(1), prop.lines * 3
    renamings = [
        random_renamings(sorted(set(re.findall(r"\b[a-z]\b", line))), ascii_lowercase, 1, rng)[0]
        for line in lines
    ]
    others = [renaming(line) for renaming, line in zip(renamings, lines)]
    before, after = (
        answers(
            preprocess_lines(tmp_path / name, texts, ["1"] * 300),
            *(prop.trained, "--beam", 3, "--batch-size", 128, "--max-len-b", 12, "--nbest", 3),
        )[0]
        for name, texts in (("before", lines), ("after", others))
    )
    for line, renaming, one, other in zip(others, renamings, before, after, strict=True):
        assert other.source == line and other.scores == one.scores
        assert other.answers == list(map(renaming, one.answers))


def test_shards_share_the_sentences_out(prop, five, answers):
    lines, data = five
    each = (*SHORT, "--batch-size", 1, "--num-shards", 3)
    shards = [
        [s.source for s in answers(data, prop.random, *each, "--shard-id", n)[0]] for n in range(3)
    ]
    assert all(shards) and sorted(sum(shards, [])) == sorted(lines)
    with pytest.raises(UserError, match="num_shards"):
        answers(data, prop.random, "--num-shards", 3, "--shard-id", 3)


def test_verdicts_stand_beside_each_answer_and_add_up(prop, answers):
    search = ("--beam", 3, "--nbest", 2, "--max-len-b", 12)
    found, out = answers(prop.data, prop.trained, *search, *SEMANTIC, "prop")
    judge = make_judge("prop", "aiger")
    for sentence in found[:20]:
        judged = [judge.verify(sentence.source, answer).value for answer in sentence.answers]
        assert sentence.verdicts == judged and len(judged) == 2
    satisfied = sum(sentence.verdicts[0] == "satisfied" for sentence in found)
    exact = sum(sentence.answers[0] == sentence.target for sentence in found)
    assert len(found) == 100 and 0 < exact <= satisfied < 100
    assert f"exact {exact:.2f} % ({exact}/100); {satisfied}/100 correct" in out
    assert sum(map(int, re.findall(r"\d+", re.search(r"correct; (.*)", out).group(1)))) == 100
    mean = sum(edit_distance(s.answers[0].split(), s.target.split()) for s in found) / len(found)
    _, out = answers(prop.data, prop.trained, *search, *SEMANTIC, "exact")
    assert f"({exact}/100); {exact}/100 correct" in out
    assert f"; mean edit distance {mean:.4g}\n" in out


def test_only_source_needs_no_target_unless_answers_are_compared(prop, tmp_path, answers):
    shutil.copy(prop.root / "test.src", tmp_path / "text.src")
    words = ("--only-source", "--srcdict", prop.data / "dict.src.txt")
    data = preprocess(tmp_path / "bin", "--testpref", tmp_path / "text", *words)
    shutil.copy(prop.data / "dict.tgt.txt", data)
    found, _ = answers(data, prop.trained, "-s", "src", "-t", "tgt", *SHORT)
    assert [sentence.source for sentence in found] == prop.lines
    judged, out = answers(data, prop.trained, "-s", "src", "-t", "tgt", *SHORT, *SEMANTIC, "prop")
    right = sum(sentence.verdicts[0] == "satisfied" for sentence in judged)
    assert f"; {right}/100 correct" in out and "exact" not in out
    for refused in ((*SEMANTIC, "exact"), ("--score-reference",)):
        with pytest.raises(UserError):
            generate(data, prop.trained, "-s", "src", "-t", "tgt", *SHORT, *refused)


def test_preprocessing_with_and_without_the_plug_in_is_the_same(prop, tmp_path):
    files = ("--trainpref", prop.root / "train", "--validpref", prop.root / "valid")
    data = preprocess(tmp_path / "bin", *files, "--testpref", prop.root / "test", *PLUG_IN)
    for name in ("dict.src.txt", "train.src-tgt.src.bin", "test.src-tgt.tgt.bin"):
        assert (data / name).read_bytes() == (prop.data / name).read_bytes()


def test_half_precision_model_still_answers(prop, tmp_path, answers):
    words = ("--finetune-from-model", prop.trained, "--memory-efficient-fp16", "--lr", 1e-4)
    path = train(prop.data, tmp_path, *words, "--max-update", 2, *UNVALIDATED)
    assert len(answers(prop.data, path, *SHORT)[0]) == 100


def test_sampling(prop, five, answers):
    """Also among more candidates than a sentence of one symbol has columns."""
    search = ("--sampling", "--beam", 3, "--nbest", 3, "--batch-size", 1, "--max-len-b", 8)
    found, _ = answers(five[1], prop.trained, *search, "--sampling-topk", 50)
    assert [len(sentence.answers) for sentence in found] == [3] * 5


def test_another_task_is_refused_in_one_sentence(prop):
    with pytest.raises(UserError, match="^.*--task stream_translation.*$"):
        generate(prop.data, prop.trained, "--task", "translation")


def test_vocabulary_grows_after_training(prop, tmp_path, answers):
    names = ",".join(f"p{number}" for number in range(200))
    words = ("--max-length", 15, "--workers", 1, "--size", 60)
    sit("generate", "prop", tmp_path / "more", "--symbols", names, *words)
    files = ("--trainpref", tmp_path / "more", "--testpref", tmp_path / "more")
    data = preprocess(tmp_path / "bin", *files)
    # The pattern in the checkpoint is [a-z]; here it is another one.
    found, _ = answers(data, prop.trained, "--symbols", r"p\d+", *SHORT, *SEMANTIC, "prop")
    assert len(found) == 60
    for sentence in found:
        assert set(re.findall(r"p\d+", sentence.answers[0])) <= set(sentence.source.split())
        assert sentence.verdicts[0] in ("satisfied", "violated", "vacuous", "invalid")


def test_lost_names_are_not_scored_and_the_remedy_works(tmp_path, capsys):
    """Names that the dictionary of training lacks are lost, but not in a dictionary of their own."""
    lines, shipped = (["& x17 y", "! x17"], ["x17 1 y 1", "x17 0"]), ROOT / "checkpoints" / "prop"
    (tmp_path / "dict").write_text("".join(f"{token} 1\n" for token in "& ! a b 0 1".split()))
    known = ("--srcdict", tmp_path / "dict", "--joined-dictionary")
    lost = preprocess_lines(tmp_path / "lost", *lines, "test", *known)
    asked = (shipped / "model.pt", *SEMANTIC)
    for semantics in ("prop", "exact"):
        with pytest.raises(UserError, match="6 tokens of test are <unk>.*--trainpref"):
            generate(lost, *asked, semantics)
    judged = ("--validate-semantics", "prop", "--valid-subset", "test", "--max-update", 1)
    with pytest.raises(UserError, match="--validate-semantics"):
        train(lost, tmp_path / "model", *judged)
    capsys.readouterr()
    generate(preprocess_lines(tmp_path / "new", *lines), *asked, "prop")
    assert "correct 100.00 %" in capsys.readouterr().out
