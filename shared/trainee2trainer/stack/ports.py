"""Whether the ports that the stack needs are free."""

import socket

from trainee2trainer.settings import REDIS_PORT_OFFSET, SERVICES, Settings

REDIS = "valkey"


def wanted(settings: Settings) -> dict[str, int]:
    """Each listening process of the stack and its port."""
    ports = {service: settings.port(service) for service in SERVICES}
    if settings.redis_url is None:
        ports[REDIS] = settings.port_base + REDIS_PORT_OFFSET
    return ports


def taken(settings: Settings) -> dict[str, int]:
    """Those that somebody else listens on."""
    return {name: port for name, port in wanted(settings).items() if not _free(settings.host, port)}


def explain(clashes: dict[str, int]) -> str:
    """What to tell the user about taken ports."""
    lines = [
        f"Port {port}, wanted by {name}, is in use by another process." for name, port in clashes.items()
    ]
    lines.append(
        "Stop that process (another stack?), or move all ports: set T2T_PORT_BASE, for example to 9700."
    )
    return "\n".join(lines)


def _free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listener:
        # As the servers do: a connection that is still being forgotten is no reason to refuse.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError:
            return False
        return True
