# What becomes of a node whose registry does not answer as it should: answers are lost after the commit, calls
# come late, the keeper ends in between, the registry is frozen, restarted, waits for a synchronous standby.  It keeps
# its worker id, uses nothing that it was not told in full, and goes on by itself.  It keeps its connection, too.
#
# The proxy (RegistryProxy.pm) does to calls what no server does when a test wants it to.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use RegistryProxy;
use RemoteRegistry;
use Time::HiRes qw(time usleep);
use UidgenTest;

my $registry = fleet_registry('registry');
my $proxy = RegistryProxy->new($registry);
# One behind the proxy, and a bystander, which nothing of that concerns.
# It waits for longer at first than a busy machine takes to answer, so that no other answers are lost than those that the proxy loses.
my $one = fleet_node('one', hosts($proxy->port), "uidgen.registry_timeout = '3s'");
my $two = fleet_node('two', hosts($registry));
my %worker;

# And one that draws an id now and then; at the end one sees how it kept its connection meanwhile.
my $idle_registry = fleet_registry('idle_registry', max_lead => '1 h');
my $idle = fleet_node('idle', hosts($idle_registry), "uidgen.window = '10min'");
$idle->safe_psql('postgres', 'SELECT uid_next()');
my $KEEPER_OF_IDLE = q{SELECT pid, backend_start FROM pg_stat_activity WHERE query ~ '^SELECT . FROM uidgen_registry.lease'};
my $keeper_of_idle;
# The process ends once, with what it has asked the local registry; its session with the other one may stay for a moment.
$idle->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'uidgen keeper'}) or die 'the keeper stays in the local registry';
await_keeper($idle);
poll_until(sub { ($keeper_of_idle = $idle_registry->safe_psql('postgres', $KEEPER_OF_IDLE)) =~ /\A.+\z/ });
my $asked_at = time;

# And one that reaches no registry at all.
my $lost = fleet_node('lost', hosts(refused_port()));
draws($lost);
my $lost_at = time;

# Both go on, by themselves, with the worker ids that they had.
sub unharmed
{
	my ($name, @nodes) = @_;
	@nodes = ($one, $two) unless @nodes;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(goes_on(@nodes), "$name: ids go on");
	is_deeply({ map { $_->name => worker_id($_) } @nodes }, \%worker, '... of the same worker ids');
	return is(rows($registry, 'count(*)', ''), keys %worker, '... and no other one was taken');
}

# ---- answers are lost ----

# Of the very first calls, too.  A node knows eight of the tokens that its row may have, so no more are lost than these.
$proxy->set(cut => '^lease$', 6);
draws($one, $two);
ok($proxy->await('cut lease granted', 3), 'the answers of the first calls are lost, after they were committed');
$proxy->set();
ok(goes_on($one, $two), '... and then ids are drawn');
%worker = map { $_->name => worker_id($_) } $one, $two;
unharmed('the first calls');

foreach my $fault (qw(cut swallow))
{
	# First a renewal; then acquisitions, since the node does not know which token its row has.  Again, where a busy machine has
	# lost an answer just before that.
	my ($in_a_row, $first);
	foreach (1 .. 20)
	{
		$proxy->set($fault, 'lease', 6);
		$in_a_row = $proxy->await("^$fault lease granted", $fault eq 'cut' ? 3 : 1);
		($first) = $proxy->events;
		$proxy->set();
		last if !$in_a_row || $first =~ /lease_renew/ || !goes_on($one);
	}
	ok($in_a_row, "$fault: the answers of several calls in a row are lost");
	is($first, "$fault lease_renew granted", '... first that of a renewal');
	unharmed($fault);
}

# ---- calls come late ----

# What the registry has of the one node.
sub row_of_one
{
	return rows($registry, 'token, granted_until, launches, modified', "WHERE worker_id = $worker{one}");
}

