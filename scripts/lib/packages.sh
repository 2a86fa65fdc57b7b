# shellcheck shell=bash disable=SC2154
# Debian packages of scripts/packages.txt: which are missing, and how they get here. Sourced after common.sh.
# SPDX-License-Identifier: GPL-3.0-or-later

# Version of a command that may stand in for a package; empty when it is not there or does not work.
command_version() {
    case $1 in
    python3) python3 -c 'import ensurepip, sys, venv; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true ;;
    node | npm) "$1" --version 2>/dev/null | sed 's/^v//' || true ;;
    *) die "scripts/packages.txt names the unknown command '$1'" ;;
    esac
}

# version_fits HAVE LEAST
version_fits() {
    [ -n "$1" ] || return 1
    [ "$2" = - ] || dpkg --compare-versions "${1#*:}" ge "$2"
}

# Prints "package least" for each line of the list that nothing on this machine satisfies.
packages_missing() {
    local package least command installed
    installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${binary:Package} ${Version}\n' | sed -n 's/^ii  *//p' | sed 's/:[a-z0-9]* / /')
    while read -r package least command; do
        case $package in '' | '#'*) continue ;; esac
        if [ -n "$command" ] && version_fits "$(command_version "$command")" "$least"; then continue; fi
        version_fits "$(printf '%s\n' "$installed" | awk -v p="$package" '$1 == p {print $2; exit}')" "$least" ||
            printf '%s %s\n' "$package" "$least"
    done <"$top/scripts/packages.txt"
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        env DEBIAN_FRONTEND=noninteractive "$@"
    else
        sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

# as_root_quietly COMMAND...: as as_root, and no service starts by it (policy-rc.d, see invoke-rc.d(8)). What the test world needs of the
# packages its tests start themselves, each in a folder of its own.
as_root_quietly() {
    # shellcheck disable=SC2016 # for the inner shell
    as_root sh -c '
        policy=/usr/sbin/policy-rc.d
        if [ ! -e "$policy" ]; then
            trap "rm -f $policy" EXIT
            printf "#!/bin/sh\nexit 101\n" >"$policy"
            chmod 755 "$policy"
        fi
        "$@"' sh "$@"
}

# services_off PACKAGE...: their services do not start with the machine either.
services_off() {
    local unit
    [ -d /run/systemd/system ] || return 0
    for unit in $(dpkg -L "$@" | sed -n 's#.*/systemd/system/\([^/@]*\.service\)$#\1#p'); do
        as_root systemctl disable --quiet "$unit"
    done
}

apt_install() {
    # the lists may be missing or too old: refresh them only when the installation fails without that
    as_root_quietly apt-get install -y -q --no-install-recommends "$@" ||
        { as_root apt-get update -q && as_root_quietly apt-get install -y -q --no-install-recommends "$@"; }
    services_off "$@"
}

# install_debian PACKAGE...: with a clear message where that cannot work.
install_debian() {
    command -v apt-get >/dev/null || die "this is not Debian: apt-get is missing" "install by other means what scripts/packages.txt lists"
    if [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
        die "these Debian packages are missing: $*" "run as root, or: sudo apt-get install --no-install-recommends $*"
    fi
    logged packages "look at the apt sources of this machine; the packages are those of Debian 12" apt_install "$@"
}

setup_packages() {
    local missing
    command -v dpkg-query >/dev/null || die "this is not Debian: dpkg-query is missing" "install by other means what scripts/packages.txt lists"
    missing=$(packages_missing)
    if [ -z "$missing" ]; then return 0; fi
    # shellcheck disable=SC2046 # one word per package
    install_debian $(printf '%s\n' "$missing" | cut -d' ' -f1)
    missing=$(packages_missing)
    [ -z "$missing" ] || die "still too old or missing after the installation: $(printf '%s' "$missing" | tr '\n' ',')" \
        "Debian 12 or newer is needed"
}
