"""Answers problems as people write them, and prints answers that a judge has accepted.

    sit answer ltl 'G (req -> F grant)' '!close U open'
    sit answer prop 'a & (b | !c)' --prefix
    sit answer ltl --input requirements.txt --output answers
    sit answer my.module:DOMAIN --path model.pt 'a problem'

A domain of your own needs a model, ``--path``. Its problems stand as in data, unless it reads them
otherwise. Formulas stand in infix notation (``G [] always
&& /\\ and => implies ...``), in prefix notation (lbt's too), or, in a file, in DIMACS. Whatever their
spelling, operators bind as in Spot, from tight to loose: ``! X F G``, then ``U W R M``, ``&``,
``xor``, ``|``, at last ``->`` and ``<->``, which are alike and group to the right. Comments
(``#``, ``--``, ``//``, ``/* */``) and a final ``;`` in a file are left out. A name is a word such as
``door-open`` or ``r[0]``. Any other name needs double quotes: the comparison ``"x <= 3"`` is one
symbol, and x elsewhere is another.

An answer satisfies its formula whatever else happens: a trace, ``req & !grant; then for ever:
grant``, or a partial assignment, ``a & !c``.

Each formula gets one line, in order: its answer; or *no answer exists*, if the judge has proved it;
or *not verified*, if the judge accepts no hypothesis; or why it cannot be read. The exit status is
0 if every formula has its answer or can have none, and 1 otherwise.

If the first beam fails, the model is asked other forms of the formula: simpler ones, and one with
the operands of ``& | <-> xor`` exchanged. The judge checks the answer to the formula as it was given.

If a name is no single word, ``--prefix`` and data call the formula's symbols p0, p1, ..., by first
appearance. With ``--json``, ``names`` has the formula's name of each symbol, and ``line`` is its
line in the file, or its place among the arguments, from 1.

Each answer is printed as soon as it is known. If search and judge take longer than ``--seconds``,
a formula is *not verified*.

With ``--output`` the verified pairs go to OUT.src and OUT.tgt, data for fairseq-preprocess; an
interrupted run goes on where it stopped, and judges again what it has.
"""

import argparse
import inspect
import json
import os
import sys
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Dict, Iterator, List, Sequence, Tuple

from tqdm import tqdm

import sit_fairseq
from sit_fairseq.commands._options import at_least, numbers
from sit_fairseq.datasets.pair_files import write_pairs
from sit_fairseq.domains import Domain, find, names
from sit_fairseq.domains.sentence_solver import SentenceSolver
from sit_fairseq.domains.solver import Limits, Solved, Solver, Status
from sit_fairseq.errors import UserError, advised
from sit_fairseq.storage.files import make_folder, model_file, refuse_same, replacing, typed_text
from sit_fairseq.storage.journal import Journal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    first = (*parser.words, "-")[0]
    solver = (None if first.startswith("-") else find(first, "").solve) or SentenceSolver
    parser.set_defaults(solver=solver)
    if solver.ending:
        parser.description = inspect.cleandoc(solver.__doc__ or "")
    add = parser.add_argument
    readers = ", ".join(name for name in names() if find(name).read or find(name).solve)
    help_ = f"what problems mean: {readers}, or MODULE:OBJECT, your own"
    add("domain", metavar="NAME", help=help_)
    add("given", nargs="*", metavar=solver.metavar)
    form = parser.add_mutually_exclusive_group()
    if solver.ending:
        help_ = f"write each answer to DIR/PROBLEM{solver.ending}; an interrupted run goes on"
        add("--output", metavar="DIR", help=help_)
        add("-v", "--verbose", action="store_true", help="print the domain's notes on each problem")
    else:
        help_ = "read problems from a file, one a line; - is standard input"
        add("--input", metavar="FILE", help=help_)
        add("--output", metavar="OUT", help="write the verified pairs to OUT.src and OUT.tgt")
        help_ = "print answers in the notation of data"
        form.add_argument("--prefix", action="store_true", help=help_)
    for name, help_ in solver.switches.items():
        add(f"--{name.replace('_', '-')}", action="store_true", help=help_)
    form.add_argument("--json", action="store_true", help="one JSON object per problem")
    add("--restart", action="store_true", help="begin anew instead of going on")
    help_ = "a model of your own, a file or a folder (default: the shipped one)"
    add("--path", type=model_file, metavar="MODEL", help=help_)
    help_ = "beam widths; problems without a verified answer are searched with the next one"
    usual = ",".join(map(str, solver.usual.beams))
    add("--beams", type=numbers, default=usual, metavar=usual, help=help_)
    help_ = "most seconds for each problem (default: %(default)s)"
    seconds = at_least(0.001, float)
    add("--seconds", type=seconds, default=solver.usual.seconds, metavar="S", help=help_)


