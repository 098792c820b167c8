/* The script of uidgen_tools: the Makefile makes it of the parts in script/tools/. */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION uidgen_tools" to load this file. \quit

