"""Corrections: which items were replaced, retracted or confirmed, by whom; what an agent may correct."""
