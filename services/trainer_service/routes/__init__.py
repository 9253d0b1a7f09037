"""The service's resources, one module each."""
