"""Options of the ``stream_translation`` task."""

from dataclasses import dataclass, field
from typing import List, Optional

from fairseq.tasks.translation import TranslationConfig
from omegaconf import II


@dataclass
class StreamTranslationConfig(TranslationConfig):
    """Options of the task, beside those of fairseq's ``translation``."""

    symbols: Optional[str] = field(
        default=None,
        metadata={
            "help": "regular expression that matches the interchangeable tokens in full; saved "
            "with the model, so that only fairseq-train needs it"
        },
    )
    fresh_names: Optional[str] = field(
        default=None,
        metadata={
            "help": "x,y,z,...: answers call symbols that their source lacks by the first of these "
            "names that it lacks; saved with the model (default: those of its training; if there "
            "are none, the symbols of the dictionary, then v0, v1, ..., whatever --symbols says)"
        },
    )
    alpha_renaming: bool = field(
        default=False,
        metadata={
            "help": "in training, rename the symbols of each pair at random among all symbols of "
            "the dictionary, anew in each epoch"
        },
    )
    length_ramp_updates: int = field(
        default=0,
        metadata={
            "help": "in training, draw batches from those whose sources are within a limit that "
            "rises linearly to the longest over that many updates; 0 for no limit"
        },
    )
    length_ramp_start: Optional[int] = field(
        default=None,
        metadata={
            "help": "the limit of --length-ramp-updates at the first update, in tokens with </s> "
            "(default: the length of the shortest batch)"
        },
    )
    strict: bool = field(
        default=False,
        metadata={
            "help": "fairseq-interactive ends at the first line that it cannot answer; otherwise "
            "it prints the reason as its E- line and goes on"
        },
    )
    update_freq: List[int] = II("optimization.update_freq")
    seed: int = II("common.seed")
    left_pad_source: bool = field(default=False, metadata={"help": "pad the source on the left"})
    validate_semantics: Optional[str] = field(
        default=None,
        metadata={
            "help": "judge generated answers during validation: prop, ltl, copy, exact, alpha, or "
            "MODULE:CLASS, a judge of your own"
        },
    )
    validate_samples: int = field(
        default=1000,
        metadata={"help": "judge the answers to that many sentences, the first of each split"},
    )
    validate_args: str = field(
        default='{"beam": 1, "max_len_a": 2, "max_len_b": 10}',
        metadata={"help": "generation options for --validate-semantics, as JSON"},
    )
    verify: Optional[str] = field(
        default=None,
        metadata={
            "help": "in generation, answer by the best hypothesis that a judge of prop, ltl, copy "
            "or MODULE:CLASS finds satisfied, by the best one where there is none; a V- line says "
            "which"
        },
    )
    verify_beams: Optional[str] = field(
        default=None,
        metadata={
            "help": "widths of --verify, such as 3,10,25: sentences without a verified answer are "
            "searched again with the next beam (default: --beam alone)"
        },
    )
    autocast: Optional[str] = field(
        default=None,
        metadata={
            "help": "bfloat16: products of matrices in bfloat16, everything else in float32, on a "
            "CPU or a GPU that knows bfloat16; not saved with the model, each command has its own"
        },
    )
    best_checkpoint_metric: str = II("checkpoint.best_checkpoint_metric")
    maximize_best_checkpoint_metric: bool = II("checkpoint.maximize_best_checkpoint_metric")
    cpu: bool = II("common.cpu")
    fp16: bool = II("common.fp16")
    memory_efficient_fp16: bool = II("common.memory_efficient_fp16")
    bf16: bool = II("common.bf16")
    amp: bool = II("common.amp")
    tpu: bool = II("common.tpu")
