# load.pl: what one registry carries.  One process plays many nodes (load.c), with the calls that real ones make, when they
# make them; the registry is a real one, behind pgbouncer or not.
#
#	UIDGEN_LOAD='--nodes 10000 --window 60' ./check test/fleet/load.pl
#
# --nodes N         so many (1000)
# --window N        uidgen.window of all, in seconds (10)
# --max_lead N      the registry's, in seconds (120)
# --clock_slack N   likewise (10)
# --pool N          connections of the pooler to the registry; 0: there is no pooler (30)
# --idle N          a node without a demand keeps its connection for so many seconds (30)
# --outage N        the registry is away for so many seconds (max_lead + 10)
# --hour N          so much of an hour's renewals (0.02)
# --parts A,B       of: start, steady, rate, hour, crash, stopped, refused, silent, frozen (all)
# --seed N          what is random here (1)
# --timeline        say each second how many nodes have a grant
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Getopt::Long;
use IO::Socket::INET;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RemoteRegistry;
use Test::More;
use Time::HiRes qw(sleep time);
use UidgenTest;

unshift @ARGV, split ' ', $ENV{UIDGEN_LOAD} // '';
my %options = (nodes => 1000, window => 10, max_lead => 120, clock_slack => 10, pool => 30, idle => 30, hour => 0.02, seed => 1,
	parts => 'start,steady,rate,hour,crash,stopped,refused,silent,frozen', timeline => 0);
GetOptions(\%options, 'nodes=i', 'window=f', 'max_lead=f', 'clock_slack=f', 'pool=i', 'idle=f', 'outage=f', 'hour=f', 'parts=s',
	'seed=i', 'timeline', 'connections=i') or die "see the head of $0\n";
$options{outage} //= $options{max_lead} + 10;
my %parts = map { $_ => 1 } split /,/, $options{parts};
my $period = $options{window} / 2;

my ($pgbouncer) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
plan skip_all => 'there is no pgbouncer; ./check --all installs it' if $options{pool} && !$pgbouncer;

my $layout = 'time:41:1ms worker:16 sequence:6 epoch:2025-01-01';
my $load = build_program('fleet/load', 'load', qw(-std=gnu99 -Wall -Wextra -Werror -g -DUIDGEN_STANDALONE -DNODES=100000),
	map({ "-I$FindBin::RealBin/../$_" } '../src', 'simulation'), "-I$ENV{CLIENT_HEADERS}", "$FindBin::RealBin/../simulation/fleet.c",
	map({ "$FindBin::RealBin/../../src/core/$_.c" } qw(fleetclock lease node ticket)), "-L$ENV{CLIENT_LIBRARIES}", '-lpq');

# ---- the registry ----

# As users have it, which a cluster of the tests is not.
my $registry = PostgreSQL::Test::Cluster->new('registry');
$registry->init;
my $connections = $options{connections} // ($options{pool} ? 100 : $options{nodes} + 20);
$registry->append_conf('postgresql.conf', <<"END");
fsync = on
log_statement = none
log_min_messages = warning
max_connections = $connections
track_functions = pl
restart_after_crash = on
END
$registry->start;
share_registry($registry, 'postgres', "'$layout', max_lead => '$options{max_lead} s', clock_slack => '$options{clock_slack} s'");
$registry->safe_psql('postgres', q{CREATE ROLE uidgen_pool LOGIN; SELECT uidgen.grant_node('uidgen_pool')});
my $registry_conninfo = 'host=' . $registry->host . ' port=' . $registry->port . ' dbname=postgres user=uidgen_pool';

# ---- the pooler ----

# Each connection is a file, in the pooler and in the player.
my @many_files = ('sh', '-c', 'ulimit -n "$1" && shift && exec "$@"', 'sh', $options{nodes} + 1000);
my $pooler;
my $conninfo = "$registry_conninfo sslmode=disable gssencmode=disable";
if ($options{pool})
{
	my $dir = PostgreSQL::Test::Utils::tempdir_short();
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	append_to_file("$dir/users", join('', map { qq{"node$_" ""\n} } 0 .. $options{nodes} - 1));
	append_to_file("$dir/pgbouncer.ini", <<"END");
[databases]
uidgen = $registry_conninfo pool_size=$options{pool}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $port
unix_socket_dir =
auth_type = trust
auth_file = $dir/users
pool_mode = transaction
max_client_conn = @{[ $options{nodes} + 1000 ]}
server_login_retry = 1
query_wait_timeout = 4
listen_backlog = 4096
log_connections = 1
log_disconnections = 0
log_pooler_errors = 0
logfile = $dir/log
END
	sub start_pooler
	{
		$pooler = IPC::Run::start([ @many_files, $pgbouncer, "$dir/pgbouncer.ini" ], '<', \undef, '>', "$dir/out", '2>&1');
		poll_until(sub { IO::Socket::INET->new("127.0.0.1:$port") }) or BAIL_OUT('pgbouncer does not start');
		return;
	}
	start_pooler();
	$conninfo = "host=127.0.0.1 port=$port dbname=uidgen sslmode=disable gssencmode=disable";
}

# ---- the nodes ----

my ($in, $out, $err) = ('', '', '');
my $player = IPC::Run::start(
	[ @many_files, $load, '--nodes', $options{nodes}, '--window', 1000 * $options{window}, '--idle', 1000 * $options{idle}, '--seed', $options{seed}, $conninfo ],
	'<', \$in, '>', \$out, '2>', \$err);
END
{
	my $status = $?;
	$_->kill_kill foreach grep { $_ } $player, $pooler;
	$? = $status;
}
command("timeline $options{timeline}");

