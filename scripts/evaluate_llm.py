"""Has a language model answer the problems of a data set, and judges its answers.

The model is behind any OpenAI-compatible endpoint (chat completions); the key is taken from
the environment variable OPENAI_API_KEY. The paper's set-up (appendix "LLM Setup"):

    python scripts/evaluate_llm.py data/test --semantics ltl --model gpt-5.2 \
        --reasoning-effort medium --verbosity low --samples 3000 --result results/ltl.json

and for its alpha-covariance, with all renamings into 5 names:

    python scripts/evaluate_llm.py data/test --semantics ltl --model gpt-5.2 \
        --reasoning-effort none --verbosity low --temperature 0 --samples 100 \
        --renamings 120 --result results/ltl_renamed.json

The paper used the Responses API, mostly in batches. Each answer is kept as soon as it has
come, for results/ltl.json in results/ltl.answers.jsonl: a run that ended early goes on where
it was when it is started again, and what was answered once is not asked (and paid for) again.
"""

import argparse
import json
import logging
import random
import sys
from collections import Counter
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from sit_fairseq.datasets.pair_files import read_pairs
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.alpha_covariance import (
    RenamedProblem,
    alpha_covariance_table,
    measure_alpha_covariance,
)
from sit_fairseq.evaluation.correct import correct_table, measure_correct
from sit_fairseq.evaluation.llm import expense
from sit_fairseq.evaluation.llm.answer_log import AnswerLog
from sit_fairseq.evaluation.llm.asking import Question, ask_all, make_question
from sit_fairseq.evaluation.llm.dialect import DIALECTS, Dialect, Example, UnreadableAnswer
from sit_fairseq.evaluation.llm.endpoint import Endpoint, Reply, check_base_url, openai_version
from sit_fairseq.evaluation.result_file import (
    Result,
    file_beside,
    markdown_table,
    sha256_of_file,
    versions,
)
from sit_fairseq.judging.judge import make_judge
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.logic.syntax import MalformedFormula, formula_symbols, tokenize
from sit_fairseq.symbols.renaming import Renaming, renamings_into

# Number of examples in a prompt, as in the paper.
SHOTS = 4


class Sample(NamedTuple):
    """A pair of the data set.

    Attributes:
        source: the formula.
        target: its label.
        renamings: renamings of the formula to be asked about as well, if any.
    """

    source: str
    target: str
    renamings: List[Renaming]

    def formulas(self) -> List[str]:
        """All formulas that are asked about."""
        return [self.source, *(renaming(self.source) for renaming in self.renamings)]


def read_problems(args: argparse.Namespace) -> List[Tuple[str, str]]:
    """Reads the data set.

    Args:
        args: the parsed options.

    Returns:
        Formulas and labels.

    Raises:
        UserError: there are none, or a formula is malformed.
    """
    pairs, judge = read_pairs(args.prefix), make_judge(args.semantics)
    if not pairs:
        raise UserError(f"{args.prefix}.src has no lines; give data with at least one.")
    for number, (source, _) in enumerate(pairs, start=1):
        try:
            judge.check(source)
        except MalformedFormula as error:
            raise UserError(f"Line {number} of {args.prefix}.src is malformed: {error}.")
    return pairs


def choose_samples(pairs: Sequence[Tuple[str, str]], args: argparse.Namespace) -> List[Sample]:
    """Draws from the data set.

    What is drawn does not depend on how much is: answers that were paid for serve again
    when more samples or renamings are asked about.

    Args:
        pairs: the data set.
        args: the parsed options.

    Returns:
        The samples in the order of the data.
    """
    numbers = list(range(len(pairs)))
    random.Random(args.seed).shuffle(numbers)
    symbols = [formula_symbols(tokenize(source)) for source, _ in pairs]
    names = list(dict.fromkeys(name for line in symbols for name in line))
    samples = []
    for number in sorted(numbers[: args.samples]):
        rng = random.Random(f"{args.seed} {number}")
        renamings = renamings_into(symbols[number], names, args.renamings, rng)
        samples.append(Sample(*pairs[number], renamings))
    return samples


def choose_examples(
    dialect: Dialect, pairs: Sequence[Tuple[str, str]], args: argparse.Namespace
) -> List[Example]:
    """Draws the examples of all prompts from the data that ``--examples`` names.

    Args:
        dialect: how they will be written.
        pairs: the data set, whose formulas shall not be among them.
        args: the parsed options.

    Returns:
        ``SHOTS`` examples; those of the paper if no data are named.

    Raises:
        UserError: there are too few, or one cannot be read.
    """
    if args.examples is None:
        return list(dialect.examples)
    tested = {source for source, _ in pairs}
    candidates = [Example(*pair) for pair in read_pairs(args.examples) if pair[0] not in tested]
    if len(candidates) < SHOTS:
        raise UserError(
            f"--examples {args.examples}: only {len(candidates)} formulas are not tested "
            f"themselves; give data with at least {SHOTS}."
        )
    examples = random.Random(args.seed).sample(candidates, SHOTS)
    for example in examples:
        try:
            dialect.prompt("1", [example])
        except ValueError as error:
            raise UserError(
                f"--examples {args.examples}: '{example.source}' with the answer "
                f"'{example.target}' cannot be an example: {error}."
            )
    return examples


