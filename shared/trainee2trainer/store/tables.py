"""The tables. JSON columns hold a contract's own JSON; what is searched by has a column of its own."""

from datetime import UTC, datetime
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from trainee2trainer.store.database import utcnow


class Timestamp(TypeDecorator[datetime]):
    """UTC with its zone on both databases: SQLite forgets zones, and a naive time would read as local."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value if value is None or value.tzinfo else value.replace(tzinfo=UTC)


class Base(DeclarativeBase):
    # Names that are the same on both databases, so that a later revision can drop a constraint by its name.
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_label)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        datetime: Timestamp,
        dict[str, Any]: JSON,
        list[Any]: JSON,
    }


class InstanceRecord(Base):
    """A generated instance, so that its id alone is enough to verify an answer on any replica."""

    __tablename__ = "instances"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    content: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(default=utcnow)


class EpisodeRecord(Base):
    """An interactive episode: its board and the actions so far are all there is to it."""

    __tablename__ = "episodes"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    setup: Mapped[dict[str, Any]]
    actions: Mapped[str] = mapped_column(Text)
    steps: Mapped[int]
    ended: Mapped[str | None] = mapped_column(String(16))
    created_at: Mapped[datetime]
    touched_at: Mapped[datetime]

    __table_args__ = (Index("ix_episodes_ended_touched", "ended", "touched_at"),)


class CheckpointRecord(Base):
    """The row is the commit: a directory without it does not exist for anybody."""

    __tablename__ = "checkpoints"

    id: Mapped[str] = mapped_column(String(128), primary_key=True)
    profile: Mapped[str] = mapped_column(String(32))
    parent_id: Mapped[str | None] = mapped_column(ForeignKey("checkpoints.id"))
    campaign_id: Mapped[str | None] = mapped_column(String(64), index=True)
    stage_index: Mapped[int | None]
    manifest_sha256: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime] = mapped_column(default=utcnow)


class CampaignRecord(Base):
    __tablename__ = "campaigns"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    status: Mapped[str] = mapped_column(String(16), index=True)
    settings: Mapped[dict[str, Any]]
    stage_index: Mapped[int] = mapped_column(default=0)
    base_checkpoint: Mapped[str] = mapped_column(ForeignKey("checkpoints.id"))
    baseline: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    error: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    finished_at: Mapped[datetime | None]
    lease_owner: Mapped[str | None] = mapped_column(String(128))
    lease_until: Mapped[datetime | None]
    # Rises with every claim; a write that carries an older one is refused.
    fencing_token: Mapped[int] = mapped_column(default=0)


class ComparisonRecord(Base):
    """Which campaigns belong together. How far they are is theirs to tell."""

    __tablename__ = "comparisons"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    settings: Mapped[dict[str, Any]]
    arms: Mapped[list[Any]]  # [engineer, seed, campaign id], in the order created
    created_at: Mapped[datetime] = mapped_column(default=utcnow)


class StageRecord(Base):
    __tablename__ = "stages"

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaigns.id"), primary_key=True)
    index: Mapped[int] = mapped_column("stage_index", Integer, primary_key=True)
    step: Mapped[str] = mapped_column(String(16))
    configuration: Mapped[dict[str, Any]]
    checkpoint_id: Mapped[str | None] = mapped_column(ForeignKey("checkpoints.id"))
    validation: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    reward_curve: Mapped[list[Any] | None] = mapped_column(JSON(none_as_null=True))
    summary_id: Mapped[str | None] = mapped_column(String(64))
    proposal_id: Mapped[str | None] = mapped_column(String(64))
    seconds: Mapped[dict[str, Any]] = mapped_column(default=dict)
    attempts: Mapped[int] = mapped_column(default=0)  # failed ones at the present step


class TrainingJobRecord(Base):
    __tablename__ = "training_jobs"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    status: Mapped[str] = mapped_column(String(16), index=True)
    settings: Mapped[dict[str, Any]]
    attempts: Mapped[int] = mapped_column(default=0)
    checkpoint_id: Mapped[str | None] = mapped_column(ForeignKey("checkpoints.id"))
    error: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    finished_at: Mapped[datetime | None]
    lease_owner: Mapped[str | None] = mapped_column(String(128))
    lease_until: Mapped[datetime | None]
    fencing_token: Mapped[int] = mapped_column(default=0)


class EventRecord(Base):
    """Append-only, numbered without a gap per subject: a campaign's or a training job's."""

    __tablename__ = "events"

    subject_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    number: Mapped[int] = mapped_column(Integer, primary_key=True)
    kind: Mapped[str] = mapped_column(String(64))
    data: Mapped[dict[str, Any]]
    at: Mapped[datetime] = mapped_column(default=utcnow)


class RolloutRecord(Base):
    """One judged answer, trained on or validated. What summaries count has a column."""

    __tablename__ = "rollouts"
    __table_args__ = (Index("ix_rollouts_subject", "subject_id", "stage_index", "phase", "size"),)

    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=True)
    subject_id: Mapped[str] = mapped_column(String(64))
    stage_index: Mapped[int]
    phase: Mapped[str] = mapped_column(String(16))  # train | validation
    step: Mapped[int]
    group: Mapped[int] = mapped_column("group_index")  # samples of one prompt share it
    instance_id: Mapped[str] = mapped_column(String(64))
    size: Mapped[int]
    needs_wait: Mapped[bool]
    valid: Mapped[bool]
    optimal: Mapped[bool]
    failure: Mapped[str | None] = mapped_column(String(32))
    reward: Mapped[float | None] = mapped_column(Float)  # null: we failed to score it
    makespan: Mapped[int | None]
    tokens: Mapped[int]
    answer: Mapped[str | None] = mapped_column(Text)  # kept for validation, the raw material of failure cases


class SummaryRecord(Base):
    __tablename__ = "summaries"
    __table_args__ = (UniqueConstraint("campaign_id", "stage_index"),)

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    campaign_id: Mapped[str] = mapped_column(String(64))
    stage_index: Mapped[int]
    content: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(default=utcnow)


class ProposalRecord(Base):
    """Unique per summary, engineer and seed: asking again returns the first answer."""

    __tablename__ = "proposals"
    __table_args__ = (UniqueConstraint("summary_id", "engineer", "seed"),)

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    campaign_id: Mapped[str] = mapped_column(String(64), index=True)
    stage_index: Mapped[int]
    summary_id: Mapped[str] = mapped_column(ForeignKey("summaries.id"))
    engineer: Mapped[str] = mapped_column(String(32))
    seed: Mapped[int] = mapped_column(BigInteger)
    status: Mapped[str] = mapped_column(String(32))
    content: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(default=utcnow)


class IdempotencyRecord(Base):
    """The answer once given to a key, so that a repeated request gets the same one."""

    __tablename__ = "idempotency_keys"

    scope: Mapped[str] = mapped_column(String(200), primary_key=True)
    key: Mapped[str] = mapped_column(String(200), primary_key=True)
    fingerprint: Mapped[str] = mapped_column(String(64))
    status: Mapped[int | None]
    headers: Mapped[dict[str, Any]] = mapped_column(default=dict)
    body: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
