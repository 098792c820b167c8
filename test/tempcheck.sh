#!/bin/sh
# test/tempcheck.sh
#	  Runs the suites against a private server: a copy of the installed one with
#	  the extension, as built, on top.  Called by "make tempcheck", which says
#	  what there is to run; $SUITES may name some of it.
#
# All is written below $CHECK_DIR: inst (the server), tree (the sources, where
# the programs run), tap (a folder for each program), counts (what they came
# to), and failed and skipped (which did, by name).
set -eu
srcdir=$(cd "$(dirname "$0")/.." && pwd)
. "$srcdir/test/lib.sh"
export SUITES="${SUITES:-gate}"

# Puts the server under the sanitizers or valgrind.
wrap_server()
(
	server=$CHECK_DIR/inst$("$PG_CONFIG" --bindir)/postgres
	mv "$server" "$server.real"
	cp "$srcdir/test/tools/postgres.pl" "$server"
	gcc -shared -fPIC -o "$CHECK_DIR/nogettext.so" "$srcdir/test/tools/nogettext.c"
	ln -s "$(gcc -print-file-name=libasan.so)" "$CHECK_DIR/libasan.so"
)

# programs SUITE: its programs, a line each; those that take long come first, so that nothing waits for them alone.
programs()
(
	IFS=' '
	case $1 in
	gate)
		printf '%s\n' 'test/regress.pl regress' $GLUE_FIRST test/t/random_fleets.pl $UNIT_TESTS 'test/regress.pl isolation' $GLUE_TESTS test/fuzz/run.sh \
			test/meta.pl test/pgindent.sh ;;
	rules)
		printf '%s\n' 'test/regress.pl regress' test/t/random_fleets.pl 'test/regress.pl isolation' $UNIT_TESTS test/fuzz/run.sh test/meta.pl test/pgindent.sh ;;
	glue)
		printf '%s\n' $GLUE_FIRST $GLUE_TESTS ;;
	world)
		printf '%s\n' $WORLD_TESTS ;;
	late)
		printf '%s\n' 'test/regress.pl regress' 'test/regress.pl isolation' $LATE_TESTS ;;
	meta)
		printf '%s\n' test/meta.pl test/pgindent.sh ;;
	unit)
		printf '%s\n' $UNIT_TESTS ;;
	fuzz)
		echo test/fuzz/run.sh ;;
	model)
		echo test/model/check.sh ;;
	regress | isolation)
		echo "test/regress.pl $1" ;;
	javascript | decoder)
		echo "test/$1/$1.pl" ;;
	clients)
		printf '%s\n' test/clients/clients.pl test/clients/edition.pl test/guests/guests.pl ;;
	selftest | reports)
		echo "test/$1.pl" ;;
	*)
		echo "$1" ;;
	esac
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
	built=
	for suite in $SUITES; do
		for program in $(programs "$suite"); do
			case $program in
			test/unit/*) built="$built $program" ;;
			test/fuzz/*) built="$built $FUZZ_TARGETS" ;;
			esac
		done
	done
	# A program that does not build is one that fails, later.  One that was built
	# outside of the sources joins them.
	if [ -n "$built" ]; then
		(cd "$CHECK_DIR/tree" && rm -f $built)
		rm -f $built
		$MAKE -s -k $built || :
		for program in $built; do
			cp "$program" "$CHECK_DIR/tree/$program" 2>/dev/null || :
		done
	fi
	# By the build's user, whose settings npm may need, and where Node finds them from
	# the tests on; outside of the sources, which the suite meta looks through.  npm 12
	# would leave compiled code in /tmp.
	if names world javascript clients guests/guests; then
		(cd "$CHECK_DIR/tree/test/clients" && NODE_DISABLE_COMPILE_CACHE=1 npm ci && mv node_modules "$CHECK_DIR") ||
			say 'npm could not install what test/clients/package.json names; the suites javascript and clients fail'
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
	mkdir -m 555 "$CHECK_DIR/home"
	# Nothing of this machine's environment reaches the programs, so that what they need is known.
	set -- HOME="$CHECK_DIR/home" PATH="$BINDIR:/usr/bin:/bin:/usr/sbin" LD_RUN_PATH="$CLIENT_LIBRARIES"
	for name in CHECK_DIR CHECK_MODE CC SUITES TIMES JOBS BINDIR PG_CONFIG PGXS_DIR SERVER_HEADERS CLIENT_HEADERS CLIENT_LIBRARIES BUILD_CONFIG \
		REGRESS ISOLATION UNIT_TESTS FUZZ_TARGETS GLUE_FIRST GLUE_TESTS WORLD_TESTS LATE_TESTS \
		$(env | sed -n 's/^\(UIDGEN_[A-Z_]*\|MODEL\|FUZZ_[A-Z]*\)=.*/\1/p'); do
		eval "[ -z \"\${$name+set}\" ] || set -- \"\$@\" \"$name=\$$name\""
	done
	as_server env -i "$@" "$CHECK_DIR/reaper" "$CHECK_DIR/tree/test/tempcheck.sh" suites
	[ -z "$ours" ] || verdict
	exit
fi

# Second part, as the server's user.
cd "$CHECK_DIR/tree"
mkdir "$CHECK_DIR/tmp"
export TMPDIR="$CHECK_DIR/tmp" PG_TEST_PORT_DIR="$CHECK_DIR"
export PG_REGRESS="$PGXS_DIR/src/test/regress/pg_regress" PERL5LIB="$PGXS_DIR/src/test/perl"
export TEMP_CONFIG="$CHECK_DIR/tree/test/private.conf"
# How long something may take that a test waits for, in seconds.  It is reached only by what never comes.
export PG_TEST_TIMEOUT_DEFAULT=900 PGCTLTIMEOUT=900

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

for suite in $SUITES; do
	echo "== $suite"
	[ "$suite" != reports ] || unset TIMES
	# In CPU seconds, and an hour of wall-clock time for what hangs; world has programs that are to run for long.
	limits='200 3600'
	case $suite in
	world | late | model | clients | test/* | tools/*) limits='7200 14400' ;;
	esac
	IFS='
'
	set -- $(programs "$suite")
	unset IFS
	perl test/tools/tap.pl "$suite" "${JOBS:-5}" $limits "$@" || say 'test/tools/tap.pl has failed'
done
