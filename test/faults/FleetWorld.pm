# FleetWorld.pm: several servers with one registry, which has a standby, and what can happen to them.
#
# What a round of faults does with these servers is a subclass's: FleetRounds.pm (ids of five nodes),
# SegmentRounds.pm (numbers of three servers), PatroniRounds.pm (a registry under Patroni).
#
# A place is a machine: a hash with number, state ('up', 'down' or 'frozen'), clock, how many sessions it
# should have, and its servers, each a hash of kind ('node' or 'control'), node, sessions and the time of the
# next start of a session.  What happens to a place happens to all of its servers.  Subclasses have
#	tend($place)						# see to it that it has its sessions
package FleetWorld;

use strict;
use warnings;
use parent 'Rounds';
use Chance;
use FakeClock;
use File::Copy ();
use File::Path qw(remove_tree);
use List::Util qw(max min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RemoteRegistry;
use Sessions;
use Time::HiRes qw(time usleep);
use UidgenTest;

# So few ids a tick that sessions are soon as far ahead of the clock as they may be; and
# so few worker ids that those of before are used again.
our $LAYOUT = 'time:41:1ms worker:5 sequence:5 epoch:2025-01-01';
our $WORKERS = 32;
# In seconds: the fleet's clock_slack.
our $CLOCK_SLACK = 1;
# As far is the clock of each of the registry's servers off, at most.
our $REGISTRY_OFF = 0.45 * $CLOCK_SLACK;
# And those of the nodes; more than a day is refused.
our $NODE_OFF = 20 * 3600;

# These faults are the end of a server: how it is stopped.
my %ENDS = map { $_ => 1 } qw(postmaster immediate fast);

sub new
{
	my ($class, %options) = @_;
	my $self = $class->SUPER::new(void_share => 1 / 5, %options);
	$self->{later} = [];		# what is to be done: [time, whom it is about, what]
	return $self;
}

# ---- servers ----

our @SMALL = (
	'shared_buffers = 4MB',
	'max_connections = 30',
	'max_wal_senders = 6',
	'wal_level = replica',
	'hot_standby = on',
	'wal_retrieve_retry_interval = 100ms',
	'restart_after_crash = on',
	'autovacuum = off',
	'log_statement = none',
	"log_line_prefix = '%m [%p] %e %q%a '",
	"include_if_exists = 'link.conf'",
	"include_if_exists = 'round.conf'");

# With a clock, under that; else it goes by the true time.
sub start
{
	my ($self, $node, $clock) = @_;
	$clock ? $clock->under(sub { start_again($node) }) : start_again($node);
	$self->{logs}{ $node->logfile } = 1;
	return;
}

# One that will be a copy of another one.
sub new_node
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	mkdir $node->basedir;
	return $node;
}

# Make a server out of a copy of another one that runs; with $standby it follows it.
sub copy
{
	my ($from, $to, $standby) = @_;
	remove_tree($to->data_dir);
	system_or_bail('pg_basebackup', '-D', $to->data_dir, '-h', $from->host, '-p', $from->port,
		'--checkpoint', 'fast', '--wal-method', 'stream', '--no-sync');
	$to->append_conf('postgresql.conf', 'port = ' . $to->port . "\n");
	follow($to, $standby ? $from : undef);
	$to->set_standby_mode if $standby;
	return;
}

# What a standby follows.
sub follow
{
	my ($node, $primary) = @_;
	my $file = $node->data_dir . '/link.conf';
	unlink $file;
	append_to_file($file, "primary_conninfo = '" . ($primary ? $primary->connstr : '') . "'\n");
	return;
}

# Copies are of the first or the second place, and the last place is a standby.
sub make_anew
{
	my ($self, $place) = @_;
	my $from = $self->{places}[ $place->{number} % 2 ];
	$self->down($place, 'immediate') if $place->{state} ne 'down';
	copy($from->{servers}[$_]{node}, $place->{servers}[$_]{node}, $place->{number} == 4) foreach 0, 1;
	$self->up($place);
	return;
}

sub promote
{
	my ($self, $place) = @_;
	foreach my $node (map { $_->{node} } @{ $place->{servers} })
	{
		$node->promote if -e $node->data_dir . '/standby.signal';
	}
	return;
}

sub down
{
	my ($self, $place, $how) = @_;
	$self->do_later($place->{number});
	foreach my $node (map { $_->{node} } @{ $place->{servers} })
	{
		$how eq 'postmaster' ? $node->kill9 : $node->stop($how);
	}
	$place->{state} = 'down';
	return;
}

sub up
{
	my ($self, $place) = @_;
	$self->start($_->{node}, $place->{clock}) foreach @{ $place->{servers} };
	$place->{state} = 'up';
	return;
}

# The data directory of one that is down was copied to another machine; so it does not
# get a worker id because it had that before.
sub move
{
	my ($place) = @_;
	foreach my $file (map { $_->{node}->data_dir . '/global/pg_control' } @{ $place->{servers} })
	{
		# As if all were copied: the identity shows by this file.
		rename($file, "$file.old") && File::Copy::copy("$file.old", $file) && unlink("$file.old") or die "could not copy $file: $!\n";
	}
	return;
}

