"""Folders for transformers: as the models of the package, and without it.

SENTENCES=1000 in the environment compares as many sentences for each shipped model.
"""

import ast
import json
import math
import os
import random
import re
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from command_line import ROOT
from conftest import random_formula
from export.conftest import UNTRAINED, load
from huggingface_hub import ModelCard
from sentencepiece import SentencePieceProcessor, sentencepiece_model_pb2
from transformers import AutoTokenizer

from examples.binding.terms import terms
from examples.entities.sentences import FEW
from examples.entities.sentences import sentences as entities
from sit_fairseq.commands import export
from sit_fairseq.errors import UserError
from sit_fairseq.export.for_transformers.code import source_files
from sit_fairseq.export.for_transformers.folder import _tokenizer
from sit_fairseq.export.for_transformers.folder import export as write
from sit_fairseq.export.for_transformers.spelling import Spelling
from sit_fairseq.export.for_transformers.tokenizer import split
from sit_fairseq.export.grammars import GRAMMARS
from sit_fairseq.model import Model
from sit_fairseq.models.transformer import log_probabilities
from sit_fairseq.symbols.renaming import Renaming

SHIPPED = ("prop", "binding", "entities", "converted")
SENTENCES = int(os.environ.get("SENTENCES", 10))
BATCH = 50
NAMES = r"[a-z]\w*"


class Plain:
    """The model of a folder, which splits and joins plain text if it has pieces."""

    def __init__(self, path):
        self.model, pieces = Model.load(path), path / "spm.model"
        self.core, self.split, self.join = self.model.core, str, str
        if pieces.exists():
            processor = SentencePieceProcessor(model_file=str(pieces))
            self.split = lambda line: " ".join(processor.encode(line, out_type=str))
            self.join = lambda text: processor.decode(text.split())

    def answers(self, lines):
        """Text and score of the best answers of a beam of 3."""
        found = self.model.answer([self.split(line) for line in lines], max_length=100)
        return [(self.join(one.text), one.score) for one in found]

    def encode(self, lines):
        """(B, T) dictionary indices."""
        return self.core.vocabulary.dictionary.encode([self.split(line) for line in lines])


def sentences(name, count):
    """Sentences that a model reads."""
    rng = random.Random(1)
    if name == "entities":
        return [source for source, _ in entities(count, 7, FEW, 1, 6)]
    if name == "binding":
        return [source for source, _ in terms(count, 7, (1, 4), (0, 3), 3)]
    depth = 2 if name == "converted" else 3
    return [random_formula(rng, "abcdefgh", depth) for _ in range(count)]


def our_answers(tokenizer, model, lines, **options):
    """Text and score of best answers."""
    found = []
    for start in range(0, len(lines), BATCH):
        inputs = tokenizer(lines[start : start + BATCH], padding=True, return_tensors="pt")
        given = dict(max_new_tokens=100, return_dict_in_generate=True, **options)
        answers = model.generate(**inputs, **given)
        texts = tokenizer.batch_decode(answers.sequences, skip_special_tokens=True)
        found += zip(texts, answers.sequences_scores.tolist())
    return found


# The sorts are among "fresh sorts", and fresh symbols among these and "binding".
@pytest.mark.parametrize("name", [*SHIPPED, *[n for n in UNTRAINED if n != "sorts"]])
def test_logits_and_best_answers_are_those_of_the_model(name, folder, capsys):
    """But where two answers have the same score, which is said."""
    path, count = folder(name), SENTENCES if name in SHIPPED else 6
    theirs = Plain(ROOT / "checkpoints" / name if name in SHIPPED else path)
    (tokenizer, model), lines = load(path), sentences(name, count)
    check_logits(theirs, tokenizer, model, lines[:6])
    expected, ties = theirs.answers(lines), 0
    found = our_answers(tokenizer, model, lines, num_beams=3)
    for line, ours, answer in zip(lines, found, expected, strict=True):
        assert ours[1] == pytest.approx(answer[1], abs=1e-4), line
        if ours[0] != " ".join(word for word in answer[0].split() if word != "<unk>"):
            assert abs(ours[1] - answer[1]) < 1e-5, (line, ours, answer)
            ties += 1
    with capsys.disabled():
        print(f"\n{name}: {len(lines) - ties} of {len(lines)} best answers are equal, {ties} ties")
    assert ties <= len(lines) // 100 or name in UNTRAINED


