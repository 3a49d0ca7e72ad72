"""What is wrong with a checkpoint is told in one sentence, and in seconds."""

import time

import pytest
import torch
from export.conftest import save_checkpoint
from tasks.conftest import load, options, set_tensor

from sit_fairseq.errors import UserError
from sit_fairseq.model import Model
from sit_fairseq.symbols.saved_tokens import buffer_text, text_buffer


def without(*names):
    def change(state):
        for name in names:
            del state[name]

    return change


def set_vocabulary(name, numbers):
    """In all copies."""
    names = [f"{side}.embed_tokens.vocabulary.{name}" for side in ("encoder", "decoder")]
    return lambda state: state["model"].update(dict.fromkeys(names, torch.tensor(numbers)))


def set_pattern(text):
    def change(state):
        state["cfg"]["task"]["symbols"] = None
        set_vocabulary("symbols", list(map(float, text)))(state)

    return change


def without_weight(name):
    return lambda state: state["model"].pop(f"encoder.{name}")


def set_history(name, *values):
    """Changes or removes what is known of the last training."""

    def change(state):
        del state["optimizer_history"][-1][name]
        state["optimizer_history"][-1].update(zip([name], values))

    return change


def set_rows(more):
    """Another number of rows, in all copies of the matrix."""

    def change(state):
        for name, value in state["model"].items():
            if name.endswith("embed_tokens.weight"):
                state["model"][name] = torch.cat((value, value))[: len(value) + more].clone()

    return change


def set_copy(name):
    """Another copy in the decoder."""

    def change(state):
        value = state["model"][f"decoder.embed_tokens.{name}"]
        state["model"][f"decoder.embed_tokens.{name}"] = value.flip(0).clone()

    return change


def claim_layers(state):
    state["cfg"]["model"]["encoder_layers"] = 10**5
    state["model"]["encoder.layers.99999.fc1.weight"] = torch.zeros(1)


def claim_more_in_the_average(state):
    state["extra_state"]["ema"] = {"weight": torch.zeros(1).expand(1 << 20, 1 << 20)}


