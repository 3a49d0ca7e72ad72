r"""Counts correct and verified answers to formulas that people wrote.

    sit evaluate real ltl --path model/checkpoint_best.pt --result results/real.json

The formulas are those of ``sit generate NAME --held-out``. The search writes well-formed answers alone
(``--constrained``). *correct* counts the first answer of the beam, *verified* the answers that a
judge accepts with wider and wider beams. A formula that a model cannot be asked, as it lacks names
or operators, counts as wrong.
"""

import argparse
from typing import List, Optional, Sequence

from sit_fairseq.commands.evaluate import _options as options
from sit_fairseq.domains import find, names
from sit_fairseq.evaluation import real
from sit_fairseq.evaluation.answering import Answered
from sit_fairseq.evaluation.decoding import ModelAnswerer
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "semantics",
        choices=[name for name in names() if find(name).held_out is not None],
        metavar="LOGIC",
        help="ltl or prop",
    )
    options.add_model(parser)
    help_ = "widths of the verified search (default: %(default)s)"
    add("--verify-beams", metavar="3,10,25", default="3,10,25", help=help_)
    options.add_judging(parser, semantics=False)
    options.add_result(parser)


def main(args: argparse.Namespace) -> None:
    args.constrained = args.constrained or args.semantics
    sets = find(args.semantics).held_out()
    formulas = [formula for found in sets.values() for formula in found]
    with options.run(args), options.judges(args) as judges:
        beam_only = argparse.Namespace(**{**vars(args), "verify": None, "verify_beams": None})
        asked = options.answerer(beam_only)
        sources = real.readable_sources(asked, formulas)
        once = _answered(beam_only, asked, judges, sources, ".beam")
        correct = [entry and entry.verdicts[0] for entry in once]
        left = [
            None if verdict is Verdict.satisfied else source
            for source, verdict in zip(sources, correct)
        ]
        args.verify = args.semantics
        asked = options.answerer(args)
        again = _answered(args, asked, judges, left, ".verified")
    verified = [second.verdicts[0] if second else first for second, first in zip(again, correct)]
    results = real.measure_real(sets, correct, verified)
    seconds = [
        sum(entry.seconds for entry in pair if entry) for pair in zip(once, again) if pair[0]
    ]
    table = real.real_table(results, args.beam)
    every = [verdict for verdict in (*correct, *verified) if verdict]
    options.report(args, "real", [], results, table, seconds, judges.judge, every)


def _answered(
    args: argparse.Namespace,
    asked: ModelAnswerer,
    judges: JudgePool,
    sources: Sequence[Optional[str]],
    part: str,
) -> List[Optional[Answered]]:
    """What became of each source, None where there is no source."""
    lines = [source for source in sources if source is not None]
    if not lines:
        return [None] * len(sources)
    problems = judges.judge.problems(lines, None, asked.symbols)
    found = iter(options.answer(args, asked, problems, judges, part))
    return [None if source is None else next(found) for source in sources]
