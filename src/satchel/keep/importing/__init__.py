"""Importing the stores of other tools."""
