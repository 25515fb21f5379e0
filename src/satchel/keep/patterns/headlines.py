"""Headlines of errors in the forms of many tools, brought into one: ``Type: message`` or ``error: message``.

All of it is data: a form costs nothing in an output that does not hold its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from satchel.base.lazy import lazy_regex

_NAME = r"[A-Za-z_][\w.]{0,120}"

_FORMS = (
    # Elixir
    ("** (", rf"^ *\*\* \(({_NAME})\) (.*)\n?(?: {{4,}}.*\n?)*", r"\1: \2\n\n"),
    # Ruby
    ("rb:", r"^(?:\S{1,300}:\d+:in [`'][^'\n]{0,200}': )?(.{1,300}) \(([A-Z]\w*(?:::\w+)*)\)$", r"\2: \1"),
    # git, whose reason stands in brackets
    ("! [", r"^ *! \[(?:remote )?rejected\] [^(\n]{1,300}\((.{1,200})\)$", r"error: push rejected (\1)"),
    # ESLint and others that number lines, with the rule at the end
    ("  error  ", r"^ +\d+:\d+ +error +(\S.{0,500}?) {2,}(\S+)$", r"error: \1 (\2)"),
    # Kubernetes and Docker
    ("from server", r"^Error from server (\(\w+\)): (?:error when \w+ \"[^\"\n]{1,300}\": )?", r"error: \1 "),
    ("from daemon", r"^(?:docker: )?Error response from daemon: ", "error: "),
    # a driver's error inside SQLAlchemy's
    ("sqlalchemy.exc.", rf"^(?:E +)?sqlalchemy\.exc\.\w+: \(({_NAME})\) ", r"\1: "),
    ("[SQL: ", r"^\[SQL: (?s:.){0,2000}?(?=^\(Background|^\[parameters|^$|\Z)|^\[parameters: .*$", ""),
    ("LINE ", r"^ *LINE \d+: .*\n(?: *\^\n?)?", ""),
    # releases of Python
    ("ImportError: No", r"\bImportError: (?=No module named)", "ModuleNotFoundError: "),
    ("No module named", r"\bNo module named ['\"]?([\w.]+)['\"]?", r"No module named '\1'"),
    # rustc: the types stand in the label of the marked code
    ("error[E", r"^ *\d* *\| .*?\^+ (expected .{1,300})$", r"    \1"),
    ("error[E", r"^ *= note: expected .*(?:\n {8,}found .*)*|^ *(?:-->|:::) .*$", ""),
    # a compiler's and linter's notes
    (": note: ", r"^\S.{0,300}?: note: .*(?:\n(?: +\d* \||  ).*)*", ""),
    ("rror CS", r" \[[^\]\n]{1,300}proj\]$", ""),
    ("(are you missing", r" \(are you missing .{1,100}\)", ""),
    # PHP
    (".php:", r"(?:^ *thrown)? in (?:\S{1,300}\.php)(?::\d+| on line \d+)$", ""),
    # who asked for a module is not what is missing
    ("annot find", r"(Cannot find (?:module|package) ['\"][^'\"\n]{1,300}['\"]) (?:imported )?from ['\"/].*$", r"\1"),
    ("Require stack:", r"^Require stack:\n(?:- .*\n)*|^ *requireStack: \[(?:[^\]\n]*\n){0,40}?.*\].*$", ""),
    ("\nresolve '", r"^resolve '.*\n(?:.+\n)*", ""),
    # linters that put the rule before the message, and Kotlin
    (".py:", r"^\S{1,300}:\d+:\d+: ([A-Z]{1,4}\d{3,4}) (?:\[\*\] )?(?=\S)", r"error \1: "),
    ("e: ", r"^e: (?:file://)?\S{1,300}:\d+:\d+:? ", "error: "),
    # Maven, and servers by their addresses
    ("find artifact", r"^.*(Could not find artifact \S+?)(?::\d[\w.-]*)? (?:in|\().*$", r"error: \1"),
    ("to server at", r"(connection to server at) \"[^\"\n]{1,100}\"(?: \([^)\n]{1,60}\))?", r"\1 server"),
    ("resolve import", r"(resolve import ['\"][^'\"\n]{1,200}['\"]) from ['\"].*$", r"\1"),
    ("; to add it:", r"; to add it:(?:\n\s+.*)?$", ""),
    # requests, whose cause stands in brackets
    ("(Caused by ", r"\S{0,100}: HTTPS?ConnectionPool\(.*\(Caused by (\w+)\(.*?: (.*?)['\"]?,?\)+$", r"\1: \2"),
    # Jest names the test, then what it expected
    ("› ", r"^ *● (.{1,200} › .{1,200})$", r"error: \1:"),
    # a step's log as buildkit repeats it
    ("> [", r"^\d{1,5}\.\d{1,3} ", ""),
    # advice with a list below
    ("Did you mean", r"^.*\bDid you mean (?:this|one of these)\?\n(?:(?: .*)?\n)*", ""),
    ("[recovered]", r" \[recovered\]", ""),
    ("s locked to", r" \(locked to [^)\n]{1,40}\)", ""),
    ("which satisfies", r"^ *\.\.\. which satisfies .*$", ""),
    ("(from versions", r" \(from versions: [^)\n]*\)", ""),
    ("ndpoint", r"\b(endpoint|container|network) \S{1,200}(?: \([0-9a-f]{12,64}\))", r"\1"),
    # Terraform: the place before the message
    ("on ", r"^ *on \S{1,200}\.tf line \d+.*\n(?: *\d+: .*\n)?", ""),
)
"""Forms by a text that an output with them holds, and how they are rewritten."""

VARIANTS = (
    # who needed a missing interpreter, library or program, and where it was sought
    ("bad interpreter", r"^-?(?:\w{0,10}sh: )?(?:\S{1,200}: )?(?=\S{1,200}: bad interpreter)", ""),
    ("shared libraries", r"^[^\n:]{0,300}: (?=error while loading shared libraries: )", ""),
    (
        "executable file not found",
        r"^(?:[^\n]{0,200}: )?(exec: \"[^\"\n]{1,100}\": executable file not found)(?: in (?:\$PATH|%PATH%))?",
        r"\1",
    ),
    # relative packages need the folder
    ("Can't resolve", r"(Can't resolve '[^'.\n][^'\n]{0,100}') in '[^'\n]{1,300}'", r"\1"),
    # what not every release prints: a module's file, the system's words, quotes, the file that hit a limit
    ("cannot import", r"(cannot import name \S{1,100} from \S{1,200}) \([^()\n]{0,300}[/\\][^()\n]{0,300}\)", r"\1"),
    (" -> [Help 1]", r" -> \[Help 1\]", ""),
    ("cannot find -l", r"(cannot find -l[\w.+\-]{1,100}): No such file or directory", r"\1"),
    ("://", r"[\"']([a-z][a-z0-9+.\-]{1,20}://[^\s\"'<>]{1,500})[\"']", r"\1"),
    *(
        (code, pattern, r"\1")
        for code in ("ENOSPC", "EMFILE", "ENFILE", "ENOMEM", "EDQUOT")
        for pattern in (
            rf"\b(watch|open|scandir|mkdir|write) \S{{1,300}}(?= {code}\b)",
            rf"({code}\b[^,\n]{{0,80}}), \w{{3,10}}(?: ['\"`][^\n]{{0,500}})?",
        )
    ),
    (": ", r"\b(E[A-Z]{3,15}): [a-z][a-z \-]{3,50}?(?=,| ['\":\d/[]|\s*$)", r"\1"),
)
"""Forms of one message, as :data:`_FORMS`."""

_LISTS = ("* What went wrong:\n", "Could not resolve dependency:\n", "The conflict is caused by:\n")
"""Lines below which the first one names the cause."""

_SECTIONS = ("--- stderr\n", " lines of output]\n")
"""Lines below which a wrapped program's own output stands."""