# All of a place is as if its machine stood still, until it is thawed.
sub freeze
{
	my ($self, $place, $seconds) = @_;
	my @stopped = map { stop_processes($_->{node}) } @{ $place->{servers} };
	$place->{state} = 'frozen';
	$self->later($seconds, $place->{number}, sub { kill 'CONT', @stopped; $place->{state} = 'up' });
	return;
}

# ---- the registry ----

# The servers of the registry: a primary, which runs from now on, and one that is to become its
# standby.  With $clocks each has a clock of its own.
sub make_registry_servers
{
	my ($self, $clocks) = @_;
	my $primary = PostgreSQL::Test::Cluster->new('registry1');
	my @nodes = ($primary, new_node('registry2'));

	$primary->init(allows_streaming => 1);
	$primary->append_conf('postgresql.conf', join('', map { "$_\n" } @SMALL, 'max_connections = 100'));
	$self->{registry_clock} = $clocks ? { map { $_ => FakeClock->new($_) } @nodes } : {};
	$self->start($primary, $self->{registry_clock}{$primary});
	@$self{qw(primary standby)} = @nodes;
	$self->{lockers} = { map { $_ => Sessions->new($_, $self->{folder}) } @nodes };
	return $primary;
}

# The database of the registry, and that of the control's.  By name: max_lead and clock_slack in seconds.
sub make_databases
{
	my ($primary, %lengths) = @_;
	$primary->safe_psql('postgres', 'CREATE DATABASE control');
	foreach my $database (sort keys %lengths)
	{
		my ($max_lead, $clock_slack) = @{ $lengths{$database} };
		share_registry($primary, $database, "'$LAYOUT', max_lead => '$max_lead s', clock_slack => '$clock_slack s'");
		# As in a fleet that has been there for long.
		$primary->safe_psql($database, by_hand("INSERT INTO uidgen_registry.worker_node
			(datacenter_id, worker_id, launch_date, created, modified, granted_until, released, launches)
			SELECT 0, w, '2025-01-02', '2025-01-02', '2025-01-02', w, true, 1 FROM generate_series(0, $WORKERS - 1) AS w"));
	}
	take_rules_away($primary, 'control');
	return;
}

# What the control's registry lacks: [function, text, what stands there instead].
my @RULES = (
	# no quarantine
	[ 'begin_node_call', 'went_back :=', 'went_back := false AND' ],
	[ 'node_acquire', 'unknown_end :=', 'unknown_end := false AND' ],
	# nor a limit
	[ 'node_acquire', 'latest := now_tick + max_lead', 'latest := 4611686018427387904' ],
	[ 'node_renew', ', now_tick + node_renew.max_lead', '' ],
	# nor tokens
	[ 'node_acquire', 'AND n.token IS NOT DISTINCT FROM before.token AND n.granted_until = before.granted_until', '' ],
	[ 'node_renew', 'AND n.token = old_token AND n.granted_until = old_until', '' ],
	# nor the end of the grant, which stands for them
	[ 'node_renew', 'greatest(n.granted_until,', 'greatest(old_until,' ]);

sub take_rules_away
{
	my ($node, $database) = @_;
	foreach (@RULES)
	{
		my ($function, $rule, $instead) = @$_;
		my $text = $node->safe_psql($database, "SELECT pg_get_functiondef('uidgen_registry.$function'::regproc)");
		my $pattern = join '\s+', map { quotemeta } split / /, $rule;
		$text =~ s/$pattern/$instead/ or die "$function has no \"$rule\"\n";
		$node->safe_psql($database, $text);
	}
	return;
}

# The standby begins anew, as a copy of the primary.
sub follow_primary
{
	my ($self) = @_;
	my ($primary, $standby) = @$self{qw(primary standby)};
	copy($primary, $standby, 1);
	$self->start($standby, $self->{registry_clock}{$standby});
	return;
}

sub cut_standby
{
	my ($self) = @_;
	my $standby = $self->{standby};
	follow($standby);
	$standby->reload;
	poll_until(sub { !grep { UidgenTest::process_file($_, 'cmdline') =~ /walreceiver/ } UidgenTest::child_pids($standby) })
	  or die "the standby of the registry goes on to receive\n";
	$self->note_fault('cut');
	return;
}

# ---- time goes on ----

sub later
{
	my ($self, $seconds, $whom, $what) = @_;
	push @{ $self->{later} }, [ time + $seconds, $whom, $what ];
	return;
}

# What is due; or all that is about somebody, or about anybody ('all').
sub do_later
{
	my ($self, $whom) = @_;
	my $is_due = sub { return defined $whom ? $whom eq 'all' || $_->[1] eq $whom : $_->[0] <= time };
	while (my ($next) = sort { $a->[0] <=> $b->[0] } grep { $is_due->() } @{ $self->{later} })
	{
		$self->{later} = [ grep { $_ != $next } @{ $self->{later} } ];
		$next->[2]->();
	}
	return;
}

# Let sessions draw for so many seconds, or until $code returns true; says whether it did.
sub go_on
{
	my ($self, $seconds, $code) = @_;
	my $end = time + $seconds;
	for (;;)
	{
		$self->do_later;
		$self->tend($_) foreach @{ $self->{places} };
		$self->watch;
		return 1 if $code && $code->();
		return 0 if time > $end;
		usleep(5000);
	}
}

# What else to look at meanwhile.
sub watch
{
	return;
}

# How many ids clients have seen of a server in this round.
sub seen
{
	my ($server) = @_;
	return $server->{sessions}->ids($server->{kind});
}

# Wait until each of some servers has an id that it had not yet; true if they have.
# Notes how long nodes took after what, if that is said.
sub await_ids
{
	my ($self, $seconds, $what, @servers) = @_;
	my %had = map { $_ => seen($_) } @servers;
	my $begin = time;
	return $self->go_on($seconds,
		sub {
			foreach my $server (grep { defined $had{$_} && seen($_) > $had{$_} } @servers)
			{
				delete $had{$server};
				push @{ $self->{times}{$what} }, time - $begin if $what && $server->{kind} eq 'node';
			}
			return !%had;
		});
}

# ---- faults ----

sub inject
{
	my ($self, $fault) = @_;
	my ($what, $for) = @$fault{qw(what for)};
	my $place = $self->{places}[ $fault->{place} ];
	my @nodes = map { $_->{node} } @{ $place->{servers} };
	my $clock = $place->{clock};
	my $primary = $self->{primary};

	$self->do_later($what =~ /^registry|^cut/ ? 'registry' : $place->{number});
	$self->note_fault($what, $what =~ /^registry|^cut/ ? () : $place->{number});
	if ($what eq 'backend' || $what eq 'keeper')
	{
		my $title = $what eq 'keeper' ? qr/uidgen keeper/ : qr/\[local\] COPY/;
		kill 'KILL', map { child($_, $title) } @nodes;
	}
	elsif ($ENDS{$what})
	{
		$self->down($place, $what);
		$self->later($for, $place->{number}, sub { $self->up($place) });
	}
	elsif ($what eq 'terminate_keeper')
	{
		kill 'TERM', map { child($_, qr/uidgen keeper/) } @nodes;
	}
	elsif ($what eq 'freeze') { $self->freeze($place, $for) }
	elsif ($what eq 'clock_small' || $what eq 'clock_large') { $self->set_clock($clock, $fault->{step}, $NODE_OFF) }
	elsif ($what eq 'boot_clock')
	{
		my @stopped = map { stop_processes($_) } @nodes;
		$clock->suspend($for);
		kill 'CONT', @stopped;
	}
	elsif ($what eq 'copy' || $what eq 'standby')
	{
		my $from = $self->{places}[ $place->{number} % 2 ];
		$self->do_later($from->{number});
		# One that is about to come back from a crash cannot be copied.
		return if grep { !answers($_->{node}) } @{ $from->{servers} };
		$self->make_anew($place);
		$self->later($for, $place->{number}, sub { $self->promote($place) }) if $what eq 'standby';
	}
	elsif ($what eq 'registry_restart')
	{
		$primary->stop($fault->{how});
		$self->later($for, 'registry', sub { $self->start($primary, $self->{registry_clock}{$primary}) });
	}
	elsif ($what eq 'registry_freeze')
	{
		my @stopped = stop_processes($primary);
		$self->later($for, 'registry', sub { kill 'CONT', @stopped });
	}
	elsif ($what eq 'registry_lock')
	{
		my $lockers = $self->{lockers}{$primary};
		my @pids = map { $lockers->hold($_, 'BEGIN; LOCK TABLE uidgen_registry.worker_node IN ACCESS EXCLUSIVE MODE') } 'postgres', 'control';
		$self->later($for, 'registry', sub { $lockers->release($_) foreach @pids; $lockers->end(@pids) });
	}
	elsif ($what eq 'registry_clock')
	{
		$self->set_clock($self->{registry_clock}{$primary}, $fault->{step}, $REGISTRY_OFF);
	}
	elsif ($what eq 'cut_calls')
	{
		$primary->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
	}
	return;
}

sub inject_some
{
	my ($self, $faults) = @_;
	foreach my $fault (@$faults)
	{
		$self->inject($fault);
		$self->go_on($fault->{pause});
	}
	return;
}

# The process id of a child whose title matches; nothing if there is none.
sub child
{
	my ($node, $title) = @_;
	my @pids = eval { UidgenTest::child_pids($node) };
	return (grep { UidgenTest::process_file($_, 'cmdline') =~ $title } @pids)[0] // ();
}

sub answers
{
	my ($node) = @_;
	return (try_psql($node, 'SELECT 1'))[0] == 0;
}

# Step a clock, but keep it within so many seconds of the true time.
sub set_clock
{
	my ($self, $clock, $step, $most) = @_;
	my $off = $clock->now + $step - time;
	$clock->set(time + max(-$most, min($most, $off)));
	return;
}

sub sessions
{
	my ($self) = @_;
	return map { $_->{sessions} } grep { $_->{kind} eq 'node' } map { @{ $_->{servers} } } @{ $self->{places} };
}

1;
