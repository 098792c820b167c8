-- It has more columns.
DROP FUNCTION IF EXISTS uidgen.begin_segment_call(bytea);
