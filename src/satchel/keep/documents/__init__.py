"""Documents that a repository has for agents and people: proposals from them, and the block in AGENTS.md."""