def request_options(args: argparse.Namespace) -> Dict[str, Any]:
    """The fields of a request that are options of ours; those not given are left out."""
    options = {
        "model": args.model,
        "temperature": args.temperature,
        "seed": args.model_seed,
        "reasoning_effort": args.reasoning_effort,
        "verbosity": args.verbosity,
    }
    return {name: value for name, value in options.items() if value is not None}


def ask(args: argparse.Namespace, questions: Dict[str, Question]) -> Dict[str, Reply]:
    """Gets a reply to each question.

    Args:
        args: the parsed options.
        questions: the questions by formula.

    Returns:
        The replies by formula.

    Raises:
        UserError: not all of them can be had; it says how to go on.
    """
    path = file_beside(args.result, ".answers.jsonl")
    endpoint = Endpoint(args.base_url, args.timeout, args.max_retries)
    keys = {formula: question.key(args.base_url) for formula, question in questions.items()}
    with AnswerLog(path) as log:
        try:
            by_key = {keys[formula]: question for formula, question in questions.items()}
            ask_all(endpoint, log, by_key, args.concurrency)
        except (KeyboardInterrupt, UserError) as error:
            reason = "Interrupted." if isinstance(error, KeyboardInterrupt) else error
            kept = sum(key in log for key in by_key)
        else:
            return {formula: log[key] for formula, key in keys.items()}
    raise UserError(
        f"{reason} {kept} of {len(by_key)} answers are in {path}; the same command goes on from "
        "there."
    )


def read(dialect: Dialect, reply: Reply, number: int) -> str:
    """Reads a reply.

    Args:
        dialect: how it is written.
        reply: the reply.
        number: tells it from all other replies.

    Returns:
        The answer in the notation of the data; if there is none, a text that is invalid for
        every judge and equals no other.
    """
    try:
        return " ".join(dialect.read(reply.content))
    except UnreadableAnswer:
        return f"unreadable ? {number}"


def measure(semantics: str, samples: Sequence[Sample], answers: Dict[str, str]) -> Dict[str, Any]:
    """Measures how good answers are, and how consistent under renaming.

    Args:
        semantics: what problems and answers mean.
        samples: the problems.
        answers: by formula.

    Returns:
        The numbers for the result file.
    """
    sources = [sample.source for sample in samples]
    judge = make_judge(semantics)
    with JudgePool(judge) as pool:
        verdicts = pool.verify_all((source, answers[source]) for source in sources)
    given = [answers[source] for source in sources]
    found = measure_correct(judge, sources, [sample.target for sample in samples], given, verdicts)
    # Nothing can be compared where there is only one name.
    problems = [
        RenamedProblem(source, len(formula_symbols(tokenize(source))), renamings)
        for source, _, renamings in samples
        if len(renamings) > 1
    ]
    if problems:
        found["alpha_covariance"] = measure_alpha_covariance(
            problems,
            [answers[source] for problem in problems for source in problem.sources],
            sorted({problem.num_symbols for problem in problems}),
        )
    return found


def expenses(replies: Sequence[Reply], args: argparse.Namespace) -> Dict[str, Any]:
    """What the replies took, for the result file."""
    counts = expense.tokens(replies)
    return {
        "latency": expense.seconds(replies),
        "tokens": counts,
        "cost": expense.cost(counts, args.input_price, args.output_price),
        "models": sorted({str(reply.model) for reply in replies}),
        "finish_reasons": dict(Counter(str(reply.finish_reason) for reply in replies)),
        "retries": sum(reply.retries for reply in replies),
    }


def print_questions(questions: Sequence[Question], samples: int) -> None:
    """Shows what would be asked."""
    for question in questions:
        body = {name: value for name, value in question.request.items() if name != "messages"}
        print(f"{question.prompt}\n\n{json.dumps(body)}\n{'-' * 80}")
    print(f"questions: {len(questions)}, samples: {samples}; nobody was asked")


def print_result(found: Dict[str, Any]) -> None:
    """Shows the numbers of the result file that matter most."""
    print(markdown_table(correct_table(found)))
    if "alpha_covariance" in found:
        print("\n" + markdown_table(alpha_covariance_table(found["alpha_covariance"])))
    latency, tokens = found["latency"], found["tokens"]
    cost = "unknown" if found["cost"] is None else f"{found['cost']:.4f}"
    rows = [
        ["", "mean", "p50", "p95"],
        ["seconds per answer", *(f"{latency[name]:.2f}" for name in ("mean", "p50", "p95"))],
    ]
    print("\n" + markdown_table(rows))
    print(
        f"\ntokens: {tokens['prompt']} read, {tokens['completion']} written, unknown for "
        f"{tokens['unknown']} answers; cost: {cost}"
    )


