"""The compiled quasi-Newton direction, compared with the plain one."""

import pytest
import torch

from softecm.optim import Memory, along, dot, scaled

SHAPE = (3, 2, 17, 2)  # runs, prototypes, steps, channels


def curvature(kind: str, dtype: torch.dtype) -> dict[str, torch.Tensor | None]:
    if kind == "factor":
        a = torch.randn(*SHAPE[:3], SHAPE[2], dtype=dtype)
        return {"scale": None, "factor": torch.linalg.cholesky(a @ a.mT + torch.eye(SHAPE[2], dtype=dtype))}
    scale = torch.rand(*SHAPE[:3], 1, dtype=dtype).expand(SHAPE) if kind == "scale" else None
    return {"scale": scale, "factor": None}


@pytest.mark.parametrize("kind", ["none", "scale", "factor"])
@pytest.mark.parametrize(("dtype", "tol"), [(torch.float64, 1e-13), (torch.float32, 1e-5)])
def test_the_compiled_direction_is_the_plain_one(kind, dtype, tol):
    torch.manual_seed(1)
    known, memory = curvature(kind, dtype), Memory()
    for pair in range(10):
        gradient = torch.randn(SHAPE, dtype=dtype)
        direction, slope = memory.downhill(gradient, **known)
        plain = memory.plain_direction(gradient, **known)
        uphill = ~(dot(plain, gradient) < 0)
        plain = torch.where(along(uphill, plain), -scaled(gradient, **known), plain)
        assert (direction - plain).abs().max() <= tol * plain.abs().max()
        torch.testing.assert_close(slope, dot(direction, gradient), rtol=1e-4, atol=1e-4)
        step = torch.randn(SHAPE, dtype=dtype)
        change = step * torch.rand(SHAPE, dtype=dtype) * (-1.0 if pair % 3 == 0 else 1.0)  # some without curvature
        memory = memory.add(step, change, 8)


def test_sizes_that_do_not_belong_together_are_refused():
    gradient = torch.randn(SHAPE)
    with pytest.raises(ValueError, match="steps and changes"):
        Memory((gradient[:2],), (gradient,)).downhill(gradient, None, None)
    with pytest.raises(ValueError, match="factor"):
        Memory().downhill(gradient, None, torch.eye(5).expand(3, 2, 5, 5))
