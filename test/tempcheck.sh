#!/bin/sh
# test/tempcheck.sh
#	  Runs the suites against a private server: a copy of the installed one with
#	  the extension, as built, on top.  Called by "make tempcheck", which says
#	  what there is to run; $SUITES may name some of it.
#
# All is written below $CHECK_DIR: inst (the server), tree (the sources, where
# the suites run) and counts (what they came to).
set -eu
srcdir=$(cd "$(dirname "$0")/.." && pwd)
. "$srcdir/test/lib.sh"
export SUITES="${SUITES:-$suites}"

# Puts the server under the sanitizers or valgrind.
wrap_server()
(
	server=$CHECK_DIR/inst$("$PG_CONFIG" --bindir)/postgres
	mv "$server" "$server.real"
	cp "$srcdir/test/postgres.pl" "$server"
	gcc -shared -fPIC -o "$CHECK_DIR/nogettext.so" "$srcdir/test/nogettext.c"
	ln -s "$(gcc -print-file-name=libasan.so)" "$CHECK_DIR/libasan.so"
)

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
	# A program that does not build is one that fails, later.  One that was built
	# outside of the sources joins them.
	for test in $UNIT_TESTS $FUZZ_TARGETS; do
		$MAKE -s "$test" || rm -f "$test" "$CHECK_DIR/tree/$test"
		cp "$test" "$CHECK_DIR/tree/$test" 2>/dev/null || :
	done
	export CHECK_DIR BINDIR="$CHECK_DIR/inst$("$PG_CONFIG" --bindir)"
	# The copy has none of these, nor what programs are linked with.
	SERVER_HEADERS=$("$PG_CONFIG" --includedir-server)
	CLIENT_HEADERS=$("$PG_CONFIG" --includedir)
	CLIENT_LIBRARIES=$("$PG_CONFIG" --libdir)
	export SERVER_HEADERS CLIENT_HEADERS CLIENT_LIBRARIES
	[ "$(id -u)" -ne 0 ] || chown -R "$(server_user)" "$CHECK_DIR"
	as_server "$CHECK_DIR/tree/test/tempcheck.sh" suites
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
log=$CHECK_DIR/log
# A file that hangs ends as a failure; in the foreground, so that it sees Ctrl-C.
perl='timeout --foreground --kill-after=30 900 perl'

# A suite that is ended from outside may leave servers running.
stop_servers()
{
	find "$CHECK_DIR" -name postmaster.pid | while read -r pid; do
		pg_ctl -D "${pid%/*}" -m immediate -s stop || :
	done
}
trap stop_servers EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# tell COMMAND...: runs it, shows what it says, and notes whether it failed.
tell()
{
	echo "== $suite"
	{ "$@" 2>&1 || echo "exit status $?"; } | tee "$log"
}

# show COUNT FILE...: that many last lines of each.
show()
{
	count=$1
	shift
	for file; do
		[ ! -s "$file" ] || { echo "-- $file"; tail -n "$count" "$file"; }
	done
}

# By what prove says: a program that broke off without a failed test counts as
# one failure, and so does a suite without any test.
tap()
{
	tell "$PROVE" "$@"
	awk -v suite="$suite" '
		/^Files=/ { sub(/.*Tests=/, ""); total = $0 + 0 }
		/^exit status / { broken = 1 }
		match($0, /\(Wstat: .* Failed: [0-9]+\)$/) {
			sub(/.* Failed: /, "")
			wrong += $0
			stopped += ($0 + 0 == 0)
		}
		END {
			failed = broken ? wrong + stopped : 0
			if (failed == 0 && (broken || total == 0))
				failed = 1
			print suite, total - (broken ? wrong : 0), failed
		}' "$log" >>"$CHECK_DIR/counts"
	# The programs that failed, by prove's report, have logs.
	sed -n 's|^test/t/\(.*\)\.pl  *(Wstat.*|\1|p' "$log" | while read -r name; do
		show 60 "$TESTLOGDIR/regress_log_$name"
		show 20 "$TESTLOGDIR/$name"_*.log
	done
}

# By the tests named: what is not reported as passed has failed.
regress()
{
	program=$1 tests=$2
	shift 2
	out=$CHECK_DIR/$suite
	mkdir "$out"
	tell "$PGXS_DIR/src/test/$program" --bindir="$BINDIR" --outputdir="$out" "$@" \
		--temp-instance="$out/tmp" --temp-config=test/tempcheck.conf \
		--no-locale --encoding=UTF8 $tests
	passed=$(grep -cE '^(ok [0-9]+ +[-+] |test .* \.\.\. ok )' "$log") || :
	failed=$(($(echo $tests | wc -w) - passed))
	if [ "$failed" -eq 0 ] && { [ "$passed" -eq 0 ] || grep -q '^exit status ' "$log"; }; then
		failed=1
	fi
	echo "$suite $passed $failed" >>"$CHECK_DIR/counts"
	if [ "$failed" -ne 0 ]; then
		show 500 "$out/regression.diffs"
		show 60 "$out/log/postmaster.log"
	fi
}

for suite in $SUITES; do
	case $suite in
	meta)
		tap test/meta.pl ;;
	unit)
		tap -e '' $UNIT_TESTS ;;
	fuzz)
		tap -e '' -v test/fuzz/run.sh ;;
	model)
		tap -e '' test/model/check.sh ;;
	regress)
		regress regress/pg_regress "$REGRESS" --dbname=contrib_regression ;;
	isolation)
		regress isolation/pg_isolation_regress "$ISOLATION" --dbname=isolation_regression \
			--inputdir=test/isolation ;;
	tap)
		tap -e "$perl" --timer -j "$PROVE_JOBS" $PROVE_TESTS ;;
	reports)
		tap test/reports.pl ;;
	*.pl)
		tap -e "$perl" -v "$suite" ;;
	*)
		say "no such suite: $suite" ;;
	esac
done