def check_options(args: argparse.Namespace) -> None:
    """Refuses options that cannot be met.

    Args:
        args: the parsed options.

    Raises:
        UserError: one cannot.
    """
    check_base_url(args.base_url)
    if args.result is None and not args.dry_run:
        raise UserError("Name the file to be written with --result, or ask for a --dry-run.")
    if args.samples is not None and args.samples < 1:
        raise UserError(f"--samples {args.samples}: it must be at least 1.")
    if args.concurrency < 1 or args.timeout <= 0 or args.max_retries < 0:
        raise UserError(
            f"--concurrency {args.concurrency} --timeout {args.timeout} --max-retries "
            f"{args.max_retries}: at least 1, a positive number and at least 0 make sense."
        )
    if args.renamings < 0 or args.renamings == 1:
        raise UserError(
            f"--renamings {args.renamings}: nothing can be compared; give at least 2, or 0."
        )


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("prefix", metavar="PREFIX", help="read PREFIX.src and PREFIX.tgt")
    add("--semantics", required=True, choices=list(DIALECTS), help="what they mean")
    add("--model", required=True, help="as the server calls it")
    add("--base-url", default="https://api.openai.com/v1", help="(default: %(default)s)")
    add("--result", metavar="FILE", help="the JSON file to be written")
    add("--dry-run", action="store_true", help="print what would be asked, and ask nobody")
    add("--samples", type=int, help="how many pairs, drawn at random (default: all)")
    add("--seed", type=int, default=1, help="of our own draws (default: %(default)s)")
    add(
        "--examples",
        metavar="PREFIX",
        help=f"draw the {SHOTS} examples of the prompt from these data (default: the paper's)",
    )
    add(
        "--renamings",
        type=int,
        default=0,
        help="measure alpha-covariance with up to so many renamings of each formula into the "
        "names that the data have, each of which is a question (default: none)",
    )
    add("--temperature", type=float, help="passed on if given")
    add("--model-seed", type=int, help="passed on as seed if given")
    add("--reasoning-effort", help="passed on if given")
    add("--verbosity", help="passed on if given")
    add("--concurrency", type=int, default=4, help="questions at once (default: %(default)s)")
    add("--timeout", type=float, default=600.0, help="seconds per attempt (default: %(default)s)")
    add(
        "--max-retries",
        type=int,
        default=10,
        help="how often a failed attempt is repeated, after pauses (default: %(default)s)",
    )
    add("--input-price", type=float, help="of a million tokens of prompts")
    add("--output-price", type=float, help="of a million tokens of answers and reasoning")
    return parser.parse_args(argv)


def main(argv: Optional[Sequence[str]] = None) -> None:
    """Runs the script.

    Args:
        argv: the command line, without the program's name; None for the real one.

    Raises:
        UserError: an option or a file cannot be used, or the endpoint fails.
    """
    args = parse_args(argv)
    check_options(args)
    dialect = DIALECTS[args.semantics]
    pairs = read_problems(args)
    samples = choose_samples(pairs, args)
    examples = choose_examples(dialect, pairs, args)
    options = request_options(args)
    questions = {
        formula: make_question(dialect, formula, examples, options)
        for sample in samples
        for formula in sample.formulas()
    }
    if args.dry_run:
        print_questions(list(questions.values()), len(samples))
        return
    replies = ask(args, questions)
    answers = {
        formula: read(dialect, reply, number)
        for number, (formula, reply) in enumerate(replies.items())
    }
    found = measure(args.semantics, samples, answers)
    found.update(expenses(list(replies.values()), args))
    Result(
        metric="llm",
        command=["evaluate_llm.py", *(sys.argv[1:] if argv is None else argv)],
        seed=args.seed,
        files={
            path: sha256_of_file(path)
            for prefix in filter(None, (args.prefix, args.examples))
            for path in (f"{prefix}.src", f"{prefix}.tgt")
        },
        options={
            **options,
            "base_url": args.base_url,
            "semantics": args.semantics,
            "examples": [example._asdict() for example in examples],
            "renamings": args.renamings,
        },
        samples=len(samples),
        seconds=sum(reply.seconds for reply in replies.values()),
        result=found,
        versions={**versions(), "openai": openai_version()},
    ).write(args.result)
    print_result(found)


if __name__ == "__main__":
    # fairseq turns on the messages of every library, among them those of each connection.
    logging.getLogger().setLevel(logging.WARNING)
    main()
