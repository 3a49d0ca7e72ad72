"""Answers problems as people write them, and prints answers that a judge has accepted.

    sit answer ltl 'G (req -> F grant)' '!close U open'
    sit answer prop 'a & (b | !c)' --prefix
    sit answer ltl --input requirements.txt --output answers
    sit answer my.module:DOMAIN --path model.pt 'a problem'

A domain of your own needs a model, ``--path``. Its problems stand as in data, unless it reads them
otherwise. Formulas stand in infix notation (``G [] always
&& /\\ and => implies ...``), in prefix notation (lbt's too), or, in a file, in DIMACS. Comments
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
import codecs
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Dict, Iterable, Iterator, List, Tuple

from tqdm import tqdm

from sit_fairseq.commands import _solving
from sit_fairseq.commands._options import at_least, numbers
from sit_fairseq.datasets.pair_files import write_pairs
from sit_fairseq.domains import Domain, find, names
from sit_fairseq.domains.by_name import accepting_judge
from sit_fairseq.errors import UserError, advised
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.storage.files import model_file
from sit_fairseq.storage.journal import Journal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    if parser.words and not parser.words[0].startswith("-"):
        solver = find(parser.words[0], "").solve
        if solver is not None:
            _solving.add_arguments(parser, solver)
            return
    add = parser.add_argument
    readers = ", ".join(name for name in names() if find(name).read or find(name).solve)
    help_ = f"what formulas mean: {readers}, or MODULE:OBJECT, your own"
    add("domain", metavar="NAME", help=help_)
    add("formulas", nargs="*", metavar="FORMULA")
    help_ = "read formulas from a file, one a line; - is standard input"
    add("--input", metavar="FILE", help=help_)
    add("--output", metavar="OUT", help="write the verified pairs to OUT.src and OUT.tgt")
    add("--restart", action="store_true", help="begin anew instead of going on")
    help_ = "a model of your own, a file or a folder (default: the shipped one)"
    add("--path", type=model_file, metavar="MODEL", help=help_)
    help_ = "beam widths; formulas without a verified answer are searched with the next one"
    add("--beams", type=numbers, default="3,10,25,100", metavar="3,10,25,100", help=help_)
    help_ = "most seconds for each formula (default: %(default)s)"
    add("--seconds", type=at_least(0.001, float), default=60.0, metavar="S", help=help_)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--prefix", action="store_true", help="print answers in the notation of data")
    form.add_argument("--json", action="store_true", help="one JSON object per formula")


def main(args: argparse.Namespace) -> None:
    from sit_fairseq.evaluation.formula_answers import shipped_model

    domain = find(args.domain, "")
    if domain.solve is not None:
        if "files" not in args:
            raise UserError(f"name the domain first: sit answer {args.domain}")
        _solving.main(args, domain)
        return
    numbered = _formulas(args, domain)
    formulas = [formula for _, formula in numbered]
    if args.path is None and domain.model is None:
        raise UserError(f"no model comes with {args.domain}; pass --path MODEL")
    args.path = args.path or str(shipped_model(domain.model) / "model.pt")
    lacking = 0
    # A proof that there is no answer may take a sixth of the time: the search needs the rest.
    with JudgePool(accepting_judge(args.domain, ""), timeout=args.seconds / 6) as judges:
        work = _kept if args.output else _answers
        with tqdm(total=len(formulas), unit=" formulas", leave=False, disable=None) as bar:
            for answer, (number, _) in zip(work(args, domain, formulas, judges), numbered):
                bar.write(_line(args, {"line": number, **answer}), file=sys.stdout)
                sys.stdout.flush()
                bar.update()
                lacking += answer["status"] not in ("verified", "no answer exists")
    if lacking:
        raise SystemExit(1)


def _formulas(args: argparse.Namespace, domain: Domain) -> List[Tuple[int, str]]:
    """The formulas with their lines in the file, or their places among the arguments, from 1; bytes
    that are no UTF-8 become U+FFFD."""
    if bool(args.formulas) == bool(args.input):
        raise UserError("give formulas, or a file of them by --input, and not both")
    if args.formulas:
        given = (formula.encode("utf-8", "surrogatepass") for formula in args.formulas)
        return list(enumerate((data.decode("utf-8", "replace") for data in given), start=1))
    try:
        data = sys.stdin.buffer.read() if args.input == "-" else Path(args.input).read_bytes()
    except OSError as error:
        raise UserError(f"{args.input} cannot be read: {error.strerror}", "input")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UserError(f"{args.input} is in UTF-16; save it as UTF-8", "input")
    return (domain.split or _lines)(data.decode("utf-8-sig", "replace"))


def _lines(text: str) -> List[Tuple[int, str]]:
    lines = enumerate(map(str.strip, text.split("\n")), start=1)
    return [(number, line) for number, line in lines if line]


def _answers(
    args: argparse.Namespace, domain: Domain, formulas: Iterable[str], judges: JudgePool
) -> Iterator[dict]:
    """The answers as plain data, as they come."""
    from sit_fairseq.evaluation.formula_answers import answer_formulas, symbols_of_questions
    from sit_fairseq.model import Model

    model = Model.load(args.path, symbols=symbols_of_questions(domain))
    if model.fresh_symbols:
        raise UserError(f"{args.path} writes names that formulas lack (--fresh-symbols)", "path")
    for answer in answer_formulas(formulas, domain, model, judges, args.beams, args.seconds):
        reason = advised(answer.reason, ())  # this command has no option that limits the search
        yield {**asdict(answer), "status": answer.status.value, "reason": reason}


def _kept(
    args: argparse.Namespace, domain: Domain, formulas: List[str], judges: JudgePool
) -> Iterator[dict]:
    """Yields each answer, notes it in the journal, and writes all pairs at the end."""
    from sit_fairseq.evaluation.depends import depends_on

    options = {"domain": domain.versioned, "beams": args.beams, "formulas": formulas}
    depends = depends_on({"model": args.path}, options, judges.judge)
    name, advice = f"{args.output}.journal", "pass --restart to begin anew"
    messages = {"advice": advice, "where": "--output", "restart": args.restart}
    with Journal(name, "answers", depends, **messages) as journal:
        known = _confirmed(domain, formulas, judges, journal)
        left = [formula for at, formula in enumerate(formulas) if at not in known]
        asked = _answers(args, domain, left, judges)
        found = []
        for at in range(len(formulas)):
            found.append(known[at] if at in known else next(asked))
            if at not in known:
                journal.append({"index": at, **found[-1]})
            yield found[-1]
        pairs = [(a["source"], a["answer"]) for a in found if a["status"] == "verified"]
        write_pairs(args.output, pairs)
        journal.remove()
    counts = f"{len(pairs)} verified pairs of {len(found)} formulas"
    print(f"{counts} in {args.output}.src and .tgt", file=sys.stderr)


def _confirmed(
    domain: Domain, formulas: List[str], judges: JudgePool, journal: Journal
) -> Dict[int, dict]:
    """The entries of a journal that need not be asked again, by the place of the formula."""
    from sit_fairseq.evaluation.formula_answers import confirmed

    found: Dict[int, dict] = {}
    for number, entry in enumerate(journal.entries, start=2):
        try:
            at = entry.pop("index")
            if at not in range(len(formulas)) or at in found:
                raise ValueError
            if confirmed(formulas[at], entry, domain, judges) is not None:
                found[at] = entry
        except (AttributeError, LookupError, TypeError, ValueError):
            raise journal.damaged(number)
    return found


def _line(args: argparse.Namespace, answer: dict) -> str:
    if args.json:
        return json.dumps(answer, ensure_ascii=False)
    if answer["status"] == "verified":
        return answer["answer"] if args.prefix else answer["text"]
    if answer["status"] == "no answer exists":
        return answer["status"]
    return f"{answer['status']}: {answer['reason']}"
