"""Streams through models of transformers, as rows of a batch."""

import copy
import math
import re
import subprocess
import sys

import pytest
import torch
from conftest import PACKAGE, SOURCES, TARGETS, encode, make_dictionary, make_model, redraw
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MambaConfig,
    MambaForCausalLM,
    MarianConfig,
    MarianMTModel,
    T5Config,
    T5ForConditionalGeneration,
)

from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.errors import UserError
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.models.rows import RowModel
from sit_fairseq.rows import Names

PATTERN = r"%\w+|\{\w+\}"
WORDS = {"Pedro": 7, "David": 8, "a": 9}


class Tokenizer:
    """Words w0, w1, ... and three names."""

    def __init__(self, seq2seq):
        self._last = [2] * seq2seq

    def __call__(self, text, add_special_tokens=True):
        ids = [WORDS[word] if word in WORDS else int(word[1:]) for word in text.split()]
        return {"input_ids": ids + self._last * add_special_tokens}

    def decode(self, ids, skip_special_tokens=False):
        names = {index: word for word, index in WORDS.items()}
        return " ".join(names.get(index, f"w{index}") for index in ids if index > 2)


SIDES = {
    f"{side}_{name}": number
    for side in ("encoder", "decoder")
    for name, number in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 64))
}
IDS = {"vocab_size": 60, "pad_token_id": 1, "eos_token_id": 2, "bos_token_id": 0}
SHORT = {"d_model": 32, **SIDES, **IDS, "max_position_embeddings": 64}
MODELS = {
    "marian": lambda: MarianMTModel(
        MarianConfig(**SHORT, decoder_start_token_id=1, forced_eos_token_id=None)
    ),
    "t5": lambda: T5ForConditionalGeneration(
        T5Config(
            d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=1, **IDS
        )
    ),
    "mamba": lambda: MambaForCausalLM(
        MambaConfig(hidden_size=32, num_hidden_layers=2, state_size=8, **IDS)
    ),
    "gpt2": lambda: GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=2, n_head=4, **IDS)),
    "llama": lambda: LlamaForCausalLM(
        LlamaConfig(
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            **IDS,
        )
    ),
}
SEARCHES = [
    {},
    {"num_beams": 3, "num_return_sequences": 2},
    {"do_sample": True, "num_return_sequences": 2, "temperature": 2.0},
]

TEXTS = ["w11 %s w23 {b} w42", "w12 w13", "%s w20 %s {b} %d w5", "w30 {x}", "%d %s"]
RENAMED = {"%s": "%zz", "{b}": "{q}", "%d": "{a}", "{x}": "%x"}


def renamed(text):
    return re.sub(PATTERN, lambda match: RENAMED[match.group()], text)


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    """A random model with large weights, that ends its answers and writes names."""
    torch.manual_seed(1)
    made = MODELS[request.param]().eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(3)
    return made


def names_of(model):
    return Names(model, Tokenizer(model.config.is_encoder_decoder), PATTERN)


@pytest.mark.parametrize("search", SEARCHES, ids=["greedy", "beams", "sampling"])
def test_renamed_texts_have_renamed_answers_with_equal_scores(model, search):
    found = []
    for texts in (TEXTS, list(map(renamed, TEXTS))):
        torch.manual_seed(3)
        found.append(names_of(model).generate(texts, max_new_tokens=20, **search))
    expected = [[(renamed(text), score) for text, score in nbest] for nbest in found[0]]
    assert expected == found[1] and all(found[0])


def test_loss_is_minus_the_score_and_trains_the_model(model):
    if not model.config.is_encoder_decoder:
        with pytest.raises(UserError):
            names_of(model).loss(TEXTS, TEXTS)
        return
    wide = copy.deepcopy(model).double()
    names = names_of(wide)
    found = [(t, *n[0]) for t, n in zip(TEXTS, names.generate(TEXTS, max_new_tokens=20))]
    losses = [names.loss([text], [answer]) for text, answer, _ in found]
    scores = [score for *_, score in found]
    assert [-loss.item() for loss in losses] == pytest.approx(scores, rel=1e-5)
    assert torch.equal(losses[0], names.loss(*([renamed(text)] for text in found[0][:2])))
    (gradient,) = torch.autograd.grad(losses[0], [wide.get_output_embeddings().weight])
    assert gradient.abs().max() > 0


