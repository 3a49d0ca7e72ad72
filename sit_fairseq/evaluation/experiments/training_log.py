"""What fairseq-train says of a training in its log."""

import json
import re
from pathlib import Path
from typing import Dict, Optional

from sit_fairseq.judging.verdict import Verdict

_PARAMETERS = re.compile(r"num\. shared model params: ([0-9,]+) ")


def read_parameters(log: Path) -> Optional[int]:
    """How many weights fairseq-train said that the model has; None if it did not."""
    with open(log, encoding="utf-8", errors="replace") as lines:
        found = [match.group(1) for match in map(_PARAMETERS.search, lines) if match]
    return int(found[-1].replace(",", "")) if found else None


def read_validation(log: Path) -> Dict[str, Dict[str, float]]:
    """What fairseq-train printed of the validation data, by number of updates.

    Args:
        log: the output of fairseq-hydra-train with ``common.log_format=json``.

    Returns:
        for each number of updates, and for ``last``, the percentages it printed, as shares, by
        their names: ``correct``, ``exact`` and the other verdicts.
    """
    found: Dict[str, Dict[str, float]] = {}
    with open(log, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            _, mark, data = line.partition("[valid][INFO] - {")
            if not mark:
                continue
            try:
                values = json.loads("{" + data)
                updates = values["valid_num_updates"]
            except (ValueError, KeyError):  # an interruption has cut it off
                continue
            found[updates] = {
                name: float(values[f"valid_{name}"]) / 100
                for name in ("correct", "exact", *(verdict.value for verdict in Verdict))
                if f"valid_{name}" in values
            }
            found["last"] = found[updates]
    return found
