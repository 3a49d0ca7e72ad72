r"""Measures a model on data, writes the numbers to a JSON file and prints a table.

    sit evaluate prop data/test --path model.pt --result R.json
    sit evaluate prop data/grid --path model.pt --result R.json --by symbols length
    sit evaluate ltl --path model.pt --result R.json --by written
    sit evaluate prop data/test --path model.pt --result R.json --top-n 1,3,10
    sit evaluate prop data/test --path model.pt --result R.json --renamings 120 --names a,b,c,d,e

NAME says what sentences mean: a domain, exact, alpha, or a domain or judge of your own. DATA is
PREFIX, for PREFIX.src and PREFIX.tgt, or a folder of ``sit grid``. The line under the table names all
that the numbers depend on.

By default correct answers, exact ones and every verdict are counted. ``--by symbols length`` counts
correct answers for each number of symbols and tokens, and draws a heat map. ``--by written``
measures the problems that people wrote (``sit generate NAME --held-out``) under the grammar of the
domain: *correct* counts the first answer of the beam, *verified* the answers that the judge accepts
with wider and wider beams; a problem that the model cannot read counts as wrong. ``--top-n`` counts
sentences with a correct answer among the first n, in all or with ``--by symbols length``.
``--renamings N`` measures alpha-covariance: whether the answers to N renamings of a problem agree.

Answers are kept in ``R.answers.jsonl``: the same command goes on where an interrupted one stopped.
No model is needed with ``--generated FILE``: a text with one answer a line, or ``*.jsonl`` with lines
such as ``{"source": "! a", "answer": "a 0"}``. For language models, ``--questions OUT`` writes the
renamed problems to OUT.src and OUT.tgt.
"""

import argparse
import os
import sys
from contextlib import contextmanager
from itertools import chain
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import torch

from sit_fairseq.commands._options import add_judge, add_pattern, at_least, names, numbers
from sit_fairseq.datasets.grid import FILES, Grid, grid_of_pairs
from sit_fairseq.datasets.pair_files import read_pairs, write_pairs
from sit_fairseq.domains import find
from sit_fairseq.domains.by_name import SEMANTICS, make_judge
from sit_fairseq.errors import MalformedFormula, UserError
from sit_fairseq.evaluation import alpha_covariance, correct, plots, result_file, written
from sit_fairseq.evaluation.answering import Answered, Answerer, answer_all
from sit_fairseq.evaluation.decoding import ModelAnswerer
from sit_fairseq.evaluation.depends import depends_on, signature, versions
from sit_fairseq.evaluation.given_answers import GivenAnswers
from sit_fairseq.evaluation.result_file import file_beside, sha256_of
from sit_fairseq.judging.judge import Problem, refuse_other_logic
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.storage.files import make_folder, read_sentences, sha256_of_file
from sit_fairseq.storage.journal import Journal
from sit_fairseq.symbols.pattern import SymbolPattern

_CELLS, _WRITTEN = ["symbols", "length"], ["written"]

# Options that numbers depend on: how a model answers, who judges, and what is renamed.
_OF_MODELS = (
    *("beam", "nbest", "lenpen", "max_len_a", "max_len_b", "verify", "verify_beams"),
    *("constrained", "batch_size", "max_tokens", "device", "symbols", "fresh_names"),
)
_OTHERS = ("semantics", "judge", "timeout")
_OF_RENAMINGS = ("names", "renamings", "counts", "samples", "seed")


