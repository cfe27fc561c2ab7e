"""What the watchdog makes of one look at an engine: a state with a name, a strike or none, and at most one action.

The rules come from two years of other people's outages. What cannot be asked (a wrong key, a wrong model) is loud and
never a strike. A failing probe is no strike while the server's own counters move: a long prefill is work. An engine
younger than its boot grace that does not answer *resets* the strikes and ends the step: two boots five minutes apart
once added up to a restart in the middle of a test. Utilisation is never proof of life. What somebody stopped on
purpose stays stopped, and whoever holds the lease is left alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

DAY_S = 86_400.0


class Probe(StrEnum):
    """What came back when one generated token was asked for."""

    TOKEN = "token"  # noqa: S105 - of text
    EMPTY = "empty"  # a whole reply without a token
    SILENT = "silent"  # accepted, then nothing (or comments) until the deadline
    ERROR = "error"  # 5xx, a broken reply, an error inside a 200
    THROTTLED = "throttled"  # 429
    CANNOT_ASK = "cannot-ask"  # 400, 401, 403, 404: the question is at fault, not the engine
    NO_LISTENER = "no-listener"  # connection refused
    UNREACHABLE = "unreachable"  # no such name, no route, TLS


class Presence(StrEnum):
    """What the launcher sees of the engine, whatever it answers."""

    UP = "up"
    ENDED = "ended"  # it was up and nobody stopped it
    STOPPED = "stopped"  # by a person, on purpose
    UNKNOWN = "unknown"  # not launched by pitstop, or the launcher could not be asked


class Lease(StrEnum):
    NONE = "none"
    HELD = "held"  # somebody may start and stop this engine now
    OWES = "owes"  # its holder is gone and production is not back


class Health(StrEnum):
    GENERATING = "generating"
    LOADING = "loading"
    BUSY = "busy"  # no token for us, but the counters move
    SATURATED = "saturated"  # the same, with requests waiting
    THROTTLED = "throttled"
    WEDGED = "wedged"
    DEAD = "dead"
    UNREACHABLE = "unreachable"
    CANNOT_ASK = "cannot-ask"


@dataclass(frozen=True, slots=True)
class Work:
    """Counters that only move when the engine works; None is what it does not say."""

    generation_tokens: int | None = None
    prompt_tokens: int | None = None
    requests_finished: int | None = None
    kv_cache_usage: float | None = None
    running: int | None = None
    waiting: int | None = None

    def moved_since(self, before: Work | None) -> bool:
        """Whether anything was done between two readings of one process. A counter that fell is another process."""
        if before is None:
            return False
        counts = (
            (before.generation_tokens, self.generation_tokens),
            (before.prompt_tokens, self.prompt_tokens),
            (before.requests_finished, self.requests_finished),
        )
        if any(was is not None and now is not None and now < was for was, now in counts):
            return False
        if any(was is not None and now is not None and now > was for was, now in counts):
            return True
        filling = before.kv_cache_usage is not None and self.kv_cache_usage is not None
        return filling and bool(self.running) and self.kv_cache_usage != before.kv_cache_usage  # a prefill in chunks


@dataclass(frozen=True, slots=True)
class Look:
    """One look at one engine. Times are seconds since the epoch."""

    probe: Probe
    detail: str = ""
    presence: Presence = Presence.UNKNOWN
    started_at_s: float | None = None  # of the container or process itself
    before: Work | None = None  # the counters just before the probe
    after: Work | None = None  # and just after it
    lease: Lease = Lease.NONE
    power_w: float | None = None  # of the GPU: evidence in the report, never a proof


@dataclass(frozen=True, slots=True)
class WatchPolicy:
    strikes: int = 2
    boot_grace_s: float = 900.0  # the first report's
    cooldown_s: float = 2700.0  # between two restarts; from the report of a watchdog that restarted every 45 minutes
    restarts_per_day: int = 4
    loop_boots: int = 3  # boots in a row without a token between them
    idle_alert_s: float = 3600.0  # so long without anything to watch is worth a word
    restart: bool = True  # false: only look and tell


@dataclass(frozen=True, slots=True)
class WatchState:
    """What is remembered of one engine, across restarts of the watchdog."""

    health: Health | None = None
    strikes: int = 0
    last_work: Work | None = None
    last_token_at_s: float | None = None
    restarted_at_s: tuple[float, ...] = ()  # of the last day
    silent_boots_s: tuple[float, ...] = ()  # start times of boots that have not given a token yet
    told: tuple[str, ...] = ()  # what was told already and still holds
    watched_at_s: float | None = None  # when there was last something to watch


class Do(StrEnum):
    RESTART = "restart"
    RECOVER = "recover"  # finish the restore that an abandoned lease owes


@dataclass(frozen=True, slots=True)
class Step:
    """The outcome of one look. `tell` is what a person should hear now: changes only, each once."""

    health: Health
    reason: str
    strike: bool = False
    action: Do | None = None
    tell: tuple[str, ...] = ()


@dataclass(slots=True)
class _Draft:
    """A step in the making."""

    state: WatchState
    health: Health
    reason: str
    strike: bool = False
    action: Do | None = None
    holding: dict[str, str] = field(default_factory=dict)  # findings that hold now: key and sentence


def decide(state: WatchState, look: Look, policy: WatchPolicy, now_s: float) -> tuple[WatchState, Step]:
    """One look at one engine becomes the next state and what to do. `now_s` is seconds since the epoch."""
    state = replace(state, restarted_at_s=tuple(at for at in state.restarted_at_s if 0 <= now_s - at < DAY_S))
    draft = _judged(state, look, policy, now_s)
    _act(draft, look, policy, now_s)
    return _concluded(draft, look, policy, now_s)


def restarted(state: WatchState, now_s: float) -> WatchState:
    """After a restart was carried out, or tried: it counts against cooldown and budget, and the strikes begin anew."""
    return replace(state, strikes=0, restarted_at_s=(*state.restarted_at_s, now_s))


def _judged(state: WatchState, look: Look, policy: WatchPolicy, now_s: float) -> _Draft:
    """Which state this is, before anything is done about it."""
    if look.lease is not Lease.NONE:
        return _leased(state, look)
    return _answered(state, look, now_s) or _unanswered(state, look, policy, now_s)


def _answered(state: WatchState, look: Look, now_s: float) -> _Draft | None:
    """The states in which something at the other end lives, or in which the question itself is at fault."""
    match look.probe:
        case Probe.TOKEN:
            fresh = replace(state, strikes=0, silent_boots_s=(), last_token_at_s=now_s)
            return _Draft(fresh, Health.GENERATING, "it generated a token")
        case Probe.THROTTLED:
            return _Draft(replace(state, strikes=0), Health.THROTTLED, f"alive, and refuses more: {look.detail}")
        case Probe.CANNOT_ASK:
            text = f"cannot be asked, so nothing is watched: {look.detail}"
            return _Draft(replace(state, strikes=0), Health.CANNOT_ASK, text, holding={"cannot-ask": text})
        case Probe.UNREACHABLE if look.presence is not Presence.ENDED:
            text = f"cannot be reached, and a restart would not change that: {look.detail}"
            return _Draft(replace(state, strikes=0), Health.UNREACHABLE, text, holding={"unreachable": text})
    return None


def _unanswered(state: WatchState, look: Look, policy: WatchPolicy, now_s: float) -> _Draft:
    """No token: by a person's will, because it loads, because it works, or because it is broken."""
    if look.presence is Presence.STOPPED:
        return _Draft(replace(state, strikes=0), Health.DEAD, "stopped by a person; it stays stopped")
    state = _with_boot(state, look)
    if _is_young(look, policy, now_s):
        draft = _Draft(replace(state, strikes=0), Health.LOADING, f"younger than its boot grace: {look.detail}")
    elif _works(state, look):
        waiting = look.after is not None and bool(look.after.waiting)
        health = Health.SATURATED if waiting else Health.BUSY
        draft = _Draft(replace(state, strikes=0), health, "no token for us in time, but its counters move: it works")
    else:
        draft = _Draft(state, _failed_health(look), look.detail, strike=True)
    _notice_loop(draft, policy)
    return draft


