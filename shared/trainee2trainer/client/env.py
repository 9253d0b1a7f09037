"""Client of env_service."""

from collections.abc import AsyncIterator

from pydantic import BaseModel

from trainee2trainer.client.errors import ProblemError, UnreachableError
from trainee2trainer.client.http import LONG_READ_TIMEOUT, ServiceClient
from trainee2trainer.contracts.base import Problem
from trainee2trainer.contracts.benchmark import (
    Benchmark,
    BenchmarkDefinition,
    BenchmarkEvaluation,
    BenchmarkEvaluationRequest,
    BenchmarkList,
    ImportedBatch,
)
from trainee2trainer.contracts.environment import (
    EnvironmentFamily,
    EnvironmentList,
    GeneratedBatch,
    GenerateRequest,
    Instance,
    InstanceRow,
    Outcome,
    VerifyBatchRequest,
    VerifyBatchResponse,
    VerifyRequest,
)
from trainee2trainer.contracts.episode import Episode, EpisodeCreate, EpisodeStep


class EnvClient(ServiceClient):
    """Boards and verdicts. Every call may be repeated: generation is pure in its request."""

    async def environments(self) -> list[EnvironmentFamily]:
        return (await self._get("/v1/environments", EnvironmentList)).items

    async def generate(self, request: GenerateRequest) -> GeneratedBatch:
        return await self._post(
            "/v1/instances:generate", GeneratedBatch, request, read_timeout=LONG_READ_TIMEOUT
        )

    async def stream_instances(self, request: GenerateRequest) -> AsyncIterator[InstanceRow]:
        """The same rows as `generate`, while they are made. Raises when the batch does not reach its end."""
        async for line in self._json_lines("/v1/instances:generate", request):
            if line.startswith('{"realised"'):
                return
            if line.startswith('{"problem"'):
                raise ProblemError(_Failed.model_validate_json(line).problem)
            yield InstanceRow.model_validate_json(line, extra="ignore")
        raise UnreachableError(f"{self.base_url} stopped in the middle of a batch")

    async def instance(self, instance_id: str) -> Instance:
        return await self._get(f"/v1/instances/{instance_id}", Instance)

    async def picture(self, instance_id: str, plan: str | None = None) -> str:
        """The board as SVG, with what `plan` does on it."""
        return (await self._send("GET", f"/v1/instances/{instance_id}.svg", params={"plan": plan})).text

    async def animation(self, instance_id: str, plan: str | None = None) -> bytes:
        """The plan as an animated GIF."""
        return (await self._send("GET", f"/v1/instances/{instance_id}.gif", params={"plan": plan})).content

    async def text_picture(self, instance_id: str, plan: str | None = None, colour: bool = True) -> str:
        """The board and the plan for a terminal."""
        params = {"plan": plan, "colour": colour}
        return (await self._send("GET", f"/v1/instances/{instance_id}.txt", params=params)).text

    async def movingai_map(self, instance_id: str) -> str:
        return (await self._send("GET", f"/v1/instances/{instance_id}.map")).text

    async def movingai_scenario(self, instance_id: str) -> str:
        return (await self._send("GET", f"/v1/instances/{instance_id}.scen")).text

    async def import_instances(self, lines: str) -> ImportedBatch:
        """Boards from JSON Lines, of the published data set or of our own export."""
        answer = await self._send("POST", "/v1/instances:import", body=lines, read_timeout=LONG_READ_TIMEOUT)
        return ImportedBatch.model_validate_json(answer.content, extra="ignore")

    async def create_episode(self, request: EpisodeCreate, idempotency_key: str | None = None) -> Episode:
        return await self._post(
            "/v1/episodes",
            Episode,
            request,
            repeatable=idempotency_key is not None,
            idempotency_key=idempotency_key,
        )

    async def episode(self, episode_id: str) -> Episode:
        return await self._get(f"/v1/episodes/{episode_id}", Episode)

    async def step(self, episode_id: str, request: EpisodeStep) -> Episode:
        """With the number of the step given, a lost answer is asked for again."""
        path = f"/v1/episodes/{episode_id}/step"
        return await self._post(path, Episode, request, repeatable=request.step is not None)

    async def close_episode(self, episode_id: str) -> None:
        await self._send("DELETE", f"/v1/episodes/{episode_id}")

    async def benchmarks(self) -> list[BenchmarkDefinition]:
        return (await self._get("/v1/benchmarks", BenchmarkList)).items

    async def benchmark(self, name: str) -> Benchmark:
        return await self._get(f"/v1/benchmarks/{name}", Benchmark, read_timeout=LONG_READ_TIMEOUT)

    async def benchmark_instances(self, name: str, template: str | None = None) -> list[InstanceRow]:
        answer = await self._send(
            "GET",
            f"/v1/benchmarks/{name}/instances",
            params={"template": template},
            read_timeout=LONG_READ_TIMEOUT,
        )
        return [InstanceRow.model_validate_json(line, extra="ignore") for line in answer.text.splitlines()]

    async def benchmark_parquet(self, name: str) -> bytes:
        answer = await self._send("GET", f"/v1/benchmarks/{name}.parquet", read_timeout=LONG_READ_TIMEOUT)
        return answer.content

    async def evaluate(self, name: str, request: BenchmarkEvaluationRequest) -> BenchmarkEvaluation:
        """The table of a model's answers to a benchmark set."""
        return await self._post(
            f"/v1/benchmarks/{name}:evaluate", BenchmarkEvaluation, request, read_timeout=LONG_READ_TIMEOUT
        )

    async def verify(self, request: VerifyRequest) -> Outcome:
        return await self._post("/v1/verify", Outcome, request)

    async def verify_batch(self, request: VerifyBatchRequest) -> VerifyBatchResponse:
        return await self._post("/v1/verify:batch", VerifyBatchResponse, request)


class _Failed(BaseModel):
    """The last line of a batch that failed half-way."""

    problem: Problem
