"""The table of configuration keys: what can be configured, with types, bounds, defaults and help."""

from __future__ import annotations

from typing import Literal

from satchel.base.records import dataclass
from satchel.base.vocabulary import SECTIONS

VARIABLE_PREFIX = "SATCHEL_"
"""What the environment variables of the keys begin with."""

Value = str | int | float | bool | tuple[str, ...] | None
ValueType = type[str] | type[int] | type[float] | type[bool] | type[tuple[str, ...]]

Reach = Literal["yes", "lower", "stricter", "no"]
"""What a project's own file may do with a key: set it, only lower it, only choose what is as strict as the default or
stricter, or nothing, since it may come with a clone."""


@dataclass(frozen=True, slots=True)
class Key:
    """One thing that can be configured.

    Attributes:
        name: table and key, as in ``store.durability``.
        type: the type of its values.
        default: the value without any source; None where it is simply not set.
        help: what it does, in one or more sentences.
        minimum: least number allowed.
        maximum: greatest number allowed.
        choices: the texts allowed; empty where any name will do. Where a project may only be stricter, the strictest
            is the first.
        example: what the documented file shows where there is no default.
        is_zone: whether its values are the names of time zones.
        project: what the project's own file may do with it.
        named_variable: the environment variable that sets it, where it is not called as the key.
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
        """The name of its value in :class:`Config`."""
        return self.name.replace(".", "_")

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return self.named_variable or VARIABLE_PREFIX + self.attribute.upper()

    @property
    def read_from(self) -> str:
        """Where it may be set, in words, from the strongest to the weakest."""
        project = {
            "yes": ", the project's file",
            "lower": ", the project's file where that lowers it",
            "stricter": f", the project's file where it says {self.strict_enough}",
            "no": "",
        }
        return f"argument, environment, your file{project[self.project]}"

    @property
    def strict_enough(self) -> str:
        """The choices as strict as the default or stricter, in words."""
        return " or ".join(f'"{choice}"' for choice in self.choices if not self.is_laxer(choice))

    def is_laxer(self, value: object) -> bool:
        """Whether a value is a choice that is less strict than the default."""
        return value in self.choices[self.choices.index(str(self.default)) + 1 :]

    @property
    def allowed(self) -> str:
        """The values it takes, in words, as in ``a whole number from 0 to 1000``."""
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


KEYS: tuple[Key, ...] = (
    Key(
        "store.durability",
        str,
        "full",
        "What a power failure may cost: nothing that was acknowledged (full), or the last moments (relaxed).",
        choices=("full", "relaxed"),
    ),
    Key(
        "store.lock_wait_ms",
        int,
        10_000,
        "Milliseconds that a write waits for its turn while other processes write.",
        minimum=0,
        maximum=600_000,
    ),
    Key(
        "store.backups_keep",
        int,
        10,
        "How many automatic backups are kept; the oldest goes first.",
        minimum=0,
        maximum=1_000,
    ),
    Key(
        "context.max_per_loop",
        int,
        None,
        "How many entries are kept per run, type and loop, the newest first. Not set: all.",
        minimum=1,
        maximum=1_000_000,
        example=200,
    ),
    Key(
        "context.max_content_kib",
        int,
        256,
        "Largest content that is accepted, in KiB of UTF-8.",
        minimum=1,
        maximum=10_240,
        project="lower",
    ),
    Key(
        "layers.open",
        bool,
        False,
        "Whether a new layer may be named; otherwise only the five that every project has, and those named before.",
        project="yes",
    ),
    Key(
        "claims.minutes",
        int,
        30,
        "Minutes that a claim on files holds where the call names no time.",
        minimum=1,
        maximum=10_080,
        project="yes",
    ),
    Key(
        "retention.messages_hours",
        int,
        24,
        "Hours that a message is kept for those who have read it.",
        minimum=1,
        maximum=87_600,
    ),
    Key(
        "retention.unread_messages_hours",
        int,
        168,
        "Hours that a message is kept for those who have not.",
        minimum=1,
        maximum=87_600,
    ),
    Key(
        "retention.file_changes_hours",
        int,
        168,
        "Hours that a file change is kept.",
        minimum=1,
        maximum=87_600,
    ),
    Key(
        "retention.conversations_days",
        int,
        90,
        "Days that a conversation with another model is kept after its last turn.",
        minimum=1,
        maximum=3_650,
    ),
    Key(
        "retention.skip_weekends",
        bool,
        False,
        "Whether Saturdays and Sundays do not count.",
    ),
    Key(
        "retention.zone",
        str,
        "UTC",
        "The time zone whose weekends are meant, by its IANA name.",
        is_zone=True,
    ),
    Key(
        "brief.budget",
        int,
        4_000,
        "Tokens of a briefing that is asked for without a budget.",
        minimum=0,
        maximum=1_000_000,
        project="lower",
    ),
    Key(
        "brief.token_factor",
        float,
        1.0,
        "Tokens of your model for each one that is counted here: 1.2 where its texts cost a fifth more.",
        minimum=1,
        maximum=10,
        project="yes",
    ),
    Key(
        "brief.deadline_ms",
        int,
        500,
        "Milliseconds of processor time after which a briefing makes do with what it has.",
        minimum=1,
        maximum=60_000,
        project="lower",
    ),
    *(
        Key(
            f"brief.share_{section}",
            int,
            None,
            f"Weight of the section {section} in a briefing's budget. Not set: as the role of the agent has it.",
            minimum=0,
            maximum=100,
            example=10,
            project="yes",
        )
        for section in SECTIONS
    ),
    *(
        Key(
            f"hooks.{moment}",
            int,
            budget,
            f"Tokens at most that a client's hook puts in {when}; 0 puts in nothing.",
            minimum=0,
            maximum=1_600,
            project="lower",
        )
        for moment, budget, when in (
            ("start", 600, "when a session starts, or its window was cleared"),
            ("resume", 300, "when a session is resumed: what changed since"),
            ("compaction", 900, "after its window was compacted"),
            ("subagent", 400, "when a subagent starts"),
            ("prompt", 250, "at a prompt: what is kept of what it is about, only where that is well met"),
            ("edit", 150, "before an edit: notes that cite its file, once a file"),
            ("error", 150, "after a command failed: a known fix, or the most similar error"),
            ("messages", 80, "after edits and commands: unread messages, at most once a minute"),
        )
    ),
    Key(
        "hooks.claims",
        str,
        "deny",
        "What a hook does before an edit of a file that another session has claimed explicitly: deny stops it; ask "
        "asks the user in Claude Code while it accepts edits, and stops it elsewhere; warn lets it through with a "
        "line; off leaves claims alone and makes none.",
        choices=("deny", "ask", "warn", "off"),
    ),
    Key(
        "hooks.end",
        bool,
        True,
        "Whether the end of a session, told by a hook, is recorded and its automatic claims are released.",
    ),
    Key(
        "hooks.visible",
        bool,
        True,
        "Whether a client that can show a line at the start of a session tells you what the agent was given.",
    ),
    Key(
        "hooks.deadline_ms",
        int,
        None,
        "Milliseconds by the clock after which a hook ends with what it has. Not set: 3000 at a start or a prompt, "
        "1500 at an edit or a command.",
        minimum=50,
        maximum=60_000,
        example=5_000,
    ),
    Key(
        "share.accept",
        bool,
        False,
        "Whether what the default branch of the repository says in its shared text is taken without asking you; "
        "otherwise it waits for satchel shared --accept.",
    ),
    Key(
        "share.branch",
        str,
        None,
        "The branch that shared text is taken from. Not set: the default branch of origin, else main or master.",
        example="trunk",
    ),
    Key(
        "guard.claims",
        str,
        "warn",
        "What the guard does before a commit of files that another session has claimed explicitly: warn lets it "
        "through with a line for each; deny stops it where the session that commits is known; off leaves claims alone.",
        choices=("deny", "warn", "off"),
        project="stricter",
    ),
    Key(
        "consult.stable_inline_list",
        bool,
        True,
        "Whether a file is sent to an assistant once; otherwise every turn sends all files of its prompt again.",
    ),
    Key(
        "consult.base_url",
        str,
        None,
        "Address of an endpoint that speaks OpenAI's chat completions, for models named compatible: or ollama:.",
        example="http://127.0.0.1:11434/v1",
    ),
    Key(
        "consult.window_tokens",
        int,
        None,
        "Tokens that the assistant's window holds, input and output together. Not set: as its model is known.",
        minimum=1_024,
        maximum=100_000_000,
        example=128_000,
    ),
    Key(
        "consult.output_tokens",
        int,
        None,
        "The most tokens of an answer. Not set: as the model is known, at most a fourth of the window.",
        minimum=1,
        maximum=10_000_000,
        example=16_000,
    ),
    Key(
        "consult.idle_seconds",
        int,
        300,
        "Seconds that an assistant may send nothing at all, as a model that thinks may, before a call is given up.",
        minimum=1,
        maximum=3_000,
    ),
    Key(
        "consult.total_seconds",
        int,
        1_800,
        "Seconds that a call to an assistant may take in all, whatever it sends meanwhile.",
        minimum=1,
        maximum=86_400,
    ),
    Key(
        "consult.blob_mib",
        int,
        64,
        "MiB of compressed contents that all conversations of a project may keep to make diffs from. 0 keeps none: a "
        "changed file goes whole.",
        minimum=0,
        maximum=65_536,
    ),
    Key(
        "tokens.encoding",
        str,
        "o200k_base",
        "The vocabulary in which tokens are counted, where the tokens extra is installed.",
        choices=("o200k_base", "cl100k_base"),
        project="yes",
    ),
    Key(
        "trust.folders",
        tuple,
        (),
        "Folders whose stores are trusted, with all below them, whatever their owners and modes: mounts without "
        "modes, containers.",
        example=("/mnt/c/work",),
    ),
    Key(
        "server.url",
        str,
        None,
        "Address of the server that keeps what is kept here, instead of a store on this machine. local: the store on "
        "this machine, whatever stands elsewhere.",
        example="https://satchel.example.org",
        named_variable="SATCHEL_URL",
    ),
    Key(
        "server.token_file",
        str,
        None,
        "File that holds the token for the address beside it, and that nobody else can read. Not set: SATCHEL_TOKEN.",
        example="/home/me/.config/satchel/tokens/satchel.example.org",
    ),
    Key(
        "server.insecure",
        bool,
        False,
        "Whether token and contents may go to another machine without encryption, over http.",
    ),
    Key(
        "project.name",
        str,
        None,
        "What the project is called. Not set: as its folder.",
        example="my-project",
    ),
)
"""Every key, in the order in which it is shown."""
