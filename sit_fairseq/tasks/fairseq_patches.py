"""Every place where a part of fairseq is replaced, with the reason: none of its hooks serves."""

import argparse
import collections
import fileinput
import logging
import os
import re
import sys
import traceback
import typing
import warnings
from collections import deque
from functools import lru_cache, partial
from itertools import islice
from types import ModuleType, SimpleNamespace
from typing import IO, Any, Callable, Deque, Dict, Iterator, List, Optional, Tuple

import numpy
import omegaconf
import torch
from fairseq import checkpoint_utils
from fairseq import trainer as fairseq_trainer
from fairseq import utils
from fairseq.data.indexed_dataset import MMapIndexedDataset
from fairseq.dataclass.utils import omegaconf_no_object_check, overwrite_args_by_name
from fairseq.distributed import utils as distributed_utils
from fairseq.file_io import PathManager
from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_REGISTRY
from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import JobReturn
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from sit_fairseq.errors import UserError, advised
from sit_fairseq.storage import checkpoints
from sit_fairseq.storage.files import partial_files
from sit_fairseq.tasks import compiled_parts
from sit_fairseq.tasks.file_options import read_state, readable
from sit_fairseq.tasks.generators import TextScorer
from sit_fairseq.tasks.options import refuse_given
from sit_fairseq.tasks.run import current_run

logger = logging.getLogger(__name__)

# A line about a sentence: its kind, and the id of the sentence.
_LINE = re.compile(r"([A-Z])-(\d+)\t")


# What fairseq sends from process to process as a checkpoint, whose options are objects of OmegaConf
# there. A file may hold none of it.
_SENT = [
    *(argparse.Namespace, collections.defaultdict, dict, int, list, typing.Any),
    *(omegaconf.DictConfig, omegaconf.ListConfig, omegaconf.nodes.AnyNode),
    *(omegaconf.base.ContainerMetadata, omegaconf.base.Metadata),
    distributed_utils._TensorPlaceholder,
]


@lru_cache(maxsize=None)
def patch_fairseq() -> None:
    """Replaces what concerns files, and quietens what concerns nobody; once."""
    if "fairseq_cli" in sys.modules:  # one of fairseq's commands; mistakes would end in tracebacks
        sys.excepthook = partial(_end, sys.excepthook)
        given = JobReturn.return_value
        JobReturn.return_value = given.getter(partial(_return_value, given.fget))
        patch_command()
    torch.serialization.add_safe_globals(_SENT)
    compiled_parts.provide()
    if not hasattr(numpy, "compat"):  # NumPy 2 lacks it, and blocks of a text ask for it
        numpy.compat = SimpleNamespace(long=int)
    checkpoint_utils.load_checkpoint_to_cpu = load_checkpoint_to_cpu
    checkpoint_utils.load_checkpoint = partial(_load_or_end, checkpoint_utils.load_checkpoint)
    PathManager.copy = staticmethod(partial(_copy_whole, PathManager.copy))
    if utils.xm is None:
        utils.get_tpu_device = _no_tpu
    # What a model returns beside tensors, its backward hooks cannot read.
    detector = fairseq_trainer.NanDetector
    fairseq_trainer.NanDetector = partial(detector, backward=False)
    for kind in (MMapIndexedDataset, MMapIndexedDataset.Index):
        kind.__del__ = lambda self: None  # a traceback if a file was not opened
    # On import, a model of fairseq's makes everything log at DEBUG. LOGLEVEL is fairseq's variable.
    if "LOGLEVEL" not in os.environ and logging.getLogger().level == logging.DEBUG:
        logging.getLogger().setLevel(logging.INFO)
    # How fairseq keeps its iterators, said again for each line of a service.
    logging.getLogger("fairseq.tasks.fairseq_task").setLevel(logging.WARNING)
    # How fairseq uses hydra and torch is no affair of its users.
    for message in ("(?s).*(hydra|version_base)", "'pin_memory' argument"):
        warnings.filterwarnings("ignore", message, UserWarning)


