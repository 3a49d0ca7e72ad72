r"""Measures a model on data, prints a table and writes the numbers to a JSON file.

    sit evaluate prop data/test --path model.pt --result R.json
    sit evaluate prop data/grid --path model.pt --result R.json --by symbols=5 length=35
    sit evaluate ltl --path model.pt --result R.json --by written
    sit evaluate prop data/test --path model.pt --result R.json --top-n 1,3,10
    sit evaluate prop data/test --path model.pt --result R.json --renamings 120

NAME is a domain, exact, alpha, or your own domain or judge: it says what sentences mean. DATA is
PREFIX, for PREFIX.src and PREFIX.tgt, or a folder of ``sit grid``. The line under the table names all
that the numbers depend on.

By default the command counts correct answers, exact ones, and each verdict. Options measure more:

``--by symbols length`` counts correct answers for each number of symbols and tokens. It draws a heat
map, with a box around the sizes of training: 5 and 35, or ``symbols=N`` and ``length=N``.

``--by written`` measures the problems that people wrote (``sit generate NAME --held-out``). The search
follows the grammar of the domain. *Correct* counts the first answer of the first beam. *Verified*
counts the answers that the judge accepts with wider and wider beams. A problem that the model cannot
read counts as wrong.

``--top-n`` counts sentences with a correct answer among the first n. It goes with ``--by symbols
length``, too.

``--renamings N`` measures alpha-covariance: whether the answers to N renamings of a problem agree.
Without a model and answers it writes the renamed problems to R.src and R.tgt, for language models.

``--generated FILE`` measures answers from a file instead of a model. The file has one answer a line,
or is ``*.jsonl`` with lines such as ``{"source": "! a", "answer": "a 0"}``.

The command keeps answers in ``R.answers.jsonl``. Give an interrupted command again, without
``--restart``, and it goes on.
"""

import argparse
import os
import re
from typing import Optional, Tuple

from sit_fairseq.commands._options import add_pattern, at_least, names, numbers
from sit_fairseq.domains.by_name import SEMANTICS
from sit_fairseq.errors import UserError
from sit_fairseq.storage.files import model_file, refuse_same


def _size(text: str) -> Tuple[str, Optional[int]]:
    """The type of ``--by``: a size, and the most of it in training."""
    if not (match := re.fullmatch(r"(symbols|length)(?:=(\d+))?|(written)", text)):
        raise argparse.ArgumentTypeError(f"{text} is not symbols, length or written")
    return match[1] or match[3], match[2] and int(match[2])


def _renamings(text: str) -> Tuple[int, int]:
    """The type of ``--renamings``: of each problem, and how many problems."""
    number, _, samples = text.partition(",")
    return at_least(2)(number), at_least(1)(samples or "1000")


def _limit(text: str) -> Tuple[float, int]:
    """The type of ``--max-len``: tokens for each one of the source, and more."""
    factor, _, more = text.rpartition(",")
    return at_least(0, float)(factor or "0"), at_least(0)(more)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    help_ = f"what sentences mean: {', '.join(SEMANTICS)}, or MODULE:OBJECT, your own"
    add("semantics", metavar="NAME", help=help_)
    add("data", metavar="DATA", nargs="?", help="PREFIX of .src and .tgt, or the folder of a grid")
    answers = parser.add_mutually_exclusive_group()
    help_ = "the model to ask, a file or a folder"
    answers.add_argument("--path", type=model_file, metavar="MODEL", help=help_)
    help_ = "a file of answers instead: one a line, or .jsonl with source and answer"
    answers.add_argument("--generated", metavar="FILE", help=help_)
    add("--result", metavar="FILE", help="the JSON file to write")
    add(
        "--restart",
        action="store_true",
        help="discard the answers that an interrupted command kept",
    )

    add = parser.add_argument_group("what is measured").add_argument
    help_ = "count by symbols, by length or by both; or measure the problems that people wrote"
    add("--by", nargs="+", type=_size, metavar="SIZE", help=help_)
    help_ = "count correct answers among the first n; the beam is as wide as the largest n"
    add("--top-n", type=numbers, metavar="1,3,10", help=help_)
    help_ = "measure alpha-covariance: N renamings of each of PROBLEMS problems (default: 1000)"
    add("--renamings", type=_renamings, metavar="N[,PROBLEMS]", help=help_)
    add("--names", type=names, metavar="a,b,c", help="new names (default: the names in the data)")
    help_ = "rename problems with these numbers of distinct symbols (default: 3,4,5)"
    add("--counts", type=numbers, metavar="3,4,5", help=help_)

    add = parser.add_argument_group("how the model answers").add_argument
    help_ = "width of the beam (default: 3); with --verify also of wider beams, tried in turn"
    add("--beams", "--verify-beams", type=numbers, metavar="3,25", help=help_)
    add("--verify", metavar="NAME", help="keep only answers that a judge of NAME accepts")
    help_ = (
        "restrict the search to a grammar: a domain or MODULE:CLASS (default: the model's, or NAME)"
    )
    add("--constrained", nargs="?", const="auto", metavar="GRAMMAR", help=help_)
    help_ = "answers have at most A * source length + B tokens (default: 0,200)"
    add("--max-len", "--max-len-b", type=_limit, metavar="[A,]B", help=help_)
    text = "which tokens are symbols (default: as in training; counted are the domain's)"
    add_pattern(parser, text)
    add("--judge", metavar="NAME", help="the judge of the domain to ask (default: its first)")


