#!/bin/sh
# tools/musl.sh
#	  Runs ./check with musl in place of glibc, as the images postgres:NN-alpine have it: on Debian, against a
#	  PostgreSQL that is built for it.
#
# Usage: tools/musl.sh FOLDER [ARGUMENT]...
#
# The arguments are those of ./check.  FOLDER keeps the server: remove it to have a newer one.  As root it also installs
# what building needs; TMPDIR needs half a gigabyte meanwhile.
set -eu
srcdir=$(cd "$(dirname "$0")/.." && pwd)
. "$srcdir/test/lib.sh"
[ $# -gt 0 ] || die "usage: $0 FOLDER [ARGUMENT]..."
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift

# The newest of this system's version that its archive has, wherever the sources of packages are said to be.
fetch()
{
	source=postgresql-$(missing_version)
	apt-get indextargets --format 'deb-src $(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | sort -u >"$work/sources.list"
	mkdir -p "$work/lists/partial"
	apt()
	{
		command=$1
		shift
		"$command" -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$work/lists" -o APT::Sandbox::User= "$@"
	}
	apt apt-get -qq update
	for version in $(apt apt-cache showsrc "$source" | sed -n 's/^Version: //p' | sort -urV); do
		(cd "$work" && apt apt-get -qq --download-only --tar-only source "$source=$version" >&2) && return
	done
	die "the archive has no source of $source"
}

if ! usable "$folder/bin/pg_config"; then
	missing=
	for package in musl-tools linux-libc-dev gcc make bzip2 libipc-run-perl; do
		want "$package" installed "$package"
	done
	[ -z "$missing" ] || install_packages
	work=$(work_dir)
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' HUP INT TERM
	fetch
	mkdir -p "$work/source" "$folder/kernel"
	tar -C "$work/source" --strip-components=1 -xf "$work"/*.orig.tar.*
	# The headers of the kernel, and none of glibc beside them.
	ln -sf /usr/include/linux /usr/include/asm-generic "/usr/include/$(gcc -print-multiarch)/asm" "$folder/kernel"
	cd "$work/source"
	say "building $(basename "$work"/*.orig.tar.*) for musl"
	{
		./configure --prefix="$folder" CC=musl-gcc CPPFLAGS="-idirafter $folder/kernel" CFLAGS='-O2 -g' --without-icu --without-readline --without-zlib --enable-tap-tests
		make -s -j"$(getconf _NPROCESSORS_ONLN)" world-bin
		make -s install-world-bin
	} >"$folder/log" 2>&1 || { tail "$folder/log"; die "PostgreSQL did not build; see $folder/log"; }
	cd /
	rm -rf "$work"
	chmod -R a+rX "$folder"
fi
export CC=musl-gcc PG_CONFIG="$folder/bin/pg_config"
"$srcdir/check" "$@"
