"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "boot",
        sa.Column("boot", sa.String(), nullable=False),
        sa.Column("ruler", sa.String(), nullable=False),
        sa.Column("case", sa.String(), nullable=False),
        sa.Column("metric", sa.String(), nullable=False),
        sa.Column("engine_kind", sa.String(), nullable=False),
        sa.Column("configuration", sa.String(), nullable=False),
        sa.Column("pair", sa.String(), nullable=True),
        sa.Column("at", sa.String(), nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("boot", "ruler", "case", "metric"),
    )
    op.create_index("boot_by_figure", "boot", ["engine_kind", "ruler", "case", "metric", "at"], unique=False)
    op.create_table(
        "exposure",
        sa.Column("spell", sa.String(), nullable=False),
        sa.Column("engine", sa.String(), nullable=False),
        sa.Column("configuration", sa.String(), nullable=False),
        sa.Column("started_at", sa.String(), nullable=False),
        sa.Column("ended_at", sa.String(), nullable=False),
        sa.Column("hours_up", sa.Float(), nullable=False),
        sa.Column("boots", sa.Integer(), nullable=False),
        sa.Column("requests", sa.Integer(), nullable=True),
        sa.Column("tokens", sa.Integer(), nullable=True),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("spell"),
    )
    op.create_index("exposure_by_configuration", "exposure", ["configuration", "started_at"], unique=False)
    op.create_index("exposure_by_engine", "exposure", ["engine", "started_at"], unique=False)
    op.create_table(
        "incident",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("at", sa.String(), nullable=False),
        sa.Column("signature", sa.String(), nullable=False),
        sa.Column("engine", sa.String(), nullable=True),
        sa.Column("configuration", sa.String(), nullable=True),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("incident_by_engine", "incident", ["engine", "at"], unique=False)
    op.create_index("incident_by_signature", "incident", ["signature", "at"], unique=False)
    op.create_index("incident_by_time", "incident", ["at", "id"], unique=False)
    op.create_table(
        "pin",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("engine", sa.String(), nullable=False),
        sa.Column("at", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("engine", "at", "digest", name="pin_once"),
    )
    op.create_table(
        "run",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("trial_id", sa.String(), nullable=True),
        sa.Column("arm", sa.String(), nullable=True),
        sa.Column("started_at", sa.String(), nullable=False),
        sa.Column("engine_kind", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("engine_version", sa.String(), nullable=True),
        sa.Column("image_digest", sa.String(), nullable=True),
        sa.Column("fingerprint", sa.String(), nullable=True),
        sa.Column("figures", sa.Integer(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("run_by_model", "run", ["model", "started_at"], unique=False)
    op.create_index("run_by_time", "run", ["started_at", "id"], unique=False)
    op.create_index("run_by_trial", "run", ["trial_id", "started_at"], unique=False)
    op.create_table(
        "transition",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("trial_id", sa.String(), nullable=False),
        sa.Column("at", sa.String(), nullable=False),
        sa.Column("from_state", sa.String(), nullable=False),
        sa.Column("to_state", sa.String(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("trial_id", "at", "from_state", "to_state", name="transition_once"),
    )
    op.create_table(
        "trial",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("engine", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("started_at", sa.String(), nullable=False),
        sa.Column("finished_at", sa.String(), nullable=True),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("trial_by_time", "trial", ["started_at", "id"], unique=False)
    op.create_table(
        "figure",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("started_at", sa.String(), nullable=False),
        sa.Column("ruler", sa.String(), nullable=False),
        sa.Column("case", sa.String(), nullable=False),
        sa.Column("metric", sa.String(), nullable=False),
        sa.Column("unit", sa.String(), nullable=False),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "ordinal"),
    )
    op.create_index("figure_by_name", "figure", ["ruler", "case", "metric", "started_at"], unique=False)
    op.create_table(
        "sample",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["run_id", "ordinal"], ["figure.run_id", "figure.ordinal"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "ordinal", "position"),
        sqlite_with_rowid=False,
    )
