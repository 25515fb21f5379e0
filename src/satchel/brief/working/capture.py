"""Lasting rules and preferences in what a person writes to an agent, in English, German, French and Spanish.

A sentence counts by its wording alone: an imperative with "always" or "never", "from now on", "in this project we", and
the like. Questions, quotes, code, logs, and what holds for one change only do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice

from satchel.base.errors import InvalidInput, SatchelError, TooLarge
from satchel.base.text import HOST_TAGS, shortened
from satchel.brief.fields import value_text
from satchel.brief.working.hook_context import HookContext
from satchel.find.kind import Kind
from satchel.keep import constraints
from satchel.keep.entries import updates
from satchel.keep.entries.records import NewEntry, Prepared, Writer
from satchel.keep.entries.structured import PLAN, is_plan
from satchel.keep.loop_scope import OF_ATTEMPTS
from satchel.redaction import redact

_LEAST_WORDS, _MOST_CHARS = 3, 400
_MOST_NAMED, _MOST_QUOTED = 5, 160
_ONE = ("a lasting rule", "If it is one, store it")
_MANY = ("{} lasting rules", "Store each lasting rule,")
_ASK = (
    "Satchel: this sounds like {} of your user: {}. {} in their words: "
    'add_constraint(text=..., stated_by="user"), with for="me" if it is their own preference and no rule of the team.'
)

# Text that a client has put in, up to its last closing tag: one inside may be forged.
_OF_CLIENTS = rf"(?is)<({HOST_TAGS})\b[^>]*>(?:.*</\1\s*>|.*\Z)"
# The lines next to the gap of a shortened prompt, and whatever may have begun inside the gap.
_GAP = rf"(?s)^[^\n]*\n…\n(?:.*(?:```|~~~|</(?:{HOST_TAGS})\s*>)|[^\n]*)"
# What a person pastes or quotes: blocks of code, and quoted lines.
_APART = r"(?s:(```|~~~).*?(?:\1|\Z))|^[ \t]*>.*$"
# Indented or code-like lines: one may be the person's own and negate the next line.
_LIKE_CODE = r"^(?: {4}|\t).*$|^[ \t]*(?:def|class|function|import|#|//|at) .*$"

_LOG_LINE = re.compile(
    r"\s*(?:Traceback|File \"|\w*(?:Error|Exception|ERROR|WARN|INFO|DEBUG)\w*\b[: ]|\d{4}-\d\d|warning:)"
)
_QUOTE = r"\"[^\"\n]*\"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|(?<!\w)'[^'\n]{3,}'(?!\w)"
# Quoted text of more than one sentence or part; it does not go over an empty line.
_SPEECH = r"\"(?:[^\"\n]|\n(?!\n))*\"|“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»|`[^`\n]*`|(?<!\w)'[^'\n]{3,}'(?!\w)"
_HAS_PARTS = r"[.!?;]\s|\n"
# Neither an abbreviation, the number of an item, "Never!" nor a line break alone ends a sentence, since the order below
# may be denied above; a condition and the items of a list belong to the sentence before.
_UNLESS = r"(?:unless|except|außer|es sei denn|sauf|à moins|salvo|excepto|a menos)\b"
_ITEM = r"(?:[-*+•–—]|\(?(?:\d\d?|[a-z])[.)])\s"
_END = (
    rf"(?i:(?<=[.!?])(?!\s+(?:{_UNLESS}|{_ITEM}))(?<!\bnot\W)(?<!\bnever\W)(?<!\bnever again\W)"
    r"(?<!n['’]t\W)(?<!\b[^\W\d]\.)(?<![\s(]\d\.)(?<![\s(]\d\d\.)(?<!\b(?:vs|cf|ej|ex)\.)(?<!\.\.)\s+)"
)
_PART = r"(?<=;)\s+"
# A part that changes what the others mean.
_TURNS = rf"^(?:{_UNLESS}|(?:but|if|when|while|only|until|however|aber|wenn|nur|bis|mais|si|pero|solo|hasta)\b)"
# What gives the parts behind it another meaning, or may do so.
_LEADS_IN = r":\s|\n"

# What makes the next sentence no rule of the person, and what takes the one before back.
_OF_NEXT = (
    r"\b(?:next|following|nächsten?|folgenden?|suivante?|siguiente) (?:line|sentence|text|zeile|satz|ligne|phrase|línea"
    r"|frase)\b|^(?:(?:under|in) no circumstances|auf keinen fall|unter keinen umständen|en aucun cas"
    r"|bajo ning\w+ \w+)\W*\Z"
)
_TAKES_BACK = r"(?:it|this|that|das|dies|es|cela|ça|eso|esto)\b.*\b(?:no longer|any ?more|nicht mehr|plus|ya no)\b"

# What says at the end of a sentence that it is lasting, and no more; alone it states nothing.
_TAIL = (
    r"(?i)(?:\A|[,;]|\s[–—-])\s*(?:from (?:now|here|today) on|going forward|(?:for|in) (?:the )?future"
    r"|ab (?:jetzt|sofort|heute)|in zukunft|à partir de maintenant|désormais|a partir de ahora|desde ahora)[\s.!]*\Z"
)

# What holds for one change, or what another says.
_ONE_CHANGE = (
    r"\b(?:(?:in|for|with|to|from|on) (?:this|the) (?:pr|pull request|commit|change|branch|diff|case|task"
    r"|function|step)"
    r"|this (?:time|once)|just (?:this )?once|(?:only|just) (?:for )?(?:this|now|today)|for now|temporar\w+|yet"
    r"|until i"
    r"|in (?:diesem|dem) (?:pr|commit|branch|fall)|für (?:diese|den) \w+|diesmal|vorerst|vorläufig|noch nicht"
    r"|erst mal"
    r"|(?:dans|pour) (?:cette|ce) (?:pr|commit|branche|fois|tâche|cas)|cette fois|pour l['’]instant|pas encore"
    r"|(?:en|para) est[ea] (?:pr|commit|rama|vez|cambio|caso|tarea)|esta vez|por ahora|de momento|todavía"
    r"|(?:claims?|says?|said|states?|(?:dit|dice|sagt|steht)) (?:that |we |que |dass |:))\b"
)

_HERE = r"(?:this|our|the) (?:project|repo\w*|code ?base|team)"
_THINGS = (
    r"(?:commits?|commit messages?|prs?|pull requests?|tests?|functions?|methods?|class(?:es)?|modules?|components?"
    r"|endpoints?|files?|tables?|migrations?|code|modifications?|changes|docs|api responses|log messages|sql"
    r"|dates|images"
    r"|errors|(?:variable|file) names)"
)
# A verb as in an order: neither a participle, nor what a third one does.
_DO = r"(?!mind\b|used\b|\w+ed\b|\w*[^su\W]s\b)[a-z]{2,}"

_START = r"(?:^|[,:;–—-]\s*|\b(?:and|also|btw|by the way|please|but|so|general|repo|project)[,:]?\s+)"
_PATTERNS = (
    # English
    r"\bfrom (?:now|here|today|then) on\b(?! the| in| (?:red|blue|green))",
    r"\b(?:going forward|(?:for|in) (?:the )?future|for all (?:new|future)|next time and|one thing for next time)\b",
    rf"\b(?:in|for|across) {_HERE}\b,? (?:we (?!have)|i|you|always|never|no|only|use|do not|don['’]t|prefer"
    rf"|errors|tests|all)\b",
    rf"\b(?:we|is|are|must|no|don['’]t|do not|never|always|only|prefer)\b.* (?:in|for) {_HERE}\b",
    r"\b(?:as a (?:general )?rule|house rule|(?:our|the|my) (?:convention|policy|rule|standard|style)|rule for)\b"
    r"(?! of thumb)(?:[^?]*\b(?:is|that|here)\b|[,:.])",
    r"\b(?:remember|keep in mind|note)\b(?: that|:|,)? .*\b(?:always|never|all|every|here|everything|future|must)\b",
    r"^(?:please )?(?:remember|keep in mind)(?::| that (?!\w?\w?is\b|was\b)(?:the|we|our|no|only|\w+s)\b)"
    r"(?!.*\b(?:yesterday|earlier|today|tomorrow|tonight|just|last|i|was|were|did|had)\b)",
    r"^(?:\w+ )?(?:rule|regel|règle|regla) ?: (?![@\w]+[-/])",
    r"\b(?:whenever|every time|each time) you\b",
    rf"{_START}(?:always|never|under no circumstances) {_DO}\b",
    r"\b(?:don['’]t|do not|never) (?:ever\b|.*\bever\b)|\bnever (?:do that )?again\b|\bno exceptions\b",
    r"\byou (?:should|must|may|can|are to) (?:always|never)\b|\bsure (?:that )?(?:you|to) (?:always|never)\b",
    r"\bwe (?:always|never|only|don['’]t|do not) (?!ship|see|know|have|decide)[a-z]+(?!ed)\b",
    r"\b(?:here|codebase|repo|project),? we (?:use|write|follow|let|squash|prefer|put|keep)\b|\bwe follow\b",
    r"[,.:] (?:always|ever)[.!]*$|^ever[.!]*$",
    r"\bi (?:always (?:want|prefer|like)|(?:want|prefer|like) (?:short|long|brief|small|that you"
    r"|you to (?:always|never|"
    r"remember))|hate it when)",
    rf"^(?:all|each|every|new|any|no|our)\b(?: \w+){{0,2}} {_THINGS}\b.*\b(?:must|ha(?:s|ve) to|should|needs?|always|"
    r"never|use|follow|are|without|please|stay)\b",
    rf"^{_THINGS}\b.*\b(?:must|never|always|follow)\b|\b(?:mandatory|forbidden)\b",
    # German
    r"\b(?:ab (?:jetzt|sofort|heute)|von (?:nun|jetzt) an|künftig|zukünftig|in zukunft|nie wieder)\b",
    r"^(?:bitte |und |aber )?(?:immer|nie|niemals|grundsätzlich)\b",
    r"^(?:bitte )?(?!wie|das|die|der|er|sie|es|ich|man|was|wer|warum)\w+ (?:bitte )?(?:immer|nie|niemals"
    r"|ausschließlich|"
    r"in diesem \w+ (?:immer|nie|ausschließlich))\b",
    r"\b(?:in diesem (?:projekt|repo\w*)|hier|bei uns)\b.*\b(?:wir|immer|nie|niemals|kein\w*|ausschließlich)\b",
    r"\b(?:wir \w+ (?:hier |grundsätzlich )|bei uns (?:werden|sind|gilt|ist|wird)|(?:sind|werden|ist) bei uns)",
    r"\bmerke? dir\b|\b(?:jedes mal|immer),? wenn du\b|\bdu\b.* (?:nie|niemals|immer|grundsätzlich)\b"
    r"|\bdarfst du (?:nie|niemals)\b|\bregel für\b|\bgrundsätzlich gilt\b",
    r"^(?:\w+ )?(?:tests|commits|funktionen|klassen|dateien|variablennamen)\b.*\b(?:nie|niemals|immer|dürfen"
    r"|müssen)\b",
    # French
    r"\b(?:à partir de maintenant|désormais|dorénavant|à l['’]avenir|dès maintenant|en règle générale"
    r"|par principe)\b",
    r"\b(?:(?:dans|pour) ce (?:projet|dépôt)|chez nous|ici),? (?:on|nous|les|pas de|jamais|toujours)\b",
    r"^(?:et |mais )?(?:toujours|jamais) \w+er\b|^(?:n['’]|ne )\w+ (?:plus )?jamais\b"
    r"|\bil (?:ne )?faut (?:jamais|toujours)\b",
    r"^(?!le|la|les|il|elle|ça|on)\w+(?:e|s|ez) toujours\b|\b(?:retiens|souviens-toi)\b|\bchaque fois que (?:tu"
    r"|vous)\b",
    r"\bla règle (?:ici|est)\b|\bje préfère (?:des|que)\b",
    r"^(?:tous|toutes) les\b.*\b(?:doivent|toujours|jamais)\b",
    # Spanish
    r"\b(?:a partir de ahora|de (?:ahora|hoy) en adelante|desde ahora|por (?:norma|regla) general|como regla)\b"
    r"|^en adelante\b",
    r"\b(?:en este (?:proyecto|repo\w*)|aquí)\b,? (?:no |siempre |nunca )?(?:\w+mos|los|las|todo)\b",
    r"(?:^|[,:] |\by |\bpero )(?:siempre|nunca|jamás) \w+\b|^no \w+ (?:nunca|jamás)\b|\bno vuelvas a\b",
    r"\brecuerda que\b|\bcada vez que \w+[ae]s\b|\bprefiero (?:respuestas|que|los|mensajes)\b",
    r"^(?:todos|todas) (?:los|las)\b.*\b(?:deben|siempre|nunca)\b",
)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


def rules_in(prompt: str) -> Iterator[str]:
    """Yield the sentences of a prompt that sound like a lasting rule, in order and redacted."""
    text = redact(prompt).text
    for pattern in (_GAP, _OF_CLIENTS, _APART):
        text = _compiled(pattern).sub("\n", text)
    text = _compiled(_LIKE_CODE).sub("#", text)
    text = _compiled(_SPEECH).sub(lambda quote: '"…"' if _compiled(_HAS_PARTS).search(quote[0]) else quote[0], text)
    sentences = _compiled(_END).split("\n".join(line for line in text.splitlines() if not _LOG_LINE.match(line)))
    for before, sentence, after in zip(["", *sentences], sentences, [*sentences[1:], ""], strict=False):
        is_stated = len(sentence) <= _MOST_CHARS and not _compiled(r"\?\W*?$").search(sentence)
        if _compiled(_OF_NEXT).search(before.lower()) or _compiled(_TAKES_BACK).match(after.lower()):
            continue
        parts = _compiled(rf"{_PART}|\n").split(sentence)
        if is_stated and any(_is_rule(part.strip()) for part in parts) and not _compiled(_TAIL).fullmatch(sentence):
            yield sentence.strip()


def _is_rule(sentence: str) -> bool:
    if sentence.startswith("¿"):
        return False
    words = _compiled(_QUOTE).sub('""', sentence.lower())
    if len(words.split()) < _LEAST_WORDS or _compiled(_ONE_CHANGE).search(words):
        return False
    return any(_compiled(pattern).search(words) for pattern in _PATTERNS)


def _with_parts(sentence: str) -> Iterator[str]:
    # a sentence, without what only says that it is lasting too, and each of its parts that is a rule whatever the
    # others say
    yield from dict.fromkeys((sentence, _compiled(_TAIL).sub("", sentence)))
    if _compiled(_LEADS_IN).search(sentence):
        return
    parts = _compiled(_PART).split(sentence)
    for place, part in enumerate(parts):
        others = [one.lower() for one in (*parts[:place], *parts[place + 1 :])]
        turning = (_compiled(pattern).search(one) for one in others for pattern in (_TURNS, _ONE_CHANGE))
        if others and _is_rule(part) and not any(turning) and not _compiled(_TAIL).fullmatch(part):
            yield part


def take(context: HookContext, sentences: Sequence[str]) -> list[str]:
    """Record the rules that a person stated; return a line that asks to store those that no rule says yet."""
    if context.actor.session is None:
        return []
    from satchel.keep.sessions.updates import remember_heard  # imported here: few prompts state a rule

    rules = [rule for sentence in sentences for rule in _with_parts(sentence)]
    remember_heard(context.transaction, context.actor.session, rules, context.now)
    fresh = (one for one in sentences if not constraints.similar(context.transaction, context.project_id, one))
    rules_shown = list(islice(fresh, _MOST_NAMED))
    count = len(rules_shown)
    if not count:
        return []
    quotes = "; ".join(f'"{value_text(shortened(one, _MOST_QUOTED // count))}"' for one in rules_shown)
    what, how = _ONE if count == 1 else _MANY
    return [_ASK.format(what.format(count), quotes, how)]


_STEP_CHARS = 160


def store_plan(context: HookContext, plan: str) -> int | None:
    """Store a plan as a scratchpad of the session in place of the one before, redacted and cut to the limit."""
    transaction, session = context.transaction, context.actor.session
    rows = transaction.all(
        f"SELECT id, content FROM context WHERE session_id = :session AND {OF_ATTEMPTS.format('')} "
        "ORDER BY created_at DESC, id DESC",
        {"session": session},
    )
    before = next(((number, content) for number, content in rows if is_plan(content)), None)
    prepared = _prepared(context, plan, None if before is None else Kind.ENTRY.ref(before[0]))
    if prepared is None or (before is not None and before[1] == prepared.content):
        return None
    writer = Writer(context.project_id, context.run, context.actor.number, context.now, session)
    try:
        ((number, *_),) = updates.insert(transaction, writer, [prepared], [None])
    except SatchelError:  # the previous plan may not be replaceable
        return None
    return number


def _prepared(context: HookContext, plan: str, before: str | None) -> Prepared | None:
    text = plan.strip()
    most = context.work.max_content_bytes
    while text:
        heading = next((line.strip("#*- ") for line in text.splitlines() if line.strip("#*- ")), "")
        content = {"iteration": 0, "next_step": shortened(heading, _STEP_CHARS), PLAN: text}
        try:
            return updates.prepare(NewEntry("scratchpad", content, supersedes=before), context.work, lambda *_: None)
        except TooLarge:
            # escapes make JSON longer than the text
            text = text.encode(errors="ignore")[:most].decode(errors="ignore").strip()
            most = most * 3 // 4
        except InvalidInput:
            return None
    return None
