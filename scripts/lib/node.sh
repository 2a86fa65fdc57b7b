# shellcheck shell=bash disable=SC2154
# The node image of scripts/package: what the machines of a Kubernetes cluster are clones of, as a folder (its root) and as an OVA. Sourced after
# packages.sh, go.sh and vm.sh; needs root. docs/admin/node-image.md tells what is in it. SPDX-License-Identifier: GPL-3.0-or-later
node_packages=$vm_packages,curl,iptables,nftables,ipset,conntrack,ethtool,socat,procps,containerd,runc,containernetworking-plugins
node_packages+=,cloud-init,cloud-guest-utils,e2fsprogs,fdisk,keepalived
node_bytes=$((20 * 1024 ** 3))
node_programs=(kubelet kubeadm kubectl)

node_usage() {
    cat <<'USAGE'
usage: scripts/package node-image [--kubernetes VERSION] [--root] [--programs FOLDER] [--images FOLDER] [--without-dns] [--fresh]

Makes what the machines of Kubernetes clusters are cloned from: Debian with containerd, cloud-init, kubelet, kubeadm, and Kubernetes' own images
(docs/admin/node-image.md), as build/node-image/kaas-node-VERSION.ova. Needs root.

  --kubernetes VERSION  the release of Kubernetes, such as v1.36.3, which is also the one that is taken without this option
  --root                no OVA: makes the files alone, in the cache, and prints their folder
  --programs FOLDER     takes kubelet, kubeadm and kubectl from there, as they are released, instead of building them
  --images FOLDER       takes the images from there: *.tar, as of "skopeo copy" or "docker save", of all that "kubeadm config images list" names, and of
                        the network for pods (docs/admin/network.md)
  --without-dns         leaves out the image of CoreDNS, whose build takes minutes
  --fresh               with Debian's packages as they are today: otherwise those that the cache has from a run before

What is not given is built from the modules of tests/kube. What was made is kept in the cache, and is there at once as long as nothing of it changes.
USAGE
}

