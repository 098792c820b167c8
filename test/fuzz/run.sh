#!/bin/sh
# test/fuzz/run.sh
#	  Runs the fuzz targets, which make has built: on the inputs that are kept in
#	  corpus/, then on new ones made from them.  Prints TAP.
#
#	FUZZ_RUNS=100000000 ./check fuzz	so many inputs for each target
#	FUZZ_SECONDS=900 ./check fuzz		or for so long
#
# The same inputs each time, unless FUZZ_SEED is given.
set -u

here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d) || exit 1
trap 'exit 1' HUP INT TERM

if [ -n "${FUZZ_SECONDS-}" ]; then
	least=1
	length="-max_total_time=$FUZZ_SECONDS"
else
	least=${FUZZ_RUNS:-10000}
	length="-runs=$least"
fi

number=0
failed=

# verdict COUNT LEAST NAME: good if the program ended well after at least so many
# inputs.  Otherwise with its log, and the input that broke it.
verdict()
{
	number=$((number + 1))
	if [ "$status" -eq 0 ] && [ "${1:-0}" -ge "$2" ]; then
		echo "ok $number - $3, $1 inputs"
		return
	fi
	failed=yes
	echo "not ok $number - $3, exit status $status after ${1:-no} inputs"
	tail -n 60 "$log" | sed 's/^/# /'
	for input in "$dir/$name"-*; do
		[ ! -f "$input" ] || { echo "# $input:"; od -c "$input" | head -n 60 | sed 's/^/# /'; }
	done
}

set -- "$here"/fuzz_*.c
echo "1..$((2 * $#))"
for source; do
	program=${source%.c}
	name=${program##*/fuzz_}
	corpus=$here/corpus/$name
	log=$dir/$name.log
	common="-artifact_prefix=$dir/$name- -timeout=60"

	"$program" $common "$corpus"/* >"$log" 2>&1
	status=$?
	verdict "$(grep -c '^Executed ' "$log")" "$(ls "$corpus" | grep -c .)" "$name: kept"

	mkdir "$dir/$name.new"
	"$program" $common -seed="${FUZZ_SEED:-1}" -max_len=400 "$length" \
		"$dir/$name.new" "$corpus" >"$log" 2>&1
	status=$?
	verdict "$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log")" "$least" "$name: new"
done

[ -z "$failed" ] || exit 1
rm -rf "$dir"
