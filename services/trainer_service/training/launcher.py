"""`python -m trainer_service.training.launcher ARGS...`: `accelerate launch ARGS...`, which outlives a SIGTERM.

The signal goes to the whole process group. The training processes leave a checkpoint and end; were the
launcher gone before them, they would be killed at it.
"""

import os
import signal

from accelerate.commands.launch import main

PARENT = "T2T_TRAINING_LAUNCHER"
"""The launcher's process id, for the training processes to die with it."""

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.environ[PARENT] = str(os.getpid())
    main()
