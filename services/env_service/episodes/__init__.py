"""Interactive episodes: played step by step, and held by the store alone."""
