--
-- Numbers without gaps: rows that are final get 1, 2, 3 ... in a table of their own.
--
-- uid_number_rows() numbers by INSERT alone.  If the number were a column of the table, each one would be an UPDATE:
-- writers and numbering would wait for each other, and kill each other by deadlocks, and whoever reads
-- changes would see one more for each row.  So no row of the table is changed or locked.  None need be:
-- a number is for a row that a snapshot has shown, so that it was committed, and a row that is deleted
-- meanwhile keeps its number, as one that is deleted later.
--
-- The last number is in a row of a third table, which each batch locks before it looks.  So callers come one after the other, and
-- see what who came before has numbered.  The lock ends with the transaction; one of the session would stay behind in
-- a pooler.  max(number) would be given again after its row was deleted.
--
-- What is not final yet is left for the next call, and counted.
--

CREATE FUNCTION uidgen_tools.is_unique_bigint(relation oid, "column" name) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN EXISTS (SELECT FROM pg_attribute AS a JOIN pg_index AS i ON i.indrelid = a.attrelid AND i.indkey[0] = a.attnum
		WHERE a.attrelid = relation AND a.attname = "column" AND a.attnum > 0 AND a.atttypid = 'bigint'::regtype AND a.attnotnull
			AND i.indisunique AND i.indisvalid AND i.indnkeyatts = 1 AND i.indpred IS NULL);
COMMENT ON FUNCTION uidgen_tools.is_unique_bigint(oid, name) IS 'whether a column is a bigint that is never null and never the same in two rows';

CREATE FUNCTION uidgen_tools.find_numbers("table" regclass, OUT schema text, OUT number_name text, OUT counter_name text, OUT numbers oid, OUT counter oid)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	t record;
BEGIN
	SELECT c.relname AS name, c.relnamespace AS schema INTO STRICT t FROM pg_class AS c WHERE c.oid = "table";
	schema := uidgen_tools.write_schema(t.schema);
	number_name := uidgen_tools.shorten_name(t.name, 7) || '_number';
	counter_name := uidgen_tools.shorten_name(t.name, 15) || '_number_counter';
	numbers := (SELECT c.oid FROM pg_class AS c WHERE c.relname = number_name AND c.relnamespace = t.schema);
	counter := (SELECT c.oid FROM pg_class AS c WHERE c.relname = counter_name AND c.relnamespace = t.schema);
	IF num_nulls(numbers, counter) = 1
		OR numbers IS NOT NULL AND NOT (uidgen_tools.is_unique_bigint(numbers, 'number') AND uidgen_tools.is_unique_bigint(numbers, 'id'))
		OR counter IS NOT NULL AND (SELECT count(*) FROM pg_attribute AS a WHERE a.attrelid = counter AND a.attname IN ('number', 'id') AND a.atttypid = 'bigint'::regtype) <> 2
	THEN
		RAISE EXCEPTION 'the names of the tables for the numbers of table "%" are taken', uidgen_tools.tame(t.name)
			USING ERRCODE = 'duplicate_table', DETAIL = format('They are %s.%s (number, id), both unique, and %1$s.%3$s (number, id), of which uid_number_rows() makes both or neither.',
					schema, uidgen_tools.write_name(number_name), uidgen_tools.write_name(counter_name)),
				HINT = 'Rename what has these names, or give one of them back to the table that it belongs to.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.find_numbers(regclass) IS 'the table of the numbers of a table, and that of its last number, or which names they will have';

CREATE FUNCTION uidgen_tools.refuse_numbering("table" regclass, id_column name) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	t record;
BEGIN
	IF num_nulls("table", id_column) > 0 THEN
		RAISE EXCEPTION 'neither table nor column of uid_number_rows() may be null'
			USING ERRCODE = 'null_value_not_allowed', HINT = 'Name the table, and the column that holds its ids.';
	END IF;
	PERFORM uidgen_tools.refuse_other_kinds("table", 'Number');
	PERFORM uidgen_tools.refuse_other_owners(ARRAY["table"::oid]);
	PERFORM uidgen_tools.refuse_hidden_rows("table", 'uid_number_rows()');
	SELECT c.relkind AS kind, c.relispartition AS is_partition, uidgen_tools.tame(c.relname) AS shown INTO t FROM pg_class AS c WHERE c.oid = "table";
	IF NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = "table" AND a.attname = id_column AND a.attnum > 0) THEN
		RAISE EXCEPTION 'table "%" has no column "%"', t.shown, uidgen_tools.tame(id_column::text) USING ERRCODE = 'undefined_column';
	ELSIF NOT uidgen_tools.is_unique_bigint("table", id_column) THEN
		RAISE EXCEPTION 'column "%" of table "%" is not a unique bigint', uidgen_tools.tame(id_column::text), t.shown USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'A row gets one number, and keeps it, by its id. So the column has to be of type bigint, NOT NULL, and unique by itself.',
				HINT = 'Name the primary key, if that is the column that holds the ids.';
	-- Their ids can be the same.
	ELSIF NOT t.is_partition AND t.kind = 'r' AND EXISTS (SELECT FROM pg_inherits AS i WHERE "table" IN (i.inhrelid, i.inhparent)) THEN
		RAISE EXCEPTION 'table "%" inherits from another one, or another one from it', t.shown
			USING ERRCODE = 'wrong_object_type', DETAIL = 'Ids are unique in each of these tables, and not over all of them.',
				HINT = 'Number a table that is partitioned, or one that stands alone.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_numbering(regclass, name) IS 'an error unless the current role owns a table whose rows can be numbered by this column';

