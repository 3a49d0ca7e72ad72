"""One copy of the package in a process, where the current folder may hold another one.

``fairseq-train --user-dir sit_fairseq`` takes the copy of the current folder, ``sit`` the installed
one, and a worker process whichever it finds first.
"""

import functools
import logging
import os
from argparse import Namespace
from pathlib import Path

from fairseq import utils

from sit_fairseq.errors import UserError

PACKAGE = Path(__file__).resolve().parent

logger = logging.getLogger(__name__)


def refuse_other_copy(folder: str, whose: str) -> None:
    """Makes sure that a copy of the package is the one this process uses.

    Args:
        folder: where that copy is; what is no copy of it is none of our business.
        whose: who would use it.

    Raises:
        UserError: it is another one.
    """
    path = Path(folder).resolve()
    if path.name == PACKAGE.name and (path / "__init__.py").is_file() and path != PACKAGE:
        raise UserError(
            f"This process uses the package in {PACKAGE}, but {whose} another copy, {path}: install "
            "the one you mean (pip install -e), or start from another folder."
        )


@functools.lru_cache(maxsize=None)
def log_copy() -> None:
    """Logs which copy this process uses; once, however often it is called."""
    logger.info("using the package in %s", PACKAGE)


def check_user_dir() -> None:
    """Lets fairseq refuse a second copy, by ``--user-dir``, in a sentence."""
    import_user_module = utils.import_user_module

    @functools.wraps(import_user_module)
    def checked(args: Namespace) -> None:
        if getattr(args, "user_dir", None) is not None:
            refuse_other_copy(os.path.abspath(args.user_dir), "--user-dir names")
        import_user_module(args)

    utils.import_user_module = checked
