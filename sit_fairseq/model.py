"""A trained model by itself: it is loaded and answers with torch alone.

    model = Model.load("checkpoints/prop")
    model.answer(["& a ! b", "xor c d"], verify="prop")

Shapes and terms are those of :mod:`sit_fairseq.models.transformer`.
"""

import os
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import (
    Any,
    Collection,
    Dict,
    Iterable,
    Iterator,
    List,
    Optional,
    Sequence,
    Tuple,
    Union,
)

import torch
from torch import Tensor

from sit_fairseq.domains.by_name import accepting_judge, arity_of, grammar_of_answers, of_file
from sit_fairseq.errors import UserError, check_numbers, texts_of
from sit_fairseq.judging.judge import Judge, accepting
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.models.language_model import SymbolInvariantLanguageModel
from sit_fairseq.models.loading import load_model, options_of, portable
from sit_fairseq.models.transformer import SlotSpaceModel
from sit_fairseq.search.batches import longest_first
from sit_fairseq.search.beam_search import BeamSearch
from sit_fairseq.search.hypotheses import Hypothesis, SearchOptions
from sit_fairseq.search.prompt_search import PromptSearch
from sit_fairseq.search.strategies import Sampling
from sit_fairseq.search.verified_search import VerifiedSearch, beam_widths
from sit_fairseq.storage import checkpoints
from sit_fairseq.storage.files import Place, model_file, partial_files
from sit_fairseq.symbols.fresh import fresh_numbers
from sit_fairseq.symbols.saved_tokens import buffer_text
from sit_fairseq.symbols.tokens import refuse


@dataclass(frozen=True)
class Answer:
    """The answer to a sentence.

    Attributes:
        text: the answer, tokens separated by spaces; None where there is none. With ``verify`` it
            is the first that the judge accepts, or else the best one.
        score: its log-probability, divided by its length as the search says; None without a text.
        verdict: the judge's, ``invalid`` where the search found nothing; None without ``verify``.
        reason: why there is no text, or why the text is not accepted; else None.
        beam: the width of the beam that found it; None without a text.
        others: the texts of the next best answers, best first.
    """

    text: Optional[str]
    score: Optional[float] = None
    verdict: Optional[Verdict] = None
    reason: Optional[str] = None
    beam: Optional[int] = None
    others: Tuple[str, ...] = ()


