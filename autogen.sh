#!/bin/sh
# Makes configure and the Makefile templates. Needs autoconf, automake and pkg-config.
set -e
cd "$(dirname "$0")"
autoreconf -fi
