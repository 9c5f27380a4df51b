"""Generated series of other kinds than `made_series.py`: events, trends, jumps and processes instead of periodic curves.

``other_series(kind, seed)`` draws one set; ``KINDS`` lists the kinds. The classes differ by:

- spikes: how wide spikes at random times are, and whether they point up or down
- chirp: whether the frequency rises, stays or falls; phases are random
- shift: when a step between two levels comes, in strong noise
- process: the colour of noise (autoregressive processes of order two)
- channels: the order in which two channels have a bump at about the same time; a third wanders at random
- slope: rising slowly and falling fast, or the other way round, at random levels that wander
- unequal: the number of bumps, in series of very different lengths
- trend: a trend or a bend, under a seasonal cycle of random phase and amplitude
- burst: when a burst of noise comes
- outliers: smooth shapes, a tenth of the series far away
- few: one class has only a few members
- level: noise around a level of the class
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from made_series import Floats, Generator, MadeSeries, Variation

Rng = np.random.Generator


def bump(t: Floats, at: float, width: float) -> Floats:
    """Return a bump of height one."""
    values: Floats = np.exp(-0.5 * ((t - at) / width) ** 2)
    return values


def wandering(rng: Rng, n: int) -> Floats:
    """Return a random walk of mean zero and deviation one."""
    walk = np.cumsum(rng.normal(size=n))
    values: Floats = (walk - walk.mean()) / walk.std()
    return values


def spikes(rng: Rng, n: int, c: int) -> list[Callable[[], Floats]]:
    kinds = [(0.6, 3.0), (0.6, -3.0), (2.5, 2.0), (2.5, -2.0)]
    chosen = [kinds[k] for k in rng.permutation(4)[:c]]

    def draw(width: float, height: float) -> Floats:
        t = np.arange(n, dtype=float)
        places = rng.uniform(3, n - 3, rng.integers(3, 6))
        return height * sum(bump(t, at, width) for at in places) + 0.3 * rng.normal(size=n)

    return [lambda kind=kind: draw(*kind) for kind in chosen]


def chirp(rng: Rng, n: int, c: int) -> list[Callable[[], Floats]]:
    t = np.linspace(0, 1, n)
    ends = [(2.0, 7.0), (7.0, 2.0), (4.5, 4.5), (8.0, 8.0)]
    chosen = [ends[k] for k in rng.permutation(4)[:c]]

    def draw(first: float, last: float) -> Floats:
        angle = 2 * np.pi * (first * t + 0.5 * (last - first) * t * t + rng.uniform())
        return np.sin(angle) + 0.3 * rng.normal(size=n)

    return [lambda ends=ends: draw(*ends) for ends in chosen]


def shift(rng: Rng, n: int, c: int) -> list[Callable[[], Floats]]:
    places = (np.arange(c) + 1) / (c + 1)
    sign = rng.choice([-1.0, 1.0])

    def draw(place: float) -> Floats:
        at = n * (place + 0.04 * rng.normal())
        return sign * 2 * (np.arange(n) > at) + 0.8 * rng.normal(size=n)

    return [lambda place=place: draw(place) for place in places]


def process(rng: Rng, n: int, c: int) -> list[Callable[[], Floats]]:
    kinds = [(0.9, 0.02), (0.9, 0.25), (0.85, 0.45), (0.0, 0.0)]  # radius of the roots, their angle in turns of a half
    chosen = [kinds[k] for k in rng.permutation(4)[:c]]

    def draw(radius: float, angle: float) -> Floats:
        a, b = 2 * radius * np.cos(2 * np.pi * angle), -radius * radius
        x = np.zeros(n + 30)
        noise = rng.normal(size=n + 30)
        for i in range(2, n + 30):
            x[i] = a * x[i - 1] + b * x[i - 2] + noise[i]
        return x[30:] / x[30:].std()

    return [lambda kind=kind: draw(*kind) for kind in chosen]


def channels(rng: Rng, n: int, c: int) -> list[Callable[[], Floats]]:
    t = np.linspace(0, 1, n)
    gaps = [(0.15, 0.0), (-0.15, 0.0), (0.0, 0.0), (0.0, 0.5)]
    chosen = [gaps[k] for k in rng.permutation(4)[:c]]

    def draw(gap: float, apart: float) -> Floats:
        at = 0.5 + 0.05 * rng.normal()
        one = 2 * bump(t, at - gap / 2 - apart / 2, 0.05)
        two = 2 * bump(t, at + gap / 2 + apart / 2, 0.05)
        X = np.stack([one, two], 1) + 0.25 * rng.normal(size=(n, 2))
        return np.column_stack([X, wandering(rng, n)])

    return [lambda gap=gap: draw(*gap) for gap in chosen]


def slope(rng: Rng, n: int, c: int) -> list[Callable[[], Floats]]:
    t = np.arange(n)
    parts = [0.15, 0.85, 0.5, 0.33]
    chosen = [parts[k] for k in rng.permutation(4)[:c]]

    def draw(rise: float) -> Floats:
        place = (t / 20 + rng.uniform(0, 0.3)) % 1.0
        teeth = np.where(place < rise, place / rise, (1 - place) / (1 - rise)) - 0.5
        return 2 * teeth + 1.5 * wandering(rng, n) + 2 * rng.normal() + 0.05 * rng.normal(size=n)

    return [lambda part=part: draw(part) for part in chosen]


def unequal(rng: Rng, n: int, c: int) -> list[Callable[[], Floats]]:
    def draw(bumps: int) -> Floats:
        steps = int(rng.integers(n // 3, n + n // 3))
        t = np.linspace(0, 1, steps)
        places = (np.arange(bumps) + 0.5) / bumps + 0.15 / bumps * rng.normal(size=bumps)
        return 2 * sum(bump(t, at, 0.25 / bumps) for at in places) + 0.25 * rng.normal(size=steps)

    return [lambda k=k: draw(k) for k in 1 + rng.permutation(4)[:c]]


def trend(rng: Rng, n: int, c: int) -> list[Callable[[], Floats]]:
    t = np.linspace(-1, 1, n)
    curves = [t, -t, 1.5 * t * t - 0.5, 0.5 - 1.5 * t * t]
    chosen = [curves[k] for k in rng.permutation(4)[:c]]

    def draw(curve: Floats) -> Floats:
        cycle = rng.uniform(0.4, 1.0) * np.sin(2 * np.pi * (3 * t + rng.uniform()))
        return 1.2 * curve + cycle + 0.3 * rng.normal(size=n)

    return [lambda curve=curve: draw(curve) for curve in chosen]


def burst(rng: Rng, n: int, c: int) -> list[Callable[[], Floats]]:
    t, places = np.linspace(0, 1, n), (np.arange(c) + 0.5) / c

    def draw(place: float) -> Floats:
        return (0.2 + 1.5 * bump(t, place + 0.03 * rng.normal(), 0.3 / c)) * rng.normal(size=n)

    return [lambda place=place: draw(place) for place in places]


def outliers(rng: Rng, n: int, c: int) -> list[Callable[[], Floats]]:
    generator = Generator(rng, n, Variation(warp=0.4, noise=0.3))
    curves = [generator.smooth() for _ in range(c)]

    def draw(k: int) -> Floats:
        x = generator.series([curves[k]])[:, 0]
        if rng.uniform() < 0.1:
            x[rng.integers(0, n, 3)] += rng.choice([-12.0, 12.0])
        return x

    return [lambda k=k: draw(k) for k in range(c)]


def few(rng: Rng, n: int, c: int) -> list[Callable[[], Floats]]:
    generator = Generator(rng, n, Variation(warp=0.3, noise=0.4, amplitude=0.2))
    curves = [generator.smooth() for _ in range(c)]
    return [lambda k=k: generator.series([curves[k]])[:, 0] for k in range(c)]


def level(rng: Rng, n: int, c: int) -> list[Callable[[], Floats]]:
    return [lambda k=k: 1.2 * k + 0.7 * wandering(rng, n) + 0.3 * rng.normal(size=n) for k in range(c)]


DRAWN = {
    f.__name__: f for f in (spikes, chirp, shift, process, channels, slope, unequal, trend, burst, outliers, few, level)
}
KINDS = tuple(DRAWN)


def other_series(kind: str, seed: int, *, n: int = 60, length: int = 60) -> MadeSeries:
    """Generate one set of 2 to 4 classes, about equally large unless the kind says otherwise."""
    rng = np.random.default_rng([seed, 1000 + KINDS.index(kind)])
    c = int(rng.integers(2, 5))
    y = rng.permutation(np.arange(n) % c)
    if kind == "few":
        y = np.where((y == c - 1) & (np.cumsum(y == c - 1) > n // 12), 0, y)
    draws = DRAWN[kind](rng, length, c)
    X = [draws[k]() for k in y]
    return MadeSeries(kind, [x.reshape(len(x), -1) for x in X], y)