class _Measured(NamedTuple):
    """The files read, the numbers, rows for people, the seconds that each sentence took, and all
    verdicts that the numbers are made of."""

    files: Sequence[str]
    result: Dict[str, Any]
    table: Sequence[Sequence[Any]]
    seconds: Sequence[float]
    verdicts: Sequence[Verdict]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add, count = parser.add_argument, {"type": at_least(1), "metavar": "N"}
    help_ = f"what sentences mean: {', '.join(SEMANTICS)}, or MODULE:OBJECT, your own"
    add("semantics", metavar="NAME", help=help_)
    add("data", metavar="DATA", nargs="?", help="PREFIX of .src and .tgt, or the folder of a grid")
    answers = parser.add_mutually_exclusive_group(required=True)
    answers.add_argument("--path", metavar="MODEL", help="the model to ask")
    help_ = "or its answers: a text with one a line, or .jsonl with source and answer"
    answers.add_argument("--generated", metavar="FILE", help=help_)
    help_ = "or write the renamed problems to OUT.src and OUT.tgt, and ask nobody"
    answers.add_argument("--questions", metavar="OUT", help=help_)
    add("--result", metavar="FILE", help="the JSON file to write")
    add("--restart", action="store_true", help="discard the answers of an interrupted run")

    group = parser.add_argument_group("what is measured")
    add = group.add_argument
    help_ = "count by symbols, by length, by both, or the problems that people wrote"
    add("--by", nargs="+", choices=[*_CELLS, *_WRITTEN], metavar="SIZE", help=help_)
    help_ = "a correct answer among the first n; the beam is as wide as the largest"
    add("--top-n", type=numbers, metavar="1,3,10", help=help_)
    help_ = "alpha-covariance; draw so many where there are more"
    add("--renamings", type=at_least(2), metavar="N", help=help_)
    help_ = "rename to these (default: the symbols in the data)"
    add("--names", type=names, metavar="a,b,c", help=help_)
    help_ = "renamed problems: numbers of distinct symbols (default: %(default)s)"
    add("--counts", type=numbers, default="3,4,5", help=help_)
    add("--samples", **count, default=1000, help="problems for each (default: %(default)s)")
    add("--seed", type=int, default=1, help="of the renamings (default: %(default)s)")
    for name, default in (("symbols", 5), ("length", 35)):
        help_ = (
            f"heat maps: most {name.replace('length', 'tokens')} in training (default: {default})"
        )
        add(f"--training-{name}", type=int, default=default, metavar="N", help=help_)
    help_ = "top-n: share of the first colour of heat maps (default: %(default)s, as in the paper)"
    add("--lowest", type=float, default=0.8, help=help_)

    add = parser.add_argument_group("how the model answers").add_argument
    add("--beam", **count, help="(default: 3)")
    add("--lenpen", type=float, default=1.0, help="length penalty (default: %(default)s)")
    help_ = "answers have at most A * source length + B tokens (default: %(default)s)"
    add("--max-len-a", type=at_least(0, float), default=0.0, metavar="A", help=help_)
    add("--max-len-b", type=at_least(0), default=200, metavar="B", help="(default: %(default)s)")
    add("--verify", metavar="NAME", help="keep only answers that a judge of NAME accepts")
    help_ = "widths for that: what is not verified is searched again, wider (default: --beam)"
    add("--verify-beams", metavar="3,25", help=help_)
    help_ = "restrict the search to a grammar: of a domain, MODULE:CLASS, or of the model's domain"
    add("--constrained", nargs="?", const="auto", metavar="GRAMMAR", help=help_)
    add("--batch-size", **count, default=64, help="sentences (default: %(default)s)")
    add("--max-tokens", **count, help="tokens times streams in a batch (default: no limit)")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    add("--device", default=device, help="where to compute (default: %(default)s)")
    add_pattern(parser, "which tokens are symbols (default: as in training)")
    add("--fresh-names", metavar="x,y,z", help="of symbols that a source lacks, as in generation")

    add_judge(parser, semantics=False)
    help_ = "judging processes (default: as many as the judge needs)"
    parser.add_argument("--workers", type=at_least(0), help=help_)


