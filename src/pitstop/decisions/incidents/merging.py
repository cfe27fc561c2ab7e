"""One failure that several logs tell of."""

from __future__ import annotations

from collections.abc import Iterable

from pitstop.decisions.incidents.failures import FOLLOWS_S, SAME_FAILURE_S, Failure, apart
from pitstop.decisions.incidents.signatures import Role
from pitstop.decisions.incidents.story import Story


def merge_sources(stories: Iterable[Story]) -> list[Failure]:
    """One failure seen by several ranks is one: victims and echoes go to the cause that another log tells."""
    told = list(stories)
    failures = [failure for story in told for failure in story.failures]
    ranks = {story.source: story.ranks for story in told}
    causes = [failure for failure in failures if failure.root.is_primary or failure.root.role is Role.WAIT]
    merged: list[Failure] = []
    for failure in failures:
        home = next((one for one in (*merged, *causes) if _one_failure(one, failure, ranks)), None)
        if home is None:
            merged.append(failure)
        elif home is not failure:
            home.events += failure.events
            home.sources += [source for source in failure.sources if source not in home.sources]
            home.ended = home.ended or failure.ended
    return merged


def _one_failure(home: Failure, other: Failure, ranks: dict[str, frozenset[int]]) -> bool:
    if home is other or set(home.sources) & set(other.sources):
        return False
    if not other.root.is_primary and other.root.role is not Role.WAIT:
        return not apart(home.root, other.root, FOLLOWS_S)
    mine, theirs = (frozenset().union(*(ranks[source] for source in one.sources)) for one in (home, other))
    return bool(mine and theirs and not mine & theirs) and not apart(home.root, other.root, SAME_FAILURE_S)