def _leased(state: WatchState, look: Look) -> _Draft:
    """Somebody else's doing: no strike, and no memory of a strike afterwards either."""
    health = Health.GENERATING if look.probe is Probe.TOKEN else Health.LOADING
    if look.lease is Lease.OWES:
        text = "a trial ended without putting production back: finishing its restore"
        return _Draft(replace(state, strikes=0), health, text, action=Do.RECOVER, holding={"owes": text})
    return _Draft(replace(state, strikes=0, silent_boots_s=()), health, "standing down: the lease is held")


def _act(draft: _Draft, look: Look, policy: WatchPolicy, now_s: float) -> None:
    """Count the strike, and turn enough of them into a restart, if nothing speaks against it."""
    if not draft.strike:
        return
    strikes = draft.state.strikes + 1
    draft.state = replace(draft.state, strikes=strikes)
    if strikes < policy.strikes:
        return
    if against := _against(draft.state, look, policy, now_s):
        key, why = against
        draft.holding[key] = f"{draft.health} ({draft.reason}) but NOT restarted: {why}"
        return
    draft.action = Do.RESTART
    draft.holding["restart"] = f"{draft.health} ({draft.reason}) {strikes} times in a row: restarting"


def _against(state: WatchState, look: Look, policy: WatchPolicy, now_s: float) -> tuple[str, str] | None:
    """Why an engine with enough strikes is not restarted now: a key and a sentence."""
    if not policy.restart:
        return "only-looks", "this watchdog only looks"
    if look.presence is Presence.UNKNOWN:
        return "not-ours", "pitstop did not launch it, or cannot see it now, so it does not know how to start it"
    since_s = now_s - state.restarted_at_s[-1] if state.restarted_at_s else None
    if len(state.restarted_at_s) >= policy.restarts_per_day:
        return "budget", f"it was restarted {len(state.restarted_at_s)} times in a day, which is the budget"
    if since_s is not None and since_s < policy.cooldown_s:
        return "cooldown", f"it was restarted {since_s:.0f} s ago, and the cooldown is {policy.cooldown_s:.0f} s"
    return None


