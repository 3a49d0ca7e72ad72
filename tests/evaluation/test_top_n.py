import pytest

from sit_fairseq.datasets.grid import Cell
from sit_fairseq.evaluation import plots
from sit_fairseq.evaluation.heat_map import Box, draw_heat_maps, heat_map_image
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.evaluation.top_n import (
    draw_top_n,
    measure_top_n,
    measure_top_n_by_cell,
    top_n_grid_table,
    top_n_table,
)
from sit_fairseq.judging.verdict import Verdict

GOOD, BAD, VACUOUS = Verdict.satisfied, Verdict.violated, Verdict.vacuous


def test_one_right_answer_among_the_first_n():
    verdicts = [
        [GOOD, BAD, BAD],
        [BAD, GOOD, GOOD],
        [VACUOUS, BAD, GOOD],
        [VACUOUS, VACUOUS, BAD],
        [BAD],  # fewer answers than asked for
    ]
    result = measure_top_n(verdicts, [3, 1, 2])
    assert result == {"1": Proportion(1, 5), "2": Proportion(2, 5), "3": Proportion(3, 5)}
    assert [row[:2] for row in top_n_table(result)[1:]] == [["1", 1], ["2", 2], ["3", 3]]


CELLS = [Cell(1, 1, 0, 2), Cell(6, 11, 2, 2)]


def test_right_answers_among_the_first_n_of_each_cell():
    verdicts = [[GOOD, BAD], [BAD, GOOD], [VACUOUS, BAD], [BAD, GOOD]]
    result = measure_top_n_by_cell(CELLS, verdicts, [2, 1], Box(5, 35))
    assert {n: [cell["correct"] for cell in found["cells"]] for n, found in result.items()} == {
        "1": [1, 0],
        "2": [2, 1],
    }
    assert top_n_grid_table(result)[1:] == [
        ["1", 4, Proportion(1, 2), Proportion(0, 2), Proportion(1, 4)],
        ["2", 4, Proportion(2, 2), Proportion(1, 2), Proportion(3, 4)],
    ]


def test_a_heat_map_for_each_n(tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr(plots, "save_png", lambda figure, path: figures.append(figure))
    result = measure_top_n_by_cell(CELLS, [[GOOD], [BAD], [GOOD], [GOOD]], [1], Box(5, 35))
    draw_heat_maps({"one": result["1"], "two": result["1"]}, "top.png", 2, 0.8)
    first, second, bar = figures[0].axes
    assert [axes.get_title() for axes in (first, second)] == ["one", "two"]
    assert bar.get_ylim() == pytest.approx((0.8, 1.0))
    (image,) = second.get_images()
    assert (image.get_array() == heat_map_image(result["1"]["cells"], 2, 0.8)).all()


def test_figure_shows_each_share(tmp_path, monkeypatch):
    figures = []
    save = plots.save_png
    monkeypatch.setattr(plots, "save_png", lambda *args: (figures.append(args[0]), save(*args)))
    draw_top_n({"1": Proportion(1, 4), "25": Proportion(4, 4)}, str(tmp_path / "top.png"))
    assert (tmp_path / "top.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    axes = figures[0].axes[0]
    assert list(axes.lines[0].get_ydata()) == [25.0, 100.0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "25"]
