"""``sit options`` names every option that the package adds to fairseq's commands."""

import contextlib
import io
import re
from dataclasses import fields

import pytest
from command_line import sit
from fairseq.tasks.translation import TranslationConfig

from sit_fairseq.models.fairseq_adapter import SymbolInvariantTransformerConfig
from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.scoring import SemanticScorerConfig
from sit_fairseq.training.criterions import AdaCosCriterionConfig
from sit_fairseq.training.optimizers import AdamWConfig


@pytest.fixture(scope="module")
def parts():
    """What is printed below each head."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        sit("options")
    assert max(map(len, out.getvalue().splitlines())) <= 100
    blocks = (block.split("\n", 1) for block in out.getvalue().split("\n\n"))
    return {head: " ".join(text.split()) for head, text in blocks}


@pytest.mark.parametrize(
    "head, options",
    [
        ("--task stream_translation", StreamTranslationConfig),
        ("--arch symbol_invariant_transformer", SymbolInvariantTransformerConfig),
        ("--criterion adacos", AdaCosCriterionConfig),
        ("--optimizer adamw", AdamWConfig),
        ("--optimizer muon", AdamWConfig),
        ("--scoring semantic", SemanticScorerConfig),
    ],
)
def test_every_option_with_its_help(parts, head, options):
    inherited = {option.name for option in fields(TranslationConfig)} - {"left_pad_source"}
    own = [o for o in fields(options) if "help" in o.metadata and o.name not in inherited]
    if options is AdaCosCriterionConfig:
        own = [o for o in own if o.name == "min_scale"]
    found = re.findall(r"(?<=\s)--[a-z-]+(?= )", f" {parts[head]}")
    for option in own:
        assert f"--{option.name.replace('_', '-')}" in found
        assert option.metadata["help"] in parts[head]
    assert "--max-source-positions" not in parts[head] and "--source-lang" not in parts[head]
