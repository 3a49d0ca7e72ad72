"""``sit answer`` for domains whose problems stand in files and take a search each."""

import argparse
import inspect
import json
import os
import sys
from itertools import chain
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Tuple, Type

from tqdm import tqdm

from sit_fairseq.commands._options import at_least, numbers
from sit_fairseq.domains import Domain
from sit_fairseq.domains.solver import Solved, Solver
from sit_fairseq.errors import UserError
from sit_fairseq.storage.files import make_folder, model_file, replacing
from sit_fairseq.storage.journal import Journal


def add_arguments(parser: argparse.ArgumentParser, solver: Type[Solver]) -> None:
    parser.description = inspect.cleandoc(solver.__doc__ or "")
    add = parser.add_argument
    add("domain", metavar="NAME", help="the domain")
    add("files", nargs="+", metavar="FILE", help=solver.metavar)
    help_ = f"write each solution to DIR/PROBLEM{solver.ending}; an interrupted run goes on"
    add("--output", metavar="DIR", help=help_)
    add("--restart", action="store_true", help="begin anew instead of going on")
    help_ = "a model of your own, a file or a folder (default: the shipped one)"
    add("--path", type=model_file, metavar="MODEL", help=help_)
    help_ = "widths of the search; problems without a solution are searched with the next one"
    add("--beams", type=numbers, default=solver.beams, metavar=solver.beams, help=help_)
    help_ = "most seconds for each problem (default: %(default)s)"
    seconds = at_least(0.001, float)
    add("--seconds", type=seconds, default=solver.seconds, metavar="S", help=help_)
    for name, help_ in solver.switches.items():
        add(f"--{name.replace('_', '-')}", action="store_true", help=help_)
    add("--json", action="store_true", help="one JSON object per problem")
    add("-v", "--verbose", action="store_true", help="say what is known of each problem")


def main(args: argparse.Namespace, domain: Domain) -> None:
    """Solves problems and prints what came of each, in order."""
    solver = domain.solve(args.files)
    for name in solver.switches:
        setattr(solver, name, getattr(args, name))
    work = (_kept if args.output else _solved)(args, domain, solver)
    lacking, said = 0, ""
    with tqdm(total=len(solver.problems), unit=" problems", leave=False, disable=None) as bar:
        for place, solved in _in_order(work, bar):
            if args.verbose and solver.about(place) != said:
                said = solver.about(place)
                bar.write(said, file=sys.stderr)
            bar.write(_lines(args, solver.problems[place], solved), file=sys.stdout)
            sys.stdout.flush()
            lacking += solved.text is None and not solved.proved
    if lacking:
        raise SystemExit(1)


def _in_order(work: Iterator[Tuple[int, Solved]], bar: tqdm) -> Iterator[Tuple[int, Solved]]:
    waiting: Dict[int, Solved] = {}
    place = 0
    for at, solved in work:
        bar.update()
        waiting[at] = solved
        while place in waiting:
            yield place, waiting.pop(place)
            place += 1


def _lines(args: argparse.Namespace, problem: str, solved: Solved) -> str:
    """What came of a problem: its name and a verdict after a semicolon, then the solution."""
    if args.json:
        text = solved.text.split("\n") if solved.text else [] if solved.text == "" else None
        known = {"status": solved.status, "answer": text, "reason": solved.reason, **solved.more}
        return json.dumps({"problem": problem, **known}, ensure_ascii=False)
    reason = f": {solved.reason}" if solved.reason else ""
    head = f"; {problem}: {solved.status}{reason}"
    return head if args.output or not solved.text else f"{head}\n{solved.text}"


def _solved(
    args: argparse.Namespace, domain: Domain, solver: Solver, places: Optional[List[int]] = None
) -> Iterator[Tuple[int, Solved]]:
    from sit_fairseq.evaluation.in_time import in_time
    from sit_fairseq.model import Model

    places = list(range(len(solver.problems))) if places is None else places
    model = Model.load(_path(args, domain)) if places else None
    late = Solved("not verified", reason=f"the time limit of {args.seconds:g} seconds, --seconds")

    def work(batch: List[int]) -> Iterator[Tuple[int, Solved]]:
        return solver.solve(batch, lambda: model, args.beams)

    for place, solved in in_time(places, work, args.seconds):
        yield place, solved or late


def _path(args: argparse.Namespace, domain: Domain) -> str:
    from sit_fairseq.evaluation.formula_answers import shipped_model

    if args.path is None and domain.model is None:
        raise UserError(f"no model comes with {args.domain}; pass --path MODEL")
    return args.path or str(shipped_model(domain.model) / "model.pt")


def _kept(args: argparse.Namespace, domain: Domain, solver: Solver) -> Iterator[Tuple[int, Solved]]:
    """Writes each solution as soon as it is known, and notes it in a journal."""
    from sit_fairseq.evaluation.depends import depends_on

    names = [Path(problem).stem for problem in solver.problems]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"two problems are called {name}; write them to different folders")
    make_folder(args.output)
    paths = [os.path.join(args.output, name + solver.ending) for name in names]
    files = {str(at): path for at, path in enumerate(args.files)}
    switches = {name: True for name in solver.switches if getattr(args, name)}
    options = {"domain": domain.versioned, "beams": args.beams, **switches}
    depends = depends_on({"model": _path(args, domain), **files}, options, domain.judge())
    messages = {"advice": "pass --restart to begin anew", "where": "--output"}
    name = os.path.join(args.output, "answers.journal")
    with Journal(name, "answers", depends, restart=args.restart, **messages) as journal:
        known = {}
        for number, entry in enumerate(journal.entries, start=2):
            try:
                said, more = str(entry.get("reason", "")), dict(entry["more"])
                known[entry["place"]] = Solved("verified", entry["text"], said, more=more)
                if not solver.right(entry["place"], entry["text"]):
                    raise ValueError
            except (AttributeError, LookupError, TypeError, ValueError):
                raise journal.damaged(number)
        left = [place for place in range(len(names)) if place not in known]
        for place, solved in chain(known.items(), _solved(args, domain, solver, left)):
            if solved.text is None:
                Path(paths[place]).unlink(missing_ok=True)  # of another run
            else:
                with replacing(paths[place]) as (file,):
                    file.write(f"{solved.text}\n" if solved.text else "")
                if place not in known:
                    noted = {"text": solved.text, "reason": solved.reason, "more": solved.more}
                    journal.append({"place": place, **noted})
            yield place, solved
        journal.remove()