def test_a_loss_begins_as_answers_do_and_leaves_out_what_they_cannot_hold():
    wide = BartForConditionalGeneration(BartConfig(**SHORT, decoder_start_token_id=2))
    wide = wide.double().eval()
    wide.generation_config.forced_bos_token_id = 0
    names, text = names_of(wide), "w11 %s w23"
    ((answer, score),) = names.generate([text], max_new_tokens=6)[0]
    assert names.loss([text], [answer]).item() == pytest.approx(-score, rel=1e-5)

    class Both(Tokenizer):
        """The word is also a part of others."""

        def __call__(self, text, add_special_tokens=True):
            return super().__call__(text.replace("Pedros", "Pedro w40"), add_special_tokens)

    names = Names(wide, Both(True), PATTERN)
    assert names.loss([text], ["Pedros w11 %s"]).isfinite()


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_prompt_may_hold_what_no_answer_can(kind):
    """The end of a turn, for example, or the word for names within another word."""
    torch.manual_seed(2)
    model = MODELS[kind]().eval()
    model.generation_config.eos_token_id = [2, 20]
    model.generation_config.bad_words_ids = [[21]]
    prompts = ["w30 w20 w31", "w20 w21 %s w30 w20", "w33 %s"]
    found = names_of(model).generate(prompts, max_new_tokens=4)
    for ((text, score),), prompt in zip(found, prompts):
        (alone,) = names_of(model).generate([prompt], max_new_tokens=4)[0]
        assert alone == (text, pytest.approx(score, abs=1e-5))
        assert math.isfinite(score) and not {"w20", "w21"} & set(text.split())
    ids = torch.tensor([Tokenizer(False)(prompts[0])["input_ids"]])
    options = dict(do_sample=False, max_new_tokens=4, eos_token_id=[2, 20], bad_words_ids=[[21]])
    plain = model.generate(ids, **options)[0, ids.size(1) :].tolist()
    assert found[0][0][0] == Tokenizer(False).decode([one for one in plain if one != 20])


def test_a_text_may_be_as_long_as_the_model_reads():
    names = names_of(MODELS["marian"]().eval())
    texts = [" ".join(["w30"] * length) for length in (63, 64)]  # and its end
    assert list(map(len, names.generate(texts, max_new_tokens=2))) == [1, 0]


def test_what_bounds_no_model_bounds_no_text():
    """T5 has relative positions, whatever its ``n_positions`` say."""
    names = names_of(MODELS["t5"]().eval())
    names._model.model.config.n_positions = 4
    assert len(names.generate(["w30 w31 w32 %s w33 w34"], max_new_tokens=2)[0]) == 1


def test_a_model_without_a_cache_is_refused(monkeypatch):
    names = names_of(MODELS["gpt2"]().eval())
    plain = names._model.model.forward
    monkeypatch.setattr(names._model.model, "forward", lambda **given: _Bare(plain(**given)))
    with pytest.raises(
        UserError, match="GPT2LMHeadModel keeps no cache that is known; change model"
    ):
        names.generate(["w30"], max_new_tokens=2)


class _Bare:
    """The logits of an output alone."""

    def __init__(self, output):
        self.logits = output.logits


def test_a_loss_is_of_what_the_model_reads_whole():
    names = names_of(MODELS["marian"]())
    assert names.loss(["w30 " * 63], ["w31 " * 63]).isfinite()
    with pytest.raises(UserError, match=r"has 65 tokens, more than the 64 .*; change answers"):
        names.loss(["w30"], ["w31 " * 64])
    with pytest.raises(UserError, match="change texts"):
        names.loss(["w30 " * 64], ["w31"])


