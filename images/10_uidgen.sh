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
