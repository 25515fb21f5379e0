"""The texts that setup writes whole: the plugin of opencode, and the block of instructions for agents."""

from __future__ import annotations

import json

from satchel.base.errors import InvalidInput, Refused
from satchel.base.records import dataclass
from satchel.interfaces.setup.parts import Found, State
from satchel.keep.documents import block
from satchel.keep.documents.block import with_block
from satchel.keep.documents.splitting import BEGIN, END, markers


@dataclass(frozen=True, slots=True)
class OwnText:
    """A file that Satchel owns as a whole."""

    role: str
    mark: str
    text: str

    def found(self, text: str) -> Found:
        if not text:
            return Found(State.MISSING)
        return Found(State.CURRENT) if text == self.text else Found(State.STALE, "another version of it")

    def put(self, text: str) -> str:
        if text.strip() and not text.startswith(self.mark):
            raise Refused("setup did not make this file", "Rename or remove it, then try again")
        return self.text

    def take(self, text: str) -> str:
        """Return nothing, or the text that setup did not write."""
        return "" if text.startswith(self.mark) else text


@dataclass(frozen=True, slots=True)
class Block:
    """A block between two marked lines of a text that is otherwise the user's.

    Attributes:
        other: the line that begins a part of the block that another command writes; that part stays.
    """

    role: str
    body: str
    other: str

    def found(self, text: str) -> Found:
        current = self._current(text)
        if not current:
            return Found(State.MISSING)
        return Found(State.CURRENT) if current == self._whole(current) else Found(State.STALE, "another text")

    def put(self, text: str) -> str:
        """Return the text with the block, at its end unless it stands elsewhere already."""
        return with_block(text, self._whole(self._current(text)))

    def take(self, text: str) -> str:
        """Return the text without the block and the blank line before it."""
        return with_block(text, "") if self._current(text) else text

    def _whole(self, current: str) -> str:
        at = current.find(f"\n{self.other}\n")
        other = "" if at < 0 else current[at : current.rindex(END)]
        return f"{BEGIN}\n{self.body}\n{other}{END}\n"

    def _current(self, text: str) -> str:
        lines = text.splitlines(keepends=True)
        marks = markers(lines)
        if not marks:
            return ""
        if [*marks.values()] != [BEGIN, END]:
            numbers = ", ".join(str(place + 1) for place in marks)
            raise InvalidInput(
                f"the lines {BEGIN!r} and {END!r} do not enclose one block (line {numbers})",
                "Remove or add such lines until they do, then try again",
            )
        first, last = marks
        return "".join(lines[first : last + 1]).replace("\r\n", "\n").removesuffix("\n") + "\n"


TextPart = OwnText | Block

PLUGIN_MARK = "// Made by `satchel setup opencode`"
# What a client waits for a hook at most; one ends itself long before.
HOOK_SECONDS = 10

_PLUGIN = """\
%(mark)s; `satchel setup opencode --remove` deletes it.
import { spawn } from "node:child_process"

const LAUNCHER = %(launcher)s
const LIMIT_MS = %(limit)d

// Resolves to what a hook answers, or to nothing: a fault of Satchel is never one of opencode.
const ask = (event, fields) =>
  new Promise((resolve) => {
    let timer
    const finish = (output) => {
      clearTimeout(timer)
      try {
        resolve(JSON.parse(output) ?? {})
      } catch {
        resolve({})
      }
    }
    try {
      const child = spawn(LAUNCHER, ["hook", "opencode", event], { stdio: ["pipe", "pipe", "ignore"] })
      const chunks = []
      timer = setTimeout(() => {
        child.kill("SIGKILL")
        finish("")
      }, LIMIT_MS)
      child.on("error", () => finish(""))
      child.stdin.on("error", () => {})
      child.stdout.on("data", (chunk) => chunks.push(chunk))
      child.on("close", () => finish(Buffer.concat(chunks).toString("utf8")))
      child.stdin.end(JSON.stringify({ event, ...fields }))
    } catch {
      finish("")
    }
  })

const EDITS = new Set(["edit", "write", "multiedit", "patch", "apply_patch"])

export const Satchel = async ({ directory }) => {
  const answers = new Map() // what the system prompt of each session holds; it carries it in every request
  const subagents = new Map() // a subagent works in a session of its own, below that of its parent
  const tell = (event, id, fields) => ask(event, { directory, ...(subagents.get(id) ?? { session_id: id }), ...fields })
  const begin = (id) => {
    if (!answers.has(id)) answers.set(id, tell(subagents.has(id) ? "subagent.start" : "session.start", id))
    return answers.get(id)
  }
  const call = ({ tool, callID }, args) => ({ tool_name: tool, tool_use_id: callID, tool_input: args })
  return {
    event: async ({ event }) => {
      const { sessionID: id, info } = event.properties ?? {}
      if (event.type === "session.created" && info?.parentID) {
        subagents.set(info.id, { session_id: info.parentID, agent_id: info.id, agent_type: info.agent })
      } else if (event.type === "session.compacted" && id) {
        const before = answers.get(id)
        answers.set(id, tell("session.compacted", id).then((answer) => (answer.additionalContext ? answer : before)))
      } else if (event.type === "session.deleted" && info?.id && !subagents.has(info.id)) {
        await tell("session.end", info.id)
      } else if (event.type === "session.idle" && id && !subagents.has(id)) {
        await tell("session.idle", id)
      }
    },
    "experimental.chat.system.transform": async (input, output) => {
      const id = input?.sessionID
      if (!id) return
      const text = (await begin(id))?.additionalContext
      if (text) output.system.push(text)
    },
    "chat.message": async ({ sessionID: id }, { parts }) => {
      const asked = parts?.filter((part) => part.type === "text" && !part.synthetic) ?? []
      if (!id || !asked.length || subagents.has(id)) return
      await begin(id)
      const prompt = asked.map((part) => part.text).join("\\n")
      const { additionalContext: text } = await tell("chat.message", id, { prompt })
      if (text) parts.push({ ...asked.at(-1), id: `${asked.at(-1).id}s`, text, synthetic: true })
    },
    "tool.execute.before": async (input, { args }) => {
      if (!EDITS.has(input.tool)) return
      const answer = await tell("tool.execute.before", input.sessionID, call(input, args))
      if (answer.permissionDecision === "deny") throw new Error(answer.permissionDecisionReason)
    },
    "tool.execute.after": async (input, output) => {
      if (!EDITS.has(input.tool) && input.tool !== "bash" && input.tool !== "read") return
      const response = { output: output.output, metadata: { exit: output.metadata?.exit } }
      const fields = { ...call(input, input.args), tool_response: response }
      const { additionalContext: text } = await tell("tool.execute.after", input.sessionID, fields)
      if (text) output.output = `${output.output}\\n\\n${text}`
    },
    "shell.env": async (input, output) => {
      const session = (await answers.get(input?.sessionID))?.session
      if (session) output.env.SATCHEL_SESSION = session
    },
  }
}
"""


def opencode_plugin(launcher: str) -> OwnText:
    """Return the plugin that gives opencode's model the briefing: once a session, and again after a compaction."""
    facts = {"mark": PLUGIN_MARK, "launcher": json.dumps(launcher), "limit": HOOK_SECONDS * 1_000}
    return OwnText("hooks", PLUGIN_MARK, _PLUGIN % facts)


# The block of instructions in a project's AGENTS.md, without the rules that ``satchel share --agents-md`` adds.
INSTRUCTIONS = Block("instructions", block.INSTRUCTIONS, block.RULES)
