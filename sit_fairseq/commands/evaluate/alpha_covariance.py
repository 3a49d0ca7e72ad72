r"""Measures whether renamed problems get renamed answers.

    sit evaluate alpha-covariance data/test --path model/checkpoint_best.pt --names a,b,c,d,e \
        --result results/covariance.json

writes a JSON file and prints a table, as ``sit evaluate correct``. The renamed problems are also
written as a data set of their own, for language models to answer, and their answers measured with
the same options:

    sit evaluate alpha-covariance data/test --symbols '[a-e]' --questions data/renamed
    sit evaluate alpha-covariance data/test --symbols '[a-e]' --generated answers.txt \
        --result results/covariance.json
"""

import argparse

from sit_fairseq.commands._options import at_least, names, numbers
from sit_fairseq.commands.evaluate import _options as options
from sit_fairseq.datasets.pair_files import read_pairs, write_pairs
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.alpha_covariance import (
    alpha_covariance_table,
    choose_problems,
    measure_alpha_covariance,
)
from sit_fairseq.judging.judge import Problem
from sit_fairseq.storage.files import read_sentences
from sit_fairseq.symbols.pattern import SymbolPattern


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add, count = parser.add_argument, {"metavar": "N"}
    add("prefix", metavar="PREFIX", help="problems in PREFIX.src, text")
    help_ = "numbers of distinct symbols (default: %(default)s)"
    add("--counts", type=numbers, default="3,4,5", help=help_)
    help_ = "problems for each (default: %(default)s)"
    add("--samples", type=at_least(1), default=1000, **count, help=help_)
    help_ = "a,b,c,...: rename to these (default: the symbols in PREFIX.src)"
    add("--names", type=names, help=help_)
    help_ = "draw so many where there are more (default: %(default)s)"
    add("--max-renamings", type=at_least(2), default=120, **count, help=help_)
    answers = options.add_model(parser, given=True)
    help_ = "or write the renamed problems to OUT_PREFIX.src and .tgt, and ask nobody"
    answers.add_argument("--questions", metavar="OUT_PREFIX", help=help_)
    options.add_result(parser, required=False)
    options.add_seed(parser)


def main(args: argparse.Namespace) -> None:
    path = f"{args.prefix}.src"
    asked, regex = None, args.symbols
    if args.questions is None:
        if args.result is None:
            raise UserError("nothing says where the numbers go", "result questions")
        asked = options.answerer(args)
        regex = asked.symbols
    if regex is None:
        raise UserError("nothing says which tokens are symbols", "symbols")
    pattern, sources = SymbolPattern(regex), read_sentences(path)
    known = sorted({t for source in sources for t in source.split() if pattern.is_symbol(t)})
    args.names = args.names or known
    choice = (args.names, args.counts, args.samples, args.max_renamings, args.seed)
    problems = choose_problems(sources, pattern, *choice)
    if asked is None:
        targets = dict(reversed(read_pairs(args.prefix)))
        # Twice inverted, it renames also what a target calls by one of the new names.
        whole = [(p.source, r.inverse().inverse()) for p in problems for r in p.renamings]
        questions = [(renamed(source), renamed(targets[source])) for source, renamed in whole]
        write_pairs(args.questions, questions)
        print(f"{len(questions)} problems in {args.questions}.src and .tgt")
        return
    renamed = [Problem(source) for problem in problems for source in problem.sources]
    with options.run(args):
        answered = options.answer(args, asked, renamed)
    for entry in answered:
        if entry.reason is not None:
            raise UserError(f"a renamed problem cannot be answered: {entry.reason}")
    fresh = pattern if asked.fresh_symbols else None
    answers = [entry.answers[0] for entry in answered]
    result = measure_alpha_covariance(problems, answers, args.counts, fresh)
    table, seconds = alpha_covariance_table(result), [entry.seconds for entry in answered]
    options.report(args, "alpha-covariance", [path], result, table, seconds)
