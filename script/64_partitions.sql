--
-- Partitions by the time in ids: those to come are made, those that are past are dropped.
--
-- uid_partitions() and uid_drop_partitions() add what uid_layout_info() says of the layout, and the
-- present time: the functions that do the work cannot know in which schema that one is, and take the
-- time from nobody else.
--

CREATE FUNCTION uidgen.find_partitioned("table" regclass, OUT schema text, OUT name text)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	parent record;
BEGIN
	SELECT CASE c.relpersistence WHEN 't' THEN 'pg_temp' ELSE n.nspname END AS schema,
			c.relname AS name, p.partstrat, p.partnatts, a.atttypid
		INTO parent
		FROM pg_class AS c
			JOIN pg_namespace AS n ON n.oid = c.relnamespace
			LEFT JOIN pg_partitioned_table AS p ON p.partrelid = c.oid
			LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = p.partattrs[0]
		WHERE c.oid = "table";
	IF NOT FOUND THEN
		RAISE EXCEPTION 'there is no table with OID %', "table"::oid
			USING ERRCODE = 'undefined_table';
	ELSIF parent.partstrat IS NULL THEN
		RAISE EXCEPTION 'table "%" is not partitioned', parent.name
			USING ERRCODE = 'wrong_object_type',
				HINT = 'Create it with PARTITION BY RANGE (id), where id is the bigint column that holds the ids.';
	ELSIF parent.partstrat <> 'r' OR parent.partnatts <> 1 OR parent.atttypid IS DISTINCT FROM 'bigint'::regtype THEN
		RAISE EXCEPTION 'table "%" is not partitioned by the range of one bigint column', parent.name
			USING ERRCODE = 'wrong_object_type',
				DETAIL = format('It is partitioned by %s.', pg_get_partkeydef("table")),
				HINT = 'Create it with PARTITION BY RANGE (id), where id is the bigint column that holds the ids.';
	END IF;
	schema := parent.schema;
	name := parent.name;
END
$$;
COMMENT ON FUNCTION uidgen.find_partitioned(regclass) IS 'schema and name of a table that is partitioned by the range of ids; an error for others';

CREATE FUNCTION uidgen.make_partitions("table" regclass, "from" timestamptz, "to" timestamptz, step interval,
	execute boolean, layout text, tick interval, epoch timestamptz, expires_at timestamptz) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	most constant integer := 10000;
	since timestamptz := "from";
	until timestamptz := "to";
	months integer;
	parent record;
	start timestamp;
	form text;
	prefix text;
	room integer;
	statement text;
