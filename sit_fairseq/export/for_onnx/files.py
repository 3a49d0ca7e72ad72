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
from copy import deepcopy
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

import onnx
import onnxscript  # noqa: F401  which torch.onnx.export needs
import torch
from torch import Tensor, nn
from torch.export import Dim

from sit_fairseq.errors import UserError
from sit_fairseq.export.for_onnx.check import compare
from sit_fairseq.export.for_onnx.networks import SentenceDecoder, SentenceEncoder, plain_copy
from sit_fairseq.export.grammars import exported_grammar
from sit_fairseq.model import Model
from sit_fairseq.models.language_model import SymbolInvariantLanguageModel
from sit_fairseq.models.positions import TreePositions
from sit_fairseq.storage.files import Place, explaining_failure, make_folder, partial_files

FILES = ENCODER, DECODER, VOCABULARY = "encoder.onnx", "decoder.onnx", "vocabulary.json"

_OPSET = 18


def check_exportable(model: Model) -> None:
    """Refuses what has no counterpart in the files, by a UserError that names the option."""
    model.checkpoint()  # refuses an ensemble
    core = model.core
    if isinstance(core, SymbolInvariantLanguageModel):
        raise UserError("a language model cannot be exported to ONNX; export it for transformers")
    options = core.encoder.cfg.options
    for fits, name in (
        (options.symbol_embedding in ("streams", "fixed"), "symbol_embedding"),
        (options.stream_places == "all", "stream_places"),
        (not core.vocabulary.fresh_symbols, "fresh_symbols"),
    ):
        if not fits:
            raise UserError(
                f"a model with {name} {getattr(options, name)} cannot be exported to ONNX; export it "
                "for transformers"
            )


def vocabulary_description(model: nn.Module, domain: Optional[str] = None) -> Dict[str, Any]:
    """The content of ``vocabulary.json``.

    Returns:
        ``format``: 1, or 2 if the networks also take the ``sorts`` of the slots; ``tokens``: those
        of the rows, specials first; ``symbols``: the pattern in Python's syntax, of several sorts a
        line ``NAME=REGEX`` for each; ``symbol_embedding``: ``streams``, or ``fixed`` for one stream;
        ``specials``: the ids of the three with a use; ``tree``: for positions in trees the number
        of operands of each token that has some, and the greatest depth; ``longest``: of source and
        target, in tokens with ``</s>``; ``cross``: the encoder's outputs; ``caches``: the decoder's
        with the shape of an entry, ``S`` for the number of streams; ``fresh_symbols``: 0;
        ``grammar``: of well-formed answers, null if nobody has said it.
    """
    vocabulary, encoder, decoder = model.vocabulary, model.encoder, model.decoder
    dictionary = vocabulary.dictionary
    tree = None
    if isinstance(encoder.embed_positions, TreePositions):
        tree = {"arity": vocabulary.operators, "depth": encoder.embed_positions.depth}
    layers, channels = len(decoder.layers), decoder.cfg.embed_dim
    caches = {"DP": [layers, 2, 0, "S", channels], "DA": [layers, 2, 0, channels]}
    return {
        "format": 2 if vocabulary.num_sorts > 1 and not vocabulary.one_stream else 1,
        "tokens": vocabulary.row_tokens,
        "symbols": dictionary.pattern,
        "symbol_embedding": "fixed" if vocabulary.one_stream else "streams",
        "specials": {"pad": dictionary.pad(), "eos": dictionary.eos(), "unk": dictionary.unk()},
        "tree": tree,
        "longest": {"source": encoder.cfg.max_positions, "target": decoder.cfg.max_positions},
        "cross": [*decoder.cfg.pattern.cross],
        "caches": {kind: caches[kind] for kind in caches if kind in decoder.cfg.pattern},
        "fresh_symbols": 0,
        "grammar": exported_grammar(domain),
    }


def export(model: Model, folder: Place) -> str:
    """Writes ``encoder.onnx``, ``decoder.onnx`` and ``vocabulary.json`` into a folder, and returns how
    far they agree with the model, in words.

    Raises:
        UserError: the model cannot be exported, or the files compute something else; then nothing is
            written.
    """
    check_exportable(model)
    make_folder(folder)  # before what takes minutes
    with explaining_failure(folder), tempfile.TemporaryDirectory() as made:
        description, core = write(model, made), deepcopy(model.core).cpu().float()
        agreement = compare(core, made, description)
        with partial_files(*(os.path.join(folder, name) for name in FILES)) as partials:
            for name, partial in zip(FILES, partials):
                shutil.copyfile(os.path.join(made, name), partial)
    return agreement


