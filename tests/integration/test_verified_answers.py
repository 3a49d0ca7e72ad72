"""``--verify``, in fairseq's commands and in training."""

import re
import sys

import pytest
from command_line import generate, interactive, printed, train

from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.errors import UserError

SEARCH = ("--max-len-b", 12, "--batch-size", 50)
VERIFY = ("--verify", "prop", "--verify-beams", "2,6")


def test_generate(prop, capsys):
    generate(prop.data, prop.trained, "--beam", 2, "--constrained", "prop", *SEARCH)
    plain = printed(capsys.readouterr().out)
    generate(prop.data, prop.trained, *VERIFY, "--nbest", 2, *SEARCH)
    out = capsys.readouterr().out
    judge, beams = make_judge("prop", "aiger"), {2: 0, 6: 0}
    for sentence, before in zip(printed(out), plain, strict=True):
        verdict, beam = sentence.verified
        assert len(sentence.answers) == 2
        assert judge.verify(sentence.source, sentence.answers[0]).value == verdict
        if verdict == "satisfied":
            beams[beam] += 1
        else:
            assert (sentence.answers[0], beam) == (before.answers[0], 2)
        if judge.verify(before.source, before.answers[0]).value == "satisfied":
            assert (sentence.answers[0], beam) == (before.answers[0], 2)
    assert beams[2] and beams[6] and sum(beams.values()) < 100
    closing = f"Verified {sum(beams.values())} of 100 answers by bits: {beams[2]} with beam 2, "
    closing += f"{beams[6]} with beam 6; {100 - sum(beams.values())} not verified; judged "
    assert out.rindex("\nP-") < out.index(closing) < out.index("Generate test with beam=2")


def test_interactive(prop, tmp_path, capsys):
    lines = ["& a ! a", "! b", "& a", "| c & a b"]
    with pytest.raises(UserError, match="1 of 4 lines could not be answered"):
        options = (*VERIFY, "--buffer-size", 3, "--max-len-b", 12)
        interactive(prop.data, prop.trained, lines, tmp_path, *options)
    out = capsys.readouterr().out
    assert re.findall(r"^([SVHE]-\d+)", out, re.M) == (
        "S-0 V-0 H-0 S-1 V-1 H-1 S-2 E-2 S-3 V-3 H-3".split()
    )
    for sentence in printed(out):
        if sentence.answers:
            judged = make_judge("prop").verify(sentence.source, sentence.answers[0])
            assert sentence.verified[0] == judged.value
    assert printed(out)[0].verified[0] != "satisfied"
    assert re.search(r"^Verified \d of 3 answers by bits: ", out, re.M)


def test_training_on_accepted_and_refused_answers(prop, tmp_path, caplog, capsys):
    with caplog.at_level("INFO"):
        trained = train(
            prop.data,
            tmp_path / "risk",
            *("--criterion", "minimum_risk", "--risk-semantics", "prop", "--risk-beam", 3),
            *("--max-update", 2, "--finetune-from-model", prop.trained, "--log-interval", 1),
        )
    risks = [float(risk) for risk in re.findall(r"risk ([\d.]+)", caplog.text)]
    mixed = [float(share) for share in re.findall(r"mixed ([\d.]+)", caplog.text)]
    assert risks and mixed and all(0 < risk < 1 for risk in (*risks, *mixed))
    assert re.search(r"valid on 'valid' subset .* scale ", caplog.text)
    generate(prop.data, trained, "--beam", 1, "--max-len-b", 3)
    assert len(printed(capsys.readouterr().out)) == 100


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
    out = capsys.readouterr().out
    found = printed(out)
    short = [len(sentence.answers[0].split()) == 2 for sentence in found]
    assert short == [sentence.verified[0] == "satisfied" for sentence in found]
    assert short == [sentence.verdicts[0] == "satisfied" for sentence in found]
    assert 0 < sum(short) < 100
    closing = f"Verified {sum(short)} of 100 answers by Short: {sum(short)} with beam 6"
    assert closing in out and f"correct {sum(short):.2f}" in out
    validated = ("--validate-semantics", mine, "--validate-samples", 8, "--max-update", 1)
    train(prop.data, tmp_path / "judged", *validated)
    assert re.search(r"valid on 'valid' subset .* correct [\d.]+ \| violated [\d.]+", caplog.text)
