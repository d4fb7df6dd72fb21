"""Engines that tests of several modules share, since their start takes longer than most tests."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from support.spark_session import spark

__all__ = ["ray", "spark"]


@pytest.fixture(scope="session")
def ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two processors of this machine as a cluster, with a home of its own, since Ray keeps a token there."""
    module = pytest.importorskip("ray", reason="needs Ray")
    pytest.importorskip("pyarrow", reason="needs PyArrow")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Ray Data warns of its own options when it is imported
        import ray.data  # noqa: F401

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        module.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=200 * 2**20)
        yield module
        module.shutdown()
