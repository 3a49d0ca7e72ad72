"""What the verbs of evaluation share: options, answers of a model or a file, result files."""

import argparse
import logging
import os
import sys
from contextlib import contextmanager
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

import torch

from sit_fairseq.commands._options import add_judge, add_pattern, at_least
from sit_fairseq.datasets.grid import FILES
from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.errors import MalformedFormula, UserError
from sit_fairseq.evaluation import result_file
from sit_fairseq.evaluation.answering import Answered, Answerer, answer_all
from sit_fairseq.evaluation.decoding import ModelAnswerer
from sit_fairseq.evaluation.depends import depends_on, signature, versions
from sit_fairseq.evaluation.given_answers import GivenAnswers
from sit_fairseq.evaluation.result_file import file_beside, sha256_of
from sit_fairseq.judging.judge import Judge, Problem, refuse_other_logic
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.storage.files import make_folder, sha256_of_file
from sit_fairseq.storage.journal import Journal

# Options that answers and verdicts depend on, in result files and journals: how a model answers,
# and the others.
_OF_MODELS = (
    *("beam", "nbest", "lenpen", "max_len_a", "max_len_b", "verify", "verify_beams"),
    *("constrained", "batch_size", "max_tokens", "device", "symbols", "fresh_names"),
)
_OTHERS = ("semantics", "judge", "timeout", "names", "max_renamings")


