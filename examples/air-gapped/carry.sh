#!/usr/bin/env bash
# Makes a folder with all that a site without a network needs: the release, and the packages of Debian that it is installed with, as a repository
# of apt. Runs on Debian of the same release and architecture as the site's machines; needs no root.
# SPDX-License-Identifier: GPL-3.0-or-later
set -euo pipefail
if [ $# -lt 2 ]; then
    cat >&2 <<'USAGE'
usage: carry.sh RELEASE FOLDER [PACKAGE...]

RELEASE   the folder with what was released (kaas-*.deb, image, chart, SHA256SUMS, SHA256SUMS.sig), or a part of it
FOLDER    is made
PACKAGE   what else the site installs from Debian; if none is named: mariadb-server
USAGE
    exit 2
fi
fail() {
    echo "carry.sh: $1" >&2
    echo "carry.sh: $2" >&2
    exit 1
}

release=$(realpath -- "$1") folder=$2
shift 2
[ $# -gt 0 ] || set -- mariadb-server
command -v dpkg-scanpackages >/dev/null || fail "dpkg-scanpackages is missing" "sudo apt-get install dpkg-dev"
[ ! -e "$folder" ] || fail "$folder is there already" "name a new folder"
ours=("$release"/kaas-*.deb)
[ -e "${ours[0]}" ] || fail "there are no packages kaas-*.deb in $release" "name the folder that holds the release"
(cd "$release" && { [ ! -e SHA256SUMS ] || sha256sum --check --quiet --ignore-missing SHA256SUMS; }) ||
    fail "$release is not as it was released" "fetch it again"

mkdir -p "$folder/debian/partial"
folder=$(realpath -- "$folder")
find "$release" -maxdepth 1 -type f -exec cp -t "$folder" {} +
mv "$folder"/kaas-*.deb "$folder/debian"

# As for a machine on which nothing is installed: what is there already is not installed again. apt checks the signatures of Debian.
apt-get --option Dir::State::status=/dev/null --option Dir::Cache="$folder" --option Dir::Cache::archives=debian --option Debug::NoLocking=1 \
    --option APT::Install-Recommends=0 --quiet --yes --download-only install "$@" "$folder"/debian/kaas-*.deb
rm -rf "$folder/debian/partial" "$folder/debian/lock" "$folder"/*cache.bin
cd "$folder/debian"
dpkg-scanpackages --multiversion . >Packages
cd ..
sums=$(find . -type f -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum)
printf '%s\n' "$sums" >CARRIED
echo "$folder: $(find debian -name '*.deb' | wc -l) packages, $(du -sh . | cut -f1)"
