"""Whether a tag still means the digest that is pinned. What cannot be known now is neither drift nor health."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class PinStatus(StrEnum):
    MATCH = "match"  # the tag points at the pinned digest
    MATCH_PLATFORM = "match-platform"  # the tag's index holds the pinned digest as the entry for this platform
    MOVED = "moved"
    GONE = "gone"
    WRONG_PLATFORM = "wrong-platform"  # what is pinned does not run here
    UNVERIFIABLE = "unverifiable"  # nothing that a registry could confirm: a local build, a name without digest
    UNKNOWN = "unknown"  # the registry could not be asked now


DRIFT = (PinStatus.MOVED, PinStatus.GONE, PinStatus.WRONG_PLATFORM)


@dataclass(frozen=True)
class Platform:
    os: str
    architecture: str
    variant: str = ""

    def runs(self, other: Platform) -> bool:
        """Whether an image for the other platform runs on this one; variants only differ on 32-bit ARM."""
        same = (self.os, self.architecture) == (other.os, other.architecture)
        arm = self.architecture == "arm" and self.variant and other.variant
        return same and (not arm or self.variant == other.variant)

    def __str__(self) -> str:
        return "/".join(part for part in (self.os, self.architecture, self.variant) if part)


@dataclass(frozen=True)
class Entry:
    """One manifest of an index. Attestations have the platform unknown/unknown and are none."""

    digest: str
    platform: Platform | None


@dataclass(frozen=True)
class Manifest:
    """What a registry answered: an index with entries, or a single manifest with the platform its config names."""

    digest: str
    entries: tuple[Entry, ...] = ()
    platform: Platform | None = None  # of a single manifest; None: not known

    def entry_for(self, platform: Platform) -> Entry | None:
        return next((one for one in self.entries if one.platform and platform.runs(one.platform)), None)

    def refuses(self, platform: Platform) -> bool:
        """Whether it is known not to run there."""
        if self.entries:
            return self.entry_for(platform) is None
        return self.platform is not None and not platform.runs(self.platform)

    @property
    def offers(self) -> str:
        known = [str(one.platform) for one in self.entries if one.platform] or [str(self.platform or "unknown")]
        return ", ".join(known)


@dataclass(frozen=True)
class Absent:
    """The registry knows no such tag or digest."""

    reason: str


@dataclass(frozen=True)
class Unanswered:
    """The registry could not be asked; `denied` when it answered and wants to know who asks."""

    reason: str
    denied: bool = False


Answer = Manifest | Absent | Unanswered


@dataclass(frozen=True)
class Judgement:
    status: PinStatus
    reason: str
    upstream_digest: str | None = None


def judge(
    pinned: str, tag: str | None, by_tag: Answer | None, by_digest: Answer | None, platform: Platform
) -> Judgement:
    """Compare a pinned digest with what the registry says of its tag, and of the digest itself."""
    asked = by_tag if tag else by_digest
    match asked:
        case None:
            return Judgement(PinStatus.UNKNOWN, "the registry was not asked")
        case Unanswered():
            return Judgement(PinStatus.UNKNOWN, asked.reason)
        case Absent():
            return Judgement(PinStatus.GONE, _gone(tag, asked, by_digest))
        case Manifest():
            return _compared(pinned, tag, asked, by_digest, platform)


def judge_local(digests: Sequence[str], by_tag: Answer, platform: Platform) -> Judgement:
    """An image without a pin, by the digests under which this machine knows it."""
    if isinstance(by_tag, Absent):
        return Judgement(PinStatus.UNVERIFIABLE, f"not published: {by_tag.reason}; probably a local build")
    if isinstance(by_tag, Manifest):
        found = [judge(digest, "its tag", by_tag, None, platform) for digest in digests]
        best = next((one for one in found if one.status is not PinStatus.MOVED), found[0])
        return Judgement(best.status, f"not pinned; the image on this machine: {best.reason}", best.upstream_digest)
    return Judgement(PinStatus.UNKNOWN, by_tag.reason)


def _gone(tag: str | None, absent: Absent, by_digest: Answer | None) -> str:
    if not tag:
        return f"the digest is gone: {absent.reason}"
    match by_digest:
        case Manifest():
            return f"the tag {tag} is gone ({absent.reason}); the pinned digest can still be had"
        case Absent():
            return f"the tag {tag} is gone ({absent.reason}), and so is the pinned digest: a copy here is the last one"
    return f"the tag {tag} is gone ({absent.reason}); whether the digest can be had is not known"


def _compared(pinned: str, tag: str | None, found: Manifest, by_digest: Answer | None, platform: Platform) -> Judgement:
    entry = next((one for one in found.entries if one.digest == pinned), None)
    if found.digest == pinned and found.refuses(platform):
        return _wrong(found.offers, platform, found.digest)
    if found.digest == pinned:
        unknown = "" if found.entries or found.platform else "; its architecture is not known"
        return Judgement(PinStatus.MATCH, f"{tag or 'the digest'} is what is pinned{unknown}", found.digest)
    if entry is not None and entry.platform is not None and not platform.runs(entry.platform):
        return _wrong(str(entry.platform), platform, found.digest)
    if entry is not None or _is_entry_of(found, by_digest, platform):
        reason = f"the pin and {tag} agree in the entry for {platform}, not in the index"
        return Judgement(PinStatus.MATCH_PLATFORM, reason, found.digest)
    return Judgement(PinStatus.MOVED, _moved(tag, found, by_digest, platform), found.digest)


def _is_entry_of(found: Manifest, by_digest: Answer | None, platform: Platform) -> bool:
    """The other way round: the index is pinned, and the tag is one of its platforms."""
    if not isinstance(by_digest, Manifest):
        return False
    return any(one.digest == found.digest and one.platform and platform.runs(one.platform) for one in by_digest.entries)


def _moved(tag: str | None, found: Manifest, by_digest: Answer | None, platform: Platform) -> str:
    still = {
        Manifest: "; the pinned digest can still be had",
        Absent: "; the pinned digest is gone from the registry",
    }.get(type(by_digest), "")
    other = f"; what it is now does not run on {platform}" if found.refuses(platform) else ""
    return f"{tag} points at {found.digest} now{still}{other}"


def _wrong(offers: str, platform: Platform, digest: str) -> Judgement:
    return Judgement(PinStatus.WRONG_PLATFORM, f"what is pinned is for {offers}, and this is {platform}", digest)