# What the player has said, line by line; ends with the first one that matches, or after so long.
sub listen_for
{
	my ($pattern, $seconds) = @_;
	my $end = time() + $seconds;
	while (1)
	{
		while ($out =~ s/\A(.*)\n//)
		{
			my $line = $1;
			BAIL_OUT($line) if $line =~ /^broken/;
			diag($line) if $line =~ /^second/;
			return { $line =~ /(\S+)=(\S+)/g } if $line =~ $pattern;
		}
		return if time() > $end;
		BAIL_OUT("the player has ended: $err") unless $player->pumpable;
		$player->pump_nb;
		sleep(0.02);
	}
}

sub command
{
	$in .= "$_[0]\n";
	$player->pump_nb;
	return;
}

sub pause_for
{
	my ($seconds) = @_;
	listen_for(qr/^never /, $seconds);
	return;
}

# How long until all nodes have a grant; undef: longer than that.
sub all_granted
{
	my ($seconds) = @_;
	command('await');
	my $answer = listen_for(qr/^all /, $seconds) or return;
	return $answer->{seconds};
}

# ---- figures ----

sub sql { return $registry->safe_psql('postgres', $_[0]) }

sub report
{
	my ($name, $what) = @_;
	diag(sprintf "%-36s %s", $name, $what);
	return;
}

# What the player has counted since it was asked last.
sub figures
{
	my ($name) = @_;
	command("figures $name");
	my $figures = listen_for(qr/^figures /, 60) or BAIL_OUT('no figures');
	foreach my $kind (qw(renew acquire attempt login))
	{
		next unless $figures->{"$kind.count"};
		report("$name: $kind", sprintf('%d, p50 %s ms, p99 %s ms, p99.9 %s ms, longest %s ms',
				map { $figures->{"$kind.$_"} } qw(count p50 p99 p999 max)));
	}
	my @failed = map { /^failed\.(.*)/ ? "$1 $figures->{$_}" : () } sort keys %$figures;
	report("$name: calls", "$figures->{calls} in $figures->{seconds} s, $figures->{peak_calls} in a second at most, $figures->{given_up} given up; "
		  . "connections $figures->{connects}, $figures->{peak_connects} in a second at most");
	report("$name: failures", join(', ', @failed)) if @failed;
	report("$name: fenced, worker ids changed", "$figures->{fenced}, $figures->{changed}");
	return $figures;
}

sub table_figures
{
	my ($name) = @_;
	sql('SELECT pg_stat_force_next_flush()') if $registry->pg_version >= 15;
	my ($rows, $table, $pkey, $identity, $dead, $updates, $hot, $vacuums) = split /\|/, sql(q{
		SELECT (SELECT count(*) FROM uidgen.worker_node), pg_relation_size(s.relid), pg_relation_size('uidgen.worker_node_pkey'),
			pg_relation_size('uidgen.worker_node_identity_idx'), n_dead_tup, n_tup_upd, n_tup_hot_upd, autovacuum_count
		FROM pg_stat_user_tables AS s WHERE relid = 'uidgen.worker_node'::regclass});
	report("$name: table", sprintf('%d rows, %.1f MB, key %.1f MB, index of identities %.1f MB, dead rows %d', $rows,
			map({ $_ / 1048576 } $table, $pkey, $identity), $dead));
	report("$name: updates", sprintf('%d, HOT %.1f %%, autovacuums %d', $updates, $updates ? 100 * $hot / $updates : 0, $vacuums));
	return;
}

sub is_part { my ($name) = @_; diag($name) if $parts{$name}; return $parts{$name} }

report('nodes, window, max_lead', "$options{nodes}, $options{window} s, $options{max_lead} s");
report('seed', $options{seed});

# All begin at once, in an empty registry.
command('start 0');
my $all = all_granted(600);
ok(defined $all, 'all nodes have a grant');
report('start: all have a grant after', "$all s");
figures('start');
table_figures('start');

# As nodes that began long ago.
if (is_part('steady'))
{
	command("scatter $period");
	pause_for($period + 1);
	figures('scatter');
	my $cpu = times_of($registry);
	pause_for(2 * $period);
	figures('steady');
}

if (is_part('rate'))
{
	foreach my $at_once (1, 8, 30, 100)
	{
		command("fast @{[ $at_once == 1 ? 3000 : 20000 ]} $at_once");
		my $fast = listen_for(qr/^fast /, 600) or BAIL_OUT('no end of fast renewals');
		report("renewals, $at_once at once", "$fast->{rate} a second");
		figures("rate.$at_once");
	}
}

sub times_of { return 0 }

if (is_part('crash'))
{
	command('start 0');
	$all = all_granted(600);
	report('crash: all have a grant after', $all);
	figures('crash');
	table_figures('crash');
}

foreach my $kind (qw(stopped refused silent frozen))
{
	next unless is_part($kind);
	figures("before.$kind");
	my @stopped;
	$registry->stop('fast') if $kind eq 'stopped';
	$pooler->kill_kill if $kind eq 'refused';
	$pooler->signal('STOP') if $kind eq 'silent';
	@stopped = stop_processes($registry) if $kind eq 'frozen';
	pause_for($options{outage});
	figures("away.$kind");
	$registry->start if $kind eq 'stopped';
	start_pooler() if $kind eq 'refused';
	$pooler->signal('CONT') if $kind eq 'silent';
	kill 'CONT', @stopped;
	$all = all_granted(900);
	report("$kind: all have a grant after", $all);
	figures("back.$kind");
	table_figures($kind);
}

command('quit');
my $ended = listen_for(qr/^ended /, 60);
report('grants told', $ended->{told});
ok($ended && $ended->{told} > 0, 'no tick of a worker id was granted twice');

done_testing();
