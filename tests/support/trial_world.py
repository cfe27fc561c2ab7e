"""A small world that a trial can change: strict, in memory, with a kill at any step."""

import contextlib
from dataclasses import dataclass, field
from pathlib import Path

from pitstop.client.endpoint import Endpoint
from pitstop.core.config.engine import Engine, Knob, ProcessLaunch
from pitstop.core.config.trial import Trial
from pitstop.core.documents import EngineIdentity, Figure, RunDocument, Status
from pitstop.core.errors import EngineFailed
from pitstop.core.home import Home
from pitstop.decisions.trial import How, Outcome, schedule
from pitstop.engines.adapter import Readiness, ReadinessReport
from pitstop.launch.launcher import LaunchSpec, Running
from pitstop.launch.plan import plan
from pitstop.ledger.store import Ledger
from pitstop.services.site import Site
from pitstop.services.trial.conduct import Stage
from pitstop.services.trial.promise import Arm, Promise
from pitstop.services.trial.roles import Crew

ENGINE = Engine(
    kind="llamacpp",
    model="m",
    base_url="http://127.0.0.1:9/v1",
    launch=ProcessLaunch(command=("serve",)),
    knob={"K": Knob(args=("--k", "{value}"))},
)
IDLE = Outcome(How.DONE)
TRIAL = Trial(engine="smol", variant={"k2": {"K": "2"}}, rulers=("decode",), boots=2)


class Killed(BaseException):
    """SIGKILL: nothing after it runs, not even what catches exceptions."""


@dataclass
class World:
    """What is really up, however the trial's process fares."""

    up: LaunchSpec | None = None
    boots: list[str] = field(default_factory=list)
    kill_at: int | None = None  # the effect that the process does not survive
    refuse_starts: int = 0  # how many starts the world refuses, once `refuse_from` starts went well
    dead_on_boot: str = ""  # fingerprint of an engine that dies at once
    guard_kills: str = ""  # fingerprint of an engine that the guard kills while it is measured
    effects: int = 0
    stopped_by_hand: bool = False  # whether an engine that is down was stopped by somebody else
    kept: bool = False  # whether a cleanup would spare the images of what is down
    enough: str = ""  # what a look in the middle says

    async def stopped(self, _site) -> bool:
        return self.stopped_by_hand

    def effect(self) -> None:
        """Something is about to change, or has just been changed."""
        if self.kill_at is not None and self.effects == self.kill_at:
            raise Killed
        self.effects += 1


@dataclass
class FakeLauncher:
    world: World

    async def start(self, spec, _environ):
        self.world.effect()
        assert self.world.up is None, "two engines on one port"
        if self.world.refuse_starts:
            self.world.refuse_starts -= 1
            raise EngineFailed("the daemon is away")
        self.world.up = spec
        self.world.boots.append(spec.fingerprint)
        self.world.effect()
        return Running(engine=spec.engine, fingerprint=spec.fingerprint, started_at="now", pid=1)

    async def stop(self, _spec):
        self.world.effect()
        self.world.up = None
        self.world.effect()

    async def inspect(self, spec):
        up = self.world.up
        if up is None or up.fingerprint == self.world.dead_on_boot:
            return None
        return Running(engine=spec.engine, fingerprint=up.fingerprint, started_at="now", pid=1)

    async def recreatable(self, _spec):
        return ""

    async def startable(self, _spec):
        return ""

    async def foreign_listener(self, _spec):
        return ""

    async def exit_state(self, _spec):
        return None

    def log_path(self, _spec):
        return None

    async def log_tail(self, _spec, _lines=20):
        return ["CUDA error: an illegal memory access"]


class FakeAdapter:
    kind = "llamacpp"

    async def readiness(self, _endpoint, *, deadline_s=5.0):
        return ReadinessReport(Readiness.READY, models=("m",))


class Silent:
    def action_begun(self, _action, _state):
        pass

    def action_ended(self, _action, _outcome):
        pass


class FakeMemory:
    async def expected(self, _site, _running):
        return 0

    async def back(self, _site, _expected, _timeout_s):
        pass


@dataclass
class FakeImages:
    world: World

    async def keep(self, _site, _promise):
        self.world.effect()
        self.world.kept = True
        self.world.effect()
        return "one of them could not be kept"

    async def let_go(self, _site, _promise):
        self.world.effect()
        self.world.kept = False
        return ""


@dataclass
class FakeDoor:
    """The gateway's door: whether it is shut, and what the lease said when it was opened."""

    shut_for: str = ""
    opened: int = 0

    def inside(self, _engine):
        return 0

    def shut(self, engine):
        self.shut_for = engine
        return 0

    def open(self, _engine):
        self.shut_for = ""
        self.opened += 1


class NoGuard:
    async def own(self, _running):
        pass


def promise() -> Promise:
    production = plan("smol", ENGINE, environ={"PATH": "/bin"})
    variant = plan("smol", ENGINE, {"K": "2"}, environ={"PATH": "/bin"})
    return Promise(
        id="T1", name="nightly", started_at="2026-11-29T00:00:00+00:00", engine_name="smol", engine=ENGINE, trial=TRIAL,
        arms=(Arm("production", {}, production), Arm("k2", {"K": "2"}, variant)), boots=schedule(2, 2),
    )  # fmt: skip


async def _info(_site, _promise, times):
    return {"boot_s": times.boot_s}


async def _nothing(*_args):
    pass


def stage(root: Path, world: World, *, waiting: Outcome = IDLE) -> Stage:
    home = Home(root).prepared()
    launcher = FakeLauncher(world)
    spec = promise().production
    site = Site("smol", ENGINE, Endpoint(ENGINE.base_url, "m"), FakeAdapter(), launcher, spec, {})

    async def measure(at, plan_of, boot):
        world.effect()
        assert world.kept
        arm = plan_of.arms[boot.arm]
        if world.guard_kills == arm.spec.fingerprint:
            world.up = None
        figure = Figure(
            ruler="decode", case="prose/en", metric="decode_tok_s", unit="tok/s", status=Status.OK, source="usage",
            value=100.0 + 30.0 * boot.arm + boot.block, n=1, samples=(100.0,),
        )  # fmt: skip
        engine = EngineIdentity(kind="llamacpp", model="m", fingerprint=arm.spec.fingerprint)
        return RunDocument(
            id=f"T1-{boot.block}-{arm.name}", started_at="2026-11-29T00:00:00+00:00", engine=engine, figures=[figure]
        )

    async def idle(*_args):
        return waiting

    @contextlib.asynccontextmanager
    async def guarded(_site, _promise):
        yield NoGuard()

    async def generate(_site):
        world.effect()
        assert world.up is not None
        return "hello"

    crew = Crew(
        measure=measure, memory=FakeMemory(), images=FakeImages(world), idle=idle, door=FakeDoor(), guarded=guarded,
        generate=generate, info=_info, stopped=world.stopped, why_stop=lambda _promise, _blocks: world.enough,
        served=lambda _spec: None, pause=_nothing, clock=lambda: "2026-11-29T00:00:01+00:00", say=lambda _text: None,
    )  # fmt: skip
    return Stage(home, site, crew, Silent(), lambda: Ledger.open(home.ledger), lambda: 100.0)
