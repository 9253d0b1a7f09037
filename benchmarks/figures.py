"""What all benchmarks share: a table on the terminal, and the same figures as JSON."""

import argparse
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Figure:
    """A measured value beside its peer's in the same run, and how many times as much it is."""

    name: str
    value: float
    unit: str
    peer: float | None = None
    ratio: float | None = None


@dataclass
class Figures:
    """Prints each figure when it is there, and writes all of them at the end if `--json FILE` was given."""

    title: str
    target: Path | None
    rows: list[Figure] = field(default_factory=list)

    @classmethod
    def of_command(cls, title: str, description: str | None) -> "Figures":
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file")
        figures = cls(title, parser.parse_args().json)
        print(f"{title:58} {'value':>12} {'peer':>12} {'ratio':>8}")
        return figures

    def add(self, name: str, value: float, unit: str, peer: float | None = None) -> None:
        row = Figure(name, value, unit, peer, value / peer if peer else None)
        self.rows.append(row)
        beside = f"{_short(peer):>12} {_short(row.ratio):>8}" if peer and row.ratio else ""
        print(f"{name:58} {_short(value):>12} {beside:21} {unit}", flush=True)

    def write(self) -> None:
        if self.target is not None:
            self.target.write_text(json.dumps([asdict(row) for row in self.rows], indent=2) + "\n")


def _short(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
