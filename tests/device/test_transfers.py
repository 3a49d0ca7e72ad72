"""Numbers are fetched from the device all at once."""

import torch

from sit_fairseq.tasks.transfers import fetch_numbers


def test_numbers_of_all_batches_are_fetched_with_one_wait(device):
    logs = [
        {"loss": torch.tensor(value, device=device.name), "ntokens": 7, "scale": torch.tensor(2.0)}
        for value in (0.1, 16777217, 1 / 3)
    ]
    with device.counting() as waits:
        found = fetch_numbers(logs)
    assert len(waits) == 1
    for log, one in zip(logs, found):
        assert list(one) == list(log) and one["ntokens"] == 7 and one["scale"] is log["scale"]
        assert one["loss"].dtype == log["loss"].dtype and not one["loss"].is_cuda
        assert one["loss"].item() == log["loss"].item()


def test_numbers_of_the_host_stay_what_they_are():
    logs = [{"loss": torch.tensor(1.5), "ntokens": 3}]
    assert fetch_numbers(logs) is logs
