"""Benchmark sets by name: what they follow from, how they are built, how answers to them are scored."""