BEGIN
	IF num_nulls("table", since, until, step, "execute", layout) > 0 THEN
		RAISE EXCEPTION 'no argument of uid_partitions() may be null'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Partitions have two ends: give the time of each. To use the server''s layout, leave that argument out.';
	END IF;

	parent := uidgen.find_partitioned("table");
	IF NOT isfinite(since) OR NOT isfinite(until) OR since >= until THEN
		RAISE EXCEPTION 'uid_partitions() needs two finite times, the earlier one first'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('They are %s and %s.', since, until),
				HINT = 'Partitions go from the time in "from" to that in "to".';
	ELSIF step < interval '1 minute' OR step > interval '1000 years' THEN
		RAISE EXCEPTION 'step is out of range: %', step
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'A step has a minute at least, and a thousand years at most.';
	END IF;
	months := extract(year FROM step) * 12 + extract(month FROM step);
	IF months <> 0 AND step <> make_interval(months => months) THEN
		RAISE EXCEPTION 'step mixes months with days or hours: %', step
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'Months have different lengths, so such steps have no fixed places in the calendar.',
				HINT = 'Take months or years alone, or days and hours alone.';
	ELSIF step < tick THEN
		RAISE EXCEPTION 'step is shorter than a tick of the layout: %', step
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('The layout is "%s"; ids of one tick cannot be told apart by time.', layout),
				HINT = 'Take a longer step.';
	END IF;

	since := greatest(since, epoch);
	until := least(until, expires_at);
	IF since >= until THEN
		RAISE EXCEPTION 'the layout has no ids from % to %', "from", "to"
			USING ERRCODE = 'datetime_field_overflow',
				DETAIL = format('The layout "%s" begins at %s and ends at %s.', layout, epoch, expires_at),
				HINT = 'Take other times, or another layout.';
	ELSIF extract(epoch FROM until - since) / extract(epoch FROM step) > most THEN
		RAISE EXCEPTION 'steps of % from % to % are too many', step, since, until
			USING ERRCODE = 'program_limit_exceeded',
				DETAIL = format('One call makes %s partitions at most; a table with more than some thousands is slow.', most),
				HINT = 'Take a longer step.';
	END IF;

	-- Steps have fixed places in the calendar, so that a later call goes on where this one
	-- ended.  Clocks that are set back repeat an hour: so begin a day earlier, and leave
	-- out what is not wanted.
	start := since::timestamp - interval '1 day';
	IF months <> 0 THEN
		start := date_trunc('month', start);
		start := start - make_interval(months => (extract(year FROM start) * 12 + extract(month FROM start) - 1)::integer % months);
		form := CASE months % 12 WHEN 0 THEN 'YYYY' ELSE 'YYYY_MM' END;
	ELSE
		-- from a Monday on
		start := date_bin(step, start, timestamp '2000-01-03');
		form := CASE 0
			WHEN extract(epoch FROM step) % 86400 THEN 'YYYY_MM_DD'
			WHEN extract(epoch FROM step) % 3600 THEN 'YYYY_MM_DD_HH24'
			ELSE 'YYYY_MM_DD_HH24_MI' END;
	END IF;

	-- In a name that is too long for its partition's, a hash takes the place of the end, so
	-- that tables of different names have partitions of different names.  A byte is left for
	-- the underscore that begins the name of a partition's array type: a longer name would be
	-- cut at its end, where the names of partitions differ.
	prefix := parent.name;
	room := current_setting('max_identifier_length')::integer - octet_length(to_char(until, form)) - 2;
	IF octet_length(prefix) > room THEN
		WHILE octet_length(prefix) + 9 > room LOOP
			prefix := left(prefix, -1);
		END LOOP;
		prefix := prefix || '_' || lpad(to_hex(hashtext(parent.name)), 8, '0');
	END IF;

	-- Who comes second finds the partitions of who came first.
	IF "execute" THEN
		EXECUTE format('LOCK TABLE ONLY %I.%I IN SHARE UPDATE EXCLUSIVE MODE', parent.schema, parent.name);
	END IF;

	FOR statement IN
		SELECT format('CREATE TABLE %I.%I PARTITION OF %I.%I FOR VALUES FROM (%s) TO (%s)',
				parent.schema, prefix || '_' || to_char(s.start, form), parent.schema, parent.name, s.low, s.high)
			FROM (SELECT b.start, uidgen.first_since(b.start, layout) AS low, uidgen.first_since(b.next, layout) AS high
				FROM (SELECT g::timestamptz AS start, lead(g::timestamptz) OVER (ORDER BY g::timestamptz) AS next
					FROM generate_series(start, until::timestamp + step, step) AS g) AS b
				WHERE b.start < until AND b.next > since) AS s
			-- A time that clocks leap over is the same as a later one, and the step between them is empty.
			WHERE s.low < s.high
				AND format('FOR VALUES FROM (%L) TO (%L)', s.low, s.high) NOT IN (
					SELECT pg_get_expr(c.relpartbound, c.oid)
						FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
						WHERE i.inhparent = "table")
			ORDER BY s.start
	LOOP
		IF "execute" THEN
			EXECUTE statement;
		END IF;
		RETURN NEXT statement;
	END LOOP;
END
$$;
COMMENT ON FUNCTION uidgen.make_partitions(regclass, timestamptz, timestamptz, interval, boolean, text, interval, timestamptz, timestamptz)
	IS 'uid_partitions(), given the tick, the epoch and the end of the layout';

CREATE FUNCTION @extschema@.uid_partitions("table" regclass, "from" timestamptz, "to" timestamptz, step interval,
	execute boolean DEFAULT false) RETURNS SETOF text
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT m.s
		FROM @extschema@.uid_layout_info() AS l,
			uidgen.make_partitions("table", "from", "to", step, execute, l.layout, l.unit, l.epoch, l.expires_at) AS m (s);
END;
COMMENT ON FUNCTION @extschema@.uid_partitions(regclass, timestamptz, timestamptz, interval, boolean)
	IS 'the statements that make the partitions for a range of time, or those that are missing; optionally runs them';

CREATE FUNCTION @extschema@.uid_partitions("table" regclass, "from" timestamptz, "to" timestamptz, step interval,
	execute boolean, layout text) RETURNS SETOF text
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT m.s
		FROM @extschema@.uid_layout_info(layout) AS l,
			uidgen.make_partitions("table", "from", "to", step, execute, l.layout, l.unit, l.epoch, l.expires_at) AS m (s);
END;
COMMENT ON FUNCTION @extschema@.uid_partitions(regclass, timestamptz, timestamptz, interval, boolean, text)
	IS 'the statements that make the partitions for a range of time under a layout or preset, or those that are missing; optionally runs them';

CREATE FUNCTION uidgen.drop_partitions("table" regclass, before timestamptz, execute boolean, layout text,
	epoch timestamptz, present timestamptz) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	parent record;
	patience text := current_setting('lock_timeout');
	reference record;
	partition record;
	bound bigint;
	oldest bigint;
	statement text;
