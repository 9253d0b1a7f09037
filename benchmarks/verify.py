"""Verdicts per CPU second: in process, and over HTTP from a real server, beside plain Python's rules.

`make bench NAME=verify`. Half of the plans are optimal ones, half are random moves. The peer of every figure is the
plain Python reference executing the same plans, without reading an answer or writing an outcome.
"""

import gc
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import httpx
import psutil
from figures import Figures

from env_service.compiled import core
from env_service.compiled.executing import execute_all
from env_service.generator import Batch
from env_service.grid import ACTIONS
from env_service.prompts import TEMPLATES
from env_service.records import to_instance
from env_service.rules import execute
from env_service.verifier import Item, judge_all, read
from trainee2trainer.contracts.environment import EnvironmentConfig, RewardWeights, SizeKnobs, Split

KNOBS = SizeKnobs(data_ratio=1.0, hole_ratio=0.2, wait_ratio=0.2)
CONFIGURATION = EnvironmentConfig(agents=3, sizes=dict.fromkeys((4, 6, 8), KNOBS))
BOARDS = 2_048
BATCH = 2_048
ROUNDS = 5
REWARDS = RewardWeights()


def items() -> list[Item]:
    dice, result = random.Random(1), []
    batch = Batch(CONFIGURATION, 1, BOARDS, split=Split.TRAIN, find=core.find)
    for made in (made for chunk in batch.chunks() for made in chunk):
        task, certificate = made.candidate.task, made.candidate.certificate
        id_ = to_instance(made, batch.configuration_id, 1).id
        optima = certificate.optima
        noise = [[dice.randrange(5) for _ in lane] for lane in certificate.plan]
        result += [Item(task, optima, plan, id_) for plan in (certificate.plan, noise)]
    return result


def rate(work: Callable[[], object], count: int) -> float:
    """Plans per CPU second of this process, the best of some rounds."""
    best = 0.0
    for _ in range(ROUNDS):
        started = time.process_time()
        work()
        best = max(best, count / (time.process_time() - started))
    return best


def read_and_judge(judged: list[Item], answers: list[str]) -> object:
    again = [
        item._replace(plan=read(item.task, answer)) for item, answer in zip(judged, answers, strict=True)
    ]
    return judge_all(again, REWARDS, execute_all)


class Server:
    """The env service by itself in a folder of its own."""

    def __enter__(self) -> "Server":
        self.folder = tempfile.TemporaryDirectory()
        self.port = 9_870
        environment = {**os.environ, "T2T_DATA_DIR": self.folder.name, "T2T_PORT_BASE": str(self.port)}
        subprocess.run([sys.executable, "-m", "trainee2trainer.cli", "migrate"], env=environment, check=True)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "env_service"], env=environment, stdout=subprocess.DEVNULL
        )
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port + 1}", timeout=60)
        for _ in range(1_200):
            try:
                if self.client.get("/readyz").json()["status"] == "ready":
                    return self
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        raise TimeoutError("the service was not ready within two minutes")

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def rate(self, bodies: list[bytes], count: int) -> float:
        """Plans per CPU second of the server's own process, its workers having nothing to do."""
        process, best = psutil.Process(self.process.pid), 0.0
        for _ in range(ROUNDS):
            before = sum(process.cpu_times()[:2])
            for body in bodies:
                answer = self.client.post(
                    "/v1/verify:batch", content=body, headers={"Content-Type": "application/json"}
                )
                answer.raise_for_status()
            best = max(best, count / (sum(process.cpu_times()[:2]) - before))
        return best


def bodies(rows: list[dict[str, object]]) -> list[bytes]:
    return [
        json.dumps({"items": rows[start : start + BATCH]}).encode() for start in range(0, len(rows), BATCH)
    ]


def main() -> None:
    figures = Figures.of_command("verdicts per CPU second", __doc__)
    judged = items()
    count = len(judged)
    plain = TEMPLATES["plain-v1"]
    answers = [plain.answer(item.task, item.plan or []) for item in judged]
    gc.freeze()
    execute_all([(item.task, item.plan or []) for item in judged], 1_000)
    peer = rate(lambda: [execute(item.task, item.plan or []) for item in judged], count)
    figures.add("plain Python, executed only", peer, "plans/CPU s")
    pairs = [(item.task, item.plan or []) for item in judged]
    figures.add(
        "compiled, executed only", rate(lambda: execute_all(pairs, 1_000), count), "plans/CPU s", peer
    )
    in_process = rate(lambda: judge_all(judged, REWARDS, execute_all), count)
    figures.add("in process, plans judged", in_process, "plans/CPU s", peer)
    texts = rate(lambda: read_and_judge(judged, answers), count)
    figures.add("in process, answers read and judged", texts, "plans/CPU s", peer)
    with Server() as server:
        generate = {
            "configuration": CONFIGURATION.model_dump(mode="json"),
            "seed": 1,
            "count": BOARDS,
        }
        server.client.post("/v1/instances:generate", json=generate).raise_for_status()
        plans = [
            {
                "instance_id": item.instance_id,
                "plan": [[ACTIONS[a] for a in lane] for lane in item.plan or []],
            }
            for item in judged
        ]
        over_http = server.rate(bodies(plans), count)
        figures.add("over HTTP, plans by instance id", over_http, "plans/CPU s", peer)
        figures.add("in process beside over HTTP", in_process, "plans/CPU s", over_http)
        rows = [{"instance_id": i.instance_id, "answer": t} for i, t in zip(judged, answers, strict=True)]
        figures.add(
            "over HTTP, answers by instance id", server.rate(bodies(rows), count), "plans/CPU s", peer
        )
    figures.write()


if __name__ == "__main__":
    main()
