#!/bin/sh
# test/chroots.sh
#	  Does what a newcomer does, on bare systems: runs ./try and ./check of the
#	  committed state in fresh, minimal Debian systems of several releases, as
#	  root and as an ordinary user with sudo, and looks at what they leave behind.
#
# Usage, as root: test/chroots.sh [RELEASE[/ARCHITECTURE]]...
#
# Without an argument: bookworm, trixie, sid and experimental of this machine's
# architecture.  The last one is sid with the next version of PostgreSQL, $next
# below, which Debian has in its suite experimental.
# On another one, such as bookworm/i386, fewer suites run; see plan() below.  One
# that this processor has not, such as bookworm/arm64, is emulated, which Debian's
# packages qemu-user-static and binfmt-support do; in a container, which lacks both
# their mount and their service, after
#	mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
#	update-binfmts --enable qemu-aarch64
#
# The bare systems are made by debootstrap and kept in $CHROOTS; each run gets a
# copy of its own, removed when it went well.  A run has its own process and
# mount namespace, so that no server and no mount outlives it.  Process 1 there
# waits for one command alone, as in many containers: whatever else ends without
# a parent stays in the list of processes.
set -eu
srcdir=$(cd "$(dirname "$0")/.." && pwd)
: "${CHROOTS:=${TMPDIR:-/var/tmp}/uidgen-chroots}"
next=19

# plan ARCHITECTURE: sets the users, and the suites of ./check; none means all.
plan()
{
	users='root newcomer' suites=
	case $1 in
	"$(dpkg --print-architecture)") ;;
	i386)
		suites='unit regress isolation' ;;
	*)
		# Emulated, many times slower; and sudo gets no rights from an emulator.
		users=root suites='unit regress' ;;
	esac
}

