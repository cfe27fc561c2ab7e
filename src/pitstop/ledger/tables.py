"""The ledger's tables as they are now. A change needs a new step in `migrations/versions`; a test compares the two.

Documents are kept whole, as the JSON that others read; beside them lies, in columns, what lists and statistics ask
for. Instants are ISO 8601 in UTC with microseconds, so that text sorts as time does.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

SCHEMA = "0002"  # the newest step in migrations/versions; a ledger beyond it belongs to a newer pitstop
VERSION_TABLE = "pitstop_schema"

metadata = MetaData()

run = Table(
    "run",
    metadata,
    Column("id", String, primary_key=True),
    Column("trial_id", String),
    Column("arm", String),
    Column("started_at", String, nullable=False),
    Column("engine_kind", String, nullable=False),
    Column("model", String, nullable=False),
    Column("engine_version", String),
    Column("image_digest", String),
    Column("fingerprint", String),
    Column("figures", Integer, nullable=False),
    Column("document", Text, nullable=False),
    Index("run_by_time", "started_at", "id"),
    Index("run_by_trial", "trial_id", "started_at"),
    Index("run_by_model", "model", "started_at"),
)

figure = Table(
    "figure",
    metadata,
    Column("run_id", ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    Column("started_at", String, nullable=False),
    Column("ruler", String, nullable=False),
    Column("case", String, nullable=False),
    Column("metric", String, nullable=False),
    Column("unit", String, nullable=False),
    Column("value", Float),
    Column("status", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("source", String, nullable=False),
    Column("n", Integer, nullable=False),
    Index("figure_by_name", "ruler", "case", "metric", "started_at"),
)

sample = Table(
    "sample",
    metadata,
    Column("run_id", String, primary_key=True),
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("value", Float, nullable=False),
    ForeignKeyConstraint(["run_id", "ordinal"], ["figure.run_id", "figure.ordinal"], ondelete="CASCADE"),
    sqlite_with_rowid=False,  # its key is all it is looked up by
)

trial = Table(
    "trial",
    metadata,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("engine", String, nullable=False),
    Column("state", String, nullable=False),
    Column("started_at", String, nullable=False),
    Column("finished_at", String),
    Column("document", Text, nullable=False),
    Index("trial_by_time", "started_at", "id"),
)

transition = Table(
    "transition",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("trial_id", String, nullable=False),
    Column("at", String, nullable=False),
    Column("from_state", String, nullable=False),
    Column("to_state", String, nullable=False),
    Column("detail", Text, nullable=False),
    # What makes a replay of the journal write nothing twice; it is also the index that lists use.
    UniqueConstraint("trial_id", "at", "from_state", "to_state", name="transition_once"),
)

boot = Table(
    "boot",
    metadata,
    Column("boot", String, primary_key=True),
    Column("ruler", String, primary_key=True),
    Column("case", String, primary_key=True),
    Column("metric", String, primary_key=True),
    Column("engine_kind", String, nullable=False),
    Column("configuration", String, nullable=False),
    Column("pair", String),
    Column("at", String, nullable=False),
    Column("value", Float, nullable=False),
    Index("boot_by_figure", "engine_kind", "ruler", "case", "metric", "at"),
)

incident = Table(
    "incident",
    metadata,
    Column("id", String, primary_key=True),
    Column("at", String, nullable=False),
    Column("signature", String, nullable=False),
    Column("engine", String),
    Column("configuration", String),
    Column("document", Text, nullable=False),
    Index("incident_by_time", "at", "id"),
    Index("incident_by_signature", "signature", "at"),
    Index("incident_by_engine", "engine", "at"),
)

exposure = Table(
    "exposure",
    metadata,
    Column("spell", String, primary_key=True),
    Column("engine", String, nullable=False),
    Column("configuration", String, nullable=False),
    Column("started_at", String, nullable=False),
    Column("ended_at", String, nullable=False),
    Column("hours_up", Float, nullable=False),
    Column("boots", Integer, nullable=False),
    Column("requests", Integer),
    Column("tokens", Integer),
    Column("document", Text, nullable=False),
    Index("exposure_by_engine", "engine", "started_at"),
    Index("exposure_by_configuration", "configuration", "started_at"),
)

pin = Table(
    "pin",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("engine", String, nullable=False),
    Column("at", String, nullable=False),
    Column("digest", String, nullable=False),
    Column("document", Text, nullable=False),
    UniqueConstraint("engine", "at", "digest", name="pin_once"),
)

gateway_request = Table(
    "gateway_request",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", String, nullable=False),
    Column("request_id", String, nullable=False),
    Column("key", String, nullable=False),
    Column("route", String, nullable=False),
    Column("answered_by", String, nullable=False),
    Column("engine", String, nullable=False),
    Column("api", String, nullable=False),
    Column("stream", Boolean, nullable=False),
    Column("status", Integer, nullable=False),
    Column("outcome", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("failures", Text, nullable=False),
    Column("prompt_tokens", Integer),
    Column("completion_tokens", Integer),
    Column("reasoning_tokens", Integer),
    Column("cached_tokens", Integer),
    Column("ttft_s", Float),
    Column("e2e_s", Float, nullable=False),
    Column("held_s", Float, nullable=False),
    Column("thinking_budget", Integer),
    Column("budget_kept", String),
    Index("gateway_request_by_time", "at"),
    Index("gateway_request_by_key", "key", "at"),
)
