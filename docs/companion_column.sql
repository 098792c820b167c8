-- docs/companion_column.sql
--	  New ids for the rows of a large table, while applications read and write: they grow beside the old ones, and one short
--	  transaction swaps the columns.
--
-- For psql, step by step or as a whole, outside of a transaction.  "author" and "book" stand for your tables: put in
-- their names, and the names of their columns and constraints; functions of triggers name tables with their schema,
-- as sessions of pg_restore and postgres_fdw have an empty search_path.  A worker id has to be reserved before
-- (docs/backfilling.md).  The way back is in companion_column_back.sql.
\set ON_ERROR_STOP on

-- Step 1. What takes a strong lock gives up after a moment, so that nobody queues behind it, and is tried again.
CREATE PROCEDURE with_lock_retries(statements text) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. 100 LOOP
        BEGIN
            PERFORM set_config('lock_timeout', '200ms', true);
            EXECUTE statements;
            RETURN;
        EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
            PERFORM pg_sleep(0.1 + random());
        END;
    END LOOP;
    RAISE lock_not_available USING MESSAGE = 'no lock in 100 tries: ' || statements;
END $$;

-- Step 2. The columns, and triggers by which each new row has both ids.
CREATE FUNCTION book_new_author_id() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.new_author_id := (SELECT a.new_id FROM public.author AS a WHERE a.id = NEW.author_id);
    RETURN NEW;
END $$;
CALL with_lock_retries($$
    ALTER TABLE author ADD COLUMN new_id bigint;
    CREATE TRIGGER author_new_id BEFORE INSERT ON author FOR EACH ROW EXECUTE FUNCTION uid_hold_row('new_id')
$$);
CALL with_lock_retries($$
    ALTER TABLE book ADD COLUMN new_author_id bigint;
    CREATE TRIGGER book_new_author_id BEFORE INSERT OR UPDATE OF author_id ON book FOR EACH ROW EXECUTE FUNCTION book_new_author_id()
$$);

-- Step 3. Procedures that fill the old rows in batches, each in a transaction of its own: the authors by time, the books by their key.
CREATE INDEX CONCURRENTLY author_to_do ON author (created_at, id) WHERE new_id IS NULL;
CREATE PROCEDURE fill_authors(batch integer DEFAULT 5000) LANGUAGE plpgsql AS $$
DECLARE
    n integer;
BEGIN
    LOOP
        BEGIN
            PERFORM set_config('lock_timeout', '1s', true);
            WITH next AS MATERIALIZED (
                SELECT id, uid_backfill(created_at) AS new_id FROM (
                    SELECT a.id, a.created_at FROM author AS a WHERE a.new_id IS NULL
                        ORDER BY a.created_at, a.id LIMIT batch FOR UPDATE) AS s)
            UPDATE author AS a SET new_id = n.new_id FROM next AS n WHERE a.id = n.id;
            GET DIAGNOSTICS n = ROW_COUNT;
        EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
            n := -1;    -- once more
        END;
        COMMIT;
        EXIT WHEN n = 0;
    END LOOP;
END $$;
CREATE INDEX CONCURRENTLY book_to_do ON book (id) WHERE new_author_id IS NULL;
CREATE PROCEDURE fill_books(batch integer DEFAULT 5000) LANGUAGE plpgsql AS $$
DECLARE
    n integer;
BEGIN
    LOOP
        BEGIN
            PERFORM set_config('lock_timeout', '1s', true);
            UPDATE book AS b SET new_author_id = a.new_id FROM author AS a
                WHERE a.id = b.author_id AND a.new_id IS NOT NULL
                    AND b.id IN (SELECT t.id FROM book AS t WHERE t.new_author_id IS NULL ORDER BY t.id LIMIT batch);
            GET DIAGNOSTICS n = ROW_COUNT;
        EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
            n := -1;
        END;
        COMMIT;
        EXIT WHEN n = 0;
    END LOOP;
END $$;

-- Step 4. The authors.  Broken off, a second call goes on where the first one was.
CALL fill_authors();

-- Step 5. The books, likewise.
CALL fill_books();

-- Step 6. Indexes and constraints, made without a lock that lasts.
CREATE UNIQUE INDEX CONCURRENTLY author_new_id_key ON author (new_id);
CREATE UNIQUE INDEX CONCURRENTLY author_old_id_key ON author (id);
CREATE INDEX CONCURRENTLY book_new_author_id_idx ON book (new_author_id);
CALL with_lock_retries('ALTER TABLE author ADD CONSTRAINT author_new_id_not_null CHECK (new_id IS NOT NULL) NOT VALID');
ALTER TABLE author VALIDATE CONSTRAINT author_new_id_not_null;

-- Step 7. The swap.  A book that was written while its author got an id may lack it: there are few of these, and nobody can write
-- meanwhile.  The old columns stay, and are filled for new rows, too, so that the way back is open.
CREATE FUNCTION book_old_author_id() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.old_author_id := (SELECT a.old_id FROM public.author AS a WHERE a.id = NEW.author_id);
    RETURN NEW;
END $$;
CALL with_lock_retries($$
    LOCK TABLE author, book IN ACCESS EXCLUSIVE MODE;
    UPDATE book AS b SET new_author_id = a.new_id FROM author AS a WHERE a.id = b.author_id AND b.new_author_id IS NULL;
    DROP TRIGGER author_new_id ON author;
    DROP TRIGGER book_new_author_id ON book;
    ALTER TABLE book DROP CONSTRAINT book_author_id_fkey;
    ALTER TABLE author DROP CONSTRAINT author_pkey;
    ALTER TABLE author RENAME COLUMN id TO old_id;
    ALTER TABLE author RENAME COLUMN new_id TO id;
    ALTER TABLE author ALTER COLUMN id SET DEFAULT uid_next();
    ALTER TABLE author ADD CONSTRAINT author_pkey PRIMARY KEY USING INDEX author_new_id_key;
    ALTER TABLE author DROP CONSTRAINT author_new_id_not_null;
    ALTER TABLE book ALTER COLUMN author_id DROP NOT NULL;
    ALTER TABLE book RENAME COLUMN author_id TO old_author_id;
    ALTER TABLE book RENAME COLUMN new_author_id TO author_id;
    ALTER TABLE book ADD CONSTRAINT book_author_id_fkey FOREIGN KEY (author_id) REFERENCES author NOT VALID;
    ALTER TABLE book ADD CONSTRAINT book_author_id_not_null CHECK (author_id IS NOT NULL) NOT VALID;
    CREATE TRIGGER book_old_author_id BEFORE INSERT OR UPDATE OF author_id ON book FOR EACH ROW EXECUTE FUNCTION book_old_author_id()
$$);
ALTER TABLE book VALIDATE CONSTRAINT book_author_id_fkey;
ALTER TABLE book VALIDATE CONSTRAINT book_author_id_not_null;
