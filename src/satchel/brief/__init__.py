"""Briefings and notices: items of several kinds combined for one reader."""
