# A bad setting keeps ids from being issued, but not the server from starting: the
# log, uid_next() and uidgen.status say what is wrong, the registry is left alone, and
# functions that are given a layout still work.  PostgreSQL alone would take the default
# instead.  pg_regress cannot start a server with other settings.
# Promise: P6
# Kills: src/memory/guc.c note_error: if (process_shared_preload_libraries_in_progress) => if (!(process_shared_preload_libraries_in_progress))

use FindBin;
use POSIX ();
use lib "$FindBin::RealBin/../perl";
use UidgenTest;

my $node = uidgen_node('main', "include_if_exists = 'bad.conf'");
my $bad_conf = $node->data_dir . '/bad.conf';
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
my $first = $node->safe_psql('postgres', 'SELECT uid_next()');
$node->restart;

sub registry
{
	return $node->safe_psql('postgres', 'SELECT n, l FROM uidgen_registry.worker_node AS n, uidgen_registry.registry AS l');
}

sub info
{
	my ($sql, $database) = @_;
	my $err;
	$node->psql($database // 'postgres', $sql, stderr => \$err, on_error_die => 1);
	return $err;
}

my $before = registry();

# What to start with, and what must be said of it.
my @bad = (
	[ "uidgen.layout = 'time:41:1ms worker:10 sequence:x'", 'uidgen.layout', qr/sequence/ ],
	[ "uidgen.layout = 'snowball'", 'uidgen.layout', qr/snowball/ ],
	[ "uidgen.layout = ''", 'uidgen.layout', qr/layout/ ],
	[ "uidgen.layout = 'time:41:1ms worker:10 sequence:13 epoch:2025-01-01'", 'uidgen.layout', qr/64/ ],
	[ "uidgen.layout = 'sequence:12 worker:10 time:41:1ms epoch:2025-01-01'", 'uidgen.layout', qr/time/ ],
	[ 'uidgen.datacenter_id = 1', 'uidgen.datacenter_id', qr/1 is above 0, .*no datacenter field.*"time:.*datacenter:5 / ],
	[ "uidgen.datacenter_id = 32\nuidgen.layout = 'Twitter'", 'uidgen.datacenter_id', qr/32 is above 31/ ],
	[ 'uidgen.datacenter_id = -1', 'uidgen.datacenter_id', qr/"-1"/ ],
	[ 'uidgen.worker_id = 1024', 'uidgen.worker_id', qr/1024 is above 1023/ ],
	[ 'uidgen.worker_id = 99999999999', 'uidgen.worker_id', qr/99999999999/ ],
	[ "uidgen.worker_policy = 'reuseable'", 'uidgen.worker_policy', qr/reuseable/ ],
	[ "uidgen.registry = 'host=a password=b'", 'uidgen.registry', qr/It holds a password/ ],
	[ 'uidgen.registry_timeout = 0', 'uidgen.registry_timeout', qr/"0"/ ],
	[ "uidgen.window = '10 furlongs'", 'uidgen.window', qr/furlongs/ ],
	[ 'uidgen.window = -1', 'uidgen.window', qr/"-1"/ ],
	[ 'uidgen.padding_factor = 101', 'uidgen.padding_factor', qr/"101"/ ],
	[ 'uidgen.max_ahead = -5s', 'uidgen.max_ahead', qr/-5s/ ],
	[ 'uidgen.wait_timeout = 2h', 'uidgen.wait_timeout', qr/2h/ ],
	[ 'uidgen.max_segments = 100001', 'uidgen.max_segments', qr/"100001" is not a number from 0 to 100000\./ ],
	[ 'uidgen.segment_duration = 500ms', 'uidgen.segment_duration', qr/"500ms" is not a number from 1 to 86400 s/ ],
	[ "uidgen.sequence_start = 'one'", 'uidgen.sequence_start', qr/one/ ],
	# two at once: the log names both
	[ "uidgen.worker_id = 5000\nuidgen.window = 'long'", 'uidgen.window', qr/long/ ],
);

foreach my $case (@bad)
{
	my ($conf, $setting, $pattern) = @$case;
	my $log = -s $node->logfile;
	(my $name = $conf) =~ s/\n/, /;

	unlink $bad_conf;
	append_to_file($bad_conf, "$conf\n");
	$node->restart;
	like(log_since($node, $log), qr/LOG:.*uidgen issues no ids because of the setting "$setting": .*$pattern/s,
		"$name: the server starts and the log tells");
	fails_with($node, 'SELECT uid_next()', '22023', qr/because of the setting "$setting": .*$pattern.*HINT:/s,
		"$name: uid_next() tells");
}

# The last case had two; the rest of what is off, and what is not.
like(log_since($node, 0), qr/because of the setting "uidgen.worker_id": .*5000 is above 1023/s,
	'the log tells of each bad setting');
like($node->safe_psql('postgres', 'SELECT state, last_error FROM uidgen.status'), qr/^bad setting\|.+/,
	'uidgen.status tells');
$node->safe_psql('postgres', 'CREATE DATABASE other');
like(info('CREATE EXTENSION uidgen', 'other'), qr/INFO:.*does not work yet.*DETAIL:.*long/s,
	'CREATE EXTENSION tells');
fails_with($node, $_, '22023', qr/because of the setting/, "$_ is off, too")
  foreach 'SELECT uid_parse(1)', 'SELECT uid_layout()', 'SELECT uid_next_batch(1)', 'SELECT uid_reserve(1)',
  'SELECT uid_horizon()', 'SELECT uid_hold(1)';
is($node->safe_psql('postgres', "SELECT uid_min('2025-06-01 12:00:00+00', 'twitter')"),
	$node->safe_psql('postgres', "SELECT uid_make('2025-06-01 12:00:00+00', 0, 0, 0, NULL, 'twitter')"),
	'what is given a layout works');
is(registry(), $before, 'the registry was left alone');
is(keeper_pid($node), '', 'no keeper runs');

# Back to good settings.
unlink $bad_conf;
$node->restart;
cmp_ok($node->safe_psql('postgres', 'SELECT uid_next()'), '>', $first, 'with good settings ids are issued again');

# A layout that ends soon: 28 bits of seconds are eight years and a half.
my $epoch = POSIX::strftime('%Y-%m-%d', gmtime(time - (1 << 28) + 300 * 86400));
append_to_file($bad_conf, "uidgen.layout = 'baidu epoch:$epoch'\n");
my $started = -s $node->logfile;
$node->restart;
like(log_since($node, $started), qr/LOG:  the layout of uidgen is used up on \d{4}-\d\d-\d\d\n.*DETAIL:.*"time:28:1s worker:22 sequence:13 epoch:$epoch".*\n.*HINT:  Plan a new registry/,
	'the log says when a layout ends within a year');
unlink $bad_conf;
$started = -s $node->logfile;
$node->restart;
unlike(log_since($node, $started), qr/the layout of uidgen/, '... and not of others');

# While the server runs, a bad value is refused as usual, and the old one stays.
fails_with($node, "ALTER SYSTEM SET uidgen.layout = 'snowball'", '22023', qr/snowball/,
	'ALTER SYSTEM refuses a bad layout');
fails_with($node, "ALTER SYSTEM SET uidgen.layout = 'sequence:12 time:41:1ms epoch:2025-01-01'",
	'22023', qr/cannot generate/, 'and one that cannot generate');
fails_with($node, "SET uidgen.wait_timeout = '2h'", '22023', qr/wait_timeout/, 'SET refuses a value out of range');
my $log = -s $node->logfile;
append_to_file($bad_conf, "uidgen.window = 'long'\n");
$node->reload;
ok(poll_until(sub { log_since($node, $log) =~ /invalid value for parameter "uidgen.window"/ }),
	'a bad value in a reloaded file is reported');
is($node->safe_psql('postgres', "SELECT current_setting('uidgen.window'), uid_next() > 0"), '0|t',
	'and the old one stays');

done_testing();
