#!/bin/sh
# tools/chroots.sh
#	  Does what a newcomer does, on bare systems: runs ./try and ./check of the
#	  committed state in fresh, minimal Debian systems of several releases, as
#	  root and as an ordinary user with sudo, and looks at what they leave behind.
#
# Usage, as root: tools/chroots.sh [RELEASE[/ARCHITECTURE]]...
#
# Without an argument: bookworm, trixie, sid and experimental of this machine's
# architecture; see tools/systems.sh.  On another one, such as bookworm/i386, fewer suites run; see plan() below.
#
# Each run gets a copy of a bare system, removed when it went well.
set -eu
srcdir=$(cd "$(dirname "$0")/.." && pwd)
. "$srcdir/tools/systems.sh"

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
	mount_system "$root"
	if [ "$user" != root ]; then
		chroot "$root" sh -ec "
			export DEBIAN_FRONTEND=noninteractive
			apt-get update >/dev/null
			apt-get install -y --no-install-recommends sudo >/dev/null
			useradd --create-home --shell /bin/sh $user
			echo '$user ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/$user"
	fi
	home=$(chroot "$root" sh -c "echo ~$user")
	tree_of_head "$root$home/uidgen"
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
	as_user "\$uidgen/check ${*:+--install $*}"
	nothing_left
	date +"%T a cluster"
	chroot "$root" sh -ec '
		pg_createcluster "$(ls /usr/lib/postgresql)" main --start
		su - postgres -c "psql -At -c \"SELECT version()\""'
	date +"%T done"
	exit
fi

[ "$(id -u)" -eq 0 ] || { echo "$0: must be run as root" >&2; exit 1; }
status=0
for system in ${*:-bookworm trixie sid experimental}; do
	bare_system "$system"
	plan "$architecture"
	for user in $users; do
		run=$bare-$user
		copy_system "$run"
		echo "== $system as $user"
		if apart "$run.log" "$0" --inside "$release" "$run" "$user" $suites; then
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
