# Proves that a session's own cache of ids (uidgen.cache) breaks no promise but
# the strict order over sessions: no id is issued twice, also in parallel workers
# and in a fork; each session's ids increase, whichever way it draws them; the rest of
# a cache is not used any more after the clock has left its tick, other sessions have
# gone on to a later tick, or the grant has changed; and a session takes as many ids as
# it uses, however it sets the cache, so that ids stay at the clock and few are wasted.
#
# A clock that stands still makes the cases exact.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use IdFiles;
use UidgenTest;

# A tick has 256 ids.
my $node = uidgen_node('main', "uidgen.layout = 'time:41:1ms worker:10 sequence:8 epoch:2025-01-01'");
my $clock = FakeClock->new($node);
$clock->under(sub { $node->start });
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');

# ---- many sessions ----

my $many = 'FROM generate_series(1, 200000)';
my @files;
{
	local $ENV{PGOPTIONS} = '-c uidgen.cache=64';
	my @draws = map { begin_file($node, $_) } ("SELECT uid_next() $many") x 3,
	  # whatever way it is drawn: one, a batch, a block
	  "SELECT unnest(ARRAY[uid_next(), (SELECT max(id) FROM uid_next_batch(3 + 0 * n) AS id),"
	  . " (uid_reserve(3) + 3 - 1), uid_next(), uid_next()]) FROM generate_series(1, 20000) AS n";
	delete $ENV{PGOPTIONS};
	push @draws, begin_file($node, "SELECT uid_next() $many");
	@files = map { end_file($_) } @draws;
}
unique_in_order(900_000, 'sessions with and without a cache: no duplicate, each in order', @files);
cmp_ok($node->safe_psql('postgres', 'SELECT wasted FROM uidgen.status'), '>', 0, 'what was not used is counted');

# ---- one step after the other ----

# The clock stands still, ahead of all ids that were drawn.
my $time = int($clock->now) + 3000;
$clock->stop($time);
my $epoch = 1735689600;    # 2025-01-01
my %session = (b => $node->background_psql('postgres'));

# An id that a session draws, as [ticks since the clock stood still, sequence].
sub draw
{
	my ($name, $call) = @_;
	$call //= 'uid_next()';
	my $id = $session{$name}->query_safe("SELECT $call");
	return [ ($id >> 18) - 1000 * ($time - $epoch), $id & 255 ];
}

sub draw_many
{
	my ($name, $count) = @_;
	$session{$name}->query_safe("SELECT count(uid_next()) FROM generate_series(1, $count)");
	return;
}

sub wasted
{
	return $node->safe_psql('postgres', 'SELECT wasted FROM uidgen.status');
}

# A session with a cache of this size.
sub begin_session
{
	my ($name, $cache) = @_;
	end_session($session{$name}) if $session{$name};
	$session{$name} = $node->background_psql('postgres');
	$session{$name}->query_safe("SET uidgen.cache = $cache");
	return;
}

# Session a begins anew, in a tick of which it has drawn 0 to 3; it has 4 to 6 in
# its cache, and 7 is free.  Returns the tick.
sub begin_store
{
	begin_session('a', 100);
	$clock->step(1);
	draw_many('a', 3);
	return draw('a')->[0];
}

begin_session('a', 100);
is_deeply([ map { draw($_)->[1] } qw(a b a b a b a a b) ], [ 0, 1, 2, 4, 3, 5, 6, 7, 10 ],
	'a takes one id, then twice as many each time it has used all of them; b draws above');
my $wasted = wasted();
is_deeply(draw('a', 'uid_reserve(1)'), [ 0, 11 ], 'a block that a draws is above all');
is_deeply(draw('a'), [ 0, 12 ], 'and so is its next id, with which it takes as many as it used of its cache');
is_deeply(draw('a', '(SELECT max(id) FROM uid_next_batch(2) AS id)'), [ 0, 15 ], 'so is a batch');
is_deeply(draw('a'), [ 0, 16 ], 'and the id after that');
is(wasted(), $wasted + 3, 'what was left before each is counted as wasted');

draw_many('a', 2 + 4 + 8 + 16 + 32 + 64);
is_deeply([ map { draw($_)->[1] } qw(a b a) ], [ 143, 243, 144 ], 'no more than the setting are taken at a time');
draw_many('a', 98);
is_deeply([ draw('a'), draw('b') ], [ [ 0, 244 ], [ 1, 0 ] ], 'nor more than the tick still has');

# Others go on to a later tick.
$wasted = wasted();
is_deeply(draw('a'), [ 1, 1 ], 'when others have gone on to a later tick, the cache is not used any more');
is(wasted(), $wasted + 11, 'and what was left is counted as wasted');

# The clock moves.
my $tick = begin_store();
$clock->step(0.0005);
is_deeply(draw('a'), [ $tick, 4 ], 'when the clock has moved within its tick, the cache is used');
$clock->step(-0.01);
is_deeply(draw('a'), [ $tick, 5 ], 'nor does a small step back make it useless');
$clock->step(0.02);
$wasted = wasted();
is_deeply(draw('a'), [ $tick + 10, 0 ], 'when the clock has left its tick, the cache is not used any more');
is(wasted(), $wasted + 1, 'and what was left is counted as wasted');
$tick = begin_store();
$clock->step(0.001);
is_deeply(draw('a'), [ $tick + 1, 0 ], 'nor when it is in the next one');

