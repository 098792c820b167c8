#!/bin/sh
# images/10_uidgen.sh
#	  Run by the image's own start when it has made a cluster: the extension in POSTGRES_DB.  The first
#	  id makes the registry.
set -eu

psql -X -q -v ON_ERROR_STOP=1 --no-password -U "$POSTGRES_USER" -d "$POSTGRES_DB" -c 'CREATE EXTENSION IF NOT EXISTS uidgen'
