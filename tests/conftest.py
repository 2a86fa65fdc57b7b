"""A report of a sanitizer fails the test during which it came, also one that expects its program to fail. What was collected stays."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import gc
from collections.abc import Generator

import pytest
from env import reports


def pytest_configure() -> None:
    reports.watch()


def pytest_unconfigure() -> None:
    reports.forget()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Each worker keeps thousands of tests until the end: the search for garbage would go through all of them each time."""
    gc.disable()
    done = yield
    gc.freeze()
    gc.enable()
    return done


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown() -> Generator[None, object, object]:
    """Behind the fixtures: what they stop may report as well."""
    done = yield
    reports.refuse()
    return done
