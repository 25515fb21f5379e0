"""What five languages print when something fails.

The outputs are written after those of real programs, and know nothing of how they are masked.
"""

from __future__ import annotations

from keep.patterns.programs import go, java, javascript, python, rust

OUTPUTS = (*python.OUTPUTS, *javascript.OUTPUTS, *java.OUTPUTS, *go.OUTPUTS, *rust.OUTPUTS)
"""What failing programs print; every output has at least one word that says the cause."""
