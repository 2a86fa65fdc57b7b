# shellcheck shell=bash disable=SC2154
# A Go toolchain for the programs of tests/vcenter and tests/kube: one of the machine, or one brought from the Go module proxy.
# Sourced after common.sh and packages.sh. SPDX-License-Identifier: GPL-3.0-or-later

go_least=1.26
# The toolchain is a module like any other (https://go.dev/doc/toolchain): any older go can fetch it, checked by sum.
go_brought=v0.0.1-go1.26.8.linux-amd64
go_brought_sum='h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM='
go_home=$cache/go-toolchain

# go_fits PROGRAM: is it new enough?
go_fits() {
    local version
    version=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
    [ "$(printf '%s\n%s\n' "$go_least" "${version#go}" | sort -V | head -n 1)" = "$go_least" ]
}

# find_go: prints the folder of a go that is new enough.
find_go() {
    local candidate
    for candidate in "$(command -v go || true)" /usr/local/go/bin/go "$go_home/bin/go"; do
        if [ -n "$candidate" ] && [ -x "$candidate" ] && go_fits "$candidate"; then
            dirname "$candidate"
            return 0
        fi
    done
    return 1
}

any_go() { command -v go || { [ -x /usr/lib/go/bin/go ] && echo /usr/lib/go/bin/go; }; }

bring_go() {
    local answer dir
    answer=$(cd "$cache" && GOFLAGS='' GO111MODULE=on GOTOOLCHAIN=local GOMODCACHE="$cache/go-fetch" \
        "$(any_go)" mod download -json "golang.org/toolchain@$go_brought")
    printf '%s\n' "$answer"
    [ "$(jq -r .Sum <<<"$answer")" = "$go_brought_sum" ] || { echo "the sum of $go_brought differs from the expected one"; return 1; }
    dir=$(jq -r .Dir <<<"$answer")
    rm -rf "$go_home"
    cp -r "$dir" "$go_home"
    chmod -R u+w "$go_home" "$cache/go-fetch"
    # module archives keep no modes and no nested go.mod: restore both as go itself does when it switches toolchains
    find "$go_home/bin" "$go_home/pkg/tool" -type f -exec chmod +x {} +
    mv "$go_home/src/_go.mod" "$go_home/src/go.mod"
    mv "$go_home/src/cmd/_go.mod" "$go_home/src/cmd/go.mod"
    rm -rf "$cache/go-fetch"
}

setup_go() {
    local dir
    if ! dir=$(find_go); then
        [ "$(uname -m)" = x86_64 ] || die "no Go $go_least or newer was found" "install Go $go_least from go.dev and put it on PATH"
        any_go >/dev/null || install_debian golang-go
        logged go-toolchain "check that the Go module proxy (go env GOPROXY) answers, or put Go $go_least on PATH" bring_go
        dir=$(find_go) || die "the Go toolchain that was fetched does not run" "remove $go_home and try again"
    fi
    export PATH="$dir:$PATH" GOTOOLCHAIN=local GOFLAGS=-buildvcs=false
    unset GOROOT
}
