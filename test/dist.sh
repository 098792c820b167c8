#!/bin/sh
# test/dist.sh
#	  Makes uidgen-VERSION.zip of what is committed, for PGXN and for packages: each time the same bytes.
#	  What .gitattributes names is left out.
#
# Usage: test/dist.sh [FOLDER]
set -eu
folder=$(cd "${1:-.}" && pwd)
cd "$(dirname "$0")/.."
git diff --quiet HEAD || echo "$0: what is not committed is left out" >&2
version=$(git show HEAD:uidgen.control | sed -n "s/^default_version = '\(.*\)'/\1/p")
# A zip file has times of the local zone.
TZ=UTC git archive --format=zip -9 --prefix="uidgen-$version/" -o "$folder/uidgen-$version.zip" HEAD
