"""The env service."""
