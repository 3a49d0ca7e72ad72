"""Draws what the method does, with a trained model's answers: examples/overview.png.

python -m scripts.draw_overview
"""

from pathlib import Path
from typing import List, NamedTuple

from examples.script import run
from sit_fairseq.evaluation import plots
from sit_fairseq.model import Model

ROOT = Path(__file__).resolve().parent.parent
FORMULA = "xor a & b c"
NAMES = {"a": "speed", "b": "p17", "c": "x"}  # what the symbols of FORMULA are renamed to
COLORS = ("#0072b2", "#d55e00", "#009e73")  # of the first symbol, the second, the third
INK, OTHER, PAPER = "#24292f", "#b6bcc4", "#ffffff"
STEP = 0.78  # between two tokens, in inches


class Answer(NamedTuple):
    """The answer of the model to a formula."""

    formula: str
    tokens: List[str]
    score: float


def ask(formula: str, model: Model) -> Answer:
    """The best answer of a beam of 3."""
    (answer,) = model.answer([formula])
    return Answer(formula, answer.text.split(), answer.score)


def draw(axes, answer: Answer, title: str) -> None:
    """One formula from its tokens to its answer, a line for each thing that is made of it."""
    tokens = answer.formula.split()
    symbols = list(dict.fromkeys(token for token in tokens if token.isalnum() and token != "xor"))
    colors = dict(zip(symbols, COLORS))
    lines = ["formula", "slots", *(f"stream {slot + 1}" for slot in range(len(symbols))), "answer"]
    heights = dict(zip(lines, (4.6, 3.8, 3.0, 2.35, 1.7, 0.8)))
    axes.set(xlim=(-1.5, len(tokens) * STEP), ylim=(0.1, 5.5))
    axes.axis("off")
    axes.text(-1.4, 5.25, title, color=INK, weight="bold", fontsize=12, va="center")

    def write(line: str, place: int, text: str, color: str = INK, **kwargs) -> None:
        style = {"family": "monospace", "ha": "center", "va": "center", "fontsize": 12, **kwargs}
        axes.text((place + 0.5) * STEP, heights[line], text, color=color, **style)

    def dot(line: str, place: int, color: str, text: str = "") -> None:
        where = ((place + 0.5) * STEP, heights[line])
        axes.plot(*where, "o", color=color, markersize=17)
        axes.text(*where, text, color=PAPER, ha="center", va="center_baseline", weight="bold")

    for line, height in heights.items():
        of_stream = dict(zip(lines[2:-1], COLORS))
        axes.text(-1.4, height, line, color=of_stream.get(line, INK), fontsize=10, va="center")
    for place, token in enumerate(tokens):
        write("formula", place, token, colors.get(token, INK), weight="bold")
        for line in lines[1:-1]:
            if token not in symbols:
                write(line, place, token)
        if token in symbols:
            dot("slots", place, colors[token], str(symbols.index(token) + 1))
            for slot, symbol in enumerate(symbols):
                dot(f"stream {slot + 1}", place, INK if token == symbol else OTHER)
    for place, token in enumerate(answer.tokens):
        write("answer", place, token, colors.get(token, INK), weight="bold")
    axes.text(-1.4, 0.25, f"score {answer.score!r}", color=INK, fontsize=10, va="center")


def main() -> None:
    """Asks the model twice and draws both."""
    model = Model.load(ROOT / "checkpoints" / "prop", symbols=r"(?!xor$)[a-z]\w*")
    renamed = " ".join(NAMES.get(token, token) for token in FORMULA.split())
    figure = plots.new_figure(11, 3.9)
    figure.set_facecolor(PAPER)
    left, right = figure.subplots(1, 2)
    draw(left, ask(FORMULA, model), "A formula")
    draw(right, ask(renamed, model), "The same with other names")
    legend = "Two embeddings for all symbols: dark for the stream's own one, grey for any other."
    figure.supxlabel(legend, x=0.02, ha="left", fontsize=10, color=INK)
    plots.save_png(figure, str(ROOT / "examples" / "overview.png"))


if __name__ == "__main__":
    run(main)
