"""Models: checkpoints on disk, and sampling from them. Only here the shared package loads torch."""
