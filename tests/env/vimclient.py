"""A vCenter's other clients: pyvmomi and govc. Neither shares code with kaasd, so what they read back is evidence."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyVim.connect import Disconnect, SmartConnect, SmartStubAdapter
from pyVim.task import WaitForTask
from pyVmomi import vim, vmodl

from .places import WorldError, program
from .process import run
from .vcenter import User, Vcenter

OUR_EVENTS = "com.cisco.kaas."
COOKIE = re.compile(r'vmware_soap_session="?([^";]+)"?')


def tls_context(vcenter: Vcenter) -> ssl.SSLContext:
    """Trusts exactly the vCenter of the world."""
    context = ssl.create_default_context(cafile=str(vcenter.ca_file))
    context.check_hostname = False
    return context


@contextmanager
def session(vcenter: Vcenter, user: User) -> Iterator[vim.ServiceInstance]:
    """A person's own session at the vCenter, logged out at the end."""
    instance = SmartConnect(host=vcenter.host, port=vcenter.port, user=user.login, pwd=user.password, sslContext=tls_context(vcenter))
    try:
        yield instance
    finally:
        Disconnect(instance)


def cookie_of(instance: vim.ServiceInstance) -> str:
    """The value of the session cookie, as HX Connect would hand it over."""
    found = COOKIE.search(instance._stub.cookie)
    if not found:
        raise WorldError("pyvmomi holds no session cookie")
    return found.group(1)


def read_property(instance: vim.ServiceInstance, thing: vim.ManagedObject, path: str) -> Any:
    """One property by the public PropertyCollector call; pyvmomi's own attribute access uses an internal operation."""
    collector = vmodl.query.PropertyCollector
    spec = collector.FilterSpec(objectSet=[collector.ObjectSpec(obj=thing)],
                                propSet=[collector.PropertySpec(type=type(thing), pathSet=[path])])
    content = instance.RetrieveContent()
    found = content.propertyCollector.RetrievePropertiesEx([spec], collector.RetrieveOptions())
    return found.objects[0].propSet[0].val


def read_all(instance: vim.ServiceInstance, kind: type[vim.ManagedEntity], *paths: str) -> dict[str, dict[str, Any]]:
    """These properties of every object of a kind, by moref."""
    collector = vmodl.query.PropertyCollector
    content = instance.RetrieveContent()
    view = content.viewManager.CreateContainerView(content.rootFolder, [kind], True)
    walk = collector.TraversalSpec(type=vim.view.ContainerView, path="view", skip=False)
    spec = collector.FilterSpec(objectSet=[collector.ObjectSpec(obj=view, skip=True, selectSet=[walk])],
                                propSet=[collector.PropertySpec(type=kind, pathSet=list(paths))])
    rows: dict[str, dict[str, Any]] = {}
    page = content.propertyCollector.RetrievePropertiesEx([spec], collector.RetrieveOptions())
    while page:
        rows |= {item.obj._moId: {found.name: found.val for found in item.propSet} for item in page.objects}
        page = content.propertyCollector.ContinueRetrievePropertiesEx(page.token) if page.token else None
    view.DestroyView()
    return rows


def clusters_of_vms(instance: vim.ServiceInstance) -> dict[str, str]:
    """The vSphere cluster on which each VM runs, both as morefs."""
    hosts = {moref: row["parent"]._moId for moref, row in read_all(instance, vim.HostSystem, "parent").items()}
    machines = read_all(instance, vim.VirtualMachine, "runtime.host")
    return {moref: hosts[row["runtime.host"]._moId] for moref, row in machines.items() if "runtime.host" in row}


def key_of(instance: vim.ServiceInstance) -> str:
    return read_property(instance, instance.RetrieveContent().sessionManager, "currentSession").key


def clone_ticket(instance: vim.ServiceInstance) -> str:
    return instance.RetrieveContent().sessionManager.AcquireCloneTicket()


def clone_session(vcenter: Vcenter, ticket: str) -> str:
    """Turns a clone ticket into a session, which ends at once; hands back whose it was."""
    stub = SmartStubAdapter(host=vcenter.host, port=vcenter.port, sslContext=tls_context(vcenter))
    manager = vim.ServiceInstance("ServiceInstance", stub).RetrieveContent().sessionManager
    user = manager.CloneSession(ticket).userName
    manager.Logout()
    return user


