# Proves that a session's own store of ids (uidgen.cache) breaks no promise but
# the strict order over sessions: no id is issued twice, also in parallel workers
# and in a fork; each session's ids increase, whichever way it draws them; and
# what is left in a store is not used any more when the clock has moved, others
# have gone on to a later tick, the setting has changed, or the grant is another.
#
# A clock that stands still makes the cases exact.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use IdFiles;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
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
	  . " (uid_next_block(3)).last_id, uid_next(), uid_next()]) FROM generate_series(1, 20000) AS n";
	delete $ENV{PGOPTIONS};
	push @draws, begin_file($node, "SELECT uid_next() $many");
	@files = map { end_file($_) } @draws;
}
unique_in_order(900_000, 'sessions with and without a store: no duplicate, each in order', @files);
cmp_ok($node->safe_psql('postgres', 'SELECT wasted FROM uidgen.status'), '>', 0, 'what was not used is counted');

# ---- one step after the other ----

# Ahead of all that was drawn; on it stands still.
my $time = int($clock->now) + 3000;
$clock->stop($time);
my %session = map { $_ => $node->background_psql('postgres') } qw(a b);

# An id that a session draws, as [time in ms since the clock stood still,
# sequence].
sub draw
{
	my ($name, $call) = @_;
	$call //= 'uid_next()';
	my $id = $session{$name}->query_safe("SELECT $call");
	return [ split /\|/,
		$node->safe_psql('postgres',
			"SELECT round(extract(epoch FROM \"timestamp\") * 1000 - $time * 1000::numeric), sequence FROM uid_parse($id)") ];
}

sub wasted
{
	return $node->safe_psql('postgres', 'SELECT wasted FROM uidgen.status');
}

$session{a}->query_safe('SET uidgen.cache = 100');
is_deeply(draw('a'), [ 0, 0 ], 'a takes the first hundred of a tick');
is_deeply(draw('b'), [ 0, 100 ], 'b draws above them');
is_deeply(draw('a'), [ 0, 1 ], 'a goes on with its own');
is_deeply(draw('a', '(uid_next_block(1)).first_id'), [ 0, 101 ], 'but a block that it draws is above all');
is_deeply(draw('a'), [ 0, 102 ], 'and so is its next id, with which it takes another hundred');
is_deeply(draw('a', '(SELECT max(id) FROM uid_next_batch(2) AS id)'), [ 0, 203 ], 'so is a batch');
my $wasted = wasted();
is_deeply(draw('a'), [ 1, 0 ], 'a hundred that does not fit into the tick is of the next one');
is_deeply(draw('b'), [ 1, 100 ], 'others go on there');
is_deeply(draw('a'), [ 1, 1 ], 'as does a');
is(wasted(), $wasted, 'nothing of it is wasted yet');

# Others go on to a later tick.
draw('b', '(uid_next_block(256)).last_id');
is_deeply(draw('a'), [ 3, 0 ], 'when others have gone on to a later tick, the store is not used any more');
is(wasted(), $wasted + 98, 'and what was left is counted as wasted');

# The clock moves: forward, and back.
foreach my $step (0.1, -0.01)
{
	my $before = draw('a');
	$clock->step($step);
	my $after = draw('a');
	ok($after->[0] == $before->[0] + ($step > 0 ? 97 : 0) && $after->[1] != $before->[1] + 1,
		"when the clock has moved by $step s, the store is not used any more")
	  or diag("@$before, @$after");
}

# The setting changes.
draw('b', '(uid_next_block(256)).last_id');
$session{a}->query_safe('SET uidgen.cache = 10');
my $before = draw('a');
$session{a}->query_safe('SET uidgen.cache = 10');
my $after = draw('a');
is_deeply($after, [ $before->[0], 10 ], 'when the setting was set, the store is not used any more');
$session{a}->query_safe('SET uidgen.cache = 1');
is_deeply(draw('a'), [ $before->[0], 20 ], 'nor when it was turned off');
draw('b', '(uid_next_block(256)).last_id');
$session{a}->query_safe('SET uidgen.cache = 1000000');
$before = draw('a');
is($before->[1], 0, 'a cache that is larger than a tick takes all of it');
is(draw('b')->[0], $before->[0] + 1, 'so that others go on in the next one');

# More than a tick has room for: they come to take less.
$session{c} = $node->background_psql('postgres');
$session{$_}->query_safe('SET uidgen.cache = 1000000') foreach qw(a b c);
my @turns = map { draw($_) } (qw(a b c)) x 10;
cmp_ok($turns[-1][0] - $turns[0][0], '<=', 6, 'sessions that ask for all of a tick do not drive each other ahead of the clock');
$session{b}->query_safe('RESET uidgen.cache');

# The end of the session.
$session{a}->query_safe('SET uidgen.cache = 50');
draw('a');
$wasted = wasted();
$session{a}->quit;
ok(poll_until(sub { wasted() == $wasted + 49 }), 'what is left at the end of a session is counted as wasted');

# Another grant.
$session{a} = $node->background_psql('postgres');
$session{a}->query_safe('SET uidgen.cache = 100');
$before = draw('a');
end_keeper($node) or die 'no other keeper has begun';
$after = draw('a');
cmp_ok($after->[0], '>', $before->[0], 'when the grant is another, the store is not used any more');

# ---- copies of the process ----

my $library = build_module('forkdraw');
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
	CREATE TABLE made AS SELECT uid_next() AS id FROM source;
	SELECT count(*), count(DISTINCT id) FROM made;
END
	"t\n100000|100000", 'parallel workers draw different ids');

fails_with($node, 'SET uidgen.cache = 0', '22023', qr/uidgen\.cache/, 'a cache of nothing is refused');
$node->stop;

done_testing();
