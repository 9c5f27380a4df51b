"""``--metric series-auto``: what was tried is shown, and the rest goes its usual way."""

import json
from pathlib import Path

import numpy as np
from tests.cli.conftest import Run


def waves(rng: np.random.Generator) -> None:
    """Sines of two speeds at any phase, in a file."""
    speeds = np.repeat([[1.5], [4.0]], 9, axis=0)
    X = np.sin(2 * np.pi * (speeds * np.arange(24) / 24 + rng.random((18, 1))))
    np.save("waves.npy", X[:, :, None] + 0.1 * rng.normal(size=(18, 24, 1)))


def test_the_distances_that_were_tried_are_shown(run: Run, rng: np.random.Generator) -> None:
    waves(rng)
    code, out, err = run("cluster", "waves.npy", "-c", 2, "-o", "found", "--n-init", 2, "--metric", "series-auto")
    assert code == 0, err
    assert "distance tried" in out
    assert all(name in out for name in ("softdtw", "softmsm", "sbd", "series-euclidean", "slopes"))
    summary = json.loads(Path("found/summary.json").read_text())
    assert "neighbours lie in one group most clearly by" in json.dumps(summary)
    assert run("predict", "found", "waves.npy", "-o", "new.csv", "-q")[0] == 0
    code, out, err = run("cluster", "waves.npy", "-c", "2-3", "-o", "some", "--n-init", 2, "--metric", "series-auto")
    assert code == 0, err
    assert "distance tried" in out


def test_a_metric_without_a_name_goes_through_all_commands(run: Run, rng: np.random.Generator) -> None:
    steps = np.arange(24)
    trend = 3 * rng.normal(size=(18, 1)) + rng.normal(size=(18, 1)) * steps / 4
    X = np.sin(np.repeat([[2.0], [0.9]], 9, axis=0) * steps) + trend + 0.05 * rng.normal(size=(18, 24))
    np.save("drifts.npy", X[:, :, None])
    code, out, err = run("cluster", "drifts.npy", "-c", 2, "-o", "found", "--n-init", 2, "--metric", "series-auto")
    assert code == 0, err
    assert "metric: adtw (neighbours lie in one group most clearly by slopes" in " ".join(out.split())
    assert run("predict", "found", "drifts.npy", "-o", "new.csv", "-q")[0] == 0
    code, out, err = run(
        "sweep", "drifts.npy", "-c", "2", "--beta", "1.2,1.5", "-o", "swept", "--metric", "series-auto", "--json"
    )
    assert code == 0, err
    found = json.loads(out)
    assert found["metric"] == "adtw"
    assert "by slopes" in found["metric_reason"]


def test_a_table_is_refused(run: Run, two_groups: Path) -> None:
    code, _, err = run("cluster", two_groups, "-c", 2, "--metric", "series-auto")
    assert code == 2
    assert "--metric series-auto is for series, and this file is a table: use --metric auto" in " ".join(err.split())
