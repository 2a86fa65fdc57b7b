#!/bin/sh
# Makes this machine a node of its cluster, and tells by guestinfo how far it is. cloud-init runs it at the first boot, kaas-node.service at each
# further one; what it is to make of the machine stands in /etc/kaas (node_data.c). The words are those of node_phases.def. SPDX-License-Identifier: GPL-3.0-or-later
set -u
umask 077
export LC_ALL=C PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
plan=/etc/kaas state=/var/lib/kaas log=/var/log/kaas-node.log
probe=/usr/local/lib/kaas/arp-probe answers=/run/kaas
card=eth0
round_s=5            # between two looks
quiet_s=30           # for which kubelet's errors are none: it complains while its API server starts
kubelet_limit_s=300  # from the end of kubeadm to a kubelet that is well
reset_limit_s=180
clock_limit_s=300    # certificates begin so long before they are made
plan_limit_s=3600    # from the making of the plan to the first boot
disk_mib=2048
# shellcheck source=/dev/null
. "$plan/node.env"

tell() { vmtoolsd --cmd "info-set guestinfo.kaas.$1 $2" >/dev/null 2>&1; }

# One line without what might be a secret: bootstrap tokens, keys.
clean() { printf '%s' "$1" | tr -c '[:print:]' ' ' | sed -E 's/[a-z0-9]{6}\.[a-z0-9]{16}/.../g; s/[A-Za-z0-9+=]{32,}/.../g' | cut -c 1-300; }

told=
tell_error() {
    error=$1
    [ -z "${2-}" ] || error="$1: $(clean "$2")"
    [ "$error" = "$told" ] || tell error "$error"
    told=$error
}

phase() {
    printf '%s %s\n' "$(date -u +%FT%TZ)" "$1" >>"$log"
    tell phase "$1"
}

give_up() {
    printf '%s: %s\n' "$1" "$2" >>"$log"
    tell_error "$1" "$2"
    phase failed
    exit 1
}

# -- what has to be so before anything is begun -------------------------------------------------------------------------------------

# Of the machine, and of its control group where it is a container.
memory_mib() {
    {
        awk '/^MemTotal:/ {printf "%.0f\n", $2 / 1024}' /proc/meminfo
        cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null | awk '/^[0-9]+$/ {printf "%.0f\n", $1 / 1048576}'
    } | sort -n | head -n 1
}

# What no waiting changes: the image, and what the machine is made of.
check_machine() {
    for program in kubelet kubeadm containerd curl python3; do
        command -v "$program" >/dev/null || give_up no-program "$program is not there"
    done
    found=$(kubelet --version)
    [ "$found" = "Kubernetes v$KAAS_VERSION" ] || give_up other-version "kubelet is of ${found#Kubernetes v}, the cluster of $KAAS_VERSION"
    found=$(memory_mib)
    [ "$found" -ge "$KAAS_MEMORY_MIB" ] || give_up little-memory "$found MiB, of $KAAS_MEMORY_MIB that it takes"
    found=$(df -Pk /var/lib | awk 'NR == 2 {printf "%.0f\n", $4 / 1024}')
    [ "$found" -ge "$disk_mib" ] || give_up little-disk "$found MiB, of $disk_mib that it takes"
}

uptime_s() { cut -d . -f 1 /proc/uptime; }

# The clock against that of the API server, or of who wrote the plan, as it was when this program began; tells by how much it is wrong, which does not change from look to look.
check_clock() {
    if [ "$1" ]; then
        ahead=$(($(date +%s) - $(date -d "$1" +%s))) late=$clock_limit_s who='that of the API server'
    else
        ahead=$(($(date +%s) - ($(uptime_s) - began_s) - KAAS_MADE_S)) late=$plan_limit_s who='the making of the cluster'
    fi
    if [ $((-ahead)) -gt "$clock_limit_s" ]; then
        echo "clock it is $(((30 - ahead) / 60)) minutes behind $who"
    elif [ "$ahead" -gt "$late" ]; then
        echo "clock it is $(((30 + ahead) / 60)) minutes ahead of $who"
    fi
}

# ask NAME ADDRESS SENDER: who has an address, on our network. The answer comes into a file of that name.
ask() {
    : >"$answers/$1"
    [ -z "$2" ] || "$probe" "$card" "$2" "$3" >"$answers/$1" &
}

# What may become right by itself, or by somebody out there: prints the first word and detail of what is wrong.
check_place() {
    [ "$(ip -4 -o address show dev "$card" to "$KAAS_ADDRESS/32")" ] || { echo "no-address $KAAS_ADDRESS is not on $card"; return; }
    # all at a time, since nobody is heard of after a second only
    ask own "$KAAS_ADDRESS" 0.0.0.0
    ask gateway "$KAAS_GATEWAY" "$KAAS_ADDRESS"
    [ "$KAAS_ROLE" != init ] || ask api "$KAAS_API_ADDRESS" 0.0.0.0
    wait
    found=$(cat "$answers/own")
    [ -z "$found" ] || { echo "address-taken $KAAS_ADDRESS is at $found, too"; return; }
    if [ "$KAAS_GATEWAY" ] && [ ! -s "$answers/gateway" ]; then
        echo "no-gateway nobody answers for $KAAS_GATEWAY"
        return
    fi
    date=
    if [ "$KAAS_ROLE" = init ]; then
        found=$(cat "$answers/api")
        [ -z "$found" ] || { echo "api-address-taken $KAAS_API_ADDRESS is at $found"; return; }
    else
        # the certificate is not looked at: kubeadm knows the CA by its hash, and here a clock is read. Ready says that etcd has a majority, without which no
        # join comes to an end
        found=$(curl --silent --show-error --fail --insecure --noproxy '*' --max-time 5 --output /dev/null --dump-header - "https://$KAAS_API/readyz" 2>&1) ||
            { echo "no-api $(printf '%s\n' "$found" | tail -n 1)"; return; }
        date=$(printf '%s\n' "$found" | tr -d '\r' | sed -n 's/^[Dd]ate: //p' | head -n 1)
    fi
    check_clock "$date"
}

