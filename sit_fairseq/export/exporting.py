"""Encoder and decoder as ONNX files, and what else their users must know."""

import contextlib
import io
import itertools
import json
import logging
import os
import shutil
import tempfile
import warnings
from typing import Any, Dict, Iterator, List, Sequence, Tuple

import onnx
import torch
from torch import Tensor, nn
from torch.export import Dim

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.decoding import CheckpointDecoder
from sit_fairseq.export.one_sentence import SentenceDecoder, SentenceEncoder
from sit_fairseq.export.plain_model import plain_copy
from sit_fairseq.export.self_check import Agreement, Sentences, compare
from sit_fairseq.models.baselines import VOCABULARIES
from sit_fairseq.models.positions import TreePositions
from sit_fairseq.storage.files import explaining_failure, make_folder, partial_files

FILES = ENCODER, DECODER, VOCABULARY = "encoder.onnx", "decoder.onnx", "vocabulary.json"

# Of the contents of the files; one who reads them need not understand another.
_FORMAT = 1

_OPSET = 18


def check_exportable(model: nn.Module) -> None:
    """Refuses what has no counterpart in the files.

    Args:
        model: with streams or of one stream.

    Raises:
        UserError: naming the option.
    """
    kind = next(name for name, of in VOCABULARIES.items() if type(model.vocabulary) is of)
    if kind not in ("streams", "fixed"):
        raise UserError(
            f"a model of --symbol-embedding {kind} cannot be exported; those of streams and fixed "
            "can"
        )
    if model.vocabulary.fresh_symbols:
        raise UserError(
            "a model trained with --fresh-symbols cannot be exported to ONNX; answer with it by "
            "fairseq-interactive or from_pretrained, or train one without them"
        )


def vocabulary_description(model: nn.Module) -> Dict[str, Any]:
    """What ``vocabulary.json`` holds.

    Args:
        model: see :func:`check_exportable`.

    Returns:
        ``tokens``: those of the rows, specials first; ``symbols``: the pattern, in Python's
        syntax; ``symbol_embedding``; ``specials``: the ids of the three with a use;
        ``never_answered``: tokens whose columns the decoder closes; ``scale``: of the cosines,
        which the decoder applies, None for a linear head; ``positions``, of each side; ``tree``:
        for positions in trees the number of operands of each token that has some, and the greatest
        depth, else None; ``longest``: of source and target, in tokens with ``</s>``; ``cross``:
        what the encoder's outputs are; ``caches``: the decoder's with the shape of an entry, ``S``
        for the number of streams; ``fresh_symbols``: 0.
    """
    vocabulary, encoder, decoder = model.vocabulary, model.encoder, model.decoder
    dictionary = vocabulary.dictionary
    tokens = [dictionary[index] for index in vocabulary.index_of_row.tolist()]
    closed = [] if vocabulary.source_only is None else vocabulary.source_only.bool().tolist()
    tree = None
    if isinstance(encoder.embed_positions, TreePositions):
        arity = dict(
            zip(tokens, encoder.embed_positions.arities(torch.arange(len(tokens))).tolist())
        )
        tree = {
            "arity": {token: number for token, number in arity.items() if number},
            "depth": encoder.embed_positions.depth,
        }
    layers, channels = len(decoder.layers), decoder.cfg.embed_dim
    caches = {}
    if "DP" in decoder.cfg.pattern:
        caches["DP"] = [layers, 2, 0, "S", channels]
    if "DA" in decoder.cfg.pattern:
        caches["DA"] = [layers, 2, 0, channels]
    return {
        "format": _FORMAT,
        "tokens": tokens,
        "symbols": dictionary.pattern,
        "symbol_embedding": "fixed" if vocabulary.one_stream else "streams",
        "specials": {"pad": dictionary.pad(), "eos": dictionary.eos(), "unk": dictionary.unk()},
        "never_answered": [token for token, never in zip(tokens, closed) if never],
        "scale": None if decoder.output_scale is None else float(decoder.output_scale.scale),
        "positions": {"encoder": encoder.cfg.positions, "decoder": decoder.cfg.positions},
        "tree": tree,
        "longest": {"source": encoder.cfg.max_positions, "target": decoder.cfg.max_positions},
        "cross": list(decoder.cfg.pattern.cross),
        "caches": caches,
        "fresh_symbols": 0,
    }


