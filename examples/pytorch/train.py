"""Trains the model of `prop mini` with torch alone: no fairseq, and no compiler.

    sit generate prop my/train --labels depth-first --max-length 13 --size 200000
    sit generate prop my/test --labels depth-first --min-length 5 --max-length 13 --size 1000 \
        --seed 45 --exclude my/train
    python -m examples.pytorch.train my/train my/test

The last line says how many answers are right.
"""

import math
import random

import torch
import torch.nn.functional as F

from examples.script import run
from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.domains.formulas.syntax import ARITY
from sit_fairseq.model import Model
from sit_fairseq.models.config import ModelConfig
from sit_fairseq.models.transformer import SymbolInvariantTransformer
from sit_fairseq.storage.files import read_sentences
from sit_fairseq.symbols.tokens import TokenTable
from sit_fairseq.symbols.vocabulary import Vocabulary
from sit_fairseq.training.muon import MuonAndAdamW, mark_embeddings

UPDATES, BATCH, WARMUP, RATE = 3000, 128, 200, 5e-3
SIZES = dict(encoder_embed_dim=64, encoder_ffn_embed_dim=256, encoder_layers=2)


def batches(data):
    """Endlessly, pairs of like lengths."""
    data = sorted(random.sample(data, len(data)), key=lambda pair: pair[0].count(" "))
    parts = [data[start : start + BATCH] for start in range(0, len(data), BATCH)]
    while True:
        yield from random.sample(parts, len(parts))


def main(train: str, *tests: str) -> None:
    """Trains a model, saves it beside its data and counts its right answers."""
    random.seed(1), torch.manual_seed(1)
    data = list(zip(*(read_sentences(train + side) for side in (".src", ".tgt"))))
    words = sorted({word for pair in data for sentence in pair for word in sentence.split()})
    tokens = TokenTable(words, "[a-z]")  # what is matched is a symbol
    cfg = ModelConfig(**SIZES, encoder_attention_heads=4, dropout=0.0)
    model = SymbolInvariantTransformer(cfg, Vocabulary(tokens, arity=ARITY))
    mark_embeddings(model)
    optimizer = MuonAndAdamW(model.parameters(), lr=RATE, betas=(0.9, 0.95))
    scale = model.decoder.output_scale  # of AdaCos
    scale.raise_to(10)
    for update, batch in zip(range(UPDATES), batches(data)):
        sources, targets = map(tokens.encode, zip(*batch))
        encoded = model.encode(sources)
        logits = model.decode(F.pad(targets, (1, -1), value=tokens.eos()), encoded)
        right = encoded.slots.targets(targets)
        logits, right = logits[right != tokens.pad()], right[right != tokens.pad()]
        loss = F.cross_entropy(logits, right)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        done = (update - WARMUP) / (UPDATES - WARMUP)
        rate = update / WARMUP if done < 0 else (1 + math.cos(math.pi * done)) / 2
        for group in optimizer.param_groups:
            group["lr"] = RATE * rate
        optimizer.step(), optimizer.zero_grad()
        scale.observe(logits.detach(), right), scale.update()
        if update % 100 == 0:
            print(f"update {update}: loss {loss.item():.3f}", flush=True)

    trained, judge = Model([model], "prop"), make_judge("prop")
    trained.save(train + ".pt")  # for Model.load, and for fairseq's commands
    for test in tests:
        lines = read_sentences(test + ".src")
        answers = [answer.text for answer in trained.answer(lines, max_length=100)]
        right = sum(judge.verify(*pair).value == "satisfied" for pair in zip(lines, answers))
        print(f"{test}: {right} of {len(lines)} are right", flush=True)


if __name__ == "__main__":
    run(main)
