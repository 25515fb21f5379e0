"""Whether an agent does better with Satchel than with a notes file, or with nothing: docs/outcome.md."""