def export_onnx(checkpoint: str, folder: str, sentences: Sentences) -> Agreement:
    """Writes ``encoder.onnx``, ``decoder.onnx`` and ``vocabulary.json``.

    Args:
        checkpoint: a trained model.
        folder: where they go; it is made if there is none.
        sentences: which to compare answers on, before anything is written.

    Returns:
        How the answers compare.

    Raises:
        UserError: the checkpoint cannot be read or exported, or answers differ.
    """
    decoder = CheckpointDecoder(checkpoint)
    check_exportable(decoder.model)
    make_folder(folder)  # before what takes minutes
    with explaining_failure(folder), tempfile.TemporaryDirectory() as made:
        write(decoder.model, made)
        agreement = compare(decoder, made, sentences)
        with partial_files(*(os.path.join(folder, name) for name in FILES)) as partials:
            for name, partial in zip(FILES, partials):
                shutil.copyfile(os.path.join(made, name), partial)
    return agreement


def write(model: nn.Module, folder: str) -> None:
    """Writes the files as they are made.

    Args:
        model: see :func:`check_exportable`.
        folder: which must exist.
    """
    description = vocabulary_description(model)
    plain = plain_copy(model)
    _export_encoder(plain, description, os.path.join(folder, ENCODER))
    _export_decoder(plain, description, os.path.join(folder, DECODER))
    with open(os.path.join(folder, VOCABULARY), "w", encoding="utf-8", newline="\n") as file:
        json.dump(description, file, ensure_ascii=False, indent=1)
        file.write("\n")


def _slots(plain: nn.Module) -> Tuple[Tensor, Any]:
    """Those of an example, and the number of streams: a constant where there is
    one, always."""
    if plain.vocabulary.one_stream:
        return torch.tensor([-1]), Dim.STATIC
    return torch.arange(3), Dim("streams")


def _export_encoder(plain: nn.Module, description: Dict[str, Any], path: str) -> None:
    slots, streams = _slots(plain)
    tokens = Dim("tokens")
    inputs: List[Any] = [torch.full((5,), plain.vocabulary.num_base - 1), slots]
    names, shapes = ["tokens", "slots"], [{0: tokens}, {0: streams}]
    if description["tree"] is not None:
        inputs.append(torch.full((5, description["tree"]["depth"]), -1))
        names.append("tree")
        shapes.append({0: tokens})
    outputs = [f"memory_{letters}" for letters in description["cross"]]
    _export(SentenceEncoder(plain), inputs, shapes, names, outputs, path)


def _export_decoder(plain: nn.Module, description: Dict[str, Any], path: str) -> None:
    slots, streams = _slots(plain)
    hypotheses, tokens, steps = map(Dim, ("hypotheses", "tokens", "steps"))
    layers, channels = len(plain.decoder.layers), plain.decoder.cfg.embed_dim
    memories = {
        "CP": (torch.zeros(layers, 2, 5, len(slots), channels), {2: tokens, 3: streams}),
        "CA": (torch.zeros(layers, 2, 5, channels), {2: tokens}),
    }
    caches = {
        "DP": (
            torch.zeros(2, layers, 2, 4, len(slots), channels),
            {0: hypotheses, 3: steps, 4: streams},
        ),
        "DA": (torch.zeros(2, layers, 2, 4, channels), {0: hypotheses, 3: steps}),
    }
    memories, caches = (
        [having[letters] for letters in description[key]]
        for key, having in (("cross", memories), ("caches", caches))
    )
    inputs = [
        torch.full((2,), plain.vocabulary.num_base - 1),
        slots,
        torch.tensor(4),
        [example for example, _ in memories],
        [example for example, _ in caches],
    ]
    shapes = [
        {0: hypotheses},
        {0: streams},
        {},
        [shape for _, shape in memories],
        [shape for _, shape in caches],
    ]
    names = ["tokens", "slots", "position"]
    names += [f"memory_{letters}" for letters in description["cross"]]
    names += [f"cache_{letters}" for letters in description["caches"]]
    outputs = ["log_probabilities"] + [f"new_cache_{letters}" for letters in description["caches"]]
    _export(SentenceDecoder(plain), inputs, shapes, names, outputs, path)


def _export(
    module: nn.Module,
    inputs: Sequence[Any],
    shapes: Sequence[Any],
    names: List[str],
    outputs: List[str],
    path: str,
) -> None:
    """PyTorch's exporter, which is told what may change."""
    with torch.no_grad(), _silence():
        program = torch.onnx.export(
            module.eval(),
            tuple(inputs),
            input_names=names,
            output_names=outputs,
            dynamic_shapes=tuple(shapes),
            opset_version=_OPSET,
            dynamo=True,
        )
    onnx.save(_without_origins(program.model_proto), path)


def _without_origins(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without what the exporter notes of where its parts came from: files of this
    machine, for one."""
    graph = model.graph
    parts = (graph.node, graph.input, graph.output, graph.value_info, graph.initializer)
    for part in itertools.chain(*parts, [graph, model]):
        del part.metadata_props[:]
    return model


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Around the exporter, which says much that no user can mend."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels):
            logger.setLevel(level)
