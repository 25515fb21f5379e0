"""Satchel: one local-first context server for teams of coding agents."""

__version__ = "0.1.0"
