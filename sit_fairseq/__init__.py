"""Symbol-Invariant Transformer as a fairseq plug-in (``--user-dir sit_fairseq``)."""

import logging
import os

# On import, fairseq's text-to-speech task asks for a package that nothing here uses.
logging.getLogger("fairseq.tasks.text_to_speech").setLevel(logging.WARNING)

from sit_fairseq.copies import check_user_dir  # noqa: E402
from sit_fairseq.resuming import copy_checkpoints_whole, resume_exactly  # noqa: E402
from sit_fairseq.safe_loading import (  # noqa: E402
    read_checkpoints_as_data,
    register_safe_globals,
)

check_user_dir()
register_safe_globals()
read_checkpoints_as_data()
copy_checkpoints_whole()
resume_exactly()

from sit_fairseq.models import symbol_invariant_transformer  # noqa: E402,F401
from sit_fairseq.tasks import scoring  # noqa: E402,F401
from sit_fairseq.tasks import stream_translation  # noqa: E402,F401

# Imported for their registration with fairseq; it finds only models and tasks itself.
from sit_fairseq.training import adacos, adamw, minimum_risk, muon  # noqa: E402,F401

# On import, a model of fairseq's makes everything log at DEBUG. LOGLEVEL is fairseq's own variable.
if "LOGLEVEL" not in os.environ and logging.getLogger().level == logging.DEBUG:
    logging.getLogger().setLevel(logging.INFO)

__version__ = "0.2.0"
