#!/usr/bin/env bash
# The cluster that bench/create.py has kaasd make, as somebody makes it who has govc, kubeadm and kubectl, and knows how: machines are cloned side by
# side, control planes join one after the other, workers beside them, nothing waits by sleeping but for the first answer of the API. No step is
# looked at twice, nothing is taken up again after a failure, and the CA's key is a file.
#   create_by_hand.sh FOLDER NAME     FOLDER gets the keys, and afterwards NAME.conf, a kubeconfig; `cpu` there, what govc and kubectl took, in seconds
# From the environment: GOVC_* of govc; POOL, VM_FOLDER, DATASTORE, TEMPLATE at the vCenter; API, FIRST (address of the first machine, the others
# follow it), PREFIX, GATEWAY, SERVICES (a list in JSON); VERSION of Kubernetes; BUNDLES, a folder of them; the programs GOVC, KUBEADM, KUBECTL.
# SPDX-License-Identifier: GPL-3.0-or-later
set -euo pipefail
work=$1 name=$2
planes=("$name-cp-1" "$name-cp-2" "$name-cp-3") workers=("$name-worker-1" "$name-worker-2")
machines=("${planes[@]}" "${workers[@]}")
token=abcdef.0123456789abcdef
limit=600s
export KUBECONFIG=$work/admin.conf
umask 077
: >"$work/cpu"

# By the shell's own clock of its children: user and system seconds.
counted() {
    local TIMEFORMAT='%U %S'
    { time "$@" 2>&3; } 3>&2 2>>"$work/cpu"
}
govc() { counted "$GOVC" "$@"; }
kubectl() { counted "$KUBECTL" --cache-dir="$work/kubectl" "$@"; }

address_of() { # of the machine with that number
    echo "${FIRST%.*}.$((${FIRST##*.} + $1))"
}

# -- keys and documents -------------------------------------------------------------------------------------------------------------

registration() { # of the machine with that number
    cat <<YAML
nodeRegistration:
  name: ${machines[$1]}
  criSocket: unix:///run/containerd/containerd.sock
  imagePullPolicy: IfNotPresent
  ignorePreflightErrors: [SystemVerification]
  kubeletExtraArgs: [{name: node-ip, value: $(address_of "$1")}]
patches: {directory: /etc/kubernetes/patches}
timeouts: {controlPlaneComponentHealthCheck: 6m0s, kubernetesAPICall: 4m0s, kubeletHealthCheck: 4m0s, etcdAPICall: 4m0s}
YAML
}

init_document() {
    cat <<YAML
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
bootstrapTokens: [{token: $token, ttl: 15m0s, usages: [signing, authentication], groups: ["system:bootstrappers:kubeadm:default-node-token"]}]
localAPIEndpoint: {advertiseAddress: $(address_of 0), bindPort: 6443}
$(registration 0)
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
clusterName: $name
kubernetesVersion: $VERSION
controlPlaneEndpoint: $API:6443
networking: {podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/12}
apiServer: {certSANs: [$API]}
encryptionAlgorithm: ECDSA-P256
---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
conntrack: {maxPerCore: 0}
YAML
}

