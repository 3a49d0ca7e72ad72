"""What generate and the tokenizer of a folder for transformers take, refuse and forget."""

import contextlib
import pickle
from types import SimpleNamespace

import pytest
import torch
from export.conftest import load
from transformers import GenerationConfig, GenerationMixin, Seq2SeqTrainer

from sit_fairseq.domains import find


def test_search_has_all_its_kinds(folder):
    tokenizer, model = load(folder("prop"))
    lines = ["xor a & b c", "! d"]
    inputs = tokenizer(lines, padding=True, return_tensors="pt")

    def answers(**options):
        return tokenizer.batch_decode(model.generate(**inputs, **options), skip_special_tokens=True)

    best = answers(num_beams=5, num_return_sequences=3, constrained=True)
    assert len(set(best[:3])) == 3 and best[:1] == answers(num_beams=5)[:1]
    assert answers(do_sample=True, top_k=1) == answers() == answers(do_sample=True, top_p=1e-6)
    drawn = answers(do_sample=True, num_return_sequences=20, temperature=20.0, max_new_tokens=9)
    assert len(drawn) == 40 and len(set(drawn[:20])) > 5
    hot = dict(do_sample=True, num_return_sequences=20, temperature=200.0, max_new_tokens=8)
    grammar = find("prop").grammar()
    for text in answers(**hot, constrained="prop"):
        state = grammar.start()
        for word in text.split():
            state = grammar.next(state, word if word in "01" else ord(word))
        assert grammar.shortest(state) == 0
    begun = tokenizer("b 1", add_special_tokens=False)["input_ids"]
    prefix = torch.tensor([[model.config.decoder_start_token_id, *begun]])
    inputs = tokenizer(lines[:1], return_tensors="pt")
    assert answers(decoder_input_ids=prefix, num_beams=3)[0].startswith("b 1 ")
    for given in (prefix[:, 1:], torch.nn.functional.pad(prefix, (2, 0), value=1)):
        found = answers(decoder_input_ids=given, num_beams=3)
        assert found == answers(decoder_input_ids=prefix, num_beams=3)
    assert answers(decoder_input_ids=prefix[:, :1]) == answers()


def test_generation_takes_what_transformers_passes(folder):
    tokenizer, model = load(folder("prop"))
    inputs = tokenizer(["xor a & b c", "! d"], padding=True, return_tensors="pt")
    usual = dict(labels=inputs["input_ids"], pad_token_id=1, eos_token_id=[2], synced_gpus=False)
    usual.update(use_cache=True, output_scores=False, repetition_penalty=1.0, top_k=None)
    usual.update(logits_processor=[], streamer=None)
    best = model.generate(**inputs, num_beams=3)
    assert torch.equal(model.generate(**inputs, **usual, num_beams=3), best)
    usual["pad_token_id"] = 2  # as for causal models
    assert torch.equal(model.generate(**inputs, **usual, num_beams=3), best)
    config = GenerationConfig(num_beams=3, pad_token_id=1)
    assert torch.equal(model.generate(**inputs, generation_config=config), best)
    one = inputs["input_ids"][:1]
    assert torch.equal(model.generate(one, config), model.generate(one, num_beams=3))
    shorter = model.generate(**inputs, generation_config=config, max_length=3)
    assert torch.equal(shorter, model.generate(**inputs, num_beams=3, max_new_tokens=2))
    assert torch.equal(model.generate(inputs["input_ids"][:1], max_length=3)[0, :2], best[0, :2])
    model.generation_config.num_beams = 3
    ids = dict(inputs=inputs["input_ids"], attention_mask=inputs["attention_mask"])
    assert torch.equal(model.generate(**ids), best)


def test_a_model_is_pickled_and_what_is_no_part_of_a_sentence_is_marked(folder):
    tokenizer, model = load(folder("prop"))
    assert isinstance(model, GenerationMixin)
    inputs = tokenizer(
        ["! a", "d"], padding=True, return_special_tokens_mask=True, return_tensors="pt"
    )
    assert inputs.pop("special_tokens_mask").tolist() == [[0, 0, 1], [0, 1, 1]]
    again = pickle.loads(pickle.dumps(model))
    assert torch.equal(again.generate(**inputs), model.generate(**inputs))


@pytest.mark.parametrize(
    "option",
    [
        *(dict(output_scores=True), dict(repetition_penalty=1.2), dict(num_beam_groups=2)),
        *(dict(generation_config=GenerationConfig(repetition_penalty=1.2)), dict(eos_token_id=7)),
        *(dict(streamer=print), dict(synced_gpus=True), dict(nun_beams=3), dict(max_time=1.0)),
        dict(forced_bos_token_id=0),
    ],
)
def test_generation_names_what_it_lacks(option, folder):
    tokenizer, model = load(folder("prop"))
    name = "repetition_penalty" if "generation_config" in option else next(iter(option))
    with pytest.raises(ValueError, match=f"generate has no {name}="):
        model.generate(**tokenizer("! a", return_tensors="pt"), **option)


