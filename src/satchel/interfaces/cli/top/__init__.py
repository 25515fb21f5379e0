"""``satchel top``: the first four sections of the control room in a terminal."""