BEGIN
	IF num_nulls("table", before, "execute", layout) > 0 THEN
		RAISE EXCEPTION 'no argument of uid_drop_partitions() may be null'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'To use the server''s layout, leave that argument out.';
	-- By an older snapshot, a table that was detached meanwhile would still be a partition.
	ELSIF "execute" AND current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'uid_drop_partitions() drops partitions in isolation level read committed only'
			USING ERRCODE = 'invalid_transaction_state',
				DETAIL = format('This transaction has %s, and would not see that a partition was detached before it has its lock.', current_setting('transaction_isolation')),
				HINT = 'Call it in a transaction of its own.';
	END IF;

	parent := uidgen.find_partitioned("table");
	IF before > present THEN
		RAISE EXCEPTION 'uid_drop_partitions() drops only what is past'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('"before" is %s, and it is now %s.', before, present),
				HINT = 'Give a time that has passed. A partition of the future is dropped by its name.';
	END IF;
	bound := uidgen.first_since(before, layout);
	-- The numbers of a sequence, which a table may have had before, are ids of the first moments of a layout.
	oldest := uidgen.first_since(epoch + interval '1 day', layout);

	-- Who comes second finds what who came first has left.  A table that has nothing to drop is not
	-- locked against its users.
	IF "execute" THEN
		IF patience = '0' THEN
			PERFORM set_config('lock_timeout', '2s', true);
		END IF;
		EXECUTE format('LOCK TABLE ONLY %I.%I IN SHARE UPDATE EXCLUSIVE MODE', parent.schema, parent.name);
	END IF;

	-- What refers to the table refers to each of its partitions.
	SELECT f.conname AS name, f.conrelid::regclass AS "from", c.relname AS "to" INTO reference
		FROM pg_constraint AS f JOIN pg_class AS c ON c.oid = f.confrelid
			JOIN (SELECT "table" UNION SELECT t.relid FROM pg_partition_tree("table") AS t) AS r (relid) ON f.confrelid = r.relid
		WHERE f.contype = 'f'
		ORDER BY f.conparentid <> 0, f.confrelid <> "table", f.conname LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'a foreign key refers to table "%"', reference."to"
			USING ERRCODE = 'dependent_objects_still_exist',
				DETAIL = format('It is "%s" of table %s. PostgreSQL drops no partition of such a table; it detaches one to which no row refers, after it has read all of table %2$s under a lock that keeps everybody out.',
					reference.name, reference."from"),
				HINT = format('Delete the rows of table %s that refer to old ids. Then run ALTER TABLE %I.%I DETACH PARTITION, and DROP TABLE, for each partition that is past.',
					reference."from", parent.schema, parent.name);
	END IF;

	FOR partition IN
		SELECT p.schema, p.name, p.kind, nullif(p.low, 'MINVALUE')::bigint AS low
			FROM (SELECT CASE c.relpersistence WHEN 't' THEN 'pg_temp' ELSE n.nspname END AS schema, c.relname AS name,
						CASE c.relkind WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END AS kind, b[1] AS low, b[2] AS high
					FROM pg_inherits AS i
						JOIN pg_class AS c ON c.oid = i.inhrelid
						JOIN pg_namespace AS n ON n.oid = c.relnamespace,
						regexp_match(pg_get_expr(c.relpartbound, c.oid), '^FOR VALUES FROM \(''?(MINVALUE|-?\d+)''?\) TO \(''?(-?\d+)''?\)$') AS b
					WHERE i.inhparent = "table" AND NOT i.inhdetachpending) AS p
			WHERE p.high::bigint <= bound
			ORDER BY p.high::bigint
	LOOP
		IF partition.low IS NULL OR partition.low < oldest THEN
			RAISE NOTICE 'partition "%" is kept', partition.name
				USING DETAIL = 'It begins before the first day of the layout is over, so it may hold numbers that are no ids, such as those of a sequence.',
					HINT = 'If nobody needs it, drop it by its name.';
			CONTINUE;
		END IF;
		statement := format('DROP %s %I.%I', partition.kind, partition.schema, partition.name);
		IF "execute" THEN
			EXECUTE statement;
		END IF;
		RETURN NEXT statement;
	END LOOP;
	PERFORM set_config('lock_timeout', patience, true);
END
$$;
COMMENT ON FUNCTION uidgen.drop_partitions(regclass, timestamptz, boolean, text, timestamptz, timestamptz)
	IS 'uid_drop_partitions(), given the epoch of the layout and the present time';

CREATE FUNCTION @extschema@.uid_drop_partitions("table" regclass, before timestamptz, execute boolean DEFAULT false) RETURNS SETOF text
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT d.s
		FROM @extschema@.uid_layout_info() AS l,
			uidgen.drop_partitions("table", before, execute, l.layout, l.epoch, now()) AS d (s);
END;
COMMENT ON FUNCTION @extschema@.uid_drop_partitions(regclass, timestamptz, boolean)
	IS 'the statements that drop the partitions of a table that end before a time, oldest first; optionally runs them';

CREATE FUNCTION @extschema@.uid_drop_partitions("table" regclass, before timestamptz, execute boolean, layout text) RETURNS SETOF text
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT d.s
		FROM @extschema@.uid_layout_info(layout) AS l,
			uidgen.drop_partitions("table", before, execute, l.layout, l.epoch, now()) AS d (s);
END;
COMMENT ON FUNCTION @extschema@.uid_drop_partitions(regclass, timestamptz, boolean, text)
	IS 'the statements that drop the partitions of a table that end before a time under a layout or preset, oldest first; optionally runs them';