@pytest.mark.parametrize(
    "change, message",
    [
        (without("model"), "it lacks 'model', the weights by name"),
        (lambda state: state.update(model={"a": 1}), "it lacks 'model', the weights by name"),
        (without("cfg"), "not a readable fairseq checkpoint"),
        (lambda state: state.update(optimizer_history=[]), "its 'optimizer_history' is no list"),
        (lambda state: state.update(extra_state={"train_iterator": "x"}), "its 'extra_state' is"),
        (set_tensor(torch.zeros(1).expand(1 << 20, 1 << 20)), "numbers, but the file holds 4"),
        (claim_more_in_the_average, "numbers, but the file holds 4"),
        (options("model", encoder_layers=10**5), "say encoder_layers 100000, its weights 2"),
        (options("model", encoder_embed_dim=10**9), "1000000000, more than 1000000, as the option"),
        (claim_layers, "options say encoder_layers 100000, its weights 3"),
        (options("model", encoder_attention_heads=0), "channels do not divide into 0 heads"),
        (options("model", encoder_attention_heads="many"), "damaged"),
        (options("model", dropout="much"), "damaged"),
        (options("model", stream_attention="XX"), "'XX'"),
        (options("model", encoder_positions="sideways"), "positions 'sideways' is none of"),
        (options("model", layer_norm_eps=float("nan")), "nan, more than 1000000, as the option"),
        (
            options("model", layer_norm_eps=0),
            "0.0, which must be positive; change layer_norm_eps",
        ),
        (set_vocabulary("base_tokens", [255.0, 254.0]), "damaged"),
        (set_vocabulary("base_tokens", [float("nan")]), "damaged"),
        (set_vocabulary("symbols", [float("inf")]), "damaged"),
        (set_pattern(b"[a-"), "not a regular expression"),
        (set_pattern(b"(" * 5000 + b"a" + b")" * 5000), "longer"),
        (set_vocabulary("base_tokens", list(map(float, b"a\nb"))), "matches 'a' 'b'"),
        (without_weight("embed_tokens.vocabulary.symbols"), "damaged"),
        (without_weight("embed_tokens.vocabulary.base_tokens"), "damaged"),
        (lambda state: state.update(cfg={"model": None}), "damaged"),
        (lambda state: state.update(args=["translation"]), "it lacks 'cfg' or 'args', the"),
        (lambda state: state.update(cfg="fconv"), "damaged"),
        (lambda state: state["cfg"].update(task=None), "it names no model or no task"),
        (set_tensor(torch.eye(3).to_sparse()), "asks for 'torch.serialization._get_layout"),
        (
            set_tensor(torch.quantize_per_tensor(torch.eye(3), 1, 0, torch.qint8)),
            "numbers of the type 'torch.QInt8",
        ),
        (set_tensor(torch.zeros(3, device="meta")), "asks for 'torch._utils._rebuild_meta"),
        (set_tensor(torch.zeros(3, dtype=torch.complex64)), "numbers of the type 'torch.Complex"),
        (set_tensor(torch.full((256, 64), float("inf")).half()), "fc1.weight holds NaN or numbers"),
        (options("model", tree_depth=999_999), "say tree_depth 999999, its weights another"),
        (
            options("model", encoder_positions="sinusoidal", max_source_positions=10**6),
            "say max_source_positions 1000000",
        ),
        (
            options("model", decoder_positions="learned", max_target_positions=10**6),
            "say max_target_positions 1000000",
        ),
        (options("model", _name="transformer"), "its weights of a model with streams"),
        (options("task", symbols="\ud800"), "is no Unicode text"),
        (set_history("lr_scheduler_state"), "has no 'lr_scheduler_state'"),
        (set_history("num_updates", "x"), "its updates or epochs are no numbers"),
        (
            lambda state: state["extra_state"]["train_iterator"].update(epoch="x"),
            "its updates or epochs are no numbers",
        ),
        (set_tensor(torch.full((256, 64), float("nan"))), "fc1.weight holds NaN or numbers beyond"),
        (set_tensor(torch.full((256, 64), 1e30)), "fc1.weight holds NaN or numbers beyond 1000000"),
        (set_tensor(torch.zeros(3)), "size mismatch for encoder.layers.0.fc1"),
        (set_tensor(torch.zeros(3), "encoder.layers.0.fc7.weight"), "not those of the model that"),
        (without_weight("layers.0.fc1.weight"), "Missing key"),
        (set_rows(-1), "embedding has .* rows, but its tokens and symbols need"),
        (set_rows(1), "embedding has .* rows, but its tokens and symbols need"),
        (set_copy("weight"), "embed_tokens.weight are one matrix, but differ"),
        (set_copy("vocabulary.base_tokens"), "base_tokens are one matrix, but differ"),
    ],
)
def test_malformed_checkpoints_are_one_sentence(trained, changed, change, message):
    with pytest.raises(UserError, match=message):
        load(changed(change), trained[0])


def test_weights_and_options_alone_are_a_checkpoint(trained, changed):
    bare = changed(without("optimizer_history", "extra_state", "task_state"))
    assert load(bare, trained[0]).models
    models = map(Model.load, (bare, trained[1]))
    one, other = (model.answer(["& a ! b"], max_length=9) for model in models)
    assert one == other


def test_half_of_an_old_state_of_training_is_one_sentence(trained, changed):
    def change(state):
        del state["optimizer_history"]
        state["best_loss"] = 1.0

    with pytest.raises(UserError, match="evil.pt is not a readable fairseq checkpoint .*optimizer"):
        load(changed(change), trained[0])


def test_names_of_fresh_symbols_are_text(tmp_path):
    state = torch.load(save_checkpoint(tmp_path / "model.pt", fresh_symbols=2), weights_only=True)
    state["cfg"]["task"]["fresh_names"] = True
    torch.save(state, tmp_path / "model.pt")
    with pytest.raises(UserError, match="its fresh names are no text"):
        Model.load(str(tmp_path / "model.pt"))


def test_many_base_tokens_take_seconds(trained, changed):
    """Version 0.2 took 12 for as many."""
    more = [f"T{number}" for number in range(50_000)]

    def change(state):
        weights = state["model"]
        for name, value in list(weights.items()):
            if name.endswith("vocabulary.base_tokens"):
                tokens = [token for token in buffer_text(value).split("\n") if token]
                weights[name] = text_buffer("\n".join(more + tokens))
            elif name.endswith("vocabulary.source_only"):
                weights[name] = torch.cat((value[:4], torch.zeros(len(more)), value[4:]))
            elif name.endswith(("embed_tokens.weight", "output_projection.weight")):
                weights[name] = torch.cat((value[:4], value[:1].expand(len(more), -1), value[4:]))

    large = changed(change)
    before = time.process_time()
    model = load(large, trained[0])
    assert time.process_time() - before < 7
    assert len(model.models[0].vocabulary.row_tokens) > len(more)
