"""Generated series with known classes and realistic variation: amplitude, phase, speed, noise, length, channels.

``made_series(kind, seed)`` draws one set; ``KINDS`` lists the kinds. Classes are smooth random curves unless the kind
says otherwise, and every kind varies one thing:

- plain: only a little noise
- amplitude: each series has its own level and amplitude, irrelevant to the class
- phase: each series starts anywhere in its cycle
- warp: each series runs at a varying speed
- noise: as strong as the curves
- unequal: each series has its own length
- channels: three channels, each with its own curves
- irrelevant: one channel of two is random
- level: classes differ in level and amplitude only
- frequency: classes differ in how fast they oscillate, phases are random
- pattern: a short pattern of the class occurs anywhere in noise
- everything: amplitude, phase, warp, unequal length and an irrelevant channel at once
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
PERIODS = 3  # highest frequency of a smooth curve
FINE = 512  # resolution of the curves


@dataclass(frozen=True)
class MadeSeries:
    """Series (steps, channels) and their classes."""

    kind: str
    X: list[Floats]
    y: NDArray[np.int64]

    @property
    def c(self) -> int:
        """Number of classes."""
        return int(self.y.max()) + 1


@dataclass(frozen=True)
class Variation:
    """Variation of series within a class."""

    amplitude: float = 0.0  # standard deviation of its logarithm; of the level as well
    phase: float = 0.0  # largest shift, as part of the series
    warp: float = 0.0  # variation of the speed: 0 none, below 1
    noise: float = 0.15
    unequal: float = 0.0  # lengths from (1 - unequal) to 1 times the longest
    channels: int = 1
    irrelevant: int = 0


Curve = Callable[[Floats], Floats]  # positions in the cycle, 0 to 1, to values


@dataclass
class Generator:
    """Generator of one set: classes, then series."""

    rng: np.random.Generator
    length: int
    how: Variation = field(default_factory=Variation)

    def smooth(self) -> Curve:
        """Return a random periodic curve of variance one with a few frequencies."""
        waves = np.arange(1, PERIODS + 1)
        size, phase = self.rng.normal(size=PERIODS) / waves**0.5, self.rng.uniform(0, 2 * np.pi, PERIODS)
        size = size / np.sqrt(0.5 * np.square(size).sum())
        return lambda t: (size * np.sin(2 * np.pi * waves * t[:, None] + phase)).sum(1)

    def positions(self, steps: int) -> Floats:
        """Return the positions in its cycle at which a series is sampled: shifted, at a varying speed."""
        t = np.linspace(0, 1, FINE)
        speed = np.ones(FINE)
        if self.how.warp:
            curve = self.smooth()(t)
            speed = 1 + self.how.warp * curve / np.abs(curve).max()
        place = np.concatenate([[0], np.cumsum((speed[1:] + speed[:-1]) / 2)])
        place = place / place[-1] + self.how.phase * self.rng.uniform()
        read: Floats = np.interp(np.linspace(0, 1, steps), t, place)
        return read

    def series(self, curves: list[Curve]) -> Floats:
        """Return one series of a class."""
        steps = round(self.length * (1 - self.how.unequal * self.rng.uniform()))
        at = self.positions(steps)
        X = np.stack([curve(at) for curve in [*curves, *(self.smooth() for _ in range(self.how.irrelevant))]], 1)
        if self.how.amplitude:
            X = X * np.exp(self.how.amplitude * self.rng.normal()) + 2 * self.how.amplitude * self.rng.normal()
        return X + self.how.noise * self.rng.normal(size=X.shape)


VARIATIONS = {
    "plain": Variation(),
    "amplitude": Variation(amplitude=0.6),
    "phase": Variation(phase=1.0),
    "warp": Variation(warp=0.85),
    "noise": Variation(noise=1.0),
    "unequal": Variation(unequal=0.5),
    "channels": Variation(channels=3, noise=0.5),
    "irrelevant": Variation(irrelevant=1),
    "level": Variation(phase=0.1),
    "frequency": Variation(phase=1.0),
    "pattern": Variation(noise=0.3),
    "everything": Variation(amplitude=0.4, phase=0.3, warp=0.5, unequal=0.3, irrelevant=1),
}
KINDS = tuple(VARIATIONS)


def made_series(kind: str, seed: int, *, n: int = 60, length: int = 60, c: int | None = None) -> MadeSeries:
    """Generate one set of about equally large classes (2 to 4 unless ``c`` is given; 1: no groups)."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    c = int(rng.integers(2, 5)) if c is None else c
    generator = Generator(rng, length, VARIATIONS[kind])
    y = rng.permutation(np.arange(n) % c)
    if kind == "pattern":
        return MadeSeries(kind, _patterns(generator, y, c), y)
    classes = _classes(generator, kind, c)
    return MadeSeries(kind, [generator.series(classes[k]) for k in y], y)


def _classes(generator: Generator, kind: str, c: int) -> list[list[Curve]]:
    """Return the curves of each class, one per channel."""
    if kind == "frequency":
        speeds = 2 + 2 * np.arange(c)
        return [[lambda t, w=w: np.sqrt(2) * np.sin(2 * np.pi * w * t)] for w in speeds]
    if kind == "level":
        one, rng = generator.smooth(), generator.rng
        sizes, levels = 1.8 ** rng.permutation(c), 1.5 * rng.permutation(c)
        return [[lambda t, a=a, b=b: a * one(t) + b] for a, b in zip(sizes, levels, strict=True)]
    return [[generator.smooth() for _ in range(generator.how.channels)] for _ in range(c)]


def _patterns(generator: Generator, y: Any, c: int) -> list[Floats]:
    """Return a short pattern of the class, anywhere in the series."""
    rng, short = generator.rng, generator.length // 4
    quiet = replace(generator.how, noise=0.0)
    patterns = [Generator(rng, short, quiet).series([generator.smooth()]) for _ in range(c)]
    X = []
    for k in y:
        x = generator.how.noise * rng.normal(size=(generator.length, 1))
        begin = int(rng.integers(0, generator.length - short + 1))
        x[begin : begin + short] += 2 * patterns[k]
        X.append(x)
    return X
