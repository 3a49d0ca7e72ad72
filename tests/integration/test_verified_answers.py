"""``--verify``, in fairseq's commands, in Python and in ``sit evaluate``."""

import re
import sys

import pytest
from command_line import generate, interactive, preprocess_lines, sit, train
from generate_output import read_generate_output

from sit_fairseq.errors import UserError
from sit_fairseq.judging.judge import make_judge
from sit_fairseq.models.symbol_invariant_transformer import SymbolInvariantTransformerModel
from sit_fairseq.tasks.python_interface import Unverified

SEARCH = ("--max-len-b", 12, "--batch-size", 50)
VERIFY = ("--verify", "prop", "--verify-beams", "2,6")


def verdicts(output: str) -> dict:
    """Verdict and beam of each V- line, by id."""
    found = re.findall(r"^V-(\d+)\t(\w+)\t(\d+)$", output, re.M)
    return {int(number): (verdict, int(beam)) for number, verdict, beam in found}


def answers(output: str, tmp_path):
    (tmp_path / "output").write_text(output)
    return read_generate_output(str(tmp_path / "output"))


@pytest.fixture(scope="module")
def hub(prop):
    return SymbolInvariantTransformerModel.from_pretrained(
        str(prop.trained.parent), prop.trained.name, str(prop.data)
    )


def test_generate(prop, tmp_path, capsys):
    generate(prop.data, prop.trained, "--beam", 2, *SEARCH)
    plain = answers(capsys.readouterr().out, tmp_path)
    generate(prop.data, prop.trained, *VERIFY, "--nbest", 2, *SEARCH)
    output = capsys.readouterr().out
    found, said = answers(output, tmp_path), verdicts(output)
    judge = make_judge("prop", "aiger")
    assert len(found) == len(plain) == len(said) == 400
    beams = {2: 0, 6: 0}
    for number, (sentence, before) in enumerate(zip(found, plain)):
        verdict, beam = said[number]
        assert sentence.best.verdict == verdict and len(sentence.hypotheses) == 2
        if verdict == "satisfied":
            beams[beam] += 1
            assert judge.verify(sentence.source, sentence.best.text).value == verdict
        else:
            assert (sentence.best.text, beam) == (before.best.text, 2)
        if judge.verify(before.source, before.best.text).value == "satisfied":
            assert sentence.best == before.best or verdict == "satisfied"
    assert beams[2] and beams[6] and sum(beams.values()) < 400
    closing = f"Verified {sum(beams.values())} of 400 answers by bits: {beams[2]} with beam 2, "
    closing += f"{beams[6]} with beam 6; {400 - sum(beams.values())} not verified; judged "
    assert output.index(closing) < output.index("Generate test with beam=2")


def test_renamed_sentences_get_the_renamed_answers_with_equal_scores(prop, tmp_path, capsys):
    lines = (prop.root / "test.src").read_text().splitlines()[:120]
    found = []
    for name, letters in (("names", "abcde"), ("renamed", "vexqa")):
        table = str.maketrans("abcde", letters)
        # xor is no symbol
        renamed = [line.replace("xor", "#").translate(table).replace("#", "xor") for line in lines]
        data = preprocess_lines(tmp_path / name, renamed, renamed)
        capsys.readouterr()
        generate(data, prop.trained, *VERIFY, *SEARCH)
        output = capsys.readouterr().out
        back = str.maketrans(letters, "abcde")
        best = [sentence.best for sentence in answers(output, tmp_path)]
        found.append(
            [(b.text if name == "names" else b.text.translate(back), b.score) for b in best]
        )
        found.append(verdicts(output))
    assert found[0] == found[2] and found[1] == found[3]
    assert {beam for _, beam in found[1].values()} == {2, 6}


def test_interactive(prop, tmp_path, capsys):
    lines = ["& a ! a", "! b", "& a", "| c & a b"]
    with pytest.raises(UserError, match="1 of 4 lines could not be answered"):
        options = (*VERIFY, "--buffer-size", 3, "--max-len-b", 12)
        interactive(prop.data, prop.trained, lines, tmp_path, *options)
    output = capsys.readouterr().out
    kinds = re.findall(r"^([SVHE])-(\d+)", output, re.M)
    assert kinds == [
        *(("S", "0"), ("V", "0"), ("H", "0"), ("S", "1"), ("V", "1"), ("H", "1")),
        *(("S", "2"), ("E", "2"), ("S", "3"), ("V", "3"), ("H", "3")),
    ]
    assert verdicts(output)[0][0] != "satisfied"
    for sentence in answers(output, tmp_path):
        if sentence.hypotheses:
            judged = make_judge("prop").verify(sentence.source, sentence.best.text)
            assert sentence.best.verdict == judged.value
    assert re.search(r"^Verified \d of 3 answers by bits: ", output, re.M)