# -- what is said while kubeadm runs ------------------------------------------------------------------------------------------------

killed() { awk '$1 == "oom_kill" {print $2}' /proc/vmstat; }

kubelet_error() { journalctl --unit kubelet --boot --output cat --lines 300 2>/dev/null | grep '^[EF][0-9][0-9][0-9][0-9] ' | tail -n 1; }

kubeadm_error() { grep -E '^(error|\[?preflight\] Some fatal|.*\[ERROR )' "$log" | tail -n 2 | tr '\n' ' '; }

tell_killed() { tell_error killed-for-memory "$(($(killed) - killed_before)) of them since it began"; }

# kubeadm only says that nobody answers; kubelet says why. Ends between two words, so that nothing is told behind its end.
watch() {
    trap 'exit 0' TERM
    began=$(date +%s)
    while sleep 1; do
        if [ "$(killed)" != "$killed_before" ]; then
            tell_killed
        elif [ $(($(date +%s) - began)) -ge "$quiet_s" ]; then
            line=$(kubelet_error)
            [ -z "$line" ] || tell_error kubelet "$line"
        fi
    done
}

# -- the work -----------------------------------------------------------------------------------------------------------------------

# What is left of a try that was cut off. A control plane that joins may have a vote in etcd by now, and kubeadm's reset would delete what it has to vote by without taking
# it out, as long as its node is not there (seen with 1.36.3): the others would be without a majority for good. So it stays as it is, with kubelet and etcd, until KaaS has
# taken it out, and another machine comes in its place.
undo() {
    [ -e "$state/began" ] || return 0
    [ "$KAAS_ROLE" != control-plane ] || give_up cut-off "it had begun at $(date -u -r "$state/began" +%FT%TZ)"
    timeout "$reset_limit_s" kubeadm reset --force >>"$log" 2>&1
    rm -f "$state/began"
}

# kubeadm wants some of it in folders that its reset empties.
lay_out() {
    mkdir -p /etc/kubernetes/patches
    chmod 0755 /etc/kubernetes /etc/kubernetes/patches
    if [ "$KAAS_ROLE" != worker ]; then
        mkdir -p /etc/kubernetes/pki /etc/kubernetes/kaas
        cp -Rp "$plan/pki/." /etc/kubernetes/pki
        [ ! -e "$plan/authentication.yaml" ] || cp -p "$plan/authentication.yaml" /etc/kubernetes/kaas/
    fi
    if [ -e /etc/systemd/system/containerd.service.d/kaas-proxy.conf ]; then
        systemctl daemon-reload && systemctl restart containerd
    fi
    if [ "$KAAS_ROLE" != worker ] && [ "$KAAS_API_ADDRESS" ]; then
        systemctl enable keepalived && systemctl restart keepalived
    fi
}

# An image that left CoreDNS out on purpose says so (docs/admin/node-image.md).
without_dns() { python3 -c 'import json; exit(not any("/coredns" in one for one in json.load(open("/etc/kaas-node.json")).get("left_out", [])))' 2>/dev/null; }

run_kubeadm() {
    if [ "$KAAS_ROLE" = init ] && without_dns; then
        sed -i 's|"kind":"InitConfiguration"|&,"skipPhases":["addon/coredns"]|' "$plan/kubeadm.yaml"
    fi
    what=join more=
    [ "$KAAS_ROLE" != init ] || what=init more=--skip-token-print
    killed_before=$(killed)
    phase "$what"
    mkdir -p "$state"
    touch "$state/began"
    watch &
    watcher=$!
    # shellcheck disable=SC2086
    kubeadm "$what" --config "$plan/kubeadm.yaml" $more >>"$log" 2>&1
    status=$?
    kill "$watcher"
    wait "$watcher" 2>/dev/null
    told=
    if [ "$status" != 0 ]; then
        if [ "$(killed)" != "$killed_before" ]; then
            tell_killed
            phase failed
            exit 1
        fi
        give_up "$what-failed" "$(kubeadm_error)kubelet: $(kubelet_error)"
    fi
    touch "$state/joined"
    rm -rf "$plan/pki" "$plan/kubeadm.yaml"
}

# A join that has ended is no kubelet that runs.
await_kubelet() {
    phase kubelet
    waited=0
    until curl --silent --fail --noproxy '*' --max-time 5 --output /dev/null http://127.0.0.1:10248/healthz; do
        [ "$waited" -lt "$kubelet_limit_s" ] || give_up kubelet-down "$(kubelet_error)"
        sleep "$round_s"
        waited=$((waited + round_s))
    done
}

began_s=$(uptime_s)
tell_error none
if [ ! -e "$state/joined" ]; then
    phase checking
    mkdir -p "$answers"
    check_machine
    undo
    while wrong=$(check_place) && [ "$wrong" ]; do
        tell_error "${wrong%% *}" "${wrong#* }"
        sleep "$round_s"
    done
    tell_error none
    lay_out >>"$log" 2>&1
    run_kubeadm
fi
await_kubelet
tell_error none
phase 'done'
