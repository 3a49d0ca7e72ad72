"""Kinds of models, and what each reads and writes: the laws hold for all of them."""

import itertools
from dataclasses import dataclass, field
from typing import Dict, Sequence

from conftest import SOURCES, TARGETS, make_dictionary, make_model, make_sample, redraw
from literal import PATTERNS

# Sorts that every second letter is of, so that a to h can be called i to p.
SORTS = "odd=[acegikmo]\neven=[bdfhjlnp]"
UNSEEN = dict(zip("abcdefgh", "ijklmnop"))

# Symbols: the pattern, the fresh ones, and targets. Fresh symbols of a target come first, last,
# again, and between those of the source, which has 0, 1, 2 and 4; as many as there may be, or none.
KINDS = {
    "own": ("[a-p]", 0, TARGETS),
    "fresh": ("[a-p]", 3, ["e 1 b e 0 a", "a 1", "h g 0 d a g", "a f 1 c f e b"]),
    "sorts": (SORTS, 0, TARGETS),
    "both": (SORTS, "odd=1,even=2", ["e 1 b e 0 f", "a 1", "h g 0 d f g", "a f 1 c d f b"]),
    "one": (SORTS, "even=3", ["d 1 b d 0 f", "a 1", "h f 0 d f b", "a f 1 c d f b"]),
}


@dataclass(frozen=True)
class Variant:
    """A kind of model."""

    options: Dict = field(default_factory=dict)
    kind: str = "own"

    @property
    def one_stream(self) -> bool:
        return "symbol_embedding" in self.options

    @property
    def invariant(self) -> bool:
        """Whether names do not matter."""
        return self.options.get("symbol_embedding") not in ("fixed", "random")

    @property
    def tree(self) -> bool:
        """Whether sources must be formulas."""
        return self.options.get("encoder_positions", "tree") == "tree"

    @property
    def pre_norm(self) -> bool:
        return self.options.get("encoder_normalize_before", False)

    @property
    def targets(self) -> Sequence[str]:
        return KINDS[self.kind][2]

    def dictionary(self, **options):
        return make_dictionary(**{"pattern": KINDS[self.kind][0], **options})

    def model(self, dictionary=None, **more):
        """A model in float32 whose weights are larger than those of a new one."""
        options = {**self.options, "fresh_symbols": KINDS[self.kind][1], **more}
        return redraw(make_model(dictionary or self.dictionary(), **options)).eval()

    def sample(self, dictionary, **more):
        return make_sample(dictionary, SOURCES, self.targets, **more)


def _with(pattern, positions, pre_norm, head, **more) -> Dict:
    norms = dict(encoder_normalize_before=pre_norm, decoder_normalize_before=pre_norm)
    return dict(
        stream_attention=pattern, encoder_positions=positions, output_head=head, **norms, **more
    )


def _variants() -> Dict[str, Variant]:
    made = {}
    turns = list(itertools.product(("tree", "rope"), (False, True), ("cosine", "linear")))

    def add(pattern, turn, kind="own", **more):
        name = "-".join(map(str, (*turn, kind, *more.values())))
        made[f"{pattern}-{name}"] = Variant(_with(pattern, *turn, **more), kind)

    main, *others = [*PATTERNS, "EP-DP-EA-DA-CA-CP"]
    for turn, kind in zip(turns, itertools.cycle(KINDS)):
        add(main, turn, kind)
    for number, (pattern, kind) in enumerate(zip(others, itertools.cycle(KINDS))):
        add(pattern, turns[(3 * number) % 8], kind)
    for kind in ("fresh", "one"):
        add("EA-DA-CA", turns[4], kind)
    for embedding in ("fixed", "canonical", "random"):
        more = dict(symbol_embedding=embedding, symbol_code_dim=16)
        add("EP-DP-CP", turns[3], **more)
        add("EP-DP-CP", turns[4], "own" if embedding == "random" else "sorts", **more)
    # What fairseq's transformer offers, as models converted from it have it.
    before = dict(encoder_normalize_before=True, decoder_normalize_before=True)
    wide = dict(share_embeddings="none", decoder_embed_dim=30, no_scale_embedding=True)
    for name, positions, more in (
        ("decoder shared", ("none", "none"), dict(share_embeddings="decoder")),
        ("linear", ("sinusoidal", "learned"), dict(output_head="linear")),
        (
            "wide decoder",
            ("learned", "sinusoidal"),
            dict(wide, layernorm_embedding=True, output_head="linear"),
        ),
        (
            "no encoder norm",
            ("sinusoidal", "rope"),
            dict(before, no_encoder_final_norm=True, share_embeddings="none"),
        ),
        (
            "no decoder norm",
            ("rope", "sinusoidal"),
            dict(before, no_decoder_final_norm=True, layernorm_embedding=True),
        ),
        ("aggregated norm", ("tree", "learned"), dict(aggregated_normalize_before=True)),
        ("other eps", ("tree", "rope"), dict(before, layer_norm_eps=0.1, layernorm_embedding=True)),
    ):
        encoder, decoder = positions
        both = dict(encoder_positions=encoder, decoder_positions=decoder)
        made[name] = Variant(dict(both, **more))
    streams = {name: variant for name, variant in made.items() if not variant.one_stream}
    for places, (name, variant) in zip(itertools.cycle(("own", "read")), [*streams.items()][::3]):
        options = dict(variant.options, stream_places=places)
        made[f"{name}-{places} places"] = Variant(options, variant.kind)
    return made


VARIANTS = _variants()