class Model:
    """One trained model, or an ensemble that votes.

    Calls may come from several threads, which then take turns, and from processes that were forked.

    Args:
        models: trained, with the same tokens.
        domain: the name of what the sentences are about; None if nobody has said it.

    Attributes:
        domain: likewise.
        folder: where it was loaded from, with what lies beside it; None if it was made.
        core: the first model, a :class:`~sit_fairseq.models.transformer.SymbolInvariantTransformer`, or
            a :class:`~sit_fairseq.models.language_model.SymbolInvariantLanguageModel`.
    """

    def __init__(self, models: Sequence[SlotSpaceModel], domain: Optional[str] = None) -> None:
        self.core, self.domain = models[0], domain
        self._models = list(models)
        for model in models:
            model.vocabulary.vote_with(self.core.vocabulary)
            model.eval()
        self._tokens = self.core.vocabulary.dictionary
        self._judges: Dict[Any, Any] = {}
        self._cfg = portable({"model": options_of(self.core)})
        self.folder: Optional[str] = None

    def __getstate__(self) -> Dict[str, Any]:
        return {**vars(self), "_judges": {}}  # a copy has processes of its own

    @classmethod
    def load(
        cls,
        path: Place,
        *others: Place,
        symbols: Optional[str] = None,
        fresh_names: Optional[str] = None,
        fresh_symbols: Union[None, int, str] = None,
        device: Union[str, torch.device] = "cpu",
    ) -> "Model":
        """Loads a checkpoint of fairseq-train, or a folder that ``sit export`` wrote.

        Args:
            path: the file or the folder.
            others: of the models that vote with it. Tokens and names are those of the first.
            symbols: which tokens are symbols, a regular expression, or ``NAME=REGEX`` a line for
                each sort; None for that of training. Names may then have another form.
            fresh_names: the names of symbols that an answer holds and its source lacks, separated
                by commas; None for those of training.
            fresh_symbols: how many symbols an answer may hold that its source lacks, or a text of a
                language model; of named sorts ``variable=12,function=4``. None for that of
                training; models of streams may exceed it.
            device: where to compute, ``cpu`` or ``cuda`` for example.

        Raises:
            UserError: there is no such file, it holds no model with streams, the models cannot
                vote together, or the device or another argument cannot be used.
        """
        for name, text in (("symbols", symbols), ("fresh_names", fresh_names)):
            if not isinstance(text, (str, type(None))):
                raise UserError(f"{name} is a text, not {text!r}", name)
        if fresh_symbols is not None:
            fresh_numbers(fresh_symbols)
        try:
            torch.zeros(1, device=device).item()
        except (RuntimeError, AssertionError, TypeError) as error:
            raise UserError(
                f"{device} cannot be used here ({str(error).splitlines()[0]})", "device"
            )
        given = symbols, fresh_names, fresh_symbols
        # Whatever is in force for the caller.
        with torch.inference_mode(False), torch.device("cpu"):
            loaded = [load_model(place, arity_of, *given) for place in (path, *others)]
            cores, cfg = [model.to(device) for model, _ in loaded], loaded[0][1]
        model = cls(cores, cfg["task"].get("domain"))
        model._cfg, model.folder = cfg, os.path.dirname(os.path.abspath(model_file(path)))
        return model

    def save(self, path: Place) -> None:
        """Writes a checkpoint, from which :meth:`load` makes this model again; fairseq's commands read
        it, too. A UserError for an ensemble."""
        if os.fsdecode(path).endswith(".safetensors"):
            raise UserError("such a file is written by sit export --hub; name another one", "path")
        with partial_files(path) as (partial,):
            checkpoints.write(self.checkpoint(), partial)

    def checkpoint(self, half: bool = False) -> Dict[str, Any]:
        """The model as plain data and tensors, as fairseq's checkpoints have it.

        Args:
            half: of weights in half precision, the scale of the cosines excepted.

        Raises:
            UserError: it is an ensemble.
        """
        if len(self._models) > 1:
            raise UserError("an ensemble is several files; save each of its models by itself")
        weights = self.core.state_dict()
        if half:
            weights = {
                name: value.half() if value.is_floating_point() and value.dim() else value
                for name, value in weights.items()
            }
        return checkpoints.minimal(self._cfg_now(), weights)

    @property
    def symbols(self) -> str:
        """The pattern of the symbols."""
        return self._tokens.pattern

    @property
    def base_tokens(self) -> List[str]:
        """The tokens with an identity of their own."""
        rows = self.core.vocabulary.row_tokens[self._tokens.nspecial :]
        return [token for token in rows if not self._tokens.is_symbol(token)]

    @property
    def fresh_symbols(self) -> int:
        """R, how many symbols an answer may hold that its source lacks."""
        return self.core.vocabulary.fresh_symbols

    @property
    def longest(self) -> int:
        """The most tokens of a sentence, with its ``</s>``."""
        return self.core.reader.cfg.max_positions

    def answer(self, sentences: Iterable[str], **options: Any) -> List[Answer]:
        """Answers sentences, in order; the options are those of :meth:`answers` but ``skip``."""
        sentences = texts_of(sentences, "sentences")
        found: Dict[int, Answer] = {}
        for batch in self.answers(sentences, **options):
            found.update(batch)
        return [found[place] for place in range(len(sentences))]

    def answers(
        self,
        sentences: Sequence[str],
        beams: Sequence[int] = (3,),
        verify: Any = None,
        constrained: Any = None,
        max_length: Optional[int] = None,
        *,
        search: SearchOptions = SearchOptions(),
        batch_size: int = 64,
        max_tokens: Optional[int] = None,
        skip: Collection[int] = (),
    ) -> Iterator[Dict[int, Answer]]:
        """Answers sentences in batches of similar length, the longest first.

        Args:
            sentences: tokens separated by spaces. A sentence that cannot be answered costs none of
                the others its answer.
            beams: the width of the beam, 1 for greedy decoding. With ``verify`` there may be wider
                ones after it: they are tried for the sentences that have no accepted answer yet.
            verify: who judges answers: the name of a domain, a judge, or a pool of judges. Processes
                of a judge end with its answers, those of a name with the model.
            constrained: the grammar of answers: the name of a domain, or a grammar; True for that
                of the model's domain, if it is of the package; False for none. None for that of
                ``verify``, if it has one.
            max_length: the most tokens of an answer; None for what ``search`` says.
            search: all other options of the search; its beam does not count.
            batch_size: the most sentences of a batch.
            max_tokens: the most tokens of a batch, each counted once for each stream; None for any.
            skip: places of sentences that need no answer. A batch is answered whole or left out.

        Yields:
            The answers of a batch by the places of their sentences.

        Raises:
            UserError: an option cannot be used; it is raised by the call itself.
            TypeError: the sentences are no texts; likewise.
        """
        sentences, skip = texts_of(sentences, "sentences"), frozenset(skip)
        if self._continues:
            raise UserError("a language model answers nothing; let it complete prompts")
        pool, widths = self._pool(verify), beam_widths(beams)
        if len(widths) > 1 and pool is None:
            raise UserError("beams of several widths need a judge", "beams verify")
        check_numbers(1, batch_size=batch_size, max_tokens=max_tokens)
        check_numbers(0, max_length=max_length)
        if max_length is not None:
            search = replace(search, max_len_a=0, max_len_b=max_length)
        judge, domain = None if pool is None else pool.judge, partial(of_file, self.domain)
        grammar = grammar_of_answers(constrained, judge, domain)
        searches = {
            width: BeamSearch(self._models, replace(search, beam=width), grammar=grammar)
            for width in widths
        }
        with self._tokens.names_of_one_call():
            read = [self._read(sentence) for sentence in sentences]
        sizes = {place: one for place, one in enumerate(read) if not isinstance(one, str)}
        # The processes of a judge that was given end with the answers.
        judging = closing(pool) if isinstance(verify, Judge) else nullcontext()

        def batches() -> Iterator[Dict[int, Answer]]:
            refused = {place: one for place, one in enumerate(read) if place not in sizes}
            if refused:
                yield {place: Answer(None, reason=one) for place, one in refused.items()}
            with judging:
                for places in longest_first(sizes, batch_size, max_tokens):
                    if not all(place in skip for place in places):
                        with self._tokens.names_of_one_call():
                            texts = [sentences[place] for place in places]
                            found = self._answered(texts, searches, pool, search.nbest)
                        yield dict(zip(places, found))

        return batches()

    def complete(
        self,
        prompts: Sequence[str],
        beam: int = 1,
        max_length: Optional[int] = 100,
        sampling: Optional[Sampling] = None,
        *,
        search: SearchOptions = SearchOptions(),
        batch_size: int = 64,
    ) -> List[Answer]:
        """Continues prompts by a language model.

        Args:
            prompts: tokens separated by spaces; an empty one is the beginning of a text.
            beam: the width of the beam, 1 for greedy decoding.
            max_length: the most tokens of a continuation; None for as many as the model writes.
            sampling: draws ``beam`` continuations of each prompt instead; None for the best ones.
            search: all other options of the search; its beam and lengths do not count.
            batch_size: the most prompts of a batch.

        Returns:
            The continuation of each prompt. Its score is that of the whole text. A prompt that the model
            cannot read costs none of the others its continuation.

        Raises:
            UserError: an option cannot be used, or the model is no language model.
        """
        if not self._continues:
            raise UserError("only a language model completes prompts; this model answers sentences")
        prompts = texts_of(prompts, "prompts")
        check_numbers(1, batch_size=batch_size)
        max_length = self.longest if max_length is None else max_length
        check_numbers(0, max_length=max_length)
        options = replace(search, beam=beam, max_len_a=1, max_len_b=max_length, min_len=0)
        searching = PromptSearch(self._models, options, sampling)
        with self._tokens.names_of_one_call():
            read = {
                place: (1, 1) if prompt == "" else self._read(prompt)
                for place, prompt in enumerate(prompts)
            }
        found = {place: Answer(None, reason=one) for place, one in read.items() if type(one) is str}
        sizes = {place: one for place, one in read.items() if place not in found}
        for places in longest_first(sizes, batch_size):
            with self._tokens.names_of_one_call():
                given = self._tokens.encode([prompts[place] for place in places])
                given = given.masked_fill(given.eq(self._tokens.eos()), self._tokens.pad())
                for place, nbest in zip(places, searching(given[:, :-1])):
                    length = sizes[place][0] - 1
                    nbest[:] = [replace(one, tokens=one.tokens[length:]) for one in nbest]
                    found[place] = self._answer(nbest, search.nbest, None, beam)
        return [found[place] for place in range(len(prompts))]

    def _cfg_now(self) -> Dict[str, Any]:
        """The options of a checkpoint: those of the file, with what :meth:`load` was told."""
        vocabulary, model, task = self.core.vocabulary, self._cfg["model"], self._cfg["task"]
        name = "symbol_language_modeling" if self._continues else "stream_translation"
        names = {"fresh_names": vocabulary.fresh_names}
        now = {"_name": name, "symbols": buffer_text(vocabulary.symbols), "domain": self.domain}
        seed = getattr(self.core.reader.embed_tokens, "seed", task["seed"])
        task = {**task, **now, **names, "seed": seed}
        return {**self._cfg, "model": {**model, **names}, "task": task}

    @property
    def _continues(self) -> bool:
        return isinstance(self.core, SymbolInvariantLanguageModel)

    def _answered(
        self, sentences: List[str], searches: Dict[int, BeamSearch], pool: Any, count: int
    ) -> List[Answer]:
        """The answers of a batch of sentences that the model reads."""
        sources, text = self._tokens.encode(sentences), self._text

        def find(width: int, places: List[int]) -> List[List[Hypothesis]]:
            return searches[width](sources[places])

        if pool is None:
            (width,) = searches
            found = [(nbest, None, width) for nbest in find(width, list(range(len(sentences))))]
        else:
            problems = pool.judge.problems(list(map(text, sources)), symbols=self.symbols)
            found = VerifiedSearch(searches, pool).search(problems, find, lambda h: text(h.tokens))
        return [self._answer(nbest, count, verdict, beam) for nbest, verdict, beam in found]

    def _answer(
        self, nbest: List[Hypothesis], count: int, verdict: Optional[Verdict], beam: int
    ) -> Answer:
        if not nbest:
            return Answer(None, verdict=verdict, reason=nbest.reason)
        best, *others = (self._text(h.tokens) for h in nbest[:count])
        accepted = verdict in (None, Verdict.satisfied)
        reason = None if accepted else "no hypothesis of the search was accepted"
        return Answer(best, float(nbest[0].score), verdict, reason, beam, tuple(others))

    def _text(self, tokens: Tensor) -> str:
        return self._tokens.decode(tokens)

    def _read(self, sentence: str) -> Union[str, Tuple[int, int]]:
        """The tokens of a sentence with its ``</s>`` and its streams, or why it is not answered."""
        if not isinstance(sentence, str):
            raise TypeError(f"a sentence is a text, not {sentence!r}")
        try:
            tokens = self._tokens.read(sentence)
            refuse(self.core.unreadable(tokens), sentence)
        except UserError as error:  # also of a token that the pattern cannot tell
            return getattr(error, "reason", str(error))
        return tokens.numel(), self.core.vocabulary.most_streams(tokens)

    def _pool(self, verify: Any) -> Any:
        """The judges that are asked, None without any. Those of a name live as long as the model."""
        from sit_fairseq.judging.pool import JudgePool

        if verify is None:
            return None
        if isinstance(verify, JudgePool):
            accepting(verify.judge, "verify")
            return verify
        if not (verify and isinstance(verify, (str, Judge))):
            kinds = "the name of a domain, a judge or a pool of judges"
            raise UserError(f"verify takes {kinds}, not {verify!r}", "verify")
        if isinstance(verify, Judge):
            return JudgePool(accepting(verify, "verify"), 0 if verify.quick else os.cpu_count())
        key = os.getpid(), verify  # a process that was forked has workers of its own
        if key not in self._judges:
            judge = accepting_judge(verify)
            self._judges[key] = JudgePool(judge, 0 if judge.quick else os.cpu_count())
        return self._judges[key]
