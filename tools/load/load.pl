# load.pl: what one registry carries.  One process plays many nodes (load.c), with the calls that real ones make, when they
# make them; the registry is a real one, with fsync, behind pgbouncer or not.  It reports figures, and proves three things: all
# nodes get a grant, whatever became of the registry; no tick is granted twice; renewals leave no bloat behind.
#
#	UIDGEN_LOAD='--nodes 10000 --window 60 --hour 1' ./check tools/load/load.pl
#
# --nodes N         so many (1000)
# --window N        uidgen.window of all, in seconds (4)
# --max_lead N      the registry's, in seconds (two windows)
# --clock_slack N   likewise (a twelfth of that)
# --pool N          connections of the pooler to the registry; 0: there is no pooler (30)
# --connections N   max_connections of the registry (as many as it takes)
# --idle N          a node without a demand keeps its connection for so many seconds (as a real one does)
# --outage N        the registry is away for so many seconds (max_lead + 10)
# --hour N          so much of an hour's renewals (0.02)
# --parts A,B       steady     as nodes that began long ago
#                   rate       renewals as fast as they come
#                   hour       an hour's, as fast as they come; once more beside a transaction that stays open
#                   crash      all nodes end, and begin at once
#                   stopped    the registry is shut down: another history follows
#                   refused    no connection to the pooler is to be had
#                   silent     the pooler says nothing
#                   frozen     the registry says nothing, though the pooler lets everybody in
#                   In front of them all nodes begin at once, in an empty registry.
# --seed N          what is random here (1)
# --timeline        say each second how many calls there were, and how many nodes have a grant
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../../test/perl", "$FindBin::RealBin/../../test/faults";
use Getopt::Long;
use IO::Socket::INET;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RemoteRegistry;
use Test::More;
use Time::HiRes qw(sleep time);
use UidgenTest;

my $asked = $ENV{UIDGEN_LOAD} // '';
unshift @ARGV, split ' ', $asked;
my @all_parts = qw(steady rate hour crash stopped refused silent frozen);
my %options = (nodes => 1000, window => 4, pool => 30, hour => 0.02, seed => 1, parts => join(',', @all_parts));
GetOptions(\%options, 'nodes=i', 'window=f', 'max_lead=f', 'clock_slack=f', 'pool=i', 'connections=i', 'idle=f', 'outage=f', 'hour=f',
	'parts=s', 'seed=i', 'timeline') or die "see the head of $0\n";
my @asked_parts = split /,/, $options{parts};
foreach my $part (@asked_parts)
{
	die "there is no part $part: see the head of $0\n" unless grep { $_ eq $part } @all_parts;
}
$options{max_lead} //= 2 * $options{window};
$options{clock_slack} //= $options{max_lead} / 12;
$options{outage} //= $options{max_lead} + 10;
$options{connections} //= $options{pool} ? 100 : $options{nodes} + 20;
# A grant is renewed when half of it is left.
my $period = $options{window} / 2;
# Each connection is a file, in the pooler and in the player.
my $files = $options{nodes} + 1000;
chomp(my $most_files = `sh -c 'ulimit -Hn'`);
die "$options{nodes} nodes are $files open files of one process; this user may have $most_files (ulimit -Hn)\n"
	if $most_files =~ /^\d+$/ && $most_files < $files;
# How long all nodes may take at most, however slow the machine is.
my $limit = 5 * $PostgreSQL::Test::Utils::timeout_default + $options{max_lead};

my ($pgbouncer) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
plan skip_all => 'there is no pgbouncer; ./check --world --install installs it' if $options{pool} && !$pgbouncer;

my $here = $FindBin::RealBin;
my $load = build_program('load/load', 'load', qw(-std=gnu99 -Wall -Wextra -Werror -g -DUIDGEN_STANDALONE -DNODES=100000),
	"-I$here/../../src", "-I$here/../../test/simulation", "-I$ENV{CLIENT_HEADERS}", "$here/../../test/simulation/fleet.c",
	map({ "$here/../../src/core/$_.c" } qw(attempt fleetclock lease node publish ticket)), "-L$ENV{CLIENT_LIBRARIES}", '-lpq');

