# test/lib.sh
#	  What ./try, ./check and test/tempcheck.sh share: missing packages are
#	  installed, and a private copy of the server is made.
#
# Sourced, with $srcdir set to the root of the source tree.  Nothing here
# installs into the machine's PostgreSQL or speaks to a cluster on it.
# Functions that use variables of their own run in a subshell, with a body in
# parentheses: sh has no local variables, and the callers remove folders by name.

# Neither the caller's connection (PGHOST, PGOPTIONS, ...) nor a umask that
# hides files from the server's user may reach the private server.
unset $(env | sed -n 's/^\(PG[A-Z]*\)=.*/\1/p')
umask 022

# What has a name in ./check: the rings, and their parts.
suites='gate rules glue world late meta unit fuzz model regress isolation selftest javascript decoder clients reports'

say()
{
	printf 'uidgen: %s\n' "$*" >&2
}

die()
{
	say "$*"
	exit 1
}

# ---- What must be installed -------------------------------------------------

# Can extensions be built for the server of this pg_config, and tried on it?
# Debian's client packages bring PGXS along, but not the headers.
usable()
{
	[ -e "$("$1" --pgxs 2>/dev/null)" ] && [ -x "$("$1" --bindir)/postgres" ] &&
		[ -e "$("$1" --includedir-server)/postgres.h" ]
}

