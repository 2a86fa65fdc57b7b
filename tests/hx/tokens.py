"""Who may sign on to HX Connect, for how long and how often: accounts, tokens, the limits on both, and the lock after wrong passwords.
Knows nothing of HTTP. Time is a function that is handed in, so that a test moves it and nobody waits. Not thread-safe: the server's lock
is held around each call."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass, field

LOGINS_MAX = 5  # successful ones of a user
LOGINS_WINDOW_S = 15 * 60
USER_TOKENS_MAX = 8
SYSTEM_TOKENS_MAX = 16
FAILURES_MAX = 10  # one after the other
LOCK_S = 120
TOKEN_LIFE_S = 18 * 24 * 3600
TOKEN_TYPE = "Bearer"
LOCAL = "local/"


def canonical(user: str) -> str:
    """The two ways to write a local user are one account, with one set of limits."""
    return user.removeprefix(LOCAL)


class Accounts(MutableMapping[str, str]):
    """Passwords by user."""

    def __init__(self) -> None:
        self._passwords: dict[str, str] = {}

    def __getitem__(self, user: str) -> str:
        return self._passwords[canonical(user)]

    def __setitem__(self, user: str, password: str) -> None:
        self._passwords[canonical(user)] = password

    def __delitem__(self, user: str) -> None:
        del self._passwords[canonical(user)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._passwords)

    def __len__(self) -> int:
        return len(self._passwords)


class Denied(Exception):
    """No: wrong credentials, a locked account, or a token that is not valid. One kind for all of them, as for the client."""


class Limited(Exception):
    """Too many; `wait_s` is when it may be tried again."""

    def __init__(self, text: str, wait_s: float) -> None:
        super().__init__(text)
        self.wait_s = wait_s


@dataclass(frozen=True)
class Token:
    user: str
    access: str
    refresh: str
    issued_s: float

    def members(self) -> dict[str, str]:
        return {"access_token": self.access, "refresh_token": self.refresh, "token_type": TOKEN_TYPE}


@dataclass
class Record:
    """What is remembered of one user."""

    successes_s: list[float] = field(default_factory=list)
    failures: int = 0  # since the last success
    locked_until_s: float | None = None


class Tokens:
    """`evicts_when_full`: what the documents leave open. A system with 16 tokens refuses the next user (False) or takes the oldest token
    of whomever away (True)."""

    def __init__(self, now: Callable[[], float], accounts: Accounts) -> None:
        self.accounts = accounts
        self.evicts_when_full = False
        self.logins = 0
        self.failures = 0
        self._now = now
        self._records: dict[str, Record] = {}
        self._held: list[Token] = []  # unrevoked, the oldest first

    # -- passwords ---------------------------------------------------------------------------------------------------------

    def check_password(self, user: str, password: str) -> str:
        """The account's name, or Denied. Counts what locks an account."""
        name = canonical(user)
        record = self._records.setdefault(name, Record())
        if record.locked_until_s is not None and self._now() >= record.locked_until_s:
            record.locked_until_s, record.failures = None, 0
        if record.locked_until_s is not None:  # tries meanwhile do not lengthen it
            self.failures += 1
            raise Denied("the account is locked")
        if self.accounts.get(name) != password:
            self.failures += 1
            record.failures += 1
            if record.failures >= FAILURES_MAX:
                record.locked_until_s = self._now() + LOCK_S
            raise Denied("the user name or the password is wrong")
        record.failures = 0
        return name

    def login(self, user: str, password: str, *, revoke_previous: bool = False) -> Token:
        name = self.check_password(user, password)
        self._limit_rate(name)
        if revoke_previous:
            self._held = [token for token in self._held if token.user != name]
        self._make_room(name)
        self._records[name].successes_s.append(self._now())
        self.logins += 1
        return self._issue(name)

    def _limit_rate(self, name: str) -> None:
        record, now = self._records[name], self._now()
        record.successes_s = [then for then in record.successes_s if now - then < LOGINS_WINDOW_S]
        if len(record.successes_s) >= LOGINS_MAX:
            raise Limited("too many sign-ons of this user", record.successes_s[0] + LOGINS_WINDOW_S - now)

    def _make_room(self, name: str) -> None:
        self._expire()
        own = [token for token in self._held if token.user == name]
        if len(own) >= USER_TOKENS_MAX:
            self._held.remove(own[0])
        if len(self._held) >= SYSTEM_TOKENS_MAX:
            if not self.evicts_when_full:
                raise Limited("too many sessions in the system", self._held[0].issued_s + TOKEN_LIFE_S - self._now())
            self._held.pop(0)

    # -- tokens ------------------------------------------------------------------------------------------------------------

    def _issue(self, name: str) -> Token:
        token = Token(name, secrets.token_urlsafe(48), secrets.token_urlsafe(48), self._now())
        self._held.append(token)
        return token

    def _expire(self) -> None:
        now = self._now()
        self._held = [token for token in self._held if now - token.issued_s < TOKEN_LIFE_S]

    def find(self, access: str) -> Token:
        """The token that is valid now, or Denied."""
        self._expire()
        for token in self._held:
            if token.access == access and token.user in self.accounts:
                return token
        raise Denied("the token is not valid")

    def _find_pair(self, access: str, refresh: str) -> Token:
        token = self.find(access)
        if token.refresh != refresh:
            raise Denied("the refresh token is not that of the access token")
        return token

    def refresh(self, access: str, refresh: str) -> Token:
        """New values; the old ones end. Not a sign-on: it does not count towards that limit."""
        old = self._find_pair(access, refresh)
        self._held.remove(old)
        return self._issue(old.user)

    def revoke(self, access: str, refresh: str) -> str:
        """Returns whose it was."""
        token = self._find_pair(access, refresh)
        self._held.remove(token)
        return token.user

    def revoke_all(self) -> None:
        """As a restart of the service does it, or another administrator."""
        self._held.clear()

    def held(self, user: str | None = None) -> int:
        """How many are valid: of a user, or of all."""
        self._expire()
        return sum(user is None or token.user == canonical(user) for token in self._held)
