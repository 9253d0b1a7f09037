"""Initial tables"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "checkpoints",
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("profile", sa.String(length=32), nullable=False),
        sa.Column("parent_id", sa.String(length=128), nullable=True),
        sa.Column("campaign_id", sa.String(length=64), nullable=True),
        sa.Column("stage_index", sa.Integer(), nullable=True),
        sa.Column("manifest_sha256", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["parent_id"], ["checkpoints.id"], name=op.f("fk_checkpoints_parent_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_checkpoints")),
    )
    op.create_index(op.f("ix_checkpoints_campaign_id"), "checkpoints", ["campaign_id"], unique=False)
    op.create_table(
        "events",
        sa.Column("subject_id", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("subject_id", "number", name=op.f("pk_events")),
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("scope", sa.String(length=200), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("headers", sa.JSON(), nullable=False),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("scope", "key", name=op.f("pk_idempotency_keys")),
    )
    op.create_table(
        "instances",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_instances")),
    )
    op.create_table(
        "rollouts",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("subject_id", sa.String(length=64), nullable=False),
        sa.Column("stage_index", sa.Integer(), nullable=False),
        sa.Column("phase", sa.String(length=16), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("group_index", sa.Integer(), nullable=False),
        sa.Column("instance_id", sa.String(length=64), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("needs_wait", sa.Boolean(), nullable=False),
        sa.Column("valid", sa.Boolean(), nullable=False),
        sa.Column("optimal", sa.Boolean(), nullable=False),
        sa.Column("failure", sa.String(length=32), nullable=True),
        sa.Column("reward", sa.Float(), nullable=True),
        sa.Column("makespan", sa.Integer(), nullable=True),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rollouts")),
    )
    op.create_index(
        "ix_rollouts_subject", "rollouts", ["subject_id", "stage_index", "phase", "size"], unique=False
    )
    op.create_table(
        "summaries",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("campaign_id", sa.String(length=64), nullable=False),
        sa.Column("stage_index", sa.Integer(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_summaries")),
        sa.UniqueConstraint("campaign_id", "stage_index", name=op.f("uq_summaries_campaign_id_stage_index")),
    )
    op.create_table(
        "campaigns",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("stage_index", sa.Integer(), nullable=False),
        sa.Column("base_checkpoint", sa.String(length=128), nullable=False),
        sa.Column("baseline", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease_owner", sa.String(length=128), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("fencing_token", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["base_checkpoint"], ["checkpoints.id"], name=op.f("fk_campaigns_base_checkpoint")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_campaigns")),
    )
    op.create_index(op.f("ix_campaigns_status"), "campaigns", ["status"], unique=False)
    op.create_table(
        "proposals",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("campaign_id", sa.String(length=64), nullable=False),
        sa.Column("stage_index", sa.Integer(), nullable=False),
        sa.Column("summary_id", sa.String(length=64), nullable=False),
        sa.Column("engineer", sa.String(length=32), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["summary_id"], ["summaries.id"], name=op.f("fk_proposals_summary_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_proposals")),
        sa.UniqueConstraint(
            "summary_id", "engineer", "seed", name=op.f("uq_proposals_summary_id_engineer_seed")
        ),
    )
    op.create_index(op.f("ix_proposals_campaign_id"), "proposals", ["campaign_id"], unique=False)
    op.create_table(
        "training_jobs",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("checkpoint_id", sa.String(length=128), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease_owner", sa.String(length=128), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("fencing_token", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["checkpoint_id"], ["checkpoints.id"], name=op.f("fk_training_jobs_checkpoint_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_training_jobs")),
    )
    op.create_index(op.f("ix_training_jobs_status"), "training_jobs", ["status"], unique=False)
    op.create_table(
        "stages",
        sa.Column("campaign_id", sa.String(length=64), nullable=False),
        sa.Column("stage_index", sa.Integer(), nullable=False),
        sa.Column("step", sa.String(length=16), nullable=False),
        sa.Column("configuration", sa.JSON(), nullable=False),
        sa.Column("checkpoint_id", sa.String(length=128), nullable=True),
        sa.Column("validation", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("reward_curve", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("summary_id", sa.String(length=64), nullable=True),
        sa.Column("proposal_id", sa.String(length=64), nullable=True),
        sa.Column("seconds", sa.JSON(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_stages_campaign_id")),
        sa.ForeignKeyConstraint(["checkpoint_id"], ["checkpoints.id"], name=op.f("fk_stages_checkpoint_id")),
        sa.PrimaryKeyConstraint("campaign_id", "stage_index", name=op.f("pk_stages")),
    )


def downgrade() -> None:
    op.drop_table("stages")
    op.drop_index(op.f("ix_training_jobs_status"), table_name="training_jobs")
    op.drop_table("training_jobs")
    op.drop_index(op.f("ix_proposals_campaign_id"), table_name="proposals")
    op.drop_table("proposals")
    op.drop_index(op.f("ix_campaigns_status"), table_name="campaigns")
    op.drop_table("campaigns")
    op.drop_table("summaries")
    op.drop_index("ix_rollouts_subject", table_name="rollouts")
    op.drop_table("rollouts")
    op.drop_table("instances")
    op.drop_table("idempotency_keys")
    op.drop_table("events")
    op.drop_index(op.f("ix_checkpoints_campaign_id"), table_name="checkpoints")
    op.drop_table("checkpoints")
