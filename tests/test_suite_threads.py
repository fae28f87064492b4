"""EvalSuite in threads, and failing fast in them or in turn."""

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from tests.test_suite import PINNED, Given, run
from tracestream import EvalSuite, HarnessResult, report_to_evalport
from tracestream.evaluators import suite


@pytest.mark.parametrize("parallel", [False, True])
def test_failing_fast_raises_on_an_exception(parallel):
    suite = EvalSuite([Given(ValueError("no trace"))], parallel=parallel, fail_fast=True)
    with pytest.raises(RuntimeError) as caught:
        suite.run(print_summary=False)
    assert str(caught.value) == "EvalSuite stopped due to fail_fast: Given_0 failed: no trace"
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("parallel", [False, True])
def test_failing_fast_does_not_mind_an_evaluator_that_fails(parallel):
    report = run(HarnessResult(False, 0.0), {"score": 9}, parallel=parallel, fail_fast=True)
    assert [case.passed for case in report.results] == [False, True]


def test_failing_fast_runs_nothing_more_in_turn():
    last = Given({"score": 1})
    with pytest.raises(RuntimeError):
        run(ValueError("x"), last, fail_fast=True)
    assert last.calls == []


def test_failing_fast_starts_nothing_more_in_threads(monkeypatch):
    ended, late = threading.Event(), []

    class Pool(ThreadPoolExecutor):
        def shutdown(self, wait=True, *, cancel_futures=False):
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            ended.set()
            super().shutdown(wait=wait)

    monkeypatch.setattr(suite, "ThreadPoolExecutor", Pool)

    def wait(print_summary):
        assert ended.wait(60)

    def wait_late(print_summary):
        late.append(1)
        assert ended.wait(60)

    # Of 32 threads 31 are taken until the suite has ended; the free one may take one more.
    taken = [SimpleNamespace(run=wait)] * 31
    with pytest.raises(RuntimeError):
        run(
            ValueError("x"),
            *taken,
            *[SimpleNamespace(run=wait_late)] * 3,
            parallel=True,
            fail_fast=True,
        )
    assert len(late) <= 1


@pytest.mark.parametrize("raised", [ValueError, KeyboardInterrupt])
def test_nobody_waits_for_threads_that_run_on(raised):
    may_end, has_ended = threading.Event(), threading.Event()

    def run_on(print_summary):
        may_end.wait(10)
        has_ended.set()

    def fail(print_summary):
        raise raised

    with pytest.raises(RuntimeError if raised is ValueError else raised):
        run(*(SimpleNamespace(run=each) for each in (run_on, fail)), parallel=True, fail_fast=True)
    assert not has_ended.is_set()
    may_end.set()
    assert has_ended.wait(60)


def test_in_parallel_all_are_under_way_at_once():
    barrier = threading.Barrier(8)

    def meet(print_summary):
        barrier.wait(60)
        return {"score": 10}

    report = run(*[SimpleNamespace(run=meet)] * 8, parallel=True)
    assert report.success
    assert report.all_passed


def test_in_parallel_the_order_is_that_of_the_evaluators():
    first_may_go = threading.Event()

    def wait(print_summary):
        assert first_may_go.wait(60)
        return {"score": 1}

    def go(print_summary):
        first_may_go.set()
        return {"score": 2}

    report = run(SimpleNamespace(run=wait), SimpleNamespace(run=go), parallel=True)
    assert [case.score for case in report.results] == [0.1, 0.2]
    assert list(report.evaluator_results) == ["SimpleNamespace_0", "SimpleNamespace_1"]


def test_in_parallel_the_report_is_that_of_one_after_the_other():
    results = [{"score": 3}, ValueError("x"), None, HarnessResult(True, 1.0, timestamp="t")]
    reports = [run(*results, name="s", parallel=parallel) for parallel in (False, True)]
    assert report_to_evalport(reports[0], **PINNED) == report_to_evalport(reports[1], **PINNED)
    assert reports[0].errors == reports[1].errors
    assert reports[0].overall_score == reports[1].overall_score