def main(args: argparse.Namespace) -> None:
    metric = _metric(args)
    args.nbest = max(args.top_n or [1])
    args.beam = args.beam or (args.nbest if args.top_n else 3)
    if args.questions is not None:
        _write_questions(args)
        return
    judge = make_judge(args.semantics, args.judge, parameter="")
    args.judge = judge.name
    measure = {"alpha-covariance": _renamed, "real": _written}.get(metric, _judged)
    make_folder(os.path.dirname(args.result) or ".")
    with _interruptible(), JudgePool(judge, args.workers, args.timeout) as judges:
        measured = measure(args, judges)
    _report(args, metric, judges, measured)


def _metric(args: argparse.Namespace) -> str:
    """The name of what is measured; a UserError for options that do not go together."""
    cells, people = (args.by and sorted(args.by) == sorted(own) for own in (_CELLS, _WRITTEN))
    if args.renamings is not None:
        metric, unused = "alpha-covariance", ["by", "top_n"]
    elif people:
        metric, unused = "real", ["data", "top_n", "generated", "verify"]
    elif args.top_n is not None:
        metric, unused = "top-n", [] if cells else ["by"]
    else:
        metric, unused = "heat-map" if cells else "correct", []
    args.by = _CELLS if cells else args.by
    unused += [] if metric == "alpha-covariance" else ["names", "questions"]
    for name in unused:
        if getattr(args, name) is not None:
            option = "DATA" if name == "data" else f"--{name.replace('_', '-')}"
            raise UserError(
                f"{option} does not belong to what is measured ({metric}); leave it out"
            )
    if not people and args.data is None:
        raise UserError("name the data: sit evaluate NAME DATA")
    if args.by is not None and len(args.by) > 1 and not cells:
        raise UserError(f"nothing is counted by {' and '.join(args.by)}", "by")
    if args.result is None and args.questions is None:
        raise UserError("name the file for the numbers: pass --result FILE")
    if not 0.0 <= args.lowest < 1.0:
        raise UserError(f"{args.lowest} is no share below 1", "lowest")
    if cells or metric == "top-n":
        plots.require_matplotlib()
    return metric


@contextmanager
def _interruptible() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise UserError("Interrupted; the same command goes on with the answers it has so far.")


def _answerer(args: argparse.Namespace) -> Answerer:
    """The model that the command line names, or the file of answers."""
    if args.generated is None:
        return ModelAnswerer(args.path, **{name: getattr(args, name) for name in _OF_MODELS})
    for name in ("verify", "verify_beams", "constrained"):
        if getattr(args, name) is not None:
            raise UserError("answers of a file are not searched for", f"{name} generated")
    if args.semantics == "alpha" and args.symbols is None:
        raise UserError("a file of answers does not say which tokens are symbols", "symbols")
    return GivenAnswers(args.generated, args.symbols)


def _answer(
    args: argparse.Namespace,
    asked: Answerer,
    problems: Sequence[Problem],
    judges: Optional[JudgePool] = None,
    part: str = "",
) -> List[Answered]:
    """Answers problems and judges the answers, those of an interrupted run excepted.

    A measurement of several parts gives each a name.
    """
    options = {**_settings(args), "sentences": sha256_of(problems)}
    if judges is not None and judges.judge.on_references:
        options["references"] = sha256_of(str(problem.reference) for problem in problems)
    # Of verdicts only those that chose answers: others are asked for again.
    depends = depends_on({"answerer": args.path or args.generated}, options, asked.judge)
    path = file_beside(args.result, f"{part}.answers.jsonl")
    messages = {
        "advice": "pass --restart to discard them, or another --result to keep them",
        "where": "--result",
    }
    with Journal(path, "answers", depends, restart=args.restart, **messages) as journal:
        return answer_all(asked, problems, journal, judges)


