#!/bin/sh
# test/pgindent.sh
#	  Are the C files in PostgreSQL's format, as its pgindent makes it?  Prints TAP.
#
#	test/pgindent.sh --write	puts them into it
#
# pgindent comes with the packages of PostgreSQL 17 and later; where the server
# (PG_CONFIG) has none, this is skipped.  So it is from 19 on, whose pgindent writes
# comments and "..." in another way than those of 17 and 18: no file can please both.
set -u
cd "$(dirname "$0")/.." || exit 1
bin=$("${PG_CONFIG:-pg_config}" --bindir)
typedefs=$("${PG_CONFIG:-pg_config}" --sharedir)/typedefs.list
if ! [ -x "$bin/pgindent" ] || ! [ -f "$typedefs" ]; then
	echo "1..0 # SKIP $bin has no pgindent"
	exit
fi
major=$("${PG_CONFIG:-pg_config}" --version | sed 's/^[^0-9]*\([0-9]*\).*/\1/')
if [ "$major" -ge 19 ]; then
	echo "1..0 # SKIP the pgindent of PostgreSQL $major has another format"
	exit
fi
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

# It tears compound literals apart, as if they were blocks, so files with one are
# left out.
files=$(find src test -name '*.[ch]' | sort | xargs grep -LE '\([A-Z]\w*(\[\])?\) \{')

# The names of types, by which it tells a declaration from a product: PostgreSQL's,
# but for "text" and what is a macro here; C's; and ours.
{
	sed -nE 's/^# *define (\w+).*/\1/p' $files
	echo text
} >"$dir/others"
{
	grep -vxFf "$dir/others" "$typedefs"
	printf '%s\n' int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t int128
	find src test -name '*.[ch]' -exec sed -nE \
		's/^\t*\} ?([A-Z]\w*);$/\1/p; s/^typedef .*\b([A-Z]\w*);$/\1/p; s/^typedef .*\(\*([A-Z]\w*)\).*;$/\1/p' {} +
} | sort -u >"$dir/typedefs"

if [ "${1-}" = --write ]; then
	"$bin/pgindent" --indent="$bin/pg_bsd_indent" --typedefs="$dir/typedefs" $files
	exit
fi
echo 1..1
# What it cannot read it says, but has not failed then.
"$bin/pgindent" --indent="$bin/pg_bsd_indent" --typedefs="$dir/typedefs" --check --diff $files >"$dir/out" 2>&1
status=$?
if [ $status -eq 0 ] && ! [ -s "$dir/out" ]; then
	echo 'ok 1 - the C files are in the format of pgindent'
else
	echo 'not ok 1 - the C files are in the format of pgindent'
	echo "# exit status $status; test/pgindent.sh --write changes this:"
	sed 's/^/# /' "$dir/out"
fi
