# After every kind of end of the server, and after the crash of a backend under load,
# ids are new and larger than all before, the worker id stays the same, and
# what a clean stop did not use is handed back.  pg_regress cannot stop its
# server.
# Promise: P1, P2
# Kills: src/keeper/keeper.c shut_down: (void) try_registry(link, &uidgen_memory->grant_demand, NULL, uidgen_grants_release); => ;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use List::Util qw(max min);
use UidgenTest;

# Eight ids a millisecond: as they are drawn faster than that, and may be, they run
# ahead of the clock, which then cannot keep old and new ids apart.
my $node = uidgen_node('main', 'restart_after_crash = on', "uidgen.max_burst = '1h'", "uidgen.wait_timeout = '1h'",
	"uidgen.layout = 'time:41:1ms worker:10 sequence:3 epoch:2025-01-01'");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');

my $worker = $node->safe_psql('postgres', 'SELECT worker FROM uid_parse(uid_next())');
my @all;

# Draw some ids; all must be above those before.
sub draw_above
{
	my ($name) = @_;
	my $first;

	# After a crash the server refuses connections for a while.
	my $comes = poll_until(
		sub {
			my ($status, $out) = try_psql($node, 'SELECT uid_next()');
			$first = $out if $status == 0;
			return $status == 0;
		});
	ok($comes, "$name: the first id comes") or die 'no id comes';
	my @new = ($first, split /\n/, $node->safe_psql('postgres', 'SELECT uid_next() FROM generate_series(1, 20000)'));
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	cmp_ok(min(@new), '>', max(@all), "$name: ids are larger than all before") if @all;
	push @all, @new;
	is($node->safe_psql('postgres', "SELECT worker FROM uid_parse($new[-1])"), $worker,
		"$name: the worker id is the same");
	return $new[-1];
}

# The one row of the registry, and how much of its grant lies beyond an id's tick.
sub registry_row
{
	my ($id) = @_;
	return split /\|/, $node->safe_psql(
		'postgres', "SELECT released, token IS NULL, launches,
			granted_until - floor((extract(epoch FROM uid_timestamp($id)) - extract(epoch FROM epoch)) * 1000)
			FROM uidgen_registry.worker_node, uid_layout_info()");
}

# A clean stop.
my $last = draw_above('at first');
my ($released, $no_token, $launches, $rest) = registry_row($last);
is("$released $no_token $launches", 'f f 1', 'while the server runs, the worker id is held');
cmp_ok($rest, '>', 100, 'and granted beyond the last id');
$node->stop('fast');
$node->start;
($released, $no_token, $launches, $rest) = registry_row($last);
is("$released $no_token $launches", 't t 1', 'a clean stop releases the worker id');
is($rest, 0, 'and hands back what was not used, to the tick');
$last = draw_above('after a clean stop');
is((registry_row($last))[2], 2, 'it was acquired a second time');

# A keeper that is terminated gives its grant back, too.  The postmaster's signal
# comes twice at a shutdown; what the first one begins, the second must not break
# off.
foreach my $round (1 .. 5)
{
	# The next one would renew what this one was about to.
	await_keeper($node);
	# Two follow each other for a moment, where sessions have called one.
	my $pid = the_keeper($node);
	1 while kill 'TERM', $pid;
	is((registry_row($last))[0], 't', "round $round: a keeper that is terminated releases its worker id");
	$last = draw_above("round $round: after the end of the keeper");
}

# A stop while there is no grant.
await_keeper($node);
kill 'TERM', the_keeper($node);
ok($node->poll_query_until('postgres', 'SELECT released FROM uidgen_registry.worker_node'), 'the worker id is released');
$node->restart;
$last = draw_above('after a stop without a grant');

# An immediate stop hands back nothing, and what was granted lies behind.
$node->stop('immediate');
$node->start;
($released, $no_token, $launches, $rest) = registry_row($last);
is("$released $no_token", 'f f', 'an immediate stop releases nothing');
cmp_ok($rest, '>', 100, 'so that no id is issued a second time');
draw_above('after an immediate stop');

# The crash of a backend while others draw.
my @drawings = map { start_drawing($node) } 1 .. 2;
ok(await_drawing($_, 1000), 'ids are drawn') foreach @drawings;
my $victim = $node->safe_psql('postgres', "SELECT min(pid) FROM pg_stat_activity WHERE query LIKE 'COPY%'");
kill 'KILL', $victim;
$_->{run}->finish foreach @drawings;
my @seen = map { stop_drawing($_) } @drawings;
is(repeated(\@all, @seen), 0, 'under load no id was issued twice');
push @all, map { @$_ } @seen;
draw_above('after the crash of a backend');

# And of the keeper.
my $drawing = start_drawing($node);
ok(await_drawing($drawing, 1000), 'ids are drawn');
kill 'KILL', the_keeper($node);
$drawing->{run}->finish;
my $seen = stop_drawing($drawing);
is(repeated(\@all, $seen), 0, 'again no id was issued twice');
push @all, @$seen;
draw_above('after the crash of the keeper');

# Of the postmaster.  It starts again once all its children are gone.
ok(kill_and_start($node), 'the server starts after its postmaster was killed');
draw_above('after the crash of the postmaster');

is(repeated(\@all), 0, scalar(@all) . ' ids, none twice');
is($node->safe_psql('postgres', 'SELECT count(*) FROM uidgen_registry.worker_node'), '1', 'one worker id was enough');

done_testing();
