# A name is never more than a name: what uid_adopt(), uid_partitions(), uid_drop_partitions() and uid_track_changes() print is run by \gexec and from
# a file, and what uid_number_rows() runs, with and without standard_conforming_strings, about objects whose names hold all that means something in SQL, in psql and in format().
# Nobody gains a right, and what was asked for happens.  pg_regress has no names with line ends that its files could show.
# Promise: P9
# Kills: script/tools/10_statements.sql: replace(c.relname::text, '"', '""'))) || '::pg_catalog.regclass' => c.relname::text)) || '::pg_catalog.regclass'

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use UidgenTest;

my $node = uidgen_node('main', "uidgen.database = 'names'");
$node->start;

# Each would make a superuser of somebody if it ended anywhere but at its own quote.
my @names = (
	"n\nALTER ROLE nobody SUPERUSER; --",
	"r\rALTER ROLE nobody SUPERUSER;\r--",
	"b\r\nALTER ROLE nobody SUPERUSER;\r\n/*",
	'q"; ALTER ROLE nobody SUPERUSER; --',
	"a'; ALTER ROLE nobody SUPERUSER; --",
	'p%s%I%L%1$s%% */ /* -- $$ $a$',
	'e\\\'\\"\\n\\x0a\\u000a\\',
	"\\! touch gained\n\\q\nv:nobody :'nobody' :\"nobody\"",
	"U&\"\\000a\" \x01\x1b[2J\x7f\t \xc2\x85\xe2\x80\xa8\xe2\x80\xae \xc3\xa9");