def add_result(parser: argparse.ArgumentParser, required: bool = True) -> None:
    """Adds the result file, and how to discard the answers kept beside it."""
    add = parser.add_argument
    add("--result", required=required, metavar="FILE", help="the JSON file to write")
    add("--restart", action="store_true", help="discard the answers of an interrupted run")


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Adds the seed of verbs that draw something."""
    help_ = "of what is drawn at random (default: %(default)s)"
    parser.add_argument("--seed", type=int, default=1, help=help_)


def add_model(parser: argparse.ArgumentParser, beam: bool = True, given: bool = False) -> Any:
    """Adds the model, or a file of ``given`` answers, and how the model searches.

    Returns the group of ``--path``, of which one option is required.
    """
    answers = parser.add_mutually_exclusive_group(required=True)
    answers.add_argument("--path", metavar="CHECKPOINT", help="the model to ask")
    if given:
        help_ = "or its answers: a text with one a line, or .jsonl with source and answer"
        answers.add_argument("--generated", metavar="FILE", help=help_)
    add, count = parser.add_argument, {"type": at_least(1), "metavar": "N"}
    if beam:
        add("--beam", **count, default=3, help="(default: %(default)s)")
    add("--lenpen", type=float, default=1.0, help="length penalty (default: %(default)s)")
    help_ = "answers have at most A * source length + B tokens (default: %(default)s)"
    add("--max-len-a", type=at_least(0, float), default=0.0, metavar="A", help=help_)
    add("--max-len-b", type=at_least(0), default=200, metavar="B", help="(default: %(default)s)")
    help_ = "write well-formed answers alone: of prop, ltl, MODULE:CLASS, or of the model's domain"
    add("--constrained", nargs="?", const="auto", metavar="GRAMMAR", help=help_)
    add("--batch-size", **count, default=64, help="sentences (default: %(default)s)")
    add("--max-tokens", **count, help="tokens times streams in a batch (default: no limit)")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    add("--device", default=device, help="where to compute (default: %(default)s)")
    add_pattern(parser, "which tokens are symbols (default: as in training)")
    add("--fresh-names", metavar="x,y,z", help="of symbols that a source lacks, as in generation")
    return answers


def add_judging(parser: argparse.ArgumentParser, semantics: bool = True) -> None:
    """Adds who judges, and what sentences mean (``semantics``)."""
    add_judge(parser, semantics)
    help_ = "judging processes (default: as many as the judge needs)"
    parser.add_argument("--workers", type=at_least(0), help=help_)


def add_box(parser: argparse.ArgumentParser) -> None:
    """Adds the sizes of the training data, for heat maps."""
    for name, default in (("symbols", 5), ("length", 35)):
        help_ = f"most {name.replace('length', 'tokens')} in training (default: %(default)s)"
        parser.add_argument(f"--training-{name}", type=int, default=default, help=help_)


@contextmanager
def run(args: argparse.Namespace) -> Iterator[None]:
    """Context manager: there is a folder for the result, and Ctrl-C ends in one sentence."""
    make_folder(os.path.dirname(args.result) or ".")
    try:
        yield
    except KeyboardInterrupt:
        raise UserError("Interrupted; the same command goes on with the answers it has so far.")


def answerer(args: argparse.Namespace) -> Answerer:
    """The model that the command line names, or the file of answers."""
    if getattr(args, "generated", None) is None:
        return ModelAnswerer(args.path, **_given(args, _OF_MODELS))
    for name in ("verify", "verify_beams", "constrained"):
        if getattr(args, name, None) is not None:
            raise UserError("answers of a file are not searched for", f"{name} generated")
    if getattr(args, "semantics", None) == "alpha" and args.symbols is None:
        raise UserError("a file of answers does not say which tokens are symbols", "symbols")
    return GivenAnswers(args.generated, args.symbols)


def judges(args: argparse.Namespace) -> JudgePool:
    """The judges that the command line names."""
    judge = make_judge(args.semantics, args.judge)
    args.judge = judge.name
    return JudgePool(judge, args.workers, args.timeout)


def judged(
    args: argparse.Namespace, sources: Sequence[str], targets: Optional[Sequence[str]]
) -> Tuple[Judge, List[Problem], List[Answered]]:
    """Asks and judges as the command line says; ``targets`` are references, if there are any.

    Raises:
        UserError: the judge cannot read a source, or the model is of another logic.
    """
    with run(args), judges(args) as pool:
        for number, source in enumerate(sources, start=1):
            try:
                pool.judge.check(source)
            except MalformedFormula as error:
                reason = f"sentence {number} is no problem of {args.semantics} ({error})"
                raise UserError(reason, "semantics")
        asked = answerer(args)
        if isinstance(asked, ModelAnswerer):
            refuse_other_logic(pool.judge, asked.model.base_tokens, "semantics")
        problems = pool.judge.problems(sources, targets, asked.symbols)
        return pool.judge, problems, answer(args, asked, problems, pool)


def answer(
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


def report(
    args: argparse.Namespace,
    metric: str,
    files: Sequence[str],
    result: Dict[str, Any],
    table: Sequence[Sequence[Any]],
    seconds: Sequence[float],
    judge: Optional[Judge] = None,
    verdicts: Iterable[Verdict] = (),
) -> None:
    """Writes the result file and prints a table.

    Args:
        args: the options.
        metric: its name.
        files: read beside models and answers.
        result: the numbers.
        table: rows for people.
        seconds: for answering and judging each sentence, over all interrupted runs.
        judge: who judged.
        verdicts: all that the numbers are made of.
    """
    involved = [] if judge is None else [judge]
    if getattr(args, "verify", None):
        involved.append(make_judge(args.verify, parameter="verify"))
    libraries = [name for one in involved for name in one.versions()]
    options, answers = _settings(args), args.path or args.generated
    own = {os.path.relpath(path) for one in involved for path in one.own_code()}
    content = {
        "metric": metric,
        "command": [os.path.basename(sys.argv[0]), *sys.argv[1:]],
        **_given(args, ["seed"]),
        "files": {path: sha256_of_file(path) for path in (*files, answers, *sorted(own))},
        "options": options,
        "samples": len(seconds),
        "seconds": sum(seconds),
        "result": result,
        "undecided": sum(not verdict.decided for verdict in verdicts),
        "versions": versions(libraries),
        "signature": signature(depends_on({"answers": answers}, options, judge)),
    }
    result_file.write_result(args.result, content)
    print(result_file.markdown_table(table))


def figure(args: argparse.Namespace) -> str:
    """The name of the figure beside the result file."""
    return file_beside(args.result, ".png")


def grid_files(folder: str) -> List[str]:
    """The files of a grid."""
    return [f"{folder}/{name}" for name in FILES]


def _settings(args: argparse.Namespace) -> Dict[str, Any]:
    return _given(args, (*_OTHERS, "symbols") if args.path is None else (*_OF_MODELS, *_OTHERS))


def _given(args: argparse.Namespace, names: Sequence[str]) -> Dict[str, Any]:
    return {name: getattr(args, name) for name in names if hasattr(args, name)}