CREATE FUNCTION uidgen_tools.make_numbers("table" regclass) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	f record;
	numbers text;
	counter text;
BEGIN
	-- Who comes second finds the tables of who came first.
	PERFORM uidgen_tools.lock_by_name("table", uidgen_tools.write_relation("table"), 'SHARE UPDATE EXCLUSIVE');
	f := uidgen_tools.find_numbers("table");
	IF f.numbers IS NULL THEN
		numbers := f.schema || '.' || uidgen_tools.write_name(f.number_name);
		counter := f.schema || '.' || uidgen_tools.write_name(f.counter_name);
		PERFORM uidgen.run_confined(format('CREATE TABLE %s (number bigint PRIMARY KEY, id bigint NOT NULL UNIQUE)', numbers)),
			-- With a key, since all tables may be published.
			uidgen.run_confined(format('CREATE TABLE %s (one boolean PRIMARY KEY DEFAULT true CHECK (one), number bigint NOT NULL, id bigint NOT NULL)', counter)),
			uidgen.run_confined(format('INSERT INTO %s (number, id) VALUES (0, %s)', counter, -9223372036854775808));
		RAISE NOTICE 'the numbers of table "%" begin with 1, in table %', uidgen_tools.tame((SELECT c.relname FROM pg_class AS c WHERE c.oid = "table")), numbers;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.make_numbers(regclass) IS 'makes the table of the numbers of a table, and that of its last number, unless somebody has';

-- One batch, and with the last one what is left.  A batch begins above the ids that the call has come to: the whole is one
-- walk over the index of the ids, beside that of the numbered ones.  Plans that look at all rows in each batch are kept away.
CREATE FUNCTION uidgen_tools.number_batch("table" regclass, id_column name,
	INOUT place bigint, INOUT horizon bigint, INOUT numbered bigint, INOUT late bigint, OUT last_number bigint, OUT remaining bigint)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
SET enable_hashjoin = off
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
AS $$
#variable_conflict error
DECLARE
	most CONSTANT integer := 5000;
	id CONSTANT text := uidgen_tools.write_name(id_column::text);
	tries integer := 0;
	f record;
	written text;
	numbers text;
	counter text;
	last_id bigint;
	-- how many were found, and have got a number; the last of these; how many of them were late; the last id
	got bigint[];
