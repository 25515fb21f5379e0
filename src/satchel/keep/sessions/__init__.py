"""Sessions: who is at work in a project, through which client, and in whose name each call acts."""
