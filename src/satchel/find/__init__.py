"""The search spine: one index over everything kept."""
