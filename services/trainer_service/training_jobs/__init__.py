"""Training jobs: one stage of training by itself, for callers who steer on their own."""
