/* The script of uidgen: the Makefile makes it of the parts in script/uidgen/. */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION uidgen" to load this file. \quit

-- A script that updates to this version is made of the same parts.  It replaces each function and view, and leaves out
-- what can be made only once, and privileges, since an administrator may have changed those; but a statement below the mark [since VERSION] is
-- there for a version that is older, and the one below [always] for each (script/update.awk).
-- What the former version has to lose or to change is in script/uidgen/update/OLD: before.sql comes after
-- 04_library.sql, after.sql at the end.
--
-- The owner of a database may run it, and then it runs as superuser all the same (trusted).  So it reads no row and calls no
-- function that somebody else may have made, but PostgreSQL's own and what it has made itself.
