#!/bin/sh
# tools/architectures.sh
#	  The code that knows no server on processors that this machine has not, emulated: the unit tests, and the inputs
#	  that the fuzz targets keep.
#
# Usage: tools/architectures.sh [ARCHITECTURE]...
#
# Without an argument: s390x, whose bytes are in the other order, and armhf and i386, which have 32 bits.  Compilers and emulator are
# Debian's, installed as ./check does.  Servers on them are tried by tools/chroots.sh.
set -eu
srcdir=$(cd "$(dirname "$0")/.." && pwd)
. "$srcdir/test/lib.sh"
install=yes
bootstrap
dir=$(work_dir)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' HUP INT TERM
copy_tree "$dir/tree"
cd "$dir/tree"
cat >main.c <<'END'
#include "fuzz.h"
int
main(int count, char **names)
{
	static uint8_t data[1 << 20];

	for (int i = 1; i < count; i++)
	{
		FILE	   *file = fopen(names[i], "rb");

		REQUIRE(file);
		LLVMFuzzerTestOneInput(data, fread(data, 1, sizeof(data), file));
		fclose(file);
	}
	printf("%d inputs\n", count - 1);
	return 0;
}
END

for architecture in ${*:-s390x armhf i386}; do
	case $architecture in
	armhf) triplet=arm-linux-gnueabihf emulator=qemu-arm-static ;;
	i386) triplet=i686-linux-gnu emulator=qemu-i386-static ;;
	*) triplet=$architecture-linux-gnu emulator=qemu-$architecture-static ;;
	esac
	missing=
	want "gcc-$triplet" command -v "$triplet-gcc"
	want "libc6-dev-$architecture-cross" installed "libc6-dev-$architecture-cross"
	want qemu-user-static command -v "$emulator"
	[ -z "$missing" ] || install_packages
	emulator="$emulator -L /usr/$triplet"
	# That emulator never ends some threads, and these processors run the programs themselves.
	[ "$architecture $(uname -m)" != 'i386 x86_64' ] || emulator="/usr/$triplet/lib/ld-linux.so.2 --library-path /usr/$triplet/lib"
	say "$architecture"
	make -s clean
	make -s unitcheck CC="$triplet-gcc" ADDRESS= THREAD= EMULATOR="$emulator"
	for source in test/fuzz/fuzz_*.c; do
		name=$(basename "$source" .c)
		# Where the compiler has no such integers, as for 32 bits
		if grep -q __int128 "$source" && ! echo 'typedef __int128 wide;' | "$triplet-gcc" -fsyntax-only -x c - 2>/dev/null; then
			echo "$name: needs __int128"
			continue
		fi
		wrap=
		[ "$name" != fuzz_lease ] || wrap=-Wl,--wrap=uidgen_lease_era
		"$triplet-gcc" -std=c99 -Wall -Wextra -Werror -g -O1 -Isrc -Itest/fuzz -DUIDGEN_STANDALONE $wrap -o fuzz main.c "$source" src/core/*.c
		printf '%s: ' "$name"
		$emulator ./fuzz test/fuzz/corpus/"${name#fuzz_}"/*
	done
done
