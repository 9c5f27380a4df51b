"""One run of the coded optimiser in plain code, with automatic gradients and PyTorch's own Adam."""

from collections.abc import Callable
from math import exp, inf, isnan, log

import torch
from torch import Tensor

from softecm_paper.as_coded.optimiser import Sets, Settings

Between = Callable[[Tensor, Tensor], Tensor]


def sum_of_squares(a: Tensor, b: Tensor) -> Tensor:
    return ((a - b) ** 2).sum()


def sigmoid_of_codes(a: Tensor, b: Tensor) -> Tensor:
    return sum(abs(torch.sigmoid(p) - torch.sigmoid(q)) + 1e-6 for p, q in zip(a.flatten(), b.flatten(), strict=True))


def raw_soft_dtw(a: Tensor, b: Tensor) -> Tensor:
    table: dict[tuple[int, int], Tensor] = {}
    for i in range(len(a)):
        for j in range(len(b)):
            before = [table[k] for k in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if k in table]
            least = -0.1 * torch.logsumexp(torch.stack(before) / -0.1, 0) if before else 0.0
            table[i, j] = ((a[i] - b[j]) ** 2).sum() + least
    return table[len(a) - 1, len(b) - 1]


def one_run(
    x: Tensor, sets: Sets, v: Tensor, beta: float, lam: float, settings: Settings, d: Between, *, looks: bool
) -> tuple[Tensor, Tensor, int]:
    """Masses with the empty set first, prototypes and iterations; ``looks`` enables the stopping rule."""
    sizes = [float(size) for size in sets.sizes]
    before, rounds = inf, 0
    while rounds < settings.rounds:
        rounds += 1
        rows = [mass_row([float(d(x_i, v_a)) for v_a in v], sizes, beta, settings) for x_i in x]
        masses = torch.tensor(rows, dtype=v.dtype)
        v = moved(x, sets, v, masses, beta, lam, settings, d)
        value = 0.0
        for i, x_i in enumerate(x):
            for a, size in enumerate(sizes):
                mean = float(d(x_i, v[a])) / len(x_i)
                value += size**settings.alpha * rows[i][a + 1] ** beta * mean + lam**2 * rows[i][0] ** beta
        still = isnan(value) if not looks else not abs(value - before) >= settings.round_tol
        if still:
            break
        before = value
    return masses, v, rounds


def mass_row(distances: list[float], sizes: list[float], beta: float, settings: Settings) -> list[float]:
    power = -1 / (beta - 1)
    if 0.0 in distances:
        shares = [float(one == 0.0) for one in distances]
    else:
        shares = [
            size ** (settings.alpha * power) * to_power(one, power) for size, one in zip(sizes, distances, strict=True)
        ]
    whole = sum(shares) + settings.delta ** (2 * power)
    masses = [share / whole for share in shares]
    return [1 - sum(masses), *masses]


def to_power(value: float, power: float) -> float:
    """Like compiled code: NaN for a negative value, unless the power is an integer."""
    if value < 0 and power != int(power):
        return float("nan")
    return exp(power * log(value)) if value > 0 else float(value**power)


def moved(
    x: Tensor, sets: Sets, v: Tensor, masses: Tensor, beta: float, lam: float, settings: Settings, d: Between
) -> Tensor:
    v = v.clone().requires_grad_()
    adam = torch.optim.Adam([v], lr=settings.rate)
    last = None
    for _ in range(settings.steps):
        cost = sum(
            float(size) ** settings.alpha * masses[i, a + 1] ** beta * d(x[i], v[a])
            for a, size in enumerate(sets.sizes)
            for i in range(len(x))
        )
        for a, row in enumerate(sets.members):
            cost = cost + lam * sum(d(v[sets.singles[k]], v[a]) for k in range(sets.n_clusters) if row[k])
        if last is not None and abs(last - cost.item()) / last < settings.step_tol:
            break
        last = cost.item()
        adam.zero_grad()
        cost.backward()
        adam.step()
    return v.detach()
