"""Consulting: questions to other models, with files that are sent once and never jump."""
