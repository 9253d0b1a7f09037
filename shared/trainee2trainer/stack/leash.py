"""`python leash.py PARENT COMMAND...`: becomes COMMAND, which the kernel then ends together with PARENT.

A file of its own, run without site-packages: each process of the stack goes through it.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":  # elsewhere only an orderly stop takes everything along
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("The stack ended while this process was being started.")
    os.execv(command[0], command)  # noqa: S606  # no shell is wanted; the wish above outlives exec


if __name__ == "__main__":
    main()
