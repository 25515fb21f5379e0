"""The tour: two agents of one run share a memory over a real git history."""
