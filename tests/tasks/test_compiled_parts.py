"""The NumPy versions of fairseq's compiled parts, beside loops that say the same step by step."""

import subprocess
import sys
from itertools import accumulate

import numpy
import pytest
import sacrebleu
import torch
from command_line import ROOT
from fairseq.data.data_utils import batch_by_size
from fairseq.scoring import bleu

from sit_fairseq.tasks import compiled_parts

RNG = numpy.random.default_rng(5)


def literal_batches(indices, lengths, max_tokens, max_sentences, multiple):
    """A batch takes in the tail behind it once both together are of a fitting size; it ends where
    they exceed a limit."""

    def too_long(*parts):
        words = [lengths[index] for part in parts for index in part]
        return 0 < max_tokens < len(words) * max(words)

    batches, batch, tail = [], [], []
    for index in indices:
        tail.append(index)
        size = len(batch) + len(tail)
        if 0 < max_sentences < size or too_long(batch, tail):
            if too_long(tail):
                batches.append(batch)
                batch, tail = tail[:-1], tail[-1:]
            batches.append(batch)
            batch, tail = tail, []
        elif size < multiple or size % multiple == 0:
            batch, tail = batch + tail, []
    return [part for part in (*batches, batch, tail) if part]


@pytest.mark.parametrize("multiple", [1, 2, 3, 8])
@pytest.mark.parametrize("max_sentences", [-1, 1, 2, 5, 8, 13])
def test_batches_are_those_of_the_loop(max_sentences, multiple):
    for _ in range(40):
        count, longest = RNG.integers(0, 60), RNG.integers(1, 20)
        lengths, indices = RNG.integers(1, longest + 1, count), RNG.permutation(count)
        if RNG.random() < 0.5:
            indices = lengths.argsort()
        limits = (int(RNG.choice([-1, longest, 3 * longest, 50])), max_sentences, multiple)
        if 0 < limits[0] < longest:
            continue
        expected = literal_batches(indices.tolist(), lengths.tolist(), *limits)
        for batches in (
            compiled_parts.batch_by_size_vec(indices, lengths[indices], *limits),
            compiled_parts.batch_by_size_fn(indices, lengths.__getitem__, *limits),
        ):
            assert [batch.tolist() for batch in batches] == expected


def test_a_sentence_beyond_the_limit_is_refused():
    with pytest.raises(AssertionError, match="max_tokens=4"):
        compiled_parts.batch_by_size_vec(numpy.arange(2), numpy.array([4, 5]), 4, -1, 1)


def literal_blocks(sizes, mode, block_size, separator):
    tokens = sum(sizes)
    if mode == "none":
        return [(at, min(at + block_size, tokens)) for at in range(0, tokens, block_size)]
    ends = list(accumulate(sizes, initial=0))
    if mode == "eos":
        return list(zip(ends, ends[1:]))
    groups = [[]]  # of sentences
    for sentence, size in enumerate(sizes):
        if mode == "complete_doc" and size == separator:
            groups += [[]]
        elif groups[-1] and sum(sizes[member] for member in groups[-1]) + size > block_size:
            groups += [[sentence]]
        else:
            groups[-1].append(sentence)
    blocks = [(ends[group[0]], ends[group[-1] + 1]) for group in groups if group]
    return [block for block in blocks if mode == "complete" or block[1] - block[0] > 1]


@pytest.mark.parametrize("mode", ["none", "complete", "complete_doc", "eos"])
def test_blocks_are_those_of_the_loop(mode):
    for _ in range(200):
        sizes = RNG.integers(1, RNG.choice([2, 4, 20]), RNG.integers(1, 30))
        block_size, separator = RNG.integers(1, 40), RNG.integers(1, 3)
        blocks = compiled_parts._get_slice_indices_fast(sizes, mode, block_size, separator)
        expected = literal_blocks(sizes.tolist(), mode, int(block_size), int(separator))
        assert list(map(tuple, blocks.tolist())) == expected
        if not expected:
            continue
        places = [(sentence, at) for sentence, size in enumerate(sizes) for at in range(size)]
        found = compiled_parts._get_block_to_dataset_index_fast(sizes, blocks)
        assert found.tolist() == [
            [*places[start], places[end - 1][0]] for start, end in blocks.tolist()
        ]


