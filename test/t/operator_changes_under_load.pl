# Proves that whatever is done to the registry and to the settings of a running
# server, while several sessions draw ids that run ahead of the clock, no id is
# issued twice (P1); that clean errors tell the sessions what is missing, and that they
# go on as soon as it is there (P6); and that the keeper neither crashes nor
# floods the log meanwhile.  pg_regress cannot change settings of the server.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use List::Util qw(max min sum0);
use Time::HiRes qw(time);
use UidgenTest;

# Every registry grants the same worker id, and there are eight ids a millisecond:
# as they are drawn faster than that, and may be, the clock cannot keep ids apart.
my $LAYOUT = 'time:41:1ms worker:10 sequence:3 epoch:2025-01-01';
my $node = uidgen_node(
	'main', "uidgen.layout = '$LAYOUT'", 'uidgen.worker_id = 1', "uidgen.window = '500ms'",
	"uidgen.database = 'registry'", "uidgen.wait_timeout = '20s'", "uidgen.max_burst = '1h'",
	'log_statement = none', 'log_min_error_statement = panic', "log_line_prefix = '%m [%p] %b: '");
$node->start;
foreach my $database ('registry', 'second', 'clients')
{
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, 'CREATE EXTENSION uidgen');
}
# ---- sessions that draw on after an error ----

my $script = PostgreSQL::Test::Utils::tempdir() . '/draw.sql';
append_to_file($script, "SELECT uid_next() FROM generate_series(1, 200);\nSELECT FROM pg_sleep(0.005);\n" x 50_000);
my @clients = map { begin_client($_) } 1 .. 3;

sub begin_client
{
	my ($number) = @_;
	my $file = "$script.$number";
	my $psql = [
		$node->installed_command('psql'), '-XAtq', '-v', 'VERBOSITY=verbose', '-d', $node->connstr('clients'), '-f', $script ];
	my $run = IPC::Run::start($psql, '<', \undef, '>', $file, '2>', "$file.err", IPC::Run::timeout(600));
	return { run => $run, file => $file, read => 0 };
}

# Have all drawn some more?
sub ids_come
{
	my @sizes = map { -s $_->{file} } @clients;
	return poll_until(
		sub {
			return !grep { (-s $clients[$_]{file}) < $sizes[$_] + 20_000 } 0 .. $#clients;
		});
}

# ---- steps ----

my ($log, $begun);

sub begin_step
{
	$log = -s $node->logfile;
	$begun = time;
	return;
}

# After a change: ids come again; the sessions were told nothing but what matches
# the pattern (undef: nothing at all); and the log has no more than so many
# lines of the keeper, and a few for an outage that goes on.
sub end_step
{
	my ($name, $pattern, $lines) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(ids_come(), "$name: ids come");

	my @unexpected;
	foreach my $client (@clients)
	{
		my $told = substr(slurp_file("$client->{file}.err"), $client->{read});
		$client->{read} += length $told;
		my @errors = split /^(?=psql:)/m, $told;
		push @unexpected, grep { !defined $pattern || !/ERROR:  55000: $pattern/ } @errors;
	}
	is("@unexpected[0 .. min($#unexpected, 2)]", '', "$name: the sessions are told only what is to be expected");

	# Of the keeper, or of its end; not that settings were changed.
	my @lines = grep { /uidgen/ && !/client backend|LOG:  parameter|LOG:  configuration file/ } split /\n/, log_since($node, $log);
	# A connection that fails is tried again every five seconds.
	cmp_ok(scalar(@lines), '<=', $lines + (time - $begun), sprintf('%s: the log has %d lines in %.1f s', $name, scalar @lines, time - $begun));
	note $_ foreach @lines;
	return;
}

# Is any session told something of this kind from now on?
sub somebody_is_told
{
	my ($pattern) = @_;
	my @sizes = map { -s "$_->{file}.err" } @clients;
	return poll_until(
		sub {
			return grep { substr(slurp_file("$clients[$_]{file}.err"), $sizes[$_]) =~ $pattern } 0 .. $#clients;
		});
}

# Change settings in the configuration, and have the server read it; a value of
# undef is the default.
sub set_system
{
	my (%settings) = @_;
	$node->safe_psql('postgres',
		"ALTER SYSTEM " . (defined $settings{$_} ? "SET $_ = '$settings{$_}'" : "RESET $_"))
	  foreach sort keys %settings;
	$node->reload;
	return;
}

my $MISSING = qr/uidgen has no grant to issue ids from/;
# Its tables are locked while the extension is dropped or created.
my $NOT_THERE = qr/$MISSING: (?:the registry of worker ids is gone from database "registry"|canceling statement due to lock timeout)/;

begin_step();
end_step('at first', undef, 5);
ok($node->poll_query_until('clients', "SELECT ahead > '5 s' AND ahead_cause = 'burst' FROM uidgen.status"), 'ids run ahead of the clock');

# ---- the registry ----

begin_step();
$node->safe_psql('registry', 'DROP EXTENSION uidgen_registry CASCADE');
somebody_is_told(qr/is gone from database/) or die 'nobody is told';
$node->safe_psql('registry', 'CREATE EXTENSION uidgen_registry');
end_step('DROP EXTENSION, and created again', $NOT_THERE, 14);

# Into itself, with what lies in it besides.
$node->safe_psql('registry', 'CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), body text)');
$node->safe_psql('registry', 'INSERT INTO message (body) SELECT i FROM generate_series(1, 100) AS i');
begin_step();
my $dump = PostgreSQL::Test::Utils::tempdir() . '/registry.dump';
$node->command_ok([ 'pg_dump', '-Fc', '--file', $dump, 'registry' ], 'the database of the registry is dumped');
$node->command_ok([ 'pg_restore', '--clean', '--if-exists', '--exit-on-error', '-d', 'registry', $dump ], 'and restored into itself');
end_step('a dump, restored', $NOT_THERE, 14);
is($node->safe_psql('registry', 'INSERT INTO message (body) VALUES (101); SELECT count(*) FROM message'), '101',
	'what is in it has ids that go on');

