"""Whatever the OpenAPI document allows, and much that it does not, is answered, and never with a 500."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewardkit import Scorer
from rewardkit.sandbox import Pool
from rewardkit.server.app import create_app

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    schemathesis = pytest.importorskip("schemathesis")

from fastapi.testclient import TestClient

_scorer = Scorer(workers=1)
_app = create_app(_scorer, max_body_bytes=1 << 20, timeout_s=5.0)
# Not `from_asgi`, which starts the app in a thread of this process: it is forked to run tests.
schema = schemathesis.openapi.from_dict(_app.openapi())
schema.app = _app


@pytest.fixture(scope="module", autouse=True)
def close_the_scorer() -> Iterator[None]:
    yield
    _scorer.close()


@pytest.fixture(scope="module")
def http() -> Iterator[TestClient]:
    with TestClient(_app) as client:
        yield client


@pytest.mark.filterwarnings("ignore:Skipped test cases with unsupported payload media types")
@schema.parametrize()
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_that_the_document_describes_fails_the_server(case: schemathesis.Case) -> None:
    assert case.call().status_code < 500


@pytest.mark.slow
@given(st.binary(max_size=200) | st.text().map(str.encode))
@settings(max_examples=200, deadline=None)
def test_no_bytes_fail_the_server(http: TestClient, body: bytes) -> None:
    for content_type in ("application/json", "application/x-ndjson"):
        answer = http.post("/score", content=body, headers={"content-type": content_type})
        assert answer.status_code in (200, 422)


def test_no_body_fails_run_code() -> None:
    with Pool(1) as pool:
        http = TestClient(create_app(_scorer, sandbox=pool))
        bodies: list[object] = [
            {},
            {"code": 1},
            {"code": "\ud800"},
            {"run_timeout": "x", "code": ""},
            [],
            None,
        ]
        for body in bodies:
            assert http.post("/run_code", content=json.dumps(body)).status_code in (200, 422)
