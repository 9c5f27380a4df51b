"""Wide data compared with scikit-learn's KMeans: sparse texts (TF-IDF) and embeddings; seconds and memory.

``python benchmarks/wide.py [--quick] [--only texts|embeddings|embeddings768|large] [--write benchmarks/results/wide.md]``

A few minutes on two idle cores. Every fit runs in a separate process, after a small one that loads and compiles
everything; "memory" is the peak resident memory of the fit above that of the process with the data loaded, "data" the
bytes of the rows, "centres" those of c dense centres. Texts are generated: 20 topics, realistic word frequencies,
TF-IDF, rows of length 1. The bounds of the last column: three times KMeans(n_init=10) and twice the data plus four
times the centres for texts, twice KMeans for embeddings. ``beta`` is listed if it is not the default: with more noise
than structure in many columns, 1.2 pulls all prototypes together.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

HERE = Path(__file__).resolve().parent
CLUSTERS = 20
JOBS = {
    "texts": {"n": 11_000, "p": 50_000, "beta": 1.2, "times": 3.0},
    "large": {"n": 100_000, "p": 10_000, "beta": 1.2, "times": 3.0},
    "embeddings": {"n": 50_000, "p": 384, "beta": 1.2, "times": 2.0},
    "embeddings768": {"n": 50_000, "p": 768, "beta": 1.2, "times": 2.0},
}


def texts(n, p, topics, seed=0, length=160):
    """Return TF-IDF of texts: half of the words from all, half from the topic's own, with realistic frequencies."""
    from sklearn.feature_extraction.text import TfidfTransformer

    rng = np.random.default_rng(seed)
    frequency = 1.0 / (np.arange(p) + 10.0)
    frequency /= frequency.sum()
    own = [rng.permutation(p)[: p // 20] for _ in range(topics)]
    of_topic = 1.0 / (np.arange(p // 20) + 10.0)
    of_topic /= of_topic.sum()
    labels = rng.integers(topics, size=n)
    rows, columns = [], []
    for i, k in enumerate(labels):
        many = max(20, int(rng.lognormal(np.log(length), 0.5)))
        common = rng.choice(p, size=many // 2, p=frequency)
        words = np.concatenate([common, own[k][rng.choice(p // 20, size=many - many // 2, p=of_topic)]])
        rows.append(np.full(len(words), i))
        columns.append(words)
    where = np.concatenate(rows), np.concatenate(columns)
    counts = sp.csr_matrix((np.ones(len(where[0])), where), shape=(n, p))
    return sp.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(counts)), labels


def embeddings(n, p, topics, seed=0):
    """Return directions: that of a topic, plus noise of about the same length."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(topics, size=n)
    centers = rng.normal(size=(topics, p))
    rows = centers[labels] + rng.normal(size=(n, p))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), labels


def dense(name):
    """Whether a job's rows are arrays."""
    return name.startswith("embeddings")


def made(name, n, p, seed=0):
    return (embeddings if dense(name) else texts)(n, p, CLUSTERS, seed)


def resident():
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4096


class Peak:
    """The peak resident memory while the block runs, sampled every few milliseconds."""

    def __enter__(self):
        self.most, self.done = resident(), threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()
        return self

    def watch(self):
        """Sample until the block ends."""
        while not self.done.wait(0.002):
            self.most = max(self.most, resident())

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()


def one(name, who, n, p, beta, folder):
    """Run one fit; print a line of JSON."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score

    from softecm import SoftECM

    warnings.simplefilter("ignore")
    small, _ = made(name, 5000, min(p, 3000), seed=1)
    labels = np.load(folder / "labels.npy")

    def model():
        if who == "KMeans":
            return KMeans(CLUSTERS, n_init=10, random_state=0)
        return SoftECM(CLUSTERS, beta=beta, random_state=0)

    model().fit(small)
    X = np.load(folder / "X.npy") if dense(name) else sp.csr_array(sp.load_npz(folder / "X.npz"))
    before = resident()
    with Peak() as peak:
        start, work = time.perf_counter(), time.process_time()
        found = model().fit(X)
        seconds, cpu = time.perf_counter() - start, time.process_time() - work
    size = X.nbytes if dense(name) else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    answer = {
        "seconds": seconds,
        "cpu": cpu,
        "memory": peak.most - before,
        "data": size,
        "centres": CLUSTERS * p * 8,
        "ari": adjusted_rand_score(labels, found.labels_),
        "collapsed": bool(getattr(found, "collapsed_", False)),
    }
    print(json.dumps(answer))


def compared(name, folder, quick):
    job = dict(JOBS[name])
    n, p = (job["n"] // 5, job["p"] // 5) if quick else (job["n"], job["p"])
    X, labels = made(name, n, p)
    np.save(folder / "labels.npy", labels)
    np.save(folder / "X.npy", X) if dense(name) else sp.save_npz(folder / "X.npz", X)
    del X
    rows = {}
    for who in ("KMeans", "SoftECM"):
        command = [sys.executable, __file__, "--one", name, who, str(n), str(p), str(job["beta"]), str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        rows[who] = json.loads(done.stdout.splitlines()[-1])
        print(f"{name} {n} x {p}, {who}: {rows[who]}", file=sys.stderr, flush=True)
    ours, theirs = rows["SoftECM"], rows["KMeans"]
    allowed = 2 * ours["data"] + 4 * ours["centres"]
    beta = "" if job["beta"] == 1.2 else f", beta={job['beta']}"
    mb = 2.0**20
    bounds = [f"{job['times']:g} x"] + ([f"{allowed / mb:.0f} MB"] if not dense(name) else [])
    return (
        f"| {name} {n} x {p}{beta} | {theirs['seconds']:.1f} | {ours['seconds']:.1f} "
        f"| {ours['seconds'] / theirs['seconds']:.2f} | {ours['data'] / mb:.0f} | {ours['centres'] / mb:.0f} "
        f"| {theirs['memory'] / mb:.0f} | {ours['memory'] / mb:.0f} | {theirs['ari']:.3f} | {ours['ari']:.3f} "
        f"| {', '.join(bounds)} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a fifth of the rows and columns")
    parser.add_argument("--only", choices=sorted(JOBS))
    parser.add_argument("--write", type=Path)
    parser.add_argument("--one", nargs=6, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        name, who, n, p, beta, folder = given.one
        return one(name, who, int(n), int(p), float(beta), Path(folder))
    import tempfile

    head = (
        "| data | KMeans s | SoftECM s | ratio | data MB | centres MB | KMeans MB above | SoftECM MB above "
        "| KMeans ARI | SoftECM ARI | bound |"
    )
    lines = [head, "|" + "---|" * 11]
    for name in [given.only] if given.only else ["texts", "embeddings", "embeddings768", "large"]:
        with tempfile.TemporaryDirectory() as folder:
            lines.append(compared(name, Path(folder), given.quick))
    page = "# Wide data\n\n" + "\n".join(lines) + "\n"
    print(page)
    if given.write:
        given.write.write_text(page)
    return None


if __name__ == "__main__":
    main()
