"""One module for each command, each with a click command named ``command``."""