def patch_command() -> None:
    """Replaces what fairseq-generate, fairseq-interactive or fairseq-eval-lm, if it runs, works with."""
    # As their entry points load them, and as ``python -m`` does.
    names = ("generate", "interactive", "eval_lm")
    for name in (*map("fairseq_cli.{}".format, names), "__main__"):
        command = sys.modules.get(name)
        file = getattr(command, "__file__", None) or ""
        if file.endswith("fairseq_cli/generate.py"):
            command.print = _print
            if not isinstance(command._main, partial):
                command._main = partial(_generate, command._main)
        elif file.endswith("fairseq_cli/interactive.py"):
            if not isinstance(command.make_batches, partial):
                _Service(command)
        elif file.endswith("fairseq_cli/eval_lm.py"):
            # It compares names with canonical ids.
            if not isinstance(command.SequenceScorer, partial):
                command.SequenceScorer = partial(TextScorer, command.SequenceScorer)


# Mistakes of users.

# How a process that torch starts passes a UserError on: its last line is what the error says.
_PASSED_ON = re.compile(r"^sit_fairseq\.errors\.\w+: (.+)", re.M)


def _mistake(error: BaseException, trace: Any) -> Optional[str]:
    """The sentence that a user is told of an error; None if it is no mistake of theirs."""
    passed_on = _PASSED_ON.findall(str(error))
    if passed_on or isinstance(error, UserError):
        return advised(passed_on[-1] if passed_on else str(error))
    raised = "".join(frame.f_code.co_filename for frame, _ in list(traceback.walk_tb(trace))[-1:])
    if isinstance(error, AssertionError) and "fairseq_cli" in raised:
        return str(error) or None  # fairseq's commands check their options so
    if type(error) is OSError and str(error).startswith("Model file not found"):
        return f"{error}; change --path or --lm-path"
    if isinstance(error, FloatingPointError):
        reason = str(error).splitlines()[0]
        if "between workers" in reason:
            return reason
        return f"the training has diverged ({reason}); lower --lr, or pass --clip-norm"
    if isinstance(error, KeyError) and raised.endswith("fairseq_cli/train.py"):
        return f"no validation measures {error}; change --best-checkpoint-metric"
    if str(error).startswith("Could not infer task type from None"):
        return "no task is named; pass --task, or task._name in a configuration of hydra"
    # What code asks for in vain, as an attribute, is no mistake of the user's.
    of_options = isinstance(error, OmegaConfBaseException) and not isinstance(error, AttributeError)
    if of_options and error.full_key:
        return f"{error.full_key}: {str(error).splitlines()[0]}; see sit options and --help"
    told = type(error) is Exception or isinstance(error, ImportError) and "install" in str(error)
    told = told or isinstance(error, (ValueError, RuntimeError)) and "--" in str(error)
    if told and raised.startswith(os.path.dirname(utils.__file__)):
        return " ".join(str(error).split())  # fairseq raises them for people
    return None


def _end(others: Callable, kind: type, error: BaseException, trace: Any) -> None:
    """Ends a command of fairseq with one sentence where a mistake of the user's ends it."""
    mistake = _mistake(error, trace)
    if mistake is None:
        others(kind, error, trace)
    else:
        print(mistake, file=sys.stderr)


def _return_value(fairseqs: Callable, job: JobReturn) -> Any:
    """The result of a training under hydra, which would print a traceback of a mistake."""
    error = job._return_value
    if isinstance(error, Exception):
        mistake = _mistake(error, error.__traceback__)
        if mistake is not None:
            sys.exit(mistake)
    return fairseqs(job)


# Checkpoints.


def load_checkpoint_to_cpu(
    path: str, arg_overrides: Optional[Dict[str, Any]] = None, load_on_all_ranks: bool = False
) -> Dict[str, Any]:
    """Reads a checkpoint as data, on every rank, and refuses options that are more than that, which
    fairseq would build and run. ``arg_overrides`` are options of the command, which replace those of
    the file."""
    remedy = "name another file with --path, --restore-file or --finetune-from-model"
    # In Python the data are always given; fairseq-validate gives them, too, beside its --path.
    given = arg_overrides or {}
    given = given if "data" in given and "path" not in given else None
    state = read_state(PathManager.get_local_path(path), given, remedy)
    with omegaconf_no_object_check():  # fairseq's old models have their options as objects
        state["cfg"] = OmegaConf.create(state["cfg"])
    overwrite_args_by_name(state["cfg"], arg_overrides or {})
    training = checkpoints.minimal({}, {})  # of a file of weights and options alone
    for entry, before in (("optimizer_history", "best_loss"), ("extra_state", "epoch")):
        if before not in state:  # fairseq once called them so
            state.setdefault(entry, training[entry])
    with checkpoints.explained(path, remedy):
        state = checkpoint_utils._upgrade_state_dict(state)
    # fairseq begins an average with weights that it has deleted by then.
    state["extra_state"].setdefault("ema", state["model"])
    return state


