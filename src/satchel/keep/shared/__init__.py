"""Shared texts: items as Markdown files that a repository carries and people review."""
