"""Tells a person, through apprise; never the reason why something else fails."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

_DEADLINE_S = 30.0


async def notify(names: Sequence[str], environ: Mapping[str, str], title: str, body: str) -> str:
    """Send to the apprise URLs in the environment variables `names`; returns what went wrong, or an empty string.

    The URLs hold credentials: neither they nor apprise's own messages are repeated.
    """
    if not names:
        return ""
    urls = [url for name in names for url in environ.get(name, "").split()]
    missing = [name for name in names if not environ.get(name, "").strip()]
    problems = [f"{name} is not set" for name in missing]
    if urls:
        try:
            sent = await asyncio.wait_for(asyncio.to_thread(_send, urls, title, body), _DEADLINE_S)
            problems += [] if sent else [f"{len(urls)} notification(s) were not taken by their service"]
        except TimeoutError:
            problems.append("a notification service did not answer in time")
        except Exception as error:  # noqa: BLE001 - a plug-in of apprise may raise anything
            problems.append(f"notifying failed: {type(error).__name__}")
    return "; ".join(problems)


def _send(urls: Sequence[str], title: str, body: str) -> bool:
    import apprise  # noqa: PLC0415 - 40 MB and half a second, needed only when there is something to tell

    messenger = apprise.Apprise()
    added = [messenger.add(url) for url in urls]
    return all(added) and bool(messenger.notify(body=body, title=title))
