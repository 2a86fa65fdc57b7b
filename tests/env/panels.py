"""People with a panel open: each asks for the list again and again. For tests and bench/rights_many.py."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import threading
import time

import requests

from .api import Api

LIMIT_S = 120
THREADS = 4


class Panels:
    """Context manager: they ask from its beginning to its end. `answers`: when, status, and names in the list."""

    def __init__(self, people: list[Api], pause_s: float = 1.0) -> None:
        self.answers: list[tuple[float, int, list[str]]] = []
        self._stop = threading.Event()
        self._pause_s = pause_s
        self._threads = [threading.Thread(target=self._run, args=(people[i::THREADS],)) for i in range(THREADS)]

    def _run(self, people: list[Api]) -> None:
        with requests.Session() as http:
            while not self._stop.wait(self._pause_s):
                for one in people:
                    answer = http.get(f"{one.base}/v2/clusters", headers={"Authorization": f"Bearer {one.token}"},
                                      verify=str(one.ca_file), timeout=LIMIT_S)
                    names = [item["name"] for item in answer.json()["items"]] if answer.ok else []
                    self.answers.append((time.monotonic(), answer.status_code, names))

    def __enter__(self) -> Panels:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
