"""Sends lines through a translator, and brings their placeholders back.

    sit protect messages.txt --through './translate.sh'
    sit protect --pattern printf icu --through 'fairseq-interactive DATA --path MODEL |
        grep --line-buffered ^D- | cut -f 3' <messages.txt
    sit protect messages.txt --try './translate.sh'

Placeholders are ``%s``, ``{name}``, ``<b>`` and URLs. Each is replaced by a mask such as ``PH1``, and
put back into the translation. A judge then compares both: each placeholder as often as in the line,
those without a name or number in their order, and tags nested. A line that fails goes again with
another mask, and at last in pieces, cut at its placeholders. A line that still fails is printed,
named on standard error, and ends the command with status 1.

COMMAND reads lines and writes as many. It is started for every 10,000 lines. Which masks a translator
keeps differs much: --try sends 50 lines of the file with masks of a dozen forms, prints a table, and
names the best one for --form.

The judge alone, for the output of any translator: sit judge placeholders SOURCE TRANSLATION
"""

import argparse
import json
import os
import sys
from itertools import islice
from typing import Dict, Iterator, Optional, TextIO

from sit_fairseq.commands._options import at_least
from sit_fairseq.domains.placeholders.ladder import AS_IS, Ladder, Program, Protected, try_forms
from sit_fairseq.domains.placeholders.masks import (
    FORMS,
    KINDS,
    Placeholders,
    placeholder_pattern,
    spans,
)
from sit_fairseq.errors import UserError
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.storage.files import refuse_same, replacing, sha256_of_file
from sit_fairseq.storage.journal import Journal

_BLOCK, _TRIED = 10_000, 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("input", metavar="FILE", nargs="?", help="lines to translate (default: standard input)")
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--through", metavar="COMMAND", help="translates lines, in a shell")
    text = "print how often COMMAND keeps masks of each form"
    given.add_argument("--try", dest="tried", metavar="COMMAND", help=text)
    text = f"kinds of placeholders: {', '.join(KINDS)}, or regular expressions (default: these)"
    add("--pattern", nargs="+", metavar="KIND", default=list(KINDS), help=text)
    text = "forms of the masks of the number 1, tried in this order (default: PH1 [1])"
    add("--form", nargs="+", metavar="FORM", default=list(FORMS[:2]), help=text)
    text = "seconds that COMMAND may take for 10,000 lines (default: %(default)s)"
    add("--seconds", type=at_least(0.001, float), default=3600.0, help=text)
    add("--json", action="store_true", help="print JSON: line, text, rung and verdict")
    text = "write there; a run that was interrupted goes on. Needs a FILE to read"
    add("--output", metavar="FILE", help=text)
    add("--restart", action="store_true", help="discard what an interrupted run has left")


def main(args: argparse.Namespace) -> None:
    taken = next(filter(os.path.isfile, [*args.pattern, *args.form]), None)
    if args.input is None and taken is not None:
        raise UserError(f"name the file {taken} first: sit protect {taken}")
    for name in ("output", "json", "restart"):
        if getattr(args, name) and args.tried is not None:
            raise UserError(
                f"--{name} does not belong to --try, which prints a table; leave it out"
            )
    if args.restart and args.output is None:
        raise UserError("--restart belongs to --output; leave it out")
    pattern = placeholder_pattern(args.pattern)
    if args.tried is not None:
        return _try(args, pattern)
    ladder = Ladder(Program(args.through, args.seconds), pattern, args.form)
    if args.output is None:
        failed = _print(_protected(ladder, _lines(args.input)), sys.stdout, args.json)
    elif args.input is None:
        raise UserError("the lines of a pipe cannot be read again; name a file", "output")
    else:
        failed = _write(args, ladder)
    if failed:
        sys.exit(1)


def _try(args: argparse.Namespace, pattern: Placeholders) -> None:
    """Prints the table of the forms."""
    lines: Dict[str, None] = {}
    for line in _lines(args.input):
        if spans(line, pattern):
            lines[line] = None
        if len(lines) == _TRIED:
            break
    if not lines:
        raise UserError("no line holds a placeholder, so no mask can be tried", "pattern")
    trials = try_forms(list(lines), Program(args.tried, args.seconds, "try"), pattern)
    numbers = sorted(trials[0].total)
    print("| mask | once, % |", *(f"{number} |" for number in numbers))
    print("| --- |" + " ---: |" * (len(numbers) + 1))
    for trial in trials:
        shares = [trial.kept[number] / trial.total[number] for number in numbers]
        print(f"| `{trial.form}` |", *(f"{100 * share:.0f} |" for share in [trial.share, *shares]))
    best = next(trial.form for trial in trials if trial.form in FORMS)
    print(f"{len(lines)} lines; the best: --form '{best}'")


def _lines(path: Optional[str]) -> Iterator[str]:
    """The lines of a file or of standard input, without the line feed."""
    try:
        source = sys.stdin.buffer if path is None else open(path, "rb")
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror}; name an existing text file.")
    with source:
        for number, line in enumerate(source, 1):
            try:
                yield line.decode().removesuffix("\n")
            except UnicodeDecodeError:
                raise UserError(f"Line {number} is not UTF-8; convert the text to UTF-8.")


def _protected(
    ladder: Ladder, lines: Iterator[str], journal: Optional[Journal] = None
) -> Iterator[Protected]:
    """The translations of lines, a block at a time; those of a journal are not made again."""
    entries = journal.entries if journal is not None else ()
    for number, (entry, _) in enumerate(zip(entries, lines), start=2):
        try:
            one = Protected(entry["text"], entry["rung"], Verdict(entry["verdict"]))
        except (LookupError, ValueError):
            raise journal.damaged(number)
        yield one
    while block := list(islice(lines, _BLOCK)):
        ends = ["\r" * line.endswith("\r") for line in block]
        found = ladder([line.removesuffix("\r") for line in block])
        found = [one._replace(text=one.text + end) for one, end in zip(found, ends)]
        if journal is not None:
            journal.append(*(one._asdict() for one in found))
        yield from found


def _print(found: Iterator[Protected], file: TextIO, as_json: bool) -> int:
    """Prints translations as they come, and names those that fail; returns how many do."""
    number = failed = protected = 0
    for number, one in enumerate(found, 1):
        protected += one.rung != AS_IS
        text = one.text
        if as_json:
            parts = {"rung": one.rung, "verdict": one.verdict.value}
            text = json.dumps({"line": number, "text": text, **parts}, ensure_ascii=False)
        file.write(f"{text}\n")
        if one.verdict is not Verdict.satisfied:
            failed += 1
            print(f"line {number} is {one.verdict.value}: {one.text}", file=sys.stderr)
    if number and not protected:
        print("no line holds a placeholder of --pattern", file=sys.stderr)
    return failed


def _write(args: argparse.Namespace, ladder: Ladder) -> int:
    """Writes the file of translations; returns how many lines fail."""
    refuse_same([args.input], [args.output], "output")
    depends = {name: getattr(args, name) for name in ("through", "pattern", "form")}
    depends["content_of_the_input"] = sha256_of_file(args.input)
    more = {"advice": "pass --restart to begin anew", "where": "--output", "restart": args.restart}
    with Journal(f"{args.output}.journal", "translations", depends, **more) as journal:
        with replacing(args.output) as (file,):
            failed = _print(_protected(ladder, _lines(args.input), journal), file, args.json)
        journal.remove()
    return failed
