"""Names in models of transformers: the words that stand for them, and how tokenizers read and write."""

import re

import pytest
import torch
from test_rows import MODELS, PATTERN, Tokenizer, names_of

from sit_fairseq.errors import UserError
from sit_fairseq.rows import Names


def test_answers_are_read_as_the_tokenizer_reads_them():
    class Two(Tokenizer):
        def __call__(self, text=None, text_target=None, add_special_tokens=True):
            text = text_target.replace("w11", "w12") if text is None else text
            return super().__call__(text, add_special_tokens)

    model = MODELS["marian"]().eval()
    texts = ["w11 %s"], ["w11 %s w30"]
    found = Names(model, Two(True), PATTERN).loss(*texts)
    assert torch.equal(found, names_of(model).loss(texts[0], ["w12 %s w30"]))


def test_the_first_word_of_a_text_may_have_other_pieces():
    class Bytes(Tokenizer):
        """As of bytes: the word is one piece after a space alone."""

        def __call__(self, text, add_special_tokens=True):
            text = re.sub("^Pedro", "w50 w51", text).replace("Pedros", "Pedro w52")
            return super().__call__(text, add_special_tokens)

    names = Names(MODELS["gpt2"]().eval(), Bytes(False), PATTERN)
    assert len(names.generate(["w11 Pedros %s"], max_new_tokens=3)[0]) == 1


class Pieces(Tokenizer):
    """Another word holds the word for names, and one name does not split off from what is before."""

    pieces = {"Pedros": [7, 13], "xPedro": [14], "x": [15], "Pedro": [7]}

    def __call__(self, text, add_special_tokens=True):
        return {"input_ids": [one for word in text.split() for one in self.pieces[word]]}

    def decode(self, ids, skip_special_tokens=False):
        return " ".join({7: "Pedro", 8: "David", 16: "Pedrone"}.get(one, f"w{one}") for one in ids)


def test_another_word_may_spell_the_word_for_names():
    tokenizer = Pieces(False)
    tokenizer.pieces = {**Pieces.pieces, "a": [9], "David": [8]}
    names = Names(MODELS["gpt2"]().eval(), tokenizer, PATTERN)
    tokens = names._model.vocabulary.dictionary
    read = [tokens[index] for index in names._read("x%s Pedros", ["%s"])]
    assert read == ["0000015", "@01", "0000007", "0000013"]
    answer = [tokens.index(token) for token in ("0000016", "@01", "0000030", "0000016", "@02")]
    assert names._text(answer, ["%s", "{x}"]) == "Pedrone %s w30 Pedrone {x}"


def test_a_comment_of_a_pattern_takes_nothing_else_along():
    pattern = re.compile(r"%\w+  # conversions", re.VERBOSE)
    names = Names(MODELS["gpt2"]().eval(), Tokenizer(False), pattern)
    assert names._names("Pedro w3 %s") == ["Pedro", "%s"]


def test_words_that_are_no_token_are_named():
    model = MODELS["marian"]()
    with pytest.raises(UserError, match="actual placeholder|actual or placeholder"):
        Names(model, Tokenizer(True), PATTERN, actual="a", placeholder="a")


@pytest.mark.parametrize("pattern, parameter", [("(", "pattern"), ("x*", "pattern")])
def test_patterns_that_say_nothing(pattern, parameter):
    with pytest.raises(UserError, match=parameter):
        Names(MODELS["marian"](), Tokenizer(True), pattern)
