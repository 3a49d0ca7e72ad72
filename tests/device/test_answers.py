"""A shipped model answers on the pretended device what it answers on a CPU."""

from command_line import ROOT

from sit_fairseq.evaluation.decoding import CheckpointDecoder

QUESTIONS = ["& a ! b", "xor p q", "& | a b ! a", "! 0", "<-> ! a b", "& a & b c"]


def answers(**options):
    path = str(ROOT / "checkpoints" / "prop" / "model.pt")
    decoder = CheckpointDecoder(path, beam=3, max_len_a=2, max_len_b=20, **options)
    batches = decoder.decode(QUESTIONS)
    return {QUESTIONS[at]: entry.answers for batch in batches for at, entry in batch.items()}


def test_a_shipped_model_answers_the_same(device):
    assert answers(device=device.name) == answers()
