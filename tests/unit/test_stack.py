"""The embedded stack: started whole or not at all, and never outlived by anything it started."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from support import free_ports

from trainee2trainer.settings import Settings
from trainee2trainer.stack import Stack, StackError, embedded, ports, valkey

Family = Callable[[], list[psutil.Process]]

UP = """
import time, sys
from trainee2trainer.settings import Settings
from trainee2trainer.stack import Stack
with Stack(Settings(), services=("env",)):
    print("up", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def settings(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    base = free_ports(5)
    monkeypatch.setenv("T2T_PORT_BASE", str(base))
    monkeypatch.setenv("T2T_DATA_DIR", str(data_dir))
    monkeypatch.setenv("T2T_ENV_WORKERS", "1")
    return Settings()


@pytest.fixture
def family() -> Family:
    """What this process has started since, and what that has: other tests' servers do not count."""
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    return lambda: [child for child in psutil.Process().children(recursive=True) if child.pid not in before]


def _gone(family: list[psutil.Process], within: float = 10) -> bool:
    _, alive = psutil.wait_procs(family, timeout=within)
    return not [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]


def test_nothing_remains_after_the_block(settings: Settings, family: Family) -> None:
    said: list[str] = []
    with Stack(settings, services=("env",), say=said.append) as stack:
        started = family()
        assert set(ports.taken(settings)) == {"env", "valkey"}
        stack.check()
        assert (settings.data_dir / "logs" / "worker.log").exists()
    assert said == ["valkey is ready", "store is migrated", "env is ready"]
    assert len(started) >= 4  # valkey, env, its searching process, the worker
    assert _gone(started)
    assert ports.taken(settings) == {}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=str)
def test_nothing_outlives_its_parent(settings: Settings, number: signal.Signals) -> None:
    parent = subprocess.Popen([sys.executable, "-c", UP], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert parent.stdout
        assert parent.stdout.readline() == b"up\n"
        started = psutil.Process(parent.pid).children(recursive=True)
        assert len(started) >= 4
        parent.send_signal(number)
        parent.wait(30)
        assert _gone(started)
        assert ports.taken(settings) == {}
    finally:
        parent.kill()
        parent.wait()


def test_a_taken_port_is_named_and_nothing_is_started(settings: Settings, family: Family) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", settings.port("policy")))
        other.listen()
        with pytest.raises(StackError) as error, Stack(settings):
            pass
    message = str(error.value)
    assert str(settings.port("policy")) in message
    assert "policy" in message
    assert "T2T_PORT_BASE" in message
    assert family() == []


def test_a_process_that_dies_at_the_start_is_shown_with_its_log(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, family: Family
) -> None:
    monkeypatch.setenv("T2T_ENV_WORKERS", "none")
    with pytest.raises(StackError, match="env process ended with exit code 1") as error:
        Stack(settings, services=("env",), worker=False).__enter__()
    assert "env_workers" in str(error.value)
    assert family() == []


def test_a_process_that_dies_later_is_noticed(settings: Settings, family: Family) -> None:
    with Stack(settings, services=(), worker=False) as stack:
        (server,) = family()
        server.kill()
        deadline = time.monotonic() + 5
        with pytest.raises(StackError, match="valkey process was killed by SIGKILL"):
            while time.monotonic() < deadline:
                stack.check()
                time.sleep(0.05)


def test_a_process_that_ignores_terminate_is_killed(settings: Settings) -> None:
    stubborn = (
        "import signal, time; signal.signal(15, signal.SIG_IGN); print('here', flush=True); time.sleep(99)"
    )
    log = settings.data_dir / "stubborn.log"
    from trainee2trainer.stack import processes

    child = processes.Child("stubborn", [sys.executable, "-c", stubborn], log, {})
    while not log.read_bytes():
        time.sleep(0.02)
    started = time.monotonic()
    processes.stop([child], grace=0.3)
    assert child.process.returncode == -signal.SIGKILL
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(("cores", "threads"), [(1, "1"), (2, "1"), (4, "2"), (64, "4")])
def test_threads_leave_cores_to_the_others(settings: Settings, cores: int, threads: str) -> None:
    seen = embedded.environment(settings, {"T2T_ENV_URL": "http://elsewhere"}, cores)
    assert seen["T2T_TRAINING_THREADS"] == seen["T2T_POLICY_THREADS"] == threads
    assert seen["OMP_NUM_THREADS"] == "1"
    assert "T2T_ENV_URL" not in seen
    assert embedded.environment(settings, {"T2T_TRAINING_THREADS": "7"}, cores)["T2T_TRAINING_THREADS"] == "7"


def test_valkey_comes_with_the_package() -> None:
    server = valkey.binary()
    assert server is not None
    assert "valkey" in subprocess.check_output([server, "--version"], text=True).lower()
