# Many segments, sessions and databases on one server: numbers of a segment are unique, none starves, the table
# of segments can be full, and whatever happens to the keeper or to a session, numbers go on.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use Numbers;
use UidgenTest;

my $registry = fleet_registry('registry');
# No answer is lost to a busy machine.
my $server = fleet_node('server', hosts($registry), 'max_connections = 40', 'restart_after_crash = on', "uidgen.registry_timeout = '1min'");

# ---- a thousand segments ----

# 16 sessions draw numbers of random ones.  Returns { segment => [ [ numbers of a session ], ... ] }.
sub draw_at_random
{
	my ($segments, $count, $meanwhile) = @_;
	my @runs;
	foreach my $session (1 .. 16)
	{
		my $file = PostgreSQL::Test::Utils::tempdir() . '/numbers';
		push @runs, {
			file => $file,
			run => IPC::Run::start(
				[
					$server->installed_command('psql'), '-XAtq', '-d', $server->connstr('postgres'), '-c',
					"COPY (SELECT name, uid_segment_next(name)
						FROM (SELECT 'segment ' || floor(random() * $segments) AS name FROM generate_series(1, $count)) AS names) TO STDOUT"
				],
				'<', \undef, '>', $file, '2>', "$file.err", IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default))
		};
	}
	$meanwhile->() if $meanwhile;
	my %lists;
	foreach my $run (@runs)
	{
		$run->{run}->finish;
		is(slurp_file("$run->{file}.err"), '', 'a session draws without an error') if -s "$run->{file}.err";
		my $text = slurp_file($run->{file});
		my %mine;
		push @{ $mine{$1} }, $2 while $text =~ /^(.*)\t(\d+)$/mg;
		push @{ $lists{$_} }, $mine{$_} foreach keys %mine;
	}
	return \%lists;
}

sub all_numbers
{
	my ($lists) = @_;
	return map { my $segment = $_; map { @$_ } @{ $lists->{$segment} } } sort keys %$lists;
}

