"""`pitstop patch`: source changes that belong to one image."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from pitstop.cli.shell import ConfigFile, DryRun, JsonFlag, Shell, guarded

if TYPE_CHECKING:
    from pitstop.core.config.patch import Patch
    from pitstop.launch.container import Container
    from pitstop.supply.patch import Workshop

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The NAME of [patch.NAME] in pitstop.toml.")]


def register(app: typer.Typer) -> None:
    room = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Source changes that belong to one image.")
    room.command("build")(build)
    room.command("check")(check)
    room.command("verify")(verify)
    app.add_typer(room, name="patch")


@guarded
def build(
    name: NameArgument, dry_run: DryRun = False, json_output: JsonFlag = False, config_file: ConfigFile = None
) -> None:
    """Take the file out of its image, change it if it is exactly as expected, show the diff, and write it."""
    import shlex

    from rich.text import Text

    from pitstop.client.loop import run
    from pitstop.supply.patch import build as make
    from pitstop.supply.pin_file import image_of

    shell = Shell(json_output, config_file)
    patch, workshop = _workshop(shell, name)
    built = run(make(name, patch, workshop, dry_run=dry_run))
    shell.document(built)
    shell.say(Text(built.diff))
    verb = "would be written" if dry_run else "written" if built.written else "there already, the same"
    shell.say(Text(f"{built.path}: {verb}, sha256 {built.sha256}"))
    where = (
        f"in `run` of [engine.{patch.engine}.launch]" if image_of(workshop.engine) else "where its container is made"
    )
    shell.say(Text(f"Mount it, {where}: {shlex.join(built.mount)}"))


@guarded
def check(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="All of them when left out.")] = None,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Does the engine's image still need the patch, is it mended there, or has it become something else?"""
    from pitstop.cli.tables import listed
    from pitstop.client.loop import run
    from pitstop.core.errors import ExitCode
    from pitstop.supply.patch import check as look

    shell = Shell(json_output, config_file)
    chosen = names or list(shell.config().patch)
    found = []
    for name in chosen:
        patch, workshop = _workshop(shell, name)
        found.append(run(look(name, patch, workshop, _container(shell, patch, workshop))))
    shell.document({"schema": "pitstop.patches", "version": 1, "patches": found})
    rows = [(one.name, one.status, one.image, one.reason, one.upstream) for one in found]
    shell.say(listed("patches", ("patch", "status", "image", "why", "upstream"), rows, terminal=shell.on_terminal))
    if any(one.status != "needed" or not one.bound for one in found):
        shell.finish(ExitCode.WORSE)


@guarded
def verify(
    engine: Annotated[str, typer.Argument(metavar="ENGINE", help="A running engine.")],
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Is what the running engine mounts the patch for its image, and does the engine really import it?"""
    from pitstop.client.loop import run
    from pitstop.core.errors import ExitCode, UsageError
    from pitstop.services.site import engine_named, site_of
    from pitstop.supply.patch_launch import imported

    shell = Shell(json_output, config_file)
    config = shell.config()
    name, chosen = engine_named(config, engine)
    site = site_of(name, chosen, shell.home(), os.environ)
    container = run(site.launcher.container(site.spec)) if site.launcher and site.spec else None
    if container is None or not container.is_up or site.spec is None:
        raise UsageError(f"engine {name} is not up in a container.", hint=f"Start it: pitstop up {name}")
    found = run(imported(config.patch, site.spec, container))
    shell.document({"engine": name, "patches": found})
    for one in found:
        shell.say(f"{one.patch}: {one.problem or f'in force, imported from {one.file}'}")
    if not found:
        shell.say(f"No patch is mounted in {name}.")
    if any(one.problem for one in found):
        shell.finish(ExitCode.WORSE)


def _container(shell: Shell, patch: Patch, workshop: Workshop) -> Container | None:
    """The engine's container where only that tells its image: not in pitstop.toml, but in a script or another file."""
    from pitstop.client.loop import run
    from pitstop.launch.plan import plan
    from pitstop.launch.registry import launcher_for
    from pitstop.supply.pin_file import image_of

    if image_of(workshop.engine) is not None or not workshop.binary:
        return None
    spec = plan(patch.engine, workshop.engine, environ=os.environ)
    return run(launcher_for(spec, shell.home()).container(spec))


def _workshop(shell: Shell, name: str) -> tuple[Patch, Workshop]:
    from pitstop.core.config.nearest import nearest
    from pitstop.core.errors import UsageError
    from pitstop.services.site import engine_named
    from pitstop.supply.patch import Workshop

    config = shell.config()
    if name not in config.patch:
        known = ", ".join(config.patch) or "none"
        raise UsageError(f"there is no patch {name!r}{nearest(name, config.patch)}", hint=f"There are: {known}.")
    patch = config.patch[name]
    _, engine = engine_named(config, patch.engine)
    return patch, Workshop(engine, os.environ, shell.home().root / "patches")
