# Proves the promises on ids (P1, P2, P4, P5), and those on numbers of segments, for fleets to which anything may happen, by a
# simulation: one program plays the nodes, with the rules of src/core, and guests, by those of docs/protocol.md, and calls the real
# functions of a shared registry, by the thousand schedules.  With --rules, each rule of
# registry, node and guest is left out, and has to be missed.  test/simulation has the program.
#
#	UIDGEN_SIMULATION='--schedules 100000 --seed 1' ./check test/t/random_fleets.pl
#
# --schedules N	so many (400)
# --seed N		begin with this one; what fails is told with its seed (1)
# --rules		leave out each rule besides, and each condition of a procedure
# --cover N		all schedules are of procedures (test/procedures), and each step of theirs is broken off N times, and lost N times
#
# Promise: P1, P2, P4, P5, S1, S2
# Kills: script/registry/32_fleet_calls.sql: released = true, modified => released = true, granted_until = n.granted_until - 1, modified

use File::Basename;
use FindBin;
use lib "$FindBin::RealBin/../perl";
use Getopt::Long;
use UidgenTest;

my %options = (schedules => 400, seed => 1, rules => 0, cover => 0);
unshift @ARGV, split ' ', $ENV{UIDGEN_SIMULATION} // '';
GetOptions(\%options, 'schedules=i', 'seed=i', 'rules', 'cover=i') or die "see the head of $0\n";

# Functions of src/core that are not called while their rule is left out.
my @DROPPED = qw(uidgen_node_cut_terms uidgen_node_releases uidgen_fleetclock_follow uidgen_lease_known_until);

my $simulation = "$FindBin::RealBin/../simulation";
my $core = "$FindBin::RealBin/../../src/core";
my $simulate = build_program('simulation/simulate', 'simulate',
	qw(-std=gnu99 -Wall -Wextra -Werror -g -DUIDGEN_STANDALONE),
	"-I$simulation", "-I$core/..", "-I$ENV{CLIENT_HEADERS}",
	(grep { !m{/simulate\.c$} } glob "$simulation/*.c"),
	(map { "$core/$_.c" } qw(attempt fleetclock lease node publish segment segment_supply ticket)),
	(map { "-Wl,--wrap=$_" } @DROPPED),
	"-L$ENV{CLIENT_LIBRARIES}", '-lpq');

# Nothing of it has to last.
my $node = PostgreSQL::Test::Cluster->new('registry');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\njit = off\nlog_min_messages = fatal\n");
$node->start;
my ($sharedir) = run_command([ 'pg_config', '--sharedir' ]);
$node->safe_psql('postgres', 'CREATE DATABASE registry');
foreach my $script (grep({ !/--.*--/ } glob("$sharedir/extension/uidgen-registry--*.sql")), "$simulation/setup.sql")
{
	$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('registry'), '-f', $script ],
		'prepare a registry: ' . basename($script));
}

# Run it; returns whether it ended as it should, and what it said.
sub simulate
{
	my ($database, @arguments) = @_;
	my $output = '';
	my $well = IPC::Run::run([ $simulate, '--procedures', "$simulation/../procedures", @arguments, $node->connstr($database) . " user=app options='-c client_min_messages=warning'" ], '<', \undef, '>&', \$output);
	return ($well, $output);
}

my ($holds, $output) = simulate('registry', '--schedules', $options{schedules}, '--seed', $options{seed}, $options{cover} > 0 ? ('--operations', '--cover', $options{cover}) : ());
ok($holds, "all holds in $options{schedules} schedules from seed $options{seed} on");
$holds ? note($output) : diag($output);

# What was broken in the registry stays so: each has a database of its own.
my (undef, $list) = simulate('registry', '--list');
foreach ($options{rules} ? split /\n/, $list : ())
{
	my ($rule, $schedules, $of) = split;
	my $database = $of eq 'registry' ? $rule : 'registry';
	$node->safe_psql('postgres', "CREATE DATABASE $rule TEMPLATE registry") if $database eq $rule;
	my ($missed, $said) = simulate($database, '--break', $rule, '--whole');
	ok($missed, "rule $rule is missed within $schedules schedules") or diag($said);
	$node->safe_psql('postgres', "DROP DATABASE $rule") if $database eq $rule;
}

done_testing();
