# uid_next_after(id): an id above that one, which another server has issued whose clock may be ahead.  Two servers answer each
# other, at random: with worker ids of both orders, clocks that differ, in the same tick and at its end, with a cache and with
# tags, in layouts of all kinds.  Nobody's time is pushed, and an id that is further ahead than a call waits is an error with the
# distance.
#
# UIDGEN_AFTER='--pairs N' makes it thorough: so many pairs of an id and one after it are made in all.

use FindBin;
use Getopt::Long 'GetOptionsFromString';
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use Time::HiRes 'time';
use UidgenTest;

my $pairs = 40_000;
GetOptionsFromString($ENV{UIDGEN_AFTER} // '', 'pairs=i' => \$pairs) or die 'UIDGEN_AFTER makes no sense';

my $dir = PostgreSQL::Test::Utils::tempdir();

# Goes on from a file of ids to one with an id after each; what is not above is kept.
my $ANSWERS = <<"SQL";
CREATE EXTENSION uidgen;
CREATE TABLE wrong (id bigint, answer bigint);
CREATE FUNCTION answer(heard text, says text, how text) RETURNS integer LANGUAGE plpgsql AS \$\$
DECLARE
	ids bigint[] := string_to_array(rtrim(pg_read_file('$dir/' || heard), E'\\n'), E'\\n')::bigint[];
	answers bigint[];
BEGIN
	IF how ~ 'tag' THEN
		answers := ARRAY(SELECT uid_next_after(i, n::integer % 4) FROM unnest(ids) WITH ORDINALITY AS u (i, n));
	ELSIF how ~ 'mixed' THEN
		-- Others are drawn between, so that the end of a tick is met.
		answers := ARRAY(SELECT uid_next_after(i + 0 * coalesce((SELECT max(b) FROM uid_next_batch(n::integer * 7 % 90) AS b), 0))
			FROM unnest(ids) WITH ORDINALITY AS u (i, n));
	ELSE
		answers := ARRAY(SELECT uid_next_after(i) FROM unnest(ids) AS u (i));
	END IF;
	INSERT INTO wrong SELECT i, a FROM unnest(ids, answers) AS u (i, a) WHERE a > i IS NOT TRUE;
	EXECUTE format('COPY (SELECT unnest(%L::bigint[])) TO %L', answers, '$dir/' || says);
	RETURN cardinality(answers);
END
\$\$;
SQL

my %layouts = (
	default => "'default'",
	'long ticks' => "'time:38:20ms worker:8 tag:2 sequence:15 epoch:2025-01-01'",
	'worker last' => "'time:41:1ms sequence:10 tag:2 worker:10 epoch:2025-01-01'",
	'short ticks' => "'time:48:100us tag:2 worker:8 sequence:5 epoch:2025-01-01'");
my $made = 0;
foreach my $layout (sort keys %layouts)
{
	my $tags = $layout ne 'default';
	my %node;
	my %clock;
	foreach my $worker (3, 5)
	{
		my $node = $node{$worker} = uidgen_node("w$worker" . ($layout =~ s/ //r), "uidgen.layout = $layouts{$layout}", "uidgen.worker_id = $worker", "uidgen.wait_timeout = '10s'", 'max_connections = 50');
		$clock{$worker} = FakeClock->new($node);
		$clock{$worker}->under(sub { $node->start });
		$node->safe_psql('postgres', $ANSWERS);
	}

	# Sessions that pass blocks of ids to and fro.  The sessions of psql stay; so what a block waits for is the clock, not a start.
	my %session = map { my $worker = $_; $worker => [ map { $node{$worker}->background_psql('postgres') } 1 .. 2 ] } keys %node;
	my $share = $pairs / keys %layouts;
	my ($done, $block) = (0, $share > 100_000 ? 1000 : 100);
	my $end = time() + 3600;
	$node{3}->safe_psql('postgres', "COPY (SELECT uid_next_batch($block)) TO '$dir/0'");
	my $turn = 0;
	while ($done < $share && time() < $end)
	{
		# Either clock may be ahead, by up to a few ticks.
		$clock{ (3, 5)[ rand 2 ] }->step((rand(2) - 1) * 0.004) if $turn % 10 == 0;
		$clock{$_}->correct() foreach $turn % 50 == 49 ? (3, 5) : ();
		my $worker = (5, 3)[ $turn % 2 ];
		my @ways = ('plain', 'mixed', $tags ? 'tag' : ());
		my $way = $ways[ rand @ways ];
		$done += $session{$worker}[ rand 2 ]->query_safe(sprintf "SELECT answer('%d', '%d', '$way')", $turn % 2, ($turn + 1) % 2);
		$turn++;
	}
	$made += $done;
	$_->quit foreach map { @$_ } values %session;
	cmp_ok($done, '>=', $share, "$layout: $done pairs in $turn turns");
	is($node{$_}->safe_psql('postgres', 'SELECT count(*) FROM wrong'), '0', "... worker $_: each id is above the one that it comes after") foreach 3, 5;
	$_->stop foreach values %node;
}
note("$made pairs");

# ---- by a clock that stands still ----

my $node = uidgen_node('still', "uidgen.worker_id = 4", "uidgen.max_burst = '10s'");
my $clock = FakeClock->new($node);
$clock->under(sub { $node->start });
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen; SELECT uid_next()');
$clock->stop(time() + 2);
$node->safe_psql('postgres', 'CREATE TABLE now AS SELECT uid_timestamp(uid_next()) AS t');
# Ids of other workers in the same tick, and later.
sub other
{
	my ($worker, $ms) = @_;
	return $node->safe_psql('postgres', "SELECT uid_make(t + interval '$ms ms', $worker, 4095) FROM now");
}
is($node->safe_psql('postgres', "SELECT uid_timestamp(uid_next_after(@{[ other(3, 0) ]})) = t FROM now"), 't', 'a lower worker id of the same tick is no reason to wait');
is($node->safe_psql('postgres', "SET uidgen.wait_timeout = 0; SELECT uid_timestamp(uid_next_after(@{[ other(1023, -1) ]})) = t FROM now"), 't', 'nor is a tick that is over');
is($node->safe_psql('postgres', "SELECT uid_timestamp(uid_next_after(0)) = t FROM now"), 't', 'after 0 it is any id');
fails_with($node, "SET uidgen.wait_timeout = '100ms'; SELECT uid_next_after(@{[ other(5, 0) ]})", '22023', qr/too far ahead of the clock.* waits no longer than 100 ms/s,
	'a higher worker id of the same tick is waited for, as long as the clock stands still in vain');
fails_with($node, "SET uidgen.wait_timeout = 0; SELECT uid_next_after(@{[ other(5, 0) ]})", '22023', qr/has an id above it in 1 ms, and a call waits no longer than 0 ms/, '... or not at all');
fails_with($node, "SELECT uid_next_after(@{[ other(5, 20_000) ]})", '22023', qr/Its time is 20000 ms ahead\. This server has an id above it in 2000[01] ms, and a call waits no longer than 10000 ms for that/,
	'an id too far ahead is an error with the distance');
my $began = time();
fails_with($node, "SET uidgen.wait_timeout = '10min'; SELECT uid_next_after(@{[ other(5, 1_200_000) ]})", '22023', qr/Its time is 1200000 ms ahead\./, '... also for who would wait for long');
cmp_ok(time() - $began, '<', 300, '... at once');
fails_with($node, 'SELECT uid_next_after(9223372036854775807)', '22023', qr/too far ahead/, '... also the last one that there is');
is($node->safe_psql('postgres', 'SELECT uid_timestamp(uid_next()) = t FROM now'), 't', 'nobody\'s time was pushed');
my $waits = $node->background_psql('postgres');
$waits->query_until(qr/begun/, "\\echo begun\nSET uidgen.wait_timeout = '10min';\nSELECT uid_next_after(@{[ other(5, 5_000) ]});\n");
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query ~ '^SELECT uid_next_after' AND wait_event_type = 'Extension' AND state = 'active'}), 'a call waits');
is($node->safe_psql('postgres', 'SELECT uid_timestamp(uid_next()) = t FROM now'), 't', '... and nobody\'s time is pushed meanwhile');
$clock->step(5.002);
like($waits->query_safe('SELECT 1'), qr/1$/, '... until the clock is there');
is($node->safe_psql('postgres', 'SELECT uid_timestamp(uid_next()) - t < interval \'5100 ms\' FROM now'), 't', '... and it was not pushed further');
$waits->quit;

