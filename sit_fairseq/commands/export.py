"""Exports a model: a small checkpoint to ship, a folder to upload or for transformers, or ONNX files.

    sit export outputs/model/checkpoint_last.pt my_model

writes ``my_model/model.pt`` and dictionaries of base tokens. The weights are in half precision; the
optimizer and paths of your machine are left out. fairseq-generate and fairseq-interactive read the
folder, ``--finetune-from-model`` its ``model.pt``. Domains and ``spm.model`` beside the model come
along.

--hub writes a folder to upload: ``model.safetensors``, ``config.json``, the dictionaries and a card.
The command keeps a ``README.md`` of DIR as the card, or copies the one beside the checkpoint, or else
writes a table of the model's options. ``from_pretrained(DIR)`` reads the folder, and fairseq's
commands take ``--path DIR/model.safetensors``.

--transformers adds a tokenizer and the code of the model. The folder then needs torch, transformers
4.44 or later, and safetensors:

    sit export model.pt my_folder --transformers

``AutoModelForSeq2SeqLM.from_pretrained("my_folder", trust_remote_code=True)`` and ``AutoTokenizer``
read it. The card gets a snippet that answers a sentence.

--onnx writes ``encoder.onnx``, ``decoder.onnx`` (one step, with its key-value cache) and
``vocabulary.json``. They need neither fairseq nor torch:

    sit export model.pt my_onnx --onnx
    echo 'xor a & b c' | python examples/deployment/answer.py my_onnx

The files take any number of tokens, symbols and hypotheses. The command first compares their
log-probabilities with the model's on random sentences. It exports models with streams in all
places, and those of --symbol-embedding fixed.
"""

import argparse
import os

from sit_fairseq.model import Model
from sit_fairseq.storage.files import WEIGHTS, model_file, refuse_same, sha256_of_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="a trained model")
    parser.add_argument("folder", metavar="DIR", help="the folder to write; the command makes it")
    formats = parser.add_mutually_exclusive_group()
    for option, text in (
        ("hub", "write model.safetensors, config.json and README.md in place of model.pt"),
        ("transformers", "write the files of --hub, a tokenizer and code, for transformers alone"),
        ("onnx", "write encoder.onnx, decoder.onnx and vocabulary.json instead"),
    ):
        formats.add_argument(f"--{option}", action="store_true", help=text)


def main(args: argparse.Namespace) -> None:
    model = Model.load(args.checkpoint)
    if args.onnx:
        from sit_fairseq.export.for_onnx.files import FILES, export

        print(export(model, args.folder))
        files = [os.path.join(args.folder, name) for name in FILES]
    else:
        from sit_fairseq.export import folders

        source = model_file(args.checkpoint)
        name = WEIGHTS if args.hub or args.transformers else "model.pt"
        refuse_same([source], [os.path.join(args.folder, name)], "folder")
        beside = os.path.dirname(source)
        if args.transformers or args.hub:
            from sit_fairseq.export.for_transformers.folder import export

            files = [export(model, args.folder, code=args.transformers)]
        else:
            files = [folders.export(model, args.folder)]
        folders.take_along(beside, args.folder)
    for file in files:
        size = os.path.getsize(file) / 2**20
        print(f"{file}: {size:.2f} MiB, sha256 {sha256_of_file(file)}")
