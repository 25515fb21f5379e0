"""The base: errors, clock, text, paths, configuration, tokens, the wire. Imports nothing of satchel."""
