"""The shared text: items as Markdown files that a repository carries and people review."""
