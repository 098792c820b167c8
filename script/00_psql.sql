/* The script of uidgen: the Makefile makes it of the parts in script/. */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION uidgen" to load this file. \quit

-- A script that updates to this version is made of the same parts.  It replaces each function and
-- view, and leaves out a statement below the mark [since VERSION] where the former version has that
-- already: what can be made only once, and privileges, since an administrator may have changed those.
-- What the former version has to lose or to change is in script/update/OLD: before.sql comes after
-- 04_library.sql, after.sql at the end.
--
-- Some parts are also a script by themselves, for a server on which no extension can be installed: the
-- shared registry of a fleet.  They have only SQL and PL/pgSQL.