begin_step();
set_system('uidgen.database' => 'second');
$node->poll_query_until('second', 'SELECT count(*) = 1 FROM uidgen_registry.worker_node') or die 'the registry has not moved';
ok(ids_come(), 'ids come from another database');
set_system('uidgen.database' => 'registry');
end_step('another database, and back', undef, 12);

begin_step();
drop_database($node, 'registry');
somebody_is_told(qr/database "registry" does not exist/s) or die 'nobody is told';
ok(!(grep { !somebody_is_told(qr/does not exist/) } 1 .. 20), 'DROP DATABASE by force: sessions are told again and again');
$node->safe_psql('postgres', 'CREATE DATABASE registry');
somebody_is_told(qr/is gone from database/) or die 'nobody is told';
$node->safe_psql('registry', 'CREATE EXTENSION uidgen_registry');
end_step('DROP DATABASE by force, and created again',
	qr/$NOT_THERE|$MISSING.*(?:database "registry" does not exist|could not connect to database "registry")/s, 20);

# ---- settings that can be changed ----

my $AHEAD = qr/ids would run too far ahead of the clock/;
my $NOWHERE = qr/database "(?:nowhere)?" does not exist/;

# Value, and what sessions are told with it; undef: nothing.  Where max_burst is lowered
# below what ids run ahead by, they may be told that, but only for as long as it stays so.
my $PERHAPS = '';
my %VALUES = (
	'uidgen."window"' => [ ['1ms'], ['20ms'], ['1min'] ],
	'uidgen.padding_factor' => [ [0], [100] ],
	'uidgen.max_ahead' => [ [0], ['1s'], ['2147483647ms'] ],
	'uidgen.max_burst' => [ [ '1s', $PERHAPS ], [ 0, $PERHAPS ], ['2147483647ms'] ],
	'uidgen.worker_policy' => [ ['disposable'], ['reuse'] ],
	'uidgen.sequence_start' => [ ['random'], ['continue'], ['zero'] ],
	'uidgen.wait_timeout' => [ [0], ['1h'] ],
	'uidgen.segment_duration' => [ ['1s'], ['1d'] ],
	'uidgen.database' => [ ['second'], [ 'nowhere', $NOWHERE ], [ '', $NOWHERE ] ]);
# What it goes back to.
my %BACK = (
	'uidgen."window"' => '500ms', 'uidgen.max_burst' => '1h', 'uidgen.wait_timeout' => '20s', 'uidgen.database' => 'registry');

foreach my $setting (sort keys %VALUES)
{
	begin_step();
	foreach my $value (@{ $VALUES{$setting} })
	{
		set_system($setting => $value->[0]);
		next if defined $value->[1] && $value->[1] eq $PERHAPS;
		ok($value->[1] ? somebody_is_told($value->[1]) : ids_come(),
			"$setting = '$value->[0]': " . ($value->[1] ? 'it is said what is wrong' : 'ids come'));
	}
	set_system($setting => $BACK{$setting});
	end_step("$setting as before", qr/$MISSING|$AHEAD/, 20);
}

begin_step();
foreach my $bad (
	[ 'uidgen."window"', -1 ], [ 'uidgen."window"', '2d' ], [ 'uidgen.padding_factor', 101 ], [ 'uidgen.max_ahead', -1 ],
	[ 'uidgen.max_burst', -1 ],
	[ 'uidgen.wait_timeout', '2h' ], [ 'uidgen.segment_duration', 0 ], [ 'uidgen.segment_duration', '2d' ], [ 'uidgen.max_segments', -1 ],
	[ 'uidgen.worker_policy', 'never' ], [ 'uidgen.sequence_start', 'one' ],
	[ 'uidgen.worker_id', -2 ], [ 'uidgen.datacenter_id', -1 ], [ 'uidgen.layout', 'time:41:1ms worker:10' ],
	[ 'uidgen.layout', 'nothing' ])
{
	fails_with($node, "ALTER SYSTEM SET $bad->[0] = '$bad->[1]'", '22023', qr/./, "$bad->[0] = '$bad->[1]' is refused");
}
end_step('bad values', undef, 0);

# ---- settings that wait for a restart ----

begin_step();
my %LATER = ('uidgen.layout' => 'twitter', 'uidgen.worker_id' => 5, 'uidgen.datacenter_id' => 3);
set_system(%LATER);
$node->poll_query_until('postgres', "SELECT count(*) = 3 FROM pg_settings WHERE name LIKE 'uidgen.%' AND pending_restart")
  or die 'the settings are not pending';
end_step('layout, worker id and datacenter', undef, 0);
is($node->safe_psql('clients', 'SELECT layout, worker_id, datacenter_id FROM uidgen.status'), "$LAYOUT|1|0",
	'they change nothing before a restart');
set_system(map { $_ => undef } keys %LATER);

# ---- the end ----

my @drawn;
foreach my $client (@clients)
{
	$client->{run}->signal('INT');
	eval { $client->{run}->finish };
	push @drawn, [ slurp_file($client->{file}) =~ /^(\d+)\n/mg ];
}
$node->restart;
my @after = split /\n/, $node->safe_psql('clients', 'SELECT uid_next() FROM generate_series(1, 1000)');
cmp_ok(min(@after), '>', max(map { @$_ } @drawn), 'after a restart, ids are above all before');
is(repeated(@drawn, \@after), 0, sum0(map { scalar @$_ } @drawn) . ' ids, none twice');
$node->stop;

done_testing();
