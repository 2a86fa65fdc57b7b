"""scripts/demo: the world for looking at, or the walk with a verdict for each step."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import signal
import sys
import time

from env.places import program

from .ad_steps import who_can_come, with_ad
from .create_steps import CREATE_STEPS
from .hx_steps import PERSON, start_client, with_hx
from .kube_steps import how_to_look, with_kubernetes
from .sabotage import AD_SABOTAGES, ALL_SABOTAGES, CREATE_SABOTAGES, KUBE_SABOTAGES, SABOTAGES
from .steps import MACHINE, STEPS, WHOLE, Ports, Steps, Walk

SHOW = {"setup", "world", "init", "check-config", "start", "vcenter-add", "vcenter-register", "vcenter-status", "cluster-add", "hx-connect",
        "ad-domain", "ldap-set", "ldap-test", "role-mapping", "kubernetes", "kube-connect"}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/demo")
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--with-ad", action="store_true")
    parser.add_argument("--kubernetes", action="store_true")
    parser.add_argument("--create", action="store_true")
    parser.add_argument("--port", type=int)
    parser.add_argument("--sabotage", metavar="STEP", choices=sorted(ALL_SABOTAGES))
    parser.add_argument("--list-sabotage", action="store_true")
    options = parser.parse_args()
    if options.sabotage and not options.once:
        parser.error("--sabotage goes with --once")
    if options.create and not (options.once or options.list_sabotage):
        parser.error("--create goes with --once: nobody else is in its network")
    if options.create and (options.with_ad or options.kubernetes):
        parser.error("--create has a world of its own: it goes without --with-ad and --kubernetes")
    if options.create and options.sabotage and options.sabotage not in CREATE_SABOTAGES:
        parser.error(f"with --create there is no sabotage of {options.sabotage}: see --create --list-sabotage")
    for flag, given, broken in (("--with-ad", options.with_ad, AD_SABOTAGES), ("--kubernetes", options.kubernetes, KUBE_SABOTAGES),
                                ("--create", options.create, CREATE_SABOTAGES)):
        if options.sabotage in broken and not given:
            parser.error(f"--sabotage {options.sabotage} goes with {flag}")
    return options


def first_lines(error: BaseException) -> str:
    return " ".join(str(error).split())[:600] or type(error).__name__


class BadSabotage(Exception):
    """The sabotage itself did not work, which says nothing about the step."""


def break_world(walk: Walk, name: str) -> None:
    try:
        ALL_SABOTAGES[name](walk)
    except Exception as error:
        raise BadSabotage(f"the sabotage of {name} did not work: {first_lines(error)}") from error


def take(walk: Walk, steps: Steps, sabotage: str | None) -> bool:
    """Runs the steps in order; False after the first that fails."""
    for name, before, step in steps:
        started = time.monotonic()
        try:
            if before:
                before(walk)
            if name == sabotage:
                break_world(walk, name)
            step(walk)
        except BadSabotage:
            raise
        except Exception as error:  # whatever a step stumbles over is its verdict
            print(f"FAILED {name}: {first_lines(error)}", flush=True)
            return False
        print(f"ok {name} ({time.monotonic() - started:.1f} s)", flush=True)
    return True


def describe(walk: Walk) -> None:
    kaasd, vcenter = walk.kaasd, walk.vcenter
    rows = [f"1. page       {kaasd.url}/ui/      (its certificate is signed by {kaasd.tls.ca_file}; accept it here, a frame does not ask)",
            f"2. HX Connect {walk.hx.url}/      {PERSON} is signed in there: the panel in it lists HX-East without a password;",
            f"              click {WHOLE}, Nodes, {MACHINE}, which leads to the vCenter",
            f"3. vSphere   {walk.client.url}/ui/   the Monitor tab of HX-East in the vSphere Client, as the same person", "",
            f"API       {kaasd.url}/v2/      contract: {kaasd.url}/openapi.yaml",
            f"vCenter   {vcenter.url}      control port: {vcenter.control.url}",
            f"kaasctl   {program('kaasctl')} --config {kaasd.config} health",
            f"logs      {walk.scratch.log}", "",
            f"KaaS administrator            admin / {kaasd.admin_password}"]
    for name in ("Administrator", "viewer-east", "viewer-dc", "no-rights"):
        user = walk.user(name)
        rows.append(f"vCenter account {vcenter.address}   {user.login} / {user.password}")
    if walk.ad:
        rows += ["", who_can_come(walk)]
    if walk.kube:
        rows += ["", how_to_look(walk)]
    print("\n" + "\n".join(rows) + "\n\nCtrl-C ends it.", flush=True)


def wait_for_the_end() -> None:
    """Until Ctrl-C or TERM."""
    signal.sigwait({signal.SIGINT, signal.SIGTERM})


def chosen_steps(options: argparse.Namespace) -> Steps:
    if options.create:
        return CREATE_STEPS
    steps = with_ad(STEPS) if options.with_ad else STEPS
    return with_hx(with_kubernetes(steps) if options.kubernetes else steps)


def main() -> int:
    options = parse()
    if options.list_sabotage:
        print("\n".join(CREATE_SABOTAGES if options.create else KUBE_SABOTAGES if options.kubernetes else
                        AD_SABOTAGES if options.with_ad else SABOTAGES))
        return 0
    steps = chosen_steps(options)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the world is taken down
    walk = Walk(Ports.beginning_at(options.port))
    try:
        if options.once:
            return 0 if take(walk, steps, options.sabotage) else 1
        if not take(walk, tuple(step for step in steps if step[0] in SHOW), None):
            return 1
        start_client(walk)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        describe(walk)
        wait_for_the_end()
        return 0
    except KeyboardInterrupt:
        return 130
    except BadSabotage as error:
        print(f"scripts/demo: {error}", file=sys.stderr)
        return 2
    finally:
        walk.close()


if __name__ == "__main__":
    sys.exit(main())
