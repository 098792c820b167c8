# What is promised for ever (docs/compatibility.md) is there as it was: test/frozen has it, a line for each thing.  What is new passes, and is noted: with what
# has grown, as the line to be put there.
# Promise: none; part: test/frozen
# Kills: script/registry/46_guests.sql guest_renew: needed bigint DEFAULT 0, => needed bigint DEFAULT 1,

use FindBin;
use lib "$FindBin::RealBin/../perl";
use UidgenTest;

my $FOLDER = "$FindBin::RealBin/../frozen";
my $node = uidgen_node('main', { extra => [ in_encoding('UTF8') ] });
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_registry; CREATE EXTENSION uidgen_tools; CREATE DATABASE guests; CREATE ROLE guest LOGIN');

sub lines_of
{
	return grep { /^[^#]/ } split /\n/, slurp_file($_[0]);
}

# What a script prints, errors aside.
sub run_script
{
	my ($file, $database, @options) = @_;
	my ($out) = run_command([ $node->installed_command('psql'), qw(-XAtq -F), "\t", '-d', $node->connstr($database), '-f', $file, @options ]);
	return $out;
}

# One test: each line of the file is one of the server's.  Of the column $grows, what is new may follow if it matches the pattern.
sub stays
{
	my ($name, $grows, $more, $sql) = @_;
	my @found = split /\n/, $node->safe_psql('postgres', $sql, extra_params => [ '-F', "\t" ]);
	my (@lost, %known);
	foreach my $line (lines_of("$FOLDER/$name.tsv"))
	{
		my @frozen = split /\t/, $line, -1;
		my ($same) = grep {
			my @columns = split /\t/, $_, -1;
			my $new = $columns[$grows] =~ s/^\Q$frozen[$grows]\E(?=,|$)(?:, )?//r;
			$new = '' if $columns[$grows] eq $frozen[$grows];
			$columns[$grows] = $frozen[$grows] if $frozen[$grows] eq '' || $new ne $columns[$grows];
			"@columns" eq "@frozen" && !grep { !/$more/ } split /, /, $new;
		} @found;
		push @lost, $line unless defined $same;
		$known{$line} = 1;
	}
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(!@lost && keys %known, "$name: all is as it was") or diag(map { "lost or changed: $_\n" } @lost);
	return grep { !$known{$_} } @found;
}

# ---- names, arguments and results ----

my ($experimental) = slurp_file("$FindBin::RealBin/../../docs/compatibility.md") =~ /^## What is experimental\n(.*?)(?=^## |\z)/ms;
my %others = map { $_ => 1 } lines_of("$FindBin::RealBin/../internal_functions"), $experimental =~ /`([\w.]+)\(\)`/g;
my @new = stays('functions', 1, qr/ DEFAULT /, q{
	SELECT CASE n.nspname WHEN 'public' THEN '' ELSE n.nspname || '.' END || p.proname, regexp_replace(pg_get_function_arguments(p.oid), '(^|, )OUT .*', ''),
		concat_ws(': ', pg_get_function_result(p.oid), substring(pg_get_function_arguments(p.oid), '(?:^|, )(OUT .*)')),
		concat_ws(', ', CASE p.provolatile WHEN 'v' THEN 'volatile' WHEN 's' THEN 'stable' ELSE 'immutable' END,
			'parallel ' || CASE p.proparallel WHEN 's' THEN 'safe' WHEN 'r' THEN 'restricted' ELSE 'unsafe' END, CASE WHEN p.proisstrict THEN 'strict' END)
	FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname LIKE 'uidgen%' JOIN pg_proc AS p ON p.oid = d.objid JOIN pg_namespace AS n ON n.oid = p.pronamespace
	WHERE d.classid = 'pg_proc'::regclass AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	ORDER BY 1, 2});
delete @others{ map { (split /\t/)[0] } lines_of("$FOLDER/functions.tsv") };
@new = grep { !$others{ (split /\t/)[0] } } @new;
push @new, stays('views', 1, qr/^\w+ \w/, q{
	SELECT c.oid::regclass, string_agg(a.attname || ' ' || a.atttypid::regtype, ', ' ORDER BY a.attnum)
	FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
	WHERE n.nspname IN ('uidgen', 'uidgen_registry') AND (c.relkind = 'v' OR c.relname = 'layout_used') GROUP BY c.oid ORDER BY 1});
push @new, stays('settings', 2, qr/^\w+$/, q{
	SELECT name, vartype, array_to_string(enumvals, ', '), unit, boot_val, min_val, max_val, context FROM pg_settings WHERE name LIKE 'uidgen.%' ORDER BY 1});
note('new: ', $_) foreach @new;

# ---- errors ----

my @errors = map { [ split /\t/ ] } lines_of("$FOLDER/errors.tsv");
my $page = slurp_file("$FindBin::RealBin/../../docs/reference/messages.md");
is(join(' ', grep { $page !~ /^\| $_ \|/m } map { "$_->[0] \\| `$_->[1]`" } @errors), '', 'the page of errors has each');
my @provoked = grep { @$_ > 2 } @errors;
my $script = $node->basedir . '/errors.sql';
append_to_file($script, join '', map { "BEGIN;\n$_->[2];\n\\echo :SQLSTATE\nROLLBACK;\n" } @provoked);
my @said = run_script($script, 'postgres', '-o', '/dev/null') =~ /^([0-9A-Z]{5})$/mg;
is($said[$_], $provoked[$_][0], $provoked[$_][2]) foreach 0 .. $#provoked;

# ---- guests: version 1 of the protocol ----

$node->safe_psql('guests', "SET client_min_messages = error; CREATE EXTENSION uidgen_registry; SELECT uidgen_registry.share_registry('default', first_guest => 512, new_fleet => true), uidgen_registry.grant_guest('guest', 2)");
is(run_script("$FOLDER/guests.sql", 'guests', '-U', 'guest'), slurp_file("$FOLDER/guests.out") =~ s/\n\z//r, 'what guests call answers as it did');

done_testing();