def _judged(args: argparse.Namespace, judges: JudgePool) -> _Measured:
    """Correct answers in all, by size or by cell, and among the first n."""
    judge, cells, targets = judges.judge, None, None
    if os.path.isdir(args.data):
        grid, files = Grid.read(args.data), [f"{args.data}/{name}" for name in FILES]
        sources, targets, cells = grid.sources, grid.targets, grid.cells
    elif args.top_n is None or os.path.exists(f"{args.data}.tgt"):
        files = [f"{args.data}.src", f"{args.data}.tgt"]
        sources, targets = ([pair[side] for pair in read_pairs(args.data)] for side in (0, 1))
    else:
        files = [f"{args.data}.src"]
        sources = read_sentences(files[0])
    for number, source in enumerate(sources, start=1):
        try:
            judge.check(source)
        except MalformedFormula as error:
            raise UserError(f"sentence {number} is no problem of {args.semantics} ({error})")
    asked = _answerer(args)
    if isinstance(asked, ModelAnswerer):
        refuse_other_logic(judge, asked.model.base_tokens, parameter="")
    if args.by == _CELLS and cells is None:
        pattern = correct.symbols_of(judge, asked.symbols)
        if pattern is None:
            raise UserError("pass --symbols REGEX to say which tokens are symbols")
        grid = grid_of_pairs(zip(sources, targets or sources), pattern.symbols, {})
        sources, targets, cells = grid.sources, targets and grid.targets, grid.cells
    problems = judge.problems(sources, targets, asked.symbols)
    answered = _answer(args, asked, problems, judges)
    verdicts = [entry.verdicts for entry in answered]
    best, box = [ranked[0] for ranked in verdicts], None
    if cells is not None:
        box = correct.Box(args.training_symbols, args.training_length)
    figure = file_beside(args.result, ".png")
    if args.top_n is not None:
        result = correct.measure_top_n(verdicts, args.top_n, cells, box)
        if cells is None:
            table = correct.top_n_table(result)
            plots.draw_top_n(result, figure)
        else:
            table = correct.top_n_grid_table(result)
            titles = {f"Correct among the first {n}": found for n, found in result.items()}
            plots.draw_heat_maps(titles, figure, args.lowest)
    elif cells is not None:
        result = correct.measure_heat_map(cells, best, box)
        table = correct.heat_map_table(result)
        plots.draw_heat_maps({"Correct": result}, figure)
    else:
        answers, (by,) = [entry.answers[0] for entry in answered], args.by or ["symbols"]
        result = correct.measure_correct(judge, problems, answers, best, by)
        table = correct.correct_table(result)
    return _Measured(files, result, table, _seconds(answered), [*chain(*verdicts)])


def _chosen(
    args: argparse.Namespace, regex: Optional[str]
) -> Tuple[SymbolPattern, List[alpha_covariance.RenamedProblem]]:
    """The pattern of the symbols, and the problems with their renamings."""
    sources = read_sentences(f"{args.data}.src")
    pattern = correct.symbols_of(make_judge(args.semantics, parameter=""), regex)
    if pattern is None:
        raise UserError("pass --symbols REGEX to say which tokens are symbols")
    known = sorted({t for source in sources for t in source.split() if pattern.is_symbol(t)})
    args.names = args.names or known
    choice = (args.names, args.counts, args.samples, args.renamings, args.seed)
    return pattern, alpha_covariance.choose_problems(sources, pattern, *choice)


def _write_questions(args: argparse.Namespace) -> None:
    """Writes the renamed problems with their renamed targets."""
    _, problems = _chosen(args, args.symbols)
    targets = dict(reversed(read_pairs(args.data)))
    # Twice inverted, it renames also what a target calls by one of the new names.
    whole = [(p.source, r.inverse().inverse()) for p in problems for r in p.renamings]
    questions = [(renamed(source), renamed(targets[source])) for source, renamed in whole]
    write_pairs(args.questions, questions)
    print(f"{len(questions)} problems in {args.questions}.src and .tgt")