def check_logits(theirs, tokenizer, model, lines):
    """Targets of the tokens of the source are as probable as for the model."""
    targets = [" ".join(line.split()[::-1]) for line in lines]
    source, target = map(theirs.encode, (lines, targets))
    previous = F.pad(target, (1, -1), value=2)
    read, wanted = (
        tokenizer(side, padding=True, return_tensors="pt")["input_ids"] for side in (lines, targets)
    )
    begun = F.pad(wanted, (1, -1), value=2)
    with torch.no_grad():
        encoded = theirs.core.encode(source)
        expected = log_probabilities(theirs.core.decode(previous, encoded))
        logits = model(read, decoder_input_ids=begun).logits
        labelled = model(read, labels=wanted.masked_fill(wanted.eq(1), -100))
    real = wanted.ne(1)  # what follows the end means nothing
    torch.testing.assert_close(labelled.logits[real], logits[real])
    assert labelled.loss > 0
    right = encoded.slots.targets(target)
    expected = expected.gather(2, right.unsqueeze(2)).squeeze(2).masked_fill(right.eq(1), 0)
    found = logits.log_softmax(2).gather(2, wanted.unsqueeze(2)).squeeze(2)
    found = found.masked_fill(wanted.eq(1) | found.eq(-math.inf), 0)
    # Of tokens, however long their names are.
    torch.testing.assert_close(labelled.loss, -found.sum() / right.ne(1).sum())
    torch.testing.assert_close(found.sum(1), expected.sum(1), rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", ["prop", "binding"])
def test_renamed_sentences_get_the_renamed_answers_with_equal_scores(name, folder):
    tokenizer, model = load(folder(name), symbols=r"\w*[^\W\d]\w*")
    lines = sentences(name, 6)
    new = ["speed_limit", "p17", "Äther", "名前", "zz", "x_1", "q", "longer_than_eight_bytes"]
    renaming = Renaming(dict(zip("abcdeijk", new)))
    for options in (
        dict(num_beams=3),
        dict(num_beams=4, num_return_sequences=3),
        dict(do_sample=True),
    ):
        torch.manual_seed(3)
        plain = our_answers(tokenizer, model, lines, **options)
        torch.manual_seed(3)
        renamed = our_answers(tokenizer, model, list(map(renaming, lines)), **options)
        assert [score for _, score in renamed] == [score for _, score in plain]
        if name != "binding":  # fresh symbols have the first names that are free
            assert [text for text, _ in renamed] == [renaming(text) for text, _ in plain]


def test_names_are_spelled_whatever_they_are():
    spelling = Spelling(["&", "0"], 2)
    words = [("&", None), ("a", 1), ("Ä\U0001f600", 0), ("<s>x", 1), ("\udc80", 0), ("0", None)]
    ids = [number for word, sort in words for number in spelling.ids(word, sort)]
    assert spelling.read(ids) == words and max(ids) < spelling.size
    assert len({spelling.piece(number) for number in range(spelling.size)}) == spelling.size
    with pytest.raises(ValueError, match="stands where no token goes on"):
        spelling.read([spelling.further])


def test_ids_mean_the_same_in_every_tokenizer(folder, tmp_path):
    tokenizer, _ = load(folder("prop"), symbols=NAMES)
    ids = tokenizer(["xor p17 speed_limit", "! b"])["input_ids"]
    tokenizer.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path, trust_remote_code=True)
    assert again.batch_decode(ids, skip_special_tokens=True) == ["xor p17 speed_limit", "! b"]
    assert again(["xor p17 speed_limit", "! b"])["input_ids"] == ids
    for wrong in ("& a é", "& a <unk>", "</s>"):
        with pytest.raises(ValueError, match="unknown token|a token of fairseq's own"):
            again(wrong)
    with pytest.raises(ValueError, match="the sorts of"):
        load(folder("prop"), symbols="a=[a-d]\nb=[e-z]")


def test_text_is_split_as_sentencepiece_does(folder):
    model = str(ROOT / "checkpoints" / "entities" / "spm.model")
    processor = SentencePieceProcessor(model_file=model)
    pieces = load(folder("entities"))[0]._pieces
    marked = [
        f"an{chr(code)}d"
        for code in (1, 0xB, 0x1F, 0x7F, 0x85, 0x9F, 0xA0, 0x200B, 0xFEFF, 0xFF5E, 0xFFFD)
    ]
    for line in [*sentences("entities", 200), "  odd   ﬁnish <ent5><ent77> ", "a<ent1>b", *marked]:
        assert split(line, pieces) == processor.encode(line, out_type=str), line


@pytest.mark.parametrize(
    "change",
    [
        lambda model: setattr(model.normalizer_spec, "name", "nfkc"),
        lambda model: setattr(model.normalizer_spec, "add_dummy_prefix", False),
        lambda model: setattr(model.trainer_spec, "byte_fallback", True),
    ],
)
def test_pieces_that_would_be_split_otherwise_are_refused(change, tmp_path):
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString((ROOT / "checkpoints/entities/spm.model").read_bytes())
    change(model)
    (tmp_path / "spm.model").write_bytes(model.SerializeToString())
    with pytest.raises(
        UserError, match="spm.model normalizes .* as the exported tokenizer does not"
    ):
        _tokenizer(["ent"], str(tmp_path / "spm.model"))


