"""``satchel setup``."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import click

from satchel.base.errors import ERROR_KINDS, InvalidInput, NotFound, Refused, SatchelError, unknown_name
from satchel.base.folders import current_folder, home_path
from satchel.base.paths import StorePlace, locate_store
from satchel.base.records import replace
from satchel.client import through_a_server
from satchel.interfaces.cli.common import (
    choose_among,
    is_terminal,
    json_option,
    require_person_here,
    show_json,
    waiting_texts,
)
from satchel.interfaces.setup import shown
from satchel.interfaces.setup.address import Remote, plan_no_address
from satchel.interfaces.setup.checking import ClientCheck, Standing, check, is_on_machine, launcher_note, version_note
from satchel.interfaces.setup.clients import CLIENTS, Client, Place, Wish
from satchel.interfaces.setup.entries import find_launcher
from satchel.interfaces.setup.guide import (
    AllData,
    delete,
    find_all_data,
    left_by_clients,
    require_no_server,
    store_left,
)
from satchel.interfaces.setup.journal import Journal
from satchel.interfaces.setup.parts import NAME
from satchel.interfaces.setup.planning import Plan, carry_out, joined, plan_removal, plan_setup
from satchel.interfaces.text.housekeeping import server_fields, server_line
from satchel.remote.where import server_for


@click.command()
@click.argument("clients", nargs=-1, metavar="[CLIENT...]")
@click.option("--user", "of_user", is_flag=True, help="In your own files, for all projects. The default.")
@click.option("--project", "in_project", is_flag=True, help="In this project's files, which are committed.")
@click.option("--hooks/--no-hooks", default=None, help="With the hooks or without. Default: with --user, with.")
@click.option("--instructions", is_flag=True, help="With a block for agents in this project's AGENTS.md.")
@click.option("--allow", is_flag=True, help="Let Claude Code run the tools without asking.")
@click.option("--trust", is_flag=True, help="Let Gemini CLI and Qwen Code run the tools without asking.")
@click.option("--url", metavar="URL", help="Let this project be kept by the server at URL, not on this machine.")
@click.option("--token", metavar="-", help="-: read the token for --url from the input. Default: SATCHEL_TOKEN.")
@click.option("--token-file", metavar="FILE", help="Read the token for --url from a file.")
@click.option("--everywhere", is_flag=True, help="With --url: for all projects, not this one alone.")
@click.option("--offline", is_flag=True, help="With --url: do not ask the server whether it takes the token.")
@click.option("--dry-run", is_flag=True, help="List the files it would change, with --json how, and change none.")
@click.option("--check", "only_check", is_flag=True, help="Say what is set up and what is missing.")
@click.option("--remove", is_flag=True, help="Restore the clients' files as they were before setup.")
@click.option(
    "--all-data", is_flag=True, help="With --remove: also delete all your stores, backups, settings and tokens."
)
@click.option(
    "--print",
    "only_print",
    is_flag=True,
    help="Print what to write by hand, for any client; with --url to ask a server itself.",
)
@click.option("--yes", is_flag=True, help="Set up all that are found, and the project's store, without asking.")
@json_option
def setup_command(
    clients: tuple[str, ...],
    of_user: bool,
    in_project: bool,
    hooks: bool | None,
    instructions: bool,
    allow: bool,
    trust: bool,
    url: str | None,
    token: str | None,
    token_file: str | None,
    everywhere: bool,
    offline: bool,
    dry_run: bool,
    only_check: bool,
    remove: bool,
    all_data: bool,
    only_print: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Connect coding clients: each starts the server, and begins its sessions with a briefing.

    CLIENT is claude, codex, gemini, qwen, copilot, opencode, cursor or vscode; without one, those found on this
    machine, after a question. What else their files hold stays as it is. --check leaves with status 3 where something
    is missing.

    \b
    Examples:
      satchel setup
      satchel setup claude codex --dry-run
      satchel setup --check
      satchel setup claude --remove
      satchel setup --url https://satchel.example.org --token -
    """
    if of_user and in_project:
        raise InvalidInput("--user and --project exclude each other", "Choose one")
    modes = [name for name, is_on in (("--check", only_check), ("--remove", remove), ("--print", only_print)) if is_on]
    if len(modes) > 1:
        raise InvalidInput(f"{' and '.join(modes)} exclude each other", "Choose one")
    if (allow or trust) and (in_project or modes):
        raise InvalidInput(
            f"--{'allow' if allow else 'trust'} does not go with {'--project' if in_project else modes[0]}",
            "What a client may do without asking is each user's own: use it when you set up with --user",
        )
    if dry_run and (only_check or only_print):
        raise InvalidInput(f"{modes[0]} changes nothing", "Leave --dry-run out")
    if all_data and (not remove or clients or in_project or url):
        raise InvalidInput("--all-data goes with --remove alone", "Run `satchel setup --remove --all-data`")
    remote = Remote(url, token, token_file, everywhere, offline)
    remote.check_options(is_removal=remove, mode=modes[0] if modes else None)
    place, store = _here(in_project=in_project or instructions)
    selection = [] if only_print else _clients_named(clients)
    if remove:
        journal = Journal()
        plan = _removal(
            selection, place, store, remote, journal, in_project=in_project, instructions=instructions or all_data
        )
        data = find_all_data() if all_data else AllData((), ())
        if not dry_run:
            if all_data:
                require_no_server("delete the stores")
                require_person_here("delete all data")
            if data.paths and not yes and not _is_deletion_agreed(data, as_json=as_json):
                click.echo("nothing was deleted")
                return 0
            if (
                plan.edits
                and not (all_data or yes or as_json)
                and is_terminal()
                and not _is_removal_agreed(plan, place)
            ):
                click.echo("nothing was changed")
                return 0
            carry_out(plan, journal)
            delete(data.paths, place.home)
        deleted = [f"{'would delete' if dry_run else 'deleted'} {path}" for path in data.paths]
        others = () if all_data else store_left(store)
        remains = [f"left {one}" for one in (*data.left, *left_by_clients(place), *others)]
        if all_data and place.project is not None:
            remains += _guard_left(place.project)
        _show(plan, place, [*deleted, *remains], is_done=not dry_run, as_json=as_json)
        return 0
    launcher = find_launcher(os.environ)
    with_hooks = not in_project if hooks is None else hooks
    allowed = frozenset(client.name for client in CLIENTS.values() if (trust if client.has_trust else allow))
    wish = Wish(NAME if in_project else str(launcher), in_project, with_hooks, allowed)
    if only_print:
        click.echo(shown.by_hand_text(clients or ("your client",), place, wish, remote.checked_url()))
        return 0
    note = launcher_note(place, launcher, in_project=in_project)
    if only_check:
        return _check(selection, place, wish, note, as_json=as_json)
    if as_json and not selection and not (yes or dry_run):
        raise InvalidInput("setup with --json asks nobody", "Name the clients, or add --yes for all that are found")
    asks = is_terminal() and not (yes or as_json or dry_run)
    was_named = bool(selection)
    selection = selection or _clients_here(place, may_be_none=remote.url is not None)
    was_named = was_named or not selection
    of_server = remote.plan(store, asks=asks, is_dry=dry_run)
    plan = joined(of_server, plan_setup(selection, place, wish, instructions=instructions))
    if dry_run:
        _show(plan, place, [note], is_done=False, as_json=as_json)
        return 0
    if plan.edits and (asks or not (was_named or yes)):
        for line in shown.outcome_lines(plan, place, is_done=False):
            click.echo(line)
        if not asks:
            raise InvalidInput("nothing was written, since nobody can be asked", "Add --yes, or name the clients")
        of_client = {client.name: client for client in selection}
        chosen = choose_among("Write these files?", list(of_client))
        if not chosen and of_client:
            click.echo("nothing was changed")
            return 0
        selection = [of_client[name] for name in chosen]
    if asks:
        wish = _with_permissions(selection, wish, plan)
        plan = joined(of_server, plan_setup(selection, place, wish, instructions=instructions))
    has_server = _has_server(remote)
    missing = None if has_server or store is None or store.exists else store
    makes_store = click.confirm(f"Make this project's store {missing.file}?", default=True) if asks and missing else yes
    # all questions come before the first write, so that stopping at one leaves everything as it was
    carry_out(plan, Journal())
    made = None if missing is None else _store_note(missing, is_made=makes_store)
    versions = [version_note(client, place) for client in selection if wish.hooks]
    documents = None if has_server else _documents(store)
    note_on_documents = f"{documents} can fill this project's memory: `satchel import docs`" if documents else None
    root = None if missing is None or missing.files_root is None else str(missing.files_root)
    notes = [note, *versions, made, waiting_texts(root), _meaning_note(plan), None if asks else note_on_documents]
    # the last question comes before what is left to do, which reads as the end
    if asks and documents:
        if click.confirm(f"Look at the rules proposed from {documents}?", default=True):
            _review_documents()
        else:
            notes.append(note_on_documents)
    _show(_with_steps(plan, place, wish), place, notes, is_done=True, as_json=as_json)
    return 0


