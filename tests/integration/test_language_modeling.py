"""Language models through fairseq's commands and in Python, on a made-up language of functions."""

import random
import re
from types import SimpleNamespace

import fairseq_cli.eval_lm
import fairseq_cli.generate
import fairseq_cli.interactive
import fairseq_cli.train
import pytest
import torch
import yaml
from command_line import IN_PROCESS, ROOT, hydra_train, printed, run, run_preprocess
from fairseq import checkpoint_utils
from fairseq.dataclass.configs import GenerationConfig
from integration.conftest import same
from vanilla_models import load

from sit_fairseq.errors import UserError
from sit_fairseq.model import Model
from sit_fairseq.models import fairseq_language_model  # noqa: F401  registers it
from sit_fairseq.symbols.canonical_form import canonical_form

TASK = ("--user-dir", ROOT / "sit_fairseq", "--task", "symbol_language_modeling")
BLOCKS = ("--sample-break-mode", "eos")
TRAINING = (
    *("--arch", "symbol_invariant_transformer_lm_tiny", "--fresh-symbols", 4, *BLOCKS),
    *("--criterion", "adacos", "--min-scale", 10, "--optimizer", "adam", "--lr", 3e-3),
    *("--clip-norm", 1.0, "--batch-size", 16, "--no-epoch-checkpoints", "--symbols", "[a-h]"),
)
SORTS = "odd=[aceg]\neven=[bdfh]\n"
RENAMED = dict(zip("abcdefgh", "hgfedcba"))


def function(rng) -> str:
    """A function that adds and returns its parameters."""
    names = rng.sample("abcdefgh", rng.randint(1, 4))
    body = (f"{rng.choice(names)} + {rng.choice(names)} ;" for _ in range(rng.randint(1, 2)))
    return f"def ( {' , '.join(names)} ) : {' '.join(body)} return {rng.choice(names)}"


def rename(text):
    return " ".join(RENAMED.get(token, token) for token in text.split())


