"""Folders of language models for transformers."""

import re

import pytest
import torch
import torch.nn.functional as F
from command_line import sit
from conftest import make_dictionary
from texts import SORTS, make_language_model
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, pipeline

from sit_fairseq.errors import UserError
from sit_fairseq.export.for_onnx.files import export
from sit_fairseq.model import Model
from sit_fairseq.models.fairseq_language_model import SymbolInvariantTransformerLanguageModel
from sit_fairseq.search.hypotheses import SearchOptions
from sit_fairseq.search.strategies import Sampling
from sit_fairseq.symbols.canonical_form import canonical_form

KINDS = {
    "streams": {},
    "own places": dict(stream_places="own"),
    "read places": dict(stream_places="read"),
    "sorts": dict(fresh_symbols="odd=3,even=3"),
    "recency": dict(symbol_embedding="recency", stream_attention="DP"),
}
PROMPTS = ["& a b | a", "! d d", "0 1 0 1 0 1"]


@pytest.fixture(scope="module", params=KINDS)
def exported(request, tmp_path_factory):
    """A model in Python, and tokenizer and model of transformers."""
    torch.manual_seed(1)
    folder = tmp_path_factory.mktemp("text")
    dictionary = make_dictionary(pattern=SORTS if request.param == "sorts" else "[a-z]")
    core = make_language_model(dictionary, **KINDS[request.param]).float()
    Model([core]).save(str(folder / "model.pt"))
    sit("export", folder / "model.pt", folder / "out", "--transformers")
    trusted = dict(trust_remote_code=True)
    tokenizer = AutoTokenizer.from_pretrained(folder / "out", **trusted)
    model = AutoModelForCausalLM.from_pretrained(folder / "out", **trusted).eval()
    return Model.load(str(folder / "out")), tokenizer, model, folder


@pytest.mark.parametrize("search", ["greedy", "beam", "samples"])
def test_generate_continues_as_ours(exported, search):
    ours, tokenizer, model, _ = exported
    width, sampling, options = {
        "greedy": (1, None, {}),
        "beam": (3, None, dict(num_beams=3, num_return_sequences=3)),
        "samples": (
            2,
            Sampling(5, 0.9),
            dict(do_sample=True, top_k=5, top_p=0.9, num_return_sequences=2),
        ),
    }[search]
    # Samples are drawn for the prompts of a batch in their order, the longest first.
    prompts = sorted(PROMPTS, key=lambda prompt: -len(prompt.split()))
    inputs = tokenizer(prompts, padding=True, return_tensors="pt")
    torch.manual_seed(1)
    found = model.generate(**inputs, max_new_tokens=7, return_dict_in_generate=True, **options)
    torch.manual_seed(1)
    expected = ours.complete(prompts, width, 7, sampling, search=SearchOptions(nbest=width))
    new = found.sequences[:, inputs["input_ids"].size(1) :]
    texts = tokenizer.batch_decode(new, skip_special_tokens=True)
    said = [text for one in expected for text in (one.text, *one.others)]
    assert texts == [f" {text}" if text else "" for text in said]
    scores = torch.tensor([one.score for one in expected])
    torch.testing.assert_close(found.sequences_scores[::width], scores)
    whole = tokenizer.batch_decode(found.sequences, skip_special_tokens=True)
    assert whole[0].startswith(prompts[0])


def test_a_prompt_ends_with_its_end(exported):
    _, tokenizer, model, _ = exported
    ids = tokenizer(["& a b"], return_tensors="pt")["input_ids"]
    end = torch.tensor([[model.config.eos_token_id]])
    options = dict(max_new_tokens=4)
    found = model.generate(torch.cat((ids, end), 1), **options)[:, ids.size(1) + 1 :]
    assert torch.equal(found, model.generate(ids, **options)[:, ids.size(1) :])
    with pytest.raises(ValueError, match="a prompt goes on after its </s>"):
        model.generate(torch.cat((ids, end, ids[:, 1:]), 1), **options)


def test_the_pipeline_continues_after_a_space(exported):
    _, tokenizer, model, _ = exported
    ask = pipeline("text-generation", model=model, tokenizer=tokenizer)
    [[whole]] = ask([PROMPTS[0]], max_new_tokens=4, do_sample=False)
    words = whole["generated_text"].split(" ")
    assert words[:5] == PROMPTS[0].split() and 5 < len(words) <= 9 and all(words)


@pytest.mark.parametrize("options", [{}, dict(num_beams=3), dict(do_sample=True)])
def test_renamed_prompts_are_continued_by_renamed_text(exported, options):
    _, tokenizer, model, _ = exported
    names = dict(zip("abd", "gfh"))  # of the same sorts
    renamed = [" ".join(names.get(token, token) for token in text.split()) for text in PROMPTS]
    found = []
    for prompts in (PROMPTS, renamed):
        inputs = tokenizer(prompts, padding=True, return_tensors="pt")
        torch.manual_seed(1)
        ids = model.generate(**inputs, max_new_tokens=7, **options)
        found.append(tokenizer.batch_decode(ids, skip_special_tokens=True))
    assert found[0] != found[1]
    for text, other in zip(*found):
        # New symbols take names that the prompt lacks.
        tokens, others = text.split(), other.split()
        assert canonical(tokens) == canonical(others) and len(tokens) > 2


