"""Names in texts for any model of transformers, whose weights stay as they are.

Needs torch and transformers alone. :mod:`~sit_fairseq.models.rows` has the streams.
"""

import inspect
import re
from typing import Any, List, Pattern, Tuple, Union

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from sit_fairseq.domains.placeholders.grammar import ORDERED, OnceGrammar
from sit_fairseq.domains.placeholders.masks import in_order, placeholder_pattern
from sit_fairseq.errors import UserError, check_numbers, excerpt, texts_of
from sit_fairseq.models.rows import RowModel
from sit_fairseq.search.beam_search import BeamSearch
from sit_fairseq.search.hypotheses import NoAnswer, SearchOptions
from sit_fairseq.search.prompt_search import PromptSearch
from sit_fairseq.search.strategies import Sampling

# The names of a text by their numbers, and those that keep their order in answers that have each once.
_SYMBOLS = "\n".join((r"free=@[1-9]\d*", rf"{ORDERED}=@0\d+"))


class Names:
    """Generates texts in which names are only names: renamed texts get the renamed answers, with the
    same scores.

    Args:
        model: of transformers, seq2seq or causal.
        tokenizer: of the model.
        pattern: a regular expression of the names, for example ``r"%s|\\{\\w+\\}"``.
        actual: the word that a row reads for its own name: one token, which the model copies well.
        placeholder: the word for all others.

    Raises:
        UserError: the model generates nothing or has no end, the pattern cannot be read or matches the empty text, a
            word is not one token of the tokenizer, or both are the same.
    """

    def __init__(
        self,
        model: nn.Module,
        tokenizer: Any,
        pattern: Union[str, Pattern],
        actual: str = "Pedro",
        placeholder: str = "David",
    ) -> None:
        self._tokenizer, self._words = tokenizer, (actual, placeholder)
        if not getattr(model, "can_generate", lambda: True)():
            kind = "a model of transformers that generates, as AutoModelForSeq2SeqLM loads it"
            raise UserError(f"give {kind}, not {type(model).__name__}", "model")
        (given,) = placeholder_pattern([pattern]).patterns
        # Where a text holds one of the two words, it is a name, too.
        words = "|".join(map(re.escape, self._words))
        end = "\n" * bool(given.flags & re.VERBOSE)  # of a comment
        self._pattern = re.compile(rf"{given.pattern}{end}|\b(?:{words})\b", given.flags)
        ids = [self._id(word) for word in self._words]
        if ids[0] == ids[1]:
            raise UserError(f"both words are {actual!r}; give two", "actual placeholder")
        config = model.generation_config
        bad = [*(config.bad_words_ids or []), *([one] for one in config.suppress_tokens or [])]
        hidden = [one for (one, *more) in bad if not more]
        self._model, self._actual = RowModel(model, _SYMBOLS, *ids, hidden), ids[0]
        self._forced = config.forced_bos_token_id
        # Tokenizers of transformers may read answers by other pieces than texts; those that ask for the
        # language have the same for all.
        parameters = inspect.signature(tokenizer).parameters
        told = "text_target" in parameters and not hasattr(tokenizer, "tgt_lang")
        self._answers = "text_target" if told else "text"

    def generate(
        self,
        texts: List[str],
        *,
        num_beams: int = 1,
        num_return_sequences: int = 1,
        do_sample: bool = False,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        length_penalty: float = 1.0,
        max_new_tokens: int = 128,
        once: bool = False,
    ) -> List[List[Tuple[str, float]]]:
        """Answers to seq2seq models, continuations of prompts for causal ones.

        Args:
            texts: the sentences or prompts.
            num_beams: the width of the beam; 1 is greedy.
            num_return_sequences: answers to each text.
            do_sample: draw answers.
            temperature, top_k, top_p: of the drawing, see :class:`Sampling`; the temperature
                divides the logits of any search.
            length_penalty: log-probabilities are divided by the length to the power of it.
            max_new_tokens: the most tokens of an answer.
            once: each name as often as the text has it; those told by their place, as ``%s`` is, in
                their order. For seq2seq models.

        Returns:
            For each text its answers, best first, with their scores. A list is empty where a text has
            no answer.
        """
        texts = texts_of(texts, "texts")
        check_numbers(1, num_beams=num_beams, num_return_sequences=num_return_sequences)
        check_numbers(0, max_new_tokens=max_new_tokens)
        if not do_sample and (top_k, top_p) != (0, 1.0):
            raise UserError("only drawn answers have top_k and top_p", "do_sample")
        names = [self._names(text) for text in texts]
        sources = [self._read(text, own) for text, own in zip(texts, names)]
        causal = not self._model.model.config.is_encoder_decoder
        beam = max(num_beams, num_return_sequences)
        most = {"max_len_a": float(causal), "max_len_b": max_new_tokens, "min_len": 0}
        options = SearchOptions(
            beam=beam,
            nbest=num_return_sequences,
            temperature=temperature,
            len_penalty=length_penalty,
            **most,
        )
        sampling = Sampling(top_k, top_p) if do_sample else None
        if causal and once:
            raise UserError("a continuation has no source whose names it could repeat", "once")
        if causal and not all(sources):
            raise UserError("a prompt has no tokens, so nothing continues it", "texts")
        if not texts:
            return []
        with torch.device("cpu"):  # whatever is in force for the caller
            tokens = self._padded(sources, not causal)
            if causal:
                found = PromptSearch([self._model], options, sampling)(tokens)
            else:
                grammar = OnceGrammar() if once else None
                forced = self._first_words()
                prefix = torch.tensor([forced] * len(texts)) if forced else None
                found = BeamSearch([self._model], options, sampling, grammar)(tokens, prefix)
        begins = [len(source) if causal else 0 for source in sources]
        return [
            (
                []
                if isinstance(nbest, NoAnswer)
                else [
                    (self._text(one.tokens[begin:-1].tolist(), own), float(one.score))
                    for one in nbest[:num_return_sequences]
                ]
            )
            for nbest, own, begin in zip(found, names, begins)
        ]

    def loss(self, texts: List[str], answers: List[str]) -> Tensor:
        """The mean cross-entropy of the tokens of answers to some texts, with gradients: to train a
        seq2seq model further. Each name of an answer is one of its text."""
        if not self._model.model.config.is_encoder_decoder:
            raise UserError("only seq2seq models have a loss of answers to texts")
        texts, answers = texts_of(texts, "texts"), texts_of(answers, "answers")
        if not 0 < len(texts) == len(answers):
            reason = "give texts, and an answer to each"
            raise UserError(f"{reason}, not {len(answers)} to {len(texts)}", "texts answers")
        names = [self._names(text) for text in texts]
        sources = [self._read(text, own) for text, own in zip(texts, names)]
        for answer, own in zip(answers, names):
            new = [name for name in self._names(answer) if name not in own]
            if new:
                raise UserError(
                    f"the answer {excerpt(answer)} has {new[0]}, its text not", "answers"
                )
        targets = [
            self._first_words() + self._read(text, own, False, self._answers)
            for text, own in zip(answers, names)
        ]
        most = self._model.max_decoder_positions()
        ended = [[*target, self._actual] for target in targets]
        for given, read, what in ((texts, sources, "texts"), (answers, ended, "answers")):
            for text, tokens in zip(given, read):
                if len(tokens) > most:
                    reason = f"has {len(tokens)} tokens, more than the {most} of the model"
                    raise UserError(f"{excerpt(text)} {reason}", what)
        with torch.device("cpu"):  # whatever is in force for the caller
            context = self._model.encode(self._padded(sources, True))
            gold = context.slots.encode(self._padded(targets, True))
            dictionary = self._model.vocabulary.dictionary
            fed = F.pad(gold[:, :-1], (1, 0), value=dictionary.eos())
            logits = self._model(fed, self._model.memory(context))
            # What no answer can hold, as a word for names inside another word, teaches nothing.
            never = logits.gather(2, gold.unsqueeze(2)).squeeze(2).isinf()
            gold = gold.masked_fill(never, dictionary.pad())
        return F.cross_entropy(logits.transpose(1, 2), gold, ignore_index=dictionary.pad())

    def _names(self, text: str) -> List[str]:
        return list(dict.fromkeys(match.group() for match in self._pattern.finditer(text)))

    def _padded(self, sentences: List[List[int]], ends: bool) -> Tensor:
        """(B, T) the dictionary indices of sentences, each with ``</s>`` if it ``ends``."""
        dictionary = self._model.vocabulary.dictionary
        eos = [dictionary.eos()] * ends
        rows = [torch.tensor(one + eos, device="cpu") for one in sentences]
        return pad_sequence(rows, batch_first=True, padding_value=dictionary.pad())

    def is_one_token(self, word: str) -> bool:
        """Whether a word can be ``actual`` or ``placeholder``."""
        return self._tokenizer.decode([self._last(word)]).strip() == word

    def _last(self, word: str) -> int:
        return self._tokenizer(f"a {word}", add_special_tokens=False)["input_ids"][-1]

    def _id(self, word: str) -> int:
        if not self.is_one_token(word):
            raise UserError(f"{word!r} is no single token of the model", "actual placeholder")
        return self._last(word)

    def _first_words(self) -> List[int]:
        """The dictionary index that each answer begins with, where there is one."""
        dictionary = self._model.vocabulary.dictionary
        return [] if self._forced is None else [dictionary.index(f"{self._forced:07d}")]

    def _read(
        self, text: str, names: List[str], special: bool = True, side: str = "text"
    ) -> List[int]:
        """The dictionary indices of a text whose names are those of ``names``, with or without what the
        tokenizer adds before and after it. ``side`` is the parameter of the tokenizer for the text.
        """
        matches = list(self._pattern.finditer(text))
        texts = [match.group() for match in matches]
        slots = [f"@{'0' * in_order(text)}{names.index(text) + 1}" for text in texts]
        actual = self._actual

        def encode(text: str, special: bool = special) -> List[int]:
            return self._tokenizer(**{side: text}, add_special_tokens=special)["input_ids"]

        def plain(ids: List[int]) -> List[str]:
            return [f"{index:07d}" for index in ids]

        # Whether the word is also a part of other words.
        inside = self._words[0] in self._pattern.sub(" ", text)
        for form in () if inside else ("{}", " {} "):  # a space where the tokenizer needs one
            ids = encode(self._pattern.sub(form.format(self._words[0]), text))
            if ids.count(actual) == len(slots):
                left = iter(slots)
                words = [next(left) if index == actual else plain([index])[0] for index in ids]
                break
        else:  # or it does not split off: piece by piece
            ids, word = encode(self._words[0]), encode(self._words[0], False)
            begin = next(n for n in range(len(ids)) if ids[n : n + len(word)] == word)
            words, last = plain(ids[:begin]), 0
            for match, slot in zip(matches, slots):
                words += [*plain(encode(text[last : match.start()], False)), slot]
                last = match.end()
            words += plain(encode(text[last:], False))
            words += plain(ids[begin + len(word) :])
        return [self._model.vocabulary.dictionary.index(word) for word in words]

    def _text(self, indices: List[int], names: List[str]) -> str:
        """The text of an answer, in which names stand where their word would."""
        dictionary, word = self._model.vocabulary.dictionary, self._words[0]
        tokens = [dictionary[index] for index in indices]
        own = [names[int(token[1:]) - 1] for token in tokens if token[0] == "@"]
        ids = [self._actual if token[0] == "@" else int(token) for token in tokens]
        text = self._tokenizer.decode(ids, skip_special_tokens=True)
        parts = text.split(word)
        if len(parts) != len(own) + 1:  # other tokens spell the word, too
            ends = [at for at, token in enumerate(tokens, 1) if token[0] == "@"]
            before = (self._tokenizer.decode(ids[:at], skip_special_tokens=True) for at in ends)
            names_of = {one.count(word) - 1: name for one, name in zip(before, own)}
            own = [names_of.get(at, word) for at in range(len(parts) - 1)]
        return "".join(part + name for part, name in zip(parts, [*own, ""]))
