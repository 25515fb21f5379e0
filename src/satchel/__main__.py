"""``python -m satchel`` is ``satchel``."""

from satchel.faces.cli import main

main()
