/* The script of uidgen_registry: the Makefile makes it of the parts in script/registry/. */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION uidgen_registry" to load this file. \quit

-- How a script that updates is made of the same parts: script/uidgen/00_psql.sql.  All parts that are not for a local
-- registry are also a script by themselves, for a server on which no extension can be installed.
