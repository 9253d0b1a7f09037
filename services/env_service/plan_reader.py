"""Reads a joint plan out of whatever a model wrote. Never raises, never evaluates, one pass over the text.

Thoughts are not an answer: everything up to the last `</think>` is left out, and everything after a `<think>`
that stays open. In the rest three forms are looked for, and the last complete plan wins:

- *labelled*: `Agent 0: RIGHT, UP` per agent, in any order, or `"0": ["RIGHT", "UP"]` as in JSON. Numbers
start at 0 or at 1. A list ends at the first word that is no action, at a blank line, or at the bracket that
closes it; a label with prose behind it is prose. Exactly the agents of the board must be named, each once.
- *nested*: a list with one list of actions per agent. - *stepwise*: the joint actions of each step, one per
agent in order, steps separated by `/` or a new line; numbers (the cells a model thinks aloud) are ignored.
One step with another number of actions spoils the whole plan.

An action is a word (`RIGHT`, any case) or one of the letters U D L R W; letters may stand together (`RUW`).
Arrows are actions where a labelled list has nothing else, not even numbers, and separators otherwise. What stands
in brackets behind an action is a remark. A list of cells, or with multiplied actions (`UP x2`), is no list.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache

from env_service.grid import DOWN, LEFT, RIGHT, UP, WAIT

# Every branch is a class of characters or one character: matching cannot backtrack.
_TOKEN = re.compile(r"[^\W\d_]+|[0-9]+|\n|[^\s]")

_WORDS = {"UP": UP, "DOWN": DOWN, "LEFT": LEFT, "RIGHT": RIGHT, "WAIT": WAIT, "STAY": WAIT}
_LETTERS = {"U": UP, "D": DOWN, "L": LEFT, "R": RIGHT, "W": WAIT}
_ARROWS = {"↑": UP, "↓": DOWN, "←": LEFT, "→": RIGHT}
_QUOTES = {'"', "'"}
_LABEL_FILLERS = {
    "'",
    '"',
    "s",
    "’",
    "`",
    "*",
    "_",
    ")",
    "]",
    "plan",
    "path",
    "actions",
    "moves",
    "action",
    "list",
}
_TIMES = {"x", "X", "×"}
_MAX_FILLERS = 6
_MAX_DIGITS = 3
_STEP_MARKS = {",", "(", ")"}


@dataclass(slots=True)
class _Label:
    """A labelled list: whose it is, its actions, and the tokens it takes, `start` to `end`."""

    agent: int
    actions: list[int]
    start: int
    end: int
    usable: bool


@dataclass(slots=True)
class _Best:
    """The complete plan that ends last; at the same end the one found first stays."""

    end: int = -1
    plan: list[list[int]] | None = None

    def offer(self, end: int, plan: list[list[int]]) -> None:
        if end > self.end:
            self.end, self.plan = end, plan


def read_plan(text: str, agents: int) -> list[list[int]] | None:
    """The last complete plan for `agents` agents in `text`, as action numbers per agent, or None."""
    text = _without_thoughts(text)
    return _bare(text, agents) or _searched(text, agents)


def _searched(text: str, agents: int) -> list[list[int]] | None:
    tokens: list[str] = _TOKEN.findall(text)
    best = _Best()
    labels = _labels(tokens)
    _offer_labelled(labels, agents, best)
    taken = [(label.start, label.end) for label in labels if label.usable]
    taken += _offer_nested(tokens, agents, best, taken)
    _offer_stepwise(tokens, agents, best, taken)
    return best.plan


def _without_thoughts(text: str) -> str:
    text = text.rpartition("</think>")[2]
    return text.partition("<think>")[0]


def _actions(word: str) -> list[int] | None:
    """The actions a word stands for: one word, or one or more letters; None if it is no action."""
    upper = word.upper()
    if upper in _WORDS:
        return [_WORDS[upper]]
    if len(word) == 1 and upper in _LETTERS:
        return [_LETTERS[upper]]
    # Letters that stand together must be capitals, or many an English word would be a plan.
    if all(letter in _LETTERS for letter in word):
        return [_LETTERS[letter] for letter in word]
    return None


# --- nothing but a plan ---------------------------------------------------------------------------

_WORD = "(?:UP|DOWN|LEFT|RIGHT|WAIT)"
_CAPITALS = re.compile("[A-Z]+")


@lru_cache(maxsize=8)
def _bare_forms(agents: int) -> tuple[re.Pattern[str], re.Pattern[str]]:
    labelled = r"\n".join(f"Agent {agent}: {_WORD}(?:, {_WORD})*" for agent in range(agents))
    step = " ".join(f"{_WORD} [0-9]+,[0-9]+" for _ in range(agents))
    return re.compile(labelled), re.compile(f"{step}(?: / {step})*")


def _bare(text: str, agents: int) -> list[list[int]] | None:
    """The plan of an answer in exactly the form that a template asks for: a tenth of the time of searching."""
    labelled, stepwise = _bare_forms(agents)
    if labelled.fullmatch(text):
        lines = text.split("\n")
        return [[_WORDS[word] for word in _CAPITALS.findall(line, 6)] for line in lines]
    if stepwise.fullmatch(text):
        actions = [_WORDS[word] for word in _CAPITALS.findall(text)]
        return [actions[agent::agents] for agent in range(agents)]
    return None


# --- labelled -------------------------------------------------------------------------------------


def _labels(tokens: list[str]) -> list[_Label]:
    found: list[_Label] = []
    position = 0
    while position < len(tokens):
        label = _label_at(tokens, position)
        if label is None:
            position += 1
            continue
        agent, after = label
        found.append(_list_at(tokens, position, after, agent))
        position = max(found[-1].end, after)
    return found


def _label_at(tokens: list[str], position: int) -> tuple[int, int] | None:
    """The agent's number and the position behind the colon, if a label begins at `position`."""
    word = tokens[position]
    if word in _QUOTES:
        return _quoted_number_at(tokens, position)
    if word.isdecimal():
        bare = tokens[position + 1 : position + 3] == [":", "["]
        return _number(word, position + 2) if bare else None
    return _agent_at(tokens, position + 1) if word.lower() == "agent" else None


