"""What a server counts."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client.parser import text_string_to_metric_families

from http_serving import Served


def counted(server: Served) -> dict[tuple[str, ...], float]:
    """Return every sample that is not 0 by its name and its labels, in this order."""
    answer = server.ask("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (
            sample.name,
            *(sample.labels[name] for name in ("route", "method", "status") if name in sample.labels),
        ): sample.value
        for family in text_string_to_metric_families(answer.body.decode())
        for sample in family.samples
        if sample.value and not sample.name.endswith(("_created", "_sum", "_bucket"))
    }


def test_requests_are_counted_by_route_and_never_by_what_a_caller_made_up(serve: Callable[..., Served]) -> None:
    server = serve()
    server.ask("/echo/mine?q=mine")
    server.ask("/echo/yours", token="wrong")
    server.ask("/made/up", method="MADE-UP")
    server.ask("/health", headers={"Host": "made.up"})
    server.ask("/fail/otherwise")
    assert counted(server) == {
        ("satchel_requests_total", "/echo/{word}", "GET", "200"): 1,
        ("satchel_requests_total", "/echo/{word}", "GET", "401"): 1,
        ("satchel_requests_total", "none", "other", "404"): 1,
        ("satchel_requests_total", "none", "GET", "421"): 1,
        ("satchel_requests_total", "/fail/{how}", "GET", "500"): 1,
        ("satchel_request_seconds_count", "/echo/{word}"): 2,
        ("satchel_request_seconds_count", "none"): 2,
        ("satchel_request_seconds_count", "/fail/{how}"): 1,
        ("satchel_tokens_refused_total",): 1,
    }


def test_streams_are_counted_while_they_are_open(serve: Callable[..., Served]) -> None:
    server = serve()
    with server.connect() as connection:
        head = f"GET /stream HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer agent-token\r\n\r\n"
        connection.sendall(head.encode())
        with connection.makefile("rb") as stream:
            assert b"data: first\n" in iter(stream.readline, b"")
        assert counted(server)["satchel_event_streams",] == 1
    while ("satchel_event_streams",) in (found := counted(server)):
        pass
    assert found["satchel_requests_total", "/stream", "GET", "200"] == 1
    assert ("satchel_request_seconds_count", "/stream") not in found


def test_two_servers_count_apart(serve: Callable[..., Served]) -> None:
    first, second = serve(), serve()
    first.ask()
    assert ("satchel_requests_total", "/health", "GET", "200") in counted(first)
    assert ("satchel_requests_total", "/health", "GET", "200") not in counted(second)


def test_agents_are_not_told(server: Served) -> None:
    answer = server.ask("/metrics", token="agent-token")
    assert (answer.status, answer.json()["error"]["code"]) == (403, "refused")
    assert "--role person" in answer.json()["error"]["remedy"]
    assert server.ask("/metrics", token=None).status == 401
