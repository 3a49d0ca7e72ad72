"""Bad input ends in one sentence that names the cause and the option to change."""

import shutil

import fairseq_cli.preprocess
import pytest
import torch
from command_line import generate, interactive, preprocess, preprocess_lines, run, train

from sit_fairseq.errors import UserError
from sit_fairseq.models.symbol_invariant_transformer import SymbolInvariantTransformerModel
from sit_fairseq.tasks import precision


def failing(action, *fragments) -> None:
    """Checks the sentence; being a SystemExit it ends a command with status 1."""
    with pytest.raises(UserError) as error:
        action()
    message = str(error.value)
    assert "\n" not in message
    for fragment in fragments:
        assert fragment in message, message


def test_empty_line(prop, tmp_path):
    data = preprocess_lines(tmp_path, ["a", "", "! b"], ["a 1", "b 0", "b 0"])
    failing(lambda: generate(data, prop.trained), "line 2 of the test source is empty")


def test_empty_line_typed(prop, tmp_path):
    action = lambda: interactive(  # noqa: E731
        prop.data, prop.trained, ["a", ""], tmp_path, "--strict"
    )
    failing(action, "the sentence is empty: ''")


def test_unknown_base_token(prop, tmp_path):
    data = preprocess_lines(tmp_path, ["a", "-> a b"], ["a 1", "b 1"])
    failing(lambda: generate(data, prop.trained), "does not know: '->'", "--symbols")


def test_unknown_token_typed(prop, tmp_path):
    action = lambda: interactive(  # noqa: E731
        prop.data, prop.trained, ["& a Z3"], tmp_path, "--strict"
    )
    failing(action, "unknown token 'Z3'", ": '& a Z3'", "--symbols '[a-z]'")


def test_target_symbol_missing_from_its_source(prop, tmp_path):
    data = preprocess_lines(tmp_path, ["a", "& a b"], ["a 1", "b 1 c 0"])
    failing(lambda: generate(data, prop.trained), "line 2 of the test target", "'c'", "--symbols")


def test_sentence_of_more_tokens_than_a_batch(prop, tmp_path):
    data = preprocess_lines(tmp_path, ["a", "& a & b c"], ["a 1", "a 1 b 1 c 1"])
    action = lambda: generate(data, prop.trained, "--max-tokens", 20)  # noqa: E731
    failing(action, "line 2 of the test source counts 21 tokens", "20 of --max-tokens")
    generate(data, prop.trained, "--max-tokens", 21)


def test_layer_norm_without_a_positive_term(prop, tmp_path):
    for value in (0, "nan"):
        failing(
            lambda: train(prop.data, tmp_path, "--layer-norm-eps", value),
            "--layer-norm-eps",
            "must be positive",
        )


def test_tree_depth_below_zero(prop, tmp_path):
    failing(lambda: train(prop.data, tmp_path, "--tree-depth", -3), "--tree-depth -3", "or 0")


def test_tree_depth_says_how_deep_formulas_are_told_apart(prop, tmp_path, caplog):
    deep = " ".join(["!"] * 34 + ["a"])
    data = preprocess_lines(tmp_path, ["a", deep], ["a 1", "a 1"], split="valid")
    warning = "a formula is 34 operators deep, but tree positions end at 32 (--tree-depth)"
    train(data, tmp_path / "cut", "--max-update", 1)
    assert caplog.text.count(warning) == 1
    caplog.clear()
    train(data, tmp_path / "deep", "--tree-depth", 34, "--max-update", 1)
    assert "operators deep" not in caplog.text


def test_source_that_is_no_formula(prop, tmp_path):
    data = preprocess_lines(tmp_path, ["a", "& a", "& a b"], ["a 1", "a 1", "b 1"])
    failing(
        lambda: generate(data, prop.trained),
        "line 2",
        "prefix notation",
        "--encoder-positions rope",
    )


@pytest.mark.parametrize(
    "symbols, fragments",
    [
        (None, ("--symbols REGEX is missing",)),
        ("[A-Z]", ("matches no token", "'[A-Z]'")),
        (".*", ("matches the special token '<s>'",)),
        ("[a-z]|</s>", ("matches the special token '</s>'",)),
        ("[a-z]+", ("matches the operator 'xor'",)),
        ("[a-", ("not a regular expression",)),
    ],
)
def test_unsuitable_patterns(prop, tmp_path, symbols, fragments):
    failing(lambda: train(prop.data, tmp_path, "--max-update", 1, symbols=symbols), *fragments)
    assert not list(tmp_path.iterdir())


