--
-- Partitions by the time in ids: uid_partitions() makes future ones, uid_drop_partitions() drops past ones.
--
-- 10_statements.sql writes all statements that are printed or run.
--

CREATE FUNCTION uidgen_tools.find_partitioned("table" regclass, OUT schema oid, OUT name text, OUT shown text, OUT written text, OUT key name)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	parent record;
BEGIN
	SELECT c.relnamespace AS schema, c.relname AS name, uidgen_tools.tame(c.relname) AS shown, p.partstrat, p.partnatts, a.atttypid, a.attname
		INTO parent
		FROM pg_class AS c
			LEFT JOIN pg_partitioned_table AS p ON p.partrelid = c.oid
			LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = p.partattrs[0]
		WHERE c.oid = "table";
	IF NOT FOUND THEN
		RAISE EXCEPTION 'there is no table with OID %', "table"::oid USING ERRCODE = 'undefined_table';
	ELSIF parent.partstrat IS NULL THEN
		RAISE EXCEPTION 'table "%" is not partitioned', parent.shown
			USING ERRCODE = 'wrong_object_type', HINT = 'Create it with PARTITION BY RANGE (id), where id is the bigint column that holds the ids.';
	ELSIF parent.partstrat <> 'r' OR parent.partnatts <> 1 OR parent.atttypid IS DISTINCT FROM 'bigint'::regtype THEN
		RAISE EXCEPTION 'table "%" is not partitioned by the range of one bigint column', parent.shown
			USING ERRCODE = 'wrong_object_type', DETAIL = format('It is partitioned by %s.', uidgen_tools.tame(pg_get_partkeydef("table"))),
				HINT = 'Create it with PARTITION BY RANGE (id), where id is the bigint column that holds the ids.';
	END IF;
	PERFORM uidgen_tools.refuse_other_owners(ARRAY["table"::oid]);
	SELECT parent.schema, parent.name, parent.shown, uidgen_tools.write_relation("table"), parent.attname INTO schema, name, shown, written, key;
END
$$;
COMMENT ON FUNCTION uidgen_tools.find_partitioned(regclass) IS 'schema, name and key of a table of the current role that is partitioned by the range of ids; an error for others';

