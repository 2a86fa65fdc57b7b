"""Somebody at the web page of a machine, run in that machine's network: signs in, and ends when the list shows the clusters.

usage: visit.py FOLDER URL USER CLUSTER...    with the password on standard input"""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import sys
from pathlib import Path

from env import browser

folder, url, user, *clusters = sys.argv[1:]
with browser.page(Path(folder)) as page:
    browser.sign_in(page, url, user, sys.stdin.readline().rstrip("\n"))
    browser.wait_for_clusters(page, clusters)
