r"""Converts a trained transformer into a Symbol-Invariant Transformer.

    sit convert vanilla/checkpoint_best.pt stream.pt \
        --symbols '[a-z]' --actual a --placeholder b --verify

Each stream embeds its symbol as IN embeds --actual, and all other symbols as IN embeds
--placeholder. All other weights stay. If --actual is the only symbol of a sentence, OUT computes
what IN does; --verify checks it. With several sorts name one symbol of each:
--actual table=T0 --actual column=c0, and likewise --placeholder. If an option of fairseq's
transformer has no counterpart, the command names it and stops.

IN may also be a checkpoint of symbol_invariant_transformer trained with --symbol-embedding fixed,
as in the paper's section "Converting & Fine-Tuning Pre-Trained Models". OUT keeps its positions and
head; --data is not needed. IN is never changed, and nothing in it is executed.

OUT is a checkpoint for --task stream_translation, on data with a joined dictionary whose
base tokens are those of the original:

    fairseq-generate DATA --user-dir sit_fairseq --task stream_translation --path OUT
    fairseq-train DATA --user-dir sit_fairseq --task stream_translation --symbols REGEX \
        --finetune-from-model OUT OPTIONS...

OPTIONS build the model; the command prints them at the end. --restore-file OUT works, too, with or
without --reset-optimizer. The head of fairseq's transformer is linear: train with
--criterion cross_entropy or label_smoothed_cross_entropy. The head of a baseline is cosine, unless
--output-head says otherwise: train with --criterion adacos.

fairseq-generate needs --user-dir sit_fairseq for IN, too, under PyTorch 2.6 and later.
"""

import argparse
import logging
import os
import shlex
from typing import List

from sit_fairseq.commands._options import add_pattern
from sit_fairseq.errors import UserError
from sit_fairseq.storage.files import model_file, partial_files

_CRITERIA = {
    "linear": "--criterion cross_entropy or label_smoothed_cross_entropy",
    "cosine": "--criterion adacos",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "source", type=model_file, metavar="IN", help="checkpoint of a trained model, or its folder"
    )
    add("destination", metavar="OUT", help="checkpoint to write")
    text = "regular expression that matches the interchangeable tokens in full"
    add_pattern(parser, text, required=True)
    named = {"action": "append", "metavar": "TOKEN", "required": True}
    add("--actual", **named, help="streams embed their symbol as IN embeds this token")
    add("--placeholder", **named, help="streams embed all other symbols as IN embeds this token")
    text = "the dictionaries of fairseq's transformer, and sentences for --verify"
    add("--data", metavar="DIR", help=f"directory of {text} (default: the one recorded in IN)")
    add("--device", choices=("cpu", "cuda"), default="cpu", help="where --verify computes")
    add(
        "--verify",
        action="store_true",
        help="compare both models on sentences whose only symbol is --actual, from the data "
        "directory and at random; if they differ, write nothing. The loss on sentences of the "
        "data is printed: a high loss means wrong dictionaries",
    )
    add("--overwrite", action="store_true", help="replace OUT if it exists")
    add("--ema", action="store_true", help="convert the moving average that --store-ema saved")
    add(
        "--add",
        metavar="EA,DA",
        type=_added_attentions,
        default=[],
        help="add aggregated attention to the encoder (EA), the decoder (DA) or both. Its output "
        "starts at zero, and its layer norm stands before it even in a post-norm model "
        "(--aggregated-normalize-before), so the model computes as before until it is trained",
    )


def _added_attentions(text: str) -> List[str]:
    letters = text.split(",")
    if not set(letters) <= {"EA", "DA"}:
        raise argparse.ArgumentTypeError(f"{text!r} is none of EA, DA and EA,DA")
    return letters


def main(args: argparse.Namespace) -> None:
    import torch
    from omegaconf import OmegaConf

    from sit_fairseq.conversion import mapping
    from sit_fairseq.conversion.mapping import Symbols, convert
    from sit_fairseq.conversion.original import read_baseline, read_vanilla
    from sit_fairseq.model import Model
    from sit_fairseq.models import fairseq_language_model  # noqa: F401  registers it
    from sit_fairseq.models.loading import KIND, TEXT_KIND
    from sit_fairseq.storage import checkpoints
    from sit_fairseq.tasks.file_options import read_state

    logging.getLogger("hydra").setLevel(logging.WARNING)
    if args.device == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda: PyTorch finds no GPU here; leave out the option")
    if args.data is not None and not os.path.isdir(args.data):
        raise UserError(f"--data {args.data}: no such directory; name one that holds dict.*.txt")
    mapping.check_destination(args.source, args.destination, args.overwrite)
    state = read_state(args.source)
    average = checkpoints.moving_average(state)
    if args.ema and average is None:
        raise UserError(f"{args.source} was trained without a moving average; leave out --ema")
    name, _ = checkpoints.section(state, "model")
    if name == TEXT_KIND:
        raise UserError(
            f"{args.source} is a language model; only models with a source are converted"
        )
    own = name == KIND
    read = read_baseline if own else read_vanilla
    source = read(args.source, state, data=args.data, ema=args.ema)
    if average is not None and not args.ema:
        print("IN also holds a moving average of its weights; --ema converts that one")
    symbols = Symbols.named(args.symbols, actual=args.actual, placeholder=args.placeholder)
    arguments = mapping.training_options(source, args.add)
    cfg = mapping.configuration(source, symbols, arguments)
    model, account = convert(source, symbols, cfg.model)
    with partial_files(args.destination) as (partial,):
        plain = OmegaConf.to_container(cfg, resolve=True, enum_to_str=True)
        checkpoints.write(checkpoints.minimal(plain, model.state_dict()), partial)
        if args.verify:
            _verify(source, Model.load(partial).core, symbols, args.device)
    print(account)
    head = source.model_options["output_head"]
    print(
        f"{args.destination} written; its head is {head}: train with {_CRITERIA[head]}; "
        "fairseq-train builds this model with\n  "
        f"--task stream_translation --symbols {shlex.join(args.symbols.splitlines())} "
        + shlex.join(arguments)
    )


def _verify(source, converted, symbols, device: str) -> None:
    """Prints how the two models compare, and refuses to go on if they differ."""
    from sit_fairseq.conversion import verification
    from sit_fairseq.conversion.mapping import stream_dictionary

    dictionary = stream_dictionary(source, symbols)
    for actual in symbols.actual:
        for pairs, origin in verification.sentences(source, dictionary, actual):
            comparison = verification.compare(source, converted, pairs, actual, device)
            print(
                f"compared on {len(pairs)} sentences whose only symbol is {actual!r}, from "
                f"{origin}, on {device}; the original's other symbols are masked out\n{comparison}"
            )
            if not comparison.equal:
                raise UserError("the new model differs from the original; nothing was written")