def write(model: Model, folder: str) -> Dict[str, Any]:
    """Writes the files of a model that :func:`check_exportable` accepts. Returns the content of
    ``vocabulary.json``."""
    description, plain = vocabulary_description(model.core, model.domain), plain_copy(model.core)
    for name, module, inputs, outputs in _networks(plain, description):
        _export(module, inputs, outputs, os.path.join(folder, name))
    with open(os.path.join(folder, VOCABULARY), "w", encoding="utf-8", newline="\n") as file:
        json.dump(description, file, ensure_ascii=False, indent=1)
        file.write("\n")
    return description


# The dimensions that may change, and the letters for them; a dot is for one that may not.
_CHANGING = {"S": "streams", "T": "tokens", "K": "hypotheses", "P": "steps"}

# An example of an input, and a letter for each of its dimensions.
_Input = Tuple[Tensor, str]


def _networks(
    plain: nn.Module, description: Dict[str, Any]
) -> Iterator[Tuple[str, nn.Module, Dict[str, Any], List[str]]]:
    """The files, with their networks, the :data:`_Input` of each name, and the names of outputs.
    Where there is one stream always, their number is a constant."""
    vocabulary, decoder = plain.vocabulary, plain.decoder
    layers, channels = len(decoder.layers), decoder.cfg.embed_dim
    number, stream = (1, ".") if vocabulary.one_stream else (3, "S")
    memories = {
        "CP": (torch.zeros(layers, 2, 5, number, channels), f"..T{stream}."),
        "CA": (torch.zeros(layers, 2, 5, channels), "..T."),
    }
    caches = {
        "DP": (torch.zeros(2, layers, 2, 4, number, channels), f"K..P{stream}."),
        "DA": (torch.zeros(2, layers, 2, 4, channels), "K..P."),
    }
    memories = {f"memory_{kind}": memories[kind] for kind in description["cross"]}
    caches = {f"cache_{kind}": caches[kind] for kind in description["caches"]}
    tokens = torch.full((5,), vocabulary.num_base - 1)
    slots = {"slots": (torch.arange(number) - int(vocabulary.one_stream), stream)}
    tree = description["tree"] and {
        "tree": (torch.full((5, description["tree"]["depth"]), -1), "T.")
    }
    sorts = {"sorts": (torch.arange(3) % 2, "S")} if description["format"] == 2 else {}
    inputs = {"tokens": (tokens, "T"), **slots, **(tree or {}), **sorts}
    yield ENCODER, SentenceEncoder(plain), inputs, [*memories]
    inputs = {"tokens": (tokens[:2], "K"), **slots, "position": (torch.tensor(4), "")}
    inputs.update(memories=memories, caches=caches, **sorts)
    outputs = ["log_probabilities", *(f"new_{name}" for name in caches)]
    yield DECODER, SentenceDecoder(plain), inputs, outputs


def _export(
    module: nn.Module,
    inputs: Dict[str, Union[_Input, Dict[str, _Input]]],
    outputs: List[str],
    path: str,
) -> None:
    """Calls PyTorch's exporter, which notes in the files where their parts came from."""
    dims = {letter: Dim(name) for letter, name in _CHANGING.items()}

    def changing(letters: str) -> Dict[int, Any]:
        return {place: dims[one] for place, one in enumerate(letters) if one in dims}

    names, examples, shapes = [], {}, {}
    for name, given in inputs.items():
        if isinstance(given, dict):
            names += given
            examples[name] = [example for example, _ in given.values()]
            shapes[name] = [changing(letters) for _, letters in given.values()]
        else:
            names.append(name)
            examples[name], shapes[name] = given[0], changing(given[1])
    with torch.no_grad(), _silence():
        program = torch.onnx.export(
            module.eval(),
            kwargs=examples,
            input_names=names,
            output_names=outputs,
            dynamic_shapes=shapes,
            opset_version=_OPSET,
            dynamo=True,
        )
    model = program.model_proto
    graph = model.graph
    parts = (graph.node, graph.input, graph.output, graph.value_info, graph.initializer)
    for part in itertools.chain(*parts, [graph, model]):
        del part.metadata_props[:]  # files of this machine, for one
    onnx.save(model, path)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Context manager: the exporter says nothing, of the much that no user can mend."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
