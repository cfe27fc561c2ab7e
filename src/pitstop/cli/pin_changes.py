"""`pitstop pins set`, `mirror` and `rollback`: what changes a pin, or keeps a copy of one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pitstop.cli.ledger import opened_ledger
from pitstop.cli.pin_supply import keep_pin, pinned_engine, supply_of
from pitstop.cli.shell import ConfigFile, DryRun, JsonFlag, Shell, guarded

if TYPE_CHECKING:
    from pitstop.core.config.engine import Engine
    from pitstop.core.config.schema import Config
    from pitstop.decisions.pins import Manifest
    from pitstop.ledger.records import PinRecord
    from pitstop.supply.pins import Supply
    from pitstop.supply.reference import Reference

EngineArgument = Annotated[str | None, typer.Argument(metavar="ENGINE", help="Its name in pitstop.toml.")]


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
    config, chosen, before = pinned_engine(shell, engine)
    same = parse_reference(before).repository
    wanted = parse_reference(f"{same}{image}" if image.startswith(":") else image)
    supply = supply_of(config)
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
    supply = supply_of(config)
    done: list[dict[str, Any]] = []
    for name in [engine] if engine else _with_image(config):
        _, chosen, before = pinned_engine(shell, name)
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
        keep_pin(shell, _record(name, target, manifest, supply, "mirror"))
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
    config, chosen, now = pinned_engine(shell, engine)
    supply, current = supply_of(config), parse_reference(now)
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


def _with_image(config: Config) -> list[str]:
    from pitstop.supply.pin_file import image_of

    return [name for name, engine in config.engine.items() if image_of(engine) is not None]


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
        keep_pin(shell, record)
    shell.say(f"{'would write' if dry_run else 'wrote'} to {path}:", f"  {name}: {before}", f"     -> {after}")
    return {"engine": name, "before": before, "image": after, "digest": record.digest, "dry_run": dry_run}


def _keep_former(shell: Shell, name: str, before: str, changed_at: str) -> None:
    """A pin that was written by hand is in no ledger yet; it was there before the change."""
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


def _pull(engine: Engine, reference: Reference, supply: Supply) -> None:
    """Fetch the copy from the local registry into the container engine's own store."""
    from pitstop.client.loop import run
    from pitstop.launch import command
    from pitstop.supply.reference import is_loopback

    binary = getattr(engine.launch, "binary", "docker")
    insecure = ["--tls-verify=false"] if binary == "podman" and is_loopback(reference.registry) else []
    argv: list[Any] = [binary, "pull", *insecure, reference.by_digest]
    run(command.run(argv, environ=supply.environ, timeout_s=3600.0))
