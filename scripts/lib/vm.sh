# shellcheck shell=bash disable=SC2154
# Virtual machines that are carried as OVA: Debian on a disk that boots by EFI, packed for vSphere. What is in one, its own file says (ova.sh,
# node.sh). Sourced; needs root, since the files belong to users of their own. SPDX-License-Identifier: GPL-3.0-or-later
vm_packages=systemd-sysv,systemd-boot,systemd-resolved,systemd-timesyncd,udev,dbus,kmod,linux-image-amd64,initramfs-tools,zstd,open-vm-tools
vm_packages+=,openssh-server,ca-certificates,iproute2,sudo,less,nano
esp_start=$((1024 ** 2)) esp_bytes=$((256 * 1024 ** 2))

# debian_sources: apt's lines for this release, from where this machine gets it.
debian_sources() {
    local release
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    # shellcheck disable=SC2016 # apt's own variables
    apt-get indextargets --format 'deb $(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        grep -E "^deb \S+ $release(-updates|-security)? main$"
}

# vm_files PACKAGES TARGET [OPTION...]: Debian with these packages, as a folder or a tar, by mmdebstrap with these further options.
vm_files() {
    local packages=$1 target=$2
    shift 2
    debian_sources | mmdebstrap --mode=root --variant=minbase --aptopt='APT::Install-Recommends "false"' "$@" \
        --include="$packages" "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$target" -
}

# vm_boots ROOT ESP: the files of ROOT become those of a machine that boots; what belongs on its EFI partition goes into the folder ESP.
vm_boots() {
    local root=$1 esp=$2 kernel debian
    kernel=$(basename "$root"/boot/vmlinuz-* | sed 's/^vmlinuz-//')
    printf 'LABEL=kaas-root / ext4 defaults 0 1\nLABEL=KAAS-ESP /boot/efi vfat umask=0077 0 1\n' >"$root/etc/fstab"
    # Debian's own, wherever these files came from
    debian=$(sed -n 's/^DEF_MIRROR="\(.*\)"$/\1/p' "$(command -v debootstrap)")
    printf 'deb %s main\n' "$debian bookworm" "$debian bookworm-updates" "$debian-security bookworm-security" >"$root/etc/apt/sources.list"
    mkdir -p "$root/boot/efi"
    echo uninitialized >"$root/etc/machine-id" # of its own, at the first boot
    echo kaas >"$root/etc/kernel/entry-token"
    printf 'layout=bls\nBOOT_ROOT=/boot/efi\n' >"$root/etc/kernel/install.conf"
    echo 'root=LABEL=kaas-root ro quiet console=tty0 console=ttyS0' >"$root/etc/kernel/cmdline"
    chroot "$root" systemctl enable systemd-networkd systemd-resolved
    chroot "$root" passwd --lock root
    mkdir -p "$root/boot/efi/EFI/BOOT" "$root/boot/efi/loader" "$root/boot/efi/kaas"
    cp "$root/usr/lib/systemd/boot/efi/systemd-bootx64.efi" "$root/boot/efi/EFI/BOOT/BOOTX64.EFI"
    printf 'timeout 3\n' >"$root/boot/efi/loader/loader.conf"
    chroot "$root" kernel-install add "$kernel" "/boot/vmlinuz-$kernel"
    sed -i 's| /boot/efi/| /|' "$root"/boot/efi/loader/entries/*.conf # where that is no mount it names its files from the root
    mv "$root/boot/efi" "$esp"
    mkdir "$root/boot/efi"
    rm -rf "$root"/etc/ssh/ssh_host_* "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin "$root"/var/log/*.log
}

# vm_disk ROOT ESP BYTES FOLDER NAME: FOLDER/disk.raw with two partitions, written without mounting anything, and FOLDER/NAME in the form of OVAs.
vm_disk() {
    local root=$1 files=$2 bytes=$3 disk=$4/disk.raw esp=$4/esp.img root_start=$((esp_start + esp_bytes))
    truncate -s "$bytes" "$disk"
    sfdisk --quiet "$disk" <<PARTITIONS
label: gpt
start=$((esp_start / 512)), size=$((esp_bytes / 512)), type=uefi, name=esp
start=$((root_start / 512)), type=linux, name=root
PARTITIONS
    truncate -s "$esp_bytes" "$esp"
    mkfs.vfat -n KAAS-ESP "$esp"
    mcopy -s -i "$esp" "$files"/* ::
    dd if="$esp" of="$disk" bs=1M seek=$((esp_start / 1024 ** 2)) conv=notrunc,sparse status=none
    # the last megabyte is the second table's
    mkfs.ext4 -q -F -L kaas-root -d "$root" -E "offset=$root_start,lazy_itable_init=1" "$disk" "$(((bytes - root_start - 1024 ** 2) / 1024))k"
    qemu-img convert -O vmdk -o subformat=streamOptimized "$disk" "$4/$5"
}

# vm_pack FOLDER DISK BYTES DESCRIPTOR VERSION OVA: what vm_disk left in FOLDER with the descriptor, whose @WORDS@ are filled in.
vm_pack() (
    local disk=$2 bytes=$3 descriptor=$4 version=$5 ova=$6 name
    name=$(basename "$ova" .ova)
    cd "$1" || return
    sed -e "s/@VERSION@/$version/; s/@DISK@/$disk/; s/@DISK_BYTES@/$(stat -c %s "$disk")/; s/@CAPACITY@/$bytes/" \
        -e "s/@POPULATED@/$(du -B1 disk.raw | cut -f1)/" "$descriptor" >"$name.ovf"
    for file in "$name.ovf" "$disk"; do echo "SHA256($file)= $(sha256sum <"$file" | cut -d' ' -f1)"; done >"$name.mf"
    # the descriptor comes first (DSP0243, 5.3); vSphere reads ustar
    tar --create --format=ustar --owner=0 --group=0 --numeric-owner --mode=0644 --mtime="@$SOURCE_DATE_EPOCH" --file="$ova" \
        "$name.ovf" "$name.mf" "$disk"
)
