"""`pitstop pins`: images by digest."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pitstop.cli.shell import ConfigFile, DryRun, JsonFlag, Shell, guarded

if TYPE_CHECKING:
    from pitstop.core.config.engine import Engine
    from pitstop.core.config.schema import Config
    from pitstop.core.errors import ExitCode
    from pitstop.decisions.pins import Manifest
    from pitstop.ledger.records import PinRecord
    from pitstop.supply.pins import PinReport, Supply
    from pitstop.supply.reference import Reference

EngineArgument = Annotated[str | None, typer.Argument(metavar="ENGINE", help="Its name in pitstop.toml.")]


def register(app: typer.Typer) -> None:
    room = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Images by digest.")
    for name, command in (
        ("check", check),
        ("set", set_),
        ("mirror", mirror),
        ("rollback", rollback),
        ("lock", lock),
        ("history", history),
    ):
        room.command(name)(command)
    app.add_typer(room, name="pins")


@guarded
def check(
    engines: Annotated[list[str] | None, typer.Argument(metavar="ENGINE", help="All of them when left out.")] = None,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Ask the registries whether each tag still points at the pinned digest. Changes nothing."""
    from pitstop.cli.tables import listed
    from pitstop.client.loop import run
    from pitstop.services.site import engine_named
    from pitstop.supply.pins import check as look

    shell = Shell(json_output, config_file)
    config = shell.config()
    chosen = dict(engine_named(config, name) for name in engines) if engines else config.engine
    reports = run(look(chosen, _supply(config)))
    shell.document({"schema": "pitstop.pins", "version": 1, "pins": reports})
    rows = [(one.engine, one.status, one.image, one.reason) for one in reports]
    shell.say(listed("pins", ("engine", "status", "image", "why"), rows, terminal=shell.on_terminal))
    without = [name for name in chosen if name not in {one.engine for one in reports}]
    if without:
        shell.note(f"no image of its own in pitstop.toml: {', '.join(without)}")
    shell.finish(_exit_code(reports))