join_document() {
    cat <<YAML
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery: {bootstrapToken: {apiServerEndpoint: "$API:6443", token: $token, caCertHashes: ["sha256:$ca_hash"]}}
$([ "$1" -ge ${#planes[@]} ] || echo "controlPlane: {localAPIEndpoint: {advertiseAddress: $(address_of "$1"), bindPort: 6443}}")
$(registration "$1")
YAML
}

# The address of the API is with whoever has a control plane that answers.
keepalived_conf() {
    cat <<CONF
vrrp_script api {
    script "/usr/bin/curl --silent --fail --insecure --max-time 3 --output /dev/null https://$1:6443/readyz"
    interval 2
    fall 2
    rise 2
    weight -30
    init_fail
}
vrrp_instance api {
    state BACKUP
    interface eth0
    virtual_router_id 77
    priority 100
    advert_int 1
    virtual_ipaddress {
        $API/32
    }
    track_script {
        api
    }
}
CONF
}

make_keys() {
    local phase
    init_document | sed "s#^controlPlaneEndpoint#certificatesDir: $work/pki\n&#" >"$work/here.yaml"
    for phase in ca etcd-ca front-proxy-ca sa; do
        "$KUBEADM" init phase certs $phase --config "$work/here.yaml"
    done
    "$KUBEADM" init phase kubeconfig admin --config "$work/here.yaml" --kubeconfig-dir "$work"
    ca_hash=$(openssl x509 -in "$work/pki/ca.crt" -pubkey -noout | openssl pkey -pubin -outform der | sha256sum | cut -d' ' -f1)
    pki=$(tar -C "$work" -cz pki | base64 -w0)
}

indented() { sed 's/^/    /'; }

user_data() { # of the machine with that number
    local what=join
    [ "$1" != 0 ] || what=init
    cat <<YAML
#cloud-config
write_files:
- path: /etc/kubeadm.yaml
  permissions: "0600"
  content: |
$(if [ $what = init ]; then init_document; else join_document "$1"; fi | indented)
YAML
    if [ "$1" -lt ${#planes[@]} ]; then
        cat <<YAML
- path: /etc/pki.tgz
  permissions: "0600"
  encoding: b64
  content: $pki
- path: /etc/keepalived/keepalived.conf
  content: |
$(keepalived_conf "$(address_of "$1")" | indented)
runcmd:
- [sh, -c, "mkdir -p /etc/kubernetes/patches && tar -C /etc/kubernetes -xzf /etc/pki.tgz && rm /etc/pki.tgz && systemctl start keepalived"]
YAML
    else
        printf 'runcmd:\n- [mkdir, -p, /etc/kubernetes/patches]\n'
    fi
    echo "- [kubeadm, $what, --config, /etc/kubeadm.yaml]"
}

metadata() {
    cat <<YAML
instance-id: iid-${machines[$1]}
local-hostname: ${machines[$1]}
network:
  version: 2
  ethernets:
    eth0: {match: {name: "e*"}, addresses: [$(address_of "$1")/$PREFIX], gateway4: $GATEWAY, nameservers: {addresses: [$GATEWAY]}}
YAML
}

# -- machines -----------------------------------------------------------------------------------------------------------------------

clone() { # the machine with that number; it stays off
    local cpus=2 memory=2048 one=${machines[$1]}
    [ "$1" -lt ${#planes[@]} ] || cpus=1 memory=1024
    metadata "$1" | gzip | base64 -w0 >"$work/$one.metadata"
    user_data "$1" | gzip | base64 -w0 >"$work/$one.userdata"
    govc vm.clone -vm "$TEMPLATE" -on=false -pool "$POOL" -folder "$VM_FOLDER/$name" -ds "$DATASTORE" "$one"
    govc vm.change -vm "$VM_FOLDER/$name/$one" -c $cpus -m $memory -f guestinfo.metadata="$work/$one.metadata" -e guestinfo.metadata.encoding=gzip+base64 \
        -f guestinfo.userdata="$work/$one.userdata" -e guestinfo.userdata.encoding=gzip+base64
}

power_on() { govc vm.power -on "$VM_FOLDER/$name/$1"; }

wipe() { govc vm.change -vm "$VM_FOLDER/$name/$1" -e guestinfo.userdata= -e guestinfo.userdata.encoding=; }

all() { # a command for each of the others, side by side
    local command=$1 one job jobs=()
    shift
    for one in "$@"; do
        "$command" "$one" &
        jobs+=($!)
    done
    for job in "${jobs[@]}"; do wait "$job"; done
}

# -- the cluster --------------------------------------------------------------------------------------------------------------------

apply() {
    mkdir -p "$work/$1"
    for manifest in "$BUNDLES/$1"/manifests/*.yaml; do
        sed "s#\${kaas.service_network}#10.96.0.0/12#; s#\${kaas.service_addresses}#$SERVICES#" "$manifest" >"$work/$1/${manifest##*/}"
    done
}

install_network() {
    apply kube-router
    apply metallb
    kubectl apply --server-side -f "$work/kube-router" -f "$work/metallb/10-kinds.yaml"
    kubectl wait --for=condition=Established --timeout=$limit -f "$work/metallb/10-kinds.yaml"
    kubectl apply --server-side -f "$work/metallb"
}

until_joined() { # a control plane: kubeadm labels it when it is a member of etcd
    kubectl wait --for=create --timeout=$limit "node/$1"
    kubectl wait --for=jsonpath='{.metadata.labels.node-role\.kubernetes\.io/control-plane}' --timeout=$limit "node/$1"
}

make_keys
govc folder.create "$VM_FOLDER/$name"
all clone "${!machines[@]}"
power_on "${planes[0]}"
until curl --silent --fail --noproxy '*' --max-time 5 --output /dev/null --cacert "$work/pki/ca.crt" "https://$API:6443/readyz"; do
    sleep 0.5
done
until_joined "${planes[0]}"
all power_on "${planes[1]}" "${workers[@]}"
install_network
until_joined "${planes[1]}"
power_on "${planes[2]}"
kubectl wait --for=create --timeout=$limit "${machines[@]/#/node/}"
kubectl wait --for=condition=Ready --timeout=$limit "${machines[@]/#/node/}"
all wipe "${machines[@]}"
cp "$work/admin.conf" "$work/$name.conf"