def _concluded(draft: _Draft, look: Look, policy: WatchPolicy, now_s: float) -> tuple[WatchState, Step]:
    """Tell what is new: a finding when it begins, and recovery when it has been bad."""
    watched_at_s = _watched_at_s(draft, look, now_s)
    if now_s - watched_at_s >= policy.idle_alert_s:
        minutes = policy.idle_alert_s / 60
        draft.holding["idle"] = f"the watchdog has watched nothing for {minutes:.0f} minutes: {draft.reason}"
    was = draft.state.health
    news = [text for key, text in draft.holding.items() if key not in draft.state.told]
    if not news and was is not None and was is not draft.health and _is_bad(was) != _is_bad(draft.health):
        healed = draft.health is Health.GENERATING
        news.append("generating again" if healed else f"{draft.health}: {draft.reason}")
    state = replace(
        draft.state,
        health=draft.health,
        last_work=look.after or look.before or draft.state.last_work,
        told=tuple(draft.holding),
        watched_at_s=watched_at_s,
    )
    return state, Step(draft.health, draft.reason, draft.strike, draft.action, tuple(news))


def _watched_at_s(draft: _Draft, look: Look, now_s: float) -> float:
    """When it last could have seen a failure; a watchdog that stands down for ever looks like one that works."""
    stopped = look.presence is Presence.STOPPED and look.probe is not Probe.TOKEN
    blind = draft.health is Health.CANNOT_ASK or stopped or look.lease is not Lease.NONE
    return draft.state.watched_at_s if blind and draft.state.watched_at_s is not None else now_s


def _is_young(look: Look, policy: WatchPolicy, now_s: float) -> bool:
    """By the container's own start; one that starts in the future has a clock problem, and is not young for ever."""
    return (
        look.presence is Presence.UP
        and look.started_at_s is not None
        and -60.0 <= now_s - look.started_at_s < policy.boot_grace_s
    )


def _works(state: WatchState, look: Look) -> bool:
    if look.after is None:
        return False
    return look.after.moved_since(look.before) or (look.before is None and look.after.moved_since(state.last_work))


def _with_boot(state: WatchState, look: Look) -> WatchState:
    """Remember this boot among those that gave no token, if it is a new one."""
    started = look.started_at_s
    if started is None or any(abs(started - seen) < 1.0 for seen in state.silent_boots_s):
        return state
    if state.last_token_at_s is not None and started <= state.last_token_at_s:
        return state
    return replace(state, silent_boots_s=(*state.silent_boots_s, started)[-20:])


def _notice_loop(draft: _Draft, policy: WatchPolicy) -> None:
    boots = len(draft.state.silent_boots_s)
    if boots >= policy.loop_boots:
        draft.holding["loop"] = f"crash loop: {boots} boots in a row without one token"


def _failed_health(look: Look) -> Health:
    if look.presence is Presence.ENDED:
        return Health.DEAD
    if look.probe is Probe.NO_LISTENER and look.presence is not Presence.UP:
        return Health.DEAD
    return Health.WEDGED


def _is_bad(health: Health) -> bool:
    return health in (Health.WEDGED, Health.DEAD, Health.UNREACHABLE, Health.CANNOT_ASK)