def main(args: argparse.Namespace) -> None:
    """Answers problems, and prints what came of each, in order."""
    from sit_fairseq.model import Model

    domain = find(args.domain, "")
    if args.solver is not (domain.solve or SentenceSolver):
        raise UserError(f"name the domain first: sit answer {args.domain}")
    if args.restart and not args.output:
        raise UserError("without files there is nothing to begin anew", "output restart")
    if args.output == "":
        raise UserError("name what to write", "output")
    if args.output and getattr(args, "input", None):
        refuse_same([args.input], [f"{args.output}.{side}" for side in ("src", "tgt")], "output")
    given, path = _given(args, domain), _model_path(args, domain)
    load, limits = partial(Model.load, path), Limits(args.beams, args.seconds)
    lacking, said = 0, ""
    with args.solver(domain, given, load, limits) as solver:
        for name in solver.switches:
            setattr(solver, name, getattr(args, name))
        every = range(len(solver.problems))
        work = _kept(args, path, solver) if args.output else _solved(solver, every)
        with tqdm(total=len(every), unit=" problems", leave=False, disable=None) as bar:
            for place, solved in _in_order(work, bar):
                about = solver.about(place) if solver.ending and args.verbose else said
                if about != said:
                    bar.write(about, file=sys.stderr)
                said = about
                bar.write(_lines(args, solver, place, solved), file=sys.stdout)
                sys.stdout.flush()
                lacking += solved.status not in (Status.verified, Status.impossible)
    if lacking:
        raise SystemExit(1)


def _model_path(args: argparse.Namespace, domain: Domain) -> str:
    if args.path is not None:
        return args.path
    if domain.model is None:
        raise UserError(f"no model comes with {args.domain}; pass --path MODEL")
    package = Path(sit_fairseq.__file__).parent
    for folder in (package.parent, package):
        path = folder / "checkpoints" / domain.model / "model.pt"
        if path.is_file():
            return str(path)
    raise UserError(f"no model {domain.model} comes with this installation; name one", "path")


def _given(args: argparse.Namespace, domain: Domain) -> List[Tuple[int, str]]:
    """The numbered problems of the command line, or those of ``--input`` with their lines, from 1."""
    if args.solver.ending:
        return list(enumerate(args.given, start=1))
    if bool(args.given) == bool(args.input):
        raise UserError("give problems, or a file of them by --input, and not both")
    if args.given:
        for text in args.given:
            # A file called a may lie beside the formula a.
            if Path(text).suffix and os.path.isfile(text):
                raise UserError(f"{text} is a file; its problems are read by --input {text}")
        texts = (text.encode("utf-8", "surrogatepass") for text in args.given)
        return list(enumerate((data.decode("utf-8", "replace") for data in texts), start=1))
    try:
        data = sys.stdin.buffer.read() if args.input == "-" else Path(args.input).read_bytes()
    except OSError as error:
        raise UserError(f"{args.input} cannot be read: {error.strerror}", "input")
    return (domain.split or _split)(typed_text(data, args.input, "input"))


def _split(text: str) -> List[Tuple[int, str]]:
    lines = enumerate(map(str.strip, text.split("\n")), start=1)
    return [(number, line) for number, line in lines if line]


def _in_order(work: Iterator[Tuple[int, Solved]], bar: tqdm) -> Iterator[Tuple[int, Solved]]:
    waiting: Dict[int, Solved] = {}
    place = 0
    for at, solved in work:
        bar.update()
        waiting[at] = solved
        while place in waiting:
            yield place, waiting.pop(place)
            place += 1