@pytest.mark.parametrize(
    "option",
    [
        *(dict(num_beams="3"), dict(num_beams=10**9), dict(num_return_sequences=0)),
        *(dict(do_sample=True, top_p="a"), dict(verify="prop")),
        *(dict(verify=max, verify_beams=3), dict(verify_beams=[3]), dict(constrained=5)),
        *(dict(num_beams=2, num_return_sequences=3), dict(verify=max, verify_beams=[0, 3])),
    ],
)
def test_options_of_another_kind_are_refused(option, folder):
    tokenizer, model = load(folder("prop"))
    with pytest.raises(ValueError):
        model.generate(**tokenizer("! a", return_tensors="pt"), **option)


@pytest.mark.parametrize("option", ["output_hidden_states", "output_attentions"])
def test_forward_names_what_it_lacks(option, folder):
    tokenizer, model = load(folder("prop"))
    inputs = tokenizer("! a", text_target="a 0", return_tensors="pt")
    with pytest.raises(ValueError, match=option):
        model(**inputs, **{option: True})


def test_ids_that_are_no_batch_are_refused(folder):
    tokenizer, model = load(folder("prop"))
    one = tokenizer("! a", return_tensors="pt")["input_ids"]
    for ids in (one[0], one[:0], one.float(), one.tolist(), torch.tensor([[-5, 2]])):
        with pytest.raises(ValueError):
            model.generate(ids)
    with pytest.raises(ValueError, match="attention_mask"):
        model.generate(one, attention_mask=one[:, 1:])
    for labels in (one[:, :0], torch.full((1, 3), -100), one.repeat(2, 1)):
        with pytest.raises(ValueError, match="1 sentences need as many targets"):
            model(one, labels=labels)
    with pytest.raises(ValueError, match="where no token goes on"):
        tokenizer.batch_decode([[-100]])


def test_a_trainer_predicts_with_generate(folder):
    """The step of Seq2SeqTrainer alone, since the rest of it needs accelerate."""
    tokenizer, model = load(folder("prop"))
    lines = ["xor a & b c", "! d"]
    inputs = tokenizer(lines, text_target=["a 1 b 0", "d 0"], padding=True, return_tensors="pt")
    trainer = Seq2SeqTrainer.__new__(Seq2SeqTrainer)
    vars(trainer).update(
        args=SimpleNamespace(predict_with_generate=True, prediction_loss_only=False),
        model=model,
        processing_class=tokenizer,
        label_smoother=None,
        _prepare_inputs=lambda inputs: inputs,
        compute_loss_context_manager=contextlib.nullcontext,
    )
    best = tokenizer.batch_decode(model.generate(**inputs), skip_special_tokens=True)
    for _ in range(2):  # the first fills the model's configuration in
        loss, found, labels = trainer.prediction_step(model, dict(inputs), False)
        assert tokenizer.batch_decode(found, skip_special_tokens=True) == best
        assert torch.equal(labels[:, : inputs["labels"].size(1)], inputs["labels"]) and loss > 0


@pytest.mark.parametrize(
    "given, words",
    [
        (dict(text="! a", text_pair="a 0"), "pair"),
        (dict(text=[("! a", "a 0")], add_special_tokens=False), "pair"),
        (dict(text="! a", return_offsets_mapping=True), "return_offsets_mapping"),
        (dict(text="! name", truncation=True, max_length=4), "max_length"),
    ],
)
def test_the_tokenizer_names_what_it_lacks(given, words, folder):
    tokenizer, _ = load(folder("prop"))
    with pytest.raises(ValueError, match=words):
        tokenizer(**given)
    tokenizer("! a", truncation=True, max_length=40)


def test_verified_answers_come_first(folder):
    tokenizer, model = load(folder("prop"))
    inputs = tokenizer(["xor a & b c", "! d"], padding=True, return_tensors="pt")
    asked = []

    def verify(problem, answer):
        asked.append((problem, answer))
        return "a 0" in answer

    given = dict(verify=verify, verify_beams=[1, 6], num_return_sequences=1)
    found = model.generate(**inputs, **given, return_dict_in_generate=True)
    assert found.verified.tolist() == [True, False]
    texts = tokenizer.batch_decode(found.sequences, skip_special_tokens=True)
    assert verify("", texts[0]) and texts[1] == "d 0"
    assert len(set(asked)) == len(asked) and asked[0] == ("xor a & b c", "a 1 b 0")


def test_targets_are_as_long_as_the_decoder_takes_them(folder):
    tokenizer, model = load(folder("sinusoidal"))  # sources of 60 tokens, targets of 50
    source, target, longer = (
        tokenizer("a " * length, return_tensors="pt")["input_ids"] for length in (59, 49, 50)
    )
    assert model(source, labels=target).logits.size(1) == 50
    for given in (dict(labels=longer), dict(decoder_input_ids=longer)):
        with pytest.raises(ValueError, match="has 51 tokens, more than 50"):
            model(source, **given)
    with pytest.raises(ValueError, match="needs labels or decoder_input_ids"):
        model(source)


def test_names_of_a_call_are_forgotten(folder):
    tokenizer, model = load(folder("fresh sorts"))
    known = list(model.core.vocabulary.dictionary.symbols)
    inputs = tokenizer(["& a e"], return_tensors="pt")
    model.generate(**inputs, max_new_tokens=5)
    model(**inputs, labels=inputs["input_ids"]).loss.backward()
    with pytest.raises(ValueError):
        model.generate(torch.tensor([[10**6, 2]]))
    assert model.core.vocabulary.dictionary.symbols == known