def _documents(store: StorePlace | None) -> str | None:
    from satchel.interfaces.cli.opening import opened
    from satchel.keep.documents.reading import FIRST_DOCUMENTS

    if store is None or store.files_root is None:
        return None
    names = [name for name in FIRST_DOCUMENTS if (store.files_root / name).exists()]
    if not names:
        return None
    with opened(None, None, read_only=True) as satchel:
        is_new = not store.exists or not satchel.constraints.find(limit=1).total
    return ", ".join(names) if is_new else None


def _review_documents() -> None:
    from satchel.interfaces.cli.commands.import_cmd import ask
    from satchel.interfaces.cli.opening import opened

    with opened(None, None) as satchel:
        ask(satchel.documents, satchel.documents.review())


def _meaning_note(plan: Plan) -> str | None:
    from satchel.base.installation import command_adding
    from satchel.find.meaning import is_installed

    if not plan.edits or is_installed("wordllama"):
        return None
    command = command_adding("meaning")
    return f"searches can rank by meaning too, offline: `{command}`"


def _guard_left(root: Path) -> list[str]:
    from satchel.interfaces.cli.commands.guard import find_hook

    with suppress(SatchelError):
        hook = find_hook(root)
        return [f"left the guard in {hook.path}: `satchel guard remove`"] if hook.is_ours else []
    return []


