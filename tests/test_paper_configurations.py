"""The paper's configurations, option by option against the paper and the code published with it.

A value that is in no printed line of either is in ``OURS``, with what it is about. Each option
that a file of examples/ names, or that a model, criterion, optimizer or scheduler has, is in one
of the two tables.
"""

import functools
import json
from typing import List

import pytest
from command_line import ROOT
from fairseq import options
from fairseq.dataclass.configs import FairseqConfig
from fairseq.dataclass.initialize import add_defaults
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from omegaconf import OmegaConf

from examples.paper import run as PAPER
from examples.paper.tables import Run, make_runs, make_table
from sit_fairseq.models.config import AttentionPattern

TASKS = ("copying", "ltl", "prop")

# Where the paper says it.
TABLE = "appendix, table Hyperparameter choices"
SETUP = "section Experimental Setup and Baselines"
METHOD = "section Proposed Method; appendix, Algorithm Details"
ABLATION = "section Ablation Analysis"
COSINE = "section Language Models and Transformers, paragraph on the cosine loss"
# The published code: its command line, its defaults, and those of the trainer it calls.
COMMAND = "training command of the published code"
CODE = "published code"
TRAINER = "AdamW and schedule of the trainer that the published code calls"

# Option: value for copying, LTL and propositional logic, and where it is said.
MODEL = {
    "SIDE_embed_dim": (128, 64, 96, TABLE),
    "SIDE_layers": (6, 8, 6, TABLE),
    "SIDE_attention_heads": (8, 4, 6, TABLE),
    "SIDE_ffn_embed_dim": (128, 1024, 768, TABLE),
    "symbol_embedding": (*["streams"] * 3, METHOD),
    # For copying the paper prints none: this is the one it recommends.
    "stream_attention": ("EP-DP-EA-DA-CP", "EP-DP-EA-CP", "EP-DP-EA-DA-CP", ABLATION),
    "encoder_positions": ("rope", "tree", "tree", SETUP),
    "decoder_positions": (*["rope"] * 3, SETUP),
    "share_embeddings": (*["all"] * 3, SETUP),
    "encoder_normalize_before": (*[False] * 3, METHOD),
    "decoder_normalize_before": (*[False] * 3, METHOD),
    "aggregated_normalize_before": (*[False] * 3, METHOD),
    "layernorm_embedding": (*[False] * 3, METHOD),
    "output_head": (*["cosine"] * 3, COSINE),
    "scale_cosine_embedding": (*[False] * 3, COMMAND),
    # As deep as the channels hold; deeper ones are cut off.
    "tree_depth": (*[0] * 3, CODE),
    "layer_norm_eps": (*[1e-6] * 3, CODE),
    "activation_fn": (*["relu"] * 3, CODE),
    "dropout": (*[0.1] * 3, CODE),
    "attention_dropout": (*[0.0] * 3, CODE),
    "activation_dropout": (*[0.0] * 3, CODE),
}
# The same for the baselines, where it differs. Their positions, norms and rates are the same.
BASELINE = {
    "SIDE_embed_dim": (128, 128, 132, TABLE),
    "SIDE_layers": (6, 8, 6, TABLE),
    "SIDE_attention_heads": (8, 8, 6, TABLE),
    "SIDE_ffn_embed_dim": (128, 1024, 512, TABLE),
    "symbol_embedding": (*["fixed"] * 3, SETUP),
    "stream_attention": (*["EP-DP-CP"] * 3, "an ordinary transformer"),
    "scale_cosine_embedding": (*[True] * 3, "training commands of the prior work"),
}
TRAINING = {
    "dataset.batch_size": (512, 768, 1024, TABLE),
    "optimization.update_freq": (*[[1]] * 3, TABLE),
    "optimization.max_update": (20_000, 52_000, 50_000, TABLE),
    "criterion._name": (*["adacos"] * 3, COSINE),
    "criterion.sentence_avg": (*[False] * 3, f"{COSINE}: positions are a batch"),
    "optimizer._name": (*["adamw"] * 3, TRAINER),
    "optimizer.adam_betas": (*["(0.9, 0.95)"] * 3, CODE),
    "optimizer.adam_eps": (*[1e-8] * 3, TRAINER),
    "optimizer.weight_decay": (*[0.1] * 3, CODE),
    "optimizer.lr": (*[[1e-3]] * 3, CODE),
    "optimization.lr": (*[[1e-3]] * 3, CODE),
    "optimization.clip_norm": (*[1.0] * 3, CODE),
    "lr_scheduler._name": (*["cosine"] * 3, CODE),
    "lr_scheduler.lr": (*[[1e-3]] * 3, CODE),
    "lr_scheduler.warmup_updates": (*[1000] * 3, CODE),
    # One half period, from the end of the warm-up, to zero.
    "lr_scheduler.min_lr": (*[0.0] * 3, TRAINER),
    "lr_scheduler.warmup_init_lr": (*[-1] * 3, TRAINER),
    "lr_scheduler.lr_period_updates": (*[-1] * 3, TRAINER),
    "lr_scheduler.t_mult": (*[1.0] * 3, TRAINER),
    "lr_scheduler.max_update": (20_000, 52_000, 50_000, TABLE),
    "common.seed": (*[46] * 3, COMMAND),
    "common.fp16": (*[False] * 3, CODE),
    "common.bf16": (*[False] * 3, CODE),
    "common.amp": (*[False] * 3, CODE),
    "ema.store_ema": (*[False] * 3, CODE),
    "task.symbols": ("[a-z]|p[0-9]+", "[a-z]", "[a-z]", "the symbols of our data"),
    "task.validate_args": (
        {"beam": 1, "max_len_a": 2, "max_len_b": 0},
        {"beam": 3, "max_len_a": 0, "max_len_b": 100},
        {"beam": 3, "max_len_a": 0, "max_len_b": 100},
        f"{SETUP}; lengths: {CODE}",
    ),
}
OURS = {
    # Limits, of other kinds of models alone, or ours.
    "model": "max_source_positions max_target_positions stream_places position_gaps symbol_code_dim "
    "no_encoder_final_norm no_decoder_final_norm no_scale_embedding fresh_symbols fresh_names",
    "criterion": "min_scale",  # the published rule has no bounds, and runs to NaN
    "lr_scheduler": "lr_shrink",  # of later periods
    "common": "user_dir log_interval tensorboard_logdir",
    "task": "_name data source_lang target_lang domain validate_semantics",
    "dataset": "num_workers",
    "checkpoint": "save_dir best_checkpoint_metric maximize_best_checkpoint_metric keep_last_epochs",
}


