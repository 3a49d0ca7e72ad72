"""Builds a model from its checkpoint."""

from dataclasses import fields
from typing import Optional, Tuple

from sit_fairseq.errors import UserError
from sit_fairseq.logic.syntax import ARITY
from sit_fairseq.models.baselines import VOCABULARIES
from sit_fairseq.models.config import ModelConfig
from sit_fairseq.models.transformer import SymbolInvariantTransformer
from sit_fairseq.symbols.fresh import fresh_numbers
from sit_fairseq.symbols.saved_tokens import saved_vocabulary
from sit_fairseq.symbols.tokens import TokenTable
from sit_fairseq.tasks.file_options import read_state


def read_model(
    path: str, symbols: Optional[str] = None, fresh_names: Optional[str] = None
) -> Tuple[SymbolInvariantTransformer, Optional[str]]:
    state = read_state(path)
    saved = saved_vocabulary(state["model"])
    if saved is None:
        raise UserError(f"{path} is no model with symbols; sit convert makes one", "path")
    given, task = state["cfg"]["model"], state["cfg"]["task"]
    names = {field.name for field in fields(ModelConfig)}
    options = ModelConfig(**{name: value for name, value in given.items() if name in names})
    base_tokens, pattern = saved
    tokens = TokenTable(
        base_tokens if options.symbol_embedding == "fixed" else (), symbols or pattern
    )
    fresh = ()
    if sum(fresh_numbers(options.fresh_symbols).values()):
        fresh = (
            options.fresh_symbols,
            fresh_names or task.get("fresh_names") or given.get("fresh_names"),
        )
    vocabulary = VOCABULARIES[options.symbol_embedding](tokens, *fresh)
    model = SymbolInvariantTransformer(options, vocabulary, ARITY, task["seed"])
    model.load_state_dict(state["model"])
    return model, task.get("domain")
