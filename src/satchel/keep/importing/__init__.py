"""Imports from other tools."""
