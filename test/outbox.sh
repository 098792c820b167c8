# test/outbox.sh
#	  What ./try ends with: an outbox that is read while others write it, by a consumer that goes on from the last id that it
#	  has seen, and by one that does not go beyond uid_horizon().  The first loses rows.
#
# Sourced by ./try, whose server it uses: the server's programs are in $bin, and ./try ends what runs in $sessions.
# No chance decides: each writer draws an id, and commits some milliseconds later, when others have committed larger ones.

# outbox_psql ARGUMENT...
outbox_psql()
{
	"$bin/psql" -X -q -P pager=off -v ON_ERROR_STOP=1 "$@"
}

say "an outbox, for $outbox_seconds seconds: 10 sessions write, two consumers read"
outbox_psql -a <<'END'

-- A consumer of an outbox remembers the last id that it has read.  One goes on from there:
--     WHERE id > last
-- The other does not go beyond where rows with smaller ids may still come:
--     WHERE id > last AND id <= uid_horizon()
CREATE TABLE outbox (id bigint PRIMARY KEY DEFAULT uid_next(), body text);
END
outbox_psql <<'END'
CREATE TABLE seen (consumer text, id bigint);
CREATE PROCEDURE write_rows(until timestamptz) LANGUAGE plpgsql AS $$
BEGIN
	WHILE clock_timestamp() < until LOOP
		INSERT INTO outbox (body) VALUES ('event');
		PERFORM pg_sleep(0.02 * random());
		COMMIT;
	END LOOP;
END $$;
-- It reads once more when all have written.
CREATE PROCEDURE read_rows(consumer text, condition text, until timestamptz) LANGUAGE plpgsql AS $$
DECLARE
	last bigint := 0;
	is_last boolean := false;
BEGIN
	LOOP
		EXECUTE format('WITH read AS (INSERT INTO seen SELECT $2, id FROM outbox WHERE id > $1%s RETURNING id) SELECT coalesce(max(id), $1) FROM read', condition)
			INTO last USING last, consumer;
		COMMIT;
		EXIT WHEN is_last;
		PERFORM pg_sleep(0.005);
		is_last := clock_timestamp() > until AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE 'CALL write_rows%' AND state <> 'idle')
			-- Ids may be ahead of the clock for a moment.
			AND uid_horizon() >= (SELECT max(id) FROM outbox);
		COMMIT;
	END LOOP;
END $$;
END
until=$(outbox_psql -A -t -c "SELECT clock_timestamp() + $outbox_seconds * interval '1 s'")
for call in 1 2 3 4 5 6 7 8 9 10 "'id > last', ''" "'... AND id <= uid_horizon()', ' AND id <= uid_horizon()'"; do
	case $call in
	*id*) statement="CALL read_rows($call, '$until')" ;;
	*) statement="CALL write_rows('$until')" ;;
	esac
	outbox_psql -c "$statement" &
	sessions="$sessions $!"
done
for pid in $sessions; do
	wait "$pid" || die 'a session of the outbox has failed'
done
sessions=
outbox_psql -a <<'END'
SELECT consumer, count(seen.id) AS read, (SELECT count(*) FROM outbox) - count(seen.id) AS lost FROM seen GROUP BY consumer ORDER BY lost DESC;

-- What is lost never comes again: no error, no gap that one could see.  docs/readers.md has the rules.
END
