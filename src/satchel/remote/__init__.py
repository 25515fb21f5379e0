"""Satchel on another machine: what a local program asks of a server, and what it answers itself."""