$registry->safe_psql('postgres', q{SELECT uidgen_registry.create_segment('segment ' || i, step => 10) FROM generate_series(0, 999) AS i});
my $lists = draw_at_random(1000, 4000);
is(scalar(all_numbers($lists)), 16 * 4000, '16 sessions, 1000 segments: all calls get a number');
is(scalar(keys %$lists), 1000, '... of every segment');
my $bad = 0;
foreach my $sessions (values %$lists)
{
	$bad++ if repeated(@$sessions);
	$bad += grep { my $list = $_; grep { $list->[ $_ - 1 ] >= $list->[$_] } 1 .. $#$list } @$sessions;
}
is($bad, 0, '... none comes twice in a segment, and each session\'s are in order');
my ($counts, $expected) = ('', 16 * 4000 . '|1000|1000|0');
poll_until(
	sub {
		$counts = $server->safe_psql('postgres', q{SELECT sum(drawn), count(*), count(*) FILTER (WHERE state = 'ready'), sum(skipped + lost) FROM uidgen.segment_status});
		return $counts eq $expected;
	});
is($counts, $expected, '... which the status counts');

# ---- the table of segments is full ----

fails_with($server, q{SELECT uid_segment_next('one more')}, '53400', qr/no room for segment "one more".*HINT: .*Raise "uidgen.max_segments"/s, 'there is no slot for one more');
is((sqlstate_of($server, q{SELECT uid_segment_next('segment 7'), uid_next()}))[0], '', '... while the others go on');
$server->append_conf('postgresql.conf', 'uidgen.max_segments = 3');
$server->restart;
create_segment($registry, q{'one more'});
draw_numbers($server, $_, 1) foreach 'segment 1', 'segment 2';
foreach my $name (1 .. 10)
{
	fails_with($server, "SELECT uid_segment_next('unknown $name')", '42704', qr/there is no such segment/, 'names of no segment use up no slot') if $name =~ /^(1|10)$/;
	sqlstate_of($server, "SELECT uid_segment_next('unknown $name')");
}
draw_numbers($server, 'one more', 1);
fails_with($server, q{SELECT uid_segment_next('segment 3')}, '53400', qr/room for 3 segments, by the setting "uidgen.max_segments"/, '... and segments do');
fails_with($server, q{SELECT uid_segment_next('unknown')}, '53400', qr/no room/, '... for unknown ones, too');
is($server->safe_psql('postgres', q{SELECT string_agg(name, ',' ORDER BY name) FROM uidgen.segment_status}), 'one more,segment 1,segment 2', '... as the status shows');
# A dropped one leaves its slot, once a call has failed.
$registry->safe_psql('postgres', q{SELECT uidgen_registry.drop_segment('one more')});
my (undef, $err) = draw_all_numbers($server, 'one more');
like($err, qr/ERROR:  42704/, 'a dropped segment');
is(scalar(draw_numbers($server, 'segment 3', 1)), 1, '... leaves its slot to another one');
$server->append_conf('postgresql.conf', 'uidgen.max_segments = 0');
$server->restart;
fails_with($server, q{SELECT uid_segment_next('segment 1')}, '53400', qr/room for 0 segments/, 'without any slot');
is((sqlstate_of($server, 'SELECT uid_next()'))[0], '', '... ids are issued all the same');
$server->append_conf('postgresql.conf', 'uidgen.max_segments = 1000');
$server->restart;

# ---- databases of several encodings ----

my $BILLS = "R\x{c3}\x{a4}chnung \x{e2}\x{82}\x{ac}";    # "Rächnung €" in UTF-8
my %encoded = (utf8 => $BILLS, latin9 => "R\xe4chnung \xa4", win => "R\xe4chnung \x80");
my %encoding = (utf8 => 'UTF8', latin9 => 'LATIN9', win => 'WIN1252');
$registry->safe_psql('postgres', "SET client_encoding = 'UTF8'; SELECT uidgen_registry.create_segment('$BILLS', step => 100)");
my @all;
foreach my $database (sort keys %encoding)
{
	$server->safe_psql('postgres', "CREATE DATABASE $database ENCODING '$encoding{$database}' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc TEMPLATE template0");
	# Here is no registry, only the library's functions.
	$server->safe_psql($database, "SET client_min_messages = warning; CREATE EXTENSION uidgen;
		SET client_encoding = '$encoding{$database}'; CREATE TABLE bills (id bigint PRIMARY KEY DEFAULT uid_segment_next('$encoded{$database}'), what text)");
}
foreach my $round (1 .. 5)
{
	foreach my $database (sort keys %encoding)
	{
		push @all, split /\n/, $server->safe_psql($database, q{INSERT INTO bills (what) SELECT 'x' FROM generate_series(1, 30) RETURNING id});
		push @all, split /\n/, $server->safe_psql($database, qq{COPY bills (what) FROM stdin;\na\nb\n\\.\nSELECT max(id) FROM bills});
	}
}
is(scalar(grep { $all[ $_ - 1 ] >= $all[$_] } 1 .. $#all), 0, 'a DEFAULT in databases of three encodings: one counter, in order');
is($server->safe_psql('postgres', q{SELECT count(*) FROM uidgen.segment_status}), 1, '... in one slot');
# The last row of each COPY only is in the list.
is((sort { $b <=> $a } @all)[0], 5 * 3 * 32, '... and without gaps');
like((sqlstate_of($server, "SET client_encoding = 'LATIN9'; SELECT uid_segment_next('\xa4\xa4')", 'latin9'))[1],
	qr/segment "\xa4\xa4" has no numbers to draw: there is no such segment/, '... errors have the name as the caller wrote it');

# ---- a clean stop ----

# Who ends has a second for that, which a busy machine may take from it now and then.
create_segment($registry, q{'returned', step => 100});
my ($before, $after);
foreach (1 .. 5)
{
	($before) = draw_numbers($server, 'returned', 1);
	$server->restart;
	($after) = draw_numbers($server, 'returned', 1);
	last if $after == $before + 1;
}
is($after, $before + 1, 'a clean stop hands back what is left, and the next number follows the last one');
one_by_one('returned', '... so');

# ---- the keeper ends, under load ----

create_segment($registry, qq{'load', step => 50});
my @drawings = map { start_numbers($server, 'load') } 1 .. 4;
foreach my $signal (qw(TERM TERM TERM INT QUIT))
{
	ok(await_drawing($drawings[0], 300), "before SIG$signal");
	if ($signal eq 'QUIT')
	{
		# All sessions end with it.
		stop_numbers($_) foreach @drawings;
		crash($server);
		next;
	}
	if ($signal eq 'INT')
	{
		kill 'INT', the_keeper($server);
		next;
	}
	ok(end_keeper($server, $signal), '... the keeper ends, and another one begins');
}
cmp_ok(scalar(seen_numbers('load')), '>', 1000, 'numbers were drawn');
draw_numbers($server, 'load', 100);
one_by_one('load', 'the keeper ends, and a crash');
$server->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'uidgen keeper'});
draw_numbers($server, 'load', 500);
one_by_one('load', '... by SQL');

# ---- standbys ----

# With a shared registry it draws beside its primary, as it issues ids.
$server->safe_psql('postgres', 'SELECT uidgen.use_layout()');
my $standby = standby_of($server, 'standby');
draw_numbers($_, 'load', 300) foreach $standby, $server, $standby;
is($standby->safe_psql('postgres', 'SELECT pg_is_in_recovery()'), 't', 'a standby of a node draws numbers');
$_->safe_psql('postgres', 'SELECT uid_next()') foreach $standby, $server;
my $worker = worker_id($standby);
isnt($worker, worker_id($server), '... and ids, of a worker id of its own');
ok($standby->poll_query_until('postgres', 'SELECT severity FROM uidgen.diagnose()', 'ok'), '... and says that it is well');
$standby->promote;
draw_numbers($_, 'load', 300) foreach $standby, $server, $standby;
one_by_one('load', '... and goes on when it is promoted');
$standby->safe_psql('postgres', 'SELECT uid_next()');
is(worker_id($standby), $worker, '... with the same worker id');

# With a local one it has to wait for its promotion.  Its registry is a copy, so it takes over from its primary.
my $local = fleet_node('local', '');
$local->safe_psql('postgres', 'CREATE EXTENSION uidgen_registry');
create_segment($local, q{'local', step => 10});
draw_numbers($local, 'local', 25);
my $heir = standby_of($local, 'heir');
fails_with($heir, q{SELECT uid_segment_next('local')}, '25006', qr/during recovery.*HINT:.*after its promotion/s, 'a standby with a local registry draws none');
is($heir->safe_psql('postgres', q{SELECT count(*) FROM uidgen.segment_status WHERE fetches > 0}), 0, '... and fetches none');
draw_numbers($local, 'local', 25);
$local->wait_for_catchup($heir);
$local->stop('immediate');
$heir->promote;
draw_numbers($heir, 'local', 100);
one_by_one('local', '... but goes on after its promotion');
my ($fetched, $gap) = (segment_status($heir, 'local', 'fetched'), segment($heir, 'local', 'failover_gap'));
cmp_ok(segment($heir, 'local', 'last_value'), '>=', 50 + $gap + $fetched, '... above the gap, as the primary may have given out more');

done_testing();
