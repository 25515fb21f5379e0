"""The configuration keys, each declared once as a typed attribute of :class:`Config`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Self

from satchel.base.errors import unknown_name
from satchel.base.records import dataclass

# What the environment variables of the keys begin with.
VARIABLE_PREFIX = "SATCHEL_"

Value = str | int | float | bool | tuple[str, ...] | None
ValueType = type[str] | type[int] | type[float] | type[bool] | type[tuple[str, ...]]

# What a project's own file may do with a key: set it, only lower it, only choose what is as strict as the default or
# stricter, or nothing, since it may come with a clone.
Reach = Literal["yes", "lower", "stricter", "no"]


@dataclass(frozen=True, slots=True)
class Key:
    """A configuration key.

    Attributes:
        help: its description, in one or more sentences.
        choices: the texts allowed; empty allows any name. If a project may only be stricter, the strictest is first.
        example: the value in the documented file if there is no default.
        is_zone: whether its values are names of time zones.
        project: what the project's file may do with it.
        named_variable: its environment variable, if not named like the key; empty for none.
    """

    name: str
    type: ValueType
    default: Value
    help: str
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    example: Value = None
    is_zone: bool = False
    project: Reach = "no"
    named_variable: str | None = None

    @property
    def attribute(self) -> str:
        return self.name.replace(".", "_")

    @property
    def variable(self) -> str | None:
        name = self.named_variable
        return VARIABLE_PREFIX + self.attribute.upper() if name is None else name or None

    @property
    def read_from(self) -> str:
        """Return a description of the sources that may set it, strongest first."""
        project = {
            "yes": ", the project's file",
            "lower": ", the project's file where that lowers it",
            "stricter": f", the project's file where it says {self.strict_enough}",
            "no": "",
        }
        return f"argument{', environment' if self.variable else ''}, your file{project[self.project]}"

    @property
    def strict_enough(self) -> str:
        """Return a description of the choices at least as strict as the default."""
        return " or ".join(f'"{choice}"' for choice in self.choices if not self.is_laxer(choice))

    def is_laxer(self, value: object) -> bool:
        """Return whether a value is a choice that is less strict than the default."""
        return value in self.choices[self.choices.index(str(self.default)) + 1 :]

    @property
    def allowed(self) -> str:
        """Return a description of its values, such as ``a whole number from 0 to 1000``."""
        if self.choices:
            return " or ".join(f'"{choice}"' for choice in self.choices)
        if self.type is bool:
            return "true or false"
        if self.is_zone:
            return "the IANA name of a time zone"
        if self.type is tuple:
            return "a list of absolute paths"
        if self.type is str:
            return "a name of at most 200 characters"
        number = "a whole number" if self.type is int else "a number"
        least = "" if self.minimum is None else f" from {self.minimum}"
        return number + least + ("" if self.maximum is None else f" to {self.maximum}")


@dataclass(frozen=True, slots=True)
class Setting:
    """A key's value in force, and where it came from.

    Attributes:
        source: ``argument``, ``environment SATCHEL_...``, ``your config.toml``, ``config.toml`` or ``default``.
    """

    key: Key
    value: Value
    source: str


def _key(default: Value, text: str, **more: Any) -> Any:
    # the annotation of the attribute says the type, its name the key: see KEYS
    return {"default": default, "help": text, **more}


def _tokens(default: int, when: str) -> Any:
    text = f"Tokens at most that a client's hook puts in {when}; 0 puts in nothing."
    return _key(default, text, minimum=0, maximum=2_200, project="lower")


class Config:
    """The configuration in force.

    The annotated attributes declare the keys, in the order in which they are shown: ``store_durability`` is
    ``store.durability``. An instance has their values.

    Attributes:
        settings: every key's value with its source.
    """

    store_durability: str = _key(
        "full",
        "What a power failure may cost: nothing that was acknowledged (full), or the last moments (relaxed).",
        choices=("full", "relaxed"),
    )
    store_lock_wait_ms: int = _key(
        10_000, "Milliseconds that a write waits for its turn while other processes write.", minimum=0, maximum=600_000
    )
    store_backups_keep: int = _key(
        10, "How many automatic backups of each reason are kept; the oldest goes first.", minimum=0, maximum=1_000
    )
    context_max_per_loop: int | None = _key(
        None,
        "How many entries are kept per run, type and loop, the newest first. Not set: all.",
        minimum=1,
        maximum=1_000_000,
        example=200,
    )
    context_max_content_kib: int = _key(
        256, "Largest content that is accepted, in KiB of UTF-8.", minimum=1, maximum=10_240, project="lower"
    )
    layers_open: bool = _key(
        False,
        "Whether a new layer may be named; otherwise only the five that every project has, and those named before.",
        project="yes",
    )
    claims_minutes: int = _key(
        30,
        "Minutes that a claim on files holds where the call names no time.",
        minimum=1,
        maximum=10_080,
        project="yes",
    )
    retention_messages_hours: int = _key(
        24, "Hours that a message is kept for those who have read it.", minimum=1, maximum=87_600
    )
    retention_unread_messages_hours: int = _key(
        168, "Hours that a message is kept for those who have not.", minimum=1, maximum=87_600
    )
    retention_file_changes_hours: int = _key(168, "Hours that a file change is kept.", minimum=1, maximum=87_600)
    retention_conversations_days: int = _key(
        90, "Days that a conversation with another model is kept after its last turn.", minimum=1, maximum=3_650
    )
    retention_skip_weekends: bool = _key(False, "Whether Saturdays and Sundays do not count.")
    retention_zone: str = _key("UTC", "The time zone whose weekends are meant, by its IANA name.", is_zone=True)
    brief_budget: int = _key(
        4_000, "Tokens of a briefing that is asked for without a budget.", minimum=0, maximum=1_000_000, project="lower"
    )
    brief_token_factor: float = _key(
        1.0,
        "Tokens of your model for each one that is counted here: 1.2 where its texts cost a fifth more.",
        minimum=1,
        maximum=10,
        project="yes",
    )
    brief_deadline_ms: int = _key(
        500,
        "Milliseconds of processor time after which a briefing makes do with what it has.",
        minimum=1,
        maximum=60_000,
        project="lower",
    )
    search_meaning: str = _key(
        "wordllama",
        "The model by which a search ranks by meaning too, where its extra is installed: wordllama of `meaning`, or the"
        " slower and better one of `minilm`.",
        choices=("off", "wordllama", "minilm"),
    )
    hooks_start: int = _tokens(2_200, "when a session starts, or its window was cleared")
    hooks_resume: int = _tokens(600, "when a session is resumed: what changed since")
    hooks_compaction: int = _tokens(2_200, "after its window was compacted")
    hooks_subagent: int = _tokens(800, "when a subagent starts")
    hooks_first_prompt: int = _tokens(
        1_500, "at the first prompt that states a task: what the start left out, ranked by it, and what is about it"
    )
    hooks_prompt: int = _tokens(600, "at another prompt: items about it that the agent did not get")
    hooks_edit: int = _tokens(250, "when a file is read or edited: what binds it, and notes on it, for each file")
    hooks_error: int = _tokens(150, "after a command failed: a known fix, or the most similar error")
    hooks_messages: int = _tokens(80, "at prompts, and at most once a minute after edits and commands: unread messages")
    hooks_claims: str = _key(
        "deny",
        "What a hook does before an edit of a file that another session has claimed explicitly: deny stops it; ask "
        "asks the user in Claude Code while it accepts edits, and stops it elsewhere; warn lets it through "
        "with a line; off leaves claims alone and makes none.",
        choices=("deny", "ask", "warn", "off"),
    )
    hooks_end: bool = _key(
        True, "Whether the end of a session, told by a hook, is recorded and its automatic claims are released."
    )
    hooks_visible: bool = _key(
        True, "Whether a client that can show a line at the start of a session tells you what the agent was given."
    )
    hooks_deadline_ms: int | None = _key(
        None,
        "Milliseconds by the clock after which a hook ends with what it has. Not set: 3000 at a start or a prompt, "
        "1500 at an edit or a command.",
        minimum=50,
        maximum=60_000,
        example=5_000,
    )
    share_accept: bool = _key(
        False,
        "Whether what the default branch of the repository says in its shared text is taken without asking you; "
        "otherwise it waits for satchel accept.",
    )
    share_branch: str | None = _key(
        None,
        "The branch that shared text is taken from. Not set: the default branch of origin, else main or master.",
        example="trunk",
    )
    guard_claims: str = _key(
        "warn",
        "What the guard does before a commit of files that another session has claimed explicitly: warn lets it "
        "through with a line for each; deny stops it where the session that commits is known; off leaves claims alone.",
        choices=("deny", "warn", "off"),
        project="stricter",
    )
    consult_stable_inline_list: bool = _key(
        True, "Whether a file is sent to an assistant once; otherwise every turn sends all files of its prompt again."
    )
    consult_base_url: str | None = _key(
        None,
        "Address of an endpoint that speaks OpenAI's chat completions, for models named compatible: or ollama:.",
        example="http://127.0.0.1:11434/v1",
    )
    consult_window_tokens: int | None = _key(
        None,
        "Tokens that the assistant's window holds, input and output together. Not set: as its model is known.",
        minimum=1_024,
        maximum=100_000_000,
        example=128_000,
    )
    consult_output_tokens: int | None = _key(
        None,
        "The most tokens of an answer. Not set: as the model is known, at most a fourth of the window.",
        minimum=1,
        maximum=10_000_000,
        example=16_000,
    )
    consult_idle_seconds: int = _key(
        300,
        "Seconds that an assistant may send nothing at all, as a model that thinks may, before a call is given up.",
        minimum=1,
        maximum=3_000,
    )
    consult_total_seconds: int = _key(
        1_800,
        "Maximum seconds of a whole call to an assistant.",
        minimum=1,
        maximum=86_400,
    )
    consult_remember: bool = _key(
        True,
        "Whether answers of other models are kept with their questions as notes, which searches and briefings find.",
    )
    consult_prices: str | None = _key(
        None,
        "Prices of models, separated by commas: the name, and the US dollars for a million tokens of input and of "
        "output. The cost of a model without one is unknown.",
        example="gpt-6-sol 2 10, claude-opus-5-5 4 20",
    )
    consult_blob_mib: int = _key(
        64,
        "MiB of compressed contents that all conversations of a project may keep to make diffs and threads from. 0 "
        "keeps none: a changed file goes whole.",
        minimum=0,
        maximum=65_536,
    )
    tokens_encoding: str = _key(
        "o200k_base",
        "The vocabulary in which tokens are counted, where the tokens extra is installed.",
        choices=("o200k_base", "cl100k_base"),
        project="yes",
    )
    trust_folders: tuple[str, ...] = _key(
        (),
        "Folders whose stores are trusted, with all below them, whatever their owners and modes: mounts without "
        "modes, containers.",
        example=("/mnt/c/work",),
    )
    server_url: str | None = _key(
        None,
        "Address of the server with this project's store. local: a store on this machine, whatever other files say.",
        example="https://satchel.example.org",
        named_variable="SATCHEL_URL",
    )
    server_token_file: str | None = _key(
        None,
        "File with the token for server.url, readable only by you. Not set: SATCHEL_TOKEN.",
        example="/home/me/.config/satchel/tokens/satchel.example.org",
    )
    server_insecure: bool = _key(
        False, "Whether token and contents may go to another machine without encryption, over http."
    )
    person_name: str | None = _key(
        None,
        "Your name, as others see what you write. Not set: user.name of your git configuration, else your login name.",
        example="ann",
    )
    notify_command: str | None = _key(
        None,
        "Command started once for each thing that newly needs you, which is its last argument. Only your own file may "
        "set it, since a clone may set environment variables of your client.",
        example="notify-send",
        named_variable="",
    )
    project_name: str | None = _key(None, "What the project is called. Not set: as its folder.", example="my-project")

    def __init__(self, settings: Iterable[Setting], warnings: Iterable[str] = ()) -> None:
        self.settings = tuple(settings)
        self.warnings = tuple(warnings)
        for setting in self.settings:
            setattr(self, setting.key.attribute, setting.value)

    @property
    def hooks_lock_wait_ms(self) -> int:
        """Maximum time that a hook waits for a lock: a sixth of its time at an edit."""
        return (self.hooks_deadline_ms or 1_500) // 6

    def with_changes(self, **changes: Any) -> Self:
        """Return a copy in which some attributes have other values."""
        made = object.__new__(type(self))
        vars(made).update(vars(self), **changes)
        return made

    def setting(self, name: str) -> Setting:
        """Return a key's value with its source."""
        key = key_named(name)
        return next(setting for setting in self.settings if setting.key is key)


_TYPES: dict[str, ValueType] = {"str": str, "int": int, "float": float, "bool": bool, "tuple": tuple}
# Every key, in the order in which it is shown.
KEYS: tuple[Key, ...] = tuple(
    Key(name.replace("_", ".", 1), _TYPES[kind.split("[")[0].split(" |")[0]], **vars(Config)[name])
    for name, kind in Config.__annotations__.items()
)


def key_named(name: str) -> Key:
    for key in KEYS:
        if key.name == name:
            return key
    raise unknown_name("configuration key", name, (key.name for key in KEYS))


for _one in KEYS:
    delattr(Config, _one.attribute)  # else a key without a setting would have its declaration as its value