def _lines(args: argparse.Namespace, solver: Solver, place: int, solved: Solved) -> str:
    """The lines to print for a problem; for a file its name after a semicolon, verdict and answer."""
    (line, problem), verified = solver.problems[place], solved.status is Status.verified
    none = solved.status is Status.impossible
    status = solver.none if none else solved.status.value
    if args.json:
        known = {"line": line, "problem": problem, **asdict(solved), "status": status}
        more = known.pop("more")
        return json.dumps({**known, **more}, ensure_ascii=False)
    if not solver.ending:
        said = status if none else f"{status}: {solved.reason}"
        return (solved.answer if args.prefix else solved.text) if verified else said
    head = f"; {problem}: {status}" + f": {solved.reason}" * bool(solved.reason)
    return head if args.output or not solved.text else f"{head}\n{solved.text}"


def _solved(solver: Solver, places: Sequence[int]) -> Iterator[Tuple[int, Solved]]:
    """Solves the problems of some places, each in its time."""
    from sit_fairseq.evaluation.in_time import in_time

    seconds = solver.limits.seconds
    reason = f"the time limit of {seconds:g} seconds, --seconds"
    late = Solved(Status.unverified, reason=reason, decided=False)
    if places:
        solver.model  # to load it takes nobody's time
    for place, solved in in_time(places, solver.answers, seconds):
        solved = solved or late
        # This command has no other option that limits the search.
        yield place, replace(solved, reason=advised(solved.reason, ()))


def _kept(args: argparse.Namespace, path: str, solver: Solver) -> Iterator[Tuple[int, Solved]]:
    """Notes each answer in a journal. Files with answers are written at once, pairs at the end."""
    from sit_fairseq.evaluation.depends import depends_on

    problems, ending, domain = [text for _, text in solver.problems], solver.ending, solver.domain
    stems = [Path(text).stem for text in problems] if ending else []
    for name in stems:
        if stems.count(name) > 1:
            raise UserError(f"two problems are called {name}; write them to different folders")
    if ending:
        make_folder(args.output)
    paths = [os.path.join(args.output, name + ending) for name in stems]
    files = {"model": path, **{str(at): file for at, file in enumerate(args.given * bool(ending))}}
    options = {"domain": domain.versioned, "beams": solver.limits.beams, "problems": problems}
    options.update((name, True) for name in solver.switches if getattr(solver, name))
    depends = depends_on(files, options, domain.judge())
    messages = {"advice": "pass --restart to begin anew", "where": "--output"}
    name = os.path.join(args.output, "answers.journal") if ending else f"{args.output}.journal"
    found: Dict[int, Solved] = {}
    with Journal(name, "answers", depends, restart=args.restart, **messages) as journal:
        known = _confirmed(solver, journal)
        left = [place for place in range(len(problems)) if place not in known]
        for place, solved in chain(known.items(), _solved(solver, left)):
            if ending and solved.status is Status.verified:
                with replacing(paths[place]) as (file,):
                    file.write(f"{solved.text}\n" if solved.text else "")
            elif ending:
                Path(paths[place]).unlink(missing_ok=True)  # of another run
            if place not in known:
                journal.append({"index": place, **asdict(solved)})
            found[place] = solved
            yield place, solved
        if not ending:
            ordered = [found[place] for place in range(len(problems))]
            pairs = [(s.source, s.answer) for s in ordered if s.status is Status.verified]
            write_pairs(args.output, pairs)
            counts = f"{len(pairs)} verified pairs of {len(problems)} problems"
            print(f"{counts} in {args.output}.src and .tgt", file=sys.stderr)
        journal.remove()


def _confirmed(solver: Solver, journal: Journal) -> Dict[int, Solved]:
    """The outcomes of a journal that need not be found again, by the place of the problem."""
    found: Dict[int, Solved] = {}
    for number, entry in enumerate(journal.entries, start=2):
        try:
            place = entry.pop("index")
            noted = Solved(**{**entry, "status": Status(entry["status"])})
            if place not in range(len(solver.problems)):
                raise ValueError
            # What a judge could not confirm in time stands there twice.
            if place not in found and noted.decided is True and solver.confirms(place, noted):
                found[place] = noted
        except (AttributeError, LookupError, TypeError, ValueError):
            raise journal.damaged(number)
    return found
