"""Whose turn it is: jobs wait in line per checkpoint, and the checkpoints take turns."""

from collections import OrderedDict, deque
from dataclasses import dataclass, field

from policy_service.backend import Job

_ALONE_FROM = 1 / 2


@dataclass(slots=True)
class Share:
    """Rows of one job, by their places in it, for one batch."""

    job: Job
    places: list[int]


@dataclass(slots=True)
class _Waiting:
    """A job with the rows not yet handed out, equal prompts side by side and short ones first."""

    job: Job
    places: list[int] = field(init=False)

    def __post_init__(self) -> None:
        rows = self.job.rows
        self.places = sorted(
            range(len(rows)), key=lambda place: (len(rows[place].prompt), rows[place].prompt), reverse=True
        )

    def share(self, room: int) -> Share:
        taken = self.places[-room:][::-1]
        del self.places[-room:]
        return Share(self.job, taken)


class Turns:
    """Not safe for threads by itself: the engine guards it.

    A job that fills half a batch is never mixed with others, so the batches of a big request, and with them
    the last bit of its sums, hang on the request alone. Of a job larger than a batch, one batch is taken at a
    time; then it goes to the end of its line.
    """

    def __init__(self, max_rows: int) -> None:
        self.max_rows = max_rows
        self._lines: OrderedDict[str, deque[_Waiting]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._lines)

    @property
    def rows(self) -> int:
        """Rows waiting, without those that were given up."""
        waiting = (one for line in self._lines.values() for one in line if not one.job.given_up)
        return sum(len(one.places) for one in waiting)

    def add(self, job: Job) -> None:
        self._lines.setdefault(job.loaded.checkpoint_id, deque()).append(_Waiting(job))

    def take(self) -> list[Share]:
        """The next batch, of one checkpoint, leaving out what was given up. Empty when nothing waits."""
        while self._lines:
            checkpoint_id, line = self._lines.popitem(last=False)
            batch = self._batch(line)
            if line:
                self._lines[checkpoint_id] = line
            if batch:
                return batch
        return []

    def _batch(self, line: deque[_Waiting]) -> list[Share]:
        batch: list[Share] = []
        room = self.max_rows
        while line and room > 0:
            waiting = line[0]
            if waiting.job.given_up:
                line.popleft()
                continue
            alone = len(waiting.job.rows) >= self.max_rows * _ALONE_FROM
            if batch and (alone or len(waiting.places) > room):
                break
            batch.append(waiting.share(room))
            room -= len(batch[-1].places)
            line.popleft()
            if waiting.places:
                line.append(waiting)
            if alone:
                break
        return batch
