"""The front: `gateway serve`, `gateway key add/list/revoke`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from pitstop.cli.shell import ConfigFile, DryRun, JsonFlag, Shell, guarded


def register(app: typer.Typer) -> None:
    gateway = typer.Typer(help="The OpenAI-compatible front: keys, aliases, defaults, fallback.", no_args_is_help=True)
    gateway.command("serve")(serve)
    key = typer.Typer(help="Who may ask.", no_args_is_help=True)
    key.command("add")(add)
    key.command("list")(list_keys)
    key.command("revoke")(revoke)
    gateway.add_typer(key, name="key")
    app.add_typer(gateway, name="gateway")


@guarded
def serve(json_output: JsonFlag = False, config_file: ConfigFile = None, dry_run: DryRun = False) -> None:
    """Serve until Ctrl-C or SIGTERM; running streams end first. SIGHUP, or a changed file, reloads."""
    import logging

    from pitstop.gateway.serve import check, serve

    shell = Shell(json_output, config_file)
    home = shell.home()
    if dry_run:
        listen = check(home, shell.config_path, os.environ)
        shell.document({"listen": listen, "would": "serve"})
        shell.say(f"Would listen on {listen}.")
        return
    # Lines of their own, without rich: a thousand of them a second must not cost more than the requests.
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")

    def started(listen: str) -> None:
        shell.document({"listen": listen, "pid": os.getpid()})
        shell.note(f"The gateway listens on {listen}.")

    serve(home, shell.config_path, os.environ, started)


@guarded
def add(
    name: Annotated[str, typer.Argument(help="Whose key it is; stands in metrics and log lines.")],
    route: Annotated[
        list[str] | None, typer.Option("--route", help="May use only this route; can be repeated.")
    ] = None,
    rate: Annotated[str, typer.Option("--rate", help="At most so many requests: 60/min, 5/s, 1000/d.")] = "",
    concurrency: Annotated[int | None, typer.Option("--concurrency", min=1, help="At most so many at once.")] = None,
    expires: Annotated[str, typer.Option("--expires", help="After a time (30d, 12h) or at one (2026-12-31).")] = "",
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
    dry_run: DryRun = False,
) -> None:
    """Make a key. It is shown now and never again."""
    import time

    from pitstop.gateway.key_orders import order
    from pitstop.gateway.keys import add_key

    shell = Shell(json_output, config_file)
    made = order(
        name, shell.config_or_empty(), routes=route or [], rate=rate, concurrency=concurrency, expires=expires,
        now_s=time.time(),
    )  # fmt: skip
    if dry_run:
        shell.document({"name": name, "key": None})
        shell.say(f"Would make a key named {name}.")
        return
    key = add_key(shell.home(), made, name)
    shell.document({"name": name, "key": key})
    if not json_output:
        shell.note("This key is shown once; only its hash is stored.")
        typer.echo(key)


@guarded
def list_keys(json_output: JsonFlag = False, _config_file: ConfigFile = None) -> None:
    """List keys by name, with their limits; never the keys themselves."""
    import time

    from pitstop.gateway.key_orders import shown
    from pitstop.gateway.keys import read_keys

    shell = Shell(json_output)
    keys = [shown(key, time.time()) for key in read_keys(shell.home())]
    shell.document({"keys": keys})
    if not keys:
        shell.say("There is no key, so the gateway refuses every request. Make one: pitstop gateway key add NAME")
        return
    from rich.table import Table

    table = Table("name", "routes", "rate", "at once", "made", "expires", "state", box=None)
    for key in keys:
        table.add_row(
            key["name"], ", ".join(key["routes"]) or "all", key["rate"] or "-", str(key["concurrency"] or "-"),
            key["created_at"], key["expires_at"] or "never", key["state"],
        )  # fmt: skip
    shell.say(table)


@guarded
def revoke(
    name: Annotated[str, typer.Argument(help="Whose key.")],
    json_output: JsonFlag = False,
    _config_file: ConfigFile = None,
    dry_run: DryRun = False,
) -> None:
    """Revoke a key. A running gateway refuses it within a second; requests inside end as they are."""
    from pitstop.gateway.keys import known_key, revoke_key

    shell = Shell(json_output)
    home = shell.home()
    known_key(home, name)
    if not dry_run:
        revoke_key(home, name)
    shell.document({"name": name, "revoked": not dry_run})
    shell.say(f"{'Would revoke' if dry_run else 'Revoked'} the key {name}.")
