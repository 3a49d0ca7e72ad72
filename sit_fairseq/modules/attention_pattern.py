"""The paper's letters for which attentions a model has (section 5.5)."""

from dataclasses import dataclass
from typing import Tuple

from sit_fairseq.errors import UserError

_LETTERS = ("EP", "DP", "EA", "DA", "CP", "CA")


@dataclass(frozen=True)
class AttentionPattern:
    """E(ncoder), D(ecoder) or C(ross) attention, P(er stream) or A(ggregated).

    Attributes:
        encoder_per_stream: EP, self-attention of encoder streams.
        encoder_aggregated: EA, encoder streams attend to their aggregated view.
        decoder_per_stream: DP.
        decoder_aggregated: DA.
        cross: the cross-attentions of each decoder layer in their order, ``"CP"`` (to the
            encoder's stream of the same symbol) or ``"CA"`` (to its aggregated view).
    """

    encoder_per_stream: bool
    encoder_aggregated: bool
    decoder_per_stream: bool
    decoder_aggregated: bool
    cross: Tuple[str, ...]

    @property
    def aggregated(self) -> bool:
        """Whether any attention sees streams together (EA, DA or CA)."""
        return self.encoder_aggregated or self.decoder_aggregated or "CA" in self.cross

    @classmethod
    def parse(cls, text: str) -> "AttentionPattern":
        """Reads a pattern such as ``EP-DP-EA-DA-CP``; only the order of CP and CA counts.

        Raises:
            UserError: if a part is unknown or repeated, or both CP and CA are missing.
        """
        parts = text.split("-")
        wrong = [part for part in parts if part not in _LETTERS or parts.count(part) > 1]
        if wrong:
            raise UserError(
                f"--stream-attention {text!r}: {wrong[0]!r} is unknown or repeated; "
                f"join some of {' '.join(_LETTERS)} with hyphens"
            )
        cross = tuple(part for part in parts if part in ("CP", "CA"))
        if not cross:
            raise UserError(
                f"--stream-attention {text!r} lets the decoder see nothing of the source; add CP or CA"
            )
        return cls("EP" in parts, "EA" in parts, "DP" in parts, "DA" in parts, cross)
