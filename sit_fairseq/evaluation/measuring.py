"""Measurements of ``sit evaluate``: answers are made or read, judged, counted and written down."""

import os
import sys
from argparse import Namespace
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import torch

from sit_fairseq.datasets.grid import FILES, Cell, Grid, by_cell
from sit_fairseq.datasets.pair_files import read_pairs, write_pairs
from sit_fairseq.domains import find
from sit_fairseq.domains.by_name import domain_of, make_judge, of_file, refuse_other_domain
from sit_fairseq.errors import MalformedFormula, UserError
from sit_fairseq.evaluation import alpha_covariance, correct, plots, result_file, written
from sit_fairseq.evaluation.answering import (
    Answered,
    Answerer,
    GivenAnswers,
    ModelAnswerer,
    answer_all,
)
from sit_fairseq.evaluation.depends import depends_on, versions
from sit_fairseq.evaluation.measurement import Measurement
from sit_fairseq.evaluation.result_file import file_beside, sha256_of
from sit_fairseq.judging.judge import Judge, Problem
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.search.hypotheses import SearchOptions
from sit_fairseq.storage.files import make_folder, read_sentences, sha256_of_file
from sit_fairseq.storage.journal import Journal
from sit_fairseq.symbols.pattern import SymbolPattern

# Sentences of a batch, the seed of renamings, and the share of the first colour of top-n heat maps,
# as in the paper.
BATCH, SEED, LOWEST = 64, 1, 0.8


class _Measured(NamedTuple):
    """The files read, the numbers, rows for people, the seconds that each sentence took, all verdicts
    that the numbers are made of, and by name how each column was measured."""

    files: Sequence[str]
    result: Dict[str, Any]
    table: Sequence[Sequence[Any]]
    seconds: Sequence[float]
    verdicts: Sequence[Verdict]
    columns: Mapping[str, Measurement]


def measure(options: Namespace, metric: str) -> str:
    """Measures, writes the result file, and returns the table with its signature.

    ``options`` are those of ``sit evaluate``; ``metric`` is ``alpha-covariance``, ``written``, or
    another name, for the result file.
    """
    judge = make_judge(options.semantics, options.judge, parameter="")
    how = Measurement.of(options, judge.name)
    make_folder(os.path.dirname(options.result) or ".")
    kind = {"alpha-covariance": _renamed, "written": _written}.get(metric, _judged)
    try:
        with JudgePool(judge) as judges:
            measured = kind(how, options, judges)
    except KeyboardInterrupt:
        again = "the same command" + " without --restart" * options.restart
        raise UserError(f"Interrupted; {again} goes on with the answers it has so far.")
    return _report(options, metric, judge, measured)


def _answerer(how: Measurement) -> Answerer:
    """The model that the command line names, or the file of answers."""
    if how.generated is not None:
        if how.semantics == "alpha" and how.symbols is None:
            raise UserError("a file of answers does not say which tokens are symbols", "symbols")
        return GivenAnswers(how.generated, how.symbols)
    domain = domain_of(make_judge(how.semantics, parameter=""))
    factor, more = how.max_len
    return ModelAnswerer(
        how.path,
        symbols=how.symbols,
        device="cuda" if torch.cuda.is_available() else "cpu",
        verify=how.verify,
        constrained=how.constrained,
        domain=None if domain is None else how.semantics,
        beams=how.beams if how.verify else how.beams[:1],
        search=SearchOptions(nbest=max(how.top_n or [1]), max_len_a=factor, max_len_b=more),
        batch_size=BATCH,
    )


def _answer(
    how: Measurement,
    options: Namespace,
    asked: Answerer,
    problems: Sequence[Problem],
    judges: Optional[JudgePool] = None,
    part: str = "",
) -> List[Answered]:
    """Answers the problems of a part of a measurement and judges the answers, those of an interrupted
    run excepted."""
    settings = {**how.settings(), "sentences": sha256_of(problems)}
    if judges is not None and judges.judge.on_references:
        settings["references"] = sha256_of(str(problem.reference) for problem in problems)
    # Of verdicts only those that chose answers: others are asked for again.
    depends = depends_on({"answerer": how.answerer}, settings, asked.judge)
    path = file_beside(options.result, f"{part}.answers.jsonl")
    advice = "pass --restart to discard them, or another --result to keep them"
    messages = {"advice": advice, "where": "--result", "restart": options.restart}
    with Journal(path, "answers", depends, **messages) as journal:
        return answer_all(asked, problems, journal, judges)


