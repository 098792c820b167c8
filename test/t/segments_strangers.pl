# Names of segments that there are not, from 30 sessions of a role with no rights but everybody's, behind a registry that is
# far away: a segment that is drawn from does not starve, nor does one that is named for the first time, and one that is
# created at last is found.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use IPC::Run;
use Numbers;
use RegistryProxy;
use UidgenTest;

my $STRANGERS = 30;

my $registry = fleet_registry('registry');
my $proxy = RegistryProxy->new($registry);
my $server = fleet_node('server', hosts($proxy->port), 'max_connections = 60', "uidgen.registry_timeout = '30s'");
create_segment($registry, "'$_', step => 1000") foreach qw(real late dropped);
# A range is no longer, however fast numbers are drawn.
$registry->safe_psql('postgres', q{SELECT uidgen_registry.change_segment('real', max_step => 1000); SELECT uidgen_registry.drop_segment('dropped')});
$server->safe_psql('postgres', q{CREATE ROLE plain LOGIN;
	CREATE FUNCTION times(name text, n integer, OUT median double precision, OUT slowest double precision) LANGUAGE plpgsql AS $$
	DECLARE
		times double precision[];
		begun timestamptz;
	BEGIN
		FOR i IN 1 .. n LOOP
			begun := clock_timestamp();
			PERFORM uid_segment_batch(name, 900);
			times := times || extract(epoch FROM clock_timestamp() - begun)::double precision;
		END LOOP;
		SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t), max(t) INTO median, slowest FROM unnest(times) AS t;
	END
	$$});

# Seconds that a call takes for which numbers have to be fetched: the median of so many, and the most.
sub fetch_times
{
	my ($segment, $n) = @_;
	return split /\|/, $server->safe_psql('postgres', "SELECT * FROM times('$segment', $n)");
}

$proxy->set(slow => 100);
draw_numbers($server, 'real', 900);
my ($median, $slowest) = fetch_times('real', 20);
cmp_ok($median, '>', 0.1, 'a registry that is far away');
note("alone: median $median, slowest $slowest");

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
			'<', \undef, '>', \$out, '2>', \$err, IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default))
	}
} 1 .. $STRANGERS;

sub unknown_names
{
	return $server->safe_psql('postgres', q{SELECT count(*) FROM uidgen.segment_status WHERE last_error = 'there is no such segment'});
}

ok(poll_until(sub { unknown_names() > 2 * $STRANGERS }), "$STRANGERS sessions name segments that there are not");
my ($their_median, $their_slowest) = fetch_times('real', 30);
note("beside them: median $their_median, slowest $their_slowest");
cmp_ok($their_median, '<', 4 * $median, '... beside which numbers are fetched as soon as before');
cmp_ok($their_slowest, '<', 10 * $median, '... each time');
my (undef, $first) = fetch_times('late', 1);
note("a new one: $first");
cmp_ok($first, '<', 12 * $median, '... and those of a segment that the server has not named before');
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
