"""A one-time password and the web page, in a browser at the daemon itself: signed in with it, the person replaces it and goes on."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import uuid

from env import browser
from env.full import World
from env.kaasd import ONE_TIME_PASSWORD
from env.places import Scratch

WEAK, FRESH = "121212121212", "seven swans in a paper boat"


def test_a_one_time_password_is_replaced_in_the_page(world: World, scratch: Scratch) -> None:
    ctl, name = world.kaasd.ctl, f"page-{uuid.uuid4().hex[:8]}"
    found = ONE_TIME_PASSWORD.search(ctl.ok("user", "add", name))
    assert found
    ctl.ok("grant", "add", name, "--cluster", "prod-1")
    with browser.page(scratch.path / "profile") as page:
        browser.sign_in(page, world.kaasd.url, name, found.group(1))
        page.get_by_text("set by somebody else").wait_for()
        for old, fresh, told in (("not it", FRESH, "This is not your current password"), (found.group(1), WEAK, "repeats a few characters"),
                                 (found.group(1), FRESH, "Your password is changed.")):
            page.fill("#old", old)
            page.fill("#fresh", fresh)
            page.fill("#again", fresh)
            page.press("#again", "Enter")
            page.get_by_text(told).wait_for()
        browser.wait_for_clusters(page, ["prod-1"])
    assert world.kaasd.api().login_password(name, FRESH).get("/v2/whoami")["must_change_password"] is False
    ctl.ok("user", "remove", name, "--yes")
