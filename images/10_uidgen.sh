#!/bin/sh
# images/10_uidgen.sh
#	  Run by the image's own start when it has made a cluster: the registry of worker ids in the
#	  database that uidgen.database names, and the functions in POSTGRES_DB, too.
set -eu

# sql DATABASE COMMAND
sql()
{
	psql -X -q -A -t -v ON_ERROR_STOP=1 --no-password -U "$POSTGRES_USER" -d "$1" -c "$2"
}

registry=$(sql postgres 'SHOW uidgen.database')
for database in "$registry" "$POSTGRES_DB"; do
	sql "$database" 'CREATE EXTENSION IF NOT EXISTS uidgen'
done

# A node of a fleet knows by its first grant that its layout is the registry's.  CREATE EXTENSION notes that, but
# not while the registry is in quarantine, as after a start.
if [ -n "$(sql "$registry" 'SHOW uidgen.registry')" ]; then
	tries=60
	until sql "$POSTGRES_DB" 'SELECT uid_next() > 0' >/dev/null; do
		tries=$((tries - 1))
		if [ "$tries" -eq 0 ]; then
			echo "no grant yet; SELECT uidgen.diagnose() says why"
			exit
		fi
		sleep 1
	done
	for database in "$registry" "$POSTGRES_DB"; do
		sql "$database" 'SELECT FROM uidgen.use_layout() WHERE NOT EXISTS (SELECT FROM uidgen.layout_used)'
	done
fi