def _agent_at(tokens: list[str], position: int) -> tuple[int, int] | None:
    """The same behind the word `agent`: marks, a number, a few fillers, a colon."""
    while position < len(tokens) and tokens[position] in {"_", "-", "#", "("}:
        position += 1
    if position >= len(tokens) or not tokens[position].isdecimal():
        return None
    for place in range(position + 1, min(position + 2 + _MAX_FILLERS, len(tokens))):
        if tokens[place] in {":", "="}:
            return _number(tokens[position], place + 1)
        if tokens[place].lower() not in _LABEL_FILLERS:
            return None
    return None


def _quoted_number_at(tokens: list[str], position: int) -> tuple[int, int] | None:
    window = tokens[position : position + 4]
    if len(window) == 4 and window[1].isdecimal() and window[2] in _QUOTES and window[3] == ":":
        return _number(window[1], position + 4)
    return None


def _number(digits: str, after: int) -> tuple[int, int] | None:
    # Also keeps a thousand digits from becoming a number at all.
    return (int(digits), after) if len(digits) <= _MAX_DIGITS and digits.isascii() else None


@dataclass(slots=True)
class _Reading:
    actions: list[int] = field(default_factory=list)
    arrows: list[int] = field(default_factory=list)
    open: bool = False
    prose: bool = False
    numbers: bool = False
    remark: bool = False
    multiplied: bool = False


def _list_at(tokens: list[str], start: int, position: int, agent: int) -> _Label:
    """Reads the list behind a label: see the module's rules for where it ends."""
    reading = _Reading()
    while position < len(tokens):
        if _label_at(tokens, position) is not None or not _take(tokens, position, reading):
            break
        position += 1
    # Between numbers an arrow leads from cell to cell.
    actions = reading.actions or ([] if reading.numbers else reading.arrows)
    empty = not (reading.prose or reading.numbers or reading.arrows)
    usable = (bool(actions) or empty) and not reading.multiplied
    return _Label(agent, actions, start, position, usable)


