"""The ground floor: errors, clock, text, paths, configuration, tokens, redaction. Imports nothing of satchel."""
