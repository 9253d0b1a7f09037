"""The engineer service."""
