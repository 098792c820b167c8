#!/bin/sh
# test/tempcheck.sh
#	  Runs the suites against a private server: a copy of the installed one with
#	  the extension, as built, on top.  Called by "make tempcheck", which says
#	  what there is to run; $SUITES may name some of it.
#
# All is written below $CHECK_DIR: inst (the server), tree (the sources, where
# the suites run), counts (what they came to) and failed (what failed, by name).
set -eu
srcdir=$(cd "$(dirname "$0")/.." && pwd)
. "$srcdir/test/lib.sh"
export SUITES="${SUITES:-$suites}"

# Puts the server under the sanitizers or valgrind.
wrap_server()
(
	server=$CHECK_DIR/inst$("$PG_CONFIG" --bindir)/postgres
	mv "$server" "$server.real"
	cp "$srcdir/test/tools/postgres.pl" "$server"
	gcc -shared -fPIC -o "$CHECK_DIR/nogettext.so" "$srcdir/test/tools/nogettext.c"
	ln -s "$(gcc -print-file-name=libasan.so)" "$CHECK_DIR/libasan.so"
)

# npm_packages SUITE FOLDER: installs there what the suite's package.json names.
npm_packages()
{
	(cd "$CHECK_DIR/tree/test/$1" && NODE_DISABLE_COMPILE_CACHE=1 npm ci && mv node_modules "$2") ||
		say "npm could not install what test/$1/package.json names; the suite $1 fails"
}

# First part, in the build's folder and as its user.
if [ "${1-}" != suites ]; then
	ours=
	[ -n "${CHECK_DIR-}" ] || { CHECK_DIR=$(work_dir); ours=yes; }
	[ -d "$CHECK_DIR/tree" ] || copy_tree "$CHECK_DIR/tree"
	copy_server "$CHECK_DIR/inst"
	$MAKE -s install DESTDIR="$CHECK_DIR/inst"
	case ${CHECK_MODE-} in
	sanitize | valgrind) wrap_server ;;
	esac
	programs=
	for suite in $SUITES; do
		case $suite in
		unit) programs="$programs $UNIT_TESTS" ;;
		fuzz) programs="$programs $FUZZ_TARGETS" ;;
		esac
	done
	# A program that does not build is one that fails, later.  One that was built
	# outside of the sources joins them.
	for test in $programs; do
		$MAKE -s "$test" || rm -f "$test" "$CHECK_DIR/tree/$test"
		cp "$test" "$CHECK_DIR/tree/$test" 2>/dev/null || :
	done
	# By the build's user, whose settings npm may need, and where Node finds them from
	# the tests on; outside of the sources, which the suite meta looks through.  npm 12
	# would leave compiled code in /tmp.
	if names_suite javascript; then
		npm_packages javascript "$CHECK_DIR"
	fi
	if names_suite clients; then
		mkdir "$CHECK_DIR/clients"
		npm_packages clients "$CHECK_DIR/clients"
	fi
	export CHECK_DIR BINDIR="$CHECK_DIR/inst$("$PG_CONFIG" --bindir)"
	# The copy has none of these, nor what programs are linked with.
	SERVER_HEADERS=$("$PG_CONFIG" --includedir-server)
	CLIENT_HEADERS=$("$PG_CONFIG" --includedir)
	CLIENT_LIBRARIES=$("$PG_CONFIG" --libdir)
	# The copy's own one would look for the server's makefiles in the copy.
	BUILD_CONFIG=$(command -v "$PG_CONFIG")
	export SERVER_HEADERS CLIENT_HEADERS CLIENT_LIBRARIES BUILD_CONFIG
	gcc -Wall -Wextra -Werror -o "$CHECK_DIR/reaper" "$srcdir/test/tools/reaper.c"
	[ "$(id -u)" -ne 0 ] || chown -R "$(server_user)" "$CHECK_DIR"
	as_server "$CHECK_DIR/reaper" "$CHECK_DIR/tree/test/tempcheck.sh" suites
	[ -z "$ours" ] || verdict
	exit
fi

# Second part, as the server's user: each suite adds a line to the counts.
cd "$CHECK_DIR/tree"
mkdir "$CHECK_DIR/tmp"
export HOME="$CHECK_DIR" TMPDIR="$CHECK_DIR/tmp" PATH="$BINDIR:$PATH"
export PG_REGRESS="$PGXS_DIR/src/test/regress/pg_regress"
export PERL5LIB="$PGXS_DIR/src/test/perl"
export TESTDIR="$CHECK_DIR" TESTDATADIR="$CHECK_DIR/tmp_check" TESTLOGDIR="$CHECK_DIR/tmp_check/log"
export TEMP_CONFIG="$CHECK_DIR/tree/test/private.conf"
log=$CHECK_DIR/log

