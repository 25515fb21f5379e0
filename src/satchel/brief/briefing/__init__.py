"""Briefings: the items that one agent needs most, within its budget."""