_WRAPPERS = (
    *("Execution failed for task", "A problem occurred", "Could not determine the dependencies", "exit code: "),
    *("A failure occurred while executing", "Build failed with an exception", "Compilation error. See"),
    *("Could not compile settings file", "Could not compile build file", "failed to run custom build command"),
    *("process didn't exit success", "failed to push some refs", "subprocess-exited-with-error"),
    *("metadata-generation-failed", "failed-wheel-build", "Encountered error while", "Lifecycle script"),
    *("Test suite failed to run", "rake aborted", "failed to build", "failed to solve", "Failed building"),
    *("Failed to build", "Failed to load ApplicationContext", "Application run failed", "The user requested "),
    *("Command failed with exit code", "error during build", "error when starting", "ResolutionImpossible: "),
)
"""Beginnings of lines that only report that something else failed."""

_wrapping = lazy_regex(
    r"Exit [Cc]ode:? \d{1,3}$|Task :\S+ FAILED|process \".*\" did not complete|.{0,100} did not run successfully"
    r"|command failed$|.{0,60}Exception on \S+ \[\w+\]$|.{0,40}Failed to load ApplicationContext|To \S+$"
)


def rewritten(text: str, forms: Iterable[tuple[str, str, str]]) -> str:
    """Return a text with the forms that it holds rewritten, in their order."""
    for gate, form, replacement in forms:
        if gate in text:
            text = re.sub(form, replacement, text, flags=re.MULTILINE)
    return text


def plain(text: str) -> str:
    """Return an output with its headlines in one form, from where it names the cause on."""
    text = rewritten(text, _FORMS)
    for lead in _SECTIONS:
        text = text.rpartition(lead)[2] or text
    for lead in _LISTS:
        _, found, below = text.rpartition(lead)
        paragraph = below.lstrip().partition("\n\n")[0]
        named = [line for line in paragraph.splitlines() if line.strip() and not is_wrapping(line)]
        if found and named:
            text = "\n".join(named[: 2 if named[0].rstrip().endswith(":") else 1])
    return text


def is_wrapping(line: str) -> bool:
    """Return whether a line only reports that something else failed."""
    bare = line.lstrip(" >│×●|+")
    if bare[:6].lower() in {"error:", "[error"}:
        bare = bare[6:].lstrip("]: ")
    return bare.startswith(_WRAPPERS) or _wrapping().match(bare) is not None