# Sets PG_CONFIG, unless the caller has: that of the PATH, else the newest.
find_server()
{
	if [ -n "${PG_CONFIG-}" ]; then
		usable "$PG_CONFIG" || die "PG_CONFIG=$PG_CONFIG leads to no PostgreSQL server with PGXS and headers, which Debian has in postgresql-server-dev-NN"
		return 0
	fi
	for PG_CONFIG in pg_config $(ls -rv /usr/lib/postgresql/*/bin/pg_config 2>/dev/null); do
		usable "$PG_CONFIG" && return
	done
	PG_CONFIG=
	return 1
}

# The major version to install: one that is there in part, else the
# distribution's own.
missing_version()
(
	{
		ls -rv /usr/lib/postgresql 2>/dev/null || :
		apt-cache depends postgresql | sed -n 's/^ *Depends: postgresql-\([0-9]*\)$/\1/p'
	} | sed '/./!d; q'
)

# want PACKAGE COMMAND...: notes the package, once, if the command fails.
want()
{
	case "$missing " in
	*" $1 "*) return ;;
	esac
	(shift; "$@") >/dev/null 2>&1 || missing="$missing $1"
}

# Does clang come with what a fuzz target needs?
fuzzer_links()
(
	program=$(mktemp)
	trap 'rm -f "$program"' EXIT
	trap 'exit 1' HUP INT TERM
	echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
		clang -fsanitize=fuzzer,address,undefined -x c -o "$program" -
)

installed()
{
	[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# as_root COMMAND...: through sudo, unless we are root already.
as_root()
{
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

# names NAME...: is one of these among $SUITES, as a suite or as the beginning of a file's or folder's name?
names()
{
	for named; do
		case " ${SUITES-} " in
		*" $named "* | *"/$named"*) return 0 ;;
		esac
	done
	return 1
}

# Is there pgx, of any version?  Debian has a package for each.
pgx_installed()
{
	ls -d /usr/share/gocode/src/github.com/jackc/pgx/v*
}

# Is there a pooler?  Debian has it where only root finds it.
pooler_installed()
{
	command -v pgbouncer || [ -x /usr/sbin/pgbouncer ]
}

# Looks for what building and running the extension needs, with the argument "tests" also for what $SUITES need, and sets PG_CONFIG.
# What is missing is installed where $install is "yes", and on a machine without a server that extensions can be built for;
# elsewhere it is named.
bootstrap()
{
	missing=
	want make command -v make
	want gcc command -v gcc
	want libc6-dev sh -c 'echo "#include <stdio.h>" | gcc -E -'
	if [ "${1-}" = tests ]; then
		want perl perl -MJSON::PP -MTAP::Parser -MTest::More -e 1
		want libipc-run-perl perl -MIPC::Run -e 1
		if names gate rules world fuzz; then
			want clang command -v clang
			want libclang-rt-dev fuzzer_links
		fi
		if names gate glue cost_instructions || [ "${CHECK_MODE-}" = valgrind ]; then
			want valgrind command -v valgrind
		fi
		if names gate glue world clients guests; then
			for module in psycopg psycopg2; do
				want "python3-$module" /usr/bin/python3 -c "import $module"
			done
		fi
		if names world model; then
			want spin command -v spin
		fi
		if names world javascript decoder clients; then
			want nodejs command -v node
		fi
		if names world javascript clients guests/guests; then
			want npm command -v npm
		fi
		if names world decoder; then
			want chromium command -v chromium
		fi
		if names world clients; then
			for module in sqlalchemy django; do
				want "python3-$module" /usr/bin/python3 -c "import $module"
			done
			want ruby-activerecord /usr/bin/ruby -e 'require "active_record"'
			want ruby-pg /usr/bin/ruby -e 'require "pg"'
			want golang-go test -x /usr/bin/go
			want golang-github-jackc-pgx-dev pgx_installed
			want golang-github-lib-pq-dev test -d /usr/share/gocode/src/github.com/lib/pq
			want golang-github-jinzhu-gorm-dev test -d /usr/share/gocode/src/github.com/jinzhu/gorm
			want libhibernate3-java test -e /usr/share/java/hibernate3.jar
			want libjavassist-java test -e /usr/share/java/javassist.jar
		fi
		if names world clients guests/guests; then
			want default-jdk-headless command -v javac
			want libpostgresql-jdbc-java test -e /usr/share/java/postgresql.jar
		fi
		if names world remote_pooler load/load; then
			want pgbouncer pooler_installed
		fi
		# Without it, a test does not judge the rules for Prometheus.
		if names world; then
			want prometheus command -v promtool
		fi
		if names world fleet/patroni; then
			want patroni command -v patroni
			want etcd-server command -v etcd
		fi
	fi
	# The packages of the server's headers bring those of libpq along.
	if find_server; then
		want libpq-dev test -e "$("$PG_CONFIG" --includedir)/libpq-fe.h"
	else
		missing="$missing postgresql" install=yes
	fi
	if [ -n "$missing" ]; then
		[ "${install-}" = yes ] ||
			die "missing:$missing; install these, or let ./check --install do so, by apt-get"
		install_packages
	fi

	find_server || die "no PostgreSQL server with PGXS found, though apt-get installed one"
	export PG_CONFIG
	major=$("$PG_CONFIG" --version | sed 's/^[^0-9]*\([0-9]*\).*/\1/')
	[ "$major" -ge 15 ] || die "PostgreSQL 15 or later is needed; $PG_CONFIG is of $major"

	# Not each release of Debian has these for its server, and no server has them that is not a package.
	if [ "${install-}" = yes ] && names world clients && installed "postgresql-$major"; then
		for extension in timescaledb partman; do
			missing=
			want "postgresql-$major-$extension" installed "postgresql-$major-$extension"
			[ -z "$missing" ] || { apt-cache show $missing && install_packages; } >/dev/null 2>&1 ||
				say "no $extension: its test is skipped"
		done
	fi
}

install_packages()
(
	command -v apt-get >/dev/null || die "please install what is missing:$missing"
	[ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null ||
		die "missing:$missing; run me once as root, or install sudo"
	say "missing:$missing; apt-get looks for packages"
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	# PostgreSQL's package makes a cluster and starts it, by this program.  While we
	# install, one that does nothing is found first.
	ln -s /bin/true "$dir/pg_createcluster"
	# Nor does any package start a service.
	ln -s /bin/true "$dir/invoke-rc.d"
	ln -s /bin/true "$dir/deb-systemd-invoke"
	apt_get update

	packages=
	for package in $missing; do
		if [ "$package" = postgresql ]; then
			version=$(missing_version)
			[ "${version:-0}" -ge 15 ] || die "apt-get offers no PostgreSQL 15 or later"
			for part in "postgresql-$version" "postgresql-server-dev-$version"; do
				installed "$part" || packages="$packages $part"
			done
		elif [ "$package" = golang-github-jackc-pgx-dev ]; then
			packages="$packages $(apt-cache pkgnames golang-github-jackc-pgx-v | grep -- '-dev$' | sort -V | tail -n 1)"
		else
			packages="$packages $package"
		fi
	done
	say "apt-get installs$packages and what these need; this takes a minute or two"
	apt_get install -y --no-install-recommends $packages
)

# apt-get, quiet unless it fails, and patient when another one is at work.
apt_get()
{
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
		-o DPkg::Path="$dir:/usr/sbin:/usr/bin:/sbin:/bin" "$@" \
		</dev/null >"$dir/log" 2>&1 || { cat "$dir/log" >&2; die "apt-get $* failed"; }
}

# ---- The private server -----------------------------------------------------

# The user that the server runs as: it refuses root.
server_user()
{
	if [ "$(id -u)" -ne 0 ]; then
		id -un
	elif id postgres >/dev/null 2>&1; then
		echo postgres
	else
		echo nobody
	fi
}

# as_server COMMAND...: runs it as that user, who may have no right to enter the
# current folder.
as_server()
(
	cd /
	if [ "$(id -u)" -ne 0 ]; then
		"$@"
	elif command -v runuser >/dev/null; then
		runuser -u "$(server_user)" -- "$@"
	else
		su -s /bin/sh -c 'exec "$@"' -- "$(server_user)" sh "$@"
	fi
)

# Makes a new folder that the server's user can reach, and prints its name.
work_dir()
(
	dir=$(mktemp -d "${TMPDIR:-/tmp}/uidgen.XXXXXX")
	if [ "$(id -u)" -eq 0 ]; then
		chmod 755 "$dir"
		as_server test -x "$dir/." || {
			rmdir "$dir"
			die "user $(server_user) cannot reach TMPDIR=${TMPDIR:-/tmp}"
		}
	fi
	echo "$dir"
)

# copy_files FROM TO TAR-OPTION...
copy_files()
(
	from=$1 to=$2
	shift 2
	mkdir -p "$to"
	tar -C "$from" -cf - "$@" . | tar -C "$to" -xf -
)

# copy_tree DIR: the sources, without what was built from them.  Those that may
# only be read are copied as writable, so that an interrupted copy can be removed.
copy_tree()
{
	copy_files "$srcdir" "$1" --mode=u+w --exclude=./.git --exclude='*.o' --exclude='*.so' --exclude='*.bc'
}

# copy_server DIR: the installed server, below DIR.  Its programs find their
# files relative to themselves, so the extension can be installed on top of the
# copy without touching the original.  Left out is what only builders need.
copy_server()
(
	for kind in --bindir --pkglibdir --sharedir; do
		path=$("$PG_CONFIG" $kind)
		copy_files "$path" "$1$path" --exclude=./pgxs --exclude=./bitcode --exclude='./*.a' --exclude=./man
	done
)

# ---- The verdict ------------------------------------------------------------

# Ends a run: removes $CHECK_DIR, or says where it is if something failed, and
# prints what was skipped, what failed and the closing line, from its files "skipped",
# "failed" and "counts".  In "failed", lines with a tab in front belong to the line
# above.  "counts" has a line "SUITE PASSED FAILED" for each suite that ran; one of
# $SUITES without a line could not run, which is a failure too.
verdict()
(
	cd "$CHECK_DIR"
	touch counts failed skipped
	for suite in $SUITES; do
		grep -q "^$suite " counts || {
			echo "$suite 0 1" >>counts
			echo "$suite: did not run to its end" >>failed
		}
	done
	sed 's/^/SKIPPED: /' skipped
	awk '{ passed += $2; failed += $3 } END { printf "%d passed, %d failed\n", passed, failed }' counts >result
	result=$(cat result)
	cd /
	case $result in
	*' 0 failed')
		rm -rf "$CHECK_DIR"
		failed=0 ;;
	*)
		sed 's/^[^	]/FAILED: &/' "$CHECK_DIR/failed"
		say "logs and differences are in $CHECK_DIR"
		failed=1 ;;
	esac
	echo "$result"
	return $failed
)
