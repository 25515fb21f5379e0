"""Housekeeping of a store: statistics, checks, backups, and deletion of old or single items."""
