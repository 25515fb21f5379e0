"""Whether the running command has done its work, which decides how an error is reported."""

# Whether it has written what it was to write, so that only its answer can still fail.
has_kept = False