def test_a_loss_is_of_as_many_answers_with_the_names_of_their_texts():
    names = names_of(MODELS["marian"]())
    for texts, answers in (([], []), (["w30"], ["w30", "w31"])):
        with pytest.raises(UserError, match="change texts or answers"):
            names.loss(texts, answers)
    with pytest.raises(UserError, match="has {y}, its text not; change answers"):
        names.loss(["w30 {x}"], ["w30 {y}"])
    with pytest.raises(TypeError, match="one text"):
        names.loss("w30", "w30")


def test_answers_are_those_of_evaluation_and_the_model_trains_on():
    model = MODELS["marian"]()
    names = names_of(model)
    for training in (True, False):
        model.train(training)
        model.get_encoder().eval()  # frozen
        assert names.generate(TEXTS, max_new_tokens=3) == names.generate(TEXTS, max_new_tokens=3)
        assert (model.training, model.get_encoder().training) == (training, False)


@pytest.mark.parametrize("text, word", [("w30 {x} w5", "w30 Pedro w5"), ("w30 w31", "w30 w31")])
def test_one_name_is_its_word_put_in_by_hand(model, text, word):
    tokenizer = Tokenizer(model.config.is_encoder_decoder)
    ids = tokenizer(word)["input_ids"]
    more = {"num_beams": 1, "do_sample": False, "max_new_tokens": 12}
    (plain,) = model.generate(torch.tensor([ids]), **more).tolist()
    plain = plain[1:] if model.config.is_encoder_decoder else plain[len(ids) :]
    ((answer, _),) = names_of(model).generate([text], max_new_tokens=12)[0]
    assert answer.replace("{x}", "Pedro") == tokenizer.decode(plain)


def test_names_come_as_often_as_the_text_has_them(model):
    if not model.config.is_encoder_decoder:
        with pytest.raises(UserError, match="once"):
            names_of(model).generate(TEXTS, once=True)
        return
    for beams in (1, 3):
        found = names_of(model).generate(TEXTS, once=True, num_beams=beams, max_new_tokens=12)
        for text, ((answer, _), *_) in zip(TEXTS, found):
            assert make_judge("placeholders").verify(text, answer) is Verdict.satisfied


def copied(own):
    """BART with the weights of a stream model: its last two ids are *actual* and *placeholder*."""
    state = own.state_dict()
    size, channels = state["encoder.embed_tokens.weight"].shape
    sides = {f"{side}_{name}": 2 for side in ("encoder", "decoder") for name in ("layers",)}
    sides |= {f"{side}_attention_heads": 3 for side in ("encoder", "decoder")}
    sides |= {f"{side}_ffn_dim": 40 for side in ("encoder", "decoder")}
    made = BartForConditionalGeneration(
        BartConfig(
            **{**IDS, "vocab_size": size},
            d_model=channels,
            **sides,
            max_position_embeddings=200,
            activation_function="relu",
            scale_embedding=True,
        )
    )
    new = {}
    for name in made.state_dict():
        ours = name.removeprefix("model.").replace("encoder_attn", "encoder_attn.0")
        ours = ours.replace("encoder_attn.0_layer_norm", "encoder_attn_layer_norm.0")
        ours = re.sub("^(shared|lm_head)", "encoder.embed_tokens", ours)
        joined = re.sub(r"self_attn\.[qkv]_proj", "self_attn.qkv_proj", ours)
        joined = re.sub(r"encoder_attn\.0\.[kv]_proj", "encoder_attn.0.kv_proj", joined)
        if name == "final_logits_bias":
            new[name] = made.state_dict()[name]
        elif joined == ours:
            new[name] = state[ours]
        else:
            letters = "qkv" if "self" in ours else "kv"
            part = letters.index(re.search(r"([qkv])_proj", ours)[1])
            new[name] = state[joined].chunk(len(letters))[part]
    made.load_state_dict(new)
    return made.eval()


