# shellcheck shell=bash disable=SC2154
# The appliance of scripts/package: Debian with our packages on a disk that boots by EFI, and its OVF descriptor. Sourced; needs root, since the files
# belong to users of their own. SPDX-License-Identifier: GPL-3.0-or-later
ova_packages=systemd-sysv,systemd-boot,systemd-resolved,systemd-timesyncd,udev,dbus,kmod,linux-image-amd64,initramfs-tools,zstd,open-vm-tools
ova_packages+=,openssh-server,libxml2-utils,ca-certificates,mariadb-server,iproute2,sudo,less,nano
ova_bytes=$((16 * 1024 ** 3))
esp_start=$((1024 ** 2)) esp_bytes=$((256 * 1024 ** 2))

# debian_sources: apt's lines for this release, from where this machine gets it.
debian_sources() {
    local release
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    # shellcheck disable=SC2016 # apt's own variables
    apt-get indextargets --format 'deb $(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        grep -E "^deb \S+ $release(-updates|-security)? main$"
}

# The machine's own files; what must differ from machine to machine is made at its first boot.
ova_root() {
    local root=$work/ova/root
    debian_sources >"$work/ova/sources.list"
    # with the hook apt takes packages from files, and brings what they depend on
    mmdebstrap --mode=root --variant=minbase --aptopt='APT::Install-Recommends "false"' \
        --hook-dir=/usr/share/mmdebstrap/hooks/file-mirror-automount \
        --include="$ova_packages,$(printf '%s,' "$out"/kaas-*.deb | sed 's/,$//')" \
        "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$root" - <"$work/ova/sources.list"
}

# ova_configure ROOT: what is not of a package.
ova_configure() {
    local root=$1 kernel debian
    kernel=$(basename "$root"/boot/vmlinuz-* | sed 's/^vmlinuz-//')
    install -D -m 0755 etc/appliance/first-boot "$root/usr/lib/kaas/first-boot"
    install -D -m 0644 etc/appliance/kaas-first-boot.service "$root/lib/systemd/system/kaas-first-boot.service"
    printf 'LABEL=kaas-root / ext4 defaults 0 1\nLABEL=KAAS-ESP /boot/efi vfat umask=0077 0 1\n' >"$root/etc/fstab"
    printf '[Match]\nType=ether\n[Network]\nDHCP=yes\n' >"$root/etc/systemd/network/20-dhcp.network"
    # Debian's own, wherever these files came from
    debian=$(sed -n 's/^DEF_MIRROR="\(.*\)"$/\1/p' "$(command -v debootstrap)")
    printf 'deb %s main\n' "$debian bookworm" "$debian bookworm-updates" "$debian-security bookworm-security" >"$root/etc/apt/sources.list"
    echo kaas >"$root/etc/hostname"
    mkdir -p "$root/boot/efi" "$root/etc/issue.d"
    echo uninitialized >"$root/etc/machine-id" # of its own, at the first boot
    echo kaas >"$root/etc/kernel/entry-token"
    printf 'layout=bls\nBOOT_ROOT=/boot/efi\n' >"$root/etc/kernel/install.conf"
    echo 'root=LABEL=kaas-root ro quiet console=tty0 console=ttyS0' >"$root/etc/kernel/cmdline"
    chroot "$root" systemctl enable kaas-first-boot systemd-networkd systemd-resolved
    chroot "$root" passwd --lock root
    mkdir -p "$root/boot/efi/EFI/BOOT" "$root/boot/efi/loader" "$root/boot/efi/kaas"
    cp "$root/usr/lib/systemd/boot/efi/systemd-bootx64.efi" "$root/boot/efi/EFI/BOOT/BOOTX64.EFI"
    printf 'timeout 3\n' >"$root/boot/efi/loader/loader.conf"
    chroot "$root" kernel-install add "$kernel" "/boot/vmlinuz-$kernel"
    sed -i 's| /boot/efi/| /|' "$root"/boot/efi/loader/entries/*.conf # where that is no mount it names its files from the root
    mv "$root/boot/efi" "$work/ova/esp"
    mkdir "$root/boot/efi"
    rm -rf "$root"/etc/ssh/ssh_host_* "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin "$root"/var/log/*.log
}

# A disk with two partitions, written without mounting anything.
ova_disk() {
    local disk=$work/ova/disk.raw esp=$work/ova/esp.img root_start=$((esp_start + esp_bytes))
    truncate -s "$ova_bytes" "$disk"
    sfdisk --quiet "$disk" <<PARTITIONS
label: gpt
start=$((esp_start / 512)), size=$((esp_bytes / 512)), type=uefi, name=esp
start=$((root_start / 512)), type=linux, name=root
PARTITIONS
    truncate -s "$esp_bytes" "$esp"
    mkfs.vfat -n KAAS-ESP "$esp"
    mcopy -s -i "$esp" "$work/ova/esp"/* ::
    dd if="$esp" of="$disk" bs=1M seek=$((esp_start / 1024 ** 2)) conv=notrunc,sparse status=none
    # the last megabyte is the second table's
    mkfs.ext4 -q -F -L kaas-root -d "$work/ova/root" -E "offset=$root_start,lazy_itable_init=1" "$disk" \
        "$(((ova_bytes - root_start - 1024 ** 2) / 1024))k"
    qemu-img convert -O vmdk -o subformat=streamOptimized "$disk" "$work/ova/$project-disk.vmdk"
}

ova_pack() {
    local name=$project-$version disk=$project-disk.vmdk
    cd "$work/ova" || return
    sed -e "s/@VERSION@/$version/; s/@DISK@/$disk/; s/@DISK_BYTES@/$(stat -c %s "$disk")/; s/@CAPACITY@/$ova_bytes/" \
        -e "s/@POPULATED@/$(du -B1 disk.raw | cut -f1)/" "$top/etc/appliance/harmony-kaas.ovf.in" >"$name.ovf"
    for file in "$name.ovf" "$disk"; do echo "SHA256($file)= $(sha256sum <"$file" | cut -d' ' -f1)"; done >"$name.mf"
    # the descriptor comes first (DSP0243, 5.3); vSphere reads ustar
    tar --create --format=ustar --owner=0 --group=0 --numeric-owner --mode=0644 --mtime="@$SOURCE_DATE_EPOCH" --file="$out/$name.ova" \
        "$name.ovf" "$name.mf" "$disk"
}

build_ova() {
    rm -rf "${work:?}/ova"
    mkdir -p "$work/ova"
    ova_root
    ova_configure "$work/ova/root"
    ova_disk
    (ova_pack)
}