def test_pattern_that_contradicts_the_checkpoint(prop):
    failing(
        lambda: generate(prop.data, prop.trained, "--symbols", "[a-z]|[01]"),
        "'0' '1'",
        "base tokens",
        "--symbols",
    )


def test_data_without_joined_dictionary(prop, tmp_path):
    for lang, lines in (("src", "a\nb\n"), ("tgt", "a 1\nb 1\n")):
        (tmp_path / f"text.{lang}").write_text(lines)
    data = tmp_path / "bin"
    text = tmp_path / "text"
    options = ("-s", "src", "-t", "tgt", "--trainpref", text, "--destdir", data)
    run(fairseq_cli.preprocess, *options)
    failing(lambda: train(data, tmp_path / "out", "--max-update", 1), "--joined-dictionary")


def test_directory_that_is_none(tmp_path):
    failing(lambda: train(tmp_path / "nowhere", tmp_path / "out"), "nowhere", "fairseq-preprocess")


def test_missing_split(prop):
    failing(lambda: generate(prop.data, prop.trained, "--gen-subset", "dev"), "dev", "--devpref")


@pytest.mark.parametrize("damage", ["truncated", "stump", "garbage", "empty"])
def test_damaged_checkpoint(prop, tmp_path, damage):
    content = prop.trained.read_bytes()
    broken = tmp_path / "checkpoint_last.pt"
    broken.write_bytes(
        {
            "truncated": content[: len(content) // 2],
            "stump": content[:5000],
            "garbage": b"x" * 999,
            "empty": b"",
        }[damage]
    )
    failing(lambda: generate(prop.data, broken), str(broken), "--path")
    before = broken.read_bytes()
    failing(lambda: train(prop.data, tmp_path, "--max-update", 1), str(broken), "--restore-file")
    assert broken.read_bytes() == before


def test_malicious_checkpoint_runs_nothing(prop, tmp_path):
    class Bomb:
        def __reduce__(self):
            return (open, (str(tmp_path / "exploded"), "w"))

    torch.save({"cfg": Bomb()}, tmp_path / "bomb.pt")
    failing(lambda: generate(prop.data, tmp_path / "bomb.pt"), "bomb.pt")
    assert not (tmp_path / "exploded").exists()


def test_wrong_head_for_adacos(prop, tmp_path):
    options = ("--output-head", "linear", "--max-update", 1)
    failing(lambda: train(prop.data, tmp_path, *options), "--output-head")


def test_padding_in_a_sentence(prop, tmp_path):
    data = preprocess_lines(tmp_path, ["a", "& a <pad>"], ["a 1", "a 1"])
    failing(lambda: generate(data, prop.trained), "line 2 of the test source holds <pad>")
    typed = lambda: interactive(  # noqa: E731
        prop.data, prop.trained, ["a", "& <pad> b"], tmp_path, "--strict"
    )
    failing(typed, "the sentence holds <pad>", ": '& <pad> b'")


def test_python_interface(prop):
    hub = SymbolInvariantTransformerModel.from_pretrained(
        str(prop.trained.parent), prop.trained.name, str(prop.data)
    )
    assert len(hub.translate(["& a b", "! c"])) == 2
    unknown = lambda: hub.translate(["a", "& Z3 b"], strict=True)  # noqa: E731
    failing(unknown, "unknown token 'Z3'", "--symbols '[a-z]'", ": '& Z3 b'")
    failing(lambda: hub.translate(["& a"], strict=True), "is not one formula", ": '& a'")
    failing(lambda: hub.generate([hub.encode("& Z3 b")]), "holds a token that is neither")
    failing(lambda: hub.score(["& a b"]), "no targets", "fairseq-generate --score-reference")
    only = {"prefix_allowed_tokens_fn": lambda sentence, prefix: [2]}
    failing(lambda: hub.generate([hub.encode("& a b")], **only), "prefix_allowed_tokens_fn")


def test_unsupported_criterion(prop, tmp_path):
    options = ("--criterion", "label_smoothed_cross_entropy_with_alignment")
    failing(lambda: train(prop.data, tmp_path, *options), "use label_smoothed_cross_entropy")


@pytest.mark.parametrize(
    "options",
    [
        ("--print-alignment", "hard"),
        ("--constraints",),
        ("--retain-dropout",),
        ("--num-batch-buckets", 2),
        ("--left-pad-target",),
    ],
    ids=lambda options: options[0],
)
def test_unsupported_options(prop, options):
    failing(lambda: generate(prop.data, prop.trained, *options), f"{options[0]} is not supported")


@pytest.mark.parametrize(
    "options, fragments",
    [
        (("--stream-attention", "EP-XX"), ("'XX'",)),
        (("--stream-attention", "EP-DP"), ("add CP or CA",)),
        (("--encoder-attention-heads", 5), ("--encoder-attention-heads",)),
        (("--validate-semantics", "prop", "--validate-args", "beam=3"), ("--validate-args",)),
        (("--verify", "prop"), ("--verify is for answers", "--validate-semantics prop")),
    ],
)
def test_unsuitable_model_options(prop, tmp_path, options, fragments):
    failing(lambda: train(prop.data, tmp_path, *options, "--max-update", 1), *fragments)


def test_unknown_semantics(prop):
    options = ("--scoring", "semantic", "--semantics", "sudoku")
    failing(lambda: generate(prop.data, prop.trained, *options), "sudoku", "prop")


def test_only_source_needs_no_target(prop, tmp_path, capsys):
    shutil.copy(prop.root / "test.src", tmp_path / "text.src")
    preprocess(
        tmp_path / "bin",
        *("--only-source", "--testpref", tmp_path / "text"),
        *("--srcdict", prop.data / "dict.src.txt"),
    )
    shutil.copy(prop.data / "dict.tgt.txt", tmp_path / "bin")
    capsys.readouterr()
    generate(tmp_path / "bin", prop.trained, "-s", "src", "-t", "tgt", "--max-len-b", 8)
    assert capsys.readouterr().out.count("\nH-") == 400


@pytest.mark.parametrize(
    "options, fragments",
    [
        (("--autocast", "int8"), ("'int8'", "--autocast bfloat16")),
        (("--autocast", "bfloat16", "--fp16"), ("--fp16", "leave one of them out")),
        (("--autocast", "bfloat16", "--amp"), ("--amp", "leave one of them out")),
        (("--autocast", "bfloat16"), ("slower than float32", "avx512_bf16", "leave it out")),
        (("--bf16",), ("--bf16", "TPU", "pass --autocast bfloat16")),
        (("--bf16", "--autocast", "bfloat16"), ("--bf16", "TPU")),
    ],
    ids=lambda value: "-".join(value),
)
def test_precision_that_is_none(prop, tmp_path, monkeypatch, options, fragments):
    monkeypatch.setattr(precision, "cpu_knows_bfloat16", lambda: False)
    failing(lambda: train(prop.data, tmp_path, *options, "--max-update", 1), *fragments)
    failing(lambda: generate(prop.data, prop.trained, *options), *fragments)


def test_half_precision_of_a_gpu_in_training_without_one(prop, tmp_path):
    begin = lambda *options: train(prop.data, tmp_path, *options, "--max-update", 1)  # noqa: E731
    failing(lambda: begin("--cpu", "--fp16"), "--fp16 trains on a GPU", "--autocast bfloat16")
    failing(lambda: begin("--fp16", "--amp"), "--fp16 and --amp", "leave one out")


def test_another_task(prop, tmp_path):
    options = ("--task", "translation")
    failing(lambda: generate(prop.data, prop.trained, *options), "pass --task stream_translation")


@pytest.mark.parametrize(
    "options, fragments",
    [
        (("--sampling-topk", 3), ("contradict each other: --sampling-topk requires --sampling",)),
        (
            ("--beam", 4, "--diverse-beam-groups", 3),
            ("--beam 4 is no multiple of --diverse-beam-groups 3",),
        ),
        (
            ("--match-source-len", "--sampling", "--nbest", 5),
            ("--sampling and --match-source-len are searches of their own; choose one of them",),
        ),
        (
            ("--match-source-len", "--no-repeat-ngram-size", 2),
            ("--no-repeat-ngram-size 2 may leave --match-source-len nothing to go on with",),
        ),
        (
            ("--sampling", "--nbest", 5, "--no-repeat-ngram-size", 3),
            ("--no-repeat-ngram-size 3 may leave --sampling nothing",),
        ),
        (
            ("--diversity-rate", 0.5, "--no-repeat-ngram-size", 2),
            ("--no-repeat-ngram-size 2 may leave --diversity-rate nothing",),
        ),
    ],
    ids=["top k", "groups", "two searches", "length", "sampling", "siblings"],
)
def test_options_of_the_search_that_contradict_each_other(prop, options, fragments):
    failing(lambda: generate(prop.data, prop.trained, *options), *fragments)


def test_dictionary_that_overwrites_tokens_of_fairseq(prop, tmp_path):
    data = preprocess_lines(tmp_path, ["a", "! b"], ["a 1", "b 0"], "valid")
    for side in ("src", "tgt"):
        file = data / f"dict.{side}.txt"
        file.write_text("<pad> 3 #fairseq:overwrite\n" + file.read_text())
    failing(lambda: train(data, tmp_path / "model"), "overwrites '<pad>'", "remove its line")
