"""The search documents: one index over everything kept."""
