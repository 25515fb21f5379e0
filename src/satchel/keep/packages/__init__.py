"""Packages: files and texts handed to other agents."""