-- A partition's comment records its layout and bounds when the partition is made: an id does not tell its layout, and the database's list of layouts may get lost.
CREATE FUNCTION uidgen_tools.write_partition_record(kind text, written text, layout text, low bigint, high bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN format('COMMENT ON %s %s IS %s;', kind, written, uidgen_tools.write_literal(format('uidgen: ids of layout "%s" from %s to %s', layout, low, high)));
COMMENT ON FUNCTION uidgen_tools.write_partition_record(text, text, text, bigint, bigint) IS 'the statement that makes the record of a partition: the layout of its ids, and its bounds';

CREATE FUNCTION uidgen_tools.read_partition_record(comment text) RETURNS text[]
LANGUAGE sql STABLE PARALLEL SAFE
RETURN regexp_match(uidgen_tools.bound_text(comment), E'^uidgen: ids of layout "([ -~]+)" from (-?\\d+) to (-?\\d+)$');
COMMENT ON FUNCTION uidgen_tools.read_partition_record(text) IS 'what the record of a partition says: layout and bounds';

-- Partitions with an open end get the largest or the smallest number as that end.  A record counts while it agrees with the partition's bounds: a
-- partition that was detached, and attached for other ids, has no valid record.
CREATE FUNCTION uidgen_tools.list_partitions("table" regclass, OUT relation oid, OUT low bigint, OUT high bigint, OUT detaching boolean, OUT layout text, OUT is_recorded boolean) RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
	SELECT p.oid, p.low, p.high, p.inhdetachpending, r[1], (r[2], r[3]) IS NOT DISTINCT FROM (p.low::text, p.high::text)
		FROM (SELECT c.oid, i.inhdetachpending, coalesce(nullif(b[1], 'MINVALUE')::bigint, -9223372036854775808) AS low, coalesce(nullif(b[2], 'MAXVALUE')::bigint, 9223372036854775807) AS high
			FROM pg_inherits AS i
				JOIN pg_class AS c ON c.oid = i.inhrelid
				CROSS JOIN LATERAL regexp_match(pg_get_expr(c.relpartbound, 0), '^FOR VALUES FROM \(''?(MINVALUE|-?\d+)''?\) TO \(''?(MAXVALUE|-?\d+)''?\)$') AS b
			WHERE i.inhparent = "table" AND b IS NOT NULL
				AND EXISTS (SELECT FROM pg_partitioned_table AS k JOIN pg_attribute AS a ON a.attrelid = k.partrelid AND a.attnum = k.partattrs[0] AND a.atttypid = 'bigint'::regtype WHERE k.partrelid = "table" AND k.partnatts = 1)) AS p
			CROSS JOIN LATERAL uidgen_tools.read_partition_record(obj_description(p.oid, 'pg_class')) AS r
		ORDER BY 2, 1;
$$;
COMMENT ON FUNCTION uidgen_tools.list_partitions(regclass) IS 'the partitions of a table by range, the ids that they are for, in their order, the layout in the record of each, and whether its bounds are still these';

-- A hash replaces the end of a name that is too long, so that tables of different names have partitions of different names.  One byte is left
-- for the underscore that begins the name of a partition's array type.  PostgreSQL would cut the end of a longer name, where partitions' names
-- differ.
CREATE FUNCTION uidgen_tools.shorten_name(name text, tail integer) RETURNS text
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	room CONSTANT integer := current_setting('max_identifier_length')::integer - tail - 1;
	prefix text := name;
BEGIN
	IF octet_length(prefix) <= room THEN
		RETURN prefix;
	END IF;
	prefix := left(name, greatest(room - 9, 0));
	WHILE octet_length(prefix) + 9 > room AND prefix <> '' LOOP
		prefix := left(prefix, -1);
	END LOOP;
	RETURN prefix || '_' || lpad(to_hex(hashtext(name)), 8, '0');
END
$$;
COMMENT ON FUNCTION uidgen_tools.shorten_name(text, integer) IS 'a name that leaves room for `tail` bytes behind it';

-- The name can be taken: by the partition of this time in another layout, or by any other object.
CREATE FUNCTION uidgen_tools.find_free_name(schema oid, name text, ending text) RETURNS text
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	number text := '';
	free text;
BEGIN
	FOR again IN 2 .. 1000000 LOOP
		free := uidgen_tools.shorten_name(name, octet_length(ending || number)) || ending || number;
		EXIT WHEN NOT EXISTS (SELECT FROM pg_class AS c WHERE c.relname = free AND c.relnamespace = schema)
			AND NOT EXISTS (SELECT FROM pg_type AS t WHERE t.typname = free AND t.typnamespace = schema)
			AND NOT EXISTS (SELECT FROM pg_proc AS p WHERE p.proname = free AND p.pronamespace = schema);
		number := '_' || again;
	END LOOP;
	RETURN free;
END
$$;
COMMENT ON FUNCTION uidgen_tools.find_free_name(oid, text, text) IS 'a name of a table with an ending, and a number behind that if it is taken';

-- The first id of each tick is a fixed distance above the first id of the tick before.  PostgreSQL's timestamps end in the year 294276.
CREATE FUNCTION uidgen_tools.tell_time(id numeric, layout text) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN t.seconds < 9e12 THEN to_timestamp(t.seconds) ELSE 'infinity' END
		FROM uidgen.layout_numbers(layout) AS n
			CROSS JOIN LATERAL (SELECT uidgen.first_since(to_timestamp(n.epoch / 1e6), n.layout) AS id,
				uidgen.first_since(to_timestamp((n.epoch + n.unit) / 1e6), n.layout) AS next) AS first
			CROSS JOIN LATERAL (SELECT (n.epoch + n.unit * div(tell_time.id - first.id, first.next - first.id)) / 1e6 AS seconds) AS t
		WHERE tell_time.id >= first.id;
$$;
COMMENT ON FUNCTION uidgen_tools.tell_time(numeric, text) IS 'the time in an id, or in the bound of a partition, which may be above all ids; null: it is below them';

CREATE FUNCTION uidgen_tools.look_at_layout(for_layout text, OUT layout text, OUT tick interval, OUT epoch timestamptz, OUT expires_at timestamptz)
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT n.layout, n.unit * interval '1 microsecond', to_timestamp(n.epoch / 1e6),
			uidgen_tools.tell_time(uidgen.last_before('infinity', n.layout) + 1::numeric, n.layout)
		FROM uidgen.layout_numbers(for_layout) AS n;
$$;
COMMENT ON FUNCTION uidgen_tools.look_at_layout(text) IS 'the server''s layout, or a named one, in full, and which times it has ids for';

-- The partitions that a call asks for: the name and the ids of each.
CREATE FUNCTION uidgen_tools.list_steps("from" timestamptz, "to" timestamptz, step interval, layout text, OUT name text, OUT low bigint, OUT high bigint) RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	most constant integer := 10000;
	since timestamptz := "from";
	until timestamptz := "to";
	months integer;
	l record;
	start timestamp;
	form text;
BEGIN
	SELECT * INTO l FROM uidgen_tools.look_at_layout(layout);
	IF NOT isfinite(since) OR NOT isfinite(until) OR since >= until THEN
		RAISE EXCEPTION 'uid_partitions() needs two finite times, the earlier one first'
			USING ERRCODE = 'invalid_parameter_value', DETAIL = format('They are %s and %s.', since, until),
				HINT = 'Partitions go from the time in "from" to that in "to".';
	ELSIF step < interval '1 minute' OR step > interval '1000 years' THEN
		RAISE EXCEPTION 'step is out of range: %', step USING ERRCODE = 'invalid_parameter_value', HINT = 'A step has a minute at least, and a thousand years at most.';
	END IF;
	months := extract(year FROM step) * 12 + extract(month FROM step);
	IF months <> 0 AND step <> make_interval(months => months) THEN
		RAISE EXCEPTION 'step mixes months with days or hours: %', step
			USING ERRCODE = 'invalid_parameter_value', DETAIL = 'Months have different lengths, so such steps have no fixed places in the calendar.',
				HINT = 'Take months or years alone, or days and hours alone.';
	ELSIF step < l.tick THEN
		RAISE EXCEPTION 'step is shorter than a tick of the layout: %', step
			USING ERRCODE = 'invalid_parameter_value', DETAIL = format('The layout is "%s"; ids of one tick cannot be told apart by time.', layout),
				HINT = 'Take a longer step.';
	END IF;

	since := greatest(since, l.epoch);
	until := least(until, l.expires_at);
	IF since >= until THEN
		RAISE EXCEPTION 'the layout has no ids from % to %', "from", "to"
			USING ERRCODE = 'datetime_field_overflow', DETAIL = format('The layout "%s" begins at %s and ends at %s.', layout, l.epoch, l.expires_at),
				HINT = 'Take other times, or another layout.';
	ELSIF extract(epoch FROM until - since) / extract(epoch FROM step) > most THEN
		RAISE EXCEPTION 'steps of % from % to % are too many', step, since, until
			USING ERRCODE = 'program_limit_exceeded', DETAIL = format('One call makes %s partitions at most; a table with more than some thousands is slow.', most),
				HINT = 'Take a longer step.';
	END IF;

	-- Steps have fixed places in the calendar, so a later call continues at the end of an earlier call.  A clock that is set back for winter repeats an
	-- hour: so the series begins a day earlier, and steps before the range are left out.
	start := since::timestamp - interval '1 day';
	IF months <> 0 THEN
		start := date_trunc('month', start);
		start := start - make_interval(months => (extract(year FROM start) * 12 + extract(month FROM start) - 1)::integer % months);
		form := CASE months % 12 WHEN 0 THEN 'YYYY' ELSE 'YYYY_MM' END;
	ELSE
		-- weeks begin on Monday
		start := date_bin(step, start, timestamp '2000-01-03');
		form := CASE 0
			WHEN extract(epoch FROM step) % 86400 THEN 'YYYY_MM_DD'
			WHEN extract(epoch FROM step) % 3600 THEN 'YYYY_MM_DD_HH24'
			ELSE 'YYYY_MM_DD_HH24_MI' END;
	END IF;

	RETURN QUERY
		SELECT to_char(s.start, form), s.low, s.high
			FROM (SELECT b.start, uidgen.first_since(b.start, layout) AS low, uidgen.first_since(b.next, layout) AS high
				FROM (SELECT g::timestamptz AS start, lead(g::timestamptz) OVER (ORDER BY g::timestamptz) AS next
					FROM generate_series(start, until::timestamp + step, step) AS g) AS b
				WHERE b.start < until AND b.next > since) AS s
			-- A local time that the clock skips in spring equals a later time, so the step between the two is empty.
			WHERE s.low < s.high
			ORDER BY s.start;
END
$$;
COMMENT ON FUNCTION uidgen_tools.list_steps(timestamptz, timestamptz, interval, text) IS 'names and ids of the partitions for a range of time, in their order; an error if there are none, or too many';

CREATE FUNCTION uidgen_tools.refuse_default_rows("table" regclass, lowest bigint, highest bigint) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
#variable_conflict error
DECLARE
	parent CONSTANT record := uidgen_tools.find_partitioned("table");
	other oid;
	named text;
BEGIN
	-- Rows of a default partition stay there, and prevent a partition for their ids.
	SELECT c.oid INTO other FROM pg_partitioned_table AS p JOIN pg_class AS c ON c.oid = p.partdefid WHERE p.partrelid = "table" AND c.relkind <> 'f';
	IF FOUND THEN
		BEGIN
			named := uidgen.run_confined(format('SELECT format(''%%s, from %%s to %%s'', count(*), min(d.%1$s), max(d.%1$s)) FROM %2$s AS d WHERE d.%1$s >= %3$s AND d.%1$s < %4$s HAVING count(*) > 0',
				uidgen_tools.write_name(parent.key), uidgen_tools.write_relation(other), lowest, highest));
			-- The error releases the locks that the look has taken, as in adopt_column().
			RAISE EXCEPTION USING ERRCODE = 'UID00';
		EXCEPTION WHEN SQLSTATE 'UID00' THEN
		END;
		IF named IS NOT NULL THEN
			RAISE EXCEPTION 'the default partition of table "%" has rows that belong into a new one', parent.shown
				USING ERRCODE = 'invalid_object_definition', DETAIL = format('Rows of %s with such ids: %s.', uidgen_tools.write_relation(other), named),
					HINT = 'Detach the default partition, make the others, and move the rows: docs/partitions.md has the statements under "Rows in a default partition".';
		END IF;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_default_rows(regclass, bigint, bigint) IS 'an error if the default partition has ids that partitions to come are for';

-- CREATE TABLE ... PARTITION OF would lock the parent against its readers.  ATTACH takes no lock that readers or writers wait for, except on a default
-- partition and on tables with a foreign key from or to the parent.  The partition gets all properties that PARTITION OF gives: the list after EXCLUDING
-- has what PARTITION OF does not copy.  An identity column comes with ATTACH from PostgreSQL 17 on.
-- Neither LIKE nor ATTACH gives a replica identity, without which UPDATE of a published table fails, and of a subscriber's does nothing.
CREATE FUNCTION uidgen_tools.write_identity("table" regclass, partition text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
	SELECT CASE l.identity WHEN 'f' THEN w.line || 'FULL;' WHEN 'n' THEN w.line || 'NOTHING;' WHEN 'i' THEN coalesce((
			SELECT format('DO %s;', uidgen_tools.write_literal(format('BEGIN EXECUTE (SELECT %s OPERATOR(pg_catalog.||) pg_catalog.quote_ident(c.relname) FROM pg_catalog.pg_inherits AS h JOIN pg_catalog.pg_index AS i ON i.indexrelid OPERATOR(pg_catalog.=) h.inhrelid JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) h.inhrelid WHERE h.inhparent OPERATOR(pg_catalog.=) %s AND i.indrelid OPERATOR(pg_catalog.=) %s::pg_catalog.regclass); END',
					uidgen_tools.write_literal(w.line || 'USING INDEX '), uidgen_tools.write_regclass(o.oid), uidgen_tools.write_literal(partition))))
				FROM pg_index AS x LEFT JOIN pg_inherits AS h ON h.inhrelid = x.indexrelid JOIN pg_class AS o ON o.oid = CASE WHEN x.indrelid = "table" THEN x.indexrelid ELSE h.inhparent END WHERE x.indrelid = l.oid AND x.indisreplident), w.line || 'FULL;') END
		FROM (SELECT c.oid, c.relreplident FROM (SELECT h.inhrelid FROM pg_inherits AS h WHERE h.inhparent = "table" UNION ALL SELECT "table") AS k (relid) JOIN pg_class AS c ON c.oid = k.relid AND (c.relkind = 'r' OR c.oid = "table")
				LEFT JOIN uidgen_tools.list_partitions("table") AS p ON p.relation = c.oid ORDER BY p.high DESC NULLS LAST, c.oid = "table" LIMIT 1) AS l (oid, identity)
			CROSS JOIN LATERAL (SELECT format('ALTER TABLE %s REPLICA IDENTITY ', partition)) AS w (line);
$$;
COMMENT ON FUNCTION uidgen_tools.write_identity(regclass, text) IS 'the statement that gives a partition the replica identity of the last one, or all columns where it has not that index; null for the default';

CREATE FUNCTION uidgen_tools.write_partition("table" regclass, partition text, low bigint, high bigint, layout text, OUT made text, OUT attached text)
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('CREATE TABLE %s (LIKE %s INCLUDING ALL EXCLUDING IDENTITY EXCLUDING STATISTICS EXCLUDING COMMENTS)%s%s;', partition, w.written, ' USING ' || uidgen_tools.write_name(m.amname), ' TABLESPACE ' || uidgen_tools.write_name(s.spcname)),
			format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%s) TO (%s); %s', w.written, partition, low, high, uidgen_tools.write_partition_record('TABLE', partition, layout, low, high)) || coalesce(' ' || uidgen_tools.write_identity("table", partition), '')
			|| CASE WHEN c.relrowsecurity THEN format(' ALTER TABLE %s ENABLE ROW LEVEL SECURITY;', partition) ELSE '' END || coalesce(' ' || uidgen_tools.write_default_revoke("table", partition, '', false), '')
		FROM pg_class AS c CROSS JOIN LATERAL uidgen_tools.write_relation(c.oid) AS w (written) LEFT JOIN pg_am AS m ON m.oid = c.relam LEFT JOIN pg_tablespace AS s ON s.oid = c.reltablespace WHERE c.oid = "table";
$$;
COMMENT ON FUNCTION uidgen_tools.write_partition(regclass, text, bigint, bigint, text) IS 'the statements that make a partition for a range of ids, and those that attach it, with its record';

-- What ATTACH and DROP lock, they lock to the end of the transaction.  LOCK needs a right on the table, and they need none: so they wait for such tables for a part of the time each.
CREATE FUNCTION uidgen_tools.lock_others(others oid[], mode text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	own CONSTANT oid[] := ARRAY(SELECT o.relid FROM unnest(others) AS o (relid) WHERE NOT EXISTS (SELECT FROM uidgen_tools.list_members(o.relid) AS m JOIN pg_class AS c ON c.oid = m.relid
		WHERE NOT (has_table_privilege(c.oid, 'UPDATE, DELETE, TRUNCATE') AND has_schema_privilege(c.relnamespace, 'USAGE'))));
BEGIN
	PERFORM uidgen_tools.lock_tables(NULL, own, mode);
	PERFORM set_config('lock_timeout', ceil(extract(epoch FROM current_setting('lock_timeout')::interval) * 1000 / (cardinality(others) - cardinality(own))) || 'ms', true) WHERE others <> own;
END
$$;
COMMENT ON FUNCTION uidgen_tools.lock_others(oid[], text) IS 'locks tables that a statement will lock besides its own, as far as the role may';

CREATE FUNCTION uidgen_tools.make_tables("table" regclass, shown text, INOUT makes text[])
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	most CONSTANT integer := 100;
	rest CONSTANT oid[] := ARRAY(SELECT p.partdefid FROM pg_partitioned_table AS p WHERE p.partrelid = "table" AND p.partdefid <> 0);
	others CONSTANT oid[] := ARRAY(SELECT f.confrelid FROM pg_constraint AS f WHERE f.conrelid = "table" AND f.contype = 'f' UNION SELECT f.conrelid FROM pg_constraint AS f WHERE f.confrelid = "table" AND f.contype = 'f' ORDER BY 1);
BEGIN
	-- Others wait where the table has foreign keys or a default partition.  And the locks of all sessions have one table, which some thousand partitions fill.
	IF cardinality(makes) > most THEN
		RAISE NOTICE '% partitions of table "%" are left', cardinality(makes) - most, shown
			USING DETAIL = format('One call makes %s at most.', most), HINT = 'Call it again, or let psql run what it prints without "execute".';
		makes := makes[:most];
	END IF;
	PERFORM uidgen.run_confined(u.line) FROM unnest(makes) AS u (line);
	PERFORM uidgen_tools.lock_tables(NULL, rest, 'ACCESS EXCLUSIVE'), uidgen_tools.lock_others(others, 'SHARE ROW EXCLUSIVE');
END
$$;
COMMENT ON FUNCTION uidgen_tools.make_tables(regclass, text, text[]) IS 'makes the tables of partitions, or the first of them, and locks what ATTACH will lock besides the parent';

CREATE FUNCTION uidgen_tools.list_partition_publications("table" regclass) RETURNS name[]
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT ARRAY(SELECT p.pubname FROM pg_publication AS p JOIN pg_class AS c ON c.oid = "table" WHERE NOT p.pubviaroot AND (p.pubname IN (SELECT uidgen_tools.list_publications(c.relnamespace))
		OR EXISTS (SELECT FROM pg_partition_ancestors("table") AS a (relid) JOIN pg_class AS k ON k.oid = a.relid WHERE EXISTS (SELECT FROM pg_publication_rel AS r WHERE r.prpubid = p.oid AND r.prrelid = k.oid)
			OR EXISTS (SELECT FROM pg_publication_namespace AS n WHERE n.pnpubid = p.oid AND n.pnnspid = k.relnamespace))));
$$;
COMMENT ON FUNCTION uidgen_tools.list_partition_publications(regclass) IS 'the publications that send rows of each partition that a table gets, by the partition''s name';

CREATE FUNCTION uidgen_tools.make_partitions("table" regclass, "from" timestamptz, "to" timestamptz, step interval,
	execute boolean, layout text, is_named boolean) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
#variable_conflict error
DECLARE
	parent record;
	names text[];
	begins bigint[];
	ends bigint[];
	tracked oid;
	there oid[];
	lows bigint[];
	highs bigint[];
	at integer := 1;
	partition text;
	makes text[] := '{}';
	attaches text[] := '{}';
	lowest bigint;
	highest bigint;
	patience CONSTANT text := current_setting('lock_timeout');
BEGIN
	IF num_nulls("table", "from", "to", step, "execute") > 0 OR (is_named AND layout IS NULL) THEN
		RAISE EXCEPTION 'no argument of uid_partitions() may be null'
			USING ERRCODE = 'null_value_not_allowed', HINT = 'Partitions have two ends: give the time of each. To use the server''s layout, leave that argument out.';
	-- An older snapshot would show former owners and names of the tables.
	ELSIF "execute" AND current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'uid_partitions() makes partitions in isolation level read committed only' USING ERRCODE = 'invalid_transaction_state',
				DETAIL = format('This transaction has %s, and would not see that a table was renamed or given to another role before it has its lock.', current_setting('transaction_isolation')),
				HINT = 'Call it in a transaction of its own.';
	END IF;
	layout := (uidgen_tools.look_at_layout(layout)).layout;

	parent := uidgen_tools.find_partitioned("table");
	SELECT array_agg(s.name ORDER BY s.place), array_agg(s.low ORDER BY s.place), array_agg(s.high ORDER BY s.place) INTO names, begins, ends
		FROM uidgen_tools.list_steps("from", "to", step, layout) WITH ORDINALITY AS s (name, low, high, place);

	-- The second of two concurrent calls finds the partitions of the first.  A call that has no partition to make waits for nobody.
	IF "execute" THEN
		IF NOT EXISTS (SELECT u.low, u.high FROM unnest(begins, ends) AS u (low, high) EXCEPT SELECT p.low, p.high FROM uidgen_tools.list_partitions("table") AS p) THEN
			RETURN;
		END IF;
		PERFORM uidgen_tools.be_patient();
		PERFORM uidgen_tools.lock_by_name("table", parent.written, 'SHARE UPDATE EXCLUSIVE');
		PERFORM uidgen_tools.refuse_other_owners(ARRAY["table"::oid]), uidgen_tools.refuse_publications("table", 'uid_partitions', uidgen_tools.list_partition_publications("table"),
			'Let each subscriber make these partitions first. Then run here what this call prints without "execute", and there ALTER SUBSCRIPTION ... REFRESH PUBLICATION.');
	END IF;

	SELECT array_agg(p.relation), array_agg(p.low), array_agg(p.high) INTO there, lows, highs FROM uidgen_tools.list_partitions("table") AS p;
	-- Changes are tracked at the root of a table that is itself a partition.
	tracked := (SELECT d.function FROM pg_partition_ancestors("table") WITH ORDINALITY AS a (relid, n) CROSS JOIN LATERAL uidgen_tools.find_deleted(a.relid) AS d WHERE d.function IS NOT NULL ORDER BY a.n DESC LIMIT 1);
	FOR n IN 1 .. coalesce(cardinality(names), 0)
	LOOP
		WHILE highs[at] <= begins[n] LOOP
			at := at + 1;
		END LOOP;
		IF lows[at] = begins[n] AND highs[at] = ends[n] THEN
			CONTINUE;
		ELSIF "execute" AND lows[at] < ends[n] THEN
			RAISE EXCEPTION 'partition % of table "%" is in the way', uidgen_tools.write_relation(there[at]), parent.shown USING ERRCODE = 'invalid_object_definition',
					DETAIL = format('It has ids from %s to %s, and another partition shall have those from %s to %s. By the layout "%s" its times are from %s to %s.',
						lows[at], highs[at], begins[n], ends[n], layout,
						coalesce(uidgen_tools.tell_time(lows[at], layout)::text, 'none'), coalesce(uidgen_tools.tell_time(highs[at], layout)::text, 'none')),
					HINT = format('If it was made in another time zone than %s, or with another step, go on with that: SET timezone. Or begin where it ends. If it is one of another layout, see docs/layouts.md, "A new layout".', uidgen_tools.write_literal(current_setting('timezone')));
		END IF;

		partition := uidgen_tools.write_schema(parent.schema) || '.' || uidgen_tools.write_name(uidgen_tools.find_free_name(parent.schema, parent.name, '_' || names[n]));
		SELECT makes || w.made, attaches || (w.attached
			-- Partitions do not inherit triggers for statements.
			|| CASE WHEN tracked IS NULL THEN '' ELSE ' ' || array_to_string(uidgen_tools.write_truncate_trigger(partition, uidgen_tools.write_function(tracked)), ' ') END) INTO makes, attaches
			FROM uidgen_tools.write_partition("table", partition, begins[n], ends[n], layout) AS w;
		lowest := coalesce(lowest, begins[n]);
		highest := ends[n];
	END LOOP;

	IF "execute" AND lowest IS NOT NULL THEN
		makes := uidgen_tools.make_tables("table", parent.shown, makes);
		PERFORM uidgen_tools.refuse_default_rows("table", lowest, highest);
	END IF;

	FOR n IN 1 .. cardinality(makes) LOOP
		IF "execute" THEN
			PERFORM uidgen.run_confined(attaches[n]);
			RETURN NEXT makes[n] || ' ' || attaches[n];
		ELSE
			RETURN QUERY SELECT u.line FROM unnest(uidgen_tools.with_patience(ARRAY[makes[n] || ' ' || attaches[n]])) AS u (line);
		END IF;
	END LOOP;
	-- An event trigger can give each new table to another role.
	PERFORM uidgen_tools.refuse_other_owners(ARRAY["table"::oid]) WHERE "execute" AND lowest IS NOT NULL;
	PERFORM set_config('lock_timeout', patience, true);
END
$$;
COMMENT ON FUNCTION uidgen_tools.make_partitions(regclass, timestamptz, timestamptz, interval, boolean, text, boolean) IS 'uid_partitions(), given whether the caller has named a layout';

CREATE FUNCTION @extschema@.uid_partitions("table" regclass, "from" timestamptz, "to" timestamptz, step interval,
	execute boolean DEFAULT false) RETURNS SETOF text
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT uidgen_tools.hold_extensions();
	SELECT m.s FROM uidgen_tools.make_partitions("table", "from", "to", step, execute, NULL::text, false) AS m (s);
END;
COMMENT ON FUNCTION @extschema@.uid_partitions(regclass, timestamptz, timestamptz, interval, boolean)
	IS 'the statements that make the partitions for a range of time, or those that are missing; optionally runs them';

CREATE FUNCTION @extschema@.uid_partitions("table" regclass, "from" timestamptz, "to" timestamptz, step interval,
	execute boolean, layout text) RETURNS SETOF text
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT uidgen_tools.hold_extensions();
	SELECT m.s FROM uidgen_tools.make_partitions("table", "from", "to", step, execute, layout, true) AS m (s);
END;
COMMENT ON FUNCTION @extschema@.uid_partitions(regclass, timestamptz, timestamptz, interval, boolean, text)
	IS 'the statements that make the partitions for a range of time under a layout or preset, or those that are missing; optionally runs them';

CREATE FUNCTION uidgen_tools.refuse_references("table" regclass) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	reference record;
BEGIN
	-- A foreign key to the table also refers to each partition.  This tool drops partitions and never detaches them, since DETACH reads the
	-- referring table, which can belong to another owner.  The query avoids pg_partition_tree(), which would lock the partitions.
	WITH RECURSIVE tree (relid) AS (SELECT "table"::oid UNION SELECT i.inhrelid FROM tree AS t JOIN pg_inherits AS i ON i.inhparent = t.relid)
	SELECT f.conname AS name, uidgen_tools.write_relation(f.conrelid) AS "from", c.relname AS "to" INTO reference
		FROM pg_constraint AS f JOIN pg_class AS c ON c.oid = f.confrelid JOIN tree AS t ON t.relid = f.confrelid
		WHERE f.contype = 'f'
		ORDER BY f.conparentid <> 0, f.confrelid <> "table", f.conname LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'a foreign key refers to table "%"', uidgen_tools.tame(reference."to") USING ERRCODE = 'dependent_objects_still_exist',
				DETAIL = format('It is "%s" of table %s. PostgreSQL drops no partition of such a table; it detaches one to which no row refers, after it has read all of table %2$s under a lock that keeps everybody out.',
					uidgen_tools.tame(reference.name), reference."from"),
				HINT = format('Delete the rows of table %s that refer to old ids. Then run ALTER TABLE %s DETACH PARTITION, and DROP TABLE, for each partition that is past.',
					reference."from", uidgen_tools.write_relation("table"));
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_references(regclass) IS 'an error if a foreign key refers to a partitioned table or one of its partitions';

-- The layouts in uidgen.layout_used, of the server, and in the records of all partitions of the owner: so a layout that was lost with the extension is
-- noticed, and nobody else's comment keeps a partition.
CREATE FUNCTION uidgen_tools.list_layouts("table" regclass, named text) RETURNS text[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
#variable_conflict error
DECLARE
	present_layout text := nullif(current_setting('uidgen.layout', true), '');
	owner CONSTANT oid := (SELECT c.relowner FROM pg_class AS c WHERE c.oid = "table");
	layouts text[];
	recorded text;
BEGIN
	-- Imported ids have no row in layout_used, and may be of the server's layout.
	IF present_layout IS NOT NULL THEN
		SELECT n.layout INTO STRICT present_layout FROM uidgen.layout_numbers(present_layout) AS n;
	END IF;
	-- The owner of the database may have written any text into this table.
	SELECT u.layout INTO recorded FROM uidgen.layout_used AS u WHERE u.layout !~ '^[ -~]+$' LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'a row of uidgen.layout_used has no layout'
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('It has "%s".', left(uidgen_tools.tame(recorded), 100)),
				HINT = 'The owner of the database can update it, or a superuser delete it.';
	ELSIF named IS NULL AND (SELECT c.relpersistence FROM pg_class AS c WHERE c.oid = 'uidgen.layout_used'::regclass) <> 'p' THEN
		RAISE EXCEPTION 'it is not certain which layouts the ids of table "%" have', uidgen_tools.tame((SELECT c.relname FROM pg_class AS c WHERE c.oid = "table"))
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'Table uidgen.layout_used is not logged: a crash empties it, or has done so.',
				HINT = 'Give it a row for each layout that ids of this database have, and let a superuser run ALTER TABLE uidgen.layout_used SET LOGGED. Or, if they have had one layout alone, name it as fourth argument.';
	END IF;
	layouts := ARRAY(SELECT u.layout FROM (SELECT named, 1 UNION ALL SELECT present_layout, 2 UNION ALL SELECT u.layout, 3 FROM uidgen.layout_used AS u) AS u (layout, place)
		WHERE u.layout IS NOT NULL GROUP BY u.layout ORDER BY min(u.place), u.layout);
	FOR recorded IN
		SELECT DISTINCT p.layout FROM pg_class AS c CROSS JOIN LATERAL uidgen_tools.list_partitions(CASE WHEN c.relkind = 'p' AND c.relowner = owner THEN c.oid END) AS p
			WHERE c.relkind = 'p' AND c.relowner = owner AND p.is_recorded AND p.layout <> ALL (layouts)
	LOOP
		-- The owner may have written any comment.
		BEGIN
			IF (SELECT n.layout FROM uidgen.layout_numbers(recorded) AS n) = recorded AND uidgen.first_since(now(), recorded) IS NOT NULL THEN
				layouts := layouts || recorded;
			END IF;
		EXCEPTION WHEN OTHERS THEN
		END;
	END LOOP;
	RETURN layouts;
END
$$;
COMMENT ON FUNCTION uidgen_tools.list_layouts(regclass, text) IS 'the layouts that ids of this database can have; an error if that is not certain';

-- The objects that would prevent DROP TABLE of a partition, or of its partitions.
CREATE FUNCTION uidgen_tools.list_dependents(relation oid) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (WITH m AS MATERIALIZED (SELECT l.relid, c.reltype, y.typarray FROM uidgen_tools.list_members(relation) AS l JOIN pg_class AS c ON c.oid = l.relid LEFT JOIN pg_type AS y ON y.oid = c.reltype)
		SELECT string_agg(DISTINCT uidgen_tools.tame(pg_describe_object(d.classid, d.objid, d.objsubid)), ', ')
			-- A subscription stops at a table that is not there any more.
			FROM m CROSS JOIN LATERAL (SELECT 'pg_subscription'::regclass::oid AS classid, u.srsubid AS objid, 0 AS objsubid, 0::oid AS refclassid, 0::oid AS refobjid, 0 AS refobjsubid, 'n'::"char" AS deptype FROM pg_subscription_rel AS u WHERE u.srrelid = m.relid
				UNION ALL SELECT n.* FROM pg_depend AS n WHERE n.refclassid = 'pg_class'::regclass AND n.refobjid = m.relid
				UNION ALL SELECT n.* FROM pg_depend AS n WHERE n.refclassid = 'pg_type'::regclass AND n.refobjid IN (m.reltype, m.typarray)) AS d
			WHERE d.deptype = 'n'
				-- Objects that belong to the tables are dropped with them.
				AND NOT EXISTS (SELECT FROM pg_depend AS o JOIN m AS w ON w.relid = o.refobjid WHERE o.classid = d.classid AND o.objid = d.objid AND o.refclassid = 'pg_class'::regclass AND o.deptype <> 'n'));
END
$$;
COMMENT ON FUNCTION uidgen_tools.list_dependents(oid) IS 'what depends on a partition, and would not be dropped with it; null if nothing';

-- An id does not tell its layout.  So a partition is past only if it is past in each layout that ids of this database have.  By its record, the
-- partition ends before the given time.  Ids that any other layout has issued since that time, or would issue in the coming year, lie outside
-- the partition.
CREATE FUNCTION uidgen_tools.list_past("table" regclass, before timestamptz, named text, layouts text[], partitions oid[],
	OUT relation oid, OUT shown text, OUT layout text, OUT since timestamptz, OUT until timestamptz, OUT is_past boolean) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	p record;
	dependents text;
BEGIN
	FOR p IN
		-- In a layout whose first field is not the time, ids of any time can be anywhere.
		WITH l AS MATERIALIZED (SELECT u.layout, u.place, CASE WHEN o.is_ordered THEN uidgen.first_since(before, u.layout) ELSE -9223372036854775808 END AS bound,
				CASE WHEN o.is_ordered THEN uidgen.first_since(now() + interval '1 year', u.layout) ELSE 9223372036854775807 END AS coming,
				-- The table may hold numbers of a former sequence, which are ids of the first moments of a layout.
				CASE WHEN o.is_ordered THEN uidgen.first_since((uidgen_tools.look_at_layout(u.layout)).epoch + interval '1 day', u.layout) END AS second_day
			FROM unnest(layouts) WITH ORDINALITY AS u (layout, place) CROSS JOIN LATERAL (SELECT starts_with(u.layout, 'time:')) AS o (is_ordered))
		SELECT r.relation, r.low, r.high, uidgen_tools.tame(c.relname) AS shown, own.layout, r.layout AS written, r.high <= own.bound AND own.layout = coalesce(named, own.layout) AS is_over,
				r.low < own.second_day AS is_first, uidgen_tools.tell_time(r.low, own.layout) AS since, uidgen_tools.tell_time(r.high, own.layout) AS until, c.relkind,
				(SELECT u.layout FROM l AS u WHERE u.layout <> own.layout AND r.high > u.bound AND r.low < u.coming ORDER BY u.place LIMIT 1) AS other,
				(SELECT u.layout FROM l AS u WHERE r.high <= u.bound AND u.layout = coalesce(named, u.layout) ORDER BY u.layout <> r.layout, u.place LIMIT 1) AS guess
			FROM uidgen_tools.list_partitions("table") AS r JOIN pg_class AS c ON c.oid = r.relation LEFT JOIN l AS own ON own.layout = r.layout AND r.is_recorded
			WHERE NOT r.detaching AND (partitions IS NULL OR r.relation = ANY (partitions))
			ORDER BY r.high
	LOOP
		SELECT p.relation, p.shown, p.layout, coalesce(p.since, p.until), p.until, p.is_over AND NOT p.is_first AND p.other IS NULL INTO relation, shown, layout, since, until, is_past;
		dependents := CASE WHEN is_past THEN uidgen_tools.list_dependents(relation) END;
		is_past := is_past AND dependents IS NULL;
		IF layout IS NOT NULL THEN
			RETURN NEXT;
		END IF;
		IF p.is_over AND NOT is_past OR layout IS NULL AND p.guess IS NOT NULL THEN
			RAISE NOTICE 'partition "%" is kept', shown USING
				DETAIL = CASE WHEN dependents IS NOT NULL THEN format('On it depend: %s.', dependents)
						WHEN p.written IS NULL THEN 'It has no record of the layout that its ids have.'
						WHEN layout IS NULL THEN 'Its record is of other bounds, or of no layout.'
						WHEN p.is_first THEN 'It begins before the first day of the layout is over, so it may hold numbers that are no ids, such as values of a sequence.'
						ELSE format('By layout "%s", of which this database has ids or a partition, it is for ids since %s.', p.other, before) END,
				HINT = CASE WHEN layout IS NULL THEN format('If its ids are of layout "%s": %s', p.guess, uidgen_tools.write_partition_record(CASE p.relkind WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END,
						uidgen_tools.write_relation(relation), p.guess, p.low, p.high)) WHEN dependents IS NOT NULL THEN 'If nobody needs these, drop them first. What a subscription changes, drop first at the publisher; then refresh the subscription.' ELSE 'If nobody needs it, drop it by its name.' END;
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION uidgen_tools.list_past(regclass, timestamptz, text, text[], oid[]) IS 'partitions that have a record, all or these, with their times by it, and whether they are past in each layout';

-- Every partition is past by a clock that is a year ahead.  So the clock alone does not decide: the partitions that stay have to hold rows, and their
-- ranges, back from the newest row, have to be together at least as long as the time that the caller wants to keep.
CREATE FUNCTION uidgen_tools.choose_past("table" regclass, before timestamptz, named text, layouts text[], force boolean) RETURNS oid[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
#variable_conflict error
DECLARE
	parent CONSTANT record := uidgen_tools.find_partitioned("table");
	key CONSTANT text := uidgen_tools.write_name(parent.key);
	p record;
	going oid[] := '{}';
	kept text[] := '{}';
	held interval := '0';
	reached timestamptz := now();
	since timestamptz;
	row_id bigint;
BEGIN
	FOR p IN
		SELECT l.*, bool_or(l.is_past) OVER () AS has_past, c.relkind FROM uidgen_tools.list_past("table", before, named, layouts, NULL) AS l JOIN pg_class AS c ON c.oid = l.relation
			ORDER BY l.until DESC, l.since DESC
	LOOP
		EXIT WHEN NOT p.has_past;
		IF force OR held >= now() - before THEN
			going := CASE WHEN p.is_past THEN p.relation || going ELSE going END;
			CONTINUE;
		END IF;
		kept := CASE WHEN p.is_past THEN p.shown || kept ELSE kept END;
		-- Times that two partitions cover, as after a new layout, count once.
		CONTINUE WHEN p.relkind = 'f' OR p.since >= reached;
		PERFORM uidgen_tools.lock_tables(NULL, ARRAY[p.relation], 'ACCESS SHARE');
		row_id := uidgen.run_confined(format(CASE WHEN p.until > now() THEN 'SELECT min(d.%s) FROM %s AS d' ELSE 'SELECT d.%s FROM %s AS d LIMIT 1' END, key, uidgen_tools.write_relation(p.relation)))::bigint;
		CONTINUE WHEN row_id IS NULL;
		-- The present partition may hold only rows of a night in which the clock was wrong: so it counts from its first row on, or from its begin if that row is near it.
		since := CASE WHEN p.until > now() THEN least(reached, uidgen_tools.tell_time(row_id, p.layout)) ELSE p.since END;
		since := CASE WHEN since - p.since > (now() - before) / 10 THEN since ELSE p.since END;
		-- The range ends with the last row if no counted partition follows it.
		held := held + (CASE WHEN p.until >= reached THEN reached ELSE uidgen_tools.tell_time(uidgen.run_confined(format('SELECT max(d.%s) FROM %s AS d', key, uidgen_tools.write_relation(p.relation)))::bigint, p.layout) END - since);
		reached := since;
	END LOOP;
	IF kept <> '{}' THEN
		RAISE NOTICE 'partitions of table "%" are kept: "%"', parent.shown, array_to_string(kept, '", "')
			USING DETAIL = format('They end before %s. But by their records, those that are newer and hold rows are together shorter than the time since then: the clock of this server may be ahead.', before),
				HINT = 'If the clock is right, and the table had no rows for some time: call it with force => true.';
	END IF;
	-- An error releases the locks on the partitions that were read: a caller who kept them could not wait for the parent's lock without a deadlock.
	RAISE EXCEPTION '%', going USING ERRCODE = 'UID00';
EXCEPTION WHEN SQLSTATE 'UID00' THEN
	RETURN SQLERRM::oid[];
END
$$;
COMMENT ON FUNCTION uidgen_tools.choose_past(regclass, timestamptz, text, text[], boolean) IS 'the partitions that are past and may go, oldest first';

-- Reads catalogs alone, so that monitoring may call it for tables of others: it takes no lock that anybody waits for, and runs no code of the owner's.
CREATE FUNCTION uidgen_tools.check_partitions("table" regclass, OUT class text, OUT what text, OUT statement text) RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	-- A partition can have partitions.
	WITH t AS MATERIALIZED (SELECT m.relid AS oid, p.partdefid FROM uidgen_tools.list_members("table") AS m JOIN pg_partitioned_table AS p ON p.partrelid = m.relid AND p.partstrat = 'r' AND p.partnatts = 1
				JOIN pg_attribute AS a ON a.attrelid = m.relid AND a.attnum = p.partattrs[0] AND a.atttypid = 'bigint'::regtype),
		p AS MATERIALIZED (SELECT p.*, t.oid AS whole, uidgen_tools.write_relation(c.oid) AS written, CASE c.relkind WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END AS kind
			FROM t CROSS JOIN LATERAL uidgen_tools.list_partitions(t.oid) AS p JOIN pg_class AS c ON c.oid = p.relation),
		-- A partition without a record counts as of the layout that all recorded partitions share.
		l AS MATERIALIZED (SELECT p.whole, CASE WHEN min(p.layout) = max(p.layout) THEN min(p.layout) END AS layout FROM p GROUP BY p.whole HAVING count(p.layout) > 0)
	SELECT 'tell', CASE WHEN p.layout IS NULL THEN format('partition %s has no record of the layout that its ids have: uid_drop_partitions() keeps it', p.written)
				ELSE format('partition %s has a record of other bounds: uid_drop_partitions() keeps it', p.written) END,
			uidgen_tools.write_partition_record(p.kind, p.written, coalesce(p.layout, l.layout), p.low, p.high)
		FROM p JOIN l ON l.whole = p.whole WHERE NOT p.is_recorded
	UNION ALL
	SELECT 'tell', format('the default partition %s held rows when it was analyzed: uid_partitions() makes none that these belong into, and uid_drop_partitions() keeps them', uidgen_tools.write_relation(c.oid)), format('ANALYZE %s;', uidgen_tools.write_relation(c.oid))
		FROM t JOIN pg_class AS c ON c.oid = t.partdefid WHERE c.reltuples > 0;
$$;
COMMENT ON FUNCTION uidgen_tools.check_partitions(regclass) IS 'what uid_partitions() and uid_drop_partitions() would not do to a table as it is, with the statement that tells them; no row for a sound table';

-- With the partitions themselves, list_dependents() keeps what a subscription changes.
CREATE FUNCTION uidgen_tools.refuse_subscribed("table" regclass) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF EXISTS (SELECT FROM pg_partition_ancestors("table") AS a (relid) JOIN pg_subscription_rel AS s ON s.srrelid = a.relid) THEN
		RAISE EXCEPTION 'a subscription changes table %', uidgen_tools.write_relation("table")
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'It would stop at a change of a row whose partition is not there any more.', HINT = 'Drop what the publisher has dropped before, with force => true.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_subscribed(regclass) IS 'an error if a subscription could change rows of partitions that are dropped';

CREATE FUNCTION uidgen_tools.drop_partitions("table" regclass, before timestamptz, execute boolean, layout text, is_named boolean, force boolean) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
#variable_conflict error
DECLARE
	most CONSTANT integer := 100;
	at_once integer;
	present CONSTANT timestamptz := now();
	parent record;
	patience CONSTANT text := current_setting('lock_timeout');
	layouts text[];
	going oid[];
	partition record;
	told oid[];
	mark text;
	statement text;
BEGIN
	IF num_nulls("table", before, "execute", force) > 0 OR (is_named AND layout IS NULL) THEN
		RAISE EXCEPTION 'no argument of uid_drop_partitions() may be null'
			USING ERRCODE = 'null_value_not_allowed', HINT = 'For partitions of all layouts, leave that argument out.';
	-- An older snapshot would show a table that was detached meanwhile as a partition.
	ELSIF "execute" AND current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'uid_drop_partitions() drops partitions in isolation level read committed only' USING ERRCODE = 'invalid_transaction_state',
				DETAIL = format('This transaction has %s, and would not see that a partition was detached before it has its lock.', current_setting('transaction_isolation')),
				HINT = 'Call it in a transaction of its own.';
	END IF;

	parent := uidgen_tools.find_partitioned("table");
	IF before > present THEN
		RAISE EXCEPTION 'uid_drop_partitions() drops only what is past'
			USING ERRCODE = 'invalid_parameter_value', DETAIL = format('"before" is %s, and it is now %s.', before, present),
				HINT = 'Give a time that has passed. A partition of the future is dropped by its name.';
	END IF;
	IF is_named THEN
		layout := (uidgen_tools.look_at_layout(layout)).layout;
	END IF;
	PERFORM uidgen_tools.refuse_references("table"), uidgen_tools.be_patient();
	layouts := uidgen_tools.list_layouts("table", layout);
	going := uidgen_tools.choose_past("table", before, layout, layouts, force);
	PERFORM uidgen_tools.refuse_subscribed("table") WHERE NOT force AND going <> '{}';
	IF "execute" THEN
		at_once := (SELECT greatest(1, count(*) FILTER (WHERE m.tables <= most)) FROM (SELECT sum((SELECT count(*) FROM uidgen_tools.list_members(g.relation))) OVER (ORDER BY g.place) FROM unnest(going) WITH ORDINALITY AS g (relation, place)) AS m (tables));
		IF at_once < cardinality(going) THEN
			RAISE NOTICE '% partitions of table "%" are left', cardinality(going) - at_once, parent.shown
				USING DETAIL = format('One call drops %s tables at most.', most), HINT = 'Call it again, or let psql run what it prints without "execute".';
		END IF;
		going := going[:at_once];
	END IF;
	-- The look before took no lock.  The parent is locked first, as readers of the parent do: another order could deadlock with them.  The second of two
	-- concurrent calls finds the partitions that the first has left.
	IF "execute" AND going <> '{}' THEN
		PERFORM uidgen_tools.lock_by_name("table", parent.written, 'ACCESS EXCLUSIVE');
		PERFORM uidgen_tools.refuse_other_owners(ARRAY["table"::oid]), uidgen_tools.refuse_references("table");
	END IF;
	told := ARRAY(SELECT uidgen_tools.list_marked("table", going));
	IF "execute" AND going <> '{}' THEN
		-- The parent's lock does not prevent a rename of a partition.  DROP locks a default partition, too.
		going := ARRAY(SELECT g.relation FROM unnest(going) WITH ORDINALITY AS g (relation, place) JOIN pg_inherits AS i ON i.inhrelid = g.relation AND i.inhparent = "table" AND NOT i.inhdetachpending ORDER BY g.place);
		PERFORM uidgen_tools.lock_tables(NULL, going || (SELECT p.partdefid FROM pg_partitioned_table AS p WHERE p.partrelid = "table"), 'ACCESS EXCLUSIVE'),
			uidgen_tools.lock_tables(NULL, told, 'ROW EXCLUSIVE'),
			uidgen_tools.lock_others(ARRAY(SELECT DISTINCT f.confrelid FROM unnest(going) AS g (relation) CROSS JOIN LATERAL uidgen_tools.list_members(g.relation) AS m JOIN pg_constraint AS f ON f.conrelid = m.relid AND f.contype = 'f' AND f.conparentid = 0 ORDER BY 1), 'ACCESS EXCLUSIVE');
		PERFORM uidgen_tools.refuse_other_owners(told);
		-- A partition that was past may be for another time by now.  Readers and writers wait meanwhile: so this look is at the catalogs of these partitions
		-- alone, and at no rows.
		going := ARRAY(SELECT l.relation FROM uidgen_tools.list_past("table", before, layout, layouts, going) AS l WHERE l.is_past ORDER BY array_position(going, l.relation));
		told := ARRAY(SELECT uidgen_tools.list_marked("table", going));
	END IF;
	FOR partition IN
		SELECT c.oid AS relation, uidgen_tools.write_relation(c.oid) AS written, CASE c.relkind WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END AS kind
			FROM unnest(going) WITH ORDINALITY AS g (relation, place)
				JOIN pg_class AS c ON c.oid = g.relation
			ORDER BY g.place
	LOOP
		statement := format('DROP %s %s;', partition.kind, partition.written);
		-- No trigger fires for rows of a dropped partition: so the same transaction writes a mark for readers.
		mark := (SELECT string_agg(uidgen_tools.write_mark(u.relid), ' ' ORDER BY u.relid) FROM unnest(CASE WHEN "execute" THEN told ELSE ARRAY(SELECT uidgen_tools.list_marked("table", ARRAY[partition.relation])) END) AS u (relid));
		PERFORM uidgen.run_confined(statement) WHERE "execute";
		RETURN QUERY SELECT u.line FROM unnest(CASE WHEN "execute" THEN ARRAY[statement] ELSE uidgen_tools.with_patience(array_remove(ARRAY[statement, mark], NULL)) END) AS u (line);
	END LOOP;
	IF mark IS NOT NULL AND "execute" THEN
		PERFORM uidgen.run_confined(uidgen_tools.write_mark(d.relid)) FROM unnest(told) AS d (relid);
		RETURN NEXT mark;
	END IF;
	PERFORM set_config('lock_timeout', patience, true);
END
$$;
COMMENT ON FUNCTION uidgen_tools.drop_partitions(regclass, timestamptz, boolean, text, boolean, boolean) IS 'uid_drop_partitions(), given whether the caller has named a layout';

CREATE FUNCTION @extschema@.uid_drop_partitions("table" regclass, before timestamptz, execute boolean DEFAULT false, force boolean DEFAULT false) RETURNS SETOF text
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT uidgen_tools.hold_extensions();
	SELECT d.s FROM uidgen_tools.drop_partitions("table", before, execute, NULL::text, false, force) AS d (s);
END;
COMMENT ON FUNCTION @extschema@.uid_drop_partitions(regclass, timestamptz, boolean, boolean)
	IS 'the statements that drop the partitions of a table that end before a time, oldest first; optionally runs them, and also where few rows stay';

CREATE FUNCTION @extschema@.uid_drop_partitions("table" regclass, before timestamptz, execute boolean, layout text, force boolean DEFAULT false) RETURNS SETOF text
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT uidgen_tools.hold_extensions();
	SELECT d.s FROM uidgen_tools.drop_partitions("table", before, execute, layout, true, force) AS d (s);
END;
COMMENT ON FUNCTION @extschema@.uid_drop_partitions(regclass, timestamptz, boolean, text, boolean)
	IS 'the same for partitions of one layout or preset alone';
