"""Every kind of vanilla model becomes a model over streams that computes the same.

The script compares the two itself (``--verify``). Here its result is also compared with
the original as fairseq loads it, for sentences of several symbols: without aggregated
attention a stream is computed as the original computes the sentence in which the stream's
symbol is called *actual* and every other one *placeholder*.
"""

import pytest
import torch
from command_line import sit
from fairseq import checkpoint_utils
from fairseq.data import Dictionary, data_utils
from vanilla_models import KINDS, OPERATORS, REGEX, load

from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.stream_dictionary import StreamDictionary
from sit_fairseq.tasks.stream_translation import StreamTranslationTask

# Symbols that the originals never saw, in sources of 1, 3 and 2 of them.
SOURCES = ["& c | ! c", "xor q & p7 x", "! d | d & a xor"]
TARGETS = ["c 1", "x 0 1 p7", "1 a d a"]
SYMBOLS = {"c", "q", "p7", "x", "d", "a"}

# Another choice of symbols: two sorts, each with its actual symbol and its placeholder.
SORTS = ["--symbols", "early=[a-c]", r"late=[d-z]\d*"]
SORTS += ["--actual", "early=a", "--actual", "late=d", "--placeholder", "early=b"]
SORTS += ["--placeholder", "late=e"]


def load_original(path, data):
    return checkpoint_utils.load_model_ensemble_and_task([str(path)], {"data": str(data)})


def load_converted(path, pattern=r"[a-z]\d*"):
    dictionary = StreamDictionary()
    if pattern is not None:
        dictionary.set_pattern(pattern)
    task = StreamTranslationTask(StreamTranslationConfig(), dictionary, dictionary)
    return checkpoint_utils.load_model_ensemble_and_task([str(path)], task=task)[0][0]


def batch(dictionary: Dictionary, lines, **options):
    """Right-padded indices; symbols get an index if the dictionary is open."""
    sentences = [[*map(dictionary.index, line.split()), dictionary.eos()] for line in lines]
    tensors = [torch.tensor(sentence) for sentence in sentences]
    return data_utils.collate_tokens(tensors, dictionary.pad(), dictionary.eos(), **options)


def renamed(line: str, own: str, sorts: bool) -> str:
    def name(token):
        actual, placeholder = "de" if sorts and token > "c" else "ab"
        return token if token not in SYMBOLS else actual if token == own else placeholder

    return " ".join(map(name, line.split()))


def expected_logits(model, task, source: str, target: str, sorts: bool):
    """Logits of base tokens by name and of symbols by name: (T, ...) for one sentence."""
    names = list(dict.fromkeys(token for token in source.split() if token in SYMBOLS))
    streams = []
    for name in names:
        tokens = batch(task.source_dictionary, [renamed(source, name, sorts)], left_pad=True)
        previous = [renamed(target, name, sorts)]
        previous = batch(task.target_dictionary, previous, move_eos_to_beginning=True)
        streams.append(model(tokens, None, previous)[0][0])
    mean = torch.stack(streams).mean(0)
    words = task.target_dictionary
    base = {token: mean[:, index] for token, index in words.indices.items()}
    own = {name: words.index(renamed(name, name, sorts)) for name in names}
    return base, {name: stream[:, own[name]] for name, stream in zip(names, streams)}


# Those of the other files are compared there.
OTHERS = {"plain", "shared", "pre-norm", "trained"}


@pytest.mark.parametrize("kind", [kind for kind in (*KINDS, "hydra") if kind not in OTHERS])
def test_converted_model_equals_the_original(vanilla, convert, data, kind):
    path, printed = convert(vanilla(kind), "--verify")
    assert "compared on 20 sentences whose only symbol is 'a', from the test split" in printed
    assert "compared on 256 sentences whose only symbol is 'a', from random sentences" in printed
    directory = data.separate if kind.startswith("separate") else data.joined
    [original], _, task = load_original(vanilla(kind), directory)
    with torch.no_grad():
        check_streams(original.eval(), task, load_converted(path).eval())


def test_each_sort_has_an_actual_symbol_and_a_placeholder(vanilla, data, tmp_path, capsys):
    path = tmp_path / "sorts.pt"
    sit("convert", vanilla("tied-learned"), path, *SORTS, "--verify")
    printed = capsys.readouterr().out
    for actual in "ad":
        assert f"compared on 256 sentences whose only symbol is {actual!r}, from random" in printed
    assert "--symbols 'early=[a-c]' 'late=[d-z]\\d*'" in printed
    [original], _, task = load_original(vanilla("tied-learned"), data.joined)
    with torch.no_grad():
        check_streams(original.eval(), task, load_converted(path, None).eval(), sorts=True)


def check_streams(original, task, converted, sorts=False):
    """Compares the logits of sentences with several symbols."""
    dictionary = converted.vocabulary.dictionary
    previous = batch(dictionary, TARGETS, move_eos_to_beginning=True)
    logits, _ = converted(batch(dictionary, SOURCES), None, previous)
    base_tokens = [dictionary[i] for i in converted.vocabulary.index_of_row.tolist()]
    assert base_tokens[4:] == sorted(["&", "|", "!", "xor", "0", "1"])
    for row, (source, target) in enumerate(zip(SOURCES, TARGETS)):
        base, symbols = expected_logits(original, task, source, target, sorts)
        length = len(target.split()) + 1
        columns = [base.get(token) for token in base_tokens] + list(symbols.values())
        for column, expected in enumerate(columns):
            found = logits[row, :length, column]
            if expected is None:  # not in the original's target dictionary
                assert base_tokens[column] in OPERATORS
                assert bool((found == -torch.inf).all())
            else:
                torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
        assert bool((logits[row, :length, len(columns) :] == -torch.inf).all())


def test_options_are_carried_over(vanilla, convert):
    path, printed = convert(vanilla("dropouts"))
    cfg = load(path)["cfg"]
    model, task = cfg["model"], cfg["task"]
    rates = {name: model[f"{name}dropout"] for name in ("", "attention_", "activation_")}
    assert rates == {"": 0.2, "attention_": 0.1, "activation_": 0.3}
    assert (model["share_embeddings"], model["output_head"]) == ("all", "linear")
    assert (model["encoder_layers"], model["decoder_attention_heads"]) == (2, 4)
    assert model["stream_attention"] == "EP-DP-CP" and task["symbols"] == REGEX
    assert task["left_pad_source"] is False and task["source_lang"] == "src"
    # For training to go on with what fairseq's layer norms add, whatever the default.
    assert model["layer_norm_eps"] == 1e-5 and "--layer-norm-eps 1e-05" in printed
    model = load(convert(vanilla("tied-learned"), out="learned.pt")[0])["cfg"]["model"]
    assert (model["max_source_positions"], model["max_target_positions"]) == (40, 30)


def test_moving_average(vanilla, convert, capsys):
    path = vanilla("shared")
    plain, printed = convert(path)
    assert "--ema" in printed
    average, printed = convert(path, "--ema", "--verify", out="ema.pt")
    assert "compared on 20 sentences" in printed and "IN also holds" not in printed
    average = load(average)["model"]["encoder.layers.0.fc1.weight"]
    assert torch.equal(average, load(path)["extra_state"]["ema"]["encoder.layers.0.fc1.weight"])
    assert not torch.equal(average, load(plain)["model"]["encoder.layers.0.fc1.weight"])
