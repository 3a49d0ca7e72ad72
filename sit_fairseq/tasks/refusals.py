"""Options and data that the ``stream_translation`` task cannot work with, refused by name."""

import contextlib
import os
import re
from typing import Any, Iterator, List, Optional, Sequence

import numpy
from fairseq import utils
from fairseq.data import Dictionary, data_utils
from torch.nn.parallel import DistributedDataParallel

from sit_fairseq.errors import UnansweredError, UserError
from sit_fairseq.judging.judge import JUDGES
from sit_fairseq.symbols.pattern import SPECIAL_TOKENS, is_filler
from sit_fairseq.tasks import judged_validation
from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.precision import check_precision
from sit_fairseq.tasks.stream_dictionary import StreamDictionary
from sit_fairseq.tasks.stream_pairs import StreamPairDataset


def unsupported(what: str) -> UserError:
    """An option, by its flag, or an argument that the task has no use for."""
    return UserError(f"{what} is not supported by stream_translation; leave it out")


def check_options(cfg: StreamTranslationConfig) -> None:
    """Refuses options that the task does not have, and those that contradict each other.

    Raises:
        UserError: naming the option.
    """
    check_precision(cfg)
    _refuse_any(cfg, ("num_batch_buckets", "left_pad_target"))
    if cfg.alpha_renaming and cfg.symbols is None:
        raise UserError("--alpha-renaming needs --symbols REGEX, to know what to rename")
    if cfg.verify_beams is not None and cfg.verify is None:
        raise UserError("--verify-beams needs --verify SEMANTICS, to know who judges")


def refuse_verified_training(cfg: StreamTranslationConfig) -> None:
    """Refuses ``--verify`` where nothing is answered for anybody.

    Raises:
        UserError: it is given.
    """
    if cfg.verify is not None:
        raise UserError(
            "--verify is for answers, which training gives to nobody: leave it out, and name "
            f"--validate-semantics {cfg.verify} to have validation judged"
        )


def dictionary_files(cfg: StreamTranslationConfig) -> List[str]:
    """The dictionaries of source and target, whose languages are completed in the options.

    Raises:
        UserError: the data directory is none of fairseq-preprocess.
    """
    path = utils.split_paths(cfg.data or "")[0]
    if not os.path.isdir(path):
        raise UserError(
            f"{path!r} is not a directory written by fairseq-preprocess; run that first "
            "and name its --destdir"
        )
    if cfg.source_lang is None or cfg.target_lang is None:
        cfg.source_lang, cfg.target_lang = data_utils.infer_language_pair(path)
    if cfg.source_lang is None or cfg.target_lang is None:
        raise UserError(
            f"{path} holds no binarised data to tell the languages from; pass "
            "--source-lang and --target-lang"
        )
    files = [os.path.join(path, f"dict.{lang}.txt") for lang in (cfg.source_lang, cfg.target_lang)]
    for file in files:
        if not os.path.isfile(file):
            raise UserError(f"{file} is missing; run fairseq-preprocess --joined-dictionary")
    return files


