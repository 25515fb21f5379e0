"""Results as text and JSON: for each kind its line, the whole of it, and its confirmations."""

TYPE_CHECKING = False  # the modules are imported one by one, when they are needed
if TYPE_CHECKING:
    from satchel.interfaces.text import briefings as briefings
    from satchel.interfaces.text import consultations as consultations
    from satchel.interfaces.text import decisions as decisions
    from satchel.interfaces.text import entries as entries
    from satchel.interfaces.text import errors as errors
    from satchel.interfaces.text import files as files
    from satchel.interfaces.text import housekeeping as housekeeping
    from satchel.interfaces.text import items as items
    from satchel.interfaces.text import messages as messages
    from satchel.interfaces.text import packages as packages
    from satchel.interfaces.text import rules as rules
    from satchel.interfaces.text import runs as runs
    from satchel.interfaces.text import search as search
    from satchel.interfaces.text import sharing as sharing
    from satchel.interfaces.text import strategies as strategies
    from satchel.interfaces.text import team as team
