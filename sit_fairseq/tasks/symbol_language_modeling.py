"""Language modelling of texts with interchangeable tokens."""

import os
import sys
from dataclasses import dataclass
from typing import Any, Dict

import torch
import torch.nn.functional as F
from fairseq import utils
from fairseq.tasks import register_task
from fairseq.tasks.language_modeling import LanguageModelingConfig, LanguageModelingTask

from sit_fairseq.errors import UserError, check_numbers
from sit_fairseq.models.language_model import SymbolInvariantLanguageModel
from sit_fairseq.tasks.blocks import StreamBlockDataset
from sit_fairseq.tasks.fairseq_patches import patch_command
from sit_fairseq.tasks.options import StreamOptions, check_renaming, option, refuse_given
from sit_fairseq.tasks.stream_task import StreamTask


@dataclass
class SymbolLanguageModelingConfig(StreamOptions, LanguageModelingConfig):
    """Options of the task, beside those of fairseq's ``language_modeling``."""

    max_target_positions: int = option(1024, "most tokens of a block")


@register_task("symbol_language_modeling", dataclass=SymbolLanguageModelingConfig)
class SymbolLanguageModelingTask(StreamTask, LanguageModelingTask):
    """fairseq's task of language modelling for models that keep one stream per symbol.

    Data are of plain ``fairseq-preprocess --only-source``. Each block of a text has symbols of its own:
    what they are called elsewhere says nothing.
    """

    def __init__(self, args: SymbolLanguageModelingConfig, dictionary, *others, **options) -> None:
        refuse_given(args, "self_target", "past_target", "add_bos_token", "pad_to_fixed_length")
        refuse_given(args, "pad_to_fixed_bsz", "tpu")
        check_renaming(args)
        super().__init__(args, dictionary, *others, **options)
        self.cfg = args  # of an older kind of task
        check_numbers(1, tokens_per_sample=args.tokens_per_sample)
        self.begin(sys.maxsize)  # the limit is the model's own

    @classmethod
    def setup_dictionary(cls, args: SymbolLanguageModelingConfig, **kwargs):
        """Loads the dictionary; a UserError without ``fairseq-preprocess --only-source``."""
        patch_command()
        file = os.path.join(utils.split_paths(args.data or "")[0], "dict.txt")
        if not os.path.isfile(file):
            raise UserError(
                f"there is no {file}; name a folder of fairseq-preprocess --only-source"
            )
        if args.output_dictionary_size >= 0:
            raise UserError("all tokens can be written; leave it out", "output_dictionary_size")
        dictionary = cls.load_dictionary(file)
        if args.symbols is not None:
            dictionary.set_pattern(args.symbols)
        return dictionary, dictionary

    def check_model(self, model) -> None:
        """Refuses models that know no symbols."""
        if not isinstance(model, SymbolInvariantLanguageModel):
            raise UserError(
                "symbol_language_modeling is for models that know symbols; pass --arch "
                "symbol_invariant_transformer_lm, with --symbol-embedding fixed for a plain model"
            )

    def build_criterion(self, cfg, **kwargs):
        """As for pairs, whose answers a judge may weigh; a text has none."""
        if cfg._name == "minimum_risk":
            raise UserError("minimum_risk weighs answers, and texts have none", "criterion")
        return super().build_criterion(cfg, **kwargs)

    def checked(self, dataset, split: str):
        return StreamBlockDataset(dataset, split, self._sentences)

    def eval_lm_dataloader(self, dataset, *args, context_window: int = 0, **kwargs):
        """As in fairseq; a block is no context of another, as its symbols are its own."""
        if context_window:
            raise UserError("blocks have symbols of their own; leave it out", "context_window")
        return super().eval_lm_dataloader(dataset, *args, **kwargs)

    def generator(self, models, args, *given, **more):
        """Makes what continues prompts; nothing is compared with references."""
        refuse_given(args, "score_reference", "match_source_len")
        return super().generator(models, args, *given, **more)

    def search(self, generator, models, sample: Dict[str, Any], prefix_tokens, constraints):
        """Continues the prefixes of a batch, by default whole blocks or what was typed."""
        eos, pad = self.source_dictionary.eos(), self.source_dictionary.pad()
        prompts, typed = sample["net_input"]["src_tokens"], "target" not in sample
        if prefix_tokens is not None:
            prompts = prefix_tokens
        elif typed:
            prompts = prompts.masked_fill(prompts.eq(eos), pad)
        else:  # blocks, of which some begin a text
            rest = F.pad(prompts[:, 1:], (0, 1), value=pad)
            prompts = torch.where(prompts[:, :1].eq(eos), rest, prompts)
        sources = {"net_input": {"src_tokens": prompts}}
        return generator.generate(models, sources, constraints=constraints)
