r"""Asks a language model the problems of a data set, and judges its answers.

The model is behind any OpenAI-compatible endpoint (chat completions); the key is taken from
the environment variable OPENAI_API_KEY. The paper's set-up (appendix "LLM Setup"):

    sit ask-llm data/test --semantics ltl --prompt paper --model gpt-5.2 \
        --reasoning-effort medium --verbosity low --samples 3000 --result results/ltl.json

and for its alpha-covariance, with all renamings into 5 names:

    sit ask-llm data/test --semantics ltl --prompt paper --model gpt-5.2 \
        --reasoning-effort none --verbosity low --temperature 0 --samples 100 \
        --renamings 120 --result results/ltl_renamed.json

``--prompt paper`` asks by the paper's words, which explain no operators but those of its data;
its own schema of an assignment is not published. It used the Responses API, mostly in batches.

Each answer is kept as soon as it has come, for results/ltl.json in results/ltl.answers.jsonl: a
run that ended early goes on where it was when it is started again, and what was answered once is
not asked (and paid for) again.
"""

import argparse
import json
import logging
import os
import sys
from typing import Any, Dict

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.llm.asking import make_question, replies_to
from sit_fairseq.evaluation.llm.endpoint import Endpoint, check_base_url, openai_version
from sit_fairseq.evaluation.llm.measuring import expenses, measure, read_replies, report
from sit_fairseq.evaluation.llm.paper_prompts import PROMPTS
from sit_fairseq.evaluation.llm.problems import (
    SHOTS,
    choose_examples,
    choose_samples,
    read_problems,
)
from sit_fairseq.evaluation.result_file import file_beside, sha256_of_file, versions, write_result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    add = parser.add_argument
    add("prefix", metavar="PREFIX", help="read PREFIX.src and PREFIX.tgt")
    add("--semantics", required=True, choices=list(PROMPTS["ours"]), help="what they mean")
    add(
        "--prompt",
        choices=list(PROMPTS),
        default="ours",
        help="who worded it (default: %(default)s, which explains all operators)",
    )
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


def _check(args: argparse.Namespace) -> None:
    """Refuses options that cannot be met.

    Args:
        args: the parsed options.

    Raises:
        UserError: one cannot.
    """
    check_base_url(args.base_url)
    if args.result is None and not args.dry_run:
        raise UserError("Name the file to be written with --result, or ask for a --dry-run.")
    if args.prompt == "paper" and args.examples is not None:
        raise UserError("--prompt paper has its own examples; leave out --examples.")
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


def _request_options(args: argparse.Namespace) -> Dict[str, Any]:
    """The fields of a request that are options of ours; those not given are left out."""
    options = {
        "model": args.model,
        "temperature": args.temperature,
        "seed": args.model_seed,
        "reasoning_effort": args.reasoning_effort,
        "verbosity": args.verbosity,
    }
    return {name: value for name, value in options.items() if value is not None}


def main(args: argparse.Namespace) -> None:
    """Does what the verb says.

    Raises:
        UserError: an option or a file cannot be used, or the endpoint fails.
    """
    # fairseq turns on the messages of every library, among them those of each connection.
    logging.getLogger().setLevel(logging.WARNING)
    _check(args)
    dialect = PROMPTS[args.prompt][args.semantics]
    pairs = read_problems(args.prefix, args.semantics)
    samples = choose_samples(pairs, args.samples, args.renamings, args.seed)
    examples = choose_examples(dialect, pairs, args.examples, args.seed)
    options = _request_options(args)
    questions = {
        formula: make_question(dialect, formula, examples, options)
        for sample in samples
        for formula in sample.formulas()
    }
    if args.dry_run:
        for question in questions.values():
            body = {name: value for name, value in question.request.items() if name != "messages"}
            print(f"{question.prompt}\n\n{json.dumps(body)}\n{'-' * 80}")
        print(f"questions: {len(questions)}, samples: {len(samples)}; nobody was asked")
        return
    endpoint = Endpoint(args.base_url, args.timeout, args.max_retries)
    journal = file_beside(args.result, ".answers.jsonl")
    replies = replies_to(questions, endpoint, journal, args.concurrency)
    found = measure(args.semantics, samples, read_replies(dialect, replies))
    found.update(expenses(list(replies.values()), args.input_price, args.output_price))
    content = dict(
        metric="llm",
        command=[os.path.basename(sys.argv[0]), *sys.argv[1:]],
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
            "prompt": args.prompt,
            "examples": [example._asdict() for example in examples],
            "renamings": args.renamings,
        },
        samples=len(samples),
        seconds=sum(reply.seconds for reply in replies.values()),
        result=found,
        versions={**versions(), "openai": openai_version()},
    )
    write_result(args.result, content)
    print(report(found))
