"""How a ledger of an older pitstop becomes one of this: Alembic steps, run when the ledger is opened."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Bring the schema up to date inside the caller's transaction; nothing is left half done when it fails."""
    from alembic import command  # noqa: PLC0415  # slow to import
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
