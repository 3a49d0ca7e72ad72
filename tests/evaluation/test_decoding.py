"""Decoding in process, compared with fairseq-generate."""

from functools import reduce

import pytest
import torch
from command_line import generate, printed

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.decoding import CheckpointDecoder
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.symbols.renaming import Renaming

OPTIONS = dict(beam=3, nbest=2, max_len_b=8)
LONG = reduce(lambda formula, _: f"& {formula} {formula}", range(10), "a")  # 2047 tokens


def answers(decoder, sources, skip=()):
    """The answers in order, None where there is none."""
    found = {}
    for batch in decoder.decode(sources, skip):
        assert not found.keys() & set(batch)
        found.update(batch)
    return [found[at].answers if at in found else None for at in range(len(sources))]


def load(path, data=None, symbols=None, **options):
    options = {**OPTIONS, **options}
    return CheckpointDecoder(str(path), data=data and str(data), symbols=symbols, **options)


@pytest.mark.parametrize("kind", ["stream", "plain"])
def test_answers_are_those_of_fairseq_generate(models, kind, tmp_path, capsys):
    path = getattr(models, kind)
    capsys.readouterr()
    options = ("--beam", 3, "--nbest", 2, "--lenpen", 0.5, "--max-len-b", 8)
    generate(models.data, path, *options, "--required-batch-size-multiple", 1)
    expected = printed(capsys.readouterr().out)
    data = models.data if kind == "plain" else None
    found = answers(load(path, data, lenpen=0.5), models.sources)
    assert found == [sentence.answers for sentence in expected]
    assert all(len(nbest) == 2 for nbest in found) and len(found) == 45


@pytest.mark.parametrize("limit", [{"batch_size": 7}, {"max_tokens": 60}, {"batch_size": 1}])
def test_every_sentence_in_whatever_batches(models, limit):
    decoder = load(models.stream, **limit)
    batches = list(decoder.decode(models.sources))
    assert sorted(position for batch in batches for position in batch) == list(range(45))
    for positions in batches:
        batch = [models.sources[position].split() for position in positions]
        longest = max(map(len, batch)) + 1
        streams = sum(max(1, len({*"abcde"}.intersection(source))) for source in batch)
        assert len(positions) <= limit.get("batch_size", 64)
        assert longest * streams <= limit.get("max_tokens", 2000)
    assert answers(decoder, models.sources) == answers(load(models.stream), models.sources)


def test_the_judges_of_training_are_not_started(models, tmp_path):
    state = torch.load(models.stream)
    state["cfg"]["task"]["validate_semantics"] = "of another machine"
    torch.save(state, tmp_path / "judged.pt")
    found = answers(load(tmp_path / "judged.pt"), models.sources)
    assert found == answers(load(models.stream), models.sources)


def test_what_is_not_wanted_is_not_decoded(models):
    decoder = load(models.stream, batch_size=5)
    batches = list(map(list, decoder.decode(models.sources)))
    skip = {*batches[0], *batches[1], *batches[2][1:]}
    # A batch is decoded as a whole or not at all: its numbers are those of a complete run.
    assert list(map(list, decoder.decode(models.sources, skip))) == batches[2:]


def test_names_never_seen_need_no_more_than_a_pattern(models):
    renaming = Renaming({"a": "p17", "b": "speed_limit", "c": "a", "d": "b", "e": "z"})
    renamed = [renaming(source) for source in models.sources]
    wider = load(models.stream, symbols=r"(?!xor$)[a-z]\w*")
    expected = answers(load(models.stream), models.sources)
    assert answers(wider, renamed) == [[renaming(a) for a in nbest] for nbest in expected]
    with pytest.raises(UserError, match="unknown token 'p17'"):
        answers(load(models.stream), ["! p17"])


