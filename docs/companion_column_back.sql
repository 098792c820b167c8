-- docs/companion_column_back.sql
--	  The way back from companion_column.sql, as long as the old columns are there.
\set ON_ERROR_STOP on

CALL with_lock_retries($$
    LOCK TABLE author, book IN ACCESS EXCLUSIVE MODE;
    DROP TRIGGER book_old_author_id ON book;
    ALTER TABLE book DROP CONSTRAINT book_author_id_fkey;
    ALTER TABLE book DROP CONSTRAINT book_author_id_not_null;
    ALTER TABLE author DROP CONSTRAINT author_pkey;
    ALTER TABLE author ALTER COLUMN id DROP DEFAULT;
    ALTER TABLE author RENAME COLUMN id TO new_id;
    ALTER TABLE author RENAME COLUMN old_id TO id;
    ALTER TABLE author ADD CONSTRAINT author_pkey PRIMARY KEY USING INDEX author_old_id_key;
    ALTER TABLE author ALTER COLUMN new_id DROP NOT NULL;
    ALTER TABLE book RENAME COLUMN author_id TO new_author_id;
    ALTER TABLE book RENAME COLUMN old_author_id TO author_id;
    ALTER TABLE book ADD CONSTRAINT book_author_id_not_null CHECK (author_id IS NOT NULL) NOT VALID;
    ALTER TABLE book ADD CONSTRAINT book_author_id_fkey FOREIGN KEY (author_id) REFERENCES author NOT VALID
$$);
ALTER TABLE book VALIDATE CONSTRAINT book_author_id_fkey;
ALTER TABLE book VALIDATE CONSTRAINT book_author_id_not_null;
