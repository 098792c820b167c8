# A role that may do nothing but create objects in the schema of the extension fills it with
# operators, functions, types, casts and views that fit better than pg_catalog's, before a
# superuser creates or updates the extension there: nothing of that is bound or run.
# A script without its search path is the control: it falls into the trap.

use File::Basename 'dirname';
use FindBin;
use IPC::Run;
use lib "$FindBin::RealBin/../perl";
use Release;
use Twins;
use UidgenTest;

# ---- a server of our own, with the scripts of two versions ----

install_scripts($OLD);
install_release($NEW);
my ($folder, $scripts) = ($FOLDER, $SCRIPTS);

my $node = PostgreSQL::Test::Cluster->new('main', install_path => dirname($BINDIR));
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'uidgen'
uidgen.window = 300ms
log_statement = none
autovacuum = off
END
$node->start;

# What this test asks is not to be trapped; what it tries says so.
$ENV{PGOPTIONS} = '-c search_path=pg_catalog';
my $HOSTILE_PATH = 'SET search_path = public, pg_catalog';

$node->safe_psql('postgres', "CREATE EXTENSION uidgen SCHEMA public; CREATE ROLE mallory LOGIN; CREATE ROLE owner LOGIN CREATEROLE");
$node->safe_psql('postgres', 'CREATE DATABASE clean');
my $CREATE = "CREATE EXTENSION uidgen SCHEMA public VERSION '$OLD'; CREATE EXTENSION uidgen_tools SCHEMA public VERSION '$OLD'; CREATE EXTENSION uidgen_registry VERSION '$OLD'";
$node->safe_psql('clean', $CREATE);

# ---- the trap ----

# Leaves a trace, and takes what it can get.
my $TRAP = <<'SQL';
CREATE FUNCTION public.trap(what text) RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
	RAISE LOG 'trapped: %', what;
	IF (SELECT bool_and(r.rolsuper = (r.rolname = current_user)) FROM pg_roles AS r WHERE r.rolname IN (current_user, 'mallory')) THEN
		ALTER ROLE mallory SUPERUSER;
	END IF;
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	RETURN NULL;
END
$$;
SQL

