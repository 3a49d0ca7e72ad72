"""A limit of time for each of many items."""

import time

import torch

from sit_fairseq.evaluation.in_time import in_time


def test_work_that_is_stopped_leaves_gradients_as_they_were():
    def work(items):
        torch.set_grad_enabled(False)  # as in the midst of a search
        time.sleep(20)
        yield items[0], "too late"

    assert list(in_time(["a"], work, 0.05)) == [("a", None)]
    assert torch.is_grad_enabled()
