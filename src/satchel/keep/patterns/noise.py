"""Noise around an error in a program's output: prompts, log prefixes, progress, dumps, advice and consequences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache

from satchel.base.lazy import lazy_regex

_NAME = r"[A-Za-z_][\w.]{0,120}"

# forms by a text that an output with them holds, and how they are rewritten
_FORMS = (
    # Elixir
    ("** (", rf"^ *\*\* \(({_NAME})\) (.*)\n?(?: {{4,}}.*\n?)*", r"\1: \2\n\n"),
    # Ruby
    ("rb:", r"^(?:\S{1,300}:\d+:in [`'][^'\n]{0,200}': )?(.{1,300}) \(([A-Z]\w*(?:::\w+)*)\)$", r"\2: \1"),
    # git, with the reason in brackets
    ("! [", r"^ *! \[(?:remote )?rejected\] [^(\n]{1,300}\((.{1,200})\)$", r"error: push rejected (\1)"),
    # ESLint and others that number lines, with the rule at the end
    ("  error  ", r"^ +\d+:\d+ +error +(\S.{0,500}?)(?: {2,}(\S+))?$", r"error: \1 (\2)"),
    # Kubernetes
    ("from server", r"^Error from server (\(\w+\)): (?:error when \w+ \"[^\"\n]{1,300}\": )?", r"error: \1 "),
    # a driver's error inside SQLAlchemy's
    (
        "sqlalchemy.exc.",
        rf"^ *(?:E +)?sqlalchemy\.exc\.\w+: \((?:{_NAME}\) <class '({_NAME})'>: |({_NAME})\) )",
        r"\1\2: ",
    ),
    ("[SQL: ", r"^ *\[SQL: (?s:.){0,2000}?(?=^ *\(Background|^ *\[parameters|^$|\Z)|^ *\[parameters: .*$", ""),
    # releases of Python
    ("No module named", r"\bNo module named ['\"]?([\w.]+)['\"]?", r"No module named '\1'"),
    # rustc: the types are in the label of the marked code
    ("error[E", r"^ *\d* *\| .*?\^+ (expected .{1,300})$", r"    \1"),
    # a compiler's project and advice
    ("proj]", r" \[[^\]\n]{1,300}proj\]$", ""),
    ("(", r" \((?:are you missing|did you mean) [^()\n]{1,100}\)", ""),
    ("did you mean", r"; did you mean ['‘`][^'’`\n]{1,100}['’`]\?", ""),
    ("location:", r"^ *location: .*$", ""),
    ("No module named", r"^\S{0,200}python[\d.]*(?:\.exe)?: (?=No module named)", "ModuleNotFoundError: "),
    # cargo: the paragraph below names the cause
    (
        "failed to select",
        r"^error: (failed to select a version for \S+)\.\n(?: +\.\.\. .*\n)*(?:versions that meet .*\n)?\n",
        r"error: \1: ",
    ),
    (" links to ", r"(links to the native library `[^`\n]{1,100}`), but it conflicts with .*", r"\1 as another does"),
    (" depends on ", r"(?:the )?package `[^`\n]{1,100}` depends on (`[^`\n]{1,100}`,? with features?:? )", r"\1"),
    (
        "Caused by:\n",
        r"^error: failed to (?:load|parse) [^\n]{1,300}\n(?:[^\n]{1,300}\n)?"
        r"(?:\nCaused by:\n +failed to (?:load|parse) [^\n]{1,300}\n)*\nCaused by:\n +",
        "error: ",
    ),
    (
        "Caused by:\n",
        r"^Error: [^\n]{1,300}\n\nCaused by:\n(?: +\d+: [^\n]{1,300}\n)*"
        r" +(?:\d+: )?(?!.*\(os error \d)(?=[^\n]*[`'\"]|(?:\S+ ){5}\S)",
        "Error: ",
    ),
    # Gradle's lists of where it looked and who asked
    ("Required by:", r"^( *)Required by:(?:\n\1 +.*)*", ""),
    ("following", r"^( *)Searched in the following \w+:(?:\n\1 +.*)*", ""),
    (
        "following sources:",
        r"^(.{1,300} was not found) in any of the following sources:\n(?:(?:[- ].*)?\n)+",
        r"error: \1\n\n",
    ),
    ("Could not resolve all", r"^Could not resolve all .*\n +> ", "error: "),
    # an inner cause below a message
    ("─▶ ", r"^ *[╰├]─▶ +(?:× +)?", "    "),
    # the properties of an object
    ("\n}", r"^ {2}\w+: .*\n(?: {2}[\w\]}].*\n| {3,}.*\n){0,60}?\}$", ""),
    # pydantic's value
    ("input_value=", r", input_value=.{0,300}?, input_type=\w+", ""),
    # a list of files below a headline
    (" files ", r"(\bfiles\b[^\n]{0,100}:)\n(?:[ \t]+\S+\n)+", r"\1\n"),
    # PHP, and servers' logs of it
    (".php", r"(?:^ *thrown)? in (?:\S{1,300}\.php)(?::\d+| on line \d+)(?:, referer: \S{1,300})?$", ""),
    ("PHP ", r"^(?:\[[^\]\n]{1,80}\] ){0,4}(?:PHP message: )?PHP (?=[A-Z][a-z ]{1,30}error: )", ""),
    # a gem's extension
    ("mkmf.rb", r"^ *mkmf\.rb ", "error: "),
    ("BuildError", r"^Gem::Ext::BuildError: (?=ERROR: )", ""),
    # HashiCorp's lists, and what was tried before the reason
    ("occurred:", r"\b\d+ error(?:\(s\)|s)? occurred:\n+\s*\* (.*)(?:\n\s*[\t*].*)*", r"\1"),
    ("Lock Info:", r"^ *Lock Info:(?:\n .*)*", ""),
    ("Error message: ", r"^Error: [^\n]{1,100}\n+Error message: ", "Error: "),
    ("Error: Error ", r"^Error: (?:Error [^:\n]{1,60}: ){1,4}(?=\S)", "Error: "),
    # Visual Studio's table
    ("Error\t", r"^Error\t(\w{2,20})\t([^\t\n]{1,500}).*$", r"error \1: \2"),
    # who asked for a module is not what is missing
    ("annot find", r"(Cannot find (?:module|package) ['\"][^'\"\n]{1,300}['\"]) (?:imported )?from ['\"/].*$", r"\1"),
    # linters that put the rule before the message, and Kotlin
    (".py:", r"^(?:\S{1,300}:\d+:\d+: )?([A-Z]{1,4}\d{3,4}) (?:\[\*\] )?(?=\S)", r"error \1: "),
    ("--> ", r"^ *(?:-->|:::) \S+:\d+.*$", ""),
    ("e: ", r"^e: (?:file://)?\S{1,300}:\d+:\d+:? ", "error: "),
    # Maven, and servers by their addresses
    ("find artifact", r"^.*(Could not find artifact \S+?)(?::\d[\w.-]*)? (?:in|\().*$", r"error: \1"),
    ("to server at", r"(connection to server at) \"[^\"\n]{1,100}\"(?: \([^)\n]{1,60}\))?", r"\1 server"),
    ("resolve import", r"(resolve import ['\"][^'\"\n]{1,200}['\"]) from ['\"].*$", r"\1"),
    # requests, with the cause in brackets
    ("(Caused by ", r"\S{0,100}: HTTPS?ConnectionPool\(.*\(Caused by (\w+)\(.*?: (.*?)['\"]?,?\)+$", r"\1: \2"),
    # Jest names the test, then what it expected
    ("› ", r"^ *● (.{1,200} › .{1,200})$", r"error: \1:"),
    # curl's progress before its message, and the command that npm starts
    ("--:--", r"^.*--:--:-- +\d+", ""),
    ("\n> ", r"^> \S{1,200}@\S{1,60} .{1,100}\n> .*$", ""),
    # asides in brackets
    ("[recovered]", r" \[recovered\]", ""),
    ("which satisfies", r"^ *\.\.\. which satisfies .*$", ""),
    ("(from versions", r" \(from versions: [^)\n]*\)", ""),
    ("ndpoint", r"\b(endpoint|container|network) \S{1,200}(?: \([0-9a-f]{12,64}\))", r"\1"),
    # Terraform: the place before the message
    ("on ", r"^ *on \S{1,200}\.tf line \d+.*\n(?: *\d+: .*\n)?", ""),
)

_FILE = r"['\"]?[^\s'\"]{1,300}\.\w{1,8}['\"]?"

# forms of one message, as _FORMS
VARIANTS = (
    # the place: functions around, objects that a compiler makes, the folder
    ("<locals>", r"\b(?:\w+\.)+<locals>\.", ""),
    (
        " line",
        r"(?:^| )(?:(?:(?:at|in) (?:file )?['\"]?[^\s'\"]{1,300}['\"]?|(?:file |source: )?" + _FILE + r")"
        r",?(?: on)? line:? (?:\d+|N\b)|(?:at|on) line \d+ of \S{1,300}?)(?:,? (?:col(?:umn)?|pos):? \d+)?[.:]?(?= |$)",
        "",
    ),
    ("", r" (?:at|in) " + _FILE + r":\d+$|^\(\S{1,300}\.\w{1,8}\)\s|^\[[Ll]ine \d+, [Cc]ol(?:umn)? \d+\] ", ""),
    ("", r"^\S{1,300}\.\w{1,5} ?(?:\(\d+:\d+\)|:\d+:\d+): (?=\S)", ""),
    (
        "",
        r"^[^\S\n]*(?:/[^\s:]{1,300}\.(?!so\b)\w{1,8}|[^\s:]{1,300}\.(?!so\b)\w{1,8}:{1,2}(?:\d+:?|\$\S{0,100}:)?) "
        r"(?=[^\n]*['\"`]|(?:\S+ ){5}\S)",
        "",
    ),
    ("", r" ?[(\[][^\s()\[\]:,]{1,300}\.\w{1,8}(?:(?::\d+){1,2}|, line \d+)[)\]]", ""),
    (".o:", r"(?<!\S)[^\s:()]{1,300}\.o:(?:\([^()\n]{0,200}\):?|[^\s:]{1,300}:\d+:) ?", ""),
    (
        " in ",
        r"\A((?!Can't resolve '\.)[^\n]{5,300}) in ['\"`]?(?:/|[A-Za-z]:\\)[^\s'\"`:.]{1,300}['\"`]?(?=[\s,;)]|$)",
        r"\1",
    ),
    # the machine's own names
    ("checksum of ref", r"(checksum of ref) \S{1,200}", r"\1"),
    ("failed to solve: ", r"^failed to solve: (?:failed to compute cache key: )?", ""),
    ("epository ", r"\brepository '?(?:\w{2,10}://|\w{1,20}@)[^\s']{1,300}'?", "Repository"),
    ("@", r"(?<=\w)@[~^](?=\d)", "@"),
    ("refs/heads/", r"\brefs/heads/\S{1,200}", "refs/heads/"),
    # the operation, and a phrase in quotes or behind a colon
    ("FAILED: ", r"^(?:[A-Z]+ )?FAILED: (?=\S+ \S)", ""),
    ('"', r"(\w) \"([^\"\n]{1,200} [^\"\n]{1,200})\"$", r"\1: \2"),
    # who needed what is missing
    (" by ", r",? (?:needed|required|requested|imported|referenced) by ['\"]?[\w@./\-]+['\"]?", ""),
    # who needed a missing interpreter, library or program, and where it was sought
    ("bad interpreter", r"^-?(?:\w{0,10}sh: )?(?:\S{1,200}: )?(?=\S{1,200}: bad interpreter)", ""),
    ("shared libraries", r"^[^\n:]{0,300}: (?=error while loading shared libraries: )", ""),
    (
        "executable file not found",
        r"^(?:[^\n]{0,200}: )?(exec: \"[^\"\n]{1,100}\": executable file not found)(?: in (?:\$PATH|%PATH%))?",
        r"\1",
    ),
    # relative packages need the folder
    # what not every release prints: a module's file, the system's words, quotes, the file that hit a limit
    ("cannot import", r"(cannot import name \S{1,100} from \S{1,200}) \([^()\n]{0,300}[/\\][^()\n]{0,300}\)", r"\1"),
    ("is required", r"(\d\.\d{1,3}) or (?:higher|newer|later|above|greater)(?= is required)", r"\1"),
    (" -> [Help 1]", r" -> \[Help 1\]", ""),
    ("cannot find -l", r"(cannot find -l[\w.+\-]{1,100}): No such file or directory", r"\1"),
    ("://", r"[\"']([a-z][a-z0-9+.\-]{1,20}://[^\s\"'<>]{1,500})[\"']", r"\1"),
    ("ENOSPC", r"\b(watch|open|scandir|mkdir|write) \S{1,300}(?= ENOSPC\b)", r"\1"),
    ("ENOSPC", r"(ENOSPC\b[^,\n]{0,80}), \w{3,10}(?: ['\"`][^\n]{0,500})?", r"\1"),
    (": ", r"\b(E[A-Z]{3,15}): [a-z][a-z \-]{3,50}?(?=,| ['\":\d/[]|\s*$)", r"\1"),
)

# lines below which the first one names the cause
_LISTS = ("Could not resolve dependency:\n", "The conflict is caused by:\n")

# beginnings of lines that only report that something else failed
_WRAPPERS = (
    *("Execution failed for task", "Could not determine the dependencies", "Build failed "),
    *("Could not compile settings file", "failed to run custom build command", "subprocess-exited-with-error"),
    *("Test suite failed to run", "Failed to build", "The user requested ", "error during build"),
    *("Error installing ", "ERR_PNPM_RECURSIVE_RUN"),
)

_wrapping = lazy_regex(
    r"Failed (?:tasks|targets|jobs|steps)\b"
    r"|.{0,80}\b(?:[Jj]ob|[Tt]ask|[Tt]arget|[Ss]tep|[Ss]cript|[Cc]ommand)s?\b.{0,80}\bfailed\b.{0,30}$"
    r"|.{0,60}\baborted (?:at|due to)\b"
)


# a command's status, which says nothing if anything else is said
_EXIT = (
    r".{0,200}\b(?i:exit(?:ed)?(?: with)?(?: exit)?(?: code| status)?"
    r"|returned(?: a)?(?: non-zero)?(?: exit)? (?:code|status)|rc|FAIL code)"
    r"[:=]? ?\d{1,3}(?:[).]{0,2}$| \(|.{0,80} pid=)"
)
_exit = lazy_regex(_EXIT)


def rewritten(text: str, forms: Iterable[tuple[str, str, str]]) -> str:
    for gate, form, replacement in forms:
        if gate in text:
            text = re.sub(form, replacement, text, flags=re.MULTILINE)
    return text


def plain(text: str) -> str:
    """Return an output with its headlines in one form, from where it names the cause on."""
    text = rewritten(text, _FORMS)
    for lead in _LISTS:
        _, lead_text, below = text.rpartition(lead)
        paragraph = below.lstrip().partition("\n\n")[0]
        lines = [line for line in paragraph.splitlines() if line.strip() and not is_wrapping(line)]
        if lead_text and lines:
            text = "\n".join(lines[: 2 if lines[0].rstrip().endswith(":") else 1])
    return text


def is_wrapping(line: str) -> bool:
    bare = line.lstrip(" \t>│×✖●|+").removeprefix("x ")
    if bare[:6].lower() in {"error:", "[error"}:
        bare = bare[6:].lstrip("]: ")
    return bare.startswith(_WRAPPERS) or _wrapping().match(bare) is not None


def is_exit(line: str) -> bool:
    return _exit().match(line) is not None


_QUOTED = 0.8  # share of lines starting with such a mark that makes a text a quotation or a container's log

_REPEATED = 2  # so many lines with the same prefix make a log of it too
_PREFIXED = 0.6  # share of lines starting with a prefix that makes a text the log of a runner, container or journal


def unwrapped(text: str) -> list[str]:
    """Return the lines of an output without wrappers, with plain headlines; of tests only those of the failures."""
    lines = peeled(text)
    if any(line.startswith("E   ") for line in lines):
        # pytest prints failures on lines of their own, and the values of an assertion below in short forms
        lines = [line[4:] for line in lines if line.startswith(("E   ", "     +  "))]
    return plain("\n".join(lines)).splitlines()


def peeled(text: str) -> list[str]:
    """Return the lines of an output without the prefixes of terminals, logs, containers and quotations."""
    if "> [" in text:
        text = _repeated().sub("", text)
    lines = text.splitlines()
    filled = [line for line in lines if line.strip()]
    for mark in (">", "|", "│"):
        if filled and sum(line.startswith(mark) for line in filled) >= _QUOTED * len(filled):
            lines = [line.removeprefix(mark).removeprefix(" ") for line in lines]
    for _ in range(3):  # a runner's log of a container's log of a task
        telling = [line for line in lines if line.strip() and not is_noise(line)]
        prefixes = Counter(match[0] for line in telling if (match := _prefix().match(line)) is not None)
        if prefixes.total() < max(1, _PREFIXED * len(telling)) and max(prefixes.values(), default=0) < _REPEATED:
            break
        lines = [_prefix().sub("", line) for line in lines]
    if "Exception Group Traceback" in text:
        lines = [_grouped().sub("", line) for line in lines]
    if "╷" in text or "What went wrong" in text:
        lines = [_framed().sub("", line) for line in lines]
    if _script().search(text):
        others = [line for line in lines if not line.startswith(("npm ERR!", "npm error"))]
        lines = others if any(line.strip() for line in others) else lines
    bare: list[str] = []
    for line in lines:
        rest = _tools().sub("", line, count=1)
        if rest is not line and ("npm " in line or "gyp " in line) and _npm().match(rest):
            continue
        # only lines with a clock or a level need the log pattern, which is slow to compile
        may_be_logged = rest.count(":") > 1 or any(word in rest for word in _LEVELS)
        match = _logged().match(rest) if may_be_logged else None
        if match is not None and match.end() < len(rest):
            rest = "" if _quiet().search(match[0]) else rest[match.end() :]
        bare.append(rest)
    return bare if any(line.strip() for line in bare) else lines


def is_noise(line: str) -> bool:
    bare = line.lstrip()
    if bare.startswith(_BEGINS) or _progress().match(bare):
        return True
    prompt, tail = _noise()
    return bool(tail.match(line) or prompt.match(line) or (line[:1] in {" ", "\t"} and tail.match(bare)))


def without_advice(text: str) -> str:
    """Return a message without sentences of advice, or the whole message if nothing else is in it."""
    rest = _advice().sub("", text)
    return rest if rest.strip(" \n.,:;") else text


_grouped = lazy_regex(r"^ *[|+] ?")
# the clock of a step's log as buildkit repeats it
_repeated = lazy_regex(r"(?m)^\d{1,5}\.\d{1,3} ")
_framed = lazy_regex(r"^(?:[╷│╵]|(?:#\d{1,3} \d{1,5}\.\d{1,3} )?>) ?")
_script = lazy_regex(r"npm (?:ERR!|error) (?:code ELIFECYCLE|[Ll]ifecycle script)")
_npm = lazy_regex(
    r"(?:code ELIFECYCLE|errno\b|syscall\b|path\b|argv\b|node v\d|npm {1,2}v\d|Linux \d|Darwin \d|Windows_NT"
    r"|cwd\b|System\b"
    r"|command\b|Exit status|Failed at the|This is probably not|A complete log of|Fix the upstream"
    r"|this command with --"
    r"|to accept an incorrect|The operation was rejected|It is likely you|If you believe this|permissions of the"
    r"|the command again as|Please try running this|Please include the following|npm-debug|gyp (?:info|verb|WARN))"
)


# log levels, and the prefixes of lower-case ones
_LEVELS = (
    *("TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "SEVERE", "CRITICAL", "ALERT", "PANIC", "FATAL"),
    "level=",
)


_tools = lazy_regex(r"(?:npm (?:ERR!|error)(?: |$)|gyp ERR! ?(?:stack ?)?|#\d{1,3} \d{1,5}\.\d{1,3} ){1,3}")

# a clock of a runner, the journal's date, host and program, a name in brackets that is no level, a package and its
# task, a container before a bar
_prefix = lazy_regex(
    r"^(?:\d{4}-\d\d-\d\dT[\d:]{8}\.\d{7,9}Z(?: |$)"
    r"|[A-Z][a-z]{2} [ \d]\d [\d:]{8} \S{1,100} [\w./@\-]{1,60}(?:\[\d{1,10}\])?:(?: |$)"
    r"|\[(?!(?i:trace|debug|info|notice|warn|warning|error|severe|critical|fatal)\])[\w./@:\-]{1,200}\](?: |$)"
    r"|(?:[^\t\n]{1,100}\t){2}(?=\d{4}-\d\d-\d\dT)"
    r"|(?:@?[a-z][\w./\-]{0,100}:[a-z][\w.\-]{0,60}"
    r"|@[\w.\-]{1,60}/[\w.\-]{1,60}|[\w.\-]{1,60}/[\w./\-]{1,60} [a-z][\w:\-]{0,40}):(?: |$)"
    r"|(?:[\d:]{8} )?[A-Za-z@][\w.@/:\-]{0,100} {0,40}\|(?: |$))"
)


@cache
def _logged() -> re.Pattern[str]:
    clock = r"\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,9})?"
    zone = r"(?:\s?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?"
    level = f"(?:{'|'.join(_LEVELS[:-1])})"
    stamp = rf"\[?(?:\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}[T ])?{clock}{zone}\]?"
    return re.compile(
        rf"\s{{0,8}}(?:{stamp}\s{{1,4}}(?:\[[^\]\n]{{0,80}}\]\s{{0,4}})?(?:\d{{1,7}}\s{{1,4}})?"
        rf"(?:\S{{1,60}}@\S{{1,60}} )?{level}\b:?\s{{1,4}}"
        r"(?:\[[^\]\n]{0,80}\]\s{0,4})?(?:\d{1,7}\s{1,4})?(?:--- )?(?:\[[^\]\n]{0,80}\]\s{0,4})?"
        r"(?:[\w.$/\\]{1,120}(?::\d{1,6})?(?:\s{1,60}[:-]\s|:\s(?=\S{1,200}:)|\t|\s-\s))?"
        rf"|{stamp} - [\w.\-]{{1,80}} - {level} - |{level}:[\w.\-]{{1,80}}:"
        rf"|[IWEF]\d{{4}} {{1,2}}{clock} {{1,6}}\d{{1,7}} \S{{1,80}}\] "
        rf"|(?:time=\S{{1,40}} )?level=\w{{1,8}} msg="
        rf"|\[{stamp}: {level}/\w{{1,40}}\] (?:\w{{1,20}}: )?|{level} {{1,4}}\[[\w.]{{1,80}}\] "
        rf"|\[{level}\]\s{{1,4}}(?:\[[^\]\n]{{0,120}}\]\s?|\(\d{{1,7}}\) : )?"
        rf"|{stamp}\s{{1,4}}(?={level}?\s?\w{{0,40}}(?:Error|Exception|error)\b))"
    )


# log levels that do not report errors
_quiet = lazy_regex(r"\b(?:TRACE|DEBUG|INFO|NOTICE)\b")


# beginnings of lines that report no error
_BEGINS = (
    *("help: ", "error: aborting due to", "Error: A JNI error", "Error: LinkageError"),
    *("note: This error originates", "For more information about this", "FAILURE: Build failed", "See /"),
    *("Re-run Maven", "To see the full stack trace", "test result: ", "✓ ", "✗ ", "[end of output]", "Node.js v"),
    *("____", "│", "Stack trace", "The above exception was the direct cause", "rootdir: ", "Press any key"),
    *("Aborted", "Require stack:", "From ", "? ", "Unable to find image", "nox > "),
)

# lines that report progress
_progress = lazy_regex(
    r"(?:(?!Missing|Failing|Expecting|Nothing|Something|String|During)[A-Z][a-z]{2,12}ing|Downloaded|Fresh|Finished) "
    r"(?!.*\b(?i:errors?|fail\w*|not|cannot|missing|denied|invalid)\b)"
)


@cache
def _noise() -> tuple[re.Pattern[str], re.Pattern[str]]:
    prompt = (
        r"\s{0,4}(?:(?:\([\w.\- ]{1,40}\)\s?)?(?:"
        r"[\w.\-]{1,40}@[\w.\-]{1,60}[: ][^$#%>\n]{0,120}[$#%>](?:\s|$)"
        r"|\[[\w.\-]{1,40}@[^\]\n]{1,80}\]\s?[$#]|PS [A-Z]:\\[^>\n]{0,200}>|[A-Z]:\\[^>\n\"']{0,200}>"
        r"|-?(?:ba|z|)sh-[\d.]{1,8}[$#%]|~[^\s$]{0,120}[$#%]\s)"
        r"|[$%»λ❯➜√]\s?[\w./~]|\++\s[./\w]|#\s[./\w]|>{3}\s|\[[\w.\-]{1,40}\]>\s|In \[\d{1,4}\]: )"
    )
    tails = (
        # closing lines of tools
        r"(?!\S{1,80}Error: )" + _EXIT,
        r".{0,200}\b(?:exiting now|due to previous errors)$"
        r"|(?:real|user|sys)\s\d{1,4}m[\d.]{1,9}s$|!{4}"
        r"|\[Pipeline\] |={4,200}(?!=*>)|Finished: "
        r"|.{1,80}\.{3}Failed$|- hook id: |.{1,40} failed :\(",
        r"\s{0,8}= (?:help:|note: this )",
        r"g?make(?:\[\d{1,3}\])?: (?:\*\*\* (?:\[|Waiting)|Leaving|Entering|Nothing)",
        r".{0,300}: [Ii]n function [`'‘].{0,300}:$",
        r"\[ERROR\]\s*$",
        # summaries of tests and checks
        r"(?:Test Suites|Tests|Snapshots|Time|Test Files|Start at|Duration): |failures:$"
        r"|\s{4}\w[\w:]*$"
        r"|\s*\d+ (?:Warning|Error)\(s\)",
        # npm and node
        r"npm (?:WARN|warn|notice|http|info|verb|timing)\b",
        r"\s{0,8}\S{1,300}[/\\\\]_logs[/\\\\]\S{1,200}$"
        r"|(?:not ok\b|Emitted '\w+' event|\s{0,4}(?:\w+: )?\[?\]?[{}],?$)",
        r"\s{1,8}(?:errno|code|syscall|address|port|path|filename|dest|stack|library|reason|parent"
        r"|opensslErrorStack): ",
        r"(?:code|errno|syscall|filename|dir|name|hostname): ['-]",
        # frames and dumps
        r"(?:from )?\S{1,300}:\d+:in |\s{0,8}(?:> )?\d{1,6} ?[|│](?:\s|$)|\|\s{2,}"
        r"|\s{0,8}\S{1,300}?:\d{1,6}(?::\d{1,6})?[:\]]?$|(?=\s*\S)\W+$|\S{1,300} \(\d{1,6}:\d{1,6}\)$|.{0,60}\.\.\.$"
        r"|[─━═╭╰│]{2,}",
        r"\s{0,4}\d{1,4}: (?:0x)?[0-9A-Fa-f]{6,16}(?:\s|$)",
        r"- \S{1,300}\.[cm]?[jt]sx?$",
        # progress
        r"#\d{1,3} |\d{1,6} (?:passed|failed|warnings?|errors?)\b.{0,60}$"
        r"|(?:FAILED|ERROR) \S{1,200}\.py\b|ok\s"
        r"|\s?> \[[^\]\n]{0,40}\d/\d{1,3}\] ",
    )
    return re.compile(prompt), re.compile("|".join(tails))


@cache
def _advice() -> re.Pattern[str]:
    begins = (
        r"If ['`\"]|To install\b|How (?:to|can|do)\b|Instead\b|Did you mean|Do you want"
        r"|See (?:also|documentation|the|https?)|For (?:more|further|details)|If (?:you|this|reserved)"
        r"|Please\b|Try\b|Make sure|Ensure\b|Check (?:that|the|your)|You (?:can|may|might|need|should|must)"
        r"|To (?:avoid|fix|add|learn|see|resolve|enable)|Is the (?:server|\w+ daemon)|It is likely|Add the|Consider\b"
        r"|Or,\s|Alternatively\b|Update the\b|CUDA kernel errors might|For debugging\b|Compile with\b"
        r"|Doing this|Perhaps\b|Hint\b|Tip\b|Use the\b|Run the\b|Learn more|More info|Read more|\(?Background on this"
    )
    # a sentence ends with a mark before a space, so that names of files and modules stay whole
    return re.compile(
        rf"(?:(?<=[.!?;)\n] )|(?<=[\n.!?;])|\A|(?<=[a-z\d] )(?=Is the |Did you|Please "
        rf"|See doc))\s{{0,16}}(?:{begins})(?:[^.!?\n]|[.!?](?![\s\"')]|\Z)|\n(?!\n)){{0,800}}+[.!?]?"
    )