def read_extension(vcenter: Vcenter, key: str, user: User | None = None) -> vim.Extension | None:
    """The record of an extension, as pyvmomi reads it."""
    with session(vcenter, user or vcenter.admin) as instance:
        return instance.RetrieveContent().extensionManager.FindExtension(key)


def host_of(instance: vim.ServiceInstance, moref: str) -> vim.HostSystem:
    return vim.HostSystem(moref, instance._stub)


def enter_maintenance(vcenter: Vcenter, moref: str) -> None:
    """An administrator puts a host into maintenance mode; that lasts as long as machines run there."""
    with session(vcenter, vcenter.admin) as instance:
        host_of(instance, moref).EnterMaintenanceMode_Task(timeout=0)


def end_maintenance(vcenter: Vcenter, moref: str) -> None:
    """A host neither is in maintenance mode afterwards nor about to be."""
    with session(vcenter, vcenter.admin) as instance:
        host = host_of(instance, moref)
        for task in host.recentTask:
            if task.info.state in ("queued", "running"):
                task.CancelTask()
                WaitForTask(task, raiseOnError=False)
        if host.runtime.inMaintenanceMode:
            WaitForTask(host.ExitMaintenanceMode_Task(timeout=0))


def our_events(vcenter: Vcenter, moref: str, locale: str = "en",
               kind: str = "ClusterComputeResource") -> list[tuple[str, str, dict[str, str]]]:
    """The events of ours at a vSphere cluster (or an object of another kind), the oldest first: the type after our prefix, the text as it
    is read in that language, and the arguments."""
    stub = SmartStubAdapter(host=vcenter.host, port=vcenter.port, sslContext=tls_context(vcenter))
    content = vim.ServiceInstance("ServiceInstance", stub).RetrieveContent()
    content.sessionManager.Login(vcenter.admin.login, vcenter.admin.password, locale)
    try:
        by_entity = vim.event.EventFilterSpec.ByEntity(entity=getattr(vim, kind)(moref, stub), recursion="self")
        collector = content.eventManager.CreateCollectorForEvents(vim.event.EventFilterSpec(entity=by_entity, maxCount=1000))
        events: list[Any] = list(collector.ReadNextEvents(1000))
    finally:
        content.sessionManager.Logout()
    return [(event.eventTypeId.removeprefix(OUR_EVENTS), event.fullFormattedMessage, {item.key: item.value for item in event.arguments})
            for event in events if isinstance(event, vim.event.EventEx) and event.eventTypeId.startswith(OUR_EVENTS)]


def run_govc(vcenter: Vcenter, *arguments: str, user: User | None = None) -> str:
    """What govc prints."""
    who = user or vcenter.admin
    result = run([program("govc"), *arguments], env={
        "GOVC_URL": vcenter.url, "GOVC_USERNAME": who.login, "GOVC_PASSWORD": who.password, "GOVC_INSECURE": "false",
        "GOVC_TLS_CA_CERTS": str(vcenter.ca_file), "GOVC_PERSIST_SESSION": "false", "GOVC_VIM_VERSION": vcenter.api_version})
    if result.returncode:
        raise WorldError(f"govc {' '.join(arguments)}: {result.stderr.strip()}")
    return result.stdout


def attempt_govc(vcenter: Vcenter, *arguments: str) -> str:
    """As run_govc for what is to fail: what govc says of that."""
    try:
        run_govc(vcenter, *arguments)
    except WorldError as error:
        return str(error)
    raise WorldError(f"govc {' '.join(arguments)} has done it")


def govc(vcenter: Vcenter, command: str, *arguments: str, user: User | None = None) -> Any:
    """Runs govc with JSON output."""
    return json.loads(run_govc(vcenter, command, "-json", *arguments, user=user))


def govc_extension(vcenter: Vcenter, key: str) -> dict[str, Any] | None:
    """The record of an extension, as govc reads it."""
    listed = govc(vcenter, "extension.info").get("extensions", [])
    return next((record for record in listed if record["key"] == key), None)