def path_of(task: str):
    """The file with the paper's configuration."""
    return ROOT / "examples" / "paper" / "hydra" / f"{task}.yaml"


def runs_of(task: str, table: str) -> List[Run]:
    """The runs of a table at the scale paper, which has no other configuration."""
    content = PAPER.read_task(task, "paper", [], ROOT)["tables"][table]
    found = make_table(content, table, PAPER.HERE)
    assert found.hydra == [str(path_of(task))]
    return make_runs(found, ROOT)


STRUCTURE = OmegaConf.structured(FairseqConfig)
PLACES = ["common.user_dir=sit_fairseq", "task.data=data", "checkpoint.save_dir=out"]


@functools.lru_cache(None)
def complete(task: str, *overrides: str) -> dict:
    """All options as hydra gives them to the training, defaults included."""
    written, given = OmegaConf.load(path_of(task)), OmegaConf.from_dotlist([*overrides, *PLACES])
    with_places = OmegaConf.merge(STRUCTURE, written, given)
    add_defaults(with_places)
    found = OmegaConf.to_container(with_places, resolve=True, enum_to_str=True)
    found["task"]["validate_args"] = json.loads(found["task"]["validate_args"])
    return found


def named(arch: str) -> dict:
    """The model's options under the name of an architecture on the command line."""
    parser = options.get_training_parser()
    given = ["data", "--task", "stream_translation"]
    given += ["--arch", f"symbol_invariant_transformer{arch}"]
    cfg = convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, given))
    return OmegaConf.to_container(cfg, resolve=True, enum_to_str=True)["model"]


