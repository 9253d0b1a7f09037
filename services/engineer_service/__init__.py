"""Evidence of a stage in, the configuration of the next one out. Knows no policy and no board from inside."""
