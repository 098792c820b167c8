-- Only the library of version 0.1.0 calls these.
DROP FUNCTION IF EXISTS uidgen.acquire_worker(text, text, bigint, bigint, bigint, integer, integer, integer, integer, integer, text, boolean, boolean, bigint, bigint, bigint, text, integer, integer);
DROP FUNCTION IF EXISTS uidgen.renew_worker(integer, integer, bigint, bigint, bigint, bigint);
