"""`python -m trainee2trainer.probe PORT`: exit 0 when the service on this machine takes requests.

For health checks of containers, whose images have no curl. Loads nothing but the standard library.
"""

import sys
import urllib.error
import urllib.request

SECONDS = 4.0


def takes_requests(port: int) -> bool:
    """Whether `/readyz` answers 200 in time."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=SECONDS) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


if __name__ == "__main__":
    sys.exit(0 if takes_requests(int(sys.argv[1])) else 1)
