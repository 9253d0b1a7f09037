"""One module per step. Each may be run again from its start, and ends in one transaction."""
