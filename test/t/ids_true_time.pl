# Proves that the time in an id is the clock's at the call (P5), whatever the
# layout; that uidgen.max_burst bounds how far drawing runs ahead of it; and that
# uidgen.sequence_start puts the sequence of a new tick where it says.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use IPC::Run;
use Time::HiRes ();
use UidgenTest;

# Draws n ids, at most one a millisecond.  Returns by how many microseconds the
# worst id's tick began after the call (late), and the worst ended before it
# (early): both must be 0 or less.
my $truth = <<'SQL';
CREATE FUNCTION truth(n integer, unit interval, OUT late bigint, OUT early bigint)
LANGUAGE plpgsql AS $$
DECLARE
	before timestamptz;
	shown timestamptz;
BEGIN
	FOR i IN 1 .. n LOOP
		before := clock_timestamp();
		shown := uid_timestamp(uid_next());
		late := greatest(late, 1000000 * extract(epoch FROM shown - clock_timestamp()));
		early := greatest(early, 1000000 * extract(epoch FROM before - (shown + unit)));
		PERFORM pg_sleep(0.001);
	END LOOP;
END
$$;
SQL

# The layout of a registry never changes, so each has a server.
my $nodes = 0;

sub server
{
	my ($layout, @conf) = @_;
	my $node = uidgen_node('time' . ++$nodes, "uidgen.layout = '$layout'", @conf);
	return $node;
}

sub create
{
	my ($node) = @_;
	$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
	$node->safe_psql('postgres', $truth);
	return;
}