def _take(tokens: list[str], position: int, reading: _Reading) -> bool:
    """Whether the token at `position` belongs to the list; takes its actions if so."""
    word = tokens[position]
    if reading.remark:
        reading.remark = word != ")"
        return word != "\n"
    if word in _TIMES and tokens[position + 1 : position + 2] and tokens[position + 1].isdecimal():
        reading.multiplied = True
        return False
    if word == "(" and reading.actions:
        reading.remark = True
    reading.numbers = reading.numbers or word.isdecimal()
    if word[0].isalpha():
        actions = _actions(word)
        reading.prose = actions is None
        reading.actions += actions or []
        return actions is not None
    if word == "[":
        first = not reading.open and not reading.actions
        reading.open = True
        return first
    if word == "\n":
        blank = position > 0 and tokens[position - 1] == "\n"
        return reading.open or not (blank and bool(reading.actions or reading.arrows))
    if word in _ARROWS:
        reading.arrows.append(_ARROWS[word])
    return word not in {"]", "{", "}"}


def _offer_labelled(labels: list[_Label], agents: int, best: _Best) -> None:
    group: dict[int, _Label] = {}
    for label in [label for label in labels if label.usable]:
        if label.agent in group:
            _offer_group(group, agents, best)
            group = {}
        group[label.agent] = label
    _offer_group(group, agents, best)


def _offer_group(group: dict[int, _Label], agents: int, best: _Best) -> None:
    numbers = sorted(group)
    if numbers in (list(range(agents)), list(range(1, agents + 1))):
        end = max(label.end for label in group.values())
        best.offer(end, [group[number].actions for number in numbers])


# --- nested ---------------------------------------------------------------------------------------


def _offer_nested(
    tokens: list[str], agents: int, best: _Best, taken: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Looks for lists of lists outside of `taken`; returns the spans it found."""
    spans: list[tuple[int, int]] = []
    for position in _outside(len(tokens), taken):
        if tokens[position] == "[" and (not spans or position >= spans[-1][1]):
            nested = _nested_at(tokens, position, agents)
            if nested is not None:
                end, plan = nested
                best.offer(end, plan)
                spans.append((position, end))
    return spans


def _nested_at(tokens: list[str], position: int, agents: int) -> tuple[int, list[list[int]]] | None:
    """The end and the lists of a nested plan at `position`. Stops at the first token that cannot fit."""
    plan: list[list[int]] = []
    depth = 0
    for place in range(position, len(tokens)):
        word = tokens[place]
        if word == "[":
            depth += 1
            if depth == 2:
                plan.append([])
            if depth > 2 or len(plan) > agents:
                return None
        elif word == "]":
            depth -= 1
            if depth == 0:
                return (place + 1, plan) if len(plan) == agents else None
        elif word[0].isalpha():
            actions = _actions(word) if depth == 2 else None
            if actions is None:
                return None
            plan[-1] += actions
        elif word not in _QUOTES and word not in {",", "\n"}:
            return None
    return None


# --- stepwise -------------------------------------------------------------------------------------


def _offer_stepwise(tokens: list[str], agents: int, best: _Best, taken: list[tuple[int, int]]) -> None:
    """Joins neighbouring lines of steps to plans; a line that is none, or is taken, ends one."""
    free = bytearray(b"\x01" * len(tokens))
    for first, last in taken:
        free[first:last] = bytes(last - first)
    steps: list[list[int]] = []
    start = 0
    for end in [*(place for place, mark in enumerate(tokens) if mark == "\n"), len(tokens)]:
        line = _steps(tokens[start:end]) if all(free[start:end]) else None
        if line:
            steps += line
        if (not line or end == len(tokens)) and steps:
            if all(len(step) == agents for step in steps):
                best.offer(end if line else start - 1, [list(lane) for lane in zip(*steps, strict=True)])
            steps = []
        start = end + 1


def _steps(line: list[str]) -> list[list[int]] | None:
    """The steps of a line that holds nothing but actions, cells and separators; None for any other line."""
    steps: list[list[int]] = [[]]
    for word in line:
        if word == "/":
            steps.append([])
        elif word[0].isalpha():
            actions = _actions(word)
            if actions is None:
                return None
            steps[-1] += actions
        elif not word.isdecimal() and word not in _STEP_MARKS:
            return None
    return [step for step in steps if step]


def _outside(length: int, taken: list[tuple[int, int]]) -> list[int]:
    """The positions from 0 to `length` that no span covers. The spans rise and do not overlap."""
    result: list[int] = []
    start = 0
    for first, last in taken:
        result += range(start, first)
        start = last
    return result + list(range(start, length))
