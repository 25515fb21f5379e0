"""The guard: a pre-commit hook of git that knows what other sessions have claimed."""
