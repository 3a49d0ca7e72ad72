"""Batches of which the model can read nothing."""

import pytest
import torch
from conftest import make_dictionary, make_model, make_sample
from fairseq.criterions.cross_entropy import CrossEntropyCriterion

from sit_fairseq.criterions.adacos import AdaCosCriterion
from sit_fairseq.criterions.label_smoothing import StreamLabelSmoothedCrossEntropyCriterion
from sit_fairseq.data.sentence_checks import SentenceChecker
from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.stream_translation import StreamTranslationTask

DEEP = " ".join(["!"] * 40 + ["a"])


@pytest.mark.parametrize(
    "make_criterion, head",
    [
        (lambda task: AdaCosCriterion(task, False), "cosine"),
        (lambda task: CrossEntropyCriterion(task, True), "linear"),
        (lambda task: StreamLabelSmoothedCrossEntropyCriterion(task, False, 0.1), "linear"),
    ],
)
def test_validation_reports_of_them_what_it_does_of_others_and_it_counts_for_nothing(
    make_criterion, head
):
    """Ranks of a distributed validation add up their reports by place."""
    dictionary = make_dictionary()
    model = make_model(dictionary, encoder_positions="tree", output_head=head).eval()
    task = StreamTranslationTask(StreamTranslationConfig(), dictionary, dictionary)
    depth = model.encoder.embed_positions.depth
    task._checker, task._has_unread = SentenceChecker(model.vocabulary, depth, True), True
    criterion = make_criterion(task)
    _, size, report = task.valid_step(make_sample(dictionary), model, criterion)
    unread = make_sample(dictionary, [DEEP] * 2, ["a 0"] * 2)
    loss, no_size, empty = task.valid_step(unread, model, criterion)
    assert size and float(loss) == no_size == 0
    assert list(empty) == list(report) and not any(map(float, empty.values()))
    assert list(map(torch.is_tensor, empty.values())) == [*map(torch.is_tensor, report.values())]