def test_python(hub, prop):
    lines = ["& a ! a", *(prop.root / "test.src").read_text().splitlines()[:30], "& a"]
    found = hub.translate(lines, verify="prop", verify_beams=[2, 6], max_len_b=12)
    judge = make_judge("prop")
    for line, answer in zip(lines[:-1], found):
        verdict = judge.verify(line, answer).value
        assert isinstance(answer, Unverified) == (verdict != "satisfied")
        assert getattr(answer, "verdict", "satisfied") == verdict
    assert isinstance(found[0], Unverified) and "Unverified(" in repr(found[0])
    assert not found[-1] and any(type(answer) is str for answer in found)
    assert all(type(answer) is str for answer in hub.translate(lines[:-1], max_len_b=12))


def test_evaluate(prop, tmp_path, capsys):
    correct = []
    for options in ((), VERIFY):
        sit(
            *("evaluate", "correct", prop.root / "test", "--path", prop.trained, "--beam", 2),
            *("--semantics", "prop", "--max-len-b", 12, "--device", "cpu", *options),
            *("--result", tmp_path / f"{len(correct)}.json"),
        )
        correct.append(int(re.search(r"\| correct +\| (\d+)", capsys.readouterr().out).group(1)))
    assert correct[0] < correct[1] < 400


@pytest.mark.parametrize(
    "options, reason",
    [
        (["--verify", "exact"], "exact compares answers with references.* --verify"),
        (["--verify", "sat"], "unknown semantics 'sat'; known are prop, ltl.* --verify"),
        (["--verify", "ltl"], "ltl does not suit this model.* --verify"),
        (["--verify", "prop", "--verify-beams", "9,3"], "--verify-beams 9,3: name widths"),
        (["--verify-beams", "3,9"], "--verify-beams needs --verify SEMANTICS"),
        (["--verify", "prop", "--score-reference"], "--score-reference with --verify"),
    ],
)
def test_what_cannot_be_verified_is_said_in_one_sentence(prop, options, reason):
    with pytest.raises(UserError, match=reason) as error:
        generate(prop.data, prop.trained, *options)
    assert "\n" not in str(error.value)


def test_training_on_accepted_and_refused_answers(prop, tmp_path, caplog, capsys):
    with caplog.at_level("INFO"):
        trained = train(
            prop.data,
            tmp_path / "risk",
            *("--criterion", "minimum_risk", "--risk-beam", 3, "--max-update", 2),
            *("--restore-file", prop.trained, "--reset-optimizer", "--reset-dataloader"),
            *("--reset-lr-scheduler", "--reset-meters", "--log-interval", 1),
        )
    risks = [float(risk) for risk in re.findall(r"risk ([\d.]+)", caplog.text)]
    mixed = [float(share) for share in re.findall(r"mixed ([\d.]+)", caplog.text)]
    assert risks and mixed and all(0 < risk < 1 for risk in (*risks, *mixed))
    assert re.search(r"valid on 'valid' subset .* scale ", caplog.text)
    generate(prop.data, trained, *SEARCH)
    assert len(answers(capsys.readouterr().out, tmp_path)) == 400


def test_a_judge_of_somebody_elses(prop, tmp_path, monkeypatch, capsys, caplog):
    (tmp_path / "my_rules.py").write_text(
        "from sit_fairseq.judging.judge import Judge\n"
        "from sit_fairseq.judging.verdict import Verdict\n\n\n"
        "class Short(Judge):\n"
        "    quick = True\n\n"
        "    def verify(self, problem, answer):\n"
        "        short = len(answer.split()) == 2\n"
        "        return Verdict.satisfied if short else Verdict.violated\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    mine = "my_rules:Short"
    scoring = ("--scoring", "semantic", "--semantics", mine)
    generate(prop.data, prop.trained, "--verify", mine, "--beam", 6, *scoring, *SEARCH)
    output = capsys.readouterr().out
    short = [len(sentence.best.text.split()) == 2 for sentence in answers(output, tmp_path)]
    said = [verdict == "satisfied" for _, (verdict, _) in sorted(verdicts(output).items())]
    assert short == said
    assert 0 < sum(short) < 400
    closing = f"Verified {sum(short)} of 400 answers by Short: {sum(short)} with beam 6"
    assert closing in output and f"correct {sum(short) / 4:.2f}" in output
    validated = ("--validate-semantics", mine, "--validate-samples", 8, "--max-update", 1)
    train(prop.data, tmp_path / "judged", *validated)
    assert re.search(r"valid on 'valid' subset .* correct [\d.]+ \| violated [\d.]+", caplog.text)
