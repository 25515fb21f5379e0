"""What became of the command that runs: what its errors are reported by."""

has_kept = False
"""Whether it has done what it was to do, and wrote: only its answer can still fail."""