# Again, where the last answer took so long on a busy machine that the node knows the registry's clock no better than that.
my ($kept, $exactly);
foreach (1 .. 20)
{
	$proxy->set(late => 'lease');
	$kept = $one->poll_query_until('postgres', 'SELECT last_error IS NOT NULL FROM uidgen.status');
	$exactly = status_of($one, q{clock_width < '100 ms'}) eq 't';
	last if !$kept || $exactly;
	$proxy->set();
	last unless goes_on($one);
	# What is on its way comes before the next try.
	my $come = time + 1;
	poll_until(sub { time > $come });
}
ok($kept && $exactly, 'calls are kept on their way');
my $before = row_of_one();
ok($proxy->await('^late lease'), 'they come when the node waits no longer');
is_deeply([ grep { !/57014/ } $proxy->events ], [], '... and are refused');
is(row_of_one(), $before, '... so nothing is changed');
$proxy->set();
unharmed('late calls');

# Not on the way, but before the row: calls as the node makes them, which it has given up when the row is free.  The node itself
# is stopped meanwhile.
stops_drawing($one);
my $keeper = keeper_pid($one);
kill 'STOP', $keeper;
ok(poll_until(sub { rows($registry, "modified < clock_timestamp() - interval '2 s'", "WHERE worker_id = $worker{one}") eq 't' }), 'a node that is stopped asks for nothing');
my $last = row_of_one();
my ($token, $until) = split /\|/, $last;
my $layout = $registry->safe_psql('postgres', 'SELECT quote_literal(layout) FROM uidgen_registry.registry');
my @refused;
# Again, where the machine was so busy that the calls did not wait long enough for it: then they end by their lock_timeout.
for (1 .. 20)
{
	my $queue = $registry->background_psql('postgres');
	# Another lock than that of a call would not be waited for.
	$queue->query_safe("BEGIN; LOCK TABLE uidgen_registry.worker_node IN ROW EXCLUSIVE MODE; SELECT FROM uidgen_registry.worker_node WHERE worker_id = $worker{one} FOR UPDATE");
	my @calls = map {
		my $call = { said => '' };
		my $sql = "SELECT worker FROM uidgen_registry.lease('one', $layout, $_, '{$token}', $worker{one}, $until, window_ticks => 100,
			not_after => (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + 300000)";
		$call->{run} = IPC::Run::start([ $registry->installed_command('psql'), '-XAt', '-v', 'VERBOSITY=sqlstate', '-d', $registry->connstr('postgres'), '-c', $sql ],
			'<', \undef, '>&', \$call->{said}, IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default));
		$call;
	} 1 .. 3;
	ok( poll_until(
			sub {
				foreach (@calls) { $_->{run}->pump_nb if $_->{run}->pumpable }
				my $waiting = $registry->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%lease%'");
				return $waiting + (grep { !$_->{run}->pumpable } @calls) >= 3;
			}),
		'calls wait for its row');
	my $given_up = time + 0.3;
	ok(goes_on($two), '... while the other node goes on');
	poll_until(sub { time > $given_up });
	$queue->query_safe('COMMIT');
	$queue->quit;
	$_->{run}->finish foreach @calls;
	@refused = map { $_->{said} =~ /(\w{5})\s*\z/ ? $1 : $_->{said} } @calls;
	last if grep { $_ ne '55P03' } @refused;
}
is_deeply([ grep { !/^(?:57014|55P03)$/ } @refused ], [], 'calls that have waited for the row for too long are refused, too');
is(row_of_one(), $last, '... so nothing is changed');
kill 'CONT', $keeper;
draws($one);
unharmed('a row that is locked');
change_setting($one, 'uidgen.registry_timeout', '1s');

# ---- answers that make no sense ----

# The calls are made all the same, so the rows have their tokens.
my $end = $registry->safe_psql('postgres', "SELECT pg_get_functiondef('uidgen_registry.end_node_call'::regproc)");
# Seen in the logs, which takes no time: once a grant has ended, a session would be told.
my %logged = map { $_->name => -s $_->logfile } $one, $two;
$registry->safe_psql('postgres', $end =~ s/RETURN clock;/RETURN -1;/r);
ok(poll_until(sub { log_since($_, $logged{ $_->name }) =~ /the registry gave an answer that makes no sense/ }), 'nonsense: it is refused, ' . $_->name) foreach $one, $two;
$registry->safe_psql('postgres', $end);
# Where a machine was so busy that a grant ended meanwhile, its session was told, and has ended.
foreach my $node ($one, $two)
{
	poll_until(sub { (try_psql($node, 'SELECT uid_next()'))[0] == 0 });
	draws($node);
}
unharmed('nonsense');

# ---- the keeper ends between the call and its answer ----

