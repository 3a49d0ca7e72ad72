r"""Asks a language model the problems of a data set, by the prompts of the paper.

    python examples/language_models/ask.py data/test --semantics ltl --model gpt-5.2 \
        --request '{"reasoning_effort": "medium", "verbosity": "low"}' --out ltl.jsonl
    sit evaluate ltl data/test --generated ltl.jsonl --result ltl.json

The model is behind any OpenAI-compatible endpoint (chat completions); its key is taken from the
environment variable OPENAI_API_KEY. The paper used the Responses API, mostly in batches. Each answer
is kept as soon as it has come: the same command goes on after an interruption, and asks (and pays
for) no formula twice. A server that sends too much, or for too long, is left.
"""

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any, Dict

from tqdm import tqdm

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from prompts import LISTINGS, answer_format, prompt, read_answer  # noqa: E402

from sit_fairseq.commands._options import at_least
from sit_fairseq.errors import UserError  # noqa: E402
from sit_fairseq.storage.files import read_sentences  # noqa: E402
from sit_fairseq.storage.journal import Journal  # noqa: E402


class _Failure(Exception):
    """A question without an answer; a UserError, which ends processes, would end the loop."""


# Bytes of a response; the longest answers of the data have some thousand.
_LARGEST = 2**20
_KEY = "OPENAI_API_KEY"


def make_client(base_url: str, retries: int):
    """A client of the ``openai`` library that reads no more of a response than it should.

    Args:
        base_url: the address without ``/chat/completions``.
        retries: how often a request that failed is repeated.

    Raises:
        UserError: the library or the key is missing.
    """
    try:
        import openai
    except ImportError:
        raise UserError("asking a language model needs openai: pip install openai")
    key = os.environ.get(_KEY, "").strip()  # files of keys have line ends
    if not key:
        raise UserError(f"{_KEY} is not set; set it, to any word if the server needs no key")

    # Its transport, httpx, has another name in each major version.
    httpx = sys.modules[openai.DefaultAsyncHttpxClient.__base__.__module__.partition(".")[0]]

    class Bounded(httpx.AsyncByteStream):
        def __init__(self, stream) -> None:
            self._stream = stream

        async def __aiter__(self):
            size = 0
            async for part in self._stream:
                size += len(part)
                if size > _LARGEST:
                    raise httpx.ReadError(f"a response of more than {_LARGEST} bytes")
                yield part

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def bound(response) -> None:
        # What is compressed could be a thousand times as large.
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx.ReadError("a compressed response, which was not asked for")
        response.stream = Bounded(response.stream)

    # The prompts are for this server alone.
    http = openai.DefaultAsyncHttpxClient(event_hooks={"response": [bound]}, follow_redirects=False)
    headers = {"Accept-Encoding": "identity"}
    return openai.AsyncOpenAI(
        api_key=key,
        base_url=base_url,
        max_retries=retries,
        http_client=http,
        default_headers=headers,
    )


async def complete(client, request: Dict[str, Any], seconds: float) -> str:
    """Asks for a chat completion.

    Args:
        client: of :func:`make_client`.
        request: the body of the request.
        seconds: for the answer, repetitions of the request included.

    Returns:
        What the model wrote, or why it refused to.

    Raises:
        _Failure: there is no answer; the message says why, without the key.
    """
    try:
        call = client.chat.completions.create(**request, timeout=seconds)
        message = (await asyncio.wait_for(call, seconds)).choices[0].message
        content = message.content or message.refusal or ""
        text = content.encode("utf-8", "replace").decode()  # halves of surrogate pairs
    except asyncio.TimeoutError:
        raise _Failure(f"no answer from {client.base_url} within {seconds:g} seconds")
    except Exception as error:  # of the library, or of what is no chat completion
        reason = str(error.__cause__ or error).replace(client.api_key, "***")
        reason = " ".join(reason.encode("utf-8", "replace").decode().split())[:300]
        raise _Failure(f"{client.base_url} does not answer: {type(error).__name__}: {reason}")
    return text.replace(client.api_key, "***") if len(client.api_key) > 8 else text


async def ask_all(
    client, requests: Dict[str, Dict], journal: Journal, args: argparse.Namespace
) -> None:
    """Asks all questions; after one that failed no others are sent, those under way are kept.

    Args:
        client: of :func:`make_client`.
        requests: by formula.
        journal: gets each answer as soon as it is there.
        args: the command line.

    Raises:
        UserError: a request failed.
    """
    gate, failed = asyncio.Semaphore(args.concurrency), False

    async def ask(number: int, source: str) -> None:
        nonlocal failed
        async with gate:
            if failed:
                return
            try:
                content = await complete(client, requests[source], args.timeout)
            except _Failure:
                failed = True
                raise
            try:
                answer = read_answer(content, args.semantics)
            except (ValueError, RecursionError):
                answer = f"unreadable ? {number}"  # invalid for every judge, and equal to no other
            journal.append({"source": source, "content": content, "answer": answer})
            bar.update()

    with tqdm(total=len(requests), unit=" answers") as bar:
        tasks = (ask(number, source) for number, source in enumerate(requests))
        found = await asyncio.gather(*tasks, return_exceptions=True)
    for error in filter(None, found):
        raise UserError(f"{error}; the same command goes on from there")


def main() -> None:
    """Reads the command line and does what it says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("prefix", metavar="PREFIX", help="formulas in PREFIX.src")
    add("--semantics", required=True, choices=list(LISTINGS))
    add("--model", required=True, help="as the server calls it")
    add("--base-url", default="https://api.openai.com/v1", help="(default: %(default)s)")
    add(
        "--request",
        type=lambda text: dict(json.loads(text)),
        default={},
        help="more fields of each request, as JSON",
    )
    add("--out", metavar="FILE.jsonl", help="the answers (default: PREFIX.MODEL.jsonl)")
    add("--dry-run", action="store_true", help="print what would be asked, and ask nobody")
    add(
        "--concurrency",
        type=at_least(1),
        default=4,
        help="questions at once (default: %(default)s)",
    )
    add(
        "--timeout",
        type=at_least(0.001, float),
        default=600.0,
        help="seconds an answer (default: %(default)s)",
    )
    add("--max-retries", type=int, default=5, help="of each request (default: %(default)s)")
    args = parser.parse_args()
    sources = read_sentences(f"{args.prefix}.src")
    requests = {}
    for source in sources:
        messages = [{"role": "user", "content": prompt(source, args.semantics)}]
        form = answer_format(source, args.semantics)
        requests[source] = {"model": args.model, "messages": messages, **form, **args.request}
    if args.dry_run:
        for request in requests.values():
            print(request.pop("messages")[0]["content"], f"\n\n{json.dumps(request)}\n{'-' * 80}")
        print(f"{len(requests)} questions; nobody was asked")
        return
    out = args.out or f"{args.prefix}.{args.model.replace('/', '_')}.jsonl"
    depends = {name: getattr(args, name) for name in ("semantics", "model", "base_url", "request")}
    kind, advice = "answers of a language model", "name another file by --out"
    client = make_client(args.base_url, args.max_retries)
    with Journal(out, kind, depends, advice=advice, where="--out") as journal:
        for entry in journal.entries:
            requests.pop(entry["source"], None)
        try:
            asyncio.run(ask_all(client, requests, journal, args))
        except KeyboardInterrupt:
            raise UserError("Interrupted; the same command goes on from there")
    print(
        f"{out} answers {len(sources)} formulas; measure it by sit evaluate ... --generated {out}"
    )


if __name__ == "__main__":
    main()
