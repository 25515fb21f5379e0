"""What a commit message says, read by rules that would rather miss a thing than claim it wrongly."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["discovery", "error", "decision", "nothing"]


_MAX_SUBJECT_CHARS = 1_000
_MAX_BODY_CHARS = 8_000


def _any(words: str) -> str:
    """Build an alternation of the words in a list; an underscore stands for a space."""
    return "(?:" + "|".join(word.replace("_", r"\ ") for word in words.split()) + ")"


_FLAGS = re.IGNORECASE | re.VERBOSE
_ISSUE = r"(?:[\w.-]+/[\w.-]+)?(?:\#|GH-)\d+"

# Lines and parts of a message that are not prose.
_ADDRESS = r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,4}\.[A-Za-z]{2,63}"
_EMAIL = re.compile(rf"<{_ADDRESS}>|\({_ADDRESS}\)|{_ADDRESS}")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TRAILER_KEYS = _any(
    r"""
    [a-z-]+-by change-id cc link bug issues? tickets? pr refs? references see(?:[_-]also)? fixes closes
    resolves reviewed-on commit-queue auto-submit git-svn-id differential[_-]revision test[_-]plan
    release-notes? claude-session x-[a-z-]+
    """
)
_TRAILER = re.compile(rf"{_TRAILER_KEYS}:(?!:)", _FLAGS)
_LINK = rf"(?:{_ISSUE}|https?://\S+)"
_REFERS = _any(
    r"""
    refs? references? see re related(?:_to)? part_of for ref. follow[-_]?up_(?:to|on)
    (?:clos|fix|resolv|address)[a-z]*
    """
)
_ISSUE_REFERENCE = re.compile(
    rf"""(?:[-*]\s+)?(?:also\ )?{_REFERS}?:?\s*(?:(?:issues?|pr|ticket|bug)\ )?
    {_LINK}(?:(?:[\s,;&]|and|{_REFERS})+{_LINK})*[.,]?""",
    _FLAGS,
)
_NOT_PROSE = re.compile(
    r"""\s*(?: > | \# | \| | \$\  | [-=_*~+]{3,}\s*$ | -\ \[[ xX]\] | \(?cherry[ -]picked | conflicts:
    | this\ reverts\ commit | \[?(?:skip\ ci|ci\ skip|skip\ changelog) | .{0,3}generated\ (?:with|by)
    | squashed\ commit )""",
    _FLAGS,
)
_BULLET = re.compile(r"\s{0,5}(?:[-*+•]|\d{1,2}[.)])\s+(?=\S)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'`(\[])")
_NOT_AN_END = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|[A-Z])\.$", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{2,}")
_SQUASHED = re.compile(r"\(#\d+\)$")

# What kind of change a subject announces. An area may stand first: "parser: Fix ...", "[core] Fix ...".
_AREA = r"(?:(?:\[[^\]]{1,30}\]|[\w./*,@+\ -]{1,40}(?:\([^)]{1,40}\))?!?:)\s+)?"
_REVERT = re.compile(r"revert(?:ed|s|ing)?[\s:]", re.IGNORECASE)
_REAPPLY = re.compile(r"re-?(?:apply|land)|revert:? \"?revert", re.IGNORECASE)
_REVERTS_COMMIT = re.compile(r"^this reverts commit [0-9a-f]{7,}", re.IGNORECASE | re.MULTILINE)
_FIX_TYPE = re.compile(r"(?:bug|hot)?fix(?:\([^)]{1,40}\))?!?:\s+", re.IGNORECASE)
_OTHER_TYPE = re.compile(
    r"(?:docs?|documentation|style|chore|tests?|ci|build|lint|typing|refactor|perf|feat)(?:\([^)]*\))?!?[:/]"
    r"|\[(?:docs?|ci|tests?|typing)\]",
    re.IGNORECASE,
)
_FIX = re.compile(
    rf"""{_AREA}(?:(?:hot|bug)?fix(?:es|ed|ing)?|correct(?:s|ed|ing|ly)?|repair(?:s|ed|ing)?)\b
    (?![-=.(_/])(?:\s+for\b)?""",
    _FLAGS,
)
_FILLER = _any(
    r"""
    a an the some one more another few minor small tiny several various all two many couple of up with
    broken bad dead failing wrong incorrect missing remaining simple silly obvious new latest last my
    flaky pending unused in to from and trailing old inconsistent invalid github sphinx rst markdown
    python
    """
)
_COSMETIC_NOUN = _any(
    r"""
    typos? typographical typing typings mis-?spell\w* spell\w* grammar punctuation wording words?
    capitali[sz]ation lint\w* flake8 pylint mypy pyright ruff black isort pep-?8 cog
    type[-_](?:hints?|annotations?|errors?|check\w*) (?:code[-_])?style whitespaces? white_space spacing
    indent(?:ation)? newlines? line_lengths? formatting(?=\W*$) docs? documentation docstrings?
    readme\S* change-?log\S* changes\.\w+ comments? links? urls?(?=\W*$) badges? examples? headings?
    markup ci builds?(?=\W*$) travis\S* appveyor workflows? coverage tests? testing doctests? test_\w+
    imports?(?=\W*$) import_order\w* naming copyright licen[cs]e version(?=\W*$) release_notes? tox
    merge conflicts? nits? (?:deprecation_)?warnings? pre-commit tutorial faq code[-_]?blocks?
    issues?(?=\W*$)
    """
)
_COSMETIC = re.compile(rf"\W*(?:{_FILLER}\s+)*\W*{_COSMETIC_NOUN}\b", _FLAGS)
_TEXT_WORD = _any(
    r"""
    typos? lint(?:er|ing)? flake8 mypy pylint pyright coverage nocover docstrings? readme change-?log
    whitespace grammar spelling docs documentation documented noqa type:_ignore tests? testing comments?
    badges? ci travis appveyor github_actions? workflows? spurious warnings? tox fixtures? sphinx mkdocs
    clippy version_number types? typing annotations? nits? backticks? makefile
    (?:release|publish)_script wording headings? examples? ruff ty_errors? repo_url version_string
    description overload runtests?
    """
)
_ABOUT_TEXT = re.compile(rf"\b{_TEXT_WORD}\b", _FLAGS)
_ALSO = re.compile(
    r"""(?:,|\+|&|\b(?:and|with|plus)\b)\s*(?:(?:add\w*|a|some|more)\s+)*(?:(?:unit|regression)\s+)?tests?\b.*""",
    _FLAGS,
)
_REGRESSION = re.compile(
    r"(?<!linear )(?<!logistic )\bregressions?\b"
    r"(?=\W*$| (?:from|in|since|introduced|caused|where|when|with)\b)",
    re.IGNORECASE,
)
_FAULT_NOUN = _any(
    r"""
    crash\w* deadlock\w* segfault\w* memory_leaks? leaking infinite_(?:loop|recursion) race_conditions?
    data_loss
    """
)
_FAULT = re.compile(
    rf"""{_AREA}(?:avoid|prevent|stop|don't|do\ not|no\ longer)(?:s|ed|ing|ping|ped)?\s+(?:\S+\s+){{0,3}}?
    {_FAULT_NOUN}\b""",
    _FLAGS,
)
_FIXES_ISSUE = re.compile(rf"(?:^|[\s(,;])fix(?:es|ed)?:?\s+(?:issue\s+|bug\s+)?{_ISSUE}", _FLAGS)
_WRONG_WORD = _any(
    r"""
    bugs? broken wrong(?:ly)? incorrect(?:ly)? fail(?:s|ed|ure|ures|ing)? crash\w* raises? raised
    exceptions? \w+Error leak\w* deadlock\w* hang(?:s|ing)? invalid never lost loses handle
    """
)
_WRONG = re.compile(rf"\b{_WRONG_WORD}\b", _FLAGS)
_NEW_VERB = _any(
    r"""
    add allow support implement introduce provide document new expose enable update upgrade bump rename
    refactor release feat let include extend optimi[sz]e improve create deprecate more
    """
)
_NEW_THING = re.compile(rf"{_AREA}{_NEW_VERB}(?:s|ed|d)?\b", _FLAGS)
_UPKEEP_NOUN = _any(
    r"""
    \bversions?\b \bfrom_v?\d \bto_v?\d dependenc\w+ \bdeps\b requirements lock_?file pre-commit
    change-?log readme copyright github \bnews\b badge \.(?:md|rst|txt|ya?ml|toml|cfg)$
    """
)
_TOUCH_UP = _any("change-?logs? readme black ruff cog isort lint(?:er|ing)? typos? whitespace formatting")
_LITTLE = _any("minor small some few couple_of couple misc more another various tweak clean(?:ed)?_up")
_NOTHING = re.compile(
    rf"""{_AREA}(?:bump|upgrade|update|pin|unpin)(?:s|ed)?\b.*{_UPKEEP_NOUN}
    | (?:prepar\w*\ (?:for\ )?|start\ |begin\ )?(?:the\ )?(?:releas\w*|version)\b:?\s*
      (?:v(?:ersion)?\.?\s*)?(?:\d|bump|$)
    | (?:start|begin)\ (?:v?\d|develop) | back\ to\ dev | (?:[\w-]+-)?v?\d+(?:\.\d+)+\S*$ | v?\d+(?:\.\d+)+\b
    | {_AREA}bump(?:s|ed)?\b | (?:deps|(?:chore|build)\(deps[^)]*\)):
    | merge\b | wip\b | (?:fixup|squash|amend)! | \[pre-commit
    | {_AREA}(?:(?:{_LITTLE}|add|apply|ran|run)\ )*{_TOUCH_UP}\b
    | {_AREA}(?:{_LITTLE}\ )+(?:\S+\ )?(?:fix|chang|tweak|clean|edit|updat)\S*\W*$""",
    _FLAGS,
)

# A decision needs a choice and a reason, both in the message's own words.
_CHOICE_VERB = _any(
    r"""
    uses? used switch(?:es|ed)? moves? moved migrate[sd]? replace[sd]? drops? dropped removes? removed
    keeps? kept prefers? preferred choose chose picks? picked adopts? adopted avoids? avoided stores?
    stored requires? required splits? renames? renamed pins? pinned defaults? disables? disabled
    enables? enabled deprecates? deprecated treats? treated refuses? refused returns? returned raises?
    raised wraps? wrapped limits? limited bundles? bundled vendors? vendored imports? imported rely
    relies relied stick stuck always never
    (?:don't|do_not)(?!_(?:need|have|think|know|see|want|expect|feel|like)) stops? stopped inlines?
    inlined delays? delayed defers? deferred caches? cached skips? skipped makes? made holds? lets?
    sets? converts? converted changes? changed opens? opened closes? closed allows? allowed ignores?
    ignored reads? writes? copy copies copied isolates? isolated reuses? reused builds? loads?
    preserves? preserved exclude[sd]? compare[sd]? deletes? deleted extracts? extracted separates?
    separated locks? locked resolves? resolved ships? shipped includes? included reverts? reverted
    explicitly lazily
    """
)
_SUBJECT = r"(?:we|i|this\ (?:commit|change|patch|pr))"
_HELPER = _any(
    r"""
    now also will should must have had to decided chose opted therefore instead can explicitly simply
    just then
    """
)
_CHOICE = re.compile(
    rf"""{_AREA}(?:(?:so|but|and|also|now|instead|therefore|thus|here|hence),?\ )*
    (?:{_SUBJECT}\ (?!don't|do\ not)(?:{_HELPER}\ )*|let's\ |explicitly\ |lazily\ )?{_CHOICE_VERB}\b(?![(`.])
    |(?:we|i)\ (?:now|always|only|therefore|instead|deliberately|intentionally)\ \w+
    |(?:\S+\ ){{1,16}}?(?:is|are)\ (?:now|no\ longer)\ """,
    _FLAGS,
)
_FINITE = _any(
    r"""
    is are was were has have had do does did can cannot can't could will won't would may might must
    should isn't aren't doesn't don't didn't wasn't needs? requires? supports? makes? allows? breaks?
    causes? means? uses? works? takes? gives? returns? raises? fails? lets? keeps? expects? it's that's
    they're we're there's
    """
)
_REASON = re.compile(
    rf"""(?<!just\ )(?<!not\ )(?<!only\ )(?<!is\ )(?<!was\ )
      \bbecause\ (?!why\b|reasons)(?:of\ )?(?:\S+\ +){{2,}}\S
    |\bsince\ (?=(?:\S+\ +){{1,7}}?{_FINITE}\b)(?!then\b|(?:the\ )?(?:last|version|release|v?\d))
      (?:\S+\ +){{2,}}\S
    |,\ as\ (?:it|we|this|that|they|there|these|those|the)\b(?=(?:\ \S+){{0,4}}\ {_FINITE}\b)(?:\ +\S+){{2,}}
    |\bso\ that\ (?:\S+\ +){{2,}}\S
    |(?<!try\ )(?<!trying\ )(?<!tries\ )(?<!need\ )(?<!want\ )(?<!how\ )(?<!way\ )(?<!possible\ )
      \bto\ (?:avoid|prevent)\ (?:\S+\ +)+\S""",
    _FLAGS,
)
_AIM = _any("now should must can will is better safer to makes sense")
_WE = rf"(?:we|i|let's|it|now|so|just|instead)\ (?:{_AIM}\ )*"
_REASON_FIRST = re.compile(
    rf"""(?:because|since|as|given\ that|(?:in\ order\ )?to\ (?:avoid|prevent))\ (?:[^,]+\ )[^,]+,
      \ (?:{_WE})?{_CHOICE_VERB}\b(?![(`.])
    |(?=[^,]*\b{_FINITE}\b)(?:[^,\s]+\ ){{4,}}[^,]+,\ so\ (?:{_SUBJECT}|let's|just)\ (?:now\ |just\ )?
      (?:adds?\ |{_CHOICE_VERB}\b(?![(`.]))""",
    _FLAGS,
)
_REASON_SENTENCE = re.compile(
    r"""(?:because\ (?!.*,)|otherwise,?\ |(?:the|main|one)\ (?:main\ )?reason\ |this\ is\ because[ ]
    |(?:this|that)\ way,?[ ]
    |this\ (?:also\ )?(?:avoids|prevents|lets\ us|allows\ us\ to|means\ (?:that\ )?we)\ )(?:\S+\ +){3,}\S""",
    _FLAGS,
)
_HEDGE = re.compile(
    r"\b(?:maybe|perhaps|probably|hopefully|todo|sometime|i guess|"
    r"i think|not sure|for some reason|ago|previously|used to|makes? it so)\b|\?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Message:
    """A commit message without trailers, addresses, references, quotes and code."""

    subject: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a message is about; for a decision, the sentences that hold the choice and its reason."""

    kind: Kind
    quote: tuple[str, ...] = ()


def clean_message(subject: str, body: str) -> Message:
    """Reduce a message to its prose; of a subject 1,000 characters are read, of a body 8,000.

    Args:
        subject: the first line.
        body: the rest; of a squashed pull request (the subject ends in ``(#12)``) the starred list of
            intermediate commits is left out.
    """
    subject, body = subject[:_MAX_SUBJECT_CHARS], body[:_MAX_BODY_CHARS]
    paragraphs: list[str] = [""]
    fenced = trailing = False
    squashed = _SQUASHED.search(subject) is not None
    for line in _COMMENT.sub("", body).splitlines():
        text = line.strip()
        if text.startswith(("```", "~~~")):
            fenced = not fenced
        # A trailer may go on in indented lines.
        trailing = _TRAILER.match(text) is not None or (trailing and line[:1].isspace())
        bullet = _BULLET.match(line)
        if squashed and text.startswith("* "):
            trailing, text = True, ""
        continued = bool(paragraphs[-1]) and not line.startswith(("        ", "\t\t"))
        code = line.startswith(("    ", "\t")) and not bullet and not continued
        dropped = fenced or trailing or code or text.startswith(("```", "~~~")) or _NOT_PROSE.match(line)
        if not text or dropped or _ISSUE_REFERENCE.fullmatch(text):
            paragraphs.append("")
        elif bullet:
            paragraphs.append(line[bullet.end() :].strip())
        else:
            paragraphs[-1] = f"{paragraphs[-1]} {text}".strip()
    sentences = [sentence for paragraph in paragraphs for sentence in _sentences(_without_addresses(paragraph))]
    return Message(_without_addresses(subject).rstrip(". "), tuple(sentences))


def read_message(subject: str, body: str, files: Sequence[str] = ()) -> Reading:
    """Say what a commit message is about.

    A revert or a fix of behaviour is an error; a decision is claimed only where one sentence, or the subject
    and the sentence after it, holds both a choice and its reason; releases, dependency bumps, merges and
    touch-ups of text say nothing; everything else is a discovery.

    Args:
        subject: the first line.
        body: the rest, as written.
        files: the paths it changed; a change to nothing but documents is never an error or a decision.
    """
    subject, body = subject[:_MAX_SUBJECT_CHARS], body[:_MAX_BODY_CHARS]
    message = clean_message(subject, body)
    if len(_WORD.findall(message.subject)) < 2 or _NOTHING.match(message.subject):
        return Reading("nothing")
    if _REAPPLY.match(subject):
        return Reading("discovery")
    if _REVERT.match(subject) or _REVERTS_COMMIT.search(body):
        return Reading("error")
    fix = _FIX_TYPE.match(message.subject) or _FIX.match(message.subject)
    if fix:
        mended = _ALSO.sub("", message.subject[fix.end() :])
        if _COSMETIC.match(mended) or _ABOUT_TEXT.search(mended):
            return Reading("nothing")
    if files and all(map(_is_document, files)):
        return Reading("discovery" if message.sentences else "nothing")
    if _is_fix(message.subject, body):
        return Reading("discovery" if files and all(map(_is_aside, files)) else "error")
    quote = _decision(message)
    return Reading("decision", quote) if quote else Reading("discovery")


def _is_fix(subject: str, body: str) -> bool:
    if _FIX_TYPE.match(subject):
        return True
    if _OTHER_TYPE.match(subject):
        return False
    if _FIX.match(subject):
        return len(_WORD.findall(subject)) >= 3
    if _REGRESSION.search(subject) or _FAULT.match(subject):
        return True
    closes = _FIXES_ISSUE.search(f"{subject}\n{body}") is not None
    return closes and not _NEW_THING.match(subject) and _WRONG.search(subject) is not None


def _decision(message: Message) -> tuple[str, ...]:
    subject = message.subject
    if _OTHER_TYPE.match(subject) and not subject.lower().startswith(("refactor", "perf", "feat", "build")):
        return ()
    if _ABOUT_TEXT.search(subject):
        return ()
    for sentence in (subject, *message.sentences):
        if _HEDGE.search(sentence) or _ABOUT_TEXT.search(sentence) or not 5 <= len(sentence.split()) <= 60:
            continue
        choice = _CHOICE.match(sentence)
        if (choice and _REASON.search(sentence, choice.end())) or _REASON_FIRST.match(sentence):
            return (sentence,)
    if message.sentences and _CHOICE.match(subject):
        reason = message.sentences[0]
        if _REASON_SENTENCE.match(reason) and not (_HEDGE.search(reason) or _ABOUT_TEXT.search(reason)):
            return (subject, reason)
    return ()


def _is_document(path: str) -> bool:
    lowered = path.lower()
    return lowered.endswith((".md", ".rst", ".txt", ".adoc")) or lowered.startswith((".github/", "docs/", "doc/"))


def _is_aside(path: str) -> bool:
    """Whether a path belongs to what surrounds the program: documents and tests."""
    parts = path.lower().split("/")
    return _is_document(path) or "test" in parts or "tests" in parts or parts[-1].startswith("test_")


def _without_addresses(text: str) -> str:
    return " ".join(_EMAIL.sub("", text).replace("[skip ci]", "").split())


def _sentences(paragraph: str) -> list[str]:
    found: list[str] = []
    for part in _SENTENCE_END.split(paragraph):
        if found and _NOT_AN_END.search(found[-1]):
            found[-1] += f" {part}"
        elif part:
            found.append(part)
    return found
