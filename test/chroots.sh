#!/bin/sh
# test/chroots.sh
#	  Does what a newcomer does, on bare systems: runs ./try and ./check of the
#	  committed state in fresh, minimal Debian systems of several releases, as
#	  root and as an ordinary user with sudo.
#
# Usage, as root: test/chroots.sh [RELEASE]...
#
# The bare systems are made by debootstrap and kept in $CHROOTS; each run gets a
# copy of its own, removed when it went well.  A run has its own process and
# mount namespace, so that no server and no mount outlives it.
set -eu
srcdir=$(cd "$(dirname "$0")/.." && pwd)
: "${CHROOTS:=${TMPDIR:-/var/tmp}/uidgen-chroots}"

# chroots.sh --inside ROOT USER: the part in the namespaces.
if [ "${1-}" = --inside ]; then
	root=$2 user=$3
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

	chroot "$root" su - "$user" -c '
		set -e
		cd uidgen
		date +"%T try"
		[ "$(./try -At -c "SELECT uid_next() > 0")" = t ]
		date +"%T try, warm"
		[ "$(./try -At -c "SELECT uid_next() > 0")" = t ]
		date +"%T check"
		./check
		date +"%T done"'
	# Nothing may be left behind, and no cluster may have been made.
	if grep -lx postgres "$root"/proc/[0-9]*/comm ||
		ls -d "$root"/tmp/* "$root"/var/lib/postgresql/*/* 2>/dev/null; then
		echo "left behind: the above"
		exit 1
	fi
	exit
fi

[ "$(id -u)" -eq 0 ] || { echo "$0: must be run as root" >&2; exit 1; }
mkdir -p "$CHROOTS"
status=0
for release in ${*:-bookworm trixie sid}; do
	bare=$CHROOTS/$release
	if ! [ -d "$bare" ]; then
		debootstrap --variant=minbase "$release" "$bare.new" >"$CHROOTS/$release.log" 2>&1 ||
			{ tail "$CHROOTS/$release.log" >&2; exit 1; }
		mv "$bare.new" "$bare"
	fi
	for user in root newcomer; do
		run=$CHROOTS/$release-$user
		rm -rf --one-file-system "$run"
		cp -a "$bare" "$run"
		# How this machine reaches the archive, in the copy too.
		cp -L /etc/resolv.conf "$run/etc/resolv.conf"
		apt-config dump Acquire | grep -E '::(Check|http)' >"$run/etc/apt/apt.conf.d/90host" || :
		echo "127.0.0.1 localhost $(uname -n)" >"$run/etc/hosts"	# which sudo looks up
		echo "== $release as $user"
		unshare --mount --pid --fork --kill-child "$0" --inside "$run" "$user" </dev/null >"$run.log" 2>&1 &
		trap "kill -KILL $!; exit 1" HUP INT TERM	# ends all in the namespace
		if wait $!; then
			grep -E '^[0-9]+ passed|^[0-9:]+ |^uidgen: ' "$run.log"
			rm -rf --one-file-system "$run"
		else
			tail -n 100 "$run.log"
			echo "FAILED; see $run and $run.log"
			status=1
		fi
	done
done
exit $status
