"""Decisions: the project's keyed and versioned choices, with their history."""
