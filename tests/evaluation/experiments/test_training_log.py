"""What is read from the log of a training."""

from sit_fairseq.evaluation.experiments.training_log import read_parameters, read_validation


def test_validation_is_read_from_the_log_of_training(tmp_path):
    log = tmp_path / "train.log"
    log.write_text(
        "a warning\n"
        '[2026][train_inner][INFO] - {"correct": "1", "num_updates": "500"}\n'
        '[2026][valid][INFO] - {"valid_loss": "2.1", "valid_corr'  # killed, and started again
        '\n[2026][valid][INFO] - {"valid_loss": "2.1", "valid_correct": "54.5", "valid_exact": '
        '"48", "valid_timeout": "0", "valid_num_updates": "500"}\n'
        '[2026][valid][INFO] - {"valid_correct": "60", "valid_num_updates": "1000"}\n'
    )
    assert read_validation(log) == {
        "500": {"correct": 0.545, "exact": 0.48, "timeout": 0.0},
        "1000": {"correct": 0.6},
        "last": {"correct": 0.6},
    }


def test_weights_are_counted_in_the_log_of_training(tmp_path):
    log = tmp_path / "train.log"
    log.write_text("[INFO] - num. shared model params: 2,906,496 (num. trained: 2,906,496)\n")
    assert read_parameters(log) == 2906496
    log.write_text("killed")
    assert read_parameters(log) is None
