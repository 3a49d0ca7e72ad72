"""Trains and measures the models of a table, and prints the table.

    sit experiments examples/binding/results.yaml outputs/binding

trains every model of the file under every condition with every seed, measures each by
``sit evaluate``, and writes the table ``DIR/NAME.md`` after each run, all rows with the first seed
before those with the next. Results are in ``DIR/runs/CONDITION/MODEL/seedN``. Runs are processes of
their own, ``--jobs`` at a time, and end with this one. What is finished is not done again, and
interrupted trainings resume; a folder whose runs had other settings or data is refused.

A file says what to do like this::

    hydra: [hydra.yaml]                         # merged in this order; beside the file
    overrides: optimization.max_update=2500     # of all runs
    seeds: [1, 2, 3]
    heading: [Training data, Model]
    conditions:                                 # binarised data in DIR
      Normal: {data: bin}
      Wide: {data: bin.wide, models: [Baseline], seeds: [1]}
    models:                                     # each with overrides of its own
      Baseline: model.symbol_embedding=fixed model.stream_attention=EP-DP-CP
      Proposed: ""
    checkpoints: {Shipped: model.pt}            # models that need no training
    measurements:
      test:
        command: prop data/test    # of sit evaluate
        columns: {Correct: correct.share}              # what to show of its result
      training:
        columns: {After 500: validation.500.correct, CPU minutes: {number: cpu_minutes}}

``{seed}`` in the data of a condition is the seed of the run, and ``{data}`` in a command is the
data of its condition. A measurement with ``models`` or ``conditions`` runs for these alone. The
file and its configurations are data: no ``${...}``, aliases, ``_target_`` or settings of ``hydra``,
and names are names of files. The measurement ``training`` needs no command. It has
``validation.UPDATES.METRIC``, as fairseq-train printed it for the validation data (UPDATES may be
``last``), ``cpu_minutes`` of the process that ended the training, and ``parameters``. A column that
is no share is written ``{number: PATH}``.
"""

import argparse
from pathlib import Path

from sit_fairseq.commands._options import at_least
from sit_fairseq.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("experiments", metavar="FILE.yaml", help="the models and measurements of the table")
    add("folder", metavar="DIR", help="the folder of the data and the results")
    add("--jobs", type=at_least(1), default=1, help="runs at a time (default: %(default)s)")


def main(args: argparse.Namespace) -> None:
    from sit_fairseq.evaluation.experiment_runs import run_experiments
    from sit_fairseq.evaluation.experiments import read_experiments

    experiments = read_experiments(args.experiments)
    folder, name = Path(args.folder).resolve(), Path(args.experiments).stem
    table, failed = run_experiments(experiments, folder, name, args.jobs)
    print(table)
    if failed:
        raise UserError(f"{failed} runs failed, see above")
