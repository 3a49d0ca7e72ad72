"""The command ``sit VERB``, also ``python -m sit_fairseq VERB``: one module for each verb.

``sit judge`` is the module ``judge.py``. It is imported when its verb is called, not before, and has

* a docstring, which its ``--help`` shows;
* ``add_arguments(parser)``, which adds its options to an :class:`argparse.ArgumentParser`;
* ``main(args)``, which does the work. It raises a :class:`~sit_fairseq.errors.UserError` for options
  or files that cannot be used.
"""

import argparse
import errno
import gc
import importlib
import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

from sit_fairseq.errors import UserError, advised, missing

# What each verb does.
VERBS: Dict[str, str] = {
    "answer": "answers problems as people write them, verified by a judge",
    "train": "trains a model of a domain on problems of yours, in a time that you name",
    "generate": "makes data of a domain at random: problems with their answers",
    "grid": "makes a test set with N samples per number of symbols and length",
    "rename": "renames the symbols of each sentence pair at random",
    "overlap": "counts test sentences that occur in training files, verbatim or up to renaming",
    "judge": "judges answers: one verdict per line, in order, and their counts at the end",
    "evaluate": "measures a model, or answers, on data of a domain",
    "protect": "sends lines through a translator, and brings their placeholders back",
    "convert": "converts a trained transformer into a Symbol-Invariant Transformer",
    "export": "exports a model: a small file, a folder to upload or for transformers, or ONNX",
    "init": "writes a folder for a domain of your own, which runs as it is",
    "options": "prints the options that the package adds to fairseq's commands",
}


class _Parser(argparse.ArgumentParser):
    words: Sequence[str] = ()  # after the verb, which its options may depend on

    def error(self, message: str) -> None:
        _, required, names = message.partition("arguments are required: ")
        words = ", ".join(name for name in names.split(", ") if not name.startswith("-"))
        if required and words and "--symbols" in self.words:
            raise UserError(f"name {words} before --symbols, which takes all words after it")
        super().error(message)


def _parsers(words: List[str]) -> Tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """The parser of all verbs, and the parser of the called verb. Only the latter has options."""
    parser = _Parser(
        prog="sit",
        description="Symbol-Invariant Transformer: data, judges, measurements and checkpoints.",
        epilog="VERB --help says more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,  # whole lines of --user-dir
    )
    folder = Path(__file__).resolve().parent.parent
    help_ = "print the folder of the package, for --user-dir of fairseq's commands"
    parser.add_argument("--user-dir", action="version", version=str(folder), help=help_)
    called = parser
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    for verb, purpose in VERBS.items():
        own = verbs.add_parser(
            verb, help=purpose, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if words[:1] == [verb]:
            command = importlib.import_module(f"{__name__}.{verb}")
            own.description = command.__doc__
            own.set_defaults(main=command.main)
            own.words = words[1:]
            command.add_arguments(own)
            called = own
    return parser, called


def main(argv: Optional[Sequence[str]] = None) -> None:
    """Does what :func:`run` does. A UserError, or an interruption, ends the process with a sentence and
    status 1."""
    # Importing torch makes many objects that stay. The collector would go through them all again and
    # again: a tenth of the time of a short command.
    gc.set_threshold(100_000)
    try:
        run(argv)
    except UserError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("Interrupted.")


def run(argv: Optional[Sequence[str]] = None) -> None:
    """Finds the verb and calls it; ``argv`` starts after the program's name. A UserError if options
    or files cannot be used."""
    if "_ARGCOMPLETE" in os.environ:  # the shell asks for completions
        import argcomplete

        argcomplete.autocomplete(_parsers(os.environ["COMP_LINE"].split(" ")[1:-1])[0])
    words = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    # Before torch is imported. Its threads would wait actively for each other: beside other work the
    # answer to a short formula then takes 2 CPU seconds instead of 0.05.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # Before fairseq is imported, which would have every library print its notes.
    level = os.environ.get("LOGLEVEL", "WARNING").upper()
    logging.basicConfig(level=level, format="%(message)s")
    try:
        _call(words)
    except ModuleNotFoundError as error:
        raise missing(error)


def _call(words: List[str]) -> None:
    options: Dict[str, Any] = {}
    try:
        parser, called = _parsers(words)
        verb, options = called.prog.split()[1:], called._option_string_actions
        if verb in [["answer"], ["evaluate"], ["generate"], ["grid"], ["train"]]:
            # Their options may stand among what they are about.
            args = called.parse_intermixed_args(words[1:])
        else:
            args = parser.parse_args(words)
        args.main(args)
        sys.stdout.flush()
    except UserError as error:
        raise UserError(advised(str(error), options)) from error
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        raise UserError(
            f"The output's {error.encoding} lacks {character!a}; set PYTHONIOENCODING=utf-8."
        )
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ENOSPC) or error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE:  # as in `sit judge ... | head`: nobody reads any further
            sys.exit(128 + signal.SIGPIPE)
        raise UserError(f"The output cannot be written: {error.strerror}; write it elsewhere.")
    except Exception as error:
        from sit_fairseq.judging.own import own_failure

        raise own_failure(error)
