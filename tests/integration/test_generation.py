"""fairseq-generate and fairseq-interactive, with the plug-in."""

import re

import fairseq_cli.validate
import pytest
import torch
from command_line import (
    PLUG_IN,
    UNVALIDATED,
    generate,
    interactive,
    preprocess,
    preprocess_lines,
    run,
    sit,
    train,
)
from generate_output import read_generate_output

from sit_fairseq.errors import UserError
from sit_fairseq.judging.judge import make_judge
from sit_fairseq.tasks.stream_dictionary import StreamDictionary

SEMANTIC = ("--scoring", "semantic", "--semantics", "prop")


def sentences(text: str, tmp_path):
    """Parses captured output."""
    (tmp_path / "output").write_text(text)
    return read_generate_output(str(tmp_path / "output"))


@pytest.mark.parametrize("count", [1, 5, 97, 101])
def test_every_line_comes_back_in_whatever_number(prop, tmp_path, capsys, count):
    lines = (prop.root / "test.src").read_text().splitlines()[:count]
    targets = (prop.root / "test.tgt").read_text().splitlines()[:count]
    data = preprocess_lines(tmp_path, lines, targets)
    capsys.readouterr()
    generate(data, prop.random, "--batch-size", 32, "--max-len-b", 8)
    found = sentences(capsys.readouterr().out, tmp_path)
    assert [sentence.source for sentence in found] == lines
    assert [sentence.target for sentence in found] == targets
    assert all(sentence.hypotheses for sentence in found)


def test_verdicts_stand_beside_each_answer_and_add_up(prop, tmp_path, capsys):
    generate(prop.data, prop.trained, "--beam", 3, "--nbest", 2, "--max-len-b", 12, *SEMANTIC)
    output = capsys.readouterr().out
    found = sentences(output, tmp_path)
    assert len(found) == 400
    judge = make_judge("prop", "aiger")
    for sentence in found[:60]:
        for hypothesis in sentence.hypotheses:
            assert hypothesis.verdict == judge.verify(sentence.source, hypothesis.text).value
    satisfied = sum(sentence.best.verdict == "satisfied" for sentence in found)
    exact = sum(sentence.best.text == sentence.target for sentence in found)
    assert 0 < satisfied < 400
    assert f"exact {exact / 4:.2f} % ({exact}/400); {satisfied}/400 correct" in output
    printed = re.search(r"correct; (.*)", output).group(1)
    assert sum(map(int, re.findall(r"\d+", printed))) == 400


def test_formulas_deeper_than_tree_positions_are_answered_like_others(
    prop, tmp_path, capsys, caplog
):
    """They are cut off at the greatest depth, with one warning, and cost no other its answer."""
    lines = (prop.root / "test.src").read_text().splitlines()[:5]
    targets = (prop.root / "test.tgt").read_text().splitlines()[:5]
    deep = "! " * 34 + "a"
    data = preprocess_lines(
        tmp_path, [*lines[:2], deep, *lines[2:]], [*targets[:2], "a 1", *targets[2:]]
    )
    capsys.readouterr()
    generate(data, prop.trained, "--max-len-b", 12, "--batch-size", 2, *SEMANTIC)
    output = capsys.readouterr().out
    assert caplog.text.count("a formula is 34 operators deep, but tree positions end at 32") == 1
    assert "/6 correct" in output
    found = sentences(output, tmp_path)
    assert found.pop(2).source == deep
    generate(preprocess_lines(tmp_path / "rest", lines, targets), prop.trained, "--max-len-b", 12)
    rest = sentences(capsys.readouterr().out, tmp_path)
    # Beside a longer sentence sums are rounded differently, which may turn a tie.
    scores = [float(s.best.score) for s in rest]
    assert [float(s.best.score) for s in found] == pytest.approx(scores, abs=1e-5)


def test_exact_compares_with_the_references(prop, tmp_path, capsys):
    options = ("--beam", 2, "--nbest", 2, "--max-len-b", 12, "--scoring", "semantic")
    generate(prop.data, prop.trained, *options, "--semantics", "exact")
    output = capsys.readouterr().out
    found = sentences(output, tmp_path)
    for sentence in found:
        for hypothesis in sentence.hypotheses:
            equal = hypothesis.text == sentence.target
            assert hypothesis.verdict == ("satisfied" if equal else "violated")
    exact = sum(sentence.best.text == sentence.target for sentence in found)
    assert 0 < exact < 400 and f"({exact}/400); {exact}/400 correct" in output


