"""The one Alembic tree, for SQLite and PostgreSQL alike. `trainee2trainer.store.migrate` runs it."""