# ---- the registry ----

# As users have it, which a cluster of the tests is not.
my $registry = PostgreSQL::Test::Cluster->new('registry');
$registry->init;
$registry->append_conf('postgresql.conf', <<"END");
fsync = on
log_statement = none
log_min_messages = warning
restart_after_crash = on
max_connections = $options{connections}
superuser_reserved_connections = 10
END
$registry->start;
share_registry($registry, 'postgres',
	"'time:41:1ms worker:16 sequence:6 epoch:2025-01-01', max_lead => '$options{max_lead} s', clock_slack => '$options{clock_slack} s'");
sql(q{CREATE ROLE uidgen_pool LOGIN; SELECT uidgen_registry.grant_node('uidgen_pool')});

sub sql
{
	my ($sql) = @_;
	return $registry->safe_psql('postgres', $sql);
}

# ---- the pooler ----

my @many_files = ('sh', '-c', 'ulimit -n "$1" && shift && exec "$@"', 'sh', $files);
my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $conninfo = 'host=' . $registry->host . ' port=' . $registry->port . ' dbname=postgres user=uidgen_pool';
my $pooler;

# What docs/fleet.md recommends, but for the addresses, and for how nodes are known.
my $pooler_settings = <<"END";
[databases]
uidgen = $conninfo pool_size=$options{pool}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $port
unix_socket_dir =
auth_type = trust
auth_file = $dir/users
pool_mode = transaction
max_client_conn = @{[ $options{nodes} + 500 ]}
listen_backlog = 4096
query_wait_timeout = 4
idle_transaction_timeout = 5
query_timeout = 10
server_login_retry = 1
log_connections = 0
log_disconnections = 0
log_pooler_errors = 0
logfile = $dir/log
END

sub start_pooler
{
	$pooler = IPC::Run::start([ @many_files, $pgbouncer, "$dir/pgbouncer.ini" ], '<', \undef, '>', "$dir/out", '2>&1');
	poll_until(sub { IO::Socket::INET->new("127.0.0.1:$port") }) or BAIL_OUT('pgbouncer does not start: ' . slurp_file("$dir/out"));
	return;
}

if ($options{pool})
{
	append_to_file("$dir/users", join('', map { qq{"node$_" ""\n} } 0 .. $options{nodes} - 1));
	append_to_file("$dir/pgbouncer.ini", $pooler_settings);
	start_pooler();
	$conninfo = "host=127.0.0.1 port=$port dbname=uidgen";
}

# ---- the nodes ----

my ($in, $out, $err) = ('', '', '');
my $player = IPC::Run::start(
	[ @many_files, $load, '--nodes', $options{nodes}, '--window', 1000 * $options{window}, '--seed', $options{seed},
		defined $options{idle} ? ('--idle', 1000 * $options{idle}) : (), "$conninfo sslmode=disable gssencmode=disable" ],
	'<', \$in, '>', \$out, '2>', \$err);
END
{
	my $status = $?;
	$_->kill_kill foreach grep { $_ } $player, $pooler;
	$? = $status;
}

sub order
{
	my ($command) = @_;
	$in .= "$command\n";
	$player->pump_nb;
	return;
}

# What the player says, up to the first line of this kind, of which the values are returned; undef: there was none in
# so many seconds.
sub hear
{
	my ($kind, $seconds) = @_;
	my $end = time() + $seconds;
	do
	{
		BAIL_OUT("the player has ended: $err") unless $player->pumpable;
		$player->pump_nb;
		while ($out =~ s/\A(.*)\n//)
		{
			my $line = $1;
			BAIL_OUT($line) if $line =~ /^broken/;
			diag($line) if $line =~ /^second/;
			return { $line =~ /(\S+)=(\S+)/g } if $line =~ /^$kind\b/;
		}
		sleep(0.02);
	} while (time() < $end);
	return;
}

sub play
{
	my ($seconds) = @_;
	hear('nothing', $seconds);
	return;
}

# ---- figures ----

sub report
{
	my ($what, $figure) = @_;
	diag(sprintf '%-34s %s', $what, $figure);
	return;
}

# The processor's time that a process has used, with the children that it has waited for.
sub seconds_of
{
	my (@pids) = @_;
	my $ticks = 0;
	foreach my $pid (@pids)
	{
		my @fields = split ' ', UidgenTest::process_file($pid, 'stat') =~ s/.*\) //sr;
		$ticks += $fields[$_] foreach grep { defined $fields[$_] } 11 .. 14;
	}
	return $ticks / 100;
}

