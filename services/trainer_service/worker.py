"""`python -m trainer_service.worker`: works on campaigns and training jobs until told to stop.

On SIGTERM or Ctrl-C it stops its training processes, gives its leases back and ends; other workers, or the
next start of this one, go on from the last finished step.
"""

import asyncio
import signal

import structlog

from trainee2trainer.jobs import Queue, SubjectKind, reconcile_until
from trainee2trainer.store import migrate
from trainee2trainer.web import logs
from trainer_service.campaigns.driver import drive as drive_campaign
from trainer_service.runner import Runner, worker_name
from trainer_service.settings import TrainerSettings
from trainer_service.training_jobs.driver import drive as drive_training_job
from trainer_service.work import Tools

log = structlog.get_logger()

DRIVERS = {SubjectKind.CAMPAIGN: drive_campaign, SubjectKind.TRAINING_JOB: drive_training_job}


async def run(settings: TrainerSettings, stop: asyncio.Event) -> None:
    """Works until `stop` is set."""
    name = worker_name()
    async with (
        Tools.open(settings) as tools,
        Queue(settings.redis, Runner(tools, DRIVERS, name, stop)) as queue,
    ):
        working = asyncio.create_task(queue.work(name, settings.worker_jobs))
        seconds = settings.reconcile_seconds
        repairing = asyncio.create_task(reconcile_until(stop, tools.store, queue, seconds))
        tasks = {working, repairing, asyncio.create_task(stop.wait())}
        log.info("worker.ready", name=name, jobs=settings.worker_jobs)
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        log.info("worker.stopping", name=name)
        stop.set()
        working.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in ended:
            task.result()


async def _until_signal(settings: TrainerSettings) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await run(settings, stop)


def main() -> None:
    settings = TrainerSettings()
    logs.configure(settings.log_level, settings.log_format)
    migrate.exit_unless_at_head(settings.database)
    asyncio.run(_until_signal(settings))


if __name__ == "__main__":
    main()
