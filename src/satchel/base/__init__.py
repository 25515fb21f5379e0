"""The base: errors, clock, text, paths, configuration, tokens, redaction. Imports nothing of satchel."""
