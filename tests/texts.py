"""Language models that were never trained, and texts for them."""

from conftest import encode, make_dictionary, redraw, shift

from sit_fairseq.models.baselines import make_vocabulary
from sit_fairseq.models.config import LanguageModelConfig
from sit_fairseq.models.language_model import SymbolInvariantLanguageModel

SORTS = "odd=[acegikmo]\neven=[bdfhjlnp]"
TEXTS = ["& a b | a c 0 ! c", "! d & d d", "1 0", "a b a c b a d c"]
# The symbols called otherwise, by other names of their sorts.
RENAMED = ["& g b | g e 0 ! e", "! j & j j", "1 0", "o p o a p o h a"]

SIZES = dict(
    decoder_embed_dim=24,
    decoder_ffn_embed_dim=40,
    decoder_layers=2,
    decoder_attention_heads=3,
    max_target_positions=200,
)


def make_language_model(dictionary=None, fresh_names=None, **options):
    """A model in double precision, whose weights are larger than those of a new one."""
    cfg = LanguageModelConfig(**{**SIZES, "fresh_symbols": 5, **options})
    vocabulary = make_vocabulary(cfg, dictionary or make_dictionary(), fresh_names=fresh_names)
    return redraw(SymbolInvariantLanguageModel(cfg, vocabulary)).double().eval()


def read(model, texts=TEXTS):
    """(B, T) dictionary indices of texts, each after ``</s>``, and of the tokens that follow."""
    dictionary = model.vocabulary.dictionary
    for token in " ".join(texts).split():
        dictionary.index(token)
    targets = encode(dictionary, texts)
    return shift(dictionary, targets), targets