def _judged(how: Measurement, options: Namespace, judges: JudgePool) -> _Measured:
    """Correct answers in all, by size or by cell, and among the first n."""
    judge, cells, targets = judges.judge, None, None
    if os.path.isdir(options.data):
        grid, files = Grid.read(options.data), [f"{options.data}/{name}" for name in FILES]
        sources, targets, cells = grid.sources, grid.targets, grid.cells
    elif how.top_n is None or os.path.exists(f"{options.data}.tgt"):
        files = [f"{options.data}.src", f"{options.data}.tgt"]
        sources, targets = ([pair[side] for pair in read_pairs(options.data)] for side in (0, 1))
    else:
        files = [f"{options.data}.src"]
        sources = read_sentences(files[0])
    for number, source in enumerate(sources, start=1):
        try:
            judge.check(source)
        except MalformedFormula as error:
            raise UserError(f"sentence {number} is no problem of {how.semantics} ({error})")
    asked = _answerer(how)
    if isinstance(asked, ModelAnswerer):
        refuse_other_domain(how.semantics, partial(of_file, asked.model.domain), parameter="")
    order: Sequence[int] = range(len(sources))
    pattern = None if [*options.by] == ["length"] else _counted(judge, how, asked)
    if "symbols" in options.by and cells is None:
        _known(pattern)
    if len(options.by) == 2 and cells is None:
        places = by_cell(sources, pattern.symbols)
        order = [*chain(*places.values())]
        ends = accumulate(map(len, places.values()))
        cells = [
            Cell(*size, end - len(own), len(own)) for (size, own), end in zip(places.items(), ends)
        ]
    problems = judge.problems(sources, targets, asked.symbols)
    how = replace(how, data=sha256_of([*sources, *(targets or ())]))
    answered = _answer(how, options, asked, problems, judges)
    verdicts = [answered[place].verdicts for place in order]
    best, box = [ranked[0] for ranked in verdicts], None
    if cells is not None:
        box = correct.Box(options.by.get("symbols") or 5, options.by.get("length") or 35)
    figure = file_beside(options.result, ".png")
    if how.top_n is not None:
        result = correct.measure_top_n(verdicts, how.top_n, cells, box)
        table = correct.top_n_table(result)
        if cells is None:
            plots.draw_top_n(result, figure)
        else:
            titles = {f"Correct among the first {n}": found for n, found in result.items()}
            plots.draw_heat_maps(titles, figure, LOWEST)
    elif cells is not None:
        result = correct.measure_heat_map(cells, best, box)
        table = correct.heat_map_table(result)
        plots.draw_heat_maps({"Correct": result}, figure)
    else:
        answers, (by,) = [entry.answers[0] for entry in answered], list(options.by) or ["symbols"]
        result = correct.measure_correct(judge, problems, answers, best, by, pattern)
        table = correct.correct_table(result)
    return _Measured(files, result, table, _seconds(answered), [*chain(*verdicts)], {"": how})


def _counted(judge: Judge, how: Measurement, asked: Answerer) -> Optional[SymbolPattern]:
    """The symbols that are counted: those given, else the domain's, else the model's."""
    pattern = correct.symbols_of(judge, how.symbols)
    if pattern is None and asked.symbols is not None:
        pattern = SymbolPattern(asked.symbols)
    return pattern


def _known(pattern: Optional[SymbolPattern]) -> SymbolPattern:
    if pattern is None:
        raise UserError("pass --symbols REGEX to say which tokens are symbols")
    return pattern


def _chosen(
    how: Measurement, data: str, regex: Optional[str]
) -> Tuple[Measurement, SymbolPattern, List[alpha_covariance.RenamedProblem]]:
    """The measurement with its names, the pattern of the symbols, and the problems with their
    renamings."""
    pattern = _known(correct.symbols_of(make_judge(how.semantics, parameter=""), regex))
    sources = read_sentences(f"{data}.src")
    known = sorted({t for source in sources for t in source.split() if pattern.is_symbol(t)})
    how = replace(how, names=how.names or known, data=sha256_of(sources))
    number, samples = how.renamings
    choice = (how.names, how.counts, samples, number, SEED)
    return how, pattern, alpha_covariance.choose_problems(sources, pattern, *choice)


