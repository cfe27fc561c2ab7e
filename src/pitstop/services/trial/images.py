"""The images of a trial stay on the machine until production is back: a restore never pulls."""

from __future__ import annotations

from collections.abc import Iterator

from pitstop.core.errors import PitstopError
from pitstop.launch.container import Container
from pitstop.launch.containers import engine_of
from pitstop.launch.kept_images import keep, let_go
from pitstop.services.site import Site
from pitstop.services.trial.promise import Promise


class ContainerImages:
    """Of engines that run as containers; of others there is nothing to keep.

    That it could not be done is no reason to end a trial: a machine on which nothing is cleaned away needs none of it.
    """

    async def keep(self, site: Site, promise: Promise) -> str:
        """Keep production's image, and those of the arms that are known beforehand; why some are not, in words."""
        try:
            if (found := await _container(site, promise)) is None:
                return ""
            images = [found.image, *known_images(promise)]
            return "\n".join(await keep(engine_of(promise.production), promise.id, images))
        except PitstopError as error:
            return str(error)

    async def let_go(self, site: Site, promise: Promise) -> str:
        """After production is proved; why they are still kept, in words."""
        try:
            if await _container(site, promise) is not None:
                await let_go(engine_of(promise.production), promise.id)
        except PitstopError as error:
            return str(error)
        return ""


def known_images(promise: Promise) -> Iterator[str]:
    """What docker's arms run from; a script's or a compose file's do not say. Pure."""
    for arm in promise.arms:
        if arm.spec.launcher == "docker" and arm.spec.image:
            yield arm.spec.options.get("image_id") or arm.spec.image


async def _container(site: Site, promise: Promise) -> Container | None:
    return await site.launcher.container(promise.production) if site.launcher is not None else None
