"""A kaasd that is killed at a commit which the test names: the program tests/integ/provision/machine_kaasd."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import uuid
from dataclasses import dataclass

from .kaasd import Kaasd
from .places import program


@dataclass(frozen=True)
class Death:
    """Before or after the Nth commit of a job, or about what a job makes, from the order on."""

    when: str
    number: int

    def __str__(self) -> str:
        return f"{self.when} commit {self.number}"


class Dying:
    """What `kaasd` is told; from its next start on it is that program."""

    def __init__(self, kaasd: Kaasd) -> None:
        self._order = kaasd.folder / "die"
        self._log = self._order.with_name("die.log")
        self.is_ordered = False
        kaasd.env = {**kaasd.env, "KAAS_DIE": str(self._order)}
        programs = kaasd.folder / "programs"
        programs.mkdir()
        (programs / "kaasd").symlink_to(program("tests/integ/provision/machine_kaasd"))
        (programs / "kaasctl").symlink_to(program("kaasctl"))
        kaasd.ctl.programs = programs

    def order(self, death: Death) -> None:
        """Counting begins anew."""
        self._log.unlink(missing_ok=True)
        part = self._order.with_suffix(".part")
        part.write_text(f"{uuid.uuid4()} {death.when}:{death.number}\n")
        part.rename(self._order)
        self.is_ordered = True

    def forget(self) -> bool:
        """False: it is too late, it dies, and what it wrote last may be read before."""
        was_ordered, self.is_ordered = self.is_ordered, False
        try:
            self._order.unlink()
        except FileNotFoundError:
            return not was_ordered
        return True

    def met(self) -> list[str]:
        """The function of each commit since the last order."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [line.split()[2] for line in lines if line.startswith("before ")]

    def place(self) -> str:
        """Where it was killed last: the function whose commit it was; "" if it was not."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return next((line.split()[2] for line in lines if line.endswith(" dies")), "")