def numbered(text) -> str:
    """A text up to the names of its symbols."""
    tokens = text.split()
    return canonical_form(
        tokens, [t for t in dict.fromkeys(tokens) if re.fullmatch(r"[a-h]|v\d", t)]
    )


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Binarised texts, of which ``test1`` is ``test`` with other names, and a trained model."""
    root, rng = tmp_path_factory.mktemp("texts"), random.Random(1)
    test = [function(rng) for _ in range(30)]
    splits = {
        "train": [function(rng) for _ in range(200)],
        "valid": [function(rng) for _ in range(20)],
        "test": test,
        "test1": list(map(rename, test)),
        "more": ["def ( a , b , c , d , e ) : a + e ; return e"] * 2,
    }
    for name, lines in splits.items():
        (root / name).write_text("".join(line + "\n" for line in lines))
    files = [f"{root}/{name}" for name in ("test", "test1", "more")]
    run_preprocess(
        *("--only-source", "--trainpref", root / "train", "--validpref", root / "valid"),
        *("--testpref", ",".join(files), "--destdir", root / "bin", *TASK),
    )
    model = train(root / "bin", root / "model", "--max-update", 40)
    return SimpleNamespace(root=root, data=root / "bin", test=test, model=model)


def train(data, folder, *options):
    where = ("--save-dir", folder, *TASK, *IN_PROCESS, "--log-format", "simple")
    run(fairseq_cli.train, data, *where, *TRAINING, *options)
    return folder / "checkpoint_last.pt"


def loss(texts, split, caplog, *options, model=None):
    """What fairseq-eval-lm prints."""
    caplog.clear()
    path = ("--path", model or texts.model, "--gen-subset", split)
    with caplog.at_level("INFO"):
        run(fairseq_cli.eval_lm, texts.data, *path, *TASK, *BLOCKS, *IN_PROCESS, *options)
    return re.findall(r"Loss \(base 2\): (\S+),", caplog.text)[-1]


def test_renamed_text_has_the_loss_of_text_to_the_last_digit(texts, caplog):
    found = [loss(texts, split, caplog) for split in ("test", "test1")]
    assert found[0] == found[1] and 0 < float(found[0]) < 3


def test_the_printed_loss_is_that_of_the_model(texts, caplog):
    core = Model.load(str(texts.model)).core
    total = count = 0
    for text in texts.test:
        targets = core.vocabulary.dictionary.read(text).unsqueeze(0)
        tokens = torch.cat((targets[:, -1:], targets[:, :-1]), 1)
        log_probs = core(tokens).log_softmax(2)
        scores = log_probs.gather(2, core.targets(tokens, targets).unsqueeze(2))
        total, count = total - float(scores.double().sum()), count + targets.numel()
    expected = total / count / torch.log(torch.tensor(2.0))
    assert float(loss(texts, "test", caplog)) == pytest.approx(float(expected), abs=1e-3)


def test_blocks_that_begin_within_a_line_are_invariant_too(texts, caplog):
    """Sentences have symbols in common there, and a block begins after any token."""
    blocks = ("--sample-break-mode", "none", "--tokens-per-sample", 9)
    wide = ("--model-overrides", "{'fresh_symbols': 9}")
    found = [loss(texts, split, caplog, *wide, *blocks) for split in ("test", "test1")]
    assert found[0] == found[1] != loss(texts, "test", caplog)


def test_more_symbols_than_in_training(texts, caplog):
    with pytest.raises(UserError, match="block 1 of the test2 split holds 5 symbols .*: 5}"):
        loss(texts, "test2", caplog)
    assert float(loss(texts, "test2", caplog, "--model-overrides", "{'fresh_symbols': 5}")) > 0
    prompts = ["def ( a , b , c , d , e ) : e + a ; return"]
    refused, more = (Model.load(str(texts.model), fresh_symbols=number) for number in (None, 5))
    assert "holds 5 symbols, more than the 4" in refused.complete(prompts)[0].reason
    assert more.complete(prompts, max_length=5)[0].text


def test_a_training_resumed_within_an_epoch_is_bit_equal(texts, tmp_path):
    options = ("--stream-places", "own", "--optimizer", "muon", "--position-gaps", 20)
    options = (*options, "--dropout", 0, "--disable-validation", "--max-update")
    whole = train(texts.data, tmp_path / "whole", *options, 16)
    for updates in (5, 16):  # of 13 in an epoch
        parts = train(texts.data, tmp_path / "parts", *options, updates)
    found = list(map(load, (whole, parts)))
    for part in ("model", "last_optimizer_state"):
        assert same(*(state[part] for state in found)), part
    assert found[1]["optimizer_history"][-1]["num_updates"] == 16


def test_control_a_model_that_knows_names_is_trained_and_measured_alike(texts, tmp_path, caplog):
    fixed = ("--symbol-embedding", "fixed", "--stream-attention", "DP", "--alpha-renaming")
    model = train(texts.data, tmp_path, "--max-update", 6, *fixed)
    assert len({loss(texts, split, caplog, model=model) for split in ("test", "test1")}) == 2


def test_prompts_are_continued_alike_by_all_commands(texts, tmp_path, capsys):
    """And renamed prompts by the renamed continuation. New symbols take the first free names, which
    depend on the dictionary that there is."""
    search = ("--beam", 3, "--max-len-b", 30)
    path = (texts.data, "--path", texts.model, *TASK, *IN_PROCESS, *search)
    answers = {}
    for split in ("test", "test1"):
        run(fairseq_cli.generate, *path, "--gen-subset", split, *BLOCKS, "--prefix-size", 5)
        answers[split] = [sentence.answers[0] for sentence in printed(capsys.readouterr().out)]
    assert list(map(numbered, answers["test"])) == list(map(numbered, answers["test1"]))
    prompts = [" ".join(text.split()[:5]) for text in texts.test]
    assert all(answer.startswith(prompt) for answer, prompt in zip(answers["test"], prompts))
    typed = ["", *prompts, "def nothing", "def ( a , b , c , d , e"]
    (tmp_path / "typed").write_text("".join(line + "\n" for line in typed))
    with pytest.raises(UserError, match="2 of 33 lines"):
        run(fairseq_cli.interactive, *path, "--input", tmp_path / "typed", "--buffer-size", 40)
    found = printed(capsys.readouterr().out)
    whole, *continued = [sentence.answers[0] for sentence in found[:-2]]
    assert continued == answers["test"]
    assert "unknown token 'nothing'" in found[-2].reason
    assert "holds 5 symbols, more than the 4" in found[-1].reason
    model = Model.load(str(texts.model))
    assert numbered(model.complete([""], 3, 30)[0].text) == numbered(whole)
    found = zip(prompts, model.complete(prompts, 3, 25))
    found = [numbered(f"{prompt} {one.text}") for prompt, one in found]
    assert found == list(map(numbered, answers["test"]))


def test_each_block_is_continued_by_itself(texts):
    """Some begin a text, of which ``</s>`` tells, and some go on in the next one."""
    (model,), _, task = checkpoint_utils.load_model_ensemble_and_task([str(texts.model)])
    assert task.cfg.sample_break_mode == "eos"  # as in training
    generator = task.build_generator([model], GenerationConfig(beam=2, max_len_b=9))
    dictionary, eos = task.source_dictionary, task.source_dictionary.eos()
    read = {text: dictionary.read(text)[:-1].tolist() for text in ("def ( a )", "( a ) : return a")}
    begins, inside = read.values()
    rows = [[eos, *begins], inside[:5], [*begins[:2], eos, *begins[:2]]]
    tokens = torch.tensor([row + [dictionary.pad()] * (5 - len(row)) for row in rows])

    def answers(tokens):
        sample = {"net_input": {"src_tokens": tokens}, "target": tokens}
        found = task.search(generator, [model], sample, None, None)
        return [nbest[0]["tokens"].tolist() for nbest in found], found[-1][0].get("reason")

    whole, reason = answers(tokens)
    assert whole[0][:4] == begins and whole[1][:5] == inside[:5] and len(whole[0]) > 5
    assert [answers(tokens[place : place + 1])[0][0] for place in range(3)] == whole
    assert reason == "its prefix goes on after a </s>, which ends an answer"


def test_training_by_hydra(texts, tmp_path):
    """A line says each sort of symbols."""
    sizes = {"embed_dim": 24, "ffn_embed_dim": 24, "layers": 1, "attention_heads": 2}
    model = {f"decoder_{name}": size for name, size in sizes.items()}
    model["fresh_symbols"] = "odd=4,even=4"
    task = {"data": str(texts.data), "symbols": SORTS, "sample_break_mode": "eos"}
    options = {
        "common": {"user_dir": str(ROOT / "sit_fairseq"), "cpu": True},
        "model": {"_name": "symbol_invariant_transformer_lm", **model},
        "task": {"_name": "symbol_language_modeling", **task},
        "criterion": {"_name": "adacos"},
        "optimizer": {"_name": "adam"},
        "lr_scheduler": {"_name": "fixed"},
        "optimization": {"max_update": 2, "lr": [0.001]},
        "dataset": {"batch_size": 16, "num_workers": 0},
        "checkpoint": {"save_dir": str(tmp_path)},
    }
    text = "# @package _group_\n" + yaml.safe_dump(options)
    (tmp_path / "text.yaml").write_text(text)
    hydra_train("--config-dir", tmp_path, "--config-name", "text")
    model = Model.load(str(tmp_path / "checkpoint_last.pt"))
    assert model.complete(["def"], max_length=3)[0].text and model.core.vocabulary.num_sorts == 2


@pytest.mark.parametrize(
    "command, options, message",
    [
        ("train", ("--add-bos-token",), "--add-bos-token is not supported"),
        ("train", ("--symbols", "x"), "matches no token"),
        ("train", ("--fresh-symbols", 2), "of one sort, .* train with --fresh-symbols 4,"),
        ("train", ("--criterion", "minimum_risk"), "texts have none"),
        ("train", ("--max-target-positions", 8), "each block of the train split is too long"),
        ("train", ("--tokens-per-sample", 0), "tokens_per_sample is a whole number from 1"),
        ("eval_lm", ("--context-window", 3), "symbols of their own"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(texts, tmp_path, caplog, command, options, message):
    with pytest.raises(UserError, match=message):
        if command == "train":
            train(texts.data, tmp_path, "--max-update", 1, *options)
        else:
            loss(texts, "test", caplog, *options)


def test_models_that_know_no_symbols_are_refused(texts, tmp_path):
    plain = ("--arch", "transformer_lm", "--batch-size", 4, "--save-dir", tmp_path)
    with pytest.raises(UserError, match="is for models that know symbols; pass --arch symbol_inv"):
        run(fairseq_cli.train, texts.data, *TASK, *IN_PROCESS, *plain, "--symbols", "[a-h]")


def test_a_folder_without_a_text_is_one_sentence(tmp_path):
    with pytest.raises(UserError, match="there is no .*dict.txt; name a folder of .*only-source"):
        train(tmp_path, tmp_path, "--max-update", 1)
