# Proves that copies of a server, however they are made, never issue an id of a
# worker id that came with the copy (P1 over several servers, as far as it is
# promised): standbys that are promoted beside the living server, base backups
# that are started as they are, restores to a point in time, and copies of copies.
# All of them draw at the same time, before and after a kill -9 and a large step
# of the clock of each, which later comes back.  pg_regress has one server.
#
# Servers that know nothing of each other choose at random, and may meet.  So the
# layout has half a million worker ids; and should two meet all the same, in one
# that neither has from a copy, its ids do not count.
#
# A seed decides who is a copy of whom, and what happens when.  Many of them:
#
#	UIDGEN_COPIES='--seeds 20 --seed 1' ./check test/t/copies_by_seed.pl

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use Getopt::Long;
use IPC::Run;
use List::Util qw(shuffle);
use Time::HiRes qw(time);
use UidgenTest;

my $HOUR = 3600;

# Eight ids a millisecond: as they are drawn faster than that, and may be, they run
# ahead of the clock, which then does not keep servers or starts apart.
my ($WORKER_BITS, $SEQUENCE_BITS) = (19, 3);
my $LAYOUT = "time:41:1ms worker:$WORKER_BITS sequence:$SEQUENCE_BITS epoch:2005-01-01";

my ($seeds, $seed) = (1, time ^ $$);
unshift @ARGV, split ' ', $ENV{UIDGEN_COPIES} // '';
GetOptions('seeds=i' => \$seeds, 'seed=i' => \$seed) or die "see the head of $0\n";

# The servers of a seed: {node, clock, inherited (worker ids that came with the
# copy), used (worker ids), ids, faults (yet to come)}.
my @servers;

sub pick { return $_[ rand @_ ] }

sub worker_of
{
	my ($id) = @_;
	return $id >> $SEQUENCE_BITS & (1 << $WORKER_BITS) - 1;
}

# A server that is ready to draw joins the others.
sub add_server
{
	my ($node, $clock, $copy) = @_;
	my @registry = split /\n/, $node->safe_psql('postgres', 'SELECT worker_id FROM uidgen_registry.worker_node');
	my $size = pick(-1, 1) * (2 * $HOUR + int rand 600);
	my @steps = ({ step => $size }, { step => -$size });
	my @kills = ({ kill => pick('postmaster', 'keeper') });

	# The steps in their order, the kill anywhere.
	splice @steps, int rand 3, 0, @kills;
	push @servers, {
		node => $node, clock => $clock, ids => [], used => {}, faults => \@steps,
		inherited => { $copy ? map { $_ => 1 } @registry : () } };
	return;
}

# All servers draw at the same time.
sub draw
{
	my @runs;
	foreach my $server (@servers)
	{
		my ($out, $err) = ('', '');
		my $psql = [
			$server->{node}->installed_command('psql'), '-XAtq', '-d', $server->{node}->connstr('postgres'),
			'-c', 'SELECT uid_next() FROM generate_series(1, 2000)' ];
		push @runs, [ IPC::Run::start($psql, '<', \undef, '>', \$out, '2>', \$err, IPC::Run::timeout(180)), \$out, \$err, $server ];
	}
	my $drawn = 0;
	foreach my $draw (@runs)
	{
		my ($run, $out, $err, $server) = @$draw;
		$run->finish or diag($server->{node}->name . ": $$err");
		my @ids = split /\n/, $$out;
		push @{ $server->{ids} }, @ids;
		$server->{used}{ worker_of($_) } = 1 foreach @ids;
		$drawn += @ids;
	}
	return $drawn == 2000 * @servers;
}

# ---- what happens to a server ----

sub run_fault
{
	my ($server, $fault) = @_;
	my ($node, $clock) = @$server{ 'node', 'clock' };
	if ($fault->{step})
	{
		$clock->step($fault->{step});
		return "step $fault->{step}";
	}
	if ($fault->{kill} eq 'postmaster')
	{
		$clock->under(sub { kill_and_start($node) });
	}
	else
	{
		end_keeper($node, 'KILL') or die 'no other keeper has begun';
		$node->poll_query_until('postgres', 'SELECT true');
	}
	return "kill -9 of the $fault->{kill}";
}

# ---- how a copy is made ----

# A node with a copy of another server's files, not yet started; its clock shows
# what that one's does.
sub copy_of
{
	my ($origin, $name, %options) = @_;
	$origin->{node}->backup($name);
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init_from_backup($origin->{node}, $name, %options);
	# The origin may have been restored.
	$node->append_conf('postgresql.conf',
		join("\n", map { "$_ = ''" } map({ "recovery_target_$_" } qw(name time xid)), 'restore_command'));
	my $clock = FakeClock->new($node);
	$clock->step($origin->{clock}->now - time);
	return ($node, $clock);
}

