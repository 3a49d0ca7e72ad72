"""Answers of a model that is measured, compared with fairseq-generate."""

import pytest
from command_line import generate, printed

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.answering import ModelAnswerer
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.search.hypotheses import SearchOptions

OPTIONS = {"beams": (3,), "search": SearchOptions(nbest=2, max_len_b=8)}


def answers(answerer, sources, skip=()):
    """The answers in order, None where there is none."""
    found = {}
    for batch in answerer.decode(sources, skip):
        assert not found.keys() & set(batch)
        found.update(batch)
    return [found[at].answers if at in found else None for at in range(len(sources))]


def load(path, symbols=None, **options):
    return ModelAnswerer(str(path), symbols=symbols, **{**OPTIONS, **options})


def test_answers_are_those_of_fairseq_generate(models, capsys):
    capsys.readouterr()
    options = ("--beam", 3, "--nbest", 2, "--lenpen", 0.5, "--max-len-b", 8)
    generate(models.data, models.stream, *options, "--required-batch-size-multiple", 1)
    expected = printed(capsys.readouterr().out)
    search = SearchOptions(nbest=2, max_len_b=8, len_penalty=0.5)
    found = answers(load(models.stream, search=search), models.sources)
    assert found == [sentence.answers for sentence in expected]
    assert all(len(nbest) == 2 for nbest in found) and len(found) == 45


@pytest.mark.parametrize("limit", [{"batch_size": 7}, {"max_tokens": 60}])
def test_every_sentence_in_whatever_batches(models, limit):
    answerer = load(models.stream, **limit)
    batches = list(answerer.decode(models.sources))
    assert sorted(position for batch in batches for position in batch) == list(range(45))
    for positions in batches:
        batch = [models.sources[position].split() for position in positions]
        longest = max(map(len, batch)) + 1
        streams = max(max(1, len({*"abcde"}.intersection(source))) for source in batch)
        assert len(positions) <= limit.get("batch_size", 64)
        assert longest * streams <= limit.get("max_tokens", 2000)
    assert answers(answerer, models.sources) == answers(load(models.stream), models.sources)


def test_what_is_not_wanted_is_not_decoded(models):
    answerer = load(models.stream, batch_size=5)
    batches = list(map(list, answerer.decode(models.sources)))
    skip = {*batches[0], *batches[1], *batches[2][1:]}
    # A batch is decoded as a whole or not at all: its numbers are those of a complete run.
    assert list(map(list, answerer.decode(models.sources, skip))) == batches[2:]


def test_unsuitable_checkpoints_are_explained(models, tmp_path):
    (tmp_path / "text.pt").write_text("no checkpoint")
    for path, options, message in (
        (tmp_path / "none.pt", {}, "none.pt"),
        (tmp_path / "text.pt", {}, "text.pt"),
        (models.plain, {}, "sit convert"),
        (models.stream, {"symbols": "[a-z!]"}, "'!'"),
        (models.stream, {"device": "abacus"}, "change device"),
    ):
        with pytest.raises(UserError, match=message):
            load(path, **options)


def test_verdicts_of_a_verified_search_come_with_the_answers(models):
    """But for those that another judge may not give: of formulas that cannot be read, say."""
    first = {"search": SearchOptions(max_len_b=8)}
    plain = load(models.stream, **first)
    answerer = load(models.stream, verify="prop", **{**first, "beams": (2, 5)})
    assert plain.judge is None and answerer.judge.semantics == "prop"
    found = {at: entry for batch in answerer.decode(models.sources) for at, entry in batch.items()}
    verdicts = {at: entry.verdicts for at, entry in found.items()}
    assert [Verdict.satisfied] in verdicts.values() and len(verdicts) == 45
    for at, source in enumerate(models.sources):
        judged = answerer.judge.verify(source, found[at].answers[0])
        assert verdicts[at] == [judged] or (not verdicts[at] and judged is Verdict.invalid)
    assert all(not e.verdicts for batch in plain.decode(["a", "b"]) for e in batch.values())
