"""``python -m satchel`` is ``satchel``."""

from satchel.interfaces.cli import main

main()
