"""The task itself: what it reads."""

import pytest
from conftest import make_dictionary, make_model

from sit_fairseq.errors import UnansweredError
from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.stream_translation import StreamTranslationTask

REFUSED = {
    "NEW z": "'NEW'",
    "& y": "is not one formula",
    "& & z y & x w": "has 8 tokens with its </s>, more than the 7 that the model reads",
    "& z & y x": "counts 18 tokens (6 with </s>; streams: 3), more than the 17 of --max-tokens",
}


@pytest.fixture
def task():
    dictionary = make_dictionary()
    task = StreamTranslationTask(StreamTranslationConfig(), dictionary, dictionary)
    task._check_sentences_for(make_model(dictionary))
    return task


def test_each_line_is_read_or_refused_for_a_reason_of_its_own(task):
    dictionary = task.src_dict
    size = len(dictionary)
    lines = ["! v", *REFUSED, "& a u", "! v"]
    found = task.read(lines, str.strip, (7, 9), 17)
    for line, one in zip(lines, found):
        if line in REFUSED:
            assert isinstance(one, UnansweredError) and REFUSED[line] in one.reason
        else:
            assert dictionary.string(one) == line
    # It has learnt the names of the sentences that can be answered, and no others.
    assert dictionary.symbols[size:] == ["v", "u"]


def test_without_a_limit_on_batches(task):
    (found,) = task.read(["& z & y x"], str.strip, (7, 9), None)
    assert task.src_dict.string(found) == "& z & y x"
