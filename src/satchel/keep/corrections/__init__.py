"""Corrections: items that were replaced, retracted or confirmed, and by whom."""