# A suite that is ended from outside may leave servers running, or stopped by SIGSTOP.
stop_servers()
{
	find "$CHECK_DIR" -name postmaster.pid | while read -r pid; do
		kill -s CONT "$(head -n 1 "$pid")" 2>/dev/null || :
		pg_ctl -D "${pid%/*}" -m immediate -s stop || :
	done
}
trap stop_servers EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# show COUNT FILE...: that many last lines of each.
show()
{
	count=$1
	shift
	for file; do
		[ ! -s "$file" ] || { echo "-- $file"; tail -n "$count" "$file"; }
	done
}

# tap JOBS SECONDS PROGRAM...
tap()
{
	perl test/tools/tap.pl "$suite" "$@" || say "test/tools/tap.pl has failed"
}

# By the tests named: what is not reported as passed has failed.
regress()
{
	program=$1 tests=$2
	shift 2
	out=$CHECK_DIR/$suite conf=test/tempcheck.conf
	mkdir "$out"
	# By ./check --late, servers do not preload uidgen.
	[ -z "${UIDGEN_LATE-}" ] || conf=/dev/null
	{
		"$PGXS_DIR/src/test/$program" --bindir="$BINDIR" --outputdir="$out" "$@" \
			--temp-instance="$out/tmp" --temp-config="$conf" \
			--no-locale --encoding=UTF8 $tests 2>&1 || echo "exit status $?"
	} | tee "$log"
	passed=0 failed=0
	for test in $tests; do
		if grep -qE "^(ok [0-9]+ +[-+] $test |test $test +\.\.\. ok )" "$log"; then
			passed=$((passed + 1))
		else
			failed=$((failed + 1))
			echo "$suite: $test" >>"$CHECK_DIR/failed"
		fi
	done
	if [ "$failed" -eq 0 ] && { [ "$passed" -eq 0 ] || grep -q '^exit status ' "$log"; }; then
		failed=1
		echo "$suite: $(sed -n 's/^exit status/& of pg_regress/p' "$log")" >>"$CHECK_DIR/failed"
	fi
	echo "$suite $passed $failed" >>"$CHECK_DIR/counts"
	if [ "$failed" -ne 0 ]; then
		show 60 "$out/log/postmaster.log"
		show 500 "$out/regression.diffs"
	fi
}

# Where all suites run, those that only compute go beside programs that mostly wait for servers.
beside=
case "${MODEL-}${FUZZ_SECONDS-}${FUZZ_RUNS-} $SUITES " in
" "*" fuzz model "*" tap "*) beside='test/model/check.sh test/fuzz/run.sh' ;;
esac

for suite in $SUITES; do
	case $suite in
	fuzz | model)
		# They count with those of the suite tap.
		[ -z "$beside" ] || { echo "$suite 0 0" >>"$CHECK_DIR/counts"; continue; } ;;
	esac
	echo "== $suite"
	case $suite in
	meta)
		tap 1 0 test/meta.pl test/pgindent.sh ;;
	selftest)
		tap 1 0 test/selftest.pl ;;
	unit)
		tap 2 0 $UNIT_TESTS ;;
	fuzz)
		tap 1 0 test/fuzz/run.sh ;;
	model)
		tap 1 0 test/model/check.sh ;;
	regress)
		regress regress/pg_regress "$REGRESS" --dbname=contrib_regression ;;
	isolation)
		regress isolation/pg_isolation_regress "$ISOLATION" --dbname=isolation_regression \
			--inputdir=test/isolation ;;
	tap)
		# A program that hangs ends as a failure.
		tap "$PROVE_JOBS" 900 $beside $PROVE_TESTS ;;
	long)
		tap "$PROVE_JOBS" 900 $LONG_TESTS ;;
	javascript)
		tap 1 900 test/javascript/javascript.pl ;;
	decoder)
		tap 1 900 test/decoder/decoder.pl ;;
	clients)
		tap 1 3600 test/clients/clients.pl test/guests/guests.pl ;;
	reports)
		tap 1 0 test/reports.pl ;;
	*.pl)
		tap 1 0 "$suite" ;;
	*)
		say "no such suite: $suite" ;;
	esac
done