def published(rows: dict, task: str) -> dict:
    """The column of a table; an option of SIDE is one of the encoder and one of the decoder."""
    return {
        option.replace("SIDE", side): row[TASKS.index(task)]
        for option, row in rows.items()
        for side in ("encoder", "decoder")
    }


@pytest.mark.parametrize("task", TASKS)
def test_every_option_of_the_model_is_the_papers(task):
    model = complete(task)["model"]
    expected = published(MODEL, task)
    assert {option: model[option] for option in expected} == expected
    assert model.keys() - expected.keys() - {*OURS["model"].split()} == {"_name"}
    assert model["_name"] == "symbol_invariant_transformer"


@pytest.mark.parametrize("task", TASKS)
def test_every_option_of_training_is_the_papers(task):
    cfg = complete(task)
    expected = published(TRAINING, task)
    found = {}
    for option in expected:
        section, name = option.split(".")
        found[option] = cfg[section][name]
    assert found == expected


@pytest.mark.parametrize("task", TASKS)
def test_no_option_is_in_neither_table(task):
    written, cfg = OmegaConf.to_container(OmegaConf.load(path_of(task))), complete(task)
    names = {f"{section}.{name}" for section in written for name in written[section]}
    for section in ("criterion", "optimizer", "lr_scheduler"):
        names |= {f"{section}.{name}" for name in cfg[section]}
    known = {f"{section}.{name}" for section in OURS for name in OURS[section].split()}
    known |= TRAINING.keys() | {f"model.{name}" for name in ["_name", *published(MODEL, task)]}
    assert names <= known


@pytest.mark.slow
@pytest.mark.parametrize("task, arch", zip(TASKS, ("_copy", "_ltl", "_prop")))
def test_named_architectures_are_the_papers(task, arch):
    for rows, suffix in ((MODEL, ""), ({**MODEL, **BASELINE}, "_baseline")):
        model, expected = named(arch + suffix), published(rows, task)
        assert {option: model[option] for option in expected} == expected


# How the models of the paper's table differ from the baseline.
MODELS = {
    "Proposed": None,
    "Baseline": {},
    "Full vocabulary": {},
    "Alpha-renaming": {},
    "Random embedding": {"symbol_embedding": "random"},
    "Canonical renaming": {"symbol_embedding": "canonical"},
}


@pytest.mark.slow
@pytest.mark.parametrize("task", ["ltl", "prop"])
def test_models_of_the_table_of_results_are_the_papers(task):
    runs = {run.model: run for run in runs_of(task, "results")}
    assert runs.keys() == MODELS.keys()
    for run in runs.values():
        differences = MODELS[run.model]
        rows = MODEL if differences is None else {**MODEL, **BASELINE}
        expected = {**published(rows, task), **(differences or {})}
        cfg = complete(task, *run.overrides)
        assert {option: cfg["model"][option] for option in expected} == expected
        assert cfg["task"]["alpha_renaming"] == (run.model == "Alpha-renaming")
        assert cfg["common"]["seed"] == 46


@pytest.mark.slow
@pytest.mark.parametrize("task", ["ltl", "prop"])
def test_patterns_of_the_ablation_are_all_that_differs(task):
    runs = runs_of(task, "ablation")
    assert len({AttentionPattern.parse(run.model) for run in runs}) == len(runs) == 19
    for run in runs:
        assert run.overrides == [f"model.stream_attention={run.model}", "common.seed=46"]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("table", ["model", "figures"])
def test_the_proposed_model_is_trained_by_the_configuration_alone(task, table):
    [run] = runs_of(task, table)
    assert run.overrides == ["common.seed=46"]