# Is every id's time true to the tick, or at most so many ticks late?
sub is_true
{
	my ($node, $unit, $name, $allowed) = @_;
	my ($late, $early, $tick) = split /\|/,
	  $node->safe_psql('postgres',
		"SELECT *, 1000000 * extract(epoch FROM interval '$unit')::numeric FROM truth(200, '$unit')");

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok($late <= ($allowed // 0) * $tick && $early <= 0, $name)
	  || diag("too late by $late us, too early by $early us");
}

# ---- layouts ----

my @layouts = (
	[ '1 ms', 'time:41:1ms worker:10 sequence:12 epoch:2025-01-01' ],
	[ '10 ms', 'sonyflake' ],
	[ '1 s', 'time:32:1s worker:8 sequence:20 epoch:2025-01-01' ],
	[ '100 us', 'time:46:100us worker:6 sequence:8 epoch:2025-01-01' ],
	[ '1 ms', 'time:40:1ms tag:4 datacenter:3 sequence:8 worker:5 epoch:2025-01-01', 'uidgen.datacenter_id = 5' ]);
foreach (@layouts)
{
	my ($unit, $layout, @conf) = @$_;
	my $node = server($layout, 'uidgen.window = 300ms', @conf);
	$node->start;
	create($node);
	is_true($node, $unit, "$layout: the time is true");
	is( $node->safe_psql(
			'postgres',
			'SELECT p.worker = w.worker_id, coalesce(p.datacenter, 0) = w.datacenter_id, p.id > 0'
			  . ' FROM uid_parse(uid_next()) AS p, uidgen_registry.worker_node AS w'),
		't|t|t',
		"$layout: worker id and datacenter are the registry's");

	ok( poll_until(sub {
				$node->safe_psql('postgres',
					'SELECT granted_until < clock_timestamp() FROM uidgen.status') eq 't' }),
		"$layout: without calls the grant runs out");
	is_true($node, $unit, "$layout: after that the time is true again");

	$node->restart;
	# Grants are of whole ticks, and the one of the shutdown was used.
	is_true($node, $unit, "$layout: and after a restart, but for one tick", 1);

	# What was granted and perhaps used lies ahead, by a window at most.
	$node->stop('immediate');
	$node->start;
	my ($late, $early) = split /\|/, $node->safe_psql('postgres', "SELECT * FROM truth(1, '$unit')");
	cmp_ok($late, '<=', 300_000 + 2_000_000, "$layout: after a crash it is ahead by a window at most");
	ok( poll_until(sub {
				$node->safe_psql('postgres',
					"SELECT early <= 0 AND late <= 0 FROM truth(10, '$unit')") eq 't' }),
		"$layout: and true when the clock is there");
	$node->stop;
}

# ---- where the sequence starts ----

my $node = server('time:41:1ms worker:10 sequence:12 epoch:2025-01-01');
$node->start;
create($node);
$node->safe_psql('postgres', <<'SQL');
-- the sequences of n ids, each the first one of its tick
CREATE FUNCTION first_sequences(n integer) RETURNS SETOF integer
LANGUAGE plpgsql AS $$
DECLARE
	id bigint := uid_next();
BEGIN
	FOR i IN 1 .. n LOOP
		WHILE uid_max(clock_timestamp()) <= uid_max(uid_timestamp(id)) LOOP
			PERFORM pg_sleep(0.0001);
		END LOOP;
		id := uid_next();
		RETURN NEXT (uid_parse(id)).sequence;
	END LOOP;
END
$$;
SQL

sub set_start
{
	my ($node, $value) = @_;
	$node->append_conf('postgresql.conf', "uidgen.sequence_start = $value");
	$node->reload;
	poll_until(sub { $node->safe_psql('postgres', 'SHOW uidgen.sequence_start') eq $value });
	return;
}

is($node->safe_psql('postgres', 'SELECT min(s), max(s) FROM first_sequences(100) AS s'),
	'0|0', 'sequence_start = zero: every tick starts at zero');

set_start($node, 'continue');
is( $node->safe_psql(
		'postgres',
		'SELECT count(*) FROM (SELECT s, lag(s) OVER (ORDER BY i) AS l'
		  . ' FROM first_sequences(1100) WITH ORDINALITY AS f (s, i)) AS pairs'
		  . ' WHERE s <> (l + 1) % 512'),
	'0',
	'sequence_start = continue: every tick starts where the one before ended, below an eighth');

set_start($node, 'random');
my $numbers = $node->safe_psql('postgres', 'SELECT * FROM first_sequences(1000)');
my (%count, %residue);
foreach (split /\n/, $numbers)
{
	$count{$_}++;
	$residue{ $_ % 16 }++;
}
my @order = sort { $a <=> $b } keys %count;
cmp_ok($order[-1], '<', 512, 'sequence_start = random: every tick starts below an eighth');
cmp_ok(scalar @order, '>', 300, 'sequence_start = random: anywhere there');
# 62.5 each, with a standard deviation of 7.7
is(scalar(grep { ($residue{$_} // 0) > 15 && $residue{$_} < 110 } 0 .. 15),
	16, 'sequence_start = random: evenly modulo 16');
my %first;
$first{ $node->safe_psql('postgres', 'SELECT * FROM first_sequences(1)') }++ foreach 1 .. 12;
cmp_ok(scalar keys %first, '>', 6, 'sequence_start = random: other numbers in every session');
$node->stop;

# ---- ahead of the clock ----

# Sixteen ids a tick, under a clock that stands still until it is moved.
$node = server('time:39:100ms worker:8 sequence:4 epoch:2025-01-01',
	'uidgen.max_ahead = 0', 'uidgen.max_burst = 0', 'uidgen.window = 1s', "uidgen.wait_timeout = '1h'");
my $clock = FakeClock->new($node);
my $tick = 0.1;
my $now = int($clock->now) + 1;
$clock->stop($now);
$clock->under(sub { $node->start });
create($node);

# Calls until a call fails.  Returns how many ids there were, by how many ticks
# the last is ahead of the clock, and the error.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION exhaust(call text, most integer DEFAULT 10000,
	OUT ids integer, OUT ahead numeric, OUT state text, OUT message text, OUT detail text)
LANGUAGE plpgsql AS $$
DECLARE
	id bigint;
	n integer;
BEGIN
	ids := 0;
	WHILE ids < most LOOP
		BEGIN
			EXECUTE 'SELECT max(id), count(*) FROM (' || call || ') AS called (id)' INTO id, n;
			ids := ids + n;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
			EXIT;
		END;
	END LOOP;
	ahead := round(extract(epoch FROM uid_timestamp(id) - clock_timestamp()) / 0.1);
END
$$;
SQL

sub exhaust
{
	my ($call, %options) = @_;
	my $timeout = $options{wait_timeout} // '100ms';
	# The time-out is for the clock: the keeper may take longer to get a grant.
	await_keeper($node);
	return split /\|/, $node->safe_psql('postgres', "SET uidgen.wait_timeout = '$timeout'; SELECT * FROM exhaust('$call', " . ($options{most} // 10000) . ')');
}

my ($ids, $ahead, $state, $message, $detail) = exhaust('SELECT uid_next()');
is($ids, 16, 'max_burst = 0: a tick has as many ids as the layout has room for');
is($ahead, 0, 'max_burst = 0: they are of the clock\'s tick');
is($state, '55000', 'max_burst = 0: the next call fails if the clock stands still');
is($message, 'ids would run too far ahead of the clock', 'max_burst = 0: the error');
is( $detail,
	'Ids are drawn faster than the layout has room for: the time of the next one is 100 ms ahead of the clock, and 0 ms are allowed.',
	'max_burst = 0: the error has the numbers');

my $started = Time::HiRes::time();
exhaust('SELECT uid_next()', wait_timeout => '300ms');
my $took = Time::HiRes::time() - $started;
cmp_ok($took, '>=', 0.3, 'a call waits as long as uidgen.wait_timeout');
cmp_ok($took, '<', 600, 'and no longer');

# Call by call, and several ids at a time.
foreach my $call ('SELECT uid_next()', 'SELECT uid_next_batch(7)', 'SELECT uid_next_batch(40)',
	'SELECT uid_reserve(5) + 4', 'SELECT uid_next() UNION ALL SELECT uid_next_batch(16)')
{
	$clock->step($tick);
	($ids, $ahead, $state) = exhaust($call);
	is(($ahead || 0) . "|$state", '0|55000', "max_burst = 0: $call: never ahead of the clock");
}

# Also where a tick does not start at zero, and all that it has room for is asked
# for at once.
foreach my $start (qw(continue random))
{
	set_start($node, $start);
	foreach my $call ('SELECT uid_next_batch(16)', 'SELECT uid_reserve(16) + 15')
	{
		my @results;
		$clock->step(10 * $tick);
		foreach (1 .. 6)
		{
			$clock->step($tick);
			my ($n, $lead) = exhaust($call);
			push @results, $n > 0 ? "some, ahead by $lead" : 'none';
		}
		is_deeply(\@results, [ ('some, ahead by 0') x 6 ],
			"max_burst = 0, sequence_start = $start: $call: one each tick");
	}
}
set_start($node, 'zero');

# Sessions at once cannot push each other ahead, but for calls that find room at
# the same moment: one id a session.
my @over;
foreach (1 .. 10)
{
	$clock->step(10 * $tick);
	await_keeper($node);
	my @sessions = map {
		my $said = '';
		my $run = IPC::Run::start(
			[
				$node->installed_command('psql'), '-XAtq', '-d', $node->connstr('postgres'), '-c',
				"SET uidgen.wait_timeout = '100ms'; SELECT * FROM exhaust('SELECT uid_next()')"
			],
			'<', \undef, '>&', \$said,
		IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default));
		[ $run, \$said ]
	} 1 .. 8;
	my $sum = 0;
	foreach (@sessions)
	{
		my ($run, $said) = @$_;
		$run->finish;
		$sum += (split /\|/, $$said)[0];
	}
	push @over, $sum if $sum < 16 || $sum > 16 + 7;
}
is_deeply(\@over, [], 'max_burst = 0: eight sessions at once do not get ahead of the clock');

# A call that waits goes on when the clock does.
my $waiting = $node->background_psql('postgres');
exhaust('SELECT uid_next()');
my $waits = $node->safe_psql('postgres', 'SELECT waits FROM uidgen.status');
$waiting->query_until(qr/begun/, <<'SQL');
\echo begun
SET uidgen.wait_timeout = '1h';
SELECT uid_timestamp(uid_next()) = clock_timestamp();
SQL
ok( poll_until(sub { $node->safe_psql('postgres', "SELECT waits > $waits FROM uidgen.status") eq 't' }),
	'max_burst = 0: a call waits for the next tick');
$clock->step($tick);
like($waiting->query('SELECT 1'), qr/^t$/m, 'max_burst = 0: and gets an id of it');
$waiting->quit;

# Ahead by up to two seconds, which is 20 ticks, within one grant.
change_setting($node, 'uidgen."window"', '10s');
change_setting($node, 'uidgen.max_burst', '2s');
$clock->step(100);
is(join('|', (exhaust('SELECT uid_next()', most => 160))[ 0, 1, 2 ]),
	'160|9|', 'max_burst = 2s: a burst runs ahead');
is($node->safe_psql('postgres', 'SELECT ahead FROM uidgen.status'),
	'00:00:00.9', 'max_burst = 2s: uidgen.status shows by how much');
($ids, $ahead, $state, $message, $detail) = exhaust('SELECT uid_next()');
is("$ids|$ahead|$state", '176|20|55000', 'max_burst = 2s: that far and no farther');
like($detail, qr/the next one is 2100 ms ahead of the clock, and 2000 ms are allowed/,
	'max_burst = 2s: the error has the numbers');
is($node->safe_psql('postgres', 'SELECT ahead FROM uidgen.status'),
	'00:00:02', 'max_burst = 2s: uidgen.status shows it');
$clock->step(2 * $tick);
is(join('|', (exhaust('SELECT uid_next()'))[ 0, 1, 2 ]),
	'32|20|55000', 'max_burst = 2s: the clock makes room by going on');
$clock->step(100);
is(join('|', (exhaust('SELECT uid_next()', most => 1))[ 0, 1, 2 ]),
	'1|0|', 'max_burst = 2s: when the clock has caught up, the time is true');
is($node->safe_psql('postgres', 'SELECT ahead FROM uidgen.status'),
	'00:00:00', 'max_burst = 2s: uidgen.status says so');
$node->stop;

done_testing();