def test_exact_needs_references(prop, tmp_path):
    (tmp_path / "text.src").write_text("a\n")
    words = ("--only-source", "--srcdict", prop.data / "dict.src.txt")
    preprocess(tmp_path / "bin", "--testpref", tmp_path / "text", *words)
    (tmp_path / "bin" / "dict.tgt.txt").write_bytes((prop.data / "dict.tgt.txt").read_bytes())
    with pytest.raises(UserError, match="exact compares answers with references, but the data"):
        generate(tmp_path / "bin", prop.trained, "--scoring", "semantic", "--semantics", "exact")


@pytest.mark.parametrize("count", [10, 40, 200])
def test_vocabulary_grows_after_training(prop, tmp_path, capsys, count):
    options = ("--max-length", 15, "--workers", 1, "--size", 150)
    # p0, p1, ... as soon as the alphabet is too short.
    names = [f"p{i}" for i in range(count)]
    sit("generate", "prop", tmp_path / "more", "--symbols", ",".join(names), *options)
    data = preprocess(
        tmp_path / "bin", "--trainpref", tmp_path / "more", "--testpref", tmp_path / "more"
    )
    capsys.readouterr()
    # The pattern in the checkpoint is [a-z]; here it is widened.
    generate(data, prop.trained, "--symbols", r"p\d+", "--max-len-b", 12, *SEMANTIC)
    found = sentences(capsys.readouterr().out, tmp_path)
    assert len(found) == 150
    for sentence in found:
        assert set(re.findall(r"p\d+", sentence.best.text)) <= set(sentence.source.split())
        assert sentence.best.verdict in ("satisfied", "violated", "vacuous", "invalid")


def test_interactive_takes_names_that_are_in_no_dictionary(prop, tmp_path, capsys):
    lines = ["& p17 speed_limit", "& p17 ! q9", "| 1 0", "& p speed_limit"]
    interactive(prop.data, prop.trained, lines, tmp_path, "--symbols", r"(?!xor$)[a-z]\w*")
    found = sentences(capsys.readouterr().out, tmp_path)
    assert [sentence.source for sentence in found] == lines
    tokens = found[0].best.text.split() + found[3].best.text.split()
    assert "speed_limit" in tokens or "p17" in tokens
    assert found[0].best.text.replace("p17", "p") == found[3].best.text
    assert found[0].best.score == found[3].best.score
    assert not set("abcde") & set(found[2].best.text.split())


def test_ensembles_average_and_prefixes_force(prop, tmp_path, capsys):
    both = f"{prop.trained}:{prop.random}"
    generate(prop.data, both, "--beam", 2, "--max-len-b", 8)
    averaged = sentences(capsys.readouterr().out, tmp_path)
    generate(prop.data, f"{prop.trained}:{prop.trained}", "--beam", 2, "--max-len-b", 8)
    doubled = sentences(capsys.readouterr().out, tmp_path)
    generate(prop.data, prop.trained, "--beam", 2, "--nbest", 2, "--max-len-b", 8)
    alone = sentences(capsys.readouterr().out, tmp_path)
    # The mean of a model with itself is rounded: of two answers that score the same, either may
    # be the first.
    for two, one in zip(doubled, alone, strict=True):
        own = next(h for h in one.hypotheses if h.text == two.best.text)
        best = pytest.approx(float(one.best.score), abs=1e-4)
        assert (float(two.best.score), float(own.score)) == (best, best)
    assert [s.best.score for s in averaged] != [s.best.score for s in alone]
    generate(prop.data, prop.trained, "--prefix-size", 2, "--max-len-b", 8)
    for sentence in sentences(capsys.readouterr().out, tmp_path):
        assert sentence.best.text.split()[:2] == sentence.target.split()[:2]


def test_scores_of_the_reference(prop, tmp_path, capsys):
    generate(prop.data, prop.trained, "--beam", 1, "--max-len-b", 20)
    greedy = sentences(capsys.readouterr().out, tmp_path)
    data = preprocess_lines(tmp_path, [s.source for s in greedy], [s.best.text for s in greedy])
    capsys.readouterr()
    generate(data, prop.trained, "--score-reference")
    scored = sentences(capsys.readouterr().out, tmp_path)
    for one, other in zip(greedy, scored):
        assert one.best.text == other.best.text
        assert float(one.best.score) == pytest.approx(float(other.best.score), abs=1e-5)


