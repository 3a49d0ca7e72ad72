"""The commands of the page on training, on less data, and those of the front page beside them."""

import contextlib
import re
import shlex

import fairseq_cli.generate
import fairseq_cli.interactive
import fairseq_cli.train
from command_line import ROOT, run, run_preprocess

from examples.entities import sentences

COMMANDS = {
    "fairseq-preprocess": run_preprocess,
    "fairseq-train": lambda *words: run(fairseq_cli.train, *words),
    "fairseq-generate": lambda *words: run(fairseq_cli.generate, *words),
    "fairseq-interactive": lambda *words: run(fairseq_cli.interactive, *words),
}


def commands_of(name):
    """Words by command of the block of a page that trains."""
    blocks = re.findall(r"```bash\n(.*?)```", (ROOT / name).read_text(), re.S)
    (block,) = (b for b in blocks if "fairseq-train my/" in b and "fairseq-generate" in b)
    return block, dict(
        (words[0], words[1:])
        for line in block.replace("\\\n", " ").splitlines()
        if (words := shlex.split(re.sub("^echo .* [|] ", "", line))) and words[0] in COMMANDS
    )


def test_commands_run_as_printed(tmp_path, capsys):
    block, commands = commands_of("examples/TRAIN.md")
    assert list(commands) == list(COMMANDS)
    assert re.search(r"^python -m examples.entities.sentences my\b", block, re.M)
    (typed,) = re.findall("^echo '(.*)' [|] fairseq-interactive", block, re.M)
    (tmp_path / "typed").write_text(typed + "\n")
    shorter = {
        "fairseq-preprocess": (),
        "fairseq-train": ("--max-update", 4, "--cpu", "--num-workers", 0),
        "fairseq-generate": ("--cpu", "--max-len-b", 15),
        "fairseq-interactive": ("--cpu", "--input", tmp_path / "typed"),
    }
    with contextlib.chdir(tmp_path):
        sentences.main("my")
        for file in (tmp_path / "my").iterdir():
            file.write_text("".join(file.read_text().splitlines(keepends=True)[:64]))
        for name, words in commands.items():
            # fairseq imports a folder once, whatever link leads there.
            words = [ROOT / word if word == "sit_fairseq" else word for word in words]
            COMMANDS[name](*words, *shorter[name])
    out = capsys.readouterr().out
    assert re.search(r"Generate test with beam=3: correct [\d.]+ %", out)
    answer = re.search(r"H-0\t\S+\t(.*)", out.split(f"S-0\t{typed}")[1])
    known = {
        t for side in ("src", "tgt") for t in (tmp_path / f"my/train.{side}").read_text().split()
    }
    names = {token for token in known if token.startswith("<ent")}
    assert set(answer.group(1).split()) <= known - names | {"<ent17>", "Ada", "<ent99>"}


def test_the_front_page_has_no_option_that_the_page_lacks():
    page, front = (commands_of(name)[1] for name in ("examples/TRAIN.md", "README.md"))
    assert list(front) == list(COMMANDS)[:3]
    for name, words in front.items():
        options = [{w for w in given if w.startswith("--")} for given in (words, page[name])]
        assert options[0] <= options[1]
