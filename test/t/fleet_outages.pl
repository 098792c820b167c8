# What goes wrong in a fleet, and what it shows: each line of the table of outages in docs/fleet.md is made, and the
# messages that the line quotes are those that come.
#
# The second column is what the log says first, and then uidgen.status, uidgen.diagnose() and the error of a call; the
# third is what else the log says.  Of what is quoted in both, messages are those with a blank; N stands for any number, T
# for any time.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use Fleet;
use NameServer;
use UidgenTest;

# The lines of the table: what is wrong => [ messages of the second column ], [ of the third ].
sub outages_of
{
	my ($page) = @_;
	my ($rows) = $page =~ /^\| what is wrong \|.*\n\|-.*\n((?:\|.*\n)+)/m or die 'docs/fleet.md has no table of outages';
	return map {
		my ($what, @columns) = /^\| (.*?) \| (.*?) \| (.*?) \|$/ or die "no line of three columns: $_";
		[ $what, map { [ grep { / / } /`([^`]+)`/g ] } @columns ];
	} split /\n/, $rows;
}

sub pattern
{
	my ($message) = @_;
	my $pattern = quotemeta $message;
	$pattern =~ s/\bN\b/\\d+/g;
	$pattern =~ s/\bT\b/[-0-9:. +]+/g;
	return qr/$pattern/;
}

# A quarantine that does not end while a slow machine looks.
my $registry = fleet_registry('registry', clock_slack => '10 min');
my $serving = $registry;
$registry->safe_psql('postgres', q{
	CREATE ROLE node LOGIN PASSWORD 'correct'; SELECT uidgen_registry.grant_node('node');
	CREATE ROLE stranger LOGIN;
	CREATE ROLE other LOGIN SUPERUSER;
	CREATE DATABASE empty;
	CREATE DATABASE plain});
$registry->safe_psql('plain', 'SET client_min_messages = error; CREATE EXTENSION uidgen_registry');
my $standby = standby_of($registry, 'standby');
my $pass = $registry->basedir . '/pass';
append_to_file($pass, "*:*:*:node:wrong\n");
chmod 0600, $pass;
my $hba = $registry->data_dir . '/pg_hba.conf';
my $rules = slurp_file($hba);
unlink $hba;
append_to_file($hba, "local all node scram-sha-256\n$rules");
$registry->reload;

my $there = 'host=' . $registry->host . ' port=' . $registry->port;
my $node = fleet_node('node', hosts($registry));
# Its database was made where nothing says of which layout its ids are.
$node->safe_psql('postgres', 'SELECT uidgen.use_layout()');
my $count = 0;

# The node's registry is another one, or none, while an outage lasts.
sub pointed_at
{
	my ($conninfo) = @_;
	return sub {
		change_setting($node, 'uidgen.registry', $conninfo);
		return $node;
	};
}

# A node of its own, for what needs other settings or another clock.
sub new_node
{
	my ($where, @conf) = @_;
	return fleet_node('node_' . ++$count, hosts($where), @conf);
}

# How each outage comes; returns the node that has it, and what ends it.
my $SMALL = 'time:41:1ms worker:1 sequence:12 epoch:2025-01-01';
my $small;
my %outage = (
	'the registry is stopped, or its host has another name' => pointed_at('host=no-such-host.invalid dbname=postgres'),
	'no name server answers' => sub { fleet_node('nameless', 'host=registry.test dbname=postgres', sub { NameServer->new }) },
	'a password is wrong, a role or a database is missing, or `pg_hba.conf` lets nobody in' => pointed_at("$there dbname=postgres user=node passfile=$pass"),
	'the registry is frozen, or the network swallows what is sent' => sub {
		my @stopped = stop_processes($registry);
		return ($node, sub { kill 'CONT', @stopped });
	},
	'only a standby answers' => pointed_at(hosts($standby)),
	'`grant_node()` was forgotten' => pointed_at("$there dbname=postgres user=stranger"),
	'the database has no registry' => pointed_at("$there dbname=empty"),
	'`share_registry()` was forgotten' => pointed_at("$there dbname=plain"),
	'the worker ids are used up' => sub {
		$small = fleet_registry('small', layout => $SMALL);
		my @holders = map { new_node($small, "uidgen.layout = '$SMALL'") } 1 .. 2;
		draws(@holders);
		goes_on(@holders) or die 'two nodes do not draw';
		return (new_node($small, "uidgen.layout = '$SMALL'"), sub { stops_drawing($_) foreach @holders });
	},
	'two nodes have the same `uidgen.worker_id`' => sub {
		draws($node);
		goes_on($node) or die 'no id';
		return (new_node($registry, 'uidgen.worker_id = ' . worker_id($node)), sub { stops_drawing($node) });
	},
	'a node has another layout' => sub { new_node($registry, "uidgen.layout = 'js53ms'") },
	"a node's clock is off by more than a day" => sub {
		new_node($registry, sub { my $clock = FakeClock->new($_[0]); $clock->step(90_000); $clock });
	},
	'the registry was restarted, or failed over' => sub {
		$registry->restart;
		return (new_node($registry), sub { quarantine_ends($registry) });
	},
	"a node's row was taken, by `forget_worker()` or by a wrong claim" => sub {
		draws($node);
		goes_on($node) or die 'no id';
		my $worker = worker_id($node);
		$registry->safe_psql('postgres', "SELECT uidgen_registry.forget_worker($worker)");
		$node->poll_query_until('postgres', "SELECT worker_id <> $worker FROM uidgen.status") or die 'the row is still there';
		return ($node, sub { stops_drawing($node) });
	},
	"a transaction of another role keeps a node's row locked" => sub {
		draws($node);
		goes_on($node) or die 'no id';
		my $worker = worker_id($node);
		my $session = $registry->background_psql('postgres', extra_params => [ '-U', 'other' ]);
		$session->query_safe("BEGIN; SELECT FROM uidgen_registry.worker_node WHERE worker_id = $worker FOR UPDATE");
		$node->poll_query_until('postgres', "SELECT worker_id <> $worker FROM uidgen.status") or die 'it is still that one';
		return (
			$node,
			sub {
				$session->query_safe('ROLLBACK');
				$session->quit;
				stops_drawing($node);
			});
	},
	'a node was cloned, or a standby of it promoted' => sub {
		$node->backup('backup');
		my $copy = PostgreSQL::Test::Cluster->new('copy');
		$copy->init_from_backup($node, 'backup');
		$copy->start;
		draws($node, $copy);
		goes_on($node, $copy) or die 'a copy draws no ids';
		isnt(worker_id($copy), worker_id($node), 'a copy has a worker id of its own');
		ok( poll_until(
				sub { rows($registry, 'count(*)', 'AS n JOIN uidgen_registry.fleet AS f USING (worker_id) WHERE f.port IN (' . join(', ', $node->port, $copy->port) . ") AND f.state = 'running'") == 2 }),
			'... and a row in uidgen_registry.fleet');
		return ($copy, sub { stops_drawing($_) foreach $node, $copy });
	},
	'the hosts of `uidgen.registry` are two registries' => pointed_at(hosts($registry, fleet_registry('mistaken'))),
	"a setting of the registry's database, or of the node's role, is not for a registry" => sub {
		my $end_sessions = q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'uidgen keeper'};
		$registry->safe_psql('postgres', "ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'; $end_sessions");
		return ($node, sub { $registry->safe_psql('postgres', "ALTER DATABASE postgres RESET default_transaction_isolation; $end_sessions") });
	},
	'the registry was begun anew at the same place, or a name leads to another one' => sub {
		my $place = fleet_registry('place');
		my $there = new_node($place);
		draws($there);
		goes_on($there) or die 'no id';
		stops_drawing($there);
		$place->safe_psql('postgres', q{SET client_min_messages = error; BEGIN; DROP EXTENSION uidgen_registry; CREATE EXTENSION uidgen_registry;
			SELECT FROM uidgen_registry.share_registry('time:41:1ms worker:10 sequence:12 epoch:2025-01-01', new_fleet => true); COMMIT});
		return $there;
	},
	'a primary that was left behind by a failover still answers' => sub {
		change_setting($node, 'uidgen.registry', hosts($registry, $standby));
		$registry->wait_for_catchup($standby);
		$registry->stop('immediate');
		$standby->promote;
		$serving = $standby;
		draws($node);
		$node->poll_query_until('postgres', 'SELECT timeline = 2 FROM uidgen.status') or die 'no failover';
		stops_drawing($node);
		$registry->start;
		my @stopped = stop_processes($standby);
		return ($node, sub { kill 'CONT', @stopped });
	});

# Without an outage: nothing is to be seen.
sub is_well
{
	my ($which) = @_;
	return poll_until(sub { $which->safe_psql('postgres', 'SELECT severity FROM uidgen.diagnose()') eq 'ok' });
}
ok(is_well($node), 'a node that is well');
is(last_error($node), '', '... and says so');

foreach my $row (outages_of(slurp_file('docs/fleet.md')))
{
	my ($what, $errors, $logged) = @$row;
	my $make = delete $outage{$what};
	ok($make, "the outage can be made: $what") or next;
	my ($has_it, $end) = $make->();
	if (@$errors)
	{
		# A call that has no grant any more asks for one, and so learns what is wrong.
		my $pattern = pattern($errors->[-1]);
		ok(poll_until(sub { (try_psql($has_it, q{SET uidgen.wait_timeout = '100ms'; SELECT uid_next()}))[2] =~ /ERROR: .*uidgen has no grant to issue ids from: $pattern/ }),
			"... calls say: $errors->[-1]");
		# On a busy machine another attempt may fail in another way.
		ok(poll_until(sub { last_error($has_it) =~ $pattern }), '... uidgen.status, too');
		ok(poll_until(sub { $has_it->safe_psql('postgres', 'SELECT message FROM uidgen.diagnose()') =~ $pattern }), '... and uidgen.diagnose()');
	}
	else
	{
		ok(goes_on($has_it), '... ids go on');
		ok(poll_until(sub { last_error($has_it) eq '' }), '... and nothing is wrong');
	}
	foreach my $message ((map { "uidgen has no new grant: $_" } @$errors), @$logged)
	{
		my $pattern = pattern($message);
		ok(poll_until(sub { log_since($has_it, 0) =~ $pattern }), "... the log says: $message");
	}
	$end->() if $end;
	if ($has_it == $node)
	{
		change_setting($node, 'uidgen.registry', hosts($serving));
		ok(is_well($node), '... and it is over');
	}
}
is_deeply([ keys %outage ], [], 'the table has each of them');

nothing_twice('no id was seen twice');
done_testing();
