"""No secret reaches a log line or the text of an error: the arguments of these calls do not bear the usual names."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from pathlib import Path

import csource
import pytest
from csource import TOP, Node

CALLS = {"log_event", "log_error", "log_fmt", "err_set", "err_set_at", "err_detail", "err_remedy"}
SECRET = re.compile(r"passw|secret|ticket|cookie|session_id$|priv(ate)?_?key|key_pem|master_key|seal(ing)?_key|bearer|authorization$|"
                    r"(^|_)token$|access_token|jwt$|soap_body", re.I)
# names that only sound like it: counters, sizes, verdicts
HARMLESS = re.compile(r"_(count|bytes|len|max|min|ms|s|state|kind|known|present|missing|path|file|error)$|^has_|^is_", re.I)


def secret_names(call: Node) -> list[str]:
    arguments = call.child_by_field_name("arguments")
    kinds = ("identifier", "field_identifier") if arguments else ()
    names = {csource.text_of(node) for kind in kinds for node in csource.walk(arguments, kind)}
    return sorted(name for name in names if SECRET.search(name) and not HARMLESS.search(name) and not name.isupper())


def leaks(path: Path) -> list[str]:
    found = []
    for call in csource.walk(csource.tree(path), "call_expression"):
        name = csource.text_of(call.child_by_field_name("function"))
        if name in CALLS and (secret := secret_names(call)):
            found.append(f"{path.relative_to(TOP)}:{call.start_point[0] + 1}: {name}(... {', '.join(secret)} ...)")
    return found


def test_no_secret_in_log_lines_and_errors() -> None:
    found = [line for path in csource.tracked("src/**.c", "src/**.h") for line in leaks(path)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("line", "found"), [
    ('log_event(LOG_LEVEL_INFO, "login", "user", user, NULL);', 0),
    ('log_event(LOG_LEVEL_INFO, "login", "p", password, NULL);', 1),
    ('log_error(LOG_LEVEL_INFO, "token_expired", err, "id", s->session_id, NULL);', 1),
    ('err_set(err, ERR_INVALID, "ticket %s", strbuf_text(&req->clone_ticket));', 1),
    ('err_set(err, ERR_INVALID, "the password is longer than %d bytes", LIMIT_PASSWORD_BYTES);', 0),
])
def test_the_rule_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, found: int) -> None:
    monkeypatch.setattr("test_secrets.TOP", tmp_path)
    source = tmp_path / "s.c"
    source.write_text(f"void f(void) {{ {line} }}\n")
    assert len(leaks(source)) == found