def _is_deletion_agreed(data: AllData, *, as_json: bool) -> bool:
    if as_json or not is_terminal():
        raise InvalidInput("nothing was deleted, since nobody can be asked", "Add --yes, or see --dry-run first")
    for path in data.paths:
        click.echo(f"would delete {path}")
    for text in data.left:
        click.echo(f"would leave {text}")
    return click.confirm("Delete all of this, and what setup wrote into your clients' files?", default=False)


def _is_removal_agreed(plan: Plan, place: Place) -> bool:
    for line in shown.outcome_lines(plan, place, is_done=False):
        click.echo(line)
    return click.confirm("Change these files back?", default=True)


def _clients_named(names: tuple[str, ...]) -> list[Client]:
    for name in names:
        if name not in CLIENTS:
            wrong = unknown_name("client", name, CLIENTS)
            raise InvalidInput(wrong.problem, f"{wrong.remedy}; for any other, `satchel setup --print`")
    return [client for client in CLIENTS.values() if client.name in names]


def _here(*, in_project: bool) -> tuple[Place, StorePlace | None]:
    home = Path(home_path())
    try:
        store: StorePlace | None = locate_store(None, os.environ, current_folder())
    except Refused:
        if in_project:
            raise
        store = None
    if store is not None and store.store_file is None:
        raise through_a_server()
    return Place(home, dict(os.environ), None if store is None else store.files_root), store


def _clients_here(place: Place, *, may_be_none: bool) -> list[Client]:
    clients = [client for client in CLIENTS.values() if is_on_machine(client, place)]
    if not clients and not may_be_none:
        raise NotFound(
            "no client was found on this machine", f"Name one ({', '.join(CLIENTS)}), or see `satchel setup --print`"
        )
    return clients


