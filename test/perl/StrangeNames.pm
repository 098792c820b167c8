# StrangeNames.pm: a server with a role that must not become a superuser, and what the tools print and run about objects whose
# names hold all that means something in SQL, in psql and in format(), by \gexec, from a file and by the call.
#
#	foreach my $kind (kinds())
#	{
#		my $node = server_of_names($kind);
#		tries_names("n\nALTER ROLE nobody SUPERUSER; --", ...);
#	}
package StrangeNames;

use strict;
use warnings;
use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Twins;
use UidgenTest;

our @EXPORT = qw(server_of_names psql_says ident literal tries_names);

my $database = 'names';
my $node;
my $tracks;	# has it uid_track_changes() and uid_number_rows()?

sub server_of_names
{
	my ($kind) = @_;
	$node = twin_node($kind, "uidgen.database = '$database'");
	$tracks = twin_has($kind, 'uid_track_changes');
	$node->start;
	$node->safe_psql('postgres', 'CREATE ROLE nobody LOGIN');
	$node->safe_psql('postgres', "CREATE DATABASE $database ENCODING 'UTF8' TEMPLATE template0 LOCALE 'C' LOCALE_PROVIDER libc");
	put_twin_in($kind, $node, $database);
	return $node;
}

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

# Four tests: whatever the names are, what is printed runs, what was asked for happens, and nobody gains a right.
sub tries_names
{
	my (@names) = @_;
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
			($tracks ? [ map { "SELECT uid_track_changes(" . literal("$q{s}.$q{track}") . '::regclass, ' . literal("v $name") . ", $_)" } qw(false true) ] : ()),
			map { my $call = $_; my $force = /drop/ ? ', true' : ''; [ map { "$call, $_, 'default'$force)" } qw(false true) ] }
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
			push @bad_lines, "$n: $_" foreach grep { !/^(?:BEGIN|SET|LOCK|ALTER|COMMENT|CREATE|DO|SELECT|GRANT|REVOKE|DROP|COMMIT)\b.*;$/ || /$control/ } split /\n/, slurp_file($file);
			$said .= psql_says($database, $as, $options, '-v', 'ON_ERROR_STOP=1', '-f', $file);
		}
		$said .= psql_says($database, $as, $options, '-c', 'CALL uid_number_rows(' . literal("$q{s}.$q{t}") . "::regclass, $column, begin => $_)") for $tracks ? qw(true false) : ();
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
			UNION ALL SELECT 'numbers: ' || count(*) FROM pg_class WHERE relnamespace = $lookup AND relkind = 'r' AND relname ~ '_number(_counter)?\$' HAVING count(*) <> " . ($tracks ? 2 : 0) . "
			UNION ALL SELECT 'position: ' || last_value FROM pg_sequences WHERE sequencename = " . literal("i $name") . " AND last_value <> 1
			UNION ALL SELECT 'no sequence' WHERE NOT EXISTS (SELECT FROM pg_sequences WHERE sequencename = " . literal("i $name") . ")
			UNION ALL SELECT 'no grant' WHERE NOT has_sequence_privilege(" . literal($given) . ", " . literal("$q{s}." . ident("i $name")) . ", 'USAGE WITH GRANT OPTION')
			UNION ALL SELECT 'child: ' || atttypid::regtype FROM pg_attribute WHERE attname = 'id' AND attrelid = " . literal("$q{s}.$q{child}") . "::regclass AND atttypid <> 'bigint'::regtype");
		# Changes are tracked, and partitions come and go: the keys and marks that are left.
		my ($track, $parts, $gone, $many_gone) = ("$q{s}.$q{track}", "$q{s}.$q{parts}", map { "$q{s}." . ident("$_ ${name}_deleted") } qw(track parts));
		if ($tracks)
		{
			$said = psql_says($database, $as, $options, '-v', 'ON_ERROR_STOP=1', '-c', 'SET client_min_messages = warning', '-c', "INSERT INTO $track VALUES (1, 'k'), (2, 'k'); UPDATE $track SET $q{c} = 3 WHERE $q{c} = 1; DELETE FROM $track; TRUNCATE $track",
				'-c', "DO \$x\$ BEGIN PERFORM uid_track_changes(" . literal($parts) . "::regclass, 'w', true), uid_partitions(" . literal($parts) . "::regclass, '2025-02-01', '2025-05-01', '1 month', true, 'default'), uid_drop_partitions(" . literal($parts) . "::regclass, '2025-03-01', true, 'default', true); END \$x\$",
				'-c', "TRUNCATE $parts", '-c', "SELECT string_agg(concat_ws(' ', $q{c}, $q{t}), ',' ORDER BY $q{v}), (SELECT count(*) FROM $many_gone) FROM $gone", '-c', "SELECT uid_purge_deleted(" . literal($track) . "::regclass, now())") =~ s/^INFO:.*\n(?:    .*\n)*//mgr;
			push @wrong, "$n: tracked: $said" if $said !~ /\A1 k,2 k,3 k,\|4\n\d\n\z/;
		}
		# The ways back, as they are shown.
		my $file = $node->basedir . "/back_$n.sql";
		append_to_file($file, ($back // 'SELECT none') . ($untrack // ($tracks ? 'SELECT none' : '')));
		$said = psql_says($database, $as, $options, '-v', 'ON_ERROR_STOP=1', '-f', $file);
		push @errors, "$n: the way back: $said" if $said =~ /ERROR/;
		push @wrong, "$n: tracked still" if $node->safe_psql($database, "SELECT count(*) FROM pg_attribute WHERE attrelid = " . literal($track) . '::regclass AND attnum > 0 AND NOT attisdropped') ne '2';
		push @wrong, "$n: no way back" if $node->safe_psql($database, "SELECT attidentity FROM pg_attribute WHERE attname = $column AND attrelid = " . literal("$q{s}.$q{other}") . '::regclass') ne 'a';
	}
	is("@bad_lines", '', 'what is printed are statements, each on one line and without control characters');
	is(join("\n", @errors), '', 'they run, whatever the names are');
	is(join("\n", @wrong), '', 'what was asked for has happened, and nobody has gained a right');
	ok(!-e 'gained' && !-e $node->basedir . '/gained', '... nor has psql run a command');
	return;
}

1;
