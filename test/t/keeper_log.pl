# What the keeper writes to the log: each cause once in an outage, also where causes alternate and attempts succeed in between;
# again in another outage; no line for a worker id that is kept; and where a refusal comes from only if nobody can have
# foreseen it.  pg_regress has no network that fails.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use Fleet;
use RegistryProxy;
use UidgenTest;

my @QUIET = ('log_statement = none', 'log_min_error_statement = panic');

# ---- a network that comes and goes ----

my $registry = fleet_registry('registry');
my $proxy = RegistryProxy->new($registry);
my $clock;
my $node = fleet_node('node', hosts($proxy->port), sub { $clock = FakeClock->new($_[0]) }, @QUIET, "uidgen.registry_timeout = '300ms'");
draws($node);
ok(goes_on($node), 'at first');
my $worker = worker_id($node);

# Attempts fail, for one cause after the other, and succeed again.
sub flaps
{
	foreach ([ 'cut', 'the registry did not answer' ], [ 'hole', 'could not connect to the registry' ])
	{
		my ($fault, $cause) = @$_;
		$proxy->set($fault, 'lease_');
		ok(poll_until(sub { last_error($node) eq $cause }), "$fault: $cause");
		$proxy->set();
		ok(poll_until(sub { status_of($node, 'last_error IS NULL') eq 't' }), '... and one succeeds');
	}
	return;
}

# The keeper's lines since an offset, as what they say.
sub said
{
	my ($server, $offset) = @_;
	return log_since($server, $offset) =~ /LOG:  (uidgen .*)/g;
}

my $log = -s $node->logfile;
flaps() foreach 1 .. 5;
my @lines = said($node, $log);
my %once = map { $_ => 1 } @lines;
is(scalar(grep { /^uidgen has no new grant: / } keys %once), scalar(@lines), 'only causes are told') or diag(join "\n", @lines);
cmp_ok(scalar(keys %once), '>=', 2, '... there are several');
is(worker_id($node), $worker, 'the worker id is kept, without a line');
is(scalar(() = log_since($node, 0) =~ /uidgen acquired worker id $worker\n/g), 1, '... but for the first one');
ok(goes_on($node), 'ids go on');

# A keeper that is followed by another one has told them, too.  What it was doing may have been broken off.
$log = -s $node->logfile;
end_keeper($node) or die 'no keeper comes';
flaps();
is_deeply([ grep { !/acquired|broken off/ } said($node, $log) ], [], 'the same outage is not told again');
# Not in the midst of a call, which would have taken a minute.
stops_drawing($node);
await_keeper($node);
# A slow machine may have its first outage at once.
$log = -s $node->logfile;
$clock->pass(61);
draws($node);
poll_until(sub { status_of($node, 'state') eq 'granted' }) or die 'no grant';
flaps();
is(join(' ', sort(said($node, $log))), join(' ', sort keys %once), 'after a minute without a failure, each of its causes is told once more');

# Another place has failures of its own.
$log = -s $node->logfile;
change_setting($node, 'uidgen.registry', hosts(PostgreSQL::Test::Cluster::get_free_port()));
ok(poll_until(sub { grep { /could not connect to the registry/ } said($node, $log) }), 'a changed setting begins anew');
nothing_twice('no id came twice');

# ---- where refusals come from ----

my $alone = uidgen_node('alone', @QUIET, "uidgen.wait_timeout = '0'", "include_if_exists = 'more.conf'");
$alone->start;
my $DRAW = "SET uidgen.wait_timeout = '1min'; SELECT uid_next()";
$alone->safe_psql('postgres', "CREATE EXTENSION uidgen; $DRAW");
append_to_file($alone->data_dir . '/more.conf', "uidgen.layout = 'js53'\n");
$alone->restart;
# This database has ids of the other layout; one that has none asks the registry.
$alone->safe_psql('postgres', 'CREATE DATABASE other');
$alone->safe_psql('other', "SET client_min_messages = warning; CREATE EXTENSION uidgen");
$log = -s $alone->logfile;
ok(poll_until(sub { sqlstate_of($alone, 'SELECT uid_next()', 'other'); log_since($alone, 0) =~ /uidgen has no new grant: the layout differs/ }), 'a refusal is told');
unlike(log_since($alone, 0), qr/CONTEXT/, '... without the place where it was made');
unlink $alone->data_dir . '/more.conf';
$alone->restart;
$alone->safe_psql('postgres', $DRAW);
$alone->restart;
$alone->safe_psql('postgres', 'ALTER TABLE uidgen_registry.worker_node RENAME modified TO changed');
sqlstate_of($alone, 'SELECT uid_next()');
ok(poll_until(sub { log_since($alone, 0) =~ /uidgen has no new grant: column \S+ does not exist\n(?:.*\n)*?.*CONTEXT:  .*\n(?:.*\n)*?.*\bacquire_worker_id\(/ }),
	'an error that nobody has foreseen is told with its place');

done_testing();
