#!/bin/sh
# tools/dist.sh
#	  Makes uidgen-VERSION.zip of what is committed, for PGXN and for packages, and uidgen-VERSION.spdx.json, which says
#	  what is in it (tools/sbom.pl): of one commit each time the same bytes.  What .gitattributes names is left out.
#
# Usage: tools/dist.sh [FOLDER]
set -eu
folder=$(cd "${1:-.}" && pwd)
cd "$(dirname "$0")/.."
git diff --quiet HEAD || echo "$0: what is not committed is left out" >&2
version=$(git show HEAD:uidgen.control | sed -n "s/^default_version = '\(.*\)'/\1/p")
zip=$folder/uidgen-$version.zip
# A zip file has times of the local zone.
TZ=UTC git archive --format=zip -9 --prefix="uidgen-$version/" -o "$zip" HEAD
tar=$(mktemp)
trap 'rm -f "$tar"' EXIT
git archive --format=tar --prefix="uidgen-$version/" HEAD >"$tar"
perl tools/sbom.pl "$tar" "$zip" >"$folder/uidgen-$version.spdx.json"
