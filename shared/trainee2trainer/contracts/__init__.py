"""Every message between services, as pydantic models. Imports nothing else of ours."""
