--
-- The schema of the registry and of what operators use; part of every script.
--

-- What is parsed while this script runs (function bodies that begin with RETURN or BEGIN
-- ATOMIC, views, constraints, DO blocks) is bound to what this search path finds, for good,
-- and a keeper runs it as superuser.  In another schema anybody may have put an operator or a
-- function that fits better than pg_catalog's.  So there is no such schema in the path, and
-- what goes to the schema given at CREATE EXTENSION is named in full.
SET LOCAL search_path = pg_catalog, pg_temp;
-- What is there already is no news to whoever runs a script twice.
SET LOCAL client_min_messages = warning;

-- The registry and what operators use are in schema uidgen; the uid_* functions go to the
-- schema given at CREATE EXTENSION.  If a schema uidgen exists already, this fails: objects
-- that somebody else made must not be mixed with functions that run as superuser.
-- [since 0.4.0]
CREATE SCHEMA uidgen;
COMMENT ON SCHEMA uidgen IS 'registry of worker ids, status and presets of uidgen';
-- [since 0.4.0]
GRANT USAGE ON SCHEMA uidgen TO PUBLIC;

