"""Asking many questions at once, and none of them twice."""

import hashlib
import json
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from threading import Event
from typing import Any, Dict, Sequence

from tqdm import tqdm

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.llm.answer_log import AnswerLog
from sit_fairseq.evaluation.llm.dialect import Dialect, Example
from sit_fairseq.evaluation.llm.endpoint import Endpoint, Reply
from sit_fairseq.logic.infix import infix
from sit_fairseq.logic.syntax import tokenize


@dataclass(frozen=True)
class Question:
    """A problem as it is sent.

    Attributes:
        formula: the problem for people, in infix notation.
        request: the body of the request, with everything the answer depends on.
    """

    formula: str
    request: Dict[str, Any]

    @property
    def prompt(self) -> str:
        """The text that the model is given."""
        return self.request["messages"][0]["content"]

    def key(self, base_url: str) -> str:
        """The name under which the answer of a server is kept: a hash of all it depends on."""
        text = json.dumps([base_url, self.request], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def make_question(
    dialect: Dialect, source: str, examples: Sequence[Example], options: Dict[str, Any]
) -> Question:
    """Puts a problem into words.

    Args:
        dialect: how that is done.
        source: a formula in prefix notation.
        examples: what the model is shown.
        options: fields of the request that are passed on as they are, ``model`` among them.

    Returns:
        The question.
    """
    prompt = dialect.prompt(source, examples)
    request = {**options, "messages": [{"role": "user", "content": prompt}]}
    schema = dialect.schema(source)
    if schema is not None:
        request["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": dialect.strict, "schema": schema},
        }
    return Question(infix(tokenize(source)), request)


def ask_all(
    endpoint: Endpoint, log: AnswerLog, questions: Dict[str, Question], concurrency: int
) -> None:
    """Asks what the log has no answer to; stops at the first request that fails for good.

    Requests under way are then waited for, since they are paid for, and no others sent.

    Args:
        endpoint: who is asked.
        log: gets each answer as soon as it is there.
        questions: the questions by their key.
        concurrency: how many requests may be under way at once.

    Raises:
        UserError: a request failed, or an answer cannot be kept.
    """
    stopped = Event()

    def ask(key: str, question: Question) -> None:
        if not stopped.is_set():
            try:
                log.keep(key, question.formula, endpoint.answer(question.request))
            except BaseException:
                stopped.set()
                raise

    with ThreadPoolExecutor(concurrency) as executor:
        futures = [
            executor.submit(ask, key, question)
            for key, question in questions.items()
            if key not in log
        ]
        try:
            for future in tqdm(as_completed(futures), total=len(futures), unit=" answers"):
                future.result()
        except BaseException:
            stopped.set()
            tqdm.write("Waiting for the answers under way, since they are paid for.", sys.stderr)
            raise


def replies_to(
    questions: Dict[str, Question], endpoint: Endpoint, path: str, concurrency: int
) -> Dict[str, Reply]:
    """Gets a reply to each question.

    Args:
        questions: the questions by formula.
        endpoint: who is asked.
        path: the file in which replies are kept.
        concurrency: how many requests may be under way at once.

    Returns:
        The replies by formula.

    Raises:
        UserError: not all of them can be had; it says how to go on.
    """
    keys = {formula: question.key(endpoint.base_url) for formula, question in questions.items()}
    with AnswerLog(path) as log:
        try:
            by_key = {keys[formula]: question for formula, question in questions.items()}
            ask_all(endpoint, log, by_key, concurrency)
        except (KeyboardInterrupt, UserError) as error:
            reason = "Interrupted." if isinstance(error, KeyboardInterrupt) else error
            kept = sum(key in log for key in by_key)
        else:
            return {formula: log[key] for formula, key in keys.items()}
    raise UserError(
        f"{reason} {kept} of {len(by_key)} answers are in {path}; the same command goes on from "
        "there."
    )
