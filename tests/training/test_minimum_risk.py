"""The minimum_risk criterion: accepted answers of the model's own beam rise, refused ones fall."""

from argparse import Namespace

import pytest
import torch
from conftest import make_dictionary, make_model, make_sample, make_task, redraw
from fairseq.distributed.module_proxy_wrapper import ModuleProxyWrapper

from sit_fairseq.errors import UserError
from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.training import criterions
from sit_fairseq.training.criterions import AdaCosCriterion, MinimumRiskCriterion


class Lengths(Judge):
    """Accepts answers by their number of tokens."""

    semantics = name = "lengths"
    quick = True

    def __init__(self, accept):
        self.accept = accept

    def verify(self, problem, answer):
        good = self.accept(len(answer.split()))
        return Verdict.satisfied if good else Verdict.violated


@pytest.fixture
def build(monkeypatch):
    def make(accept=lambda length: length % 2 == 0, **options):
        monkeypatch.setattr(criterions, "accepting_judge", lambda *_: Lengths(accept))
        dictionary = make_dictionary()
        torch.manual_seed(2)
        model = redraw(make_model(dictionary, dropout=0.0))
        task = make_task(dictionary, domain="prop")
        return dictionary, model.train(), MinimumRiskCriterion(task, False, **options), task

    return make


def test_the_loss_is_that_of_adacos_and_the_risk_of_the_beam(build):
    dictionary, model, criterion, task = build(risk_beam=4, risk_weight=3.0)
    sample = make_sample(dictionary)
    loss, size, log = criterion(model, sample)
    assert model.training
    plain, plain_size, _ = AdaCosCriterion(task, False)(model, sample)
    model.eval()
    answers = criterion._answers(model, sample)
    texts = [[dictionary.text(answer) for answer in nbest] for nbest in answers]
    total, mixed = 0.0, 0
    model.eval()
    for place, words in enumerate(texts):
        assert len(set(words)) == 4
        scores = []
        for answer in words:
            one = make_sample(
                dictionary, [dictionary.text(sample["net_input"]["src_tokens"][place])], [answer]
            )
            output = model(**one["net_input"])
            log_probs = model.get_normalized_probs(output, log_probs=True)[0]
            target = model.get_targets(one, output)[0]
            scores.append(float(log_probs.gather(1, target.unsqueeze(1)).sum()))
        shares = torch.tensor(scores).softmax(0).tolist()
        wrong = [len(answer.split()) % 2 for answer in words]
        mixed += 0 < sum(wrong) < 4
        total += sum(share * r for share, r in zip(shares, wrong))
    assert mixed and log["mixed"] == mixed and size == plain_size
    assert log["risk"] == pytest.approx(total, rel=1e-4)
    mixed_risk = total - sum(all(len(a.split()) % 2 for a in words) for words in texts)
    assert float(loss - plain) == pytest.approx(3.0 * mixed_risk, rel=1e-3)


def test_a_step_takes_from_the_refused_and_gives_to_the_accepted(build):
    dictionary, model, criterion, task = build(risk_beam=4)
    sample = make_sample(dictionary)
    sources = sample["net_input"]["src_tokens"]
    judged = criterion._judged(sample, criterion._answers(model, sample))
    before = criterion._risk(model, sources, judged)
    before.sum().backward()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter -= 1e-3 * parameter.grad
    after = criterion._risk(model, sources, judged)
    assert float(after.sum()) < float(before.sum())


def test_the_scale_follows_the_references_alone(build):
    dictionary, model, criterion, task = build()
    sample = make_sample(dictionary)
    criterion(model, sample)
    model.decoder.output_scale.update()
    found = float(model.decoder.output_scale.scale)
    dictionary, model, _, task = build()
    AdaCosCriterion(task, False)(model, sample)
    model.decoder.output_scale.update()
    assert found == float(model.decoder.output_scale.scale)


