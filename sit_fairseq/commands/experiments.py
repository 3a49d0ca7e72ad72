"""Trains and measures the models of a table, and prints the table.

    sit experiments examples/prop/ablation.yaml outputs/prop-tables-mini --scale mini

trains every model of the file under every condition with every seed, from the hydra
configuration ``hydra/mini.yaml`` beside the file, measures each by ``sit evaluate``, and writes
``NAME.md`` and ``NAME.json`` into the folder, which must hold the data, after each run, all rows
with the first seed before those with the next. Runs are processes of their own, ``--jobs`` at a
time, and end with this one. What is finished is not done again; an interrupted training resumes; a
folder whose runs were started with other settings or data is refused; what was measured by another
command or on other files is measured again.

A file says what to do like this::

    overrides: [optimization.max_update=2500]     # of all runs
    seeds: [1, 2, 3]
    heading: [Training data, Model]
    conditions: {Normal: bin, Reduced: bin.reduced}    # binarised data in the folder
    models:
      Baseline: [model.symbol_embedding=fixed]    # overrides of hydra/<scale>.yaml
    measurements:
      test:
        command: [correct, data/test, --semantics, prop]    # of sit evaluate
        columns: {Correct: correct.share}                   # what to show of its result

A condition may also be ``{data: bin.wide, models: [Baseline], seeds: [1]}``, and a measurement may
have ``models``, for those it is meant for. The measurement ``training`` needs no command: it has
``validation.UPDATES.METRIC``, what fairseq-train printed of the validation data then (UPDATES may
be ``last``), as a share, ``cpu_minutes`` of the process that ended it, and ``parameters``. A column
that is no share is written ``{number: PATH}``. A measurement may have ``conditions`` in the same
way.

What differs between scales is under ``scales``: of the one that ``--scale`` names, ``overrides``
are added to those of all runs and to those of single models, ``arguments`` to the commands of
measurements, where they count more than what stands before them, and ``seeds`` replace others::

    scales:
      mini:
        overrides: [optimization.max_update=2500]
        seeds: [1, 2, 3]
        arguments: {test: [--max-len-b, 20]}
      paper:
        models: {Baseline: [model.encoder_embed_dim=132]}
"""

import argparse
from pathlib import Path

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.experiments.runner import run_experiments
from sit_fairseq.evaluation.experiments.specification import read_specification


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    add = parser.add_argument
    add("experiments", metavar="FILE.yaml", help="what to run")
    add("folder", metavar="DIR", help="has the data, and gets the results")
    add("--scale", default="mini", help="which hydra configuration (default: %(default)s)")
    add("--jobs", type=int, default=1, help="runs at a time (default: %(default)s)")


def main(args: argparse.Namespace) -> None:
    """Does what the verb says.

    Raises:
        UserError: an option or a file cannot be used, or a run failed.
    """
    file, folder = Path(args.experiments), Path(args.folder).resolve()
    specification = read_specification(args.experiments, folder, args.scale)
    configuration = file.resolve().parent / "hydra" / f"{args.scale}.yaml"
    table, failed = run_experiments(specification, configuration, folder, file.stem, args.jobs)
    print(table)
    if failed:
        raise UserError(f"{failed} of {len(specification.runs)} runs failed, see above.")