foreach my $function (qw(lease_renew lease))
{
	if ($function eq 'lease')
	{
		$proxy->set(cut => 'lease');
		$proxy->await('^cut lease');
	}
	$proxy->set(swallow => "^$function\$");
	ok($proxy->await("swallow $function granted"), "$function: the call is made");
	ok(end_keeper($one), '... and the keeper ends before it is answered');
	$proxy->set();
	unharmed("a keeper that ends, $function");
}

# ---- the registry is silent or slow ----

my @stopped = stop_processes($registry);
usleep(3_000_000);
kill 'CONT', @stopped;
unharmed('the registry was frozen for three times as long as a node waits');
$proxy->set('hole');
ok(poll_until(sub { last_error($one) =~ /could not connect/ }), 'a black hole');
$proxy->set();
unharmed('after it');
$proxy->set(slow => 200);
ok(goes_on($one, $two), 'the registry takes its time');
ok(goes_on($one, $two), '... and ids go on');
$proxy->set();

# ---- a commit that a synchronous standby has not confirmed ----

# Both nodes wait for a standby that does not exist, for as long as it takes; then their waits are ended.
change_setting($_, 'uidgen.registry_timeout', '10min') foreach $one, $two;
foreach my $how (qw(cancel terminate))
{
	# The log has each cause once in an outage, which is over only after a while.
	stops_drawing($one);
	$one->restart;
	draws($one);
	ok(goes_on($one), 'a node that begins anew');
	my $log = -s $one->logfile;
	$registry->safe_psql('postgres', "ALTER SYSTEM SET synchronous_standby_names = 'nobody'; SELECT pg_reload_conf()");
	my $waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%lease%'";
	ok($registry->poll_query_until('postgres', "SELECT count(*) >= 2 $waiting"), 'calls wait for a synchronous standby');
	my $granted = status_of($one, 'granted_until');
	my $failures = status_of($one, 'failures');
	$registry->safe_psql('postgres', "SELECT pg_${how}_backend(pid) $waiting");
	ok(poll_until(sub { log_since($one, $log) =~ /the registry did not answer/ }), "$how: the waits are ended, which is no answer");
	like(log_since($one, $log), qr/it came with the warning ".*synchronous/, '... though it looks like one') if $how eq 'cancel';
	is(status_of($one, 'granted_until'), $granted, '... and what was granted is not used');
	$registry->safe_psql('postgres', 'ALTER SYSTEM RESET synchronous_standby_names; SELECT pg_reload_conf()');
	unharmed($how);
}

change_setting($_, 'uidgen.registry_timeout', '1s') foreach $one, $two;

# ---- the registry is restarted ----

# All that was granted may be lost, as far as it knows: who holds a grant goes on, above it; others wait.
my $three = fleet_node('three', hosts($registry));
$registry->safe_psql('postgres', by_hand("UPDATE uidgen_registry.registry SET clock_slack = '1 h'"));
$registry->restart;
unharmed('a restart of the registry');
draws($three);
ok(poll_until(sub { log_since($three, 0) =~ /uidgen has no new grant: the registry is in quarantine until/ }), 'a new node has to wait');
quarantine_ends($registry);
ok(goes_on($three), '... until the owner says that nothing is lost');
$worker{three} = worker_id($three);
unharmed('all', $one, $two, $three);

# ---- the longer the registry is away, the longer are the pauses ----

# Up to ten seconds they are at most a second, and from half to all of that.
sub attempts_of_lost { return status_of($lost, 'failures') }
poll_until(sub { time > $lost_at + 20 });
my ($then, $attempts) = (time, attempts_of_lost());
poll_until(sub { time > $then + 14 });
$attempts = attempts_of_lost() - $attempts;
cmp_ok($attempts, '>', 0, 'a node that reaches no registry goes on trying');
cmp_ok($attempts, '<', 0.9 * (time - $then), '... less often after a while');

# ---- a connection lasts from one renewal to the next ----

poll_until(sub { time > $asked_at + 33 });
like($keeper_of_idle, qr/^\d+\|.+$/, 'a node keeps its connection');
is($idle_registry->safe_psql('postgres', $KEEPER_OF_IDLE), $keeper_of_idle, '... without a demand as well, for as long as its window');

nothing_twice('no id was seen twice');
done_testing();