# By ids that run ahead of the clock it is there earlier.
my $ahead = $node->safe_psql('postgres', 'SELECT uid_timestamp(uid_next()) FROM now');
$node->safe_psql('postgres', 'SELECT count(*) FROM uid_next_batch(4096 * 600)');
is($node->safe_psql('postgres', "SET uidgen.wait_timeout = 0; SELECT uid_timestamp(uid_next_after(uid_make('$ahead'::timestamptz + interval '500 ms', 9, 0))) >= '$ahead'::timestamptz + interval '600 ms'"),
	't', 'where ids are ahead of the clock, what they have passed is not waited for');

fails_with($node, 'SELECT uid_next_after(NULL)', '22004', qr/must not be null.*uid_next\(\)/s, 'null is an error');
fails_with($node, 'SELECT uid_next_after(-1)', '22003', qr/does not fit the layout/, 'so is a negative id');
fails_with($node, 'SELECT uid_next_after(1, 1)', '22003', qr/tag 1 is out of range/, '... and a tag that the layout has not');
fails_with($node, 'SELECT uid_next_after(1, NULL)', '22004', qr/tag must not be null/, '... or null');
is($node->safe_psql('postgres', 'SELECT count(DISTINCT i), min(i) > 0 FROM (SELECT uid_next_after(0) AS i FROM generate_series(1, 1000)) AS t'), '1000|t', 'each call has an id of its own');
$node->stop;

done_testing();