def main(args: argparse.Namespace) -> None:
    from sit_fairseq.datasets.grid import FILES
    from sit_fairseq.evaluation import measuring, plots, result_file

    given = {name for name, value in vars(args).items() if value is not None}
    args.by = dict(args.by or ())
    metric = _metric(args, given)
    if metric in ("heat-map", "top-n"):
        plots.require_matplotlib()
    most = [3, 10, 25, 100] if metric == "written" else [max(args.top_n or [3])]
    args.beams = args.beams or most
    args.counts, args.max_len = args.counts or [3, 4, 5], args.max_len or (0.0, 200)
    asked = args.path or args.generated
    sides = [f"{args.data}.{side}" for side in ("src", "tgt")] if args.data else []
    if os.path.isdir(args.data or ""):
        sides += [os.path.join(args.data, name) for name in FILES]
    read = [args.path, args.generated, *sides]
    ending = ".answers.jsonl" if asked else ".src"
    written = [args.result, result_file.file_beside(args.result, ending)]
    refuse_same(filter(None, read), written, "result")
    print(measuring.measure(args, metric) if asked else measuring.write_questions(args))


def _metric(args: argparse.Namespace, given: set) -> str:
    """The name of what is measured; a UserError for options that do not go together."""
    grid, people = os.path.isdir(args.data or ""), [*args.by] == ["written"]
    # The lines of a grid are counted by cell, whether --by says so or not.
    cells = sorted(args.by) == ["length", "symbols"] or grid and not args.by
    if args.renamings is not None:
        metric, unused = "alpha-covariance", {"by", "top_n", "judge"}
    elif people:
        metric, unused = "written", {"data", "top_n", "generated", "verify"}
    elif args.top_n is not None:
        metric, unused = "top-n", set() if cells else {"by"}
    else:
        metric, unused = "heat-map" if cells else "correct", set()
    unused |= set() if metric == "alpha-covariance" else {"names", "counts"}
    # Symbols are counted, or alpha or a judge of the user's asks which tokens they are.
    counted = cells and not grid
    counted = counted or metric not in ("heat-map", "top-n") and "length" not in args.by
    known = counted or args.semantics not in SEMANTICS or args.semantics == "alpha"
    unused |= set() if known or "generated" not in given else {"symbols"}
    for name in sorted(unused & given):
        option = "DATA" if name == "data" else f"--{name.replace('_', '-')}"
        raise UserError(f"{option} does not belong to what is measured ({metric}); leave it out")
    searched = given & {"verify", "beams", "constrained", "max_len"}
    if searched and "path" not in given:
        name, file = min(searched), "generated" in given
        reason = "answers of a file need no search" if file else "only a model searches"
        raise UserError(reason, f"{name} {'generated' if file else 'path'}")
    if len(args.beams or []) > 1 and not people and args.verify is None:
        raise UserError("only a verified search has wider beams", "beams verify")
    first = max(args.top_n or [1])
    if first > 1 and "generated" in given:
        raise UserError("a file has one answer to each sentence", "top_n generated")
    if first > min(args.beams or [first]):
        raise UserError(f"a beam of {min(args.beams)} has no {first} answers", "beams top_n")
    if not people and args.data is None:
        raise UserError("name the data: sit evaluate NAME DATA")
    if len(args.by) > 1 and not cells:
        raise UserError(f"nothing is counted by {' and '.join(args.by)}", "by")
    if len(args.by) == 1 and not people and (grid or any(args.by.values())):
        raise UserError("a grid, or a size of training, needs both symbols and length", "by")
    if args.result is None:
        raise UserError("name the file for the numbers: pass --result FILE")
    if not given & {"path", "generated"} and args.renamings is None:
        raise UserError("name a model, or a file of its answers", "path generated")
    return metric
