-- A server that does not preload uidgen: what needs no keeper works, and the rest says what is missing.
\set VERBOSITY terse
CREATE EXTENSION uidgen;
SELECT uid_next();
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM uidgen.diagnose();
SELECT state FROM uidgen.status;
SELECT uid_timestamp(1, 'default');
-- The registry of a fleet needs no library.
CREATE EXTENSION uidgen_registry;