# Run psql on a file or a command; returns all that it says.
sub psql_says
{
	my ($database, $role, $options, @what) = @_;
	my $said = '';
	local $ENV{PGOPTIONS} = $options;
	IPC::Run::run([ $node->installed_command('psql'), '-XAtq', '-v', 'nobody=nobody', '-d', $node->connstr($database), ($role ne '' ? ('-U', $role) : ()), @what ],
		'<', \undef, '>&', \$said, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return $said;
}

sub ident
{
	my ($name) = @_;
	return '"' . $name =~ s/"/""/gr . '"';
}

sub literal
{
	my ($name) = @_;
	return "E'" . $name =~ s/\\/\\\\/gr =~ s/'/''/gr . "'";
}

my $database = 'names';
$node->safe_psql('postgres', 'CREATE ROLE nobody LOGIN');
$node->safe_psql('postgres', "CREATE DATABASE $database ENCODING 'UTF8' TEMPLATE template0 LOCALE 'C'");
$node->safe_psql($database, 'CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_tools');
my $number = 0;
my $control = qr/[\x00-\x09\x0b-\x1f\x7f]|\xc2\x85|\xe2\x80/;
my (@bad_lines, @wrong, @errors);
foreach my $name (@names)
{
	my $n = $number++;
	# Since 19 there is no other setting.
	my $strict = $n % 2 ? 'off' : 'on';
	$strict = 'on' if $node->pg_version >= '19devel';
	my %q = map { $_ => ident("$_ $name") } qw(s t c seq f tr con idx part pub other child ref track v parts);
	# Since 19 names of roles have no line ends.
	my ($as, $given) = map { my $role = "$_ $name"; $role =~ tr/\r\n/  / if $node->pg_version >= '19devel'; $role } qw(role given);
	@q{qw(role given)} = map { ident($_) } $as, $given;
	my ($schema, $column, $sequence, $trigger) = (literal("s $name"), literal("c $name"), ident("i $name"), ident("tf $name"));
	my $lookup = "(SELECT oid FROM pg_namespace WHERE nspname = $schema)";
	$node->safe_psql($database, "SET check_function_bodies = off; CREATE ROLE $q{role} SUPERUSER LOGIN; CREATE ROLE $q{given}; CREATE SCHEMA $q{s};
		CREATE SEQUENCE $q{s}.$q{seq};
		-- by a default, as an identity, as integer with what refers to it, as partitions
		CREATE TABLE $q{s}.$q{t} ($q{c} bigint CONSTRAINT $q{con} PRIMARY KEY DEFAULT nextval(" . literal("$q{s}.$q{seq}") . "));
		CREATE TABLE $q{s}.$q{other} ($q{c} bigint GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME $q{s}.$sequence) PRIMARY KEY);
		CREATE TABLE $q{s}.$q{ref} ($q{c} serial PRIMARY KEY);
		CREATE TABLE $q{s}.$q{child} (id integer CONSTRAINT $q{con} REFERENCES $q{s}.$q{ref});
		CREATE INDEX $q{idx} ON $q{s}.$q{child} (id);
		CREATE TABLE $q{s}.$q{part} ($q{c} bigint) PARTITION BY RANGE ($q{c});
		CREATE TABLE $q{s}.$q{parts} ($q{c} bigint PRIMARY KEY) PARTITION BY RANGE ($q{c});
		CREATE TABLE $q{s}.$q{track} ($q{c} integer, $q{t} text, PRIMARY KEY ($q{c}, $q{t}));
		INSERT INTO $q{s}.$q{t} DEFAULT VALUES; INSERT INTO $q{s}.$q{other} DEFAULT VALUES; INSERT INTO $q{s}.$q{ref} DEFAULT VALUES; INSERT INTO $q{s}.$q{child} VALUES (1);
		GRANT USAGE ON SEQUENCE $q{s}.$sequence TO $q{given} WITH GRANT OPTION;
		-- of strangers: what uses the sequence, what runs before and after, what has integers
		CREATE FUNCTION $q{s}.$q{f}(integer) RETURNS integer LANGUAGE sql AS " . literal("SELECT 1 /* nextval seq $name, t $name, ref $name */") . ";
		CREATE TABLE $q{s}.uses (u bigint DEFAULT nextval(" . literal("$q{s}.$q{seq}") . "));
		CREATE FUNCTION $q{s}.$trigger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
		CREATE TRIGGER $q{tr} BEFORE INSERT ON $q{s}.$q{t} FOR EACH ROW EXECUTE FUNCTION $q{s}.$trigger();
		CREATE TRIGGER " . ident("after $name") . " AFTER INSERT ON $q{s}.$q{t} FOR EACH ROW EXECUTE FUNCTION $q{s}.$trigger()");

	my $adopt = sub { my ($table, $execute) = @_; return "SELECT uid_adopt(" . literal("$q{s}.$q{$table}") . "::regclass, $column, $execute)" };
	my @calls = (
		[ $adopt->('t', 'false'), $adopt->('t', 'true') ],
		[ $adopt->('other', 'false'), $adopt->('other', 'true') ],
		[ $adopt->('ref', 'false'), $adopt->('ref', 'true') ],
		[ map { "SELECT uid_track_changes(" . literal("$q{s}.$q{track}") . '::regclass, ' . literal("v $name") . ", $_)" } qw(false true) ],
		map { my $call = $_; [ "$call, false, 'default')", "$call, true, 'default')" ] }
		  "SELECT uid_partitions(" . literal("$q{s}.$q{part}") . "::regclass, '2025-02-01', '2025-05-01', '1 month'",
		"SELECT uid_drop_partitions(" . literal("$q{s}.$q{part}") . "::regclass, '2025-03-01'");
	$node->safe_psql($database, "DO \$do\$ DECLARE r record; BEGIN FOR r IN SELECT c.oid FROM pg_class AS c WHERE c.relnamespace = $lookup AND c.relkind IN ('r', 'p') LOOP
		EXECUTE format('ALTER TABLE %s OWNER TO %I', r.oid::regclass, " . literal($as) . "); END LOOP; END \$do\$");

	# Names of what stands in the way are in messages.
	$node->safe_psql($database, "SET client_min_messages = error; CREATE PUBLICATION $q{pub} FOR TABLE $q{s}.$q{ref}");
	my $refused = psql_says($database, $as, '', '-c', $adopt->('ref', 'true'));
	push @wrong, "$n: $refused" if $refused !~ /ERROR:  tables that would get another type are published\nDETAIL:  .*pub / || $refused =~ $control;
	$node->safe_psql($database, "DROP PUBLICATION $q{pub}");

	# Printed and run by \gexec; printed to a file and run from that; or run by the call, and what that returns run once more.
	my $way = $n % 3;
	my $options = $strict eq 'on' ? '' : '-c standard_conforming_strings=off -c escape_string_warning=off';
	my $said = '';
	# What is dropped has to be there when that is printed.
	foreach my $round ([ @calls[ 0 .. $#calls - 1 ] ], [ $calls[-1] ])
	{
		my ($script, $file) = map { $node->basedir . "/${_}_${n}_" . @$round . '.sql' } qw(call run);
		append_to_file($script, ($way == 1 ? "\\o $file\n" : '') . join '', map { $way == 1 ? "$_->[0];\n" : $way == 0 ? "$_->[0] \\gexec\n" : "$_->[1] \\gexec\n" } @$round);
		$said .= psql_says($database, $as, $options, '-f', $script);
		next if $way != 1;
		push @bad_lines, "$n: $_" foreach grep { !/^(?:BEGIN|SET|LOCK|ALTER|CREATE|SELECT|GRANT|REVOKE|DROP|COMMIT)\b.*;$/ || /$control/ } split /\n/, slurp_file($file);
		$said .= psql_says($database, $as, $options, '-v', 'ON_ERROR_STOP=1', '-f', $file);
	}
	$said .= psql_says($database, $as, $options, '-c', 'CALL uid_number_rows(' . literal("$q{s}.$q{t}") . "::regclass, $column)") for 1 .. 2;
	my @ways_back = $said =~ /^ +(BEGIN;\n.*?^ +COMMIT;\n)/msg;
	my ($back) = grep { /ADD GENERATED ALWAYS/ } @ways_back;
	my ($untrack) = grep { /DROP FUNCTION/ } @ways_back;
	# Partitions that are there, or gone, are named once more by the call that has made them so.
	$said =~ s/^psql:\S+ ERROR:  (?:relation|table) "(?:(?!^psql:).)*?_2025_0\d" (?:already exists|does not exist)\n//msg if $way == 2;
	push @errors, "$n: $said" if $said =~ /ERROR/ || $said =~ $control;
	push @wrong, "$n: $_" foreach split /\n/, $node->safe_psql($database, "SELECT 'superuser' FROM pg_roles WHERE rolname = 'nobody' AND rolsuper
		UNION ALL SELECT 'no default: ' || c.relname FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = $column AND a.attnum > 0
			LEFT JOIN pg_attrdef AS d ON (d.adrelid, d.adnum) = (c.oid, a.attnum)
			WHERE c.relnamespace = $lookup AND c.relname IN (" . join(', ', map { literal("$_ $name") } qw(t other ref)) . ") AND (pg_get_expr(d.adbin, d.adrelid) IS DISTINCT FROM 'uid_next()' OR a.atttypid <> 'bigint'::regtype)
		UNION ALL SELECT 'partitions: ' || string_agg(c.relname, ' ') FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid WHERE c.relnamespace = $lookup
			HAVING string_agg(c.relname, ' ' ORDER BY c.relname) IS DISTINCT FROM " . literal("part ${name}_2025_03 part ${name}_2025_04") . "
		UNION ALL SELECT 'numbers: ' || count(*) FROM pg_class WHERE relnamespace = $lookup AND relkind = 'r' AND relname ~ '_number(_counter)?\$' HAVING count(*) <> 2
		UNION ALL SELECT 'position: ' || last_value FROM pg_sequences WHERE sequencename = " . literal("i $name") . " AND last_value <> 1
		UNION ALL SELECT 'no sequence' WHERE NOT EXISTS (SELECT FROM pg_sequences WHERE sequencename = " . literal("i $name") . ")
		UNION ALL SELECT 'no grant' WHERE NOT has_sequence_privilege(" . literal($given) . ", " . literal("$q{s}." . ident("i $name")) . ", 'USAGE WITH GRANT OPTION')
		UNION ALL SELECT 'child: ' || atttypid::regtype FROM pg_attribute WHERE attname = 'id' AND attrelid = " . literal("$q{s}.$q{child}") . "::regclass AND atttypid <> 'bigint'::regtype");
	# Changes are tracked, and partitions come and go: the keys and marks that are left.
	my ($track, $parts, $gone, $many_gone) = ("$q{s}.$q{track}", "$q{s}.$q{parts}", map { "$q{s}." . ident("$_ ${name}_deleted") } qw(track parts));
	$said = psql_says($database, $as, $options, '-v', 'ON_ERROR_STOP=1', '-c', 'SET client_min_messages = warning', '-c', "INSERT INTO $track VALUES (1, 'k'), (2, 'k'); UPDATE $track SET $q{c} = 3 WHERE $q{c} = 1; DELETE FROM $track; TRUNCATE $track",
		'-c', "DO \$x\$ BEGIN PERFORM uid_track_changes(" . literal($parts) . "::regclass, 'w', true), uid_partitions(" . literal($parts) . "::regclass, '2025-02-01', '2025-05-01', '1 month', true, 'default'), uid_drop_partitions(" . literal($parts) . "::regclass, '2025-03-01', true, 'default'); END \$x\$",
		'-c', "TRUNCATE $parts", '-c', "SELECT string_agg(concat_ws(' ', $q{c}, $q{t}), ',' ORDER BY $q{v}), (SELECT count(*) FROM $many_gone) FROM $gone", '-c', "SELECT uid_purge_deleted(" . literal($track) . "::regclass, now())") =~ s/^INFO:.*\n(?:    .*\n)*//mgr;
	push @wrong, "$n: tracked: $said" if $said !~ /\A1 k,2 k,3 k,\|4\n\d\n\z/;
	# The ways back, as they are shown.
	my $file = $node->basedir . "/back_$n.sql";
	append_to_file($file, ($back // 'SELECT none') . ($untrack // 'SELECT none'));
	$said = psql_says($database, $as, $options, '-v', 'ON_ERROR_STOP=1', '-f', $file);
	push @errors, "$n: the way back: $said" if $said =~ /ERROR/;
	push @wrong, "$n: tracked still" if $node->safe_psql($database, "SELECT count(*) FROM pg_attribute WHERE attrelid = " . literal($track) . '::regclass AND attnum > 0 AND NOT attisdropped') ne '2';
	push @wrong, "$n: no way back" if $node->safe_psql($database, "SELECT attidentity FROM pg_attribute WHERE attname = $column AND attrelid = " . literal("$q{s}.$q{other}") . '::regclass') ne 'a';
}
is("@bad_lines", '', 'what is printed are statements, each on one line and without control characters');
is(join("\n", @errors), '', 'they run, whatever the names are');
is(join("\n", @wrong), '', 'what was asked for has happened, and nobody has gained a right');
ok(!-e 'gained' && !-e $node->basedir . '/gained', '... nor has psql run a command');

# ---- characters that a client does not see as the server does ----

# In some encodings a quote, or a backslash, can be the second byte of a character, or a character becomes another one.
{
	# the euro sign in GBK, one of JOHAB, the yen sign in Shift JIS
	my @signs = ("\xe2\x82\xac", "\xeb\x80\xa8", "\xc2\xa5", "\xe8\xa1\xa8");
	my $bad = '"; ALTER ROLE nobody SUPERUSER; \! touch gained #';
	$node->safe_psql($database, 'CREATE SCHEMA signs');
	my ($errors, $raw) = ('', '');
	foreach my $n (0 .. $#signs)
	{
		my $table = 'signs.' . ident("t$n$signs[$n]$bad");
		$node->safe_psql($database, "CREATE TABLE $table (id bigint GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME signs." . ident("s$n$signs[$n]\\'$bad") . ')); CREATE TABLE signs.'
			  . ident("p$n$signs[$n]$bad") . ' (id bigint) PARTITION BY RANGE (id)');
	}
	foreach my $encoding (qw(GBK GB18030 BIG5 UHC JOHAB SJIS SHIFT_JIS_2004 EUC_JP LATIN1 UTF8))
	{
		local $ENV{PGCLIENTENCODING} = $encoding;
		foreach my $n (0 .. $#signs)
		{
			my $of = sub { my ($kind) = @_; return "(SELECT oid::regclass FROM pg_class WHERE relnamespace = 'signs'::regnamespace AND relkind IN ('r', 'p') AND starts_with(relname, '$kind$n'))" };
			my $file = $node->basedir . "/signs_${encoding}_$n.sql";
			psql_says($database, '', '', '-c', "\\o $file", '-c', 'SELECT uid_adopt(' . $of->('t') . ", 'id')", '-c', 'SELECT uid_partitions(' . $of->('p') . ", '2025-02-01', '2025-03-01', '1 month', false, 'default')");
			my $text = slurp_file($file);
			$raw .= "$encoding $n " if $text !~ /^[\x0a\x20-\x7e]+$/ || $text !~ /COMMIT;\nCREATE TABLE .*;\n\z/;
			# undone, so that each encoding meets the same
			append_to_file($file . '.run', $text =~ s/^COMMIT;$/ROLLBACK;/mr =~ s/^(CREATE TABLE .*;)$/BEGIN;\n$1\nROLLBACK;/mr);
			$errors .= psql_says($database, '', '-c client_min_messages=error', '-v', 'ON_ERROR_STOP=1', '-f', $file . '.run') =~ s/^\d*\n//mgr;
		}
	}
	is($raw, '', 'statements are in ASCII alone, since a file may be run by a client of another encoding');
	is($errors, '', '... which runs');

	# Roles are shared with databases of other encodings.
	$node->safe_psql('postgres', "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'; CREATE DATABASE bytes ENCODING 'SQL_ASCII' TEMPLATE template0 LOCALE 'C'");
	my $role = "z\xe9y\"\"; ROLLBACK; ALTER ROLE nobody SUPERUSER; --\x01";
	my $latin = $node->basedir . '/latin.sql';
	append_to_file($latin, "CREATE ROLE \"$role\";");
	local $ENV{PGCLIENTENCODING} = 'LATIN1';
	is(psql_says('latin', '', '', '-f', $latin), '', 'a role whose name is not text in UTF-8');
	delete $ENV{PGCLIENTENCODING};
	$node->safe_psql($database, q{CREATE TABLE signs.g (id bigint GENERATED ALWAYS AS IDENTITY);
		DO $$ DECLARE r name; BEGIN SELECT rolname INTO STRICT r FROM pg_roles WHERE starts_with(rolname, 'z'); EXECUTE format('GRANT USAGE ON SEQUENCE signs.g_id_seq TO %I', r); END $$});
	fails_with($node, "SELECT uid_adopt('signs.g', 'id')", '22021', qr/invalid byte sequence/, '... is not written', $database);

	# Kanji that Shift JIS has not become others.
	$node->safe_psql('postgres', "CREATE DATABASE euc ENCODING 'EUC_JP' TEMPLATE template0 LOCALE 'C'");
	$node->safe_psql('euc', 'SET client_min_messages = error; CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_tools');
	my $euc = $node->basedir . '/euc.sql';
	append_to_file($euc, qq{SET client_encoding = EUC_JP; CREATE TABLE "x\x8f\xb0\xa1" (id bigserial);});
	is(psql_says('euc', '', '', '-f', $euc), '', 'a name that a client has not');
	{
		local $ENV{PGCLIENTENCODING} = 'SJIS';
		like(psql_says('euc', '', '', '-c', q{SELECT uid_adopt((SELECT oid::regclass FROM pg_class WHERE starts_with(relname, 'x') AND relkind = 'r'), 'id')}),
			qr/ERROR:  a name or text cannot be written in encoding SJIS\n/, '... is not written for it');
	}

	# Nor are bytes of which nobody knows the characters, for a client that would see some of its own.
	$node->safe_psql('bytes', 'SET client_min_messages = error; CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_tools');
	my $bytes = $node->basedir . '/bytes.sql';
	append_to_file($bytes, "CREATE TABLE " . ident("t\x83$bad") . ' (id bigint) PARTITION BY RANGE (id);');
	is(psql_says('bytes', '', '', '-f', $bytes), '', 'a name of bytes, in a database without an encoding');
	my $print = q{SELECT uid_partitions((SELECT oid::regclass FROM pg_class WHERE relkind = 'p'), '2025-02-01', '2025-03-01', '1 month', false, 'default')};
	foreach my $encoding (qw(GBK BIG5 UHC SJIS))
	{
		local $ENV{PGCLIENTENCODING} = $encoding;
		like(psql_says('bytes', '', '', '-c', $print), qr/\AERROR:  a name or text cannot be written in encoding $encoding\n.*HINT:  Run SET client_encoding = SQL_ASCII\.\n/s, "... is not written for a client of $encoding");
	}
	like(psql_says('bytes', '', '', '-c', $print), qr/\ACREATE TABLE .*;\n\z/, '... and is for others');
	is($node->safe_psql('postgres', 'SELECT rolsuper FROM pg_roles WHERE rolname = $$nobody$$'), 'f', '... and nobody has gained a right');
	ok(!-e 'gained' && !-e $node->basedir . '/gained', '... nor has psql run a command');
}

# ---- what nobody has asked for ----

# A function of a stranger that fits better than pg_catalog's: each database from before 15 lets everybody create in public.
$node->safe_psql('postgres', q{CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_tools; GRANT ALL ON SCHEMA public TO PUBLIC; CREATE SCHEMA shop; CREATE TABLE shop.inv (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY); INSERT INTO shop.inv DEFAULT VALUES});
$node->safe_psql('postgres', <<'SQL', extra_params => [ '-U', 'nobody' ]);
CREATE FUNCTION public.gain() RETURNS void LANGUAGE plpgsql AS $$ BEGIN IF (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) THEN EXECUTE 'ALTER ROLE nobody SUPERUSER'; END IF; EXCEPTION WHEN OTHERS THEN NULL; END $$;
CREATE FUNCTION public.setval(a text, b bigint, c boolean) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN PERFORM public.gain(); RETURN 1; END $$;
CREATE FUNCTION public.setval(a pg_catalog.regclass, b bigint, c boolean) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN PERFORM public.gain(); RETURN 1; END $$;
CREATE FUNCTION public.nextval(a pg_catalog.regclass) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN PERFORM public.gain(); RETURN 1; END $$;
CREATE FUNCTION public.nextval(a text) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN PERFORM public.gain(); RETURN 1; END $$;
CREATE FUNCTION public.bigger(a bigint, b bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN PERFORM public.gain(); RETURN true; END $$;
CREATE OPERATOR public.>= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = public.bigger);
CREATE DOMAIN public.regclass AS text;
SQL
{
	my $script = $node->basedir . '/unqualified.sql';
	append_to_file($script, "SELECT uid_adopt('shop.inv'::pg_catalog.regclass, 'id') \\gexec\n");
	my $said = psql_says('postgres', '', '-c search_path=public,pg_catalog', '-f', $script);
	unlike($said, qr/ERROR/, 'where others may create in public, an identity column is adopted');
	is($node->safe_psql('postgres', q{SELECT last_value FROM shop.inv_id_seq}), '1', '... its position by the right function');
	my ($back) = $said =~ /^ +(BEGIN;\n.*?^ +COMMIT;\n)/ms;
	$script .= '.back';
	append_to_file($script, $back // 'none');
	unlike(psql_says('postgres', '', '-c search_path=public,pg_catalog', '-v', 'ON_ERROR_STOP=1', '-f', $script), qr/ERROR/, '... and so is the way back');
}
# What whoever runs it grants on all new sequences is no grant on this one.
$node->safe_psql('postgres', 'CREATE ROLE keeper; CREATE ROLE watcher; CREATE TABLE shop.dp (id bigint GENERATED ALWAYS AS IDENTITY); ALTER TABLE shop.dp OWNER TO keeper; GRANT ALL ON SCHEMA shop TO keeper;
	ALTER DEFAULT PRIVILEGES GRANT ALL ON SEQUENCES TO watcher');
{
	my $file = $node->basedir . '/dp.sql';
	psql_says('postgres', '', '', '-c', 'SET ROLE keeper', '-c', "\\o $file", '-c', "SELECT uid_adopt('shop.dp', 'id')");
	unlike(psql_says('postgres', '', '', '-v', 'ON_ERROR_STOP=1', '-f', $file), qr/ERROR/, 'what the owner has printed is run by a superuser');
	is($node->safe_psql('postgres', q{SELECT has_sequence_privilege('watcher', 'shop.dp_id_seq', 'SELECT, USAGE, UPDATE')}), 'f', '... and nobody gets a right by it');
}
# A day that is written one way and read another.
$node->safe_psql('postgres', q{CREATE TABLE shop.days (id bigserial) PARTITION BY RANGE (id); CREATE TABLE shop.other PARTITION OF shop.days DEFAULT;
	ALTER TABLE shop.other ALTER id SET DEFAULT extract(epoch FROM '2020-02-01'::date)::bigint});
like(psql_says('postgres', '', '-c datestyle=SQL,DMY', '-c', "SELECT FROM uid_adopt('shop.days', 'id')"), qr/'2020-02-01'::(?:pg_catalog\.)?date/, 'dates in the way back are ISO dates, whatever the session writes');

is($node->safe_psql('postgres', 'SELECT rolsuper FROM pg_roles WHERE rolname = $$nobody$$'), 'f', '... and nobody has gained a right');

$node->stop;
done_testing();
