"""`python -m trainer_service.leash PARENT MODULE ARGS...`: a module in a process that dies with its parent.

Without this a killed worker leaves its training process running, beside the one that the next worker starts.
"""

import ctypes
import os
import runpy
import signal
import sys
import threading
import time

_PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, module = int(sys.argv[1]), sys.argv[2]
    tie_to(parent)
    sys.argv = sys.argv[2:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def tie_to(parent: int) -> None:
    """Lets this process die when `parent`, which must be its parent, does."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    else:  # no such wish can be told to the kernel: look now and then
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    if os.getppid() != parent:
        # It died before we could ask.
        os.kill(os.getpid(), signal.SIGKILL)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