@pytest.mark.parametrize("name", ["prop", "sorts"])
def test_a_model_that_goes_on_training_is_saved_for_both_sides(name, folder, tmp_path):
    tokenizer, model = load(folder(name))
    inputs = tokenizer(["xor a & b c"], return_tensors="pt")
    model.train()(**inputs, labels=inputs["input_ids"]).loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.01 * parameter.grad
    tokenizer.save_pretrained(tmp_path)
    model.save_pretrained(save_directory=tmp_path)
    answers, again = (
        one.generate(**inputs, num_beams=3, return_dict_in_generate=True)
        for one in (model, load(tmp_path)[1])
    )
    assert torch.equal(answers.sequences, again.sequences)
    assert torch.equal(answers.sequences_scores, again.sequences_scores)
    [(_, score)] = Plain(tmp_path).answers(["xor a & b c"])
    assert score == pytest.approx(float(again.sequences_scores), abs=1e-5)


ALONE = """
import sys
for name in ("fairseq", "fairseq_cli", "omegaconf", "hydra", "sit_fairseq", "sentencepiece"):
    sys.modules[name] = None
"""


def test_the_snippet_of_the_card_runs_without_fairseq(folder):
    name, answer = "entities", "before ( sleep"
    card = (folder(name) / "README.md").read_text()
    snippet = re.search(r"```python\n(.*?)```", card, flags=re.DOTALL)[1]
    command = [sys.executable, "-c", ALONE + snippet]
    done = subprocess.run(command, cwd=folder(name), capture_output=True, text=True)
    assert done.returncode == 0 and f"['{answer}" in done.stdout, done.stderr
    data = ModelCard(card).data
    assert data.license == "mit" and data.library_name == "transformers"


@pytest.mark.parametrize(
    "name, symbols, asked",
    [
        ("prop", r"p\d+", "& p0 p1"),
        ("prop", "[q-z]", "& q r"),
        ("copy", r"p\d+", "p0 p1 p2"),
        ("copy", "[a-z]", "a b a c"),  # as the card of the model asks
    ],
)
def test_the_sentence_of_a_card_has_symbols_of_the_model(name, symbols, asked, tmp_path):
    write(Model.load(ROOT / "checkpoints" / name, symbols=symbols), tmp_path)
    card = (tmp_path / "README.md").read_text()
    assert f"tokenizer(['{asked}']" in card


@pytest.mark.parametrize("grammar", [*GRAMMARS, None])
def test_code_imports_nothing_of_ours_and_calls_nothing_by_name(grammar):
    files = source_files(grammar)
    assert len(files) > 20
    own = {name for name in files if name.endswith("_grammar.py") and "search" not in name}
    assert len(own) == (grammar is not None)
    for name, text in files.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.level:
                for alias in node.names:
                    assert alias.name in f"{files[f'{node.module}.py']} __name__", name
            elif isinstance(node, ast.ImportFrom):
                assert not node.module.startswith("sit_fairseq"), name
            elif isinstance(node, ast.Name):
                assert node.id not in ("import_module", "__import__", "eval", "exec"), name


def test_a_file_that_transformers_asks_for_imports_itself_all_that_is_needed():
    """transformers 4 copies that file and those that it imports, and no others."""
    files = source_files("prop")
    for first in ("modeling", "tokenizer"):
        copied = {first, *relative_imports(files[f"{first}.py"])}
        for name in copied:
            assert relative_imports(files[f"{name}.py"]) <= copied, name


def test_card_page_and_help_name_the_version(folder):
    paths = folder("prop") / "README.md", ROOT / "examples/deployment/README.md"
    for text in (*(path.read_text() for path in paths), export.__doc__):
        assert "transformers 4.44 or later" in " ".join(text.split())


def test_errors_name_no_parameters_of_ours():
    found = {"__name__": "errors"}
    exec(source_files(None)["errors.py"], found)
    error = found["UserError"]("beams are whole numbers", "beam")
    assert isinstance(error, ValueError) and str(error) == "beams are whole numbers"


def relative_imports(text):
    """As transformers finds them."""
    return set(re.findall(r"^\s*from\s+\.(\S+)\s+import", text, flags=re.MULTILINE))


@pytest.mark.parametrize(
    "change",
    [dict(grammar="os:system"), dict(symbol_embedding="os:system"), dict(symbols="(a+)+(")],
)
def test_what_the_data_say_runs_nothing(change, folder, tmp_path):
    for file in folder("prop").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text())
    (config["cfg"]["model"] if "symbol_embedding" in change else config).update(change)
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises((ValueError, KeyError)):
        tokenizer, model = load(tmp_path)
        model.generate(**tokenizer("! a", return_tensors="pt"), constrained=True)
