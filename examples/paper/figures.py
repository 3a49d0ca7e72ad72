"""Draws heat maps of several models, one below the other, from result files of a table's runs.

python -m examples.paper.figures OUT.png runs/Normal/{Baseline,Proposed}/seed1/heat_map.json
"""

from pathlib import Path

from examples.script import run
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.plots import draw_heat_maps
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.evaluation.result_file import read_result


def main(out: str, *paths: str) -> None:
    """Draws the files under the names of their models."""
    found = {}
    for path in map(Path, paths):
        result = read_result(str(path))["result"]
        overall = Proportion(result["overall"]["count"], result["overall"]["total"])
        name = path.parts[-3].replace("_", " ") if len(path.parts) > 2 else path.stem
        if name in found:
            raise UserError(f"{path} is a second file of {name}; name one of each model")
        found[name] = {**result, "overall": overall}
    draw_heat_maps(found, out)


if __name__ == "__main__":
    run(main)
