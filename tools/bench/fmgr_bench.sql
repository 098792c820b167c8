-- The functions of fmgr_bench.c; :module is its library.  Arguments of the
-- function that is timed are given as texts.

CREATE FUNCTION bench_clock() RETURNS bigint
LANGUAGE C VOLATILE AS :'module', 'bench_clock';
COMMENT ON FUNCTION bench_clock() IS 'the monotonic clock, in nanoseconds';

CREATE FUNCTION bench_cpu_clock() RETURNS bigint
LANGUAGE C VOLATILE AS :'module', 'bench_cpu_clock';
COMMENT ON FUNCTION bench_cpu_clock() IS 'the processor time of this session, in nanoseconds';

CREATE FUNCTION bench_empty() RETURNS bigint
LANGUAGE C VOLATILE STRICT AS :'module', 'bench_empty';
COMMENT ON FUNCTION bench_empty() IS 'does nothing: what a call costs by itself';

CREATE FUNCTION bench_empty_trigger() RETURNS trigger
LANGUAGE C VOLATILE AS :'module', 'bench_empty_trigger';
COMMENT ON FUNCTION bench_empty_trigger() IS 'leaves the row as it is: what a trigger costs by itself';

CREATE FUNCTION bench_ns(function regprocedure, calls bigint, VARIADIC args text[] DEFAULT '{}')
RETURNS double precision
LANGUAGE C VOLATILE STRICT AS :'module', 'bench_ns';
COMMENT ON FUNCTION bench_ns(regprocedure, bigint, text[]) IS 'nanoseconds a call; of a function that returns a set, for the whole set';

CREATE FUNCTION bench_window(function regprocedure, start bigint, length bigint, VARIADIC args text[] DEFAULT '{}')
RETURNS bigint
LANGUAGE C VOLATILE STRICT AS :'module', 'bench_window';
COMMENT ON FUNCTION bench_window(regprocedure, bigint, bigint, text[]) IS 'calls from a time of bench_clock() on, for so many nanoseconds';

CREATE FUNCTION bench_pace(function regprocedure, per_ms bigint, length bigint, VARIADIC args text[] DEFAULT '{}',
	OUT calls bigint, OUT longest bigint)
LANGUAGE C VOLATILE STRICT AS :'module', 'bench_pace';
COMMENT ON FUNCTION bench_pace(regprocedure, bigint, bigint, text[]) IS 'so many calls a millisecond, for so many nanoseconds: how many there were, and how long the longest took';
