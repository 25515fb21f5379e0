"""Entries: the notes of a run, in eight types."""
