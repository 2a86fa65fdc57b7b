# shellcheck shell=bash disable=SC2154
# The appliance of scripts/package: a virtual machine (vm.sh) with our packages and a database. Sourced by scripts/package, which has $out, $work,
# $version; needs root. SPDX-License-Identifier: GPL-3.0-or-later
ova_packages=$vm_packages,libxml2-utils,mariadb-server
ova_bytes=$((16 * 1024 ** 3))

# ova_configure ROOT: what is not of a package. What must differ from machine to machine is made at its first boot.
ova_configure() {
    local root=$1
    install -D -m 0755 etc/appliance/first-boot "$root/usr/lib/kaas/first-boot"
    install -D -m 0644 etc/appliance/kaas-first-boot.service "$root/lib/systemd/system/kaas-first-boot.service"
    printf '[Match]\nType=ether\n[Network]\nDHCP=yes\n' >"$root/etc/systemd/network/20-dhcp.network"
    echo kaas >"$root/etc/hostname"
    mkdir -p "$root/etc/issue.d"
    chroot "$root" systemctl enable kaas-first-boot
}

build_ova() {
    local folder=$work/ova disk=$project-disk.vmdk
    rm -rf "${folder:?}"
    mkdir -p "$folder"
    # with the hook apt takes packages from files, and brings what they depend on
    vm_files "$ova_packages,$(printf '%s,' "$out"/kaas-*.deb | sed 's/,$//')" "$folder/root" \
        --hook-dir=/usr/share/mmdebstrap/hooks/file-mirror-automount
    ova_configure "$folder/root"
    vm_boots "$folder/root" "$folder/esp"
    vm_disk "$folder/root" "$folder/esp" "$ova_bytes" "$folder" "$disk"
    vm_pack "$folder" "$disk" "$ova_bytes" "$top/etc/appliance/harmony-kaas.ovf.in" "$version" "$out/$project-$version.ova"
}