@pytest.fixture
def without_compiled_parts(monkeypatch):
    """fairseq as if it had been installed without a compiler, and a use of what stands in."""
    find = compiled_parts.find_spec
    missing = (*compiled_parts._MODULES, "fairseq.libbleu")
    monkeypatch.setattr(
        compiled_parts, "find_spec", lambda name: None if name in missing else find(name)
    )
    for name in compiled_parts._MODULES:
        monkeypatch.setitem(sys.modules, name, None)  # monkeypatch restores what was there
        monkeypatch.delitem(sys.modules, name)
    for name in ("__init__", "reset", "add"):
        monkeypatch.setattr(bleu.Scorer, name, None)
    compiled_parts.provide()


def test_fairseq_makes_batches_without_a_compiler(without_compiled_parts):
    lengths = numpy.array([1, 1, 1, 5, 5])
    batches = batch_by_size(numpy.arange(5), lengths.item, lengths, 6, 8)
    assert [batch.tolist() for batch in batches] == [[0, 1, 2], [3], [4]]


def test_bleu_counts_as_sacrebleu_does(without_compiled_parts):
    scorer = bleu.Scorer(bleu.BleuConfig())
    references, answers = [], []
    for _ in range(100):
        pair = [RNG.integers(4, 9, RNG.integers(4, 12)) for _ in range(2)]
        pair[0][0] = 3  # an unknown word matches none
        padded = [torch.tensor([1, *words, 2, 2], dtype=torch.int32) for words in pair]
        scorer.add(*padded)
        references.append(" ".join(["unknown", *map(str, pair[0][1:])]))
        answers.append(" ".join(map(str, pair[1])))
    expected = sacrebleu.corpus_bleu(answers, [references], tokenize="none", smooth_method="none")
    stat = scorer.stat
    assert [stat.match1, stat.match2, stat.match3, stat.match4] == expected.counts
    assert [stat.count1, stat.count2, stat.count3, stat.count4] == expected.totals
    assert (stat.predlen, stat.reflen) == (expected.sys_len, expected.ref_len)
    assert scorer.score() == pytest.approx(expected.score)


def test_bleu_keeps_one_closing_token_of_an_empty_answer(without_compiled_parts):
    scorer = bleu.Scorer(bleu.BleuConfig())
    scorer.reset(one_init=True)
    scorer.add(*(torch.tensor(words, dtype=torch.int32) for words in ([5, 2], [2, 2])))
    assert (scorer.stat.predlen, scorer.stat.match1, scorer.stat.count1) == (1, 0, 1)
    assert (scorer.stat.match4, scorer.stat.count4) == (1, 1)


def test_set_up_writes_them():
    assert "-m sit_fairseq.tasks.compiled_parts" in (ROOT / "scripts/setup.sh").read_text()


def test_fairseq_score_without_a_compiler_and_the_plug_in(without_compiled_parts, tmp_path):
    """In a process whose fairseq has the written modules, as after ``scripts/setup.sh``."""
    (tmp_path / "data").mkdir()
    compiled_parts.write(tmp_path)
    assert len(list(tmp_path.rglob("*.py"))) == 3
    (tmp_path / "text").write_text("a b c d e\nb c d e\n")
    words = ["fairseq-score", "--sys", str(tmp_path / "text"), "--ref", str(tmp_path / "text")]
    lines = (
        "import sys, fairseq, fairseq.data",
        f"fairseq.__path__.insert(0, {str(tmp_path)!r})",
        f"fairseq.data.__path__.insert(0, {str(tmp_path / 'data')!r})",
        f"sys.argv = {words}",
        "from fairseq.data.data_utils_fast import batch_by_size_vec",
        "from fairseq_cli.score import cli_main",
        "cli_main()",
    )
    command = [sys.executable, "-W", "ignore", "-c", "\n".join(lines)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert "BLEU4 = 100.00" in result.stdout, result.stderr
