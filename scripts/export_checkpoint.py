"""Makes a small checkpoint to be shipped: half precision, no optimizer, no paths.

    python scripts/export_checkpoint.py outputs/ltl-mini/model/checkpoint_last.pt checkpoints/ltl

writes ``checkpoints/ltl/model.pt``, which fairseq-generate, fairseq-interactive and
``--finetune-from-model`` accept, and the dictionaries that they ask for: they hold the base
tokens alone, as symbols need no entry. Prints the SHA-256 for the model's card.
"""

import argparse
import os
from typing import Any, Dict, Mapping, Optional, Sequence

from omegaconf import OmegaConf

from sit_fairseq.conversion import reading, writing
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.result_file import sha256_of_file
from sit_fairseq.files import partial_files, replacing
from sit_fairseq.symbols.stream_vocabulary import saved_vocabulary

# Options that say where things were, or how to report progress.
_LOCAL = {
    "common": {
        "user_dir": None,
        "log_file": None,
        "tensorboard_logdir": None,
        "plasma_path": "",
    },
    "task": {"data": ""},
    "checkpoint": {
        "save_dir": "checkpoints",
        "restore_file": "checkpoint_last.pt",
        "finetune_from_model": None,
    },
}


def _languages(task: Mapping[str, Any]) -> Dict[str, str]:
    """What source and target are called; fairseq keeps no name that it found out itself."""
    return {
        side: task[side] or default
        for side, default in (("source_lang", "src"), ("target_lang", "tgt"))
    }


def exported(state: Dict[str, Any]) -> Dict[str, Any]:
    """The checkpoint without what only its training needed.

    Args:
        state: the contents of a checkpoint of a stream model.

    Returns:
        Options without paths, and weights in half precision; the scale of the cosines
        keeps all its digits.
    """
    cfg = OmegaConf.create(state["cfg"])
    for side, language in _languages(cfg.task).items():
        cfg.task[side] = language
    for section, options in _LOCAL.items():
        cfg[section].update(options)
    cfg.job_logging_cfg = {}
    weights = {
        name: value.half() if value.is_floating_point() and value.dim() else value
        for name, value in state["model"].items()
    }
    return writing.checkpoint(cfg, weights)


def main(argv: Optional[Sequence[str]] = None) -> None:
    """Runs the script.

    Args:
        argv: the command line, without the program's name; None for the real one.

    Raises:
        UserError: the checkpoint is not that of a stream model, or cannot be read.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="a trained stream model")
    parser.add_argument("folder", metavar="DIR", help="write DIR/model.pt and DIR/dict.*.txt")
    args = parser.parse_args(argv)
    if os.path.isfile(args.folder):
        raise UserError(f"{args.folder} is a file; name a folder for DIR.")
    state = reading.read_state(args.checkpoint)
    vocabulary = saved_vocabulary(state["model"])
    if vocabulary is None or state.get("cfg") is None:
        raise UserError(f"{args.checkpoint} is no checkpoint of a stream model; train one first.")
    os.makedirs(args.folder, exist_ok=True)
    model = os.path.join(args.folder, "model.pt")
    with partial_files(model) as (partial,):
        writing.save(exported(state), partial)
    names = [f"dict.{name}.txt" for name in _languages(state["cfg"]["task"]).values()]
    with replacing(*(os.path.join(args.folder, name) for name in names)) as files:
        for file in files:
            file.writelines(f"{token} 1\n" for token in vocabulary[0])
    print(f"{model}: {os.path.getsize(model) / 2**20:.2f} MiB, sha256 {sha256_of_file(model)}")


if __name__ == "__main__":
    main()
