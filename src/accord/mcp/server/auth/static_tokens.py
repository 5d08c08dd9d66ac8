"""`StaticTokens`: tokens that are known beforehand, as programs and small teams have them."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from secrets import token_bytes

from accord.mcp.server.auth.credentials import MAX_TOKEN, is_token
from accord.mcp.server.principal import Principal


class StaticTokens:
    """A token verifier for fixed tokens, each with its principal or its subject.

        StaticTokens({os.environ["ADA_TOKEN"]: Principal(subject="ada", scopes=…)})

    Tokens are kept as digests under a key of this process. An attacker cannot know how close the
    digest of a guess comes to another, so the time of a lookup reveals nothing.
    """

    def __init__(self, tokens: Mapping[str, Principal | str]) -> None:
        """Raise ValueError for a token that no client could send."""
        if not tokens:
            raise ValueError("without any token nobody can be let in")
        self._key = token_bytes(32)
        self._principals: dict[bytes, Principal] = {}
        for token, whose in tokens.items():
            if not is_token(token) or len(token) > MAX_TOKEN:
                raise ValueError(
                    "a token is made of letters, digits and - . _ ~ + /, with = at its end only, "
                    f"and has at most {MAX_TOKEN:,} characters"
                )
            principal = Principal(subject=whose) if isinstance(whose, str) else whose
            self._principals[self._digest(token)] = principal

    def __repr__(self) -> str:
        return f"StaticTokens({len(self._principals)} tokens)"

    def verify(self, token: str) -> Principal | None:
        return self._principals.get(self._digest(token))

    def _digest(self, token: str) -> bytes:
        return blake2b(token.encode("utf-8", "surrogatepass"), key=self._key).digest()