def _with_permissions(clients: list[Client], wish: Wish, plan: Plan) -> Wish:
    changed = [outcome for outcome in plan.outcomes if outcome.files]
    names = {outcome.name for outcome in changed for text in outcome.left if "asks before each tool" in text}
    for client in clients:
        if client.name not in names:
            continue
        if click.confirm(f"{client.title} asks before each tool of Satchel. Allow them all?", default=True):
            wish = replace(wish, allowed=wish.allowed | {client.name})
    return wish


def _store_note(store: StorePlace, *, is_made: bool) -> str:
    if not is_made:
        return f"This project has no store yet: its first write makes {store.file}, or `satchel init` does"
    from satchel.interfaces.cli.opening import opened

    with opened(None, None) as satchel:
        satchel.housekeeping.initialise(new=False)
    return f"made the project's store {store.file}"


def _with_steps(plan: Plan, place: Place, wish: Wish) -> Plan:
    # where nothing was written, the client may still wait for its user
    outcomes = []
    for outcome in plan.outcomes:
        client = CLIENTS.get(outcome.name)
        result = None if client is None or outcome.files else check(client, place, wish)
        is_waiting = result is not None and result.standing is Standing.NEEDS_YOU
        steps = (f"{client.title}: {result.step}",) if client and result and is_waiting else ()
        outcomes.append(replace(outcome, left=(*outcome.left, *steps)))
    return Plan(plan.edits, tuple(outcomes))


def _has_server(remote: Remote) -> bool:
    try:
        return remote.url is not None or server_for(os.environ, current_folder()) is not None
    except SatchelError:
        return True  # one was meant


def _removal(
    clients: list[Client],
    place: Place,
    store: StorePlace | None,
    remote: Remote,
    journal: Journal,
    *,
    in_project: bool,
    instructions: bool,
) -> Plan:
    url = remote.checked_url()
    plans = []
    if url is not None:
        plans.append(plan_no_address(journal, url, remote.project_of(store)))
    elif not clients and not in_project:
        plans.append(plan_no_address(journal))
    if url is None or clients:
        selection, all_of_it = clients or CLIENTS.values(), instructions or in_project
        plans.append(plan_removal(selection, place, journal, in_project=in_project, instructions=all_of_it))
    return joined(*plans)


def _check(clients: list[Client], place: Place, wish: Wish, note: str | None, *, as_json: bool) -> int:
    looked_at = clients or list(CLIENTS.values())
    checks = [check(client, place, wish) for client in looked_at]
    checks = [
        one
        for client, one in zip(looked_at, checks, strict=True)
        if clients or one.is_set_up or is_on_machine(client, place)
    ]
    counted: list[ClientCheck] = checks if clients else [one for one in checks if one.is_set_up]
    server = server_fields(os.environ, current_folder())
    lost = _lost_store()
    is_fine = bool(counted) and all(one.is_fine for one in counted) and "fault" not in (server or {}) and lost is None
    if as_json:
        fields = shown.check_fields(checks, is_fine=is_fine, note=note)
        show_json({**fields, "server": server} | ({} if lost is None else {"store": lost}))
    else:
        if server is not None:
            click.echo(f"server    {server_line(server)}")
        for line in shown.check_lines(checks, place, clients_were_named=bool(clients), note=note):
            click.echo(line)
        if lost is not None:
            click.echo(lost)
    return 0 if is_fine else ERROR_KINDS["not_found"].exit_status


def _lost_store() -> str | None:
    # why sessions start without the store of this folder
    from satchel.base.errors import StoreMissing
    from satchel.client import open_satchel

    try:
        with open_satchel(read_only=True) as satchel, satchel.workplace.engine.read():
            return None
    except StoreMissing as error:
        return f"store     {error.problem}. {error.remedy}"
    except SatchelError:  # other commands say what is wrong, and many folders have no store
        return None


def _show(plan: Plan, place: Place, notes: list[str | None], *, is_done: bool, as_json: bool) -> None:
    notes_to_show = [note for note in notes if note is not None]
    if as_json:
        show_json(shown.plan_fields(plan, is_done=is_done, notes=notes_to_show))
        return
    for line in (
        *shown.outcome_lines(plan, place, is_done=is_done),
        *notes_to_show,
        *shown.left_lines(plan, is_done=is_done),
    ):
        click.echo(line)
    if plan.edits and not is_done:
        click.echo("Add --json to see how each file would change")
