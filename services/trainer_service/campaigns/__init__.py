"""Campaigns: a state machine of small steps, each idempotent, resumable and ended by one transaction."""