def canonical(tokens):
    symbols = filter(re.compile("[a-z]").fullmatch, dict.fromkeys(tokens))
    return canonical_form(tokens, list(symbols))


def test_logits_fit_the_ids_and_have_the_loss_of_the_core(exported):
    ours, tokenizer, model, _ = exported
    tokens = ours._tokens.encode(PROMPTS)
    shifted = torch.cat((torch.full((3, 1), 2), tokens[:, :-1]), 1)
    targets = ours.core.targets(shifted, tokens).masked_fill(tokens.eq(2), 1)
    expected = F.cross_entropy(ours.core(shifted).flatten(0, 1), targets.flatten(), ignore_index=1)
    for side in ("left", "right"):
        inputs = tokenizer(PROMPTS, padding=True, padding_side=side, return_tensors="pt")
        labels = inputs["input_ids"].masked_fill(inputs["attention_mask"].eq(0), -100)
        found = model(**inputs, labels=labels)
        assert found.logits.shape == (*labels.shape, len(tokenizer))
        torch.testing.assert_close(found.loss, expected)
        right = found.logits[:, :-1].log_softmax(2).gather(2, inputs["input_ids"][:, 1:, None])
        counted = (inputs["attention_mask"][:, 1:] * inputs["attention_mask"][:, :-1]).bool()
        torch.testing.assert_close(-right.squeeze(2)[counted].mean(), expected)
    whole, bare = (
        model(tokenizer(PROMPTS[:1], return_tensors="pt", add_special_tokens=begun)["input_ids"])
        for begun in (True, False)
    )
    torch.testing.assert_close(whole.logits[:, 1:], bare.logits)
    empty = model(**tokenizer([""], return_tensors="pt"))
    # The first symbol would have another name.
    torch.testing.assert_close(empty.logits.sort().values, whole.logits[:, :1].sort().values)
    found.loss.backward()
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    assert gradients and all(gradient.isfinite().all() for gradient in gradients)


def test_a_text_is_as_probable_with_other_names(exported):
    """Of one letter, of more, of which one begins as another."""
    _, _, model, folder = exported
    if "odd" in model.config.symbols:
        pattern = "odd=[acegikmoqsuwy]|p[0-9]*\neven=[bdfhjlnrtvxz]"
    else:
        pattern = "[a-z][0-9]*"
    tokenizer = AutoTokenizer.from_pretrained(
        folder / "out", trust_remote_code=True, symbols=pattern
    )
    found = []
    for names in (dict(a="a", c="c", e="e"), dict(a="p1", c="p17", e="p")):
        words = "& a | c a e c a !".split()
        ids = tokenizer(" ".join(names.get(w, w) for w in words), return_tensors="pt")["input_ids"]
        log_probs = model(ids).logits.log_softmax(2)
        found.append(log_probs[:, :-1].gather(2, ids[:, 1:, None]).sum())
    assert ids.size(1) > 12 and found[0].isfinite()
    torch.testing.assert_close(found[0], found[1])


def test_fairseqs_files_and_the_card_are_there(exported):
    ours, _, _, folder = exported
    loaded = SymbolInvariantTransformerLanguageModel.from_pretrained(folder / "out")
    assert loaded.complete(PROMPTS, max_length=5) == ours.complete(PROMPTS, max_length=5)
    assert (folder / "out" / "dict.txt").read_text().startswith("! 1\n")
    card = (folder / "out" / "README.md").read_text()
    assert "AutoModelForCausalLM" in card and not re.search("Seq2Seq", card)


def test_what_cannot_be_used_is_one_sentence(exported):
    ours, tokenizer, model, folder = exported
    inputs = tokenizer(PROMPTS[:1], return_tensors="pt")
    for options, message in (
        (dict(num_beams=2, do_sample=True), "samples have no beam"),
        (dict(num_return_sequences=2), "a beam of 1 has no 2 answers"),
        (dict(penalty_alpha=0.5), "generate has no penalty_alpha"),
        (dict(labels=None, inputs=None, input_ids=None), "needs input_ids"),
    ):
        with pytest.raises(ValueError, match=message):
            model.generate(**{**inputs, **options})
    for option in (dict(output_hidden_states=True), dict(output_attentions=True)):
        with pytest.raises(ValueError, match=next(iter(option))):
            model(**inputs, **option)
    model(**inputs, output_hidden_states=False, use_cache=True, return_dict=True)
    assert model.generate(**inputs, generation_config=GenerationConfig(max_length=6)).size(1) <= 8
    with pytest.raises(ValueError, match="labels need the shape"):
        model(**inputs, labels=inputs["input_ids"][:, :2])
    with pytest.raises(UserError, match="a language model cannot be exported to ONNX"):
        export(ours, folder / "onnx")
