"""What signatures of errors need: by which version of the rules each was made."""

from __future__ import annotations

SIGNATURES = (
    # 1: the rules before they read whole outputs; a program of that time, which writes no number, signs by those
    "ALTER TABLE error_patterns ADD COLUMN signed_by SMALLINT NOT NULL DEFAULT 1",
    "CREATE INDEX error_patterns_signed ON error_patterns (project_id, signed_by, error_type, id)",
)
"""The statements of the migration, in order."""
