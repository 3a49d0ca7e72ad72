"""What is wrong with a checkpoint is told in one sentence."""

import pytest
import torch
from export.conftest import save_checkpoint
from tasks.conftest import load, options, set_tensor

from sit_fairseq.errors import UserError
from sit_fairseq.model import Model


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
        (without("cfg"), "not a readable fairseq checkpoint"),
        (lambda state: state.update(optimizer_history=[]), "its 'optimizer_history' is no list"),
        (lambda state: state.update(extra_state={"train_iterator": "x"}), "its 'extra_state' is"),
        (set_tensor(torch.zeros(1).expand(1 << 20, 1 << 20)), "numbers, but the file holds 4"),
        (claim_more_in_the_average, "numbers, but the file holds 4"),
        (options("model", encoder_layers=10**5), "say encoder_layers 100000, its weights 2"),
        (options("model", encoder_embed_dim=10**9), "1000000000, more than 1000000, as the option"),
        (claim_layers, "options say encoder_layers 100000, its weights 3"),
        (options("model", encoder_attention_heads=0), "channels do not divide into 0 heads"),
        (options("model", dropout="much"), "damaged"),
        (options("model", layer_norm_eps=float("nan")), "nan, more than 1000000"),
        (options("model", layer_norm_eps=0), "change layer_norm_eps"),
        (set_vocabulary("base_tokens", [255.0, 254.0]), "damaged"),
        (set_vocabulary("base_tokens", [float("nan")]), "damaged"),
        (set_pattern(b"[a-"), "not a regular expression"),
        (set_vocabulary("base_tokens", list(map(float, b"a\nb"))), "matches 'a' 'b'"),
        (without_weight("embed_tokens.vocabulary.symbols"), "damaged"),
        (lambda state: state.update(cfg={"model": None}), "damaged"),
        (lambda state: state.update(args=["translation"]), "it lacks 'cfg' or 'args', the"),
        (lambda state: state["cfg"].update(task=None), "it names no model or no task"),
        (set_tensor(torch.eye(3).to_sparse()), "asks for 'torch.serialization._get_layout"),
        (set_tensor(torch.zeros(3, device="meta")), "asks for 'torch._utils._rebuild_meta"),
        (set_tensor(torch.zeros(3, dtype=torch.complex64)), "numbers of the type 'torch.Complex"),
        (options("model", tree_depth=999_999), "say tree_depth 999999"),
        (options("model", encoder_positions="sinusoidal", max_source_positions=10**6), "10000"),
        (options("model", decoder_positions="learned", max_target_positions=10**6), "10000"),
        (options("model", _name="transformer"), "its weights of a model with streams"),
        (options("task", symbols="\ud800"), "is no Unicode text"),
        (set_history("lr_scheduler_state"), "has no 'lr_scheduler_state'"),
        (set_history("num_updates", "x"), "its updates or epochs are no numbers"),
        (set_tensor(torch.full((256, 64), float("nan"))), "fc1.weight holds NaN or numbers"),
        (set_tensor(torch.full((256, 64), 1e30)), "fc1.weight holds NaN or numbers"),
        (set_tensor(torch.zeros(3)), "size mismatch for encoder.layers.0.fc1"),
        (set_tensor(torch.zeros(3), "encoder.layers.0.fc7.weight"), "not those of the model that"),
        (without_weight("layers.0.fc1.weight"), "Missing key"),
        (set_rows(-1), "embedding of .* has .* rows, but its tokens and symbols need"),
        (set_rows(1), "embedding of .* has .* rows, but its tokens and symbols need"),
        (set_copy("weight"), "embed_tokens.weight are one matrix, but differ"),
        (set_copy("vocabulary.base_tokens"), "base_tokens are one matrix, but differ"),
    ],
)
def test_malformed_checkpoints_are_one_sentence(trained, changed, change, message):
    with pytest.raises(UserError, match=message):
        load(changed(change), trained[0])


def test_options_that_no_model_has_do_not_count(trained, changed):
    odd = changed(options("model", encoder="x", decoder_output_dim="x"))
    one, other = (Model.load(path).answer(["& a ! b"], max_length=9) for path in (odd, trained[1]))
    assert one == other


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