# node_module VERSION: the module of tests/kube that has all programs of that release.
node_module() {
    local module
    for module in "$top"/tests/kube/*/cmd/kubelet; do
        module=$(basename "$(dirname "$(dirname "$module")")")
        if grep -q "^require k8s.io/kubernetes $1\$" "$top/tests/kube/$module/go.mod"; then
            echo "$module"
            return 0
        fi
    done
    die "no module of tests/kube builds Kubernetes $1" "give its own files: --programs FOLDER --images FOLDER"
}

# built MODULE: the folder with its programs, which are built where they are not there.
built() {
    "$top/scripts/kube" build "$1" >&2
    "$top/scripts/kube" where "$1"
}

# Images that the bundles of etc/bundles want.
node_bundled() { sed -nE 's/^ *image: *//p' "$top"/etc/bundles/*/manifests/*.yaml | LC_ALL=C sort -u; }

# What goes in, in variables: node_from (folder of kubelet, kubeadm, kubectl), node_built (folders that images are made of), node_names (images).
node_sources() {
    local program module='' without=none
    if [ -z "$programs" ] || [ -z "$images" ]; then module=$(node_module "$kubernetes"); fi
    node_built='' node_from=$programs
    [ -z "$module" ] || node_built=$(built "$module")
    [ "$node_from" ] || node_from=$node_built
    for program in "${node_programs[@]}"; do
        [ -x "$node_from/$program" ] || die "there is no program $program in $node_from" "put the release's own $program there, with mode 0755"
    done
    [ "$("$node_from/kubeadm" version --output short)" = "$kubernetes" ] ||
        die "$node_from/kubeadm is not of $kubernetes: $("$node_from/kubeadm" version --output short 2>&1)" "name its release: --kubernetes VERSION"
    [ -z "$without_dns" ] || without=/coredns:
    node_names=$("$node_from/kubeadm" config images list --kubernetes-version "$kubernetes")
    node_left_out=$(grep -e "$without" <<<"$node_names" || true)
    node_names=$(grep -v -e "$without" <<<"$node_names")
    [ -z "$images" ] || return 0
    [ "$without_dns" ] || node_built+=" $(built coredns)"
    node_built+=" $(built router) $(built metallb)"
    node_names+=$'\n'$(node_bundled)
}

# Of contents, so that it is the same wherever the files are.
node_key() {
    local files
    readarray -t files < <(
        find "$top/etc/node" -type f | LC_ALL=C sort
        printf '%s\n' "$top"/scripts/lib/{node.sh,vm.sh,node_images.py}
        [ -z "$programs" ] || printf '%s\n' "${node_programs[@]/#/$programs/}"
        [ -z "$images" ] || find "$images" -name '*.tar' | LC_ALL=C sort
    )
    hash_of "$kubernetes" "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$node_names" "${node_built//"$cache"\//}" "${files[@]}"
}

# Debian with the packages, as a tar in the cache.
node_debian() {
    local tar
    tar=$cache/node-debian-$(hash_of "$node_packages" "$(. /etc/os-release && echo "$VERSION_CODENAME")" | cut -c1-16).tar
    if [ "$fresh" ] || [ ! -e "$tar" ]; then
        vm_files "$node_packages" "$tar.new.tar" >&2
        mv "$tar.new.tar" "$tar"
    fi
    touch "$tar" # in use
    echo "$tar"
}

# node_configure ROOT: what is not of a package.
node_configure() {
    local root=$1 program
    for program in "${node_programs[@]}"; do install -m 0755 "$node_from/$program" "$root/usr/bin/$program"; done
    install -m 0755 etc/node/kaas-node-check "$root/usr/sbin/kaas-node-check"
    install -D -m 0644 etc/node/kubelet.service "$root/etc/systemd/system/kubelet.service"
    install -D -m 0644 etc/node/wait-online.conf "$root/etc/systemd/system/systemd-networkd-wait-online.service.d/kaas-node.conf"
    install -D -m 0644 etc/node/units.preset "$root/etc/systemd/system-preset/00-kaas-node.preset"
    install -D -m 0644 etc/node/cloud.cfg "$root/etc/cloud/cloud.cfg.d/90_kaas-node.cfg"
    install -D -m 0644 etc/node/sysctl.conf "$root/etc/sysctl.d/90-kaas-node.conf"
    install -D -m 0644 etc/node/modules.conf "$root/etc/modules-load.d/kaas-node.conf"
    mkdir -p "$root/etc/containerd" "$root/etc/kubernetes/patches" "$root/etc/kubernetes/manifests" "$root/opt/cni/bin" "$root/etc/cni/net.d"
    sed "s|@PAUSE@|$(grep /pause: <<<"$node_names")|" etc/node/containerd.toml >"$root/etc/containerd/config.toml"
    for plugin in "$root"/usr/lib/cni/*; do ln -s "/usr/lib/cni/$(basename "$plugin")" "$root/opt/cni/bin/"; done
    echo kaas-node >"$root/etc/hostname"
    chroot "$root" systemctl enable containerd kubelet
    chroot "$root" systemctl disable keepalived # it has no configuration before it is a control plane's
    # a node is replaced, never renewed; it asks nobody at its first boot
    chroot "$root" systemctl mask apt-daily.timer apt-daily-upgrade.timer systemd-firstboot.service
    ln -sf ../run/systemd/resolve/stub-resolv.conf "$root/etc/resolv.conf"
}

# in_node ROOT COMMAND: a line of shell in a container of these files, without a network; they stay as the line leaves them.
in_node() {
    # nspawn leaves a folder in /run where that is on disk
    unshare --mount --propagation private sh -c 'mkdir -p /run/systemd/nspawn && mount -t tmpfs kaas /run/systemd/nspawn && exec "$@"' sh \
        env SYSTEMD_SECCOMP=0 systemd-nspawn --quiet --register=no --keep-unit --private-network --capability=all --resolv-conf=off \
        --timezone=off --link-journal=no --machine="kaas-node-$$" "${@:3}" --directory="$1" /bin/sh -ec "$2" </dev/null
}

# node_import ROOT FOLDER: the images of the folder become those of its containerd, and the description is written of what it has then.
node_import() {
    local root=$1 left_out
    left_out=${node_left_out:+--left-out $node_left_out}
    in_node "$root" "
        containerd >/run/containerd.log 2>&1 & daemon=\$!
        tries=0; until ctr version >/dev/null 2>&1; do tries=\$((tries + 1)); [ \$tries -lt 600 ] || { cat /run/containerd.log; exit 1; }; sleep 0.1; done
        for image in /run/images/*.tar; do ctr --namespace k8s.io images import \"\$image\"; done
        kaas-node-check --describe $left_out >/etc/kaas-node.json
        kaas-node-check --template
        kill \$daemon; wait \$daemon || true" --bind-ro="$2:/run/images"
}

# node_files FOLDER: root, and esp beside it.
node_files() {
    local folder=$1 archives=$images folders=()
    mkdir -p "$folder/root"
    tar --extract --directory="$folder/root" --file="$(node_debian)" --numeric-owner --xattrs --xattrs-include='*'
    node_configure "$folder/root"
    if [ -z "$archives" ]; then
        archives=$folder/images
        mkdir -p "$folder/pause"
        gcc -O2 -static -s -o "$folder/pause/pause" etc/node/pause.c
        for program in $node_built "$folder/pause"; do folders+=(--programs "$program"); done
        # shellcheck disable=SC2086 # one word an image
        python3 scripts/lib/node_images.py "${folders[@]}" --root "$folder/root" --out "$archives" $node_names
    fi
    vm_boots "$folder/root" "$folder/esp"
    echo 'LABEL=kaas-root / ext4 defaults 0 1' >"$folder/root/etc/fstab" # its kernel is never renewed: nothing needs the EFI partition
    node_import "$folder/root" "$archives"
    rm -rf "${folder:?}/pause" "${folder:?}/images"
}

# The folder with root and esp in the cache.
node_root() {
    local home
    home=$cache/node-$kubernetes-$(node_key | cut -c1-16)
    exec 9>"$cache/node.lock"
    flock 9 # another clone may be making the same
    if [ "$fresh" ] || [ ! -d "$home" ]; then
        find "$cache" -maxdepth 1 \( -name 'node-v*' -o -name 'node-debian-*' \) -mtime +14 -exec rm -rf {} + # of versions that nobody makes any more
        new=$(mktemp -d "$cache/node-new.XXXXXX")
        trap 'rm -rf "$new"' EXIT # when it breaks off
        logged node-root "read the messages above; packages come from where apt of this machine gets them" node_files "$new" >&2
        chmod 0755 "$new"
        rm -rf "$home"
        mv "$new" "$home"
        trap - EXIT
    fi
    touch "$home" # in use
    exec 9>&-
    echo "$home"
}

node_ova() {
    local home=$1 work=$build/node-image/work disk=kaas-node-disk.vmdk
    rm -rf "$build/node-image"
    mkdir -p "$work"
    vm_disk "$home/root" "$home/esp" "$node_bytes" "$work" "$disk"
    vm_pack "$work" "$disk" "$node_bytes" "$top/etc/node/kaas-node.ovf.in" "$kubernetes" "$build/node-image/kaas-node-$kubernetes.ova"
    rm -rf "$work"
}

# node_image ARGUMENT...: the whole of `scripts/package node-image`.
node_image() {
    local kubernetes=v1.36.3 only_root='' programs='' images='' without_dns='' fresh='' home
    while [ $# -gt 0 ]; do
        case $1 in
        --root) only_root=yes ;;
        --without-dns) without_dns=yes ;;
        --fresh) fresh=yes ;;
        --kubernetes | --programs | --images)
            [ $# -gt 1 ] || die "$1 needs a value"
            case $1 in
            --kubernetes) kubernetes=$2 ;;
            --programs) programs=$(realpath -- "$2") ;;
            --images) images=$(realpath -- "$2") ;;
            esac
            shift
            ;;
        -h | --help) node_usage && exit 0 ;;
        *) node_usage >&2 && exit 2 ;;
        esac
        shift
    done
    [[ $kubernetes =~ ^v[0-9]+\.[0-9]+\.[0-9]+$ ]] || die "$kubernetes is no release of Kubernetes" "write it as v1.36.3"
    [ "$(id -u)" = 0 ] || die "a node image is made by root: the files in it belong to users of their own" "run this as root"
    setup_packages >&2
    setup_go >&2
    node_sources
    home=$(node_root)
    if [ "$only_root" ]; then
        echo "$home/root"
        return 0
    fi
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
    export SOURCE_DATE_EPOCH
    logged node-ova "read the messages above" node_ova "$home"
    say "$build/node-image/kaas-node-$kubernetes.ova"
}