sub used
{
	my @registry = eval { (UidgenTest::postmaster_pid($registry), UidgenTest::child_pids($registry)) };
	return (registry => seconds_of(@registry), map { $_->[1] ? ($_->[0] => seconds_of($_->[1]{KIDS}[0]{PID})) : () } [ pooler => $pooler ],
		[ player => $player ]);
}

my %used_before = used();
my $began = time;

# What there was since the last call.
sub figures
{
	my ($name) = @_;
	order("figures $name");
	my $figures = hear('figures', $limit) or BAIL_OUT('no figures');
	foreach my $kind (qw(renew acquire attempt login))
	{
		next unless $figures->{"$kind.count"};
		report("$name: " . { renew => 'renewals', acquire => 'acquisitions', attempt => 'with connecting', login => 'connecting' }->{$kind},
			sprintf('%d, p50 %s ms, p99 %s ms, p99.9 %s ms, longest %s ms', map { $figures->{"$kind.$_"} } qw(count p50 p99 p999 max)));
	}
	report("$name: calls", sprintf('%d in %.0f s, %d in a second at most; %d without an answer', @$figures{qw(calls seconds peak_calls given_up)}));
	report("$name: connections", "$figures->{connects} begun, $figures->{peak_connects} in a second at most") if $figures->{connects};
	my @failed = map { /^failed\.(.*)/ ? "$1 $figures->{$_}" : () } sort keys %$figures;
	report("$name: failed attempts", join(', ', @failed)) if @failed;
	report("$name: fenced, changed worker ids", "$figures->{fenced}, $figures->{changed}") if $figures->{fenced} || $figures->{changed};
	my %used = used();
	report("$name: processors",
		join(', ', map { sprintf '%s %.0f %%', $_, 100 * ($used{$_} - ($used_before{$_} // 0)) / (time - $began) }
			  grep { $used{$_} >= ($used_before{$_} // 0) } sort keys %used));
	%used_before = %used;
	$began = time;
	return $figures;
}

sub table_figures
{
	my ($name) = @_;
	# What sessions have counted is shown after a second at most, once they are at work.
	my ($rows, $table, $pkey, $identity, $dead, $updates, $hot, $vacuums) = split /\|/, sql(q{
		SELECT (SELECT count(*) FROM uidgen_registry.worker_node), pg_relation_size(relid), pg_relation_size('uidgen_registry.worker_node_pkey'),
			pg_relation_size('uidgen_registry.worker_node_identity_idx'), n_dead_tup, n_tup_upd, n_tup_hot_upd, autovacuum_count
		FROM pg_stat_user_tables WHERE relid = 'uidgen_registry.worker_node'::regclass});
	my $share = $updates ? 100 * $hot / $updates : 100;
	report("$name: table", sprintf('%d rows, %.1f MB; index of the key %.1f MB, of identities %.1f MB', $rows, map { $_ / 1048576 } $table, $pkey, $identity));
	report("$name: updates", sprintf('%d, %.2f %% HOT; %d dead rows, %d autovacuums', $updates, $share, $dead, $vacuums));
	return { rows => $rows, indexes => $pkey + $identity, hot => $share };
}

# Of memory that several processes share, each has its part.
sub memory_figures
{
	my ($name) = @_;
	my @backends = grep { UidgenTest::process_file($_, 'cmdline') =~ /uidgen_pool/ } UidgenTest::child_pids($registry);
	my $kilobytes = 0;
	$kilobytes += (UidgenTest::process_file($_, 'smaps_rollup') =~ /^Pss:\s+(\d+)/m)[0] // 0 foreach @backends;
	report("$name: memory", sprintf('%d connections of the registry, %.1f MB each', scalar @backends, $kilobytes / 1024 / (@backends || 1))
		  . ($pooler ? sprintf('; the pooler %.0f MB', (UidgenTest::process_file($pooler->{KIDS}[0]{PID}, 'status') =~ /^VmRSS:\s+(\d+)/m)[0] / 1024) : ''));
	return;
}

# All nodes have a grant, at last.
sub all_granted
{
	my ($name) = @_;
	order('await');
	my $answer = hear('all', $limit);
	ok($answer, "$name: all nodes have a grant");
	report("$name: all have a grant after", $answer ? "$answer->{seconds} s" : '-');
	return;
}

sub renew_fast
{
	my ($name, $calls, $at_once) = @_;
	order("fast $calls $at_once");
	my $fast = hear('fast', $limit + $calls / 20) or BAIL_OUT('fast renewals come to no end');
	report("$name: renewals a second", $fast->{rate});
	return;
}

# ---- the parts ----

my %parts = (
	# The next demands of all are as far away as they can be, and then anywhere in a period.
	steady => sub {
		renew_fast('all once', $options{nodes}, 30);
		order("scatter $period");
		play(1.1 * $period);
		figures('scatter');
		play(2 * $period);
		figures('steady');
		memory_figures('steady');
	},
	rate => sub {
		foreach my $at_once (1, 10, 30, 100)
		{
			renew_fast("$at_once at once", $options{nodes} * ($at_once == 1 ? 1 : 2), $at_once);
			figures("$at_once at once");
		}
	},
	hour => sub {
		my $calls = int($options{nodes} * 3600 / $period * $options{hour});
		my $before = table_figures('before');
		renew_fast('an hour', $calls, 30);
		figures('an hour');
		my $after = table_figures('an hour');
		cmp_ok($after->{hot}, '>', 90, 'most renewals are HOT');
		is($after->{indexes}, $before->{indexes}, '... and no index has grown');
		my $old = $registry->background_psql('postgres');
		$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM uidgen_registry.worker_node');
		renew_fast('beside an old snapshot', int($calls / 10), 30);
		figures('beside an old snapshot');
		table_figures('beside an old snapshot');
		$old->query_safe('COMMIT');
		$old->quit;
		sql('VACUUM uidgen_registry.worker_node');
		renew_fast('after it', 2 * $options{nodes}, 30);
		table_figures('after it');
	},
	crash => sub {
		order('start 0');
		all_granted('crash');
		figures('crash');
		table_figures('crash');
	},
	map { my $kind = $_; ($kind => sub { outage($kind) }) } qw(stopped refused silent frozen));

sub outage
{
	my ($kind) = @_;
	my @stopped;
	$registry->stop('fast') if $kind eq 'stopped';
	$pooler->kill_kill if $kind eq 'refused';
	$pooler->signal('STOP') if $kind eq 'silent';
	@stopped = stop_processes($registry) if $kind eq 'frozen';
	play($options{outage});
	figures("$kind, away");
	$registry->start if $kind eq 'stopped';
	start_pooler() if $kind eq 'refused';
	$pooler->signal('CONT') if $kind eq 'silent';
	kill 'CONT', @stopped;
	all_granted($kind);
	figures("$kind, back");
	table_figures($kind);
	return;
}

report('command', "UIDGEN_LOAD='$asked' ./check tools/load/load.pl");
report('PostgreSQL', sql('SHOW server_version'));
report('machine', sprintf('%d processors, load average %s before', scalar(() = slurp_file('/proc/cpuinfo') =~ /^processor\b/mg), (split ' ', slurp_file('/proc/loadavg'))[0]));
report('nodes, window, max_lead', "$options{nodes}, $options{window} s, $options{max_lead} s");
report('seed', $options{seed});
order('timeline 1') if $options{timeline};
order('start 0');
all_granted('start');
figures('start');
table_figures('start');
foreach my $part (@asked_parts)
{
	next if !$options{pool} && $part =~ /^(refused|silent)$/;
	$parts{$part}->();
}
order('quit');
my $ended = hear('ended', $limit);
ok($ended && $ended->{told} > $options{nodes}, 'no tick of a worker id was granted twice');
report('grants and renewals told', $ended->{told});

done_testing();