# All names of the scripts that could mean something else, whatever version they are of.
my $all_scripts = join '', map { slurp_file($_) } glob "$scripts/uidgen{-,_registry-,_tools-}*.sql";
my %words = map { $_ => 1 } $all_scripts =~ /\b([a-z_][a-z_0-9]*)\b/g;
my %signs = map { $_ => 1 } $all_scripts =~ m{(?<![-+*/<>=~!@#%^&|`?])([-+*/<>=~!@#%^&|`?]{1,3})(?![-+*/<>=~!@#%^&|`?])}g,
  qw(+ - * / % < <= = >= > <> || ~ ~~ @> <@ ->);
my $words = join ',', sort keys %words;
my $signs = join ',', map { qq("$_") } grep { $_ ne '=>' } sort keys %signs;

# The statements that fill schema public.  Where names mean pg_catalog's alone, an expression of
# the scripts has types at each of its nodes for which pg_catalog's operator or function can be
# found.  So the first that could be bound to another one is of a name, and of types, that
# pg_catalog can serve, and those are what the hostile ones are made for.  They return what
# pg_catalog's do, so that nobody notices.
$node->safe_psql('clean', <<"SQL");
CREATE SCHEMA generator;
CREATE TABLE generator.hostile (n serial, name name, arguments text[], kind text, result text, returns_set boolean,
	UNIQUE (name, arguments));
CREATE FUNCTION generator.statements() RETURNS SETOF text LANGUAGE plpgsql SET search_path = pg_catalog AS \$f\$
DECLARE
	types CONSTANT regtype[] := '{smallint,integer,bigint,numeric,real,double precision,text,varchar,name,oid,regclass,regproc,regprocedure,regtype,regnamespace,interval,timestamptz,timestamp,date,boolean,bytea,uuid,"\\"char\\"",int8range,text[],integer[],bigint[]}';
	op text;
	l regtype;
	r regtype;
	result regtype;
	n integer := 0;
	i integer;
	p record;
	word text;
BEGIN
	FOREACH op IN ARRAY '{$signs}'::text[] LOOP
		CONTINUE WHEN NOT EXISTS (SELECT FROM pg_operator AS o WHERE o.oprname = op);
		FOREACH l IN ARRAY types LOOP
			FOREACH r IN ARRAY types LOOP
				BEGIN
					EXECUTE format('SELECT pg_typeof(NULL::%s OPERATOR(pg_catalog.%s) NULL::%s)', l, op, r) INTO result;
				EXCEPTION WHEN undefined_function OR ambiguous_function OR indeterminate_datatype THEN
					CONTINUE;
				END;
				n := n + 1;
				RETURN NEXT format('CREATE FUNCTION public.binary_%s(%s, %s) RETURNS %s LANGUAGE plpgsql AS %L', n, l, r, result,
					format('BEGIN PERFORM public.trap(%L); RETURN \$1 OPERATOR(pg_catalog.%s) \$2; END', concat_ws(' ', l, op, r), op));
				RETURN NEXT format('CREATE OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = public.binary_%s)', op, l, r, n);
			END LOOP;
			CONTINUE WHEN op NOT IN ('-', '+', '~', '\@');
			n := n + 1;
			RETURN NEXT format('CREATE FUNCTION public.unary_%s(%s) RETURNS %s LANGUAGE plpgsql AS %L', n, l, l,
				format('BEGIN PERFORM public.trap(%L); RETURN \$1; END', concat_ws(' ', op, l)));
			RETURN NEXT format('CREATE OPERATOR public.%s (RIGHTARG = %s, FUNCTION = public.unary_%s)', op, l, n);
		END LOOP;
	END LOOP;

	-- Functions of each name: with the same arguments, and with those that are cast to them.
	FOR p IN SELECT f.proname, f.prokind, f.proretset, f.pronargs, ARRAY(SELECT a::regtype FROM unnest(f.proargtypes) WITH ORDINALITY AS u (a, place) ORDER BY place) AS args,
				f.prorettype::regtype AS ret,
				f.provariadic = '"any"'::regtype AS takes_any,
				EXISTS (SELECT FROM unnest(f.proargtypes) AS a JOIN pg_type AS t ON t.oid = a WHERE t.typtype = 'p') AS polymorphic
			FROM pg_proc AS f
			WHERE f.pronamespace = 'pg_catalog'::regnamespace AND f.proname = ANY ('{$words}') AND f.prokind IN ('f', 'a')
				AND NOT EXISTS (SELECT FROM unnest(f.proargtypes) AS a JOIN pg_type AS t ON t.oid = a
					WHERE t.typtype = 'p' AND t.typname !~ '^any')
				AND NOT EXISTS (SELECT FROM pg_aggregate AS g WHERE g.aggfnoid = f.oid AND g.aggkind <> 'n')
	LOOP
		IF p.polymorphic THEN
			INSERT INTO generator.hostile (name, arguments, kind, result, returns_set)
				SELECT p.proname, a.arguments, p.prokind,
						CASE WHEN p.ret::text ~ '^any.*array' THEN e::text || '[]' WHEN p.ret::text ~ '^any' THEN e::text ELSE p.ret::text END, p.proretset
					FROM unnest(types) AS e, generate_series(0, CASE WHEN p.takes_any THEN 7 ELSE 0 END) AS more,
						LATERAL (SELECT coalesce(array_agg(CASE WHEN t::text ~ '^any.*array' THEN e::text || '[]' WHEN t::text ~ '^any.*range' THEN 'int8range'
								WHEN t::text ~ '^"?any' THEN e::text ELSE t::text END ORDER BY place), '{}') || array_fill(e::text, ARRAY[more]) AS arguments
							FROM (SELECT t, place FROM unnest(p.args) WITH ORDINALITY AS u (t, place)) AS u) AS a
					WHERE e::text !~ '\\[\\]\$' OR p.takes_any
				ON CONFLICT DO NOTHING;
			CONTINUE;
		END IF;
		INSERT INTO generator.hostile (name, arguments, kind, result, returns_set)
			VALUES (p.proname, p.args::text[], p.prokind, p.ret::text, p.proretset)
			ON CONFLICT (name, arguments) DO UPDATE SET kind = excluded.kind, result = excluded.result, returns_set = excluded.returns_set;
		FOR i IN 1 .. p.pronargs LOOP
			INSERT INTO generator.hostile (name, arguments, kind, result, returns_set)
				SELECT h.name, h.arguments[:i - 1] || s::text || h.arguments[i + 1:], h.kind, h.result, h.returns_set
					FROM generator.hostile AS h, unnest(types) AS s
					WHERE h.name = p.proname AND h.arguments[i] = p.args[i]::text AND cardinality(h.arguments) = p.pronargs
						AND EXISTS (SELECT FROM pg_cast AS c WHERE c.castsource = s AND c.casttarget = p.args[i] AND c.castcontext = 'i')
				ON CONFLICT DO NOTHING;
		END LOOP;
	END LOOP;
	UPDATE generator.hostile AS h SET result = 'text'
		WHERE EXISTS (SELECT FROM pg_type AS t WHERE t.oid = h.result::regtype AND t.typtype = 'p');
	FOR p IN SELECT h.*, array_to_string(h.arguments, ', ') AS args,
				(SELECT string_agg('\$' || g, ', ') FROM generate_series(1, cardinality(h.arguments)) AS g) AS numbers FROM generator.hostile AS h
	LOOP
		word := format('PERFORM public.trap(%L)', format('%s(%s)', p.name, p.args));
		IF p.kind = 'a' THEN
			RETURN NEXT format('CREATE FUNCTION public.state_%s(%s) RETURNS %s LANGUAGE plpgsql AS %L', p.n,
				concat_ws(', ', p.result, nullif(p.args, '')), p.result, format('BEGIN %s; RETURN \$1; END', word));
			RETURN NEXT format('CREATE AGGREGATE public.%I(%s) (SFUNC = public.state_%s, STYPE = %s)', p.name, coalesce(nullif(p.args, ''), '*'), p.n, p.result);
		ELSE
			RETURN NEXT format('CREATE FUNCTION public.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L', p.name, p.args,
				CASE WHEN p.returns_set THEN 'SETOF ' ELSE '' END || p.result,
				CASE WHEN p.returns_set THEN format('BEGIN %s; RETURN QUERY SELECT pg_catalog.%I(%s); END', word, p.name, p.numbers)
					ELSE format('BEGIN %s; RETURN pg_catalog.%I(%s); END', word, p.name, p.numbers) END);
		END IF;
	END LOOP;

	-- Types by the names of types, which are cast from and to these by themselves.
	FOR p IN SELECT t.typname, t.oid::regtype AS real, row_number() OVER (ORDER BY t.oid) AS n
		FROM pg_type AS t
		WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype = 'b' AND t.typelem = 0
			AND (t.typname = ANY ('{$words}') OR t.oid = ANY (types))
	LOOP
		IF p.n % 3 = 0 THEN
			RETURN NEXT format('CREATE DOMAIN public.%I AS pg_catalog.int8', p.typname);
		ELSE
			RETURN NEXT format('CREATE TYPE public.%I AS ENUM (''a'')', p.typname);
			RETURN NEXT format('CREATE FUNCTION public.cast_from_%s(public.%I) RETURNS %s LANGUAGE plpgsql AS %L', p.n, p.typname, p.real,
				format('BEGIN PERFORM public.trap(%L); RETURN NULL; END', 'cast to ' || p.real));
			RETURN NEXT format('CREATE CAST (public.%I AS %s) WITH FUNCTION public.cast_from_%s(public.%I) AS IMPLICIT', p.typname, p.real, p.n, p.typname);
			RETURN NEXT format('CREATE FUNCTION public.cast_to_%s(%s) RETURNS public.%I LANGUAGE plpgsql AS %L', p.n, p.real, p.typname,
				format('BEGIN PERFORM public.trap(%L); RETURN NULL; END', 'cast from ' || p.real));
			RETURN NEXT format('CREATE CAST (%s AS public.%I) WITH FUNCTION public.cast_to_%s(%s) AS IMPLICIT', p.real, p.typname, p.n, p.real);
		END IF;
	END LOOP;
	RETURN NEXT 'CREATE TYPE public.bigint AS (a pg_catalog.int4)';
	RETURN NEXT 'CREATE TYPE public.integer AS (a pg_catalog.int4)';

	-- Views by the names of catalogs, and of the registry's tables.
	FOR p IN SELECT c.relname, (SELECT string_agg(format('c.%I', a.attname), ', ') FROM pg_attribute AS a
				WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.atttypid <> 'anyarray'::regtype) AS columns
		FROM pg_class AS c
		WHERE c.relnamespace = 'pg_catalog'::regnamespace AND c.relkind IN ('r', 'v') AND c.relname = ANY ('{$words}')
	LOOP
		RETURN NEXT format('CREATE VIEW public.%I AS SELECT %s, public.trap(%L) AS trapped FROM pg_catalog.%I AS c', p.relname, p.columns, p.relname, p.relname);
	END LOOP;
	FOREACH word IN ARRAY '{worker_node,registry,segment,fleet}'::text[] LOOP
		RETURN NEXT format('CREATE VIEW public.%I AS SELECT public.trap(%L) AS trapped', word, word);
	END LOOP;

	-- The extension's own names, with other arguments.
	FOR p IN SELECT DISTINCT f.proname, t.one FROM pg_proc AS f, unnest(types) AS t (one)
		WHERE f.pronamespace = 'public'::regnamespace AND f.proname ~ '^uid_' AND NOT EXISTS (SELECT FROM pg_proc AS g
			WHERE g.pronamespace = 'public'::regnamespace AND g.proname = f.proname AND oidvectortypes(g.proargtypes) = t.one::text)
	LOOP
		RETURN NEXT format('CREATE FUNCTION public.%I(%s) RETURNS text LANGUAGE plpgsql AS %L', p.proname, p.one,
			format('BEGIN RETURN public.trap(%L); END', format('%s(%s)', p.proname, p.one)));
	END LOOP;
END
\$f\$;
SQL
my $plant = "$folder/plant.sql";
my $statements = $node->safe_psql('clean', 'SELECT s || \';\' FROM generator.statements() AS s');
append_to_file($plant, "SET synchronous_commit = off;\nSET check_function_bodies = off;\n$TRAP$statements\n");
note(($statements =~ tr/\n//) . ' hostile statements');
cmp_ok(scalar(() = $statements =~ /^CREATE OPERATOR/mg), '>', 1000, 'there are hostile operators');
cmp_ok(scalar(() = $statements =~ /^CREATE FUNCTION public\.(?!binary_|unary_|state_|cast_)/mg), '>', 1000, 'and functions');

# Begin to fill schema public of a database, as a role that may create there and nothing else.
sub begin_to_plant
{
	my ($database) = @_;
	$node->safe_psql($database, 'GRANT CREATE ON SCHEMA public TO PUBLIC');
	my $said = '';
	return { said => \$said, run => IPC::Run::start(
		[ $node->installed_command('psql'), '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database) . ' user=mallory', '-f', $plant ],
		'<', \undef, '>&', \$said, IPC::Run::timeout(4 * $PostgreSQL::Test::Utils::timeout_default)) };
}

# An installation that was clean when it was made.
$node->safe_psql('postgres', 'CREATE DATABASE trap');
$node->safe_psql('postgres', 'CREATE DATABASE planted_later');
$node->safe_psql('planted_later', $CREATE);
foreach my $planting (map { begin_to_plant($_) } qw(trap planted_later))
{
	$planting->{run}->finish;
	is(${ $planting->{said} }, '', 'a role without rights can make them all');
}

# Another such database; sessions there find what is hostile first.
sub trapped_database
{
	my ($name, $options) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE trap " . ($options // ''));
	$node->safe_psql('postgres', "ALTER DATABASE $name SET search_path = public, pg_catalog");
}
trapped_database($_) foreach qw(fresh updated newest fleet made);
trapped_database($_, 'OWNER owner') foreach qw(script edition);
trapped_database('schema');
$node->safe_psql('schema', "ALTER SCHEMA public RENAME TO evil; ALTER SCHEMA evil OWNER TO mallory; CREATE SCHEMA public; $TRAP");

# ---- what is looked at ----

# What the extensions' objects, or those of their schemas, and their rules, constraints,
# triggers and defaults depend on besides each other and pg_catalog.
sub bindings
{
	my ($database) = @_;
	return $node->safe_psql($database, <<'END');
WITH RECURSIVE own (classid, objid) AS (
	SELECT d.classid, d.objid FROM pg_depend AS d, pg_extension AS e
		WHERE e.extname IN ('uidgen', 'uidgen_registry', 'uidgen_tools') AND d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
	UNION
	SELECT d.classid, d.objid FROM pg_depend AS d
		WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid IN (to_regnamespace('uidgen'), to_regnamespace('uidgen_registry'), to_regnamespace('uidgen_tools'), to_regnamespace('uidgen_history'))
	UNION
	SELECT 'pg_proc'::regclass, p.oid FROM pg_proc AS p WHERE p.proowner = 'owner'::regrole
	UNION
	SELECT d.classid, d.objid FROM own JOIN pg_depend AS d ON d.refclassid = own.classid AND d.refobjid = own.objid
		WHERE d.deptype IN ('i', 'a'))
SELECT DISTINCT pg_describe_object(d.classid, d.objid, 0) || ' -> ' || pg_describe_object(d.refclassid, d.refobjid, 0)
FROM own JOIN pg_depend AS d USING (classid, objid),
	pg_identify_object(d.refclassid, d.refobjid, 0) AS i
WHERE (d.refclassid, d.refobjid) NOT IN (SELECT classid, objid FROM own)
	AND coalesce(i.schema NOT IN ('pg_catalog', 'uidgen', 'uidgen_registry', 'uidgen_tools', 'uidgen_history'),
		d.refclassid NOT IN ('pg_namespace'::regclass, 'pg_extension'::regclass, 'pg_language'::regclass, 'pg_authid'::regclass))
ORDER BY 1
END
}

sub is_unbound
{
	my ($database, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(bindings($database), '', "$name: nothing is bound to what is hostile");
}

# No hostile function has run since, and it would have said so.
sub is_untouched
{
	my ($log, $name) = @_;
	my @traces = log_since($node, $log) =~ /LOG:  trapped: (.*)/g;
	my %count;
	$count{$_}++ foreach @traces;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(!@traces, "$name: none of it has run") or diag(map { "  $_: $count{$_} times\n" } sort keys %count);
	is($node->safe_psql('postgres', q{SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'}), 'f', '... and the role is no superuser');
}

# Run a command in a session whose search path is hostile, which it leaves as it was.
sub runs
{
	my ($database, $command, $name) = @_;
	my ($out, $err);
	my $status = $node->psql($database, <<"END", stdout => \$out, stderr => \$err, on_error_stop => 1);
SET application_name = 'under attack';
$HOSTILE_PATH;
CREATE TEMP TABLE pg_class (a pg_catalog.int4);
CREATE TEMP TABLE worker_node (a pg_catalog.int4);
CREATE TYPE pg_temp.text AS ENUM ('a');
CREATE DOMAIN pg_temp.interval AS pg_catalog.int4;
\\o $folder/out
$command;
\\o
SHOW search_path;
END
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($status, 0, "$name: it works") or diag($err);
	is($out, 'public, pg_catalog', '... and leaves the search path as it was');
}

my $last_registry = 'postgres';

# Ids come from the registry in this database, and the grant is renewed.
sub draws
{
	my ($database, $name) = @_;
	$last_registry eq $database or change_setting($node, 'uidgen.database', $last_registry = $database);
	my $schema = $database eq 'schema' ? 'evil' : 'public';
	my $id = $node->safe_psql($database, "SELECT $schema.uid_next()");
	my $renewals = $node->safe_psql($database, 'SELECT renewals FROM uidgen.status');
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	cmp_ok($id, '>', 0, "$name: ids are issued");
	ok(poll_until(sub { $node->safe_psql($database, "SELECT $schema.uid_next(); SELECT renewals > $renewals + 1 FROM uidgen.status") =~ /t$/ }),
		'... and the grant is renewed');
}

# Each view and function, called by a superuser who names it in full.
sub calls_all
{
	my ($database, $schema, $kind) = @_;
	my ($from, $to) = map { "'$_-01-01'::pg_catalog.timestamptz" } 2026, 2027;
	my ($past, $until) = map { "'2025-$_-01'::pg_catalog.timestamptz" } '03', '06';
	my ($layout, $one) = ("'default'::pg_catalog.text", "'1'::pg_catalog.int8");
	my $calls = <<"END";
$HOSTILE_PATH;
TABLE uidgen_registry.worker_node; TABLE uidgen_registry.registry; TABLE uidgen_registry.segment; TABLE uidgen.presets; TABLE uidgen.status;
SELECT message FROM uidgen.diagnose();
TABLE uidgen_registry.fleet; TABLE uidgen_registry.status; TABLE uidgen.segment_status;
SELECT S.uid_between($one, $from, $to), S.uid_between($one, $from, $to, $layout), S.uid_range($from, $to), S.uid_range($from, $to, $layout);
SELECT uidgen.first_since($from), uidgen.last_before($to, $layout), S.uid_min($from), S.uid_max($from, $layout);
SELECT S.uid_timestamp(S.uid_min($from)), S.uid_parse(S.uid_min($from)), S.uid_to_text($one), S.uid_from_text(S.uid_to_text($one));
SELECT S.uid_to_uuid(S.uid_min($from)), S.uid_from_uuid(S.uid_to_uuid(S.uid_min($from))), S.uid_scramble($one, '12345678901234567890'::pg_catalog.bytea);
SELECT * FROM S.uid_layout(); SELECT * FROM S.uid_layout_info(); SELECT * FROM uidgen.layout_numbers(); SELECT * FROM uidgen.layout_numbers($layout);
CREATE TABLE S.item (id pg_catalog.int8) PARTITION BY RANGE (id);
SELECT S.uid_partitions('S.item'::pg_catalog.regclass, $from, $to, '1 month'::pg_catalog.interval, true);
SELECT S.uid_partitions('S.item'::pg_catalog.regclass, $from, $to, '7 days'::pg_catalog.interval, false, $layout);
CREATE TABLE S.past (id pg_catalog.int8) PARTITION BY RANGE (id);
SELECT S.uid_partitions('S.past'::pg_catalog.regclass, $past, $until, '1 month'::pg_catalog.interval, true);
SELECT S.uid_drop_partitions('S.past'::pg_catalog.regclass, $until, false);
SELECT S.uid_drop_partitions('S.past'::pg_catalog.regclass, $until, true, $layout, true);
SELECT S.uid_time_expression(), S.uid_time_expression('id'::pg_catalog.name, $layout);
CREATE TABLE S.parent (id pg_catalog.int4 PRIMARY KEY GENERATED ALWAYS AS IDENTITY);
CREATE TABLE S.child (parent_id pg_catalog.int2 REFERENCES S.parent);
SELECT S.uid_adopt('S.parent'::pg_catalog.regclass, 'id'::pg_catalog.name);
SELECT S.uid_adopt('S.parent'::pg_catalog.regclass, 'id'::pg_catalog.name, true);
INSERT INTO S.parent DEFAULT VALUES;
DROP TABLE S.parent, S.child;
SELECT uidgen_registry.create_segment('s'::pg_catalog.text, restart => true); SELECT uidgen_registry.raise_segment('s'::pg_catalog.text, '100'::pg_catalog.int8);
SELECT S.uid_segment_next('s'::pg_catalog.text);
SELECT uidgen_registry.drop_segment('s'::pg_catalog.text), (uidgen.diagnose()).message, uidgen.library_version(), uidgen_registry.registry_history(), uidgen_registry.node_functions();
SELECT uidgen_registry.local_grants(l.layout, 0, 5), uidgen_registry.tick_at($from, l.unit, l.epoch), uidgen_registry.tick_time($one, l.unit, l.epoch), uidgen_registry.microseconds($from)
	FROM uidgen_registry.registry AS l;
SELECT S.uid_next(), S.uid_next(0), S.uid_next_batch(3, 0), S.uid_reserve(3, 0);
END
	$calls =~ s/\bS\./$schema./g;
	$calls = join ' ', grep { !/uidgen_registry|uidgen\.(?:segment_)?status|uid_segment_next|uid_time_expression/ } split /(?<=;)\s+/, $calls =~ s/uidgen\.layout_numbers/uidgen_tools.layout_numbers/gr if $kind eq 'edition';
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $status = $node->psql($database, $calls, stdout => \my $out, stderr => \my $err, on_error_stop => 1);
	is($status, 0, '... and all views and functions work') or diag($err);
}

# What a node of a fleet calls, in a database whose registry is shared.
sub serves_nodes
{
	my ($database, $name) = @_;
	my $layout = $node->safe_psql($database, 'SELECT layout FROM uidgen_registry.registry');
	my $max = '9223372036854775807';
	my @as_node = (connstr => $node->connstr($database) . ' user=node');
	my ($worker, $until) = split /\|/, $node->safe_psql($database, <<"END", @as_node);
$HOSTILE_PATH;
SELECT worker, last_tick FROM uidgen_registry.lease('h', '$layout', '1'::pg_catalog.int8, window_ticks => '1000'::pg_catalog.int8)
END
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	like($worker, qr/^\d+$/, "$name: a node gets a worker id");
	like($node->safe_psql($database, <<"END", @as_node), qr/^\d+\nt\nt\n1\|1000$/, '... and all else that it calls for');
$HOSTILE_PATH;
SELECT last_tick FROM uidgen_registry.lease_renew(0, $worker, 1, $until, 2, 0, 1000, $max, $max);
SELECT done FROM uidgen_registry.lease_release(0, $worker, '{2}', $max);
SELECT done FROM uidgen_registry.node_import(0, '{}', '{}', $max);
SELECT first_value, last_value FROM uidgen_registry.segment_fetch('s', 0, 0, 0, '{}', -1, $max);
END
	is($node->safe_psql($database, "$HOSTILE_PATH; SELECT worker_id, state FROM uidgen_registry.fleet; SELECT datacenter_id, running FROM uidgen_registry.status"),
		"$worker|released\n0|0", '... and is seen');
}

# ---- created ----

my $log = -s $node->logfile;
foreach my $kind (kinds())
{
	foreach ([ 'fresh', 'public' ], [ 'schema', 'evil' ])
	{
		my ($database, $schema) = @$_;
		if ($kind eq 'edition')
		{
			next if $schema ne 'public';
			$database = 'edition';
			# For an upgrade once more
			runs_script($database, "$scripts/uidgen-$_--$OLD.sql", "created in hostile schema $schema, $_") foreach qw(sql sql-tools sql sql-tools);
			is($node->safe_psql($database, 'SELECT uidgen.set_up(worker_id => 7) IS NOT NULL', connstr => $node->connstr($database) . ' user=owner'), 't', '... and set up');
		}
		else
		{
			runs($database, $CREATE =~ s/SCHEMA public/SCHEMA $schema/gr, "created in hostile schema $schema");
			draws($database, $schema);
		}
		is_unbound($database, $schema);
		calls_all($database, $schema, $kind);
		is_untouched($log, "$kind, created in schema $schema");
	}
}
runs('made', 'CREATE EXTENSION uidgen SCHEMA public', 'without a registry');
draws('made', 'a registry that the keeper makes');
is_unbound('made', 'a registry that the keeper makes');
runs('fleet', <<'END', 'a shared registry');
CREATE EXTENSION uidgen_registry;
SELECT uidgen_registry.share_registry(), uidgen_registry.end_quarantine();
CREATE ROLE node LOGIN;
SELECT uidgen_registry.grant_node('node'), uidgen_registry.create_segment('s')
END
is_unbound('fleet', 'a shared registry');
serves_nodes('fleet', 'a shared registry');
is_untouched($log, 'created');

$node->safe_psql('clean', 'DROP EXTENSION uidgen, uidgen_tools, uidgen_registry');
$node->safe_psql('clean', 'CREATE FUNCTION public.uid_segment_next(text) RETURNS bigint LANGUAGE sql AS $$SELECT 1$$');
fails_with($node, 'CREATE EXTENSION uidgen SCHEMA public', '42723', qr/"uid_segment_next" already exists with same argument types/,
	'a function that is there already is not taken for one of the extension', 'clean');
$node->safe_psql('clean', 'DROP FUNCTION public.uid_segment_next(text); CREATE FUNCTION public.uid_layout_info(a text DEFAULT NULL, b text DEFAULT NULL) RETURNS bigint LANGUAGE sql AS $$SELECT 1$$');
fails_with($node, 'CREATE EXTENSION uidgen SCHEMA public', '42725', qr/function public\.uid_layout_info\(\) is not unique/,
	'nor one that can be called as well', 'clean');

# ---- updated ----

my $catalog = slurp_file("$FindBin::RealBin/../upgrade/catalog.sql");
$node->safe_psql('newest', 'CREATE EXTENSION uidgen SCHEMA public; CREATE EXTENSION uidgen_tools SCHEMA public; CREATE EXTENSION uidgen_registry');
my $newest = $node->safe_psql('newest', $catalog);

# Without the privileges at first, which a role has by default or by a grant.
sub lines_of
{
	my ($text) = @_;
	return map { s/ \| initially .*//r => 1 } split /\n/, $text;
}

# Created as the present version among what is hostile, or before it.
$node->safe_psql('updated', $CREATE);
foreach my $database (qw(updated planted_later))
{
	my $before = -s $node->logfile;
	runs($database, 'ALTER EXTENSION uidgen UPDATE; ALTER EXTENSION uidgen_tools UPDATE; ALTER EXTENSION uidgen_registry UPDATE', "$database to $NEW");
	is_unbound($database, $database);
	my %newest = lines_of($newest);
	my %now = lines_of($node->safe_psql($database, $catalog));
	my @differences = ((map { "  updated: $_\n" } grep { !$newest{$_} } sort keys %now), map { "  new: $_\n" } grep { !$now{$_} } sort keys %newest);
	ok(!@differences, '... and the catalogs are as those of a new one') or diag(@differences);
	is_untouched($before, $database);
}

# ---- a registry without the extension ----

# Run a script as the owner of the database, whose session has a hostile search path.
sub runs_script
{
	my ($database, $script, $name, $search_path) = @_;
	$search_path //= 'public, pg_catalog';
	my $output = '';
	IPC::Run::run([ $node->installed_command('psql'), '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database) . ' user=owner',
			'-c', "SET search_path = $search_path", '-f', $script, '-c', 'SHOW search_path' ], '<', \undef, '>&', \$output);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($output, "$search_path\n", "$name: it works, and leaves the search path as it was");
}

sub shares
{
	my ($database, $name) = @_;
	$node->safe_psql($database, <<"END", connstr => $node->connstr($database) . ' user=owner');
$HOSTILE_PATH;
SELECT uidgen_registry.share_registry('default'), uidgen_registry.end_quarantine();
SELECT uidgen_registry.grant_node('node'), uidgen_registry.create_segment('s');
END
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	serves_nodes($database, $name);
}

$log = -s $node->logfile;
runs_script('script', "$scripts/uidgen-registry--$OLD.sql", 'the script of a registry');
is_unbound('script', 'the script of a registry');
shares('script', 'the script of a registry');
is_untouched($log, 'the script of a registry');

runs_script('script', "$scripts/uidgen-registry--$OLD--$NEW.sql", 'the script that updates it');
is_unbound('script', 'the script that updates it');
is_untouched($log, 'the script that updates it');

# ---- a search path that does not help ----

# What stays is exact by itself.  Only what the script runs and forgets is trapped then.
append_to_file("$scripts/uidgen--without.sql", slurp_file("$scripts/uidgen--$NEW.sql") =~ s/^SET LOCAL search_path .*\n//mr);
$node->safe_psql('postgres', 'CREATE DATABASE without TEMPLATE trap');
$log = -s $node->logfile;
$node->safe_psql('without', "CREATE EXTENSION uidgen SCHEMA public VERSION 'without'; ALTER ROLE mallory NOSUPERUSER");
like(log_since($node, $log), qr/LOG:  trapped/, 'a script without a search path of its own would run what is hostile');
is_unbound('without', '... but by its casts');

done_testing();
