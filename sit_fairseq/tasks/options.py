"""Options of the tasks."""

from dataclasses import dataclass
from typing import Any, List, Optional

from fairseq.dataclass.constants import ChoiceEnum
from fairseq.tasks.translation import TranslationConfig
from omegaconf import II

from sit_fairseq.datasets.options import option
from sit_fairseq.domains import find
from sit_fairseq.errors import UserError
from sit_fairseq.judging.verdict import Verdict


@dataclass
class StreamOptions:
    """Options of all tasks whose sentences hold symbols."""

    symbols: Optional[str] = option(
        None,
        "regular expression that matches the interchangeable tokens in full, or NAME=REGEX for each "
        "of several sorts, within which symbols may be renamed; saved with the model, so that "
        "only fairseq-train needs it (hydra takes a line for each sort)",
    )
    alpha_renaming: bool = option(
        False,
        "in training, rename the symbols of each sentence at random among all symbols of the "
        "dictionary, anew in each epoch",
    )
    fresh_names: Optional[str] = option(
        None,
        "x,y,z,...: names for the symbols of an answer that its source lacks, or of a continuation that "
        "its prompt lacks; it takes the first that are free; saved with the model (default: those of "
        "its training, else the symbols of the dictionary, then v0, v1, ..., even if --symbols does "
        "not match them)",
    )
    strict: bool = option(
        False,
        "fairseq-interactive ends at the first line that it cannot answer; otherwise it prints the "
        "reason as an E- line and goes on",
    )
    autocast: Optional[ChoiceEnum(["bfloat16"])] = option(
        None,
        "compute matrix products in bfloat16 and the rest in float32: faster on a CPU or GPU that "
        "has it, slower on others; not saved with the model",
    )
    train_subset: str = II("dataset.train_subset")
    update_freq: List[int] = II("optimization.update_freq")
    seed: int = II("common.seed")


@dataclass
class StreamTranslationConfig(StreamOptions, TranslationConfig):
    """Options of the task, beside those of fairseq's ``translation``."""

    domain: Optional[str] = option(
        None,
        "the domain of the sentences, by its name or MODULE:OBJECT; saved with the model, whose answers "
        "have the domain's grammar",
    )
    validate_semantics: Optional[str] = option(
        None,
        "in validation, judge generated answers: a domain, exact, alpha, or MODULE:OBJECT, a domain "
        "or judge of your own",
    )
    validate_samples: int = option(
        1000, "how many sentences of each split --validate-semantics judges, from the first"
    )
    validate_args: str = option(
        '{"beam": 1, "max_len_a": 2, "max_len_b": 10}',
        "generation options for --validate-semantics, as JSON",
    )
    verify: Optional[str] = option(
        None,
        "in generation, keep only answers that this judge accepts (verified search): a domain, or "
        "MODULE:OBJECT; if it accepts none, the best answer is kept; a V- line has the verdict",
    )
    verify_beams: Optional[str] = option(
        None,
        "beam widths of --verify, such as 3,10,25: sentences without a verified answer are "
        "searched again with the next width (default: --beam alone)",
    )
    constrained: Optional[str] = option(
        None,
        "in generation, restrict the search to a grammar: of a domain, or MODULE:CLASS, one of your "
        "own; without a value, of the model's --domain; --verify uses its judge's grammar, which "
        "'none' turns off",
        argparse_const="auto",
    )
    left_pad_source: bool = option(False, "pad the source on the left")
    upsample_primary: int = option(
        1, "of a split in several files, how often the first is repeated"
    )
    best_checkpoint_metric: str = II("checkpoint.best_checkpoint_metric")
    maximize_best_checkpoint_metric: bool = II("checkpoint.maximize_best_checkpoint_metric")


def unsupported(what: str) -> UserError:
    """The error for an option or an argument that the task has no use for."""
    return UserError(f"{what} is not supported with symbols; leave it out")


def refuse_given(options: Any, *names: str) -> None:
    """Raises a UserError if one of these options is set; -1 is fairseq's word for none."""
    for name in names:
        if getattr(options, name, None) not in (None, False, 0, -1):
            raise unsupported("--" + name.replace("_", "-"))


def check(cfg: StreamTranslationConfig) -> None:
    """Refuses options that would give wrong results silently."""
    refuse_given(cfg, "num_batch_buckets", "left_pad_target")
    if cfg.domain is not None:
        find(cfg.domain, "domain")
    check_renaming(cfg)
    if cfg.upsample_primary < 1:
        reason = f"the first file of a split cannot be repeated {cfg.upsample_primary} times"
        raise UserError(reason, "upsample_primary")
    metric = cfg.best_checkpoint_metric
    if metric == "bleu" and not cfg.eval_bleu:
        raise UserError("--best-checkpoint-metric bleu needs --eval-bleu; pass it too")
    # Where no command has filled it in, the value is still the text ``${...}`` that names another
    # option; hence ``is False``.
    if metric in ("correct", "exact") and cfg.maximize_best_checkpoint_metric is False:
        raise UserError(
            f"--best-checkpoint-metric {metric} would keep the worst checkpoint; pass "
            "--maximize-best-checkpoint-metric too"
        )
    judged = {"correct", "exact", *(verdict.value for verdict in Verdict)} - {"satisfied"}
    if metric in judged and cfg.validate_semantics is None:
        reason = f"--best-checkpoint-metric {metric} needs a judge"
        raise UserError(f"{reason}; pass --validate-semantics NAME too")


def check_renaming(cfg: StreamOptions) -> None:
    """Refuses to rename nobody knows what."""
    if cfg.alpha_renaming and cfg.symbols is None:
        raise UserError("--alpha-renaming needs --symbols REGEX, to know what to rename")
