"""What hooks do while an agent works: at its edits, its commands, and when it stops."""