# The setting changes.
$tick = begin_store();
$wasted = wasted();
$session{a}->query_safe('SET uidgen.cache = 10');
is_deeply(draw('a'), [ $tick, 4 ], 'when the setting is set, the cache is used');
$session{a}->query_safe("SET uidgen.cache = 1; SET uidgen.cache = 10");
is_deeply(draw('a'), [ $tick, 5 ], 'also when it was turned off meanwhile');
is(wasted(), $wasted, 'and nothing is wasted');
$session{a}->query_safe('SET uidgen.cache = 1');
is_deeply(draw('a'), [ $tick, 7 ], 'while it is turned off, ids are drawn past the cache');
is_deeply(draw('b'), [ $tick, 8 ], 'one at a time');
$session{a}->query_safe('SET uidgen.cache = 10');
is_deeply(draw('a'), [ $tick, 9 ], 'and when it is turned on again, ids are above them');
is(wasted(), $wasted + 1, 'what was left is counted as wasted');

# A cache as large as a tick.
begin_session('a', 1_000_000);
$clock->step(0.001);
draw_many('a', 255);
$tick = draw('b')->[0];
is_deeply([ draw('a'), draw('b') ], [ [ $tick + 1, 0 ], [ $tick + 2, 0 ] ], 'a cache that is larger than a tick takes all of it');
is_deeply([ draw('a'), draw('b') ], [ [ $tick + 2, 1 ], [ $tick + 2, 2 ] ], 'but not a second time, when little of it was used');

# The end of the session.
begin_store();
$wasted = wasted();
$session{a}->quit;
delete $session{a};
ok(poll_until(sub { wasted() == $wasted + 3 }), 'what is left at the end of a session is counted as wasted');

# Another grant.
$tick = begin_store();
end_keeper($node) or die 'no other keeper has begun';
cmp_ok(draw('a')->[0], '>', $tick, 'when the grant is another, the cache is not used any more');

# ---- a session takes what it uses ----

# All these draw 3000 ids, which need 12 ticks.  Returns how many ticks they took, and
# how many ids were wasted.
$node->safe_psql('postgres', "CREATE FUNCTION new_id() RETURNS bigint LANGUAGE sql SET uidgen.cache = 4096 AS 'SELECT uid_next()'");

sub cost
{
	my (@statements) = @_;
	$clock->step(2);
	my $wasted = wasted();
	my $tick = draw('b')->[0];
	$session{a}->query_safe($_) foreach @statements;
	return [ draw('b')->[0] - $tick, wasted() - $wasted ];
}

foreach my $case (
	[
		'SET LOCAL in each transaction',
		'DO $$ BEGIN FOR i IN 1 .. 3000 LOOP SET LOCAL uidgen.cache = 1000; PERFORM uid_next(); COMMIT; END LOOP; END $$'
	],
	[ 'a function that sets it', 'SELECT count(new_id()) FROM generate_series(1, 3000)' ],
	[ 'SET before each id', 'DO $$ BEGIN FOR i IN 1 .. 3000 LOOP SET uidgen.cache = 1000; PERFORM uid_next(); END LOOP; END $$' ],
	[
		'mixed with blocks', 'SET uidgen.cache = 4096',
		'SELECT count(uid_next()), count(uid_reserve(1)) FROM generate_series(1, 1500)'
	],
	[
		'mixed with batches', 'SET uidgen.cache = 4096',
		'SELECT count(uid_next() + (SELECT max(id) FROM uid_next_batch(1 + 0 * n) AS id)) FROM generate_series(1, 1500) AS n'
	])
{
	my ($name, @statements) = @$case;
	my $cost = cost(@statements);
	note("$name: 3000 ids took $cost->[0] ticks, and $cost->[1] were wasted");
	ok($cost->[0] <= 14 && $cost->[1] < 300, "$name: ids are not wasted, and stay at the clock") || diag("@$cost");
}

# Some ids at a time, then a block: a cache is at most twice what was used of the last one.
my $cost = cost('SET uidgen.cache = 4096',
	'SELECT count(uid_next() + uid_next() + uid_next() + uid_reserve(1)) FROM generate_series(1, 750)');
note("three ids and a block: 3000 ids took $cost->[0] ticks, and $cost->[1] were wasted");
ok($cost->[0] <= 24 && $cost->[1] < 3000, 'three ids and a block: no more is wasted than used') || diag("@$cost");

# Several sessions, whose caches together are larger than a tick: one after the other
# draws so many ids.
foreach my $run (1, 7, 100)
{
	my $turns = int(900 / $run);
	$turns -= $turns % 3;
	begin_session($_, 1_000_000) foreach qw(a c d);
	$clock->step(1);
	my $wasted = wasted();
	my $tick = draw('b')->[0];
	foreach my $turn (1 .. $turns)
	{
		draw_many((qw(a c d))[ $turn % 3 ], $run);
	}
	my $ticks = draw('b')->[0] - $tick;
	$wasted = wasted() - $wasted;
	note(sprintf 'three sessions, %d ids at a time: %d ids took %d ticks, and %d were wasted', $run, $turns * $run, $ticks, $wasted);
	ok($ticks <= 4 * $turns * $run / 256 + 2, "three sessions, $run ids at a time: they do not drive each other ahead of the clock");
}

