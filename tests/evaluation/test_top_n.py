from sit_fairseq.evaluation import plots
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.evaluation.top_n import draw_top_n, measure_top_n, top_n_table
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


def test_figure_shows_each_share(tmp_path, monkeypatch):
    figures = []
    save = plots.save_png
    monkeypatch.setattr(plots, "save_png", lambda *args: (figures.append(args[0]), save(*args)))
    draw_top_n({"1": Proportion(1, 4), "25": Proportion(4, 4)}, str(tmp_path / "top.png"))
    assert (tmp_path / "top.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    axes = figures[0].axes[0]
    assert list(axes.lines[0].get_ydata()) == [25.0, 100.0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "25"]
