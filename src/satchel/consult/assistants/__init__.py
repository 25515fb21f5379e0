"""Assistants: adapters to the models that answer, each on its vendor's own SDK, behind one small protocol."""
