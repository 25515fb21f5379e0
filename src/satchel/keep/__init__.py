"""Stored items: one module or package per thing."""
