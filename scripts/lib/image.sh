# shellcheck shell=bash disable=SC2154
# The OCI image of kaasd: what is in its root file system, and the archive made of it, without a daemon and without root.
# Sourced by scripts/package, which has $out, $work, $version, $tag, and debian_sources of vm.sh. SPDX-License-Identifier: GPL-3.0-or-later

image_user=10001 # no user of any host; the chart names it as well

# Debian's packages that ours depend on. There is no init in an image that could make users; its user is in its passwd.
image_packages() {
    for deb in "$out"/*.deb; do dpkg-deb --field "$deb" Depends; done | tr ',' '\n' | sed 's/^ *//; s/[ |(:].*//' |
        grep -v -e '^kaas-' -e '^systemd$' | sort -u
}

# Files are extracted and no script of a package runs: libraries need none, and so nobody needs to be root for it. /usr/bin/install is what the
# chart copies secrets with.
extract_image_root() {
    local root=$1 deb mode=chrootless
    [ "$(id -u)" != 0 ] || mode=root # mmdebstrap wants root to say so
    mkdir -p "$root"
    debian_sources >"$work/sources" # nothing of it is written into the image
    mmdebstrap --quiet --mode=$mode --variant=extract --include="base-files,coreutils,$(image_packages | paste -sd,)" \
        --skip=download/empty,cleanup/apt "$(. /etc/os-release && echo "$VERSION_CODENAME")" - - <"$work/sources" |
        tar --extract --no-same-owner --exclude=./dev --directory="$root"
    for deb in "$out"/*.deb; do dpkg-deb --extract "$deb" "$root"; done
}

# Which packages are in it, where scanners of images look for them (the form of distroless images: one file for each).
note_image_packages() {
    local root=$1 deb
    mkdir -p "$root/var/lib/dpkg/status.d"
    for deb in "$root"/var/cache/apt/archives/*.deb "$out"/*.deb; do
        { dpkg-deb --field "$deb" && echo 'Status: install ok unpacked'; } >"$root/var/lib/dpkg/status.d/$(dpkg-deb --field "$deb" Package)"
    done
}

# Of coreutils and libc only what is used: no shell, no apt, no manual pages. Licences (usr/share/doc/*/copyright) stay.
prune_image_root() (
    cd "$1" || exit
    mkdir kept
    mv usr/bin/install usr/bin/kaasctl kept
    rm -rf bin sbin usr/bin boot home media mnt opt srv root
    mv kept usr/bin
    find usr/sbin -type f ! -name kaasd -delete
    # hostname and resolv.conf are those of this machine; a container is given its own
    (cd etc && rm -rf apt cron.daily default dpkg fstab hostname init.d issue* logcheck logrotate.d mysql profile.d resolv.conf skel update-motd.d)
    rm -rf lib/{systemd,init,udev} usr/libexec usr/lib/{apt,dpkg,mime,systemd,sysusers.d,tmpfiles.d} usr/lib/*/{audit,gconv,perl} \
        var/{backups,cache,local,log,mail,opt,spool} var/lib/{apt,misc,pam,systemd}
    (cd usr/share && rm -rf base-files bash-completion bug doc-base gcc gdb info lintian locale man menu mysql-common perl5)
    find usr/share/doc -type f ! -name copyright -delete
    find usr/share/doc -mindepth 1 -type d -empty -delete # of the pages, which nothing in here can show
    find . -type d -empty -delete
    find . -xtype l -delete
)

write_image_root() {
    local root=$1
    mkdir -p "$root"/{etc/kaas,proc,sys,dev,tmp,run/kaas,var/lib/kaas}
    printf '%s:/nonexistent:/nonexistent\n' root:x:0:0:root "kaas:x:$image_user:$image_user:Harmony KaaS" >"$root/etc/passwd"
    printf '%s\n' root:x:0: "kaas:x:$image_user:" >"$root/etc/group"
    printf 'passwd: files\ngroup: files\nhosts: files dns\n' >"$root/etc/nsswitch.conf"
}

# Files belong to root, what the service writes to belongs to it.
tar_image_root() {
    local root=$1 layer=$2 own=(./run/kaas ./var/lib/kaas) form=(--format=gnu --sort=name --numeric-owner --mtime="@$SOURCE_DATE_EPOCH")
    tar --create "${form[@]}" --owner=0 --group=0 --mode=u+rw,go=rX,a-s "${own[@]/#/--exclude=}" --directory="$root" --file="$layer" .
    tar --append "${form[@]}" --owner=$image_user --group=$image_user --mode=0755 --directory="$root" --file="$layer" "${own[@]}"
}

# image_label NAME VALUE: https://specs.opencontainers.org/image-spec/annotations/
image_label() { printf -- '--config.label=org.opencontainers.image.%s=%s\n' "$1" "$2"; }

pack_image() {
    local layer=$1 layout=$2 created labels
    created=$(date --utc --date="@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
    readarray -t labels < <(
        image_label title "Harmony KaaS"
        image_label description "Kubernetes clusters as a service on vSphere and Cisco HyperFlex"
        image_label version "$tag"
        image_label revision "$(git rev-parse HEAD)"
        image_label created "$created"
        image_label licenses GPL-3.0-or-later
    )
    umoci init --layout "$layout"
    umoci new --image "$layout:$tag"
    umoci raw add-layer --image "$layout:$tag" --history.created "$created" --history.created_by "scripts/package image" "$layer"
    umoci config --image "$layout:$tag" --no-history --created "$created" --os linux --architecture "$(dpkg --print-architecture)" \
        --config.user "$image_user:$image_user" --config.entrypoint /usr/sbin/kaasd --config.exposedports 8443/tcp --config.workingdir / \
        --config.stopsignal SIGTERM --config.volume /run/kaas --config.volume /var/lib/kaas "${labels[@]}"
}

make_image() {
    local root=$work/image-root
    extract_image_root "$root"
    note_image_packages "$root"
    prune_image_root "$root"
    write_image_root "$root"
    tar_image_root "$root" "$work/layer.tar"
    pack_image "$work/layer.tar" "$work/layout"
    skopeo copy --quiet "oci:$work/layout:$tag" "oci-archive:$work/archive.tar:$tag"
    rm -rf "$work/archive" && mkdir "$work/archive"
    tar --extract --directory="$work/archive" --file="$work/archive.tar"
    # skopeo's own tar has the time of day
    tar --create --format=gnu --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rw,go=rX --mtime="@$SOURCE_DATE_EPOCH" \
        --directory="$work/archive" --file="$out/$project-$version-image.tar" .
}
