"""A task without a data directory."""

import pytest
from conftest import SOURCES, make_dictionary, make_model
from fairseq.dataclass.utils import OmegaConf

from sit_fairseq.errors import UserError
from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.stream_translation import StreamTranslationTask


def saved_options(**options):
    """Those of a checkpoint: without some newer ones, and with one that there is no more."""
    cfg = OmegaConf.structured(StreamTranslationConfig(data="gone", cpu=True, seed=3))
    options = {"_name": "stream_translation", "an_old_option": 1, **options}
    return OmegaConf.create(
        {
            **{name: cfg[name] for name in ("data", "cpu", "seed", "max_source_positions")},
            **{name: False for name in ("fp16", "bf16", "amp", "tpu")},
            **options,
        }
    )


def test_tokens_and_symbols_are_those_given():
    task = StreamTranslationTask.from_vocabulary(StreamTranslationConfig(), ["&", "0"], "[a-z]")
    assert task.source_dictionary is task.target_dictionary
    assert task.source_dictionary.base_tokens() == ["&", "0"]
    assert task.source_dictionary.pattern == "[a-z]"
    assert task.source_dictionary.known_symbols() == []


def test_a_model_brings_its_own():
    task = StreamTranslationTask.from_vocabulary(StreamTranslationConfig())
    model = make_model(task.source_dictionary)
    model.load_state_dict(make_model(make_dictionary()).state_dict())
    assert task.source_dictionary.pattern == "[a-z]"
    assert set(make_dictionary().base_tokens()) < set(task.source_dictionary.indices)
    tokens, lengths = task.get_interactive_tokens_and_lengths(SOURCES, lambda line: line)
    assert [task.source_dictionary.string(sentence) for sentence in tokens] == SOURCES
    assert len(task.build_dataset_for_inference(tokens, lengths)) == len(SOURCES)


def test_options_of_another_version_are_completed():
    saved = saved_options()
    before = OmegaConf.to_container(saved)
    task = StreamTranslationTask.from_vocabulary(saved, ["0"], "[a-z]")
    assert task.cfg.length_ramp_updates == 0 and task.cfg.seed == 3
    assert "an_old_option" not in task.cfg
    assert OmegaConf.to_container(saved) == before


def test_unsuitable_options_are_refused():
    with pytest.raises(UserError, match="--autocast 'float8' is unknown"):
        StreamTranslationTask.from_vocabulary(saved_options(autocast="float8"))