@contextlib.contextmanager
def explained_split(split: str, data: str) -> Iterator[None]:
    """Context manager: what fairseq raises where a split cannot be loaded becomes a sentence.

    Raises:
        UserError: naming the split.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise UserError(
            f"{error}; run fairseq-preprocess with --{split}pref, or name another split"
        )
    except AssertionError as error:  # the first to compare the two sides
        raise UserError(
            f"the {split} split of {data}: {error}; give fairseq-preprocess files whose lines "
            "belong together, with Unix or Windows line ends"
        )
    except UnicodeDecodeError as error:  # of --dataset-impl raw
        raise UserError(
            f"the {split} split of {data} is no text in UTF-8 ({error}); run fairseq-preprocess "
            "again"
        )


def binarised_prefixes(cfg: StreamTranslationConfig, split: str) -> List[str]:
    """What fairseq may load as a split: both languages, all parts (``train1``), all folders."""
    if cfg.dataset_impl == "raw":
        return []
    source, target = map(re.escape, (cfg.source_lang, cfg.target_lang))
    pattern = f"{re.escape(split)}\\d*\\.({source}-{target}|{target}-{source})"
    pattern += f"\\.({source}|{target})\\.idx"
    return sorted(
        os.path.join(folder, name[: -len(".idx")])
        for folder in utils.split_paths(cfg.data)
        if os.path.isdir(folder)
        for name in os.listdir(folder)
        if re.fullmatch(pattern, name)
    )


def check_dictionaries(files: Sequence[str], dictionaries: Sequence[StreamDictionary]) -> None:
    """Refuses dictionaries of source and target that differ, have other special tokens than
    fairseq's, or were made of marked files.

    Raises:
        UserError: naming the files.
    """
    source, target = dictionaries
    if source != target:
        raise UserError(
            f"{files[0]} and {files[1]} differ, but a symbol of the source must be the same "
            "token in the target; run fairseq-preprocess again with --joined-dictionary"
        )
    for index, token in enumerate(Dictionary().symbols):
        if source.indices[token] != index:
            raise UserError(
                f"{files[0]} overwrites {token!r}, a token of fairseq's own; remove its line, or "
                "call the token otherwise and run fairseq-preprocess again"
            )
    marked = [token for token in source.symbols if "\ufeff" in token]
    if marked:
        raise UserError(
            f"{files[0]} holds the token {marked[0]!r}, as line 1 of a file given to "
            "fairseq-preprocess begins with a byte order mark; save the files without one and "
            "run it again"
        )


def require_symbols(dictionary: StreamDictionary, data: str) -> None:
    """In training the data must hold some; a dictionary to answer with need not.

    Raises:
        UserError: there is no pattern, or nothing that it matches.
    """
    pattern = dictionary.pattern
    if pattern is None:
        raise UserError(
            "--symbols REGEX is missing: say which tokens are interchangeable, "
            "for example --symbols '[a-z]'"
        )
    if not dictionary.known_symbols():
        raise UserError(
            f"--symbols {pattern!r} matches no token of the dictionary in {data}; "
            "choose a regular expression that matches whole tokens"
        )


def check_fresh_names(cfg: Any, fresh_symbols: int) -> None:
    """Refuses names that nothing will ever be called by.

    Raises:
        UserError: the model has no fresh symbols.
    """
    if getattr(cfg, "fresh_names", None) is not None and not fresh_symbols:
        raise UserError(
            f"--fresh-names {cfg.fresh_names!r} name the symbols of answers that their sources "
            "lack, but the model has none: leave them out, or train with --fresh-symbols"
        )


def check_text(line: str) -> None:
    """Refuses a typed line with bytes that are no UTF-8, which Python keeps as surrogates.

    Raises:
        UnansweredError: it has some.
    """
    try:
        line.encode()
    except UnicodeEncodeError:
        raise UnansweredError("the line is no text in UTF-8", line)


def check_tokens(tokens: Sequence[str], line: str, dictionary: StreamDictionary) -> None:
    """Refuses a typed line with a token that is neither a base token nor a symbol.

    Raises:
        UnansweredError: naming the first such token.
    """
    for token in tokens:
        if token in SPECIAL_TOKENS or is_filler(token):
            raise UnansweredError(f"the sentence holds {token}, a token of fairseq's own", line)
        if token not in dictionary and not dictionary.is_symbol(token):
            unknown = f"unknown token {token[:40]!r}, no base token of the model"
            if dictionary.pattern is not None:
                unknown += f" and not matched by --symbols {dictionary.pattern!r}"
            raise UnansweredError(unknown, line)


def limit_exceeded(
    dataset: StreamPairDataset, longest: int, max_tokens: Optional[int]
) -> Optional[str]:
    """Why a sentence is too long, None if it is not.

    Args:
        dataset: holds the sentence alone.
        longest: tokens with ``</s>`` that the model reads.
        max_tokens: most stream tokens of a batch, None for no limit.
    """
    length = int(dataset.src_sizes[0])
    if length > longest:
        return (
            f"the sentence has {length} tokens with its </s>, more than the {longest} that the "
            "model reads (its --max-source-positions)"
        )
    # Tokens are faster to count than symbols, of which there are fewer.
    if max_tokens is None or length * (length + dataset.fresh_symbols) <= max_tokens:
        return None
    cost = int(dataset.costs(numpy.array([0]))[0])
    if cost <= max_tokens:
        return None
    return (
        f"the sentence counts {cost} tokens ({length} with </s>; streams: "
        f"{dataset.num_streams[0]}), more than the {max_tokens} of --max-tokens"
    )


def answers_too_short(search: Any, length: int, longest: int) -> Optional[str]:
    """Why no answer to a sentence can have the least length asked for, None if one can.

    Args:
        search: options of generation, or what searches with them.
        length: tokens of the sentence with ``</s>``.
        longest: tokens of the longest target of the model.
    """
    least, a, b = (
        getattr(search, name, default)
        for name, default in (("min_len", 1), ("max_len_a", 0), ("max_len_b", 200))
    )
    most = min(int(a * length + b), longest - 1)
    allowed = f"--max-len-a {a:g}, --max-len-b {b}, and {longest - 1} at most"
    if getattr(search, "match_source_len", False):
        most, allowed = length, "--match-source-len"
    if least <= most:
        return None
    return (
        f"the answer to a sentence of {length} tokens with its </s> may have {most} tokens "
        f"({allowed}), fewer than the {least} of --min-len"
    )


def check_search(args: Any) -> None:
    """Refuses options of the search that contradict each other.

    Raises:
        UserError: naming them.
    """
    searches = {
        "--sampling": getattr(args, "sampling", False),
        "--match-source-len": getattr(args, "match_source_len", False),
        "--diversity-rate": getattr(args, "diversity_rate", -1) > -1,
        "--diverse-beam-groups": getattr(args, "diverse_beam_groups", -1) > 0,
    }
    given = [option for option, value in searches.items() if value]
    if len(given) > 1:
        raise UserError(f"{' and '.join(given)} are searches of their own; choose one of them")
    size = getattr(args, "no_repeat_ngram_size", 0)
    if size > 0 and given and given != ["--diverse-beam-groups"]:
        raise UserError(
            f"--no-repeat-ngram-size {size} may leave {given[0]} nothing to go on with; leave one "
            "of them out"
        )


def check_generation(args: Any) -> None:
    """Refuses options of generation that slot space does not have, or that no search can follow.

    Raises:
        UserError: naming the option.
    """
    _refuse_any(args, ("constraints", "print_alignment", "retain_dropout"))
    beam, groups = getattr(args, "beam", 5), getattr(args, "diverse_beam_groups", -1)
    if groups > 0 and beam % groups:
        raise UserError(
            f"--beam {beam} is no multiple of --diverse-beam-groups {groups}; change one of them"
        )


def check_metric(cfg: StreamTranslationConfig, criterion: Any) -> None:
    """Refuses ``--best-checkpoint-metric`` if no validation will report it.

    Args:
        cfg: options of the task.
        criterion: options of the criterion; what one of others' making reports is not known.

    Raises:
        UserError: naming the option to change.
    """
    metric = cfg.best_checkpoint_metric
    if metric in judged_validation.METRICS:
        if not cfg.validate_semantics:
            raise UserError(
                f"--best-checkpoint-metric {metric} needs answers that are judged: pass "
                f"--validate-semantics, one of {', '.join(JUDGES)}"
            )
        if metric in judged_validation.BETTER_IF_HIGHER and not cfg.maximize_best_checkpoint_metric:
            raise UserError(
                f"--best-checkpoint-metric {metric} would keep the worst checkpoint; pass "
                "--maximize-best-checkpoint-metric too"
            )
        return
    cosine = criterion._name in ("adacos", "minimum_risk")
    smoothed = criterion._name == "label_smoothed_cross_entropy"
    if not (cosine or smoothed or criterion._name == "cross_entropy"):
        return
    found = ["loss", "ppl"]
    found += ["nll_loss"] if smoothed or criterion.sentence_avg else []
    found += ["accuracy"] if smoothed and criterion.report_accuracy else []
    found += ["scale"] if cosine else []
    found += ["bleu"] if cfg.eval_bleu else []
    if metric not in found:
        raise UserError(
            f"--best-checkpoint-metric {metric} is reported by no validation of --criterion "
            f"{criterion._name}; choose it from {', '.join(found)}, or from correct and exact "
            "with --validate-semantics"
        )


def check_wrapping(model: Any) -> None:
    """Refuses to train a model whose matrix has taken over a checkpoint's number of rows
    after it was wrapped.

    PyTorch's wrapper for several ranks is made before fairseq loads a checkpoint, and cannot
    follow.

    Raises:
        UserError: naming the wrapper that can.
    """
    wrapped = isinstance(getattr(model, "module", None), DistributedDataParallel)
    if wrapped and any(getattr(module, "resized", False) for module in model.modules()):
        raise UserError(
            "the checkpoint has base tokens that the data have not, which --ddp-backend "
            "pytorch_ddp cannot train; pass --ddp-backend legacy_ddp"
        )


def _refuse_any(options: Any, names: Sequence[str]) -> None:
    for name in names:
        if getattr(options, name, None):
            raise unsupported("--" + name.replace("_", "-"))
