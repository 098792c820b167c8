# Two registries in one list of hosts: each would give the same worker ids to some of the nodes.  No id comes twice, whatever
# the order in which hosts come up, and an error says which host has which registry.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use UidgenTest;

# Four worker ids for four nodes, so that each registry grants each of them soon.
my $LAYOUT = 'time:41:1ms worker:2 sequence:12 epoch:2025-01-01';
# A registry that is late is none: with a time-out that a busy machine exceeds, a node would go by the other one alone.
my @CONF = ("uidgen.layout = '$LAYOUT'", "uidgen.registry_timeout = '30s'");
my ($right, $wrong) = map { fleet_registry($_, layout => $LAYOUT) } qw(right wrong);
my $count = 0;

sub new_nodes
{
	my ($n, $where) = @_;
	return map { fleet_node('node_' . ++$count, $where, @CONF) } 1 .. $n;
}

# "registry_id|in_recovery"
sub identity
{
	my ($server, $database) = @_;
	return $server->safe_psql($database // 'postgres', 'SELECT registry_id, in_recovery FROM uidgen_registry.registry_identity()');
}

sub id_of
{
	my ($server) = @_;
	return $server->safe_psql('postgres', 'SELECT id FROM uidgen_registry.registry');
}

# What a call says that needs a new grant.
sub call_says
{
	my ($node) = @_;
	return (try_psql($node, q{SET uidgen.wait_timeout = '100ms'; SELECT uid_next()}, extra_params => [ '-v', 'VERBOSITY=verbose' ]))[2];
}

# One test: ids cannot be had, since this registry and that one are of two kinds.
sub refuses_two
{
	my ($node, $one, $other, $name) = @_;
	my $each = join '.*', map { 'port ' . $_->port . ': registry ' . id_of($_) . '\b' } $one, $other;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $said;
	return ok(poll_until(sub { ($said = call_says($node)) =~
			/ERROR:  55000: .*the hosts of the setting "uidgen.registry" have different registries\nDETAIL:  .*$each\.\nHINT:  Name servers of one registry only/s }), $name) || diag($said);
}

# One test: what a node has logged since then matches.
sub logs
{
	my ($node, $log, $pattern, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(poll_until(sub { log_since($node, $log) =~ $pattern }), $name) || diag(log_since($node, $log));
}

sub goes_to
{
	my ($where, @nodes) = @_;
	change_setting($_, 'uidgen.registry', $where) foreach @nodes;
	return;
}

isnt(id_of($right), id_of($wrong), 'two registries have two numbers');

# ---- both are up ----

my @nodes = new_nodes(4, hosts($right, $wrong));
{
	# Those that have the one registry, and those that have the other, would now draw ids of the same worker ids.
	my $said = call_says($nodes[0]);
	if ($said !~ /ERROR/)
	{
		draws(@nodes);
		goes_on(@nodes);
		goes_on(@nodes);
		stops_drawing($_) foreach @nodes;
		nothing_twice('both are up: no id was seen twice');
	}
}
refuses_two($nodes[$_], $right, $wrong, "both are up: a node gets no id ($_)") foreach 0 .. 3;
$nodes[0]->safe_psql('postgres', 'CREATE ROLE somebody');
# The attempt of the keeper fails, and with it the call, long before that time is over.
like((try_psql($nodes[0], q{SET SESSION AUTHORIZATION somebody; SET uidgen.wait_timeout = '60s'; SELECT uid_next()}))[2],
	qr/have different registries\nDETAIL:  The details are in the server log, and in this error for members of pg_monitor\.\nHINT/, '... of which hosts it speaks, only members of pg_monitor are told');
like(last_error($nodes[0]), qr/have different registries/, '... and uidgen.status shows it');
is(rows($_, 'count(*)', ''), 0, '... neither has granted anything: ' . $_->name) foreach $right, $wrong;
like((try_psql($nodes[0], q{SET uidgen.wait_timeout = '60s'; SELECT uid_segment_next('s')}))[2], qr/have different registries/, '... nor a number of a segment');
goes_to(hosts($right), @nodes[ 0, 1 ]);
$wrong->stop;
# What a host has told counts while it is away, as long as the keeper remembers.
ok(end_keeper($nodes[2]), 'a keeper that knows nothing of the wrong one');
draws(@nodes[ 0 .. 2 ]);
ok(goes_on(@nodes[ 0 .. 2 ]), 'the wrong host is gone from the setting, or is down: ids are drawn');

# ---- one is down at first, and comes later ----

goes_to(hosts($wrong, $right), $nodes[0]);
ok(goes_on(@nodes[ 0 .. 2 ]), 'a host that is down is in the list again');
my $worker = worker_id($nodes[2]);
$wrong->start;
quarantine_ends($wrong);
my $log = -s $nodes[2]->logfile;
$right->stop('immediate');
logs($nodes[2], $log, qr/uidgen does not ask .*port ${\ $wrong->port}, which has another registry\n.*has registry ${\ id_of($wrong)}, and this server knows registry -?\d+/,
	'it comes, and the other one goes: it is asked, and left');
logs($nodes[2], $log, qr/uidgen has no new grant: only another registry answers than before/, '... which the node says');
poll_until(sub { log_since($nodes[2], $log) =~ /HINT/ });
is(scalar(() = log_since($nodes[2], $log) =~ /uidgen does not ask/g), 1, '... once');
is(rows($wrong, 'count(*)', ''), 0, '... and nothing is granted there');
$right->start;
quarantine_ends($right);
ok(goes_on(@nodes[ 0 .. 2 ]), 'the right one is back: ids go on');
is(worker_id($nodes[2]), $worker, '... of the same worker id');
is(rows($wrong, 'count(*)', ''), 0, '... still nothing is granted by the wrong one');
# A new one knows of none.
my ($new) = new_nodes(1, hosts($right, $wrong));
refuses_two($new, $right, $wrong, 'a node that begins now sees both');

# ---- the wrong one answers first ----

# What remains: who has never heard of the right one, cannot know.
stops_drawing($_) foreach @nodes[ 0 .. 2 ];
nothing_twice('no id was seen twice');
$nodes[0]->stop('immediate');
$right->stop('immediate');
$nodes[0]->start;
draws($nodes[0]);
ok(goes_on($nodes[0]), 'a node restarts while the wrong one answers alone: it takes that');
is(rows($wrong, 'count(*)', ''), 1, '... by its grant');
$right->start;
quarantine_ends($right);
$log = -s $nodes[0]->logfile;
$wrong->stop('immediate');
logs($nodes[0], $log, qr/uidgen does not ask .*port ${\ $right->port}, which has another registry|port ${\ $right->port}: it has registry/, '... and does not change to the other one by itself');
stops_drawing($nodes[0]);
$wrong->start;
quarantine_ends($wrong);
$nodes[0]->restart;
refuses_two($nodes[0], $wrong, $right, '... but after a restart, when both answer, it sees that they are two');

# ---- standbys ----

my $standby = standby_of($right, 'standby');
is(identity($standby), id_of($right) . '|t', 'a standby tells which registry it has');
is($standby->safe_psql('postgres', 'SELECT system_identifier, timeline FROM uidgen_registry.registry_identity()'),
	$right->safe_psql('postgres', 'SELECT system_identifier, timeline FROM uidgen_registry.registry_history()'), '... the cluster, and the timeline');
goes_to(hosts($standby, $right), @nodes[ 0, 1 ]);
goes_to(hosts($wrong, $standby), $nodes[2]);
draws(@nodes[ 0, 1 ]);
ok(goes_on(@nodes[ 0, 1 ]), 'a standby of the right one in the list: ids are drawn');
refuses_two($nodes[2], $wrong, $standby, 'a standby of another one is another registry, too');
$right->wait_for_catchup($standby);
$right->stop('fast');
$standby->promote;
ok(goes_on(@nodes[ 0, 1 ]), '... it takes over: ids go on');
is(identity($standby), id_of($standby) . '|f', '... and it is a standby no more');
is($standby->safe_psql('postgres', 'SELECT timeline FROM uidgen_registry.registry_identity()'), 2, '... on a timeline of its own');
stops_drawing($_) foreach @nodes[ 0, 1 ];

# A registry that was not one when its standby heard of it last.
my $young = PostgreSQL::Test::Cluster->new('young');
$young->init(allows_streaming => 1);
$young->start;
$young->safe_psql('postgres', 'SET client_min_messages = error; CREATE EXTENSION uidgen_registry');
my $younger = standby_of($young, 'younger');
$younger->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
$young->safe_psql('postgres', "SELECT FROM uidgen_registry.share_registry('$LAYOUT', new_fleet => true)");
is(identity($younger), '|t', 'a standby from before share_registry() tells none');
goes_to(hosts($younger, $young), $nodes[1]);
draws($nodes[1]);
ok(goes_on($nodes[1]), '... and so is no other one: ids are drawn');
stops_drawing($nodes[1]);
$_->stop foreach $younger, $young;

# ---- who cannot be told ----

# A role that has not the right.
$wrong->safe_psql('postgres', q{CREATE ROLE member LOGIN; SELECT uidgen_registry.grant_node('member');
	REVOKE EXECUTE ON FUNCTION uidgen_registry.registry_identity() FROM member});
goes_to(hosts($wrong, $wrong) . ' user=member', $nodes[3]);
draws($nodes[3]);
ok(goes_on($nodes[3]), 'a role that may not ask draws ids');
stops_drawing($nodes[3]);

done_testing();
