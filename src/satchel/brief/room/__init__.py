"""The status of a project for people: needs, changes, sessions and conflicts."""