def _copy_whole(copy: Callable, src_path: str, dst_path: str, overwrite: bool = False) -> bool:
    """Copies a checkpoint, which takes its name once it is complete: a kill would leave half a *best*
    or *last*."""
    if not overwrite or not PathManager.supports_rename(dst_path):
        return copy(src_path, dst_path, overwrite)
    with partial_files(dst_path) as (temporary,):
        return copy(src_path, temporary, overwrite)


def _no_tpu() -> None:
    raise UserError("--bf16 needs a TPU; leave it out, or pass --autocast bfloat16")


def _load_or_end(load: Callable, cfg: Any, trainer: Any, **kwargs: Any) -> Any:
    """Begins fairseq-train. It ends if ``--max-update`` was reached before, as one more update would be
    made. A UserError names what keeps it from training, or from reading its checkpoints."""
    common = trainer.cfg.common
    for section in ("model", "task", "criterion"):
        options = getattr(trainer.cfg, section)
        # Without a dataclass they are all options of the command, whose arch is the model's.
        name = getattr(options, "_name", None) or getattr(options, "arch", None)
        if name is not None and not readable(section, name):
            raise UserError(
                f"with --user-dir sit_fairseq no checkpoint of the {section} {name} is read again; name "
                "another, or give a class of your own a dataclass of options"
            )
        named = section == "model" and name in ARCH_MODEL_REGISTRY and name not in MODEL_REGISTRY
        # Of several processes fairseq begins each without hydra, but with its logging.
        if named and (HydraConfig.initialized() or "job_logging_cfg" in trainer.cfg):
            built = ARCH_MODEL_REGISTRY[name]
            kind = next(one for one, of in MODEL_REGISTRY.items() if of is built)
            reason = f"under hydra the architecture {name} has no sizes of its own"
            raise UserError(f"{reason}; name {kind} and write its sizes out", "model._name")
    for option in ("finetune_from_model", "restore_file"):
        given = getattr(cfg, option)
        if given and os.path.isdir(given):
            raise UserError(f"{given} is a folder; name the file of a checkpoint", option)
    if common.fp16 and not common.memory_efficient_fp16 and not trainer.cuda:
        raise UserError("--fp16 needs a GPU; leave it out, or pass --autocast bfloat16")
    if trainer.cfg.dataset.num_shards > 1:
        raise UserError("fairseq-train reads the whole data", "num_shards")
    try:
        loaded = load(cfg, trainer, **kwargs)
    except AssertionError as error:  # another optimizer or criterion
        raise UserError(f"the training in {cfg.save_dir} cannot go on: {error}")
    except Exception as error:
        if isinstance(error.__context__, UserError):  # which fairseq covers up
            raise error.__context__ from None
        raise
    most = trainer.cfg.optimization.max_update
    if 0 < most <= trainer.get_num_updates():
        logger.info("the %d updates of --max-update are done: nothing is left to train", most)
        raise SystemExit(0)
    return loaded


# Commands that answer.


def _generate(fairseqs: Callable, cfg: Any, output: IO[str]) -> Any:
    """Answers a shard, for which fairseq would take the number of GPUs, and ends the run."""
    shards, shard = cfg.dataset.num_shards, cfg.dataset.shard_id
    if not 0 <= shard < shards:
        raise UserError(f"there is no shard {shard} of {shards}", "num_shards shard_id")
    cfg.distributed_training.distributed_world_size = shards
    cfg.distributed_training.distributed_rank = shard
    try:
        scorer = fairseqs(cfg, output)
    except ZeroDivisionError:  # of the sentences of a second
        if shards == 1:
            raise
        logger.warning("shard %d of %d has nothing to answer: lower --batch-size", shard, shards)
        return None
    except TypeError as error:
        if cfg.generation.prefix_size > 0 and "not subscriptable" in str(error):  # no target
            raise UserError("the data have no targets, of which a prefix is", "prefix_size")
        raise
    run = current_run()
    if run is not None:
        run.end()
        # fairseq asks where there are references.
        if run.scorer is not None and not run.scorer.told:
            how = f"{cfg.dataset.gen_subset} with beam={cfg.generation.beam}"
            print(f"Generate {how}: {run.scorer.result_string()}", file=output)
    return scorer