@guarded
def set_(
    engine: Annotated[str, typer.Argument(metavar="ENGINE", help="Its name in pitstop.toml.")],
    image: Annotated[str, typer.Argument(metavar="REF", help="repository:tag, with or without digest, or :tag alone.")],
    dry_run: DryRun = False,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Resolve a tag to its digest and write both into pitstop.toml; nothing else in it changes."""
    from pitstop.client.loop import run
    from pitstop.supply.pins import resolve
    from pitstop.supply.reference import parse_reference

    shell = Shell(json_output, config_file)
    config, chosen, before = _pinned(shell, engine)
    same = parse_reference(before).repository
    wanted = parse_reference(f"{same}{image}" if image.startswith(":") else image)
    supply = _supply(config)
    resolved, manifest = run(resolve(supply, wanted, engine=engine))
    record = _record(engine, resolved, manifest, supply, "set")
    shell.document(_change(shell, engine, chosen, before, str(resolved), record, dry_run))
    binary = getattr(chosen.launch, "binary", "docker")
    shell.say(f"A launch never pulls: {binary} pull {resolved.by_digest}")


@guarded
def mirror(
    engine: EngineArgument = None,
    use: Annotated[bool, typer.Option("--use", help="Pull the copy here and write it into pitstop.toml.")] = False,
    dry_run: DryRun = False,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Copy pinned images into the local registry under the same digest, and verify them there."""
    from pitstop.client.loop import run
    from pitstop.supply import skopeo
    from pitstop.supply.pins import mirror as copy
    from pitstop.supply.reference import copy_in, parse_reference

    shell = Shell(json_output, config_file)
    config = shell.config()
    supply = _supply(config)
    done: list[dict[str, Any]] = []
    for name in [engine] if engine else _with_image(config):
        _, chosen, before = _pinned(shell, name)
        reference = parse_reference(before)
        if dry_run:
            source = supply.upstream(name, reference)
            target = copy_in(supply.pins.mirror or "MIRROR", source)
            argv = skopeo.copy_argv(source, target, supply.pins.plain_http)
            done.append({"engine": name, "source": source.by_digest, "copy": str(target), "argv": argv})
            shell.say(f"would copy {source.by_digest} to {target}")
            continue
        shell.note(f"copying {reference}; a large image takes minutes")
        target, manifest = run(copy(supply, name, reference))
        _keep(shell, _record(name, target, manifest, supply, "mirror"))
        done.append({"engine": name, "source": str(reference), "copy": str(target), "digest": target.digest})
        shell.say(f"{name}: {target} is there, with the same digest")
        if use:
            _pull(chosen, target, supply)
            _change(shell, name, chosen, before, str(target), _record(name, target, manifest, supply, "set"), dry_run)
    shell.document({"mirrored": done, "dry_run": dry_run})


@guarded
def rollback(
    engine: Annotated[str, typer.Argument(metavar="ENGINE", help="Its name in pitstop.toml.")],
    dry_run: DryRun = False,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Return to the previous pin, from this machine or the local registry; no other network is needed."""
    from pitstop.client.loop import run
    from pitstop.core.errors import UsageError
    from pitstop.supply.pins import at_hand
    from pitstop.supply.reference import copy_in, parse_reference

    shell = Shell(json_output, config_file)
    config, chosen, now = _pinned(shell, engine)
    supply, current = _supply(config), parse_reference(now)
    previous = _previous(shell, engine, current.digest)
    reference = parse_reference(previous.image)
    where = run(at_hand(supply, chosen, reference))
    if not where:
        raise UsageError(
            f"the previous image {reference} is neither on this machine nor in the local registry.",
            hint=f"Fetch it first: {getattr(chosen.launch, 'binary', 'docker')} pull {reference.by_digest}",
        )
    if where == "mirror" and reference.registry != supply.pins.mirror:
        reference = copy_in(supply.pins.mirror, reference)
    if where == "mirror" and not dry_run:
        _pull(chosen, reference, supply)
    record = _stamped(previous, str(reference), "rollback")
    shell.document(_change(shell, engine, chosen, now, str(reference), record, dry_run))
    shell.say(f"Start it with: pitstop restart {engine}")


@guarded
def lock(
    engine: Annotated[str, typer.Argument(metavar="ENGINE", help="Its name in pitstop.toml.")],
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Record what runs now: digests, the version inside, patches, driver, kernel."""
    from pitstop.client.loop import run
    from pitstop.core.errors import EngineFailed
    from pitstop.services.site import site_of
    from pitstop.supply.lock import locked

    shell = Shell(json_output, config_file)
    config, chosen, _ = _pinned(shell, engine)
    site = site_of(engine, chosen, shell.home(), os.environ)
    record = run(locked(site.launcher, site.spec, config.patch, _supply(config), datetime.now(UTC)))
    if record is None:
        raise EngineFailed(f"engine {engine} is not up, so there is nothing to record.", hint=f"pitstop up {engine}")
    _keep(shell, record)
    shell.document(record)
    for field in ("image", "digest", "platform_digest", "engine_version", "patches", "driver", "kernel"):
        value = getattr(record, field)
        shown = ", ".join(value) if isinstance(value, tuple) else value
        shell.say(f"{field.replace('_', ' ')}: {shown or 'not known'}")


@guarded
def history(
    engine: Annotated[str, typer.Argument(metavar="ENGINE", help="Its name in pitstop.toml.")],
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """List what an engine was pinned to, the latest first."""
    from pitstop.cli.incidents import opened_ledger
    from pitstop.cli.tables import listed

    shell = Shell(json_output, config_file)
    with opened_ledger(shell) as ledger:
        records = ledger.pins(engine)
    shell.document({"engine": engine, "pins": records})
    rows = [(one.at[:19], one.action, one.image, one.engine_version or "") for one in records]
    shell.say(listed("pins", ("at", "action", "image", "version inside"), rows, terminal=shell.on_terminal))


def _pinned(shell: Shell, name: str) -> tuple[Config, Engine, str]:
    from pitstop.core.errors import UsageError
    from pitstop.services.site import engine_named
    from pitstop.supply.pin_file import image_of

    config = shell.config()
    _, engine = engine_named(config, name)
    image = image_of(engine)
    if image is None:
        raise UsageError(
            f"engine {name} has no image of its own in pitstop.toml.",
            hint="Pins are for engines that are launched with docker or podman; a script's image is in the script.",
        )
    return config, engine, image


def _with_image(config: Config) -> list[str]:
    from pitstop.supply.pin_file import image_of

    return [name for name, engine in config.engine.items() if image_of(engine) is not None]


def _supply(config: Config) -> Supply:
    from pitstop.supply.pins import Supply

    return Supply(config.pins, os.environ)


def _change(
    shell: Shell, name: str, engine: Engine, before: str, after: str, record: PinRecord, dry_run: bool
) -> dict[str, Any]:
    """Write the file, then the ledger: with the pin that was there, so that a rollback finds it."""
    from pitstop.supply.pin_file import with_image, write_image

    path = shell.config_path
    if dry_run:
        with_image(path.read_bytes().decode("utf-8"), name, engine, after, str(path))
    else:
        _keep_former(shell, name, before, record.at)
        write_image(path, name, engine, after)
        _keep(shell, record)
    shell.say(f"{'would write' if dry_run else 'wrote'} to {path}:", f"  {name}: {before}", f"     -> {after}")
    return {"engine": name, "before": before, "image": after, "digest": record.digest, "dry_run": dry_run}


def _keep_former(shell: Shell, name: str, before: str, changed_at: str) -> None:
    """A pin that was written by hand is in no ledger yet; it was there before the change."""
    from pitstop.cli.incidents import opened_ledger
    from pitstop.ledger.records import PinRecord
    from pitstop.supply.reference import parse_reference

    former = parse_reference(before)
    if former.digest is None:
        return
    with opened_ledger(shell) as ledger:
        known = [one for one in ledger.pins(name, limit=1000) if one.digest == former.digest and one.action != "mirror"]
        if not known:
            at = (datetime.fromisoformat(changed_at) - timedelta(microseconds=1)).isoformat()
            ledger.record_pin(PinRecord(engine=name, at=at, image=before, digest=former.digest, action="found"))


def _previous(shell: Shell, name: str, digest: str | None) -> PinRecord:
    from pitstop.cli.incidents import opened_ledger
    from pitstop.core.errors import UsageError

    with opened_ledger(shell) as ledger:
        records = ledger.pins(name, limit=1000)
    for one in records:
        if one.digest != digest and one.action in ("set", "rollback", "found"):
            return one
    raise UsageError(f"the ledger knows no earlier pin of engine {name}.", hint=f"Set one: pitstop pins set {name} REF")


def _record(name: str, reference: Reference, manifest: Manifest, supply: Supply, action: str) -> PinRecord:
    from pitstop.ledger.records import PinRecord

    entry = manifest.entry_for(supply.platform)
    return PinRecord(
        engine=name,
        at=datetime.now(UTC).isoformat(),
        image=str(reference),
        digest=manifest.digest,
        action=action,
        platform_digest=entry.digest if entry else None if manifest.entries else manifest.digest,
    )


def _stamped(record: PinRecord, image: str, action: str) -> PinRecord:
    import msgspec

    return msgspec.structs.replace(record, at=datetime.now(UTC).isoformat(), image=image, action=action)


def _keep(shell: Shell, record: PinRecord) -> None:
    from pitstop.cli.incidents import opened_ledger

    with opened_ledger(shell) as ledger:
        ledger.record_pin(record)


def _pull(engine: Engine, reference: Reference, supply: Supply) -> None:
    """Fetch the copy from the local registry into the container engine's own store."""
    from pitstop.client.loop import run
    from pitstop.launch import command
    from pitstop.supply.reference import is_loopback

    binary = getattr(engine.launch, "binary", "docker")
    insecure = ["--tls-verify=false"] if binary == "podman" and is_loopback(reference.registry) else []
    argv: list[Any] = [binary, "pull", *insecure, reference.by_digest]
    run(command.run(argv, environ=supply.environ, timeout_s=3600.0))


def _exit_code(reports: list[PinReport]) -> ExitCode:
    from pitstop.core.errors import ExitCode
    from pitstop.decisions.pins import DRIFT, PinStatus

    seen = {PinStatus(one.status) for one in reports}
    if seen & set(DRIFT):
        return ExitCode.WORSE
    if PinStatus.UNKNOWN in seen:
        return ExitCode.UNREACHABLE
    return ExitCode.INCONCLUSIVE if PinStatus.UNVERIFIABLE in seen else ExitCode.DONE
