"""MAPF-FrozenLake: boards, an exact solver, a generator, a verifier. Knows nothing of models."""
