"""Error patterns: signatures of errors, and their solutions."""

from __future__ import annotations

from satchel.base.lazy import exported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from satchel.keep.patterns.signing import mask, signature

__all__ = ["mask", "signature"]

__getattr__ = exported(__name__, "signing")
