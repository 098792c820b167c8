# Names of segments that there are not, from 30 sessions of a role with no rights but everybody's, behind a registry that is
# far away: a segment that is drawn from does not starve, nor does one that is named for the first time, and one that is
# created at last is found.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use IPC::Run;
use Numbers;
use RegistryProxy;
use Time::HiRes qw(time);
use UidgenTest;

my $STRANGERS = 30;
my $LATE = 5;

my $registry = fleet_registry('registry');
# Its log has all calls, in their order.
$registry->append_conf('postgresql.conf', "log_statement = 'all'");
$registry->reload;
$registry->poll_query_until('postgres', 'SHOW log_statement', 'all') or die 'log_statement is not all';
my $proxy = RegistryProxy->new($registry);
my $server = fleet_node('server', hosts($proxy->port), 'max_connections = 60', "uidgen.registry_timeout = '10min'");
create_segment($registry, "'$_', step => 1000") foreach 'real', 'dropped', map { "late$_" } 1 .. $LATE;
# A range is no longer, however fast numbers are drawn.
$registry->safe_psql('postgres', q{SELECT uidgen_registry.change_segment('real', max_step => 1000); SELECT uidgen_registry.drop_segment('dropped')});
$server->safe_psql('postgres', 'CREATE ROLE plain LOGIN');
draw_numbers($server, 'real', 900);

my @strangers = map {
	my ($out, $err) = ('', '');
	{
		err => \$err,
		run => IPC::Run::start(
			[
				$server->installed_command('psql'), '-XAtq', '-d', $server->connstr('postgres') . ' user=plain', '-c',
				q{DO $$BEGIN LOOP
					BEGIN
						PERFORM uid_segment_next('x' || random());
					EXCEPTION
						WHEN undefined_object THEN NULL;
					END;
				END LOOP; END$$}
			],
			'<', \undef, '>', \$out, '2>', \$err, IPC::Run::timeout(4 * $PostgreSQL::Test::Utils::timeout_default))
	}
} 1 .. $STRANGERS;

sub unknown_names
{
	return $server->safe_psql('postgres', q{SELECT count(*) FROM uidgen.segment_status WHERE last_error = 'there is no such segment'});
}

ok(poll_until(sub { unknown_names() > 2 * $STRANGERS }), "$STRANGERS sessions name segments that there are not");

# ---- in calls of the registry, which a busy machine does not make more ----

# Do all sessions wait that match, so many of them?  And the keeper, for an answer.
sub all_wait
{
	my ($condition, $count) = @_;
	return poll_until(
		sub {
			$server->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE $condition AND state = 'active' AND wait_event_type = 'Extension'") == $count
			  && is_asleep(the_keeper($server));
		});
}

# How many calls the registry gets for all that wait, the strangers among them, before the one that fetches numbers of this segment,
# of which there are no more.  All begin to wait while nothing gets through to it.
sub calls_before
{
	my ($segment) = @_;
	my $name = unpack('H*', $segment);
	$proxy->set('hole');
	all_wait(q{usename = 'plain'}, $STRANGERS) or die 'the strangers do not wait';
	# Two buffers, and a range that is on its way, have fewer.
	my $caller = IPC::Run::start(
		[ $server->installed_command('psql'), '-XAtq', '-d', $server->connstr('postgres'), map { ('-c', "SELECT uid_segment_batch('$segment', 900)") } 1 .. 4 ],
		'<', \undef, '>', \my $out, '2>', \my $err, IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default));
	all_wait(q{query LIKE '%uid_segment_batch%' AND pid <> pg_backend_pid()}, 1) or die 'the caller does not wait';
	my $log = -s $registry->logfile;
	$proxy->set();
	$caller->finish or die "uid_segment_batch() failed: $err";
	my $before = 0;
	foreach (log_since($registry, $log) =~ /uidgen_registry\.((?:segment_fetch|segments_there)\(.*\n.*DETAIL: .*)/g)
	{
		return $before if /^segment_fetch.*\n.*'\\x$name'/;
		$before++;
	}
	die "the registry's log has no call for $segment";
}

my @real = map { calls_before('real') } 1 .. 10;
my @late = map { calls_before("late$_") } 1 .. $LATE;
note("calls before: @real; of a new name: @late");
cmp_ok(percentile(100, @real), '<=', 3, '... beside which numbers are fetched as soon as before');
cmp_ok(percentile(100, @late), '<=', 4, '... and those of a segment that the server has not named before');

# ---- in time: the pause between two looks at names is short ----

# Seconds that a statement takes.
sub seconds
{
	my ($sql) = @_;
	my $begun = time;
	$server->safe_psql('postgres', $sql);
	return time - $begun;
}

# Beside other work both may take longer, but not each time.
$proxy->set(slow => 100);
my $n = 0;
ok(poll_until(
		sub {
			create_segment($registry, sprintf("'new%d'", ++$n));
			my $call = percentile(50, map { seconds(q{SELECT uid_segment_batch('real', 900)}) } 1 .. 5);
			my $first = seconds("SELECT uid_segment_next('new$n')");
			note("a call that fetches: $call s; a new name: $first s");
			return $call > 0.1 && $first < 12 * $call;
		}), '... which is soon where the registry is far away, too');
fails_with($server, q{SELECT uid_segment_next('dropped')}, '42704', qr/the segment was dropped.*HINT: .*uidgen_registry\.create_segment\(\), in database "postgres"/s,
	'... one that was dropped is told apart');

# The pause after a failure grows with each.
fails_with($server, q{SELECT uid_segment_next('soon')}, '42704', qr/there is no such segment.*HINT: .*uidgen_registry\.create_segment\(\), in database "postgres"/s, '... a name is not there')
  foreach 1 .. 4;
create_segment($registry, q{'soon'});
draw_numbers($server, 'soon', 10);
one_by_one('soon', '... and is, as soon as it was created');
is(join('', map { ${ $_->{err} } } @strangers), '', 'the strangers were told nothing else');
$server->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'plain'});
$_->{run}->finish foreach @strangers;

done_testing();
