"""docker-compose.yml as a container engine would read it, for tests that have none."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
_VARIABLE = re.compile(r"\$\{(\w+)(?:(:[?-])([^}]*))?\}")


class UnsetVariable(Exception):
    """A variable that must be set is not."""


def read() -> dict[str, Any]:
    """The file, its variables as they stand."""
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    return loaded


def interpolated(value: Any, environment: Mapping[str, str]) -> Any:
    """The value with its variables filled in. Raises UnsetVariable."""
    if isinstance(value, dict):
        return {key: interpolated(inner, environment) for key, inner in value.items()}
    if isinstance(value, list):
        return [interpolated(inner, environment) for inner in value]
    return _VARIABLE.sub(lambda found: _value(found, environment), value) if isinstance(value, str) else value


def _value(found: re.Match[str], environment: Mapping[str, str]) -> str:
    name, kind, word = found.groups()
    if environment.get(name):
        return environment[name]
    if kind == ":?":
        raise UnsetVariable(f"{name}: {word}")
    return word or ""


def built(services: Mapping[str, Any]) -> dict[str, Any]:
    """The services made of our own images."""
    return {name: service for name, service in services.items() if "build" in service}
