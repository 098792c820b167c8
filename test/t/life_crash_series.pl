# Proves that backends which are killed one after the other, faster than grants
# run out, neither make an id repeat nor use worker ids up; and measures for how
# long a crash keeps ids away.  Each crash leaves behind a grant that was hardly
# used, so the next ids begin a window further ahead of the clock.
#
#	UIDGEN_CRASHES=200 ./check test/t/life_crash_series.pl

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Time::HiRes qw(time);
use UidgenTest;

my $crashes = $ENV{UIDGEN_CRASHES} // 50;

# Far more than a crash takes, in seconds, but for a slow machine.
my $LIMIT = 30;

my $node = uidgen_node('main', 'restart_after_crash = on');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');

my $VICTIM = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'COPY%uid_next%'";
my (@ids, @took, $last);
my ($stuck, $slow, $disorders) = (0) x 3;
foreach my $crash (1 .. $crashes)
{
	my $drawing = start_drawing($node);
	await_drawing($drawing, 100) or $stuck++, last;
	my $pid = $node->safe_psql('postgres', $VICTIM);
	my $log = -s $node->logfile;
	my $started = time();
	kill 'KILL', $pid;

	# An id of before the crash does not count.
	my $first;
	poll_until(
		sub {
			return 0 unless log_since($node, $log) =~ /all server processes terminated; reinitializing/;
			my ($status, $id) = try_psql($node, 'SELECT uid_next()');
			$first = $id if $status == 0;
			return $first;
		}, 2 * $LIMIT) or $stuck++, last;
	push @took, time() - $started;
	$slow++ if $took[-1] > $LIMIT;
	push @ids, stop_drawing($drawing), [$first];
	$disorders += grep { $_ <= ($last // 0) || $_ >= $first } @{ $ids[-2] };
	$last = $first;
}

my $workers = $node->safe_psql('postgres', 'SELECT count(*) FROM uidgen_registry.worker_node');
note("$crashes crashes: from the kill to the first id: " . spread(@took) . "; worker ids: $workers; "
	  . scalar(map { @$_ } @ids) . ' ids');
is($stuck, 0, "$crashes crashes in a row: ids go on after each");
is($slow, 0, 'and soon');
is(repeated(@ids), 0, 'no id was issued twice');
is($disorders, 0, 'ids are larger than all before each crash');
cmp_ok($workers, '<=', 2, 'two worker ids do for it');

done_testing();