BEGIN
	PERFORM uidgen_tools.hold_extensions();
	PERFORM uidgen_tools.refuse_numbering("table", id_column);
	numbered := coalesce(numbered, 0);
	late := coalesce(late, 0);
	written := uidgen_tools.write_relation("table");

	f := uidgen_tools.find_numbers("table");
	IF f.numbers IS NULL THEN
		PERFORM uidgen_tools.make_numbers("table");
		f := uidgen_tools.find_numbers("table");
	END IF;
	PERFORM uidgen_tools.refuse_other_owners(ARRAY["table"::oid, f.numbers, f.counter]);
	numbers := uidgen_tools.write_relation(f.numbers);
	counter := uidgen_tools.write_relation(f.counter);
	PERFORM uidgen_tools.lock_by_name("table", written, 'ACCESS SHARE'), uidgen_tools.lock_by_name(f.numbers, numbers, 'ROW EXCLUSIVE'),
		uidgen_tools.lock_by_name(f.counter, counter, 'ROW EXCLUSIVE');

	-- What comes after the lock sees what was numbered before it.
	got := uidgen.run_confined(format('SELECT ARRAY[c.number, c.id] FROM %s AS c FOR UPDATE', counter))::bigint[];
	IF got IS NULL THEN
		RAISE EXCEPTION 'table % has no row', counter
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'It has the last number, after which the next ones come.',
				HINT = format('INSERT INTO %s (number, id) SELECT max(number), max(id) FROM %s;', counter, numbers);
	END IF;
	last_number := got[1];
	last_id := got[2];
	IF uidgen.run_confined(format('SELECT 1 FROM %s AS n WHERE n.number > %s LIMIT 1', numbers, last_number)) IS NOT NULL THEN
		RAISE EXCEPTION 'table % has numbers above the last one that was given, %', numbers, last_number
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'Somebody has written them by hand, or has set the last number back.',
				HINT = format('Delete them, or let numbers go on behind them, by the column "number" of table %s.', counter);
	END IF;

	-- One that rises meanwhile would let a call go on for as long as there are writers.  A second look, which has another snapshot, has an answer
	-- where the first one came at a bad moment.
	WHILE horizon IS NULL AND tries < 10 LOOP
		horizon := uidgen.present_horizon();
		tries := tries + 1;
	END LOOP;
	IF horizon IS NULL THEN
		RAISE EXCEPTION 'it is not known yet which rows are final' USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'uid_horizon() is null, as it is while a transaction is prepared of which nobody knows whether it has drawn ids, or before the first grant of a server.',
				HINT = 'See uidgen.horizon_holders, and call it again.';
	END IF;

	got := uidgen.run_confined(format('WITH found AS MATERIALIZED (
				SELECT t.%1$s AS id FROM %2$s AS t WHERE t.%1$s > %4$s AND t.%1$s <= %5$s AND NOT EXISTS (SELECT FROM %3$s AS n WHERE n.id = t.%1$s) ORDER BY t.%1$s LIMIT %6$s),
			given AS (
				INSERT INTO %3$s (number, id) SELECT %7$s + row_number() OVER (ORDER BY f.id), f.id FROM found AS f ORDER BY f.id RETURNING number, id)
			SELECT ARRAY[(SELECT count(*) FROM found), count(*), max(g.number), count(*) FILTER (WHERE g.id < %8$s), (SELECT max(f.id) FROM found AS f)] FROM given AS g',
		id, written, numbers, coalesce(place, -9223372036854775808), horizon, most, last_number, last_id))::bigint[];
	IF got[1] <> got[2] OR got[3] <> last_number + got[1] THEN
		RAISE EXCEPTION 'not all rows that were given a number are in table %', numbers
			USING ERRCODE = 'triggered_action_exception', DETAIL = format('There were %s, and %s were stored. A number that is left out would be a gap.', got[1], got[2]),
				HINT = 'See that no trigger or rule of that table changes or leaves out rows.';
	END IF;
	IF got[1] > 0 THEN
		PERFORM uidgen.run_confined(format('UPDATE %s SET number = %s, id = %s', counter, got[3], greatest(last_id, got[5])));
		numbered := numbered + got[1];
		late := late + got[4];
		last_number := got[3];
		place := got[5];
	END IF;
	IF got[1] < most THEN
		remaining := uidgen.run_confined(format('SELECT count(*) FROM %2$s AS t WHERE t.%1$s > %4$s AND NOT EXISTS (SELECT FROM %3$s AS n WHERE n.id = t.%1$s)',
			id, written, numbers, horizon));
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.number_batch(regclass, name, bigint, bigint, bigint, bigint) IS 'numbers some rows above a place; how many are left is null unless these were the last ones';

-- What commits can have no settings of its own, and names are looked up by those of the caller.  So all are qualified here, and
-- nothing is done but to begin transactions.  hold_extensions() is called by name: so first it is made sure that the schema
-- is still a superuser's, and stays.
CREATE PROCEDURE @extschema@.uid_number_rows("table" regclass, id_column name, above bigint DEFAULT NULL, INOUT numbered bigint DEFAULT NULL,
	INOUT late bigint DEFAULT NULL, INOUT last_number bigint DEFAULT NULL, INOUT horizon bigint DEFAULT NULL, INOUT remaining bigint DEFAULT NULL)
LANGUAGE plpgsql
AS $$
#variable_conflict error
DECLARE
	place bigint := above;
BEGIN
	-- In a transaction of the caller's this fails, before there is work that would be lost.
	COMMIT;
	SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
	numbered := NULL;
	late := NULL;
	horizon := NULL;
	LOOP
		LOCK TABLE uidgen_tools.in_use IN ACCESS SHARE MODE;
		IF NOT EXISTS (SELECT FROM pg_catalog.pg_namespace AS n JOIN pg_catalog.pg_roles AS r ON r.oid OPERATOR(pg_catalog.=) n.nspowner
			WHERE n.nspname OPERATOR(pg_catalog.=) 'uidgen_tools' AND r.rolsuper)
		THEN
			RAISE EXCEPTION 'the extensions were dropped meanwhile' USING ERRCODE = 'object_not_in_prerequisite_state';
		END IF;
		SELECT b.* INTO place, horizon, numbered, late, last_number, remaining FROM uidgen_tools.number_batch("table", id_column, place, horizon, numbered, late) AS b;
		EXIT WHEN remaining IS NOT NULL;
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
	END LOOP;
END
$$;
COMMENT ON PROCEDURE @extschema@.uid_number_rows(regclass, name, bigint, bigint, bigint, bigint, bigint, bigint)
	IS 'gives 1, 2, 3 ... without gaps to all rows of a table up to the horizon that have no number yet; how many, how many of them late, the last number, that horizon, how many are above it';