def test_what_the_model_takes_for_what(models):
    stream, plain = load(models.stream), load(models.plain, models.data)
    assert stream.base_tokens == plain.base_tokens
    assert set(stream.base_tokens) <= {"!", "&", "|", "xor", "<->", "0", "1"}
    assert stream.symbols == plain.symbols == "[a-z]" and stream.fresh_symbols == 0
    assert stream.symbol_names(3) == ["a", "b", "c"]
    assert sorted(plain.symbol_names(5)) == list("abcde")
    wide = load(models.stream, symbols=r"[a-z]|p\d+").symbol_names(40)
    assert wide[24:28] == ["y", "z", "p0", "p1"] and len(set(wide)) == 40
    with pytest.raises(UserError, match="27 symbols are more than the 26 .*--symbols"):
        stream.symbol_names(27)
    with pytest.raises(UserError, match="6 symbols are more than the 5"):
        plain.symbol_names(6)


@pytest.mark.parametrize(
    "options, sources, words",
    [
        ({}, ["! a", LONG], "sentence 2 .* 2048 tokens .*, more than the 1024 .*--max-source-pos"),
        ({"max_tokens": 5}, ["& a & b & c d"], "sentence 1 .* counts 32 tokens .*--max-tokens"),
    ],
)
def test_sentences_that_cannot_be_read_are_named(models, options, sources, words):
    with pytest.raises(UserError, match=words):
        list(load(models.stream, **options).decode(sources))


def test_a_model_without_streams_counts_plain_tokens(models):
    source = "& a & b & c d"
    expected = answers(load(models.plain, models.data), [source])
    assert answers(load(models.plain, models.data, max_tokens=8), [source]) == expected
    with pytest.raises(UserError, match="counts 8 tokens .8 with </s>; streams: 1."):
        answers(load(models.plain, models.data, max_tokens=7), [source])


def test_fairseqs_own_model_of_its_own_task(models, tmp_path):
    state = torch.load(models.plain)
    state["cfg"]["task"].update(_name="translation", symbols=None)
    torch.save(state, tmp_path / "translation.pt")
    expected = answers(load(models.plain, models.data), models.sources)
    assert answers(load(tmp_path / "translation.pt", models.data), models.sources) == expected
    with pytest.raises(UserError, match="1 symbols are more than the 0 .*--symbols"):
        load(tmp_path / "translation.pt", models.data).symbol_names(1)
    wider = load(tmp_path / "translation.pt", models.data, symbols="[a-z]")
    assert sorted(wider.symbol_names(5)) == list("abcde")


def test_unsuitable_checkpoints_are_explained(models, tmp_path):
    with pytest.raises(UserError, match="none.pt does not exist or is no file"):
        load(tmp_path / "none.pt")
    (tmp_path / "text.pt").write_text("no checkpoint")
    with pytest.raises(UserError, match="not a readable fairseq checkpoint"):
        load(tmp_path / "text.pt")
    with pytest.raises(UserError, match="does not hold its dictionary.*--data"):
        load(models.plain)
    with pytest.raises(UserError, match="not a directory written by fairseq-preprocess"):
        load(models.plain, tmp_path / "nothing")
    with pytest.raises(UserError, match="matches the operator '!'"):
        load(models.stream, symbols="[a-z!]")
    with pytest.raises(UserError, match="abacus cannot be used here .*; change --device"):
        load(models.stream, device="abacus")


def test_verdicts_of_a_verified_search_come_with_the_answers(models):
    """But for those that another judge may not give: of formulas that cannot be read, say."""
    plain = load(models.stream, nbest=1)
    decoder = load(models.stream, nbest=1, beam=2, verify="prop", verify_beams="2,5")
    assert plain.judge is None and decoder.judge.semantics == "prop"
    found = {at: entry for batch in decoder.decode(models.sources) for at, entry in batch.items()}
    verdicts = {at: entry.verdicts for at, entry in found.items()}
    assert [Verdict.satisfied] in verdicts.values() and len(verdicts) == 45
    for at, source in enumerate(models.sources):
        judged = decoder.judge.verify(source, found[at].answers[0])
        assert verdicts[at] == [judged] or (not verdicts[at] and judged is Verdict.invalid)
    assert all(not e.verdicts for batch in plain.decode(["a", "b"]) for e in batch.values())