def test_symbols_stay_whole_under_any_dictionary_order(prop):
    dictionary = StreamDictionary.load(str(prop.data / "dict.src.txt"))
    dictionary.set_pattern("[a-z]")
    assert sorted(dictionary.known_symbols()) == list("abcde")
    assert dictionary.base_tokens() == ["!", "&", "0", "1", "<->", "xor", "|"]


def test_preprocessing_with_and_without_the_plug_in_is_the_same(prop, tmp_path):
    files = ("--trainpref", prop.root / "train", "--validpref", prop.root / "valid")
    data = preprocess(tmp_path / "bin", *files, "--testpref", prop.root / "test", *PLUG_IN)
    for name in ("dict.src.txt", "train.src-tgt.src.bin", "test.src-tgt.tgt.bin"):
        assert (data / name).read_bytes() == (prop.data / name).read_bytes()


def test_half_precision_model_still_answers(prop, tmp_path, capsys):
    path = train(
        prop.data,
        tmp_path / "half",
        *("--finetune-from-model", prop.trained, "--memory-efficient-fp16", "--max-update", 2),
        *(*UNVALIDATED, "--lr", 1e-4),
    )
    capsys.readouterr()
    generate(prop.data, path, "--max-len-b", 8)
    assert len(sentences(capsys.readouterr().out, tmp_path)) == 400


@pytest.mark.parametrize("options", [("--sampling-topk", 50), ("--sampling-topp", 0.9), ()])
def test_sampling(prop, tmp_path, capsys, options):
    """Also among more candidates than a sentence of one symbol has columns."""
    lines = ["! a", "& a b", "xor a & b c"]
    data = preprocess_lines(tmp_path, lines, ["a 0", "a 1 b 1", "a 1 b 0"])
    capsys.readouterr()
    search = ("--sampling", "--beam", 3, "--nbest", 3, "--batch-size", 1, "--max-len-b", 8)
    generate(data, prop.trained, *search, *options)
    found = sentences(capsys.readouterr().out, tmp_path)
    assert [len(sentence.hypotheses) for sentence in found] == [3, 3, 3]


def test_diverse_beams_do_not_depend_on_the_batch(prop, tmp_path, capsys):
    # Symbols that a formula treats alike tie, and which of them a group gets decides what the
    # next group may not have: only formulas of one symbol are compared, among others.
    others = (prop.root / "test.src").read_text().splitlines()[:30]
    lines = [re.sub(r"\b[a-z]\b", "a", line) for line in others] + others
    data = preprocess_lines(tmp_path, lines, lines)
    capsys.readouterr()
    found = []
    for size in (60, 7):
        options = ("--beam", 4, "--nbest", 4, "--diverse-beam-groups", 2, "--batch-size", size)
        generate(data, prop.trained, *options, "--max-len-b", 12)
        answered = sentences(capsys.readouterr().out, tmp_path)
        scores = [[float(own.score) for own in sentence.hypotheses] for sentence in answered]
        found.append(torch.tensor(scores))
    assert found[0].shape == (60, 4)
    torch.testing.assert_close(*(scores[:30] for scores in found), rtol=0, atol=1e-5)


def test_no_repeated_ngrams(tmp_path, capsys):
    """fairseq's own test of the newest tokens looks at padding, and so lets all pass."""
    lines = ["a 0 b 1 c & d !", "1 e & f ! g 0 h", "! a 0 c 1 b & d"]
    data = preprocess_lines(tmp_path, lines, lines)
    rope = ("--encoder-positions", "rope")
    model = train(data, tmp_path / "model", *rope, "--max-update", 1, *UNVALIDATED)
    repeating = {}
    for size in (0, 2):
        capsys.readouterr()
        lengths = ("--max-len-a", 0, "--max-len-b", 9, "--min-len", 8)
        generate(data, model, *lengths, "--beam", 2, "--no-repeat-ngram-size", size)
        found = sentences(capsys.readouterr().out, tmp_path)
        answers = [hypothesis.text.split() for s in found for hypothesis in s.hypotheses]
        pairs = [list(zip(answer, answer[1:])) for answer in answers]
        repeating[size] = sum(len(set(p)) < len(p) for p in pairs)
    assert repeating[0] > 0 and repeating[2] == 0


def test_older_format_of_data(prop, tmp_path, capsys):
    lines = (["& a b", "! c", "xor a b"], ["a 1 b 1", "c 0", "a 1 b 0"])
    data = preprocess_lines(tmp_path, *lines, "test", "--dataset-impl", "lazy")
    capsys.readouterr()
    generate(data, prop.trained, "--max-len-b", 8)
    assert len(sentences(capsys.readouterr().out, tmp_path)) == 3