# chroots.sh --inside RELEASE ROOT USER [SUITE]...: the part in the namespaces.
if [ "${1-}" = --inside ]; then
	release=$2 root=$3 user=$4
	shift 4
	unset TMPDIR	# is a folder of this machine
	mount -t proc proc "$root/proc"
	mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
	mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
	if [ "$user" != root ]; then
		chroot "$root" sh -ec "
			export DEBIAN_FRONTEND=noninteractive
			apt-get update >/dev/null
			apt-get install -y --no-install-recommends sudo >/dev/null
			useradd --create-home --shell /bin/sh $user
			echo '$user ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/$user"
	fi
	home=$(chroot "$root" sh -c "echo ~$user")
	mkdir "$root$home/uidgen"
	git -C "$srcdir" archive HEAD | tar -C "$root$home/uidgen" -xf -
	chroot "$root" chown -R "$user" "$home/uidgen"
	chmod -R a-w "$root$home/uidgen"
	# sid has another version, too.  ./check goes on with the one that is there in part.
	if [ "$release" = experimental ]; then
		chroot "$root" sh -ec "
			srcdir=$home/uidgen
			. $home/uidgen/test/lib.sh
			missing=postgresql-$next
			install_packages"
	fi

	# as_user COMMANDS: in /, with the path of the tree in $uidgen.
	as_user()
	{
		chroot "$root" su - "$user" -c "set -e; cd /; uidgen=$home/uidgen; $1"
	}

	# Nothing may be left behind but packages, and no cluster may have been made.
	nothing_left()
	{
		servers=$(grep -l "^Name:.postgres$" "$root"/proc/[0-9]*/status | xargs -r grep -L "^State:.Z") || :
		left=$(ls -d "$root"/tmp/* "$root"/var/lib/postgresql/*/* "$root"/etc/postgresql/*/* \
			"$root"/root/.psql_history "$root$home"/.psql_history 2>/dev/null) || :
		settings=$(grep -s "^ *create_main_cluster" "$root"/etc/postgresql-common/createcluster.conf) || :
		if [ -n "$servers$left$settings" ]; then
			printf "%s\n" "left behind: $servers $left $settings"
			exit 1
		fi
	}

	date +"%T try, without the archive"
	mv "$root/etc/apt/sources.list" "$root/etc/apt/sources.list.away"
	if as_user '$uidgen/try </dev/null'; then
		echo "succeeded, which cannot be"
		exit 1
	fi
	mv "$root/etc/apt/sources.list.away" "$root/etc/apt/sources.list"
	nothing_left
	date +"%T try"
	as_user '[ "$($uidgen/try -At -c "SELECT uid_next() > 0")" = t ]'
	nothing_left
	date +"%T try, with a terminal"
	as_user "printf '%s\n' \"SELECT 'at the ' || 'prompt';\" '\q' | PAGER=cat script -q -e -c \$uidgen/try /dev/null" | tee "$root/out"
	grep -q "at the prompt" "$root/out"
	nothing_left
	date +"%T try fleet"
	as_user '$uidgen/try fleet' | tee "$root/out"
	grep -q " together, 0 of them more than once" "$root/out"
	nothing_left
	date +"%T check${*:+ $*}"
	as_user "\$uidgen/check $*"
	nothing_left
	# Without the preload, once for each release.
	if [ "$user" = root ] && [ $# -eq 0 ] && [ "$(ls "$root/usr/lib/postgresql" | sort -n | tail -n 1)" -ge 17 ]; then
		date +"%T check --late"
		as_user "\$uidgen/check --late"
		nothing_left
	fi
	date +"%T a cluster"
	chroot "$root" sh -ec '
		pg_createcluster "$(ls /usr/lib/postgresql)" main --start
		su - postgres -c "psql -At -c \"SELECT version()\""'
	date +"%T done"
	exit
fi

[ "$(id -u)" -eq 0 ] || { echo "$0: must be run as root" >&2; exit 1; }
mkdir -p "$CHROOTS"
status=0
for system in ${*:-bookworm trixie sid experimental}; do
	release=${system%/*} architecture=${system#*/} bare=$CHROOTS/$(echo "$system" | tr / -)
	[ "$architecture" != "$system" ] || architecture=$(dpkg --print-architecture)
	if ! [ -d "$bare" ]; then
		rm -rf --one-file-system "$bare.new"
		suite=$release
		[ "$release" != experimental ] || suite=sid
		debootstrap --variant=minbase --arch="$architecture" "$suite" "$bare.new" >"$bare.log" 2>&1 ||
			{ tail "$bare.log" >&2; exit 1; }
		if [ "$release" = experimental ]; then
			sed -i 'p; s/ sid / experimental /' "$bare.new/etc/apt/sources.list"
			# Nothing of experimental is taken by itself; this is, with its libpq.
			printf '%s\n' "Package: src:postgresql-$next" 'Pin: release a=experimental' 'Pin-Priority: 500' \
				>"$bare.new/etc/apt/preferences.d/postgresql"
		fi
		mv "$bare.new" "$bare"
	fi
	plan "$architecture"
	for user in $users; do
		run=$bare-$user
		rm -rf --one-file-system "$run"
		cp -a "$bare" "$run"
		# How this machine reaches the archive, in the copy too.
		cp -L /etc/resolv.conf "$run/etc/resolv.conf"
		apt-config dump Acquire | grep -E '::(Check|http)' >"$run/etc/apt/apt.conf.d/90host" || :
		echo "127.0.0.1 localhost $(uname -n)" >"$run/etc/hosts"	# which sudo looks up
		echo "== $system as $user"
		unshare --mount --pid --fork --kill-child perl -e 'exit(system(@ARGV) != 0)' \
			"$0" --inside "$release" "$run" "$user" $suites </dev/null >"$run.log" 2>&1 &
		trap "kill -KILL $!; exit 1" HUP INT TERM	# ends all in the namespace
		if wait $!; then
			grep -E '^[0-9]+ passed|^[0-9]{2}:[0-9:]+ |^FAILED: |^uidgen: ' "$run.log"
			rm -rf --one-file-system "$run"
		else
			tail -n 100 "$run.log"
			echo "FAILED; see $run and $run.log"
			status=1
		fi
	done
done
exit $status
