"""A shipped model answers on the pretended device what it answers on a CPU."""

from command_line import ROOT

from sit_fairseq.evaluation.decoding import CheckpointDecoder, DecodingOptions

QUESTIONS = ["& a ! b", "xor p q", "& | a b ! a", "! 0", "<-> ! a b", "& a & b c"]


def answers(**options):
    options = DecodingOptions(beam=3, max_len_a=2, max_len_b=20, **options)
    decoder = CheckpointDecoder(str(ROOT / "checkpoints" / "prop" / "model.pt"), options)
    return {
        QUESTIONS[position]: answer
        for positions, found in decoder.decode(QUESTIONS)
        for position, answer in zip(positions, found)
    }


def test_a_shipped_model_answers_the_same(device):
    assert answers(device=device.name) == answers()
