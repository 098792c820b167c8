-- The last test: what install.sql made in the database of the registry goes, where that is another one.
SELECT made_by_us AND current_database() <> coalesce(current_setting('uidgen.database', true), 'postgres') AS leaves, coalesce(current_setting('uidgen.database', true), 'postgres') AS registry FROM installed \gset
\if :leaves
\c :"registry"
SET client_min_messages = error;	-- a server that issues ids would warn
DROP EXTENSION uidgen_registry;
\endif
SELECT count(*) FROM pg_extension WHERE extname = 'uidgen_registry' AND :'leaves';