def test_equal_to_a_stream_model_of_the_same_weights():
    dictionary = make_dictionary()
    own = redraw(
        make_model(
            dictionary,
            stream_attention="EP-DP-CP",
            encoder_positions="learned",
            decoder_positions="learned",
            output_head="linear",
            layernorm_embedding=True,
            share_embeddings="all",
            max_source_positions=200,
            max_target_positions=200,
        )
    ).eval()
    size = own.vocabulary.num_base
    rows = RowModel(copied(own), r"@\d+", size, size + 1, [])
    source, target = encode(dictionary, SOURCES), encode(dictionary, TARGETS)
    previous = torch.cat((torch.full((len(target), 1), dictionary.eos()), target), 1)[:, :-1]
    context = own.encode(source)
    expected = own.decode(previous, context)
    canonical = context.slots.encode(previous)

    def read(line):
        """A sentence in tokens of the rows, with the </s> that BART is shown."""
        words = []
        for index in [*map(dictionary.index, line.split()), dictionary.eos()]:
            row = int(own.vocabulary.rows(torch.tensor(index)))
            words.append(f"{row:07d}" if row >= 0 else f"@{index}")
        return " ".join(words)

    known = rows.vocabulary.dictionary
    batch = rows.encode(known.encode(list(map(read, SOURCES))))
    # Columns of the rows: four special tokens, the ids of BART, names.
    shifted = torch.where(canonical < 4, canonical, canonical + 4)
    shifted = torch.where(canonical >= size, canonical + 4 + 2, shifted)
    found = rows.step(shifted, rows.memory(batch))
    places = [2, *range(8, 4 + size), *range(rows.vocabulary.num_base, found.size(2))]
    mine = [2, *range(4, size), *range(size, expected.size(2))]
    real = previous.ne(dictionary.pad())
    torch.testing.assert_close(
        found[real][:, places], expected[real][:, mine], atol=1e-4, rtol=1e-4
    )


def test_needs_torch_and_transformers_alone():
    script = "import sys\n"
    for name in ("fairseq", "fairseq_cli", "omegaconf", "hydra"):
        script += f"sys.modules[{name!r}] = None\n"
    script += "import sit_fairseq.rows"
    done = subprocess.run([sys.executable, "-c", script], cwd=PACKAGE.parent)
    assert done.returncode == 0


@pytest.mark.parametrize(
    "options, parameter",
    [
        ({"num_beams": 0}, "num_beams"),
        ({"max_new_tokens": 2.5}, "max_new_tokens"),
        ({"top_k": 3}, "do_sample"),
        ({"do_sample": True, "top_p": 0}, "top_p"),
    ],
)
def test_options_are_named_as_the_caller_does(options, parameter):
    with pytest.raises(UserError, match=f"{parameter}$"):
        names_of(MODELS["gpt2"]()).generate(TEXTS, **options)


def test_texts_come_in_any_list(model):
    names, options = names_of(model), {"max_new_tokens": 3}
    assert names.generate([], **options) == []
    assert names.generate(iter(TEXTS), **options) == names.generate(TEXTS, **options)
    with pytest.raises(TypeError, match="one text"):
        names.generate(TEXTS[0])
    with torch.device("meta"):
        assert names.generate(TEXTS, **options) == names_of(model).generate(TEXTS, **options)


@pytest.mark.parametrize("ends", [None, 60, [60, 61]])
def test_a_model_ends_its_answers(ends):
    model = MODELS["gpt2"]()
    model.generation_config.eos_token_id = ends
    with pytest.raises(UserError, match="eos_token_id"):
        Names(model, Tokenizer(False), PATTERN)
    model.generation_config.eos_token_id = [2, 60]
    assert Names(model, Tokenizer(False), PATTERN).generate(["w30"], max_new_tokens=9)[0]


def test_a_model_without_a_head_generates_nothing():
    with pytest.raises(UserError, match="model$"):
        Names(MODELS["marian"]().model, Tokenizer(True), PATTERN)


def test_a_text_may_hold_the_words(model):
    """They are names, too."""
    names = names_of(model)
    found = [names.generate([f"{name} w3 %s"], max_new_tokens=9)[0] for name in ("Pedro", "{a}")]
    assert found[0] == [(text.replace("{a}", "Pedro"), score) for text, score in found[1]]
