"""Connecting coding clients to Satchel: their configuration files."""
