# tools/systems.sh
#	  Bare Debian systems, which tools/chroots.sh and tools/packages.sh share: they are
#	  made by debootstrap, kept, copied, and entered in namespaces.
#
# Sourced, as root.  A system is named RELEASE or RELEASE/ARCHITECTURE.  The release experimental
# is sid with the next version of PostgreSQL, $next below, which Debian has in its suite
# experimental.  An architecture that this processor has not, such as bookworm/arm64, is emulated,
# which Debian's packages qemu-user-static and binfmt-support do; in a container, which lacks both
# their mount and their service, after
#	mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
#	update-binfmts --enable qemu-aarch64
: "${CHROOTS:=${TMPDIR:-/var/tmp}/uidgen-chroots}"
next=19

# bare_system SYSTEM: sets its $release and $architecture, and $bare, its folder, which is made if it is missing.
bare_system()
{
	release=${1%/*} architecture=${1#*/} bare=$CHROOTS/$(echo "$1" | tr / -)
	[ "$architecture" != "$1" ] || architecture=$(dpkg --print-architecture)
	! [ -d "$bare" ] || return 0
	mkdir -p "$CHROOTS"
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
}

# copy_system ROOT: copies $bare.
copy_system()
{
	rm -rf --one-file-system "$1"
	cp -a "$bare" "$1"
	# How this machine reaches the archive, in the copy too.
	cp -L /etc/resolv.conf "$1/etc/resolv.conf"
	apt-config dump Acquire | grep -E '::(Check|http)' >"$1/etc/apt/apt.conf.d/90host" || :
	echo "127.0.0.1 localhost $(uname -n)" >"$1/etc/hosts"	# which sudo looks up
}

# apart LOG COMMAND...: runs it in a process and mount namespace of its own, so that no server
# and no mount outlives it; true if it succeeded.  Process 1 there waits for one command alone, as in many
# containers: whatever else ends without a parent stays in the list of processes.
apart()
{
	apart_log=$1
	shift
	unshare --mount --pid --fork --kill-child perl -e 'exit(system(@ARGV) != 0)' "$@" \
		</dev/null >"$apart_log" 2>&1 &
	trap "kill -KILL $!; exit 1" HUP INT TERM	# ends all in the namespace
	wait $!
}

# mount_system ROOT: what a system needs to run, in a namespace.
mount_system()
{
	mount -t proc proc "$1/proc"
	mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
	mount -t devpts -o newinstance,ptmxmode=666 devpts "$1/dev/pts"
}

# tree_of_head FOLDER: the committed state, whole: git archive leaves out what .gitattributes says.
tree_of_head()
(
	index=$(mktemp -u)
	GIT_INDEX_FILE=$index git -C "$srcdir" read-tree HEAD
	GIT_INDEX_FILE=$index git -C "$srcdir" checkout-index --all --prefix="$1/"
	rm -f "$index"
)
