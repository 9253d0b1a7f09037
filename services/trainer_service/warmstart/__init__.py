"""The nano rung's starting checkpoint: supervised learning of optimal plans and of engineer exchanges."""
