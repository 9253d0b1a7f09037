"""`python -m trainer_service.training SPEC.json`: one stage, then `done.json` as the last thing written.

Exit codes: 0 done, 74 the disk is full, 75 told to end by SIGTERM and ready to go on from its checkpoint,
others failed.
"""

import json
import os
import sys
import time
import traceback
from pathlib import Path

from accelerate import PartialState

from trainer_service import disk, leash
from trainer_service.training import grpo
from trainer_service.training import spec as names
from trainer_service.training.launcher import PARENT
from trainer_service.training.spec import TrainingSpec


def main(path: Path) -> None:
    # TRL tells at every start that `rollout_func` may change; our pin of its version is the answer to that.
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    if launched_by := os.environ.get(PARENT):
        leash.tie_to(int(launched_by))
    started = time.perf_counter()
    spec = TrainingSpec.model_validate_json(path.read_text(encoding="utf-8"))
    try:
        if not grpo.run(spec):
            sys.exit(names.EXIT_DRAINED)
        if PartialState().is_main_process:
            _finish(spec.folder, time.perf_counter() - started)
    except Exception as error:
        if not disk.is_full(error):
            raise
        traceback.print_exc()
        # At once: what a usual end still flushes would fail too, and change the exit code.
        os._exit(names.EXIT_DISK_FULL)


def _finish(folder: Path, seconds: float) -> None:
    fresh = folder / f"{names.DONE}.tmp"
    with fresh.open("w", encoding="utf-8") as file:
        json.dump({"seconds": seconds}, file)
        file.flush()
        os.fsync(file.fileno())
    fresh.rename(folder / names.DONE)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
