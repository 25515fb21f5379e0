"""``python -m satchel`` is ``satchel``."""

from satchel.interfaces.entry import main

main()
