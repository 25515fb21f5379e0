"""Hooks: what clients run at moments of their sessions, ``satchel hook CLIENT EVENT``."""
