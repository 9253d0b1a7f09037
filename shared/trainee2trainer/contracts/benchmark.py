"""Benchmark sets by name, the table of a model on one, and boards that come from elsewhere."""

from typing import Annotated

from pydantic import Field

from trainee2trainer.contracts.base import Contract, Message, ModelText
from trainee2trainer.contracts.environment import (
    MAX_ANSWER_CHARS,
    EnvironmentConfig,
    FailureCategory,
    Instance,
    InstanceId,
    RealisedSize,
)

MAX_COMPLETIONS = 50_000
MAX_IMPORT_LINES = 5_000

BenchmarkName = Annotated[str, Field(pattern=r"^[a-z0-9-]{1,32}$")]


class BenchmarkPart(Contract):
    """So many held-out instances of one configuration."""

    configuration: EnvironmentConfig
    count: int


class BenchmarkDefinition(Contract):
    """All that a benchmark set follows from: any replica makes the same bytes of it."""

    name: BenchmarkName
    description: str
    generator_version: str
    seed: int
    parts: list[BenchmarkPart]
    count: int = Field(description="Instances in all parts.")
    sha256: str = Field(description="Of what `/v1/benchmarks/{name}/instances` gives without a template.")


class BenchmarkList(Contract):
    items: list[BenchmarkDefinition]


class BenchmarkStatistics(Contract):
    """What one number of agents got on one map size."""

    agents: int
    size: int
    realised: RealisedSize
    mean_optimal_makespan: float
    needs_wait: int = Field(description="Instances in which every cheapest plan has an agent wait.")


class Benchmark(Contract):
    definition: BenchmarkDefinition
    statistics: list[BenchmarkStatistics]


class Completion(Contract):
    """One answer to one instance. Several answers to the same instance are samples of it."""

    instance_id: InstanceId
    answer: ModelText = Field(max_length=MAX_ANSWER_CHARS)


class BenchmarkEvaluationRequest(Contract):
    completions: list[Completion] = Field(min_length=1, max_length=MAX_COMPLETIONS)


class BenchmarkRow(Contract):
    """One line of the table. Rates are shares of the answers given, not of the instances."""

    agents: int
    size: int | None = Field(description="Null in the line that sums up all map sizes.")
    instances: int
    missing: int = Field(description="Instances without any answer: their absence flatters the rates.")
    answers: int
    valid: float | None = Field(description="Null without any answer.")
    optimal: float | None
    soc_optimal: float | None
    failures: dict[FailureCategory, int] = Field(description="Answers by their first failure.")


class BenchmarkEvaluation(Contract):
    """The paper's table: valid and optimal per map size and in sum, for each number of agents."""

    benchmark: BenchmarkName
    sha256: str
    complete: bool = Field(description="Every instance has at least one answer.")
    rows: list[BenchmarkRow]


class ImportedRow(Contract):
    """A board from elsewhere, certified here under our id; the prompt is its text as it stands."""

    line: int
    sample_id: str | None
    instance: Instance
    prompt: list[Message] | None


class ImportProblem(Contract):
    """A line that could not be taken, and why. Lines count from 1."""

    line: int
    sample_id: str | None
    rule: str


class ImportedBatch(Contract):
    rows: list[ImportedRow]
    problems: list[ImportProblem]
