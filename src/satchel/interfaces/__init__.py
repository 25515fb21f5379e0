"""Faces parse, call and render; they hold no rules of their own."""