@pytest.mark.parametrize("verdict", [True, False])
def test_sentences_whose_answers_are_alike_cost_nothing(build, verdict):
    dictionary, model, criterion, task = build(accept=lambda length: verdict)
    sample = make_sample(dictionary)
    loss, _, log = criterion(model, sample)
    plain, _, _ = AdaCosCriterion(task, False)(model, sample)
    assert float(loss) == float(plain)
    assert (log["risk"], log["mixed"]) == (0 if verdict else len(sample["target"]), 0)


class Wrapper(torch.nn.Module):
    """Stands for PyTorch's and fairseq's wrappers of a model that several ranks train."""

    def __init__(self, model):
        super().__init__()
        self.module = model

    def forward(self, **inputs):
        return self.module(**inputs)


def test_a_wrapped_model_has_the_same_loss(build):
    dictionary, model, criterion, task = build()
    sample = make_sample(dictionary)
    loss, _, log = criterion(model, sample)
    wrapped, _, wrapped_log = criterion(ModuleProxyWrapper(Wrapper(model)), sample)
    assert log["mixed"] and model.training
    assert (float(wrapped), wrapped_log["risk"]) == (float(loss), log["risk"])


def test_validation_has_the_loss_of_adacos(build):
    dictionary, model, criterion, task = build()
    sample = make_sample(dictionary)
    model.eval()
    loss, _, log = criterion(model, sample)
    assert float(loss) == float(AdaCosCriterion(task, False)(model, sample)[0])
    assert "risk" not in log


def test_semantics_that_cannot_be_used_are_refused_where_training_begins():
    """Which these are, tests/judging/test_judge.py says."""
    dictionary = make_dictionary()
    torch.manual_seed(2)
    model = make_model(dictionary)
    sample = make_sample(dictionary)
    task = make_task(dictionary)
    criterion = MinimumRiskCriterion(task, False, risk_semantics="exact")
    # Validation builds it from the options of a checkpoint, and needs no judge.
    criterion(model.eval(), sample)
    with pytest.raises(UserError, match="risk_semantics"):
        criterion(model.train(), sample)


def test_undecided_answers_are_neither_accepted_nor_refused(build, monkeypatch):
    dictionary, model, criterion, task = build(risk_beam=4)
    sample = make_sample(dictionary)
    answers = criterion._answers(model, sample)
    verdicts = [Verdict.timeout, Verdict.satisfied, Verdict.vacuous, Verdict.error] * len(answers)
    monkeypatch.setattr(criterion._judges, "verify_all", lambda pairs: verdicts)
    judged = criterion._judged(sample, answers)
    assert [len(nbest) for nbest in answers] == [4] * len(answers)
    assert judged == [[(nbest[1], False), (nbest[2], True)] for nbest in answers]
    monkeypatch.setattr(
        criterion._judges, "verify_all", lambda pairs: [Verdict.unavailable] * len(pairs)
    )
    _, _, log = criterion(model, sample)
    assert (log["risk"], log["mixed"], log["decided"]) == (0, 0, 0)


def test_answers_with_an_unknown_token_are_not_compared(build, monkeypatch):
    dictionary, model, criterion, task = build(risk_beam=4)
    sample = make_sample(dictionary)
    one, two = dictionary.encode_line("a 1").int(), dictionary.encode_line("a 0").int()
    unknown = torch.tensor([dictionary.unk(), *two.tolist()])
    generator = task.generator([model], Namespace(beam=4))
    found = [[{"tokens": tokens} for tokens in (one, unknown, two)]] * len(sample["target"])
    monkeypatch.setattr(generator, "generate", lambda *_: found)
    monkeypatch.setattr(task, "generator", lambda *_: generator)
    assert criterion._answers(model, sample) == [[one, two]] * len(found)


def test_the_judge_is_told_which_tokens_are_symbols(build):
    dictionary, model, criterion, task = build()
    told = []
    verify = criterion._judges.verify_all
    criterion._judges.verify_all = lambda pairs: told.extend(pairs) or verify(pairs)
    criterion(model, make_sample(dictionary))
    assert {problem.symbols for problem, _ in told} == {dictionary.pattern} != {None}
