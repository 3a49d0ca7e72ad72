"""What no task, search, criterion or optimizer can have is refused by the name of an option."""

from argparse import Namespace
from functools import partial

import pytest
import torch
from conftest import make_model, make_sample, make_task
from fairseq.optim import build_optimizer
from omegaconf import OmegaConf

from sit_fairseq.errors import UserError
from sit_fairseq.search.verified_search import beam_widths
from sit_fairseq.tasks.scoring import generation_options
from sit_fairseq.training.criterions import AdaCosCriterion, MinimumRiskCriterion
from sit_fairseq.training.optimizers import AdamWConfig

TASKS = [
    (dict(upsample_primary=-1), "upsample_primary"),
    (dict(best_checkpoint_metric="bleu"), "--eval-bleu"),
    (dict(best_checkpoint_metric="violated"), "--validate-semantics"),
    (dict(alpha_renaming=True), "--alpha-renaming"),
    (dict(num_batch_buckets=2), "--num-batch-buckets"),
    (dict(left_pad_target=True), "--left-pad-target"),
    (
        dict(best_checkpoint_metric="correct", maximize_best_checkpoint_metric=False),
        "--maximize-best-checkpoint-metric",
    ),
    (
        dict(best_checkpoint_metric="exact", maximize_best_checkpoint_metric=True),
        "--validate-semantics",
    ),
]
# Options of the task and of one call.
SEARCHES = [
    ({}, dict(sampling_topk=3), "--sampling"),
    (dict(verify="prop", domain="ltl"), {}, "prop .* is of ltl; change verify$"),
    ({}, dict(match_source_len=True, sampling=True), "exclusive"),
    ({}, dict(constraints="ordered"), "--constraints"),
    ({}, dict(print_alignment="hard"), "--print-alignment"),
    ({}, dict(retain_dropout=True), "--retain-dropout"),
    ({}, dict(retain_iter_history=True), "--retain-iter-history"),
    ({}, dict(lenpen=500), "a length penalty of 500 is"),
    # No grammar: a model without a domain, an unknown name, a domain that has none, a function.
    *((dict(constrained=name), {}, "change constrained") for name in ("auto", "unknown")),
    (dict(constrained="auto", domain="copying"), {}, "copying .*constrained"),
    (dict(constrained="pytest:raises"), {}, "change constrained"),
    (dict(verify="prop"), dict(score_reference=True), "--score-reference"),
    (dict(verify="exact"), {}, "references"),
    (dict(verify_beams="3"), {}, "--verify-beams"),
]


def search(options, given, sample=None, prefix=None, **more):
    task = make_task(**options)
    model = make_model(task.source_dictionary)
    generator = task.build_generator([model], Namespace(**given), **more)
    task.inference_step(generator, [model], make_sample(task.source_dictionary), prefix)


def optimizer(name, parameter, **options):
    cfg = OmegaConf.structured(AdamWConfig(lr=[0.1], **options))
    OmegaConf.set_struct(cfg, False)
    cfg._name = name
    return build_optimizer(cfg, [torch.nn.Parameter(parameter)])


def loss(kind, options=None, **more):
    task = make_task()
    model = make_model(task.source_dictionary, **(options or {})).train()
    kind(task, False, **more)(model, make_sample(task.source_dictionary))


risk = partial(loss, MinimumRiskCriterion)
GAPS = dict(position_gaps=9, decoder_positions="none")

REFUSED = [
    *((partial(make_task, **options), option) for options, option in TASKS),
    *((partial(search, options, given), option) for options, given, option in SEARCHES),
    (partial(search, {}, {}, prefix_allowed_tokens_fn=lambda *_: [2]), "prefix_allowed_tokens_fn"),
    (partial(search, {}, dict(max_len_b=2, print_step=True)), "--print-step"),
    (partial(search, dict(verify="prop"), {}, prefix=torch.full((4, 1), 4)), "prefix"),
    (lambda: make_task(constrained="prop").build_generator([torch.nn.ReLU()], Namespace()), "own"),
    *(
        (partial(generation_options, text), "--validate-args")
        for text in ('{"bea": 3}', "[3]", "x")
    ),
    (partial(generation_options, '{"prefix_size": 2}'), "--prefix-size"),
    (lambda: make_task().build_generator([make_model(), torch.nn.ReLU()], Namespace()), "vote"),
    *((partial(beam_widths, widths, "x"), "x$") for widths in ("", "3,x", "0,3", "3,3", 5, [True])),
    *(
        (partial(loss, AdaCosCriterion, min_scale=s), "min_scale")
        for s in (0.5, 31.0, float("nan"))
    ),
    (partial(loss, AdaCosCriterion, dict(output_head="linear")), "output_head"),
    *(
        (partial(risk, **option), [*option][0])
        for option in (dict(risk_beam=1), dict(risk_weight=0))
    ),
    *((partial(risk, risk_semantics=name), "risk_semantics") for name in (None, "exact")),
    # What --fp16 makes of a model unless told otherwise.
    (partial(optimizer, "muon", torch.zeros(10_000)), "fp16_no_flatten_grads"),
    (lambda: optimizer("adamw", torch.zeros(2)).supports_flat_params, "fp16_no_flatten_grads"),
    *(
        (partial(optimizer, "adamw", torch.zeros(2), adam_betas=betas), "adam_betas")
        for betas in ("0.9", "(0.9,)", 0.9, "(0.9, 1)", "(-0.1, 0.9)", "('a', 0.9)")
    ),
    *(
        (partial(optimizer, "adamw", torch.zeros(2), **{name: -1.0}), name)
        for name in ("adam_eps", "weight_decay")
    ),
    *(
        (partial(make_model, **GAPS, encoder_positions=p), "position_gaps")
        for p in ("tree", "none")
    ),
    (partial(make_model, position_gaps=-1), "position_gaps"),
]


@pytest.mark.parametrize("call, option", REFUSED, ids=[str(n) for n in range(len(REFUSED))])
def test_the_option_is_named(call, option):
    with pytest.raises(UserError, match=option) as error:
        call()
    assert "\n" not in str(error.value)


def test_what_is_refused_is_allowed_elsewhere():
    best = dict(best_checkpoint_metric="correct", maximize_best_checkpoint_metric=True)
    make_task(**best, validate_semantics="prop")
    assert generation_options('{"beam": 3}') == Namespace(beam=3)
    assert beam_widths("3,25") == beam_widths([3, 25]) == [3, 25]
    task = make_task(constrained="auto")
    task.load_state_dict({"domain": "ltl"})
    assert task.domain("constrained") == "ltl"
    task = make_task(domain="prop")
    assert MinimumRiskCriterion(task, False)._judges.judge.semantics == "prop"