def write_questions(options: Namespace) -> str:
    """Writes the renamed problems with their renamed targets beside the result file."""
    *_, problems = _chosen(Measurement.of(options, ""), options.data, options.symbols)
    targets = dict(reversed(read_pairs(options.data)))
    # Twice inverted, it renames also what a target calls by one of the new names.
    whole = [(p.source, r.inverse().inverse()) for p in problems for r in p.renamings]
    questions = [(renamed(source), renamed(targets[source])) for source, renamed in whole]
    prefix = file_beside(options.result, "")
    write_pairs(prefix, questions)
    return f"{len(questions)} problems in {prefix}.src and .tgt"


def _renamed(how: Measurement, options: Namespace, _: JudgePool) -> _Measured:
    """Whether renamed problems get renamed answers."""
    asked = _answerer(how)
    how, pattern, problems = _chosen(how, options.data, asked.symbols)
    renamed = [Problem(source) for problem in problems for source in problem.sources]
    answered = _answer(how, options, asked, renamed)
    for entry in answered:
        if entry.reason is not None:
            raise UserError(f"a renamed problem cannot be answered: {entry.reason}")
    fresh = pattern if how.semantics == "alpha" or asked.fresh_symbols else None
    answers = [entry.answers[0] for entry in answered]
    result = alpha_covariance.measure_alpha_covariance(problems, answers, how.counts, fresh)
    table = alpha_covariance.alpha_covariance_table(result)
    return _Measured([f"{options.data}.src"], result, table, _seconds(answered), [], {"": how})


def _written(how: Measurement, options: Namespace, judges: JudgePool) -> _Measured:
    """Correct and verified answers to problems that people wrote."""
    domain = find(how.semantics, "")
    if domain.held_out is None:
        raise UserError(f"{how.semantics} has no sets that people wrote", "by")
    sets = domain.held_out()
    every = [problem for found in sets.values() for problem in found]
    constrained = how.constrained or (how.semantics if domain.grammar is not None else None)
    wide = replace(how, constrained=constrained, verify=how.semantics, data=sha256_of(every))
    narrow = replace(wide, verify=None, beams=how.beams[:1])
    asked = _answerer(narrow)
    sources = written.readable_sources(asked.model, domain, every)
    once = _answered(narrow, options, asked, judges, sources, ".beam")
    first = [entry and entry.verdicts[0] for entry in once]
    left = [None if v is Verdict.satisfied else source for source, v in zip(sources, first)]
    again = _answered(wide, options, _answerer(wide), judges, left, ".verified")
    verified = [second.verdicts[0] if second else best for second, best in zip(again, first)]
    result = written.measure_written(sets, first, verified)
    verdicts = [verdict for verdict in (*first, *verified) if verdict]
    seconds = [sum(_seconds(filter(None, pair))) for pair in zip(once, again) if pair[0]]
    table = written.written_table(result, how.beams[0])
    return _Measured([], result, table, seconds, verdicts, {"correct": narrow, "verified": wide})


def _seconds(answered: Iterable[Answered]) -> List[float]:
    return [entry.seconds for entry in answered]


def _answered(
    how: Measurement,
    options: Namespace,
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
    found = iter(_answer(how, options, asked, problems, judges, part))
    return [None if source is None else next(found) for source in sources]


def _report(options: Namespace, metric: str, judge: Judge, measured: _Measured) -> str:
    """Writes the result file; returns the table, and all that the numbers depend on."""
    *_, how = measured.columns.values()
    others = [] if how.verify is None else [make_judge(how.verify, parameter="verify")]
    libraries = [name for one in (judge, *others) for name in one.versions()]
    own = sorted({os.path.relpath(path) for one in (judge, *others) for path in one.own_code()})
    lines = {name: column.signature(judge) for name, column in measured.columns.items()}
    content = {
        "metric": metric,
        "command": [os.path.basename(sys.argv[0]), *sys.argv[1:]],
        "files": {path: sha256_of_file(path) for path in (*measured.files, how.answerer, *own)},
        "options": how.settings(),
        "samples": len(measured.seconds),
        "seconds": sum(measured.seconds),
        "result": measured.result,
        "undecided": sum(not verdict.decided for verdict in measured.verdicts),
        "versions": versions(libraries),
        "signature": lines.get("", lines),
    }
    result_file.write_result(options.result, content)
    said = "\n".join(f"{name}: {line}".removeprefix(": ") for name, line in lines.items())
    return f"{result_file.markdown_table(measured.table)}\n\n{said}"
