#!/bin/sh
# tools/packages.sh
#	  Builds the Debian packages of the committed state and does with them what those do who have no
#	  compiler on their servers, on bare systems of several releases.
#
# Usage, as root: tools/packages.sh [RELEASE[/ARCHITECTURE]]...
#
# Without an argument: bookworm, trixie, sid and experimental (tools/systems.sh), which have PostgreSQL 15,
# 17, 18 and 19.  For each: the source package builds as an ordinary user, and its tests pass; so does a later
# version, with the next number; lintian finds no error.  On a bare system apt-get installs the file, the README's
# first page runs, the later version takes its place while ids are drawn, and a purge leaves the
# tables alone.  Then autopkgtest tests the package.
#
# A release needs some 2 GB and 5 to 10 minutes, mostly for the archive's packages.  What was built stays in
# $CHROOTS/RELEASE.packages.  One run at a time: servers take TCP ports of this machine.
set -eu
srcdir=$(cd "$(dirname "$0")/.." && pwd)
. "$srcdir/tools/systems.sh"

# packages.sh --inside RELEASE BUILDER SYSTEM PACKAGES: the part in the namespaces.
if [ "${1-}" = --inside ]; then
	release=$2 builder=$3 system=$4 packages=$5
	unset TMPDIR	# is a folder of this machine
	mount_system "$builder"
	mount_system "$system"
	version=$(sed -n "s/^default_version = '\(.*\)'/\1/p" "$srcdir/uidgen.control")
	later=${version%.*}.$((${version##*.} + 1))

	# install_in ROOT PACKAGE...: with apt-get, as an administrator does.
	install_in()
	{
		root=$1
		shift
		chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >"$root/log" 2>&1 ||
			{ cat "$root/log"; exit 1; }
	}

	# build_package VERSION: makes the source package of $builder/build/VERSION and of it the others.
	build_package()
	{
		tree=postgresql-uidgen-$1
		tar -C "$builder/build" --exclude="$tree/debian" -czf "$builder/build/postgresql-uidgen_$1.orig.tar.gz" "$tree"
		chroot "$builder" chown -R builder /build
		chroot "$builder" su - builder -c "
			cd /build/$tree && $supported PG_UPDATECONTROL=yes dpkg-buildpackage -us -uc" >"$builder/log" 2>&1 ||
			{ cat "$builder/log"; exit 1; }
	}

	date +"%T build dependencies"
	chroot "$builder" apt-get update >"$builder/log"
	chroot "$builder" useradd --create-home builder
	mkdir "$builder/build"
	tree_of_head "$builder/build/postgresql-uidgen-$version"
	supported=
	# No cluster is to be made for the servers that the tests bring.
	mkdir "$builder/etc/postgresql-common"
	echo 'create_main_cluster = false' >"$builder/etc/postgresql-common/createcluster.conf"
	install_in "$builder" build-essential lintian
	chroot "$builder" sh -ec "cd /build/postgresql-uidgen-$version && apt-get build-dep -y --no-install-recommends ./" >"$builder/log" 2>&1 ||
		{ cat "$builder/log"; exit 1; }
	if [ "$release" = experimental ]; then
		install_in "$builder" "postgresql-$next" "postgresql-server-dev-$next"
		supported="PG_SUPPORTED_VERSIONS=$next"
	fi

	date +"%T build"
	build_package "$version"
	grep -E '^#? ?All [0-9]+ tests passed' "$builder/log"

	# As a maintainer makes the next version, but with the same contents.
	date +"%T build $later"
	cp -a "$builder/build/postgresql-uidgen-$version" "$builder/build/postgresql-uidgen-$later"
	(
		cd "$builder/build/postgresql-uidgen-$later"
		sed -i "s/'$version'/'$later'/" uidgen*.control
		sed -i "s/^UPDATES_FROM =.*/& $version/" Makefile
		sed -i "1s/(.*)/($later-1)/" debian/changelog
	)
	supported="$supported DEB_BUILD_OPTIONS=nocheck"
	build_package "$later"
	chroot "$builder" su - builder -c 'cd /build && lintian --fail-on error *.changes'
	rm -rf "$packages"
	mkdir "$packages"
	find "$builder/build" -maxdepth 1 -type f -name "*$version*" -exec cp -t "$packages" {} +
	deb=$(cd "$packages" && ls postgresql-*-uidgen_*.deb)
	major=${deb#postgresql-} major=${major%%-*}
	later_deb=postgresql-$major-uidgen_${later}-1_${deb##*_}

	date +"%T install uidgen-$version.zip as PGXN does"
	install_in "$builder" pgxnclient
	"$srcdir/tools/dist.sh" "$builder/build"
	chroot "$builder" sh -ec "
		cd /build
		export PG_CONFIG=/usr/lib/postgresql/$major/bin/pg_config
		pgxn install ./uidgen-$version.zip
		pg_virtualenv -v $major -o shared_preload_libraries=uidgen pgxn check ./uidgen-$version.zip" >"$builder/log" 2>&1 ||
		{ cat "$builder/log"; exit 1; }
	grep -E '^#? ?All [0-9]+ tests passed' "$builder/log"

	# The library file that alone needs it is there, and the package says so.
	dpkg-deb --contents "$packages/$deb" | grep "/usr/lib/postgresql/$major/lib/uidgen_libpq.so$"
	dpkg-deb --field "$packages/$deb" Depends | grep "libpq5 (>= "

	# sql FILE-OR-OPTION...: psql of the system, as its administrator.
	sql()
	{
		chroot "$system" su postgres -c 'cd / && exec psql -X -q -A -t -v ON_ERROR_STOP=1 "$@"' -- sh "$@"
	}
	# restart: of the server, which the packages leave to the administrator.
	restart()
	{
		chroot "$system" pg_ctlcluster "$major" main "${1:-restart}"
	}

	date +"%T install $deb"
	cp -a "$packages" "$system/root/packages"
	cp "$builder/build/$later_deb" "$system/root"
	chroot "$system" apt-get update >"$system/log"
	if chroot "$system" sh -c 'command -v gcc || command -v make'; then
		echo "not a bare system"
		exit 1
	fi
	install_in "$system" "/root/packages/$deb"
	chroot "$system" pg_lsclusters -h | grep -q online || restart start
	if [ "$major" -lt 17 ]; then
		chroot "$system" pg_conftool "$major" main set shared_preload_libraries uidgen
		restart
	fi
	# What the README shows first.
	(cd "$srcdir" && perl -Itest/perl -MPages -e '
		my ($first, $second) = grep { $_->{kind} eq "sql" } blocks_of(join "", <>);
		print $first->{text}, $second->{text};' README.md) >"$system/tmp/first.sql"
	sql -f /tmp/first.sql | tee "$system/out"
	[ "$(grep -c '|hello$\||0$\||world$' "$system/out")" -ge 3 ]
	# A bare system has no machine id.
	sql -c "SELECT 1 FROM uidgen.diagnose() HAVING bool_and(severity <> 'error')" | grep -qx 1
	# The other library file finds its libpq.
	sql -c "LOAD 'uidgen_libpq'"

	date +"%T install $later_deb while ids are drawn"
	# One session that goes on, and new ones.
	chroot "$system" su postgres -c '
		cd /
		yes "INSERT INTO message (body) VALUES (\$\$one session\$\$);" | psql -X -q -v ON_ERROR_STOP=1 2>/tmp/one &
		one=$!
		until [ -e /tmp/enough ]; do
			psql -X -q -v ON_ERROR_STOP=1 -c "INSERT INTO message (body) VALUES (\$\$new session\$\$)" 2>>/tmp/many || break
		done
		kill $one' &
	drawers=$!
	# rows_come: those of both kinds go on to come.
	rows_come()
	{
		now=$(sql -c 'SELECT uid_next()')
		for try in $(seq 600); do
			kill -0 "$drawers" || { cat "$system/tmp/one" "$system/tmp/many"; exit 1; }
			if [ "$(sql -c "SELECT count(*) FILTER (WHERE body = 'one session') > 20 AND count(*) FILTER (WHERE body = 'new session') > 20
				FROM message WHERE id > $now")" = t ]; then
				return
			fi
			sleep 0.1
		done
		echo "no ids are drawn any more"
		cat "$system/tmp/one" "$system/tmp/many"
		exit 1
	}
	rows_come
	install_in "$system" "/root/$later_deb"
	rows_come
	touch "$system/tmp/enough"
	wait "$drawers" || :
	if grep . "$system/tmp/one" "$system/tmp/many"; then
		exit 1
	fi
	restart
	[ "$(sql -c "SELECT extversion FROM pg_extension WHERE extname = 'uidgen'")" = "$version" ]
	sql -c "INSERT INTO message (body) VALUES ('restarted')"
	sql -c 'ALTER EXTENSION uidgen UPDATE'
	sql -c "INSERT INTO message (body) VALUES ('updated')"
	[ "$(sql -c "SELECT extversion, uidgen.library_version() FROM pg_extension WHERE extname = 'uidgen'")" = "$later|$later" ]
	[ "$(sql -c "SELECT string_agg(body, ' ' ORDER BY id) FROM (SELECT * FROM message ORDER BY id DESC LIMIT 2) AS last")" = "restarted updated" ]
	sql -c "SELECT count(*) || ' rows' FROM message"

	date +"%T purge"
	rows=$(sql -c 'SELECT count(*), sum(id) FROM message')
	if [ "$major" -lt 17 ]; then
		chroot "$system" pg_conftool "$major" main remove shared_preload_libraries
	fi
	chroot "$system" apt-get purge -y "postgresql-$major-uidgen" >"$system/log" 2>&1
	left=$(find "$system/usr" "$system/etc" "$system/var/lib/dpkg/info" -name '*uidgen*')
	[ -z "$left" ] || { echo "left behind: $left"; exit 1; }
	restart
	[ "$(sql -c 'SELECT count(*), sum(id) FROM message')" = "$rows" ]
	sql -c "INSERT INTO message VALUES (1, 'by hand')"
	if sql -c "INSERT INTO message (body) VALUES ('no library')"; then
		echo "drew an id without the package"
		exit 1
	fi

	if [ "$major" -ge 18 ]; then
		# What images/cloudnativepg/Dockerfile copies, where the operator mounts it, with the settings that it makes.
		date +"%T the files of the extension image"
		chroot "$system" pg_ctlcluster "$major" main stop
		dpkg-deb -x "$packages/$deb" "$system/tmp/deb"
		chroot "$system" sh -ec "
			mkdir -p /extensions/uidgen/lib/bitcode /extensions/uidgen/share/extension
			cp /tmp/deb/usr/lib/postgresql/$major/lib/uidgen*.so /extensions/uidgen/lib/
			cp -R /tmp/deb/usr/lib/postgresql/$major/lib/bitcode/uidgen* /extensions/uidgen/lib/bitcode/
			cp /tmp/deb/usr/share/postgresql/$major/extension/uidgen* /extensions/uidgen/share/extension/
			pg_createcluster $major image --start -- -A trust >/dev/null
			cat >>/etc/postgresql/$major/image/postgresql.conf" <<-'END'
			shared_preload_libraries = 'uidgen'
			extension_control_path = '$system:/extensions/uidgen/share'
			dynamic_library_path = '$libdir:/extensions/uidgen/lib'
			uidgen.registry = 'host=127.0.0.1 port=5433 dbname=registry user=node'
		END
		PGCLUSTER=$major/image
		export PGCLUSTER
		chroot "$system" pg_ctlcluster "$major" image restart
		sql -c 'CREATE DATABASE registry'
		sql -d registry -c 'CREATE EXTENSION uidgen_registry' -c "SELECT FROM uidgen_registry.share_registry('default', new_fleet => true)" -c 'CREATE ROLE node LOGIN' \
			-c "SELECT FROM uidgen_registry.grant_node('node')"
		sql -c 'CREATE EXTENSION uidgen' -c 'SELECT uid_next() > 0'
		# The node speaks to the registry with the other library file, which is only there.
		sql -d registry -c 'SELECT worker_id, state FROM uidgen_registry.fleet' | grep running
		unset PGCLUSTER
		chroot "$system" pg_dropcluster --stop "$major" image
		rm -rf "$system/extensions"
		restart start
	fi

	date +"%T autopkgtest"
	install_in "$system" autopkgtest
	chroot "$system" autopkgtest "/root/packages/$deb" "/root/packages/postgresql-uidgen_$version-1.dsc" -- null >"$system/log" 2>&1 ||
		{ cat "$system/log"; exit 1; }
	grep -E '^#? ?All [0-9]+ tests passed|PASS$' "$system/log"
	date +"%T done"
	exit
fi

[ "$(id -u)" -eq 0 ] || { echo "$0: must be run as root" >&2; exit 1; }
status=0
for name in ${*:-bookworm trixie sid experimental}; do
	bare_system "$name"
	copy_system "$bare-builder"
	copy_system "$bare-packaged"
	echo "== $name"
	if apart "$bare-packages.log" "$0" --inside "$release" "$bare-builder" "$bare-packaged" "$bare.packages"; then
		cat "$bare-packages.log"
		rm -rf --one-file-system "$bare-builder" "$bare-packaged"
	else
		tail -n 100 "$bare-packages.log"
		echo "FAILED; see $bare-builder, $bare-packaged and $bare-packages.log"
		status=1
	fi
done
exit $status
