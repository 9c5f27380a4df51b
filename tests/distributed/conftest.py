"""One small Dask cluster for all tests that need worker processes."""

import logging
import warnings

import pytest


@pytest.fixture(scope="session")
def client():
    pytest.importorskip("distributed", reason="needs dask: pip install 'softecm[dask]'")
    from distributed import Client, LocalCluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Dask's own: ports in use, sockets closed late
        cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=logging.CRITICAL
        )
        client = Client(cluster, set_as_default=False)
    yield client
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client.close()
        cluster.close()
