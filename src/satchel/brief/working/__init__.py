"""Actions of hooks while an agent works: at its prompts, edits and commands."""