def _renamed(args: argparse.Namespace, _: JudgePool) -> _Measured:
    """Whether renamed problems get renamed answers."""
    asked = _answerer(args)
    pattern, problems = _chosen(args, asked.symbols)
    renamed = [Problem(source) for problem in problems for source in problem.sources]
    answered = _answer(args, asked, renamed)
    for entry in answered:
        if entry.reason is not None:
            raise UserError(f"a renamed problem cannot be answered: {entry.reason}")
    fresh = pattern if asked.fresh_symbols else None
    answers = [entry.answers[0] for entry in answered]
    result = alpha_covariance.measure_alpha_covariance(problems, answers, args.counts, fresh)
    table = alpha_covariance.alpha_covariance_table(result)
    return _Measured([f"{args.data}.src"], result, table, _seconds(answered), [])


def _written(args: argparse.Namespace, judges: JudgePool) -> _Measured:
    """Correct and verified answers to problems that people wrote."""
    domain = find(args.semantics, "")
    if domain.held_out is None:
        raise UserError(f"{args.semantics} has no sets that people wrote", "by")
    if args.constrained is None and domain.grammar is not None:
        args.constrained = args.semantics
    sets, widths = domain.held_out(), args.verify_beams or "3,10,25"
    every = [problem for found in sets.values() for problem in found]
    args.verify_beams = None
    asked = _answerer(args)
    sources = written.readable_sources(asked.model, domain, every)
    once = _answered(args, asked, judges, sources, ".beam")
    first = [entry and entry.verdicts[0] for entry in once]
    left = [None if v is Verdict.satisfied else source for source, v in zip(sources, first)]
    args.verify, args.verify_beams = args.semantics, widths
    again = _answered(args, _answerer(args), judges, left, ".verified")
    verified = [second.verdicts[0] if second else best for second, best in zip(again, first)]
    result = written.measure_written(sets, first, verified)
    verdicts = [verdict for verdict in (*first, *verified) if verdict]
    seconds = [sum(_seconds(filter(None, pair))) for pair in zip(once, again) if pair[0]]
    return _Measured([], result, written.written_table(result, args.beam), seconds, verdicts)


def _seconds(answered: Iterable[Answered]) -> List[float]:
    return [entry.seconds for entry in answered]


def _answered(
    args: argparse.Namespace,
    asked: Answerer,
    judges: JudgePool,
    sources: Sequence[Optional[str]],
    part: str,
) -> List[Optional[Answered]]:
    """The answers to each source, None where there is no source."""
    lines = [source for source in sources if source is not None]
    if not lines:
        return [None] * len(sources)
    problems = judges.judge.problems(lines, None, asked.symbols)
    found = iter(_answer(args, asked, problems, judges, part))
    return [None if source is None else next(found) for source in sources]


def _report(args: argparse.Namespace, metric: str, judges: JudgePool, measured: _Measured) -> None:
    """Writes the result file, and prints the table and all that the numbers depend on."""
    judge, involved = judges.judge, [judges.judge]
    if args.verify is not None:
        involved.append(make_judge(args.verify, parameter="verify"))
    libraries = [name for one in involved for name in one.versions()]
    options, model = _settings(args), args.path or args.generated
    own = sorted({os.path.relpath(path) for one in involved for path in one.own_code()})
    line = signature(depends_on({"model": model}, options, judge))
    content = {
        "metric": metric,
        "command": [os.path.basename(sys.argv[0]), *sys.argv[1:]],
        "files": {path: sha256_of_file(path) for path in (*measured.files, model, *own)},
        "options": options,
        "samples": len(measured.seconds),
        "seconds": sum(measured.seconds),
        "result": measured.result,
        "undecided": sum(not verdict.decided for verdict in measured.verdicts),
        "versions": versions(libraries),
        "signature": line,
    }
    result_file.write_result(args.result, content)
    print(f"{result_file.markdown_table(measured.table)}\n\n{line}")


def _settings(args: argparse.Namespace) -> Dict[str, Any]:
    """The options that numbers depend on."""
    own = ("symbols",) if args.path is None else _OF_MODELS
    found = {name: getattr(args, name) for name in (*own, *_OTHERS)}
    if args.renamings is not None:
        found.update((name, getattr(args, name)) for name in _OF_RENAMINGS)
    return found
