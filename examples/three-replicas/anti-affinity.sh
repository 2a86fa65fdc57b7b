#!/usr/bin/env bash
# The rule that keeps the machines on different hosts (DRS, VM-VM anti-affinity), made or brought up to date; safe to repeat.
# SPDX-License-Identifier: GPL-3.0-or-later
set -euo pipefail
if [ $# -lt 4 ]; then
    cat >&2 <<'USAGE'
usage: anti-affinity.sh CLUSTER RULE VM VM...     for instance: anti-affinity.sh /DC0/host/HX-East kaas kaas-1 kaas-2 kaas-3

Needs govc (https://github.com/vmware/govmomi) with GOVC_URL, GOVC_USERNAME and GOVC_PASSWORD in its environment, and the privilege
Host.Inventory.EditCluster on the cluster.
USAGE
    exit 2
fi
cluster=$1 rule=$2
shift 2

# lines are "NAME (TYPE)"
kind=$(govc cluster.rule.ls -cluster "$cluster" -l | awk -v rule="$rule (" 'index($0, rule) == 1 {print substr($0, length(rule))}')
case $kind in
"")
    govc cluster.rule.create -cluster "$cluster" -name "$rule" -enable -anti-affinity "$@"
    echo "$rule: made, for $*"
    ;;
"(ClusterAntiAffinityRuleSpec)")
    govc cluster.rule.change -cluster "$cluster" -name "$rule" -enable "$@"
    echo "$rule: was there; is enabled, for $*"
    ;;
*)
    echo "anti-affinity.sh: $cluster has a rule $rule of another kind $kind" >&2
    echo "anti-affinity.sh: choose another name for this one" >&2
    exit 1
    ;;
esac