def _print(text: str, **options: Any) -> None:
    """Prints a line of a command and, below a sentence, its ``V-`` line. A sentence without an answer
    has an ``E-`` line in the place of its hypotheses."""
    run, line = current_run(), _LINE.match(text)
    if run is not None and line is None:  # fairseq's own closing line
        run.end()
    if run is None or line is None:
        print(text, **options)
        return
    kind, number = line[1], int(line[2])
    if kind in "STWC" or run.reason is None:
        print(text, **options)
    elif kind == "H":
        print(f"E-{number}\t{run.reason}", **options)
    if kind == "S":
        run.begin_sentence(number, partial(print, **options))


def _open(path: str, mode: str) -> IO[str]:
    try:
        return open(path, mode, encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror}", "input")


class _Service:
    """Makes fairseq-interactive answer every line that can be answered.

    A line that cannot is printed in its place as ``S-`` and ``E-``, with the reason; then the command
    ends with status 1. The answers to a buffer are flushed before the next is read.
    """

    def __init__(self, command: ModuleType) -> None:
        self._first = 0  # id of the buffer's first line
        self._known: Optional[int] = None  # tokens of the dictionary before the first line
        self._number_refused = 0
        self._batch = command.Batch
        self._refused: Deque[Tuple[int, str, str]] = deque()  # id, line, reason; not yet printed
        command.buffered_read = self._read_buffers
        command.make_batches = partial(self._make_batches, command.make_batches)
        command.print = self._print

    def _read_buffers(self, input: str, buffer_size: int) -> Iterator[List[str]]:
        self._first, self._known, self._number_refused = 0, None, 0
        self._refused.clear()
        if input == "-":
            sys.stdin.reconfigure(errors="surrogateescape")  # bytes that are no text
        with fileinput.FileInput(files=[input], openhook=_open) as text:
            while lines := [line.strip() for line in islice(text, buffer_size)]:
                yield lines
                # All its answers are printed.
                self._first += len(lines)
                self._print_refused()
                sys.stdout.flush()
        run = current_run()
        if run is not None:
            run.end()
        if self._number_refused:
            raise UserError(
                f"{self._number_refused} of {self._first} lines could not be answered; the E- line "
                "of each says why"
            )

    def _make_batches(
        self, fairseqs: Callable, lines: List[str], cfg: Any, task: Any, *args: Any
    ) -> Iterator[Any]:
        if not hasattr(task, "read"):  # a task of fairseq's
            yield from fairseqs(lines, cfg, task, *args)
            return
        if self._known is None:
            self._known = len(task.source_dictionary)
        task.source_dictionary.forget_after(self._known)  # names of the buffer before
        if cfg.dataset.num_shards > 1:
            raise UserError("fairseq-interactive answers every line", "num_shards")
        refuse_given(cfg.generation, "constraints", "prefix_size", "lm_path")
        pairs, refused = task.read(lines, args[-1], cfg.dataset.max_tokens)
        for place, error in refused.items():
            if task.cfg.strict:
                raise error
            self._refused.append((self._first + place, lines[place], error.reason))
        self._number_refused += len(refused)
        if not len(pairs):
            return
        answered = torch.tensor(
            [place for place in range(len(lines)) if place not in refused], device="cpu"
        )
        limits = {"max_tokens": cfg.dataset.max_tokens, "max_sentences": cfg.dataset.batch_size}
        batches, run = task.get_batch_iterator(pairs, **limits), current_run()
        for batch in batches.next_epoch_itr(shuffle=False):
            ids, inputs = answered[batch["id"]], batch["net_input"]
            run.ids, run.lines = ids + self._first, [pairs.lines[i] for i in batch["id"]]
            yield self._batch(ids, inputs["src_tokens"], inputs["src_lengths"], None)

    def _print(self, text: str) -> None:
        if text.startswith("S-"):
            self._print_refused(int(text[2 : text.index("\t")]))
            _print(text)
            run = current_run()
            self._number_refused += run is not None and run.reason is not None
        else:
            _print(text)

    def _print_refused(self, end: Optional[int] = None) -> None:
        """Prints those before the line with the id ``end``, by default all."""
        while self._refused and (end is None or self._refused[0][0] < end):
            number, line, reason = self._refused.popleft()
            text = line.encode(errors="surrogateescape").decode(errors="backslashreplace")
            print(f"S-{number}\t{' '.join(text.split())}\nE-{number}\t{reason}")