my %copies = (
	# Started as it is.
	backup => sub {
		my ($name, $origin) = @_;
		my ($node, $clock) = copy_of($origin, $name);
		$clock->under(sub { $node->start });
		return ($node, $clock);
	},
	# Promoted while its origin lives on.
	standby => sub {
		my ($name, $origin) = @_;
		my ($node, $clock) = copy_of($origin, $name, has_streaming => 1);
		$clock->under(sub { $node->start });
		draw();
		$origin->{node}->wait_for_catchup($node);
		$node->promote;
		return ($node, $clock);
	},
	# Brought to a point in time by the WAL of its origin.
	restore => sub {
		my ($name, $origin) = @_;
		my ($node, $clock) = copy_of($origin, $name);
		draw();
		my $target = pick('name', 'time', 'xid');
		my $value = $origin->{node}->safe_psql('postgres',
			$target eq 'name' ? "SELECT pg_create_restore_point('$name') IS NOT NULL; SELECT '$name'" :
			$target eq 'time' ? 'SELECT clock_timestamp()' : 'SELECT txid_current()') =~ s/^t\n//r;
		# What comes behind it is not restored.
		$origin->{node}->safe_psql('postgres', 'SELECT txid_current(); SELECT pg_switch_wal()');
		draw();
		$node->append_conf('postgresql.conf', join("\n",
				"restore_command = 'cp \"" . $origin->{node}->data_dir . "/pg_wal/%f\" \"%p\"'",
				"recovery_target_$target = '$value'",
				'recovery_target_action = promote'));
		$node->set_recovery_mode;
		$clock->under(sub { $node->start });
		$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'recovery does not end';
		return ($node, $clock);
	});

# ---- a seed ----

sub run_seed
{
	my ($seed) = @_;
	my $begin = time;
	my $all_drawn = 1;
	my @story;
	srand $seed;
	@servers = ();

	my $first = PostgreSQL::Test::Cluster->new("first_$seed");
	$first->init(allows_streaming => 1);
	$first->append_conf('postgresql.conf', preload() . <<"END");

uidgen.layout = '$LAYOUT'
uidgen.window = 1s
uidgen.max_burst = 1h
uidgen.wait_timeout = 2min
restart_after_crash = on
wal_keep_size = 512MB
END
	my $clock = FakeClock->new($first);
	$clock->under(sub { $first->start });
	$first->safe_psql('postgres', 'CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_registry; CREATE TABLE message (id bigint DEFAULT uid_next())');
	add_server($first, $clock);
	draw();

	my @kinds = shuffle(qw(backup backup standby restore));
	my $number = 0;
	for (;;)
	{
		my @afflicted = grep { @{ $_->{faults} } } @servers;
		last unless @kinds || @afflicted;
		if (@kinds && (!@afflicted || rand() < 0.5))
		{
			my $kind = shift @kinds;
			my $name = $kind . '_' . ++$number . "_$seed";
			my $origin = pick(@servers);
			add_server($copies{$kind}->($name, $origin), 1);
			push @story, "$name of " . $origin->{node}->name;
		}
		else
		{
			my $server = pick(@afflicted);
			push @story, run_fault($server, shift @{ $server->{faults} }) . ' of ' . $server->{node}->name;
		}
		$all_drawn = draw() && $all_drawn;
	}

	# Of the worker ids that several used, those that none has from a copy: there
	# they met by chance.
	my (%users, %met, %seen);
	foreach my $server (@servers)
	{
		push @{ $users{$_} }, $server foreach keys %{ $server->{used} };
	}
	foreach my $worker (keys %users)
	{
		$met{$worker} = 1 if @{ $users{$worker} } > 1 && !grep { $_->{inherited}{$worker} } @{ $users{$worker} };
	}
	note 'worker ids in which servers met by chance: ' . join(' ', keys %met) if %met;

	note "seed $seed:";
	note "  $_" foreach @story;
	ok($all_drawn, "seed $seed: all servers drew ids all the time");
	foreach my $server (@servers[ 1 .. $#servers ])
	{
		is(join(' ', grep { $server->{inherited}{$_} } sort keys %{ $server->{used} }), '',
			'the ' . $server->{node}->name . ' uses no worker id that came with the copy');
	}
	# Where two met, each must still not repeat itself.
	foreach my $server (@servers)
	{
		$seen{ $met{ worker_of($_) } ? $server->{node}->name . $_ : $_ }++ foreach @{ $server->{ids} };
	}
	is(scalar(grep { $_ > 1 } values %seen), 0, scalar(keys %seen) . ' ids of all servers, none twice');
	note sprintf('%d worker ids were used, in %.1f s', scalar keys %users, time - $begin);

	$_->{node}->stop('immediate'), $_->{node}->clean_node foreach @servers;
	return;
}

run_seed($seed + $_) foreach 0 .. $seeds - 1;

done_testing();