# ---- ids that may not run ahead of the clock ----

# A call that waits for the clock keeps the cache that it gets then.
change_setting($node, 'uidgen.max_burst', '0');
$clock->step(10);
# Not those for the grant, which the first call may need.
my $waits = $node->safe_psql('postgres', 'SELECT clock_waits FROM uidgen.statistics');
$session{a}->query_until(qr/begun/, <<'SQL');
\echo begun
SET uidgen.cache = 256;
SET uidgen.wait_timeout = '1h';
SELECT n || ' ids' FROM (SELECT count(*) AS n FROM (SELECT uid_next() AS id FROM generate_series(1, 10 * 256)) AS ids GROUP BY id >> 18) AS ticks;
SQL
foreach my $tick (1 .. 9)
{
	$node->poll_query_until('postgres', "SELECT clock_waits >= $waits + $tick FROM uidgen.statistics") or last;
	$clock->step(0.001);
}
my @ids_of_tick = $session{a}->query('SELECT 1') =~ /^(\d+) ids$/mg;
is("@ids_of_tick", join(' ', (256) x 10), 'max_burst = 0: a session with a cache gets all ids of each tick');
$tick = begin_store();
$clock->step(0.0004);
is_deeply(draw('a'), [ $tick, 4 ], 'max_burst = 0: when the clock has moved within its tick, the cache is used');
change_setting($node, 'uidgen.max_burst', '1s');

# ---- the clock is set back by a large step ----

$tick = begin_store();
$clock->step(-7200);
is(draw('a')->[0], $tick - 7_200_000, 'when the clock is set back by a large step, the cache is not used any more');

# ---- copies of the process ----

my $library = build_module('tools/forkdraw');
begin_session('a', 100);
$session{a}->query_safe("CREATE FUNCTION draw_in_child(regprocedure) RETURNS bigint AS '$library' LANGUAGE C");
my @ids = split /\|/, $session{a}->query_safe("SELECT uid_next(), draw_in_child('uid_next()'), uid_next(), draw_in_child('uid_next()'), uid_next()");
is(repeated(\@ids), 0, 'a fork of the process draws other ids');
$_->quit foreach values %session;

$clock->correct;
my $force = $node->pg_version < 16 ? 'force_parallel_mode' : 'debug_parallel_query';
is( $node->safe_psql('postgres', <<"END"),
	SET uidgen.cache = 64;
	SET $force = on; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
	CREATE TABLE source AS SELECT generate_series(1, 100000) AS n;
	ALTER TABLE source SET (parallel_workers = 2);
	SELECT uid_next() > 0;
	-- The planner leaves uid_next() itself to the leader.
	CREATE FUNCTION in_worker() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE AS 'SELECT uid_next()';
	CREATE TABLE made AS SELECT in_worker() AS id FROM source;
	SELECT count(*), count(DISTINCT id) FROM made;
END
	"t\n100000|100000", 'parallel workers draw different ids');

# ---- short ticks, and a sequence that is not the lowest field ----

my $short = uidgen_node('short', "uidgen.layout = 'time:48:10us sequence:12 worker:3 epoch:2025-01-01'", 'uidgen.cache = 100');
$clock = FakeClock->new($short);
$clock->under(sub { $short->start });
$short->safe_psql('postgres', 'CREATE EXTENSION uidgen');
# For these ticks the coarse clock is too coarse.
is( $short->safe_psql('postgres', <<'END'), 0, 'no id is older than its call, also where a tick is shorter than a step of the coarse clock');
	SELECT count(*) FROM (SELECT clock_timestamp() AS before, uid_next() AS id FROM generate_series(1, 200000)) AS drawn
	WHERE uid_timestamp(id) < before - interval '10 us';
END
# That session has wasted what was left of its cache, and has counted that when it has ended.
$short->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'}) or die 'a session does not end';
$clock->stop(int($clock->now) + 10);
is( $short->safe_psql('postgres', <<'END'), '0 1 3 4 1', 'what is left is counted in ids, wherever the sequence lies');
	SELECT wasted FROM uidgen.status \gset
	SELECT string_agg((uid_parse(id)).sequence::text, ' ' ORDER BY id) AS drawn
	FROM (VALUES (uid_next()), (uid_next()), ((SELECT max(id) FROM uid_next_batch(1) AS id)), (uid_next())) AS ids (id) \gset
	SELECT :'drawn', wasted - :wasted FROM uidgen.status \g (format=unaligned fieldsep=' ')
END
$short->stop;

fails_with($node, "LOAD 'uidgen'; SET uidgen.cache = 0", '22023', qr/uidgen\.cache/, 'a cache of nothing is refused');
$node->stop;

done_testing();
