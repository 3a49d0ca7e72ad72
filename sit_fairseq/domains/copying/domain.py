"""Strings to be copied (Isik et al. 2025, and the paper's appendix on copying)."""

from sit_fairseq.domains import Domain
from sit_fairseq.judging.equality_judges import EqualityJudge


class CopyJudge(EqualityJudge):
    """Satisfied if the answer equals the source token by token, violated otherwise."""

    semantics = "copy"

    def right(self, problem: str) -> str:
        return problem


DOMAIN = Domain(
    name="copying",
    alias="copy",
    version=1,
    symbols="[^<].*",
    judges={"equality": CopyJudge},
    grid=(160, 160, 20),
)
