# At the end of a layout's time, and before its epoch: no id is made from a tick that
# does not fit, and the error says what has ended.  The layout of pg_regress ends in
# decades.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use POSIX qw(strftime);
use UidgenTest;

my $node = uidgen_node('main', "include_if_exists = 'layout.conf'");

# Twenty bits of seconds, the last of which ends in this many seconds.
sub restart_with_rest
{
	my ($rest) = @_;
	my $conf = $node->data_dir . '/layout.conf';
	my $epoch = strftime('%Y-%m-%dT%H:%M:%SZ', gmtime(time() + $rest - 2**20));
	unlink $conf;
	append_to_file($conf, "uidgen.layout = 'time:20:1s worker:4 sequence:10 epoch:$epoch'\n");
	$node->stop;
	$node->start;
}
my $max_tick = 2**20 - 1;
my $MESSAGE = qr/time bits of the layout are used up.*HINT:.*"uidgen.layout"/s;

$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_registry');

# ---- before the epoch ----

restart_with_rest(2**20 + 3600);
fails_with($node, 'SELECT uid_next()', '22023', qr/epoch of the layout is in the future.*DETAIL:.*HINT:.*"uidgen.layout"/s,
	'before its epoch a layout has no ids');
is($node->safe_psql('postgres', 'SELECT extract(epoch FROM uid_timestamp(0) - epoch) FROM uid_layout_info()'), '0.000000',
	'but they can be decoded');
is($node->safe_psql('postgres', 'SELECT count(*) FROM uidgen_registry.registry'), '0', 'and it is not pinned');

# ---- after the end ----

restart_with_rest(-60);
fails_with($node, 'SELECT uid_next()', '2200H', $MESSAGE, 'after the last tick there are no ids');
is($node->safe_psql('postgres', 'SELECT count(*) FROM uidgen_registry.registry'), '0', 'and nothing is pinned');
is($node->safe_psql('postgres', 'SELECT expires_at < now() FROM uidgen.status'), 't', 'uidgen.status tells');

# ---- over the end ----

# A tick has 1024 ids, and more are drawn than the last 200 ticks have; they may
# run ahead of the clock by that.
append_to_file($node->data_dir . '/postgresql.conf', "uidgen.max_burst = '1h'\n");
restart_with_rest(200);
my ($ids, $err) = draw_until_error($node);
like($err, qr/2200H: .*$MESSAGE/s, 'ids end with the last tick but one');
my @ids = @$ids;
cmp_ok(scalar(@ids), '>', 1024, 'until then they are issued');
is(repeated(\@ids), 0, 'none twice');
is(scalar(grep { $ids[$_] <= $ids[ $_ - 1 ] } 1 .. $#ids), 0, 'in order, so that none is negative');
is( $node->safe_psql('postgres', "SELECT $ids[-1] >> 14, sequence FROM uid_parse($ids[-1])"),
	($max_tick - 1) . '|1023',
	'to the very last');

# Each kind of call, in a session of its own.
fails_with($node, "SELECT $_", '2200H', $MESSAGE, "then $_ fails")
  foreach 'uid_next()', 'uid_next(0)', 'uid_next_batch(10)', 'uid_reserve(10)';
like($node->safe_psql('postgres', 'SELECT state, last_error FROM uidgen.status'), qr/^failing\|.*used up/,
	'uidgen.status tells');
$node->restart;
fails_with($node, 'SELECT uid_next()', '2200H', $MESSAGE, 'after a restart, too');
is($node->safe_psql('postgres', "SELECT granted_until FROM uidgen_registry.worker_node"), $max_tick - 1,
	'the last tick was never granted');
is($node->safe_psql('postgres', "SELECT count(*) FROM uid_parse($ids[0])"), 1, 'what was issued can be decoded');

# Wherever the grants before it end: with these settings, three ticks are granted
# at a time, counted from the first.
append_to_file($node->data_dir . '/postgresql.conf', "uidgen.window = '1s'\nuidgen.padding_factor = 0\n");
my %tried;
for (my $rest = 100; keys %tried < 3 && $rest < 130; $rest++)
{
	# After the restart the first id makes another registry.
	$node->safe_psql('postgres', 'DROP EXTENSION uidgen_registry');
	restart_with_rest($rest);
	my ($drawn) = draw_until_error($node);
	my $place = (($drawn->[0] >> 14) - $max_tick) % 3;
	is($drawn->[-1] >> 14, $max_tick - 1, "short grants, at place $place: ids end with the last tick but one")
	  unless $tried{$place}++;
}
is(scalar(keys %tried), 3, 'short grants: at all places');

done_testing();
