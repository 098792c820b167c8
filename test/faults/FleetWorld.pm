# FleetWorld.pm: several servers with one registry, which has two standbys, and what can happen to them.
#
# What a round of faults does with these servers is a subclass's: FleetRounds.pm (ids of five nodes),
# SegmentRounds.pm (numbers of three servers), PatroniRounds.pm (a registry under Patroni).
#
# A place is a machine: a hash with number, state ('up', 'down' or 'frozen'), clock, how many sessions it
# should have, and its servers, each a hash of kind ('node' or 'control'), node, sessions and the time of the
# next start of a session.  What happens to a place happens to all of its servers.  Subclasses have
#	tend($place)						# see to it that it has its sessions
#	take_over($restored)				# what the owner of a restored registry does
#
# The registry's servers take turns: one is the primary, one will be the next, and the third one does something of
# its own meanwhile (arrange_standbys).  They are reached by sockets, addresses, names and poolers, beside hosts that are of no use
# (registry_hosts).
package FleetWorld;

use strict;
use warnings;
use parent 'Rounds';
use Chance;
use FakeClock;
use File::Copy ();
use File::Path qw(remove_tree);
use IPC::Run;
use List::Util qw(max min shuffle);
use NameServer;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RemoteRegistry;
use Sessions;
use Test::More;
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
	$self->{names} = NameServer->new;
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
	"include_if_exists = 'closed.conf'",
	"include_if_exists = 'round.conf'");

# With a clock, under that; else it goes by the true time.  Our name server is asked for names.  With $may_fail, false if it does not start.
sub start
{
	my ($self, $node, $clock, $may_fail) = @_;
	my $start = sub { return $may_fail ? $node->start(fail_ok => 1) : start_again($node) };
	$self->{logs}{ $node->logfile } = 1;
	return $self->{names}->under(sub { return $clock ? $clock->under($start) : $start->() });
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
	append_to_file($file, "primary_conninfo = '" . ($primary ? $primary->connstr . ' application_name=' . $node->name : '') . "'\n");
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

# The servers of the registry: a primary, which runs from now on, and two that are to become its
# standbys.  With $clocks each has a clock of its own.
sub make_registry_servers
{
	my ($self, $clocks) = @_;
	my $primary = PostgreSQL::Test::Cluster->new('registry1');
	my @nodes = ($primary, map { new_node("registry$_") } 2, 3);

	$primary->init(allows_streaming => 1);
	$primary->append_conf('postgresql.conf', join('', map { "$_\n" } @SMALL, 'max_connections = 100', "listen_addresses = '127.0.0.1'",
			'wal_log_hints = on', 'wal_keep_size = 256MB'));
	$self->{registry_clock} = $clocks ? { map { $_ => FakeClock->new($_) } @nodes } : {};
	$self->start($primary, $self->{registry_clock}{$primary});
	$self->{registries} = \@nodes;
	@$self{qw(primary standby third)} = @nodes;
	$self->{lockers} = { map { $_ => Sessions->new($_, $self->{folder}) } @nodes };
	$self->{poolers} = { map { $_ => begin_pooler($self->{folder}, $_) } @nodes };
	# Names that nobody answers for, and one that there is not; a host that says nothing, and one that refuses.
	my $port = $primary->port;
	$self->{useless} = [ [ 'never.test', $port ], [ 'never2.test', $port ], [ 'nothing.test', $port ], [ '127.0.0.1', black_hole() ], [ '127.0.0.1', refused_port() ] ];
	$self->{names}->answer('nothing.test');
	$self->{names}->answer($_->name . '.test', '127.0.0.1') foreach @nodes;
	return $primary;
}

# The roles by which nodes come; owners come by another one, so that nodes can be kept out.
our @ROLES = ('node', map { "node$_" } 1 .. 5);

# pgbouncer before a server, if there is one; its port.
my @poolers;

sub begin_pooler
{
	my ($folder, $node) = @_;
	my ($pgbouncer) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin' or return undef;
	my $file = "$folder/" . $node->name . '.pooler';
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	append_to_file("$file.users", join('', map { qq{"$_" ""\n} } @ROLES));
	append_to_file($file, <<"END");
[databases]
* = host=@{[ $node->host ]} port=@{[ $node->port ]}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $port
unix_socket_dir =
auth_type = trust
auth_file = $file.users
pool_mode = transaction
default_pool_size = 10
server_login_retry = 0.1
server_connect_timeout = 2
query_wait_timeout = 5
logfile = $file.log
END
	push @poolers, IPC::Run::start([ $pgbouncer, $file ], '<', \undef, '>', "$file.out", '2>&1');
	return $port;
}

END
{
	my $status = $?;
	$_->kill_kill(grace => 1) foreach @poolers;
	$? = $status;
}

# Hosts for uidgen.registry: each server of the registry by one of the ways to it, and some that are of no use.
sub registry_hosts
{
	my ($self) = @_;
	my @hosts = map {
		my $pooler = $self->{poolers}{$_};
		pick([ $_->host, $_->port ], [ '127.0.0.1', $_->port ], ([ $_->name . '.test', $_->port ]) x 2, ($pooler ? [ '127.0.0.1', $pooler ] : ()) x 2)
	} @{ $self->{registries} };
	my @useless = shuffle(@{ $self->{useless} });
	@hosts = shuffle(@hosts, @useless[ 0 .. rand 2.5 ]);
	return 'host=' . join(',', map { $_->[0] } @hosts) . ' port=' . join(',', map { $_->[1] } @hosts);
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
	[ 'begin_lease', 'unknown_end :=', 'unknown_end := false AND' ],
	# nor a limit
	[ 'lease', 'latest := now_tick + max_lead', 'latest := 4611686018427387904' ],
	[ 'lease_renew', ', now_tick + lease_renew.max_lead', '' ],
	# nor tokens
	[ 'write_grant', 'AND n.token IS NOT DISTINCT FROM before.token AND n.granted_until = before.granted_until', '' ],
	[ 'lease_renew', 'AND n.token = old_token AND n.granted_until = old_until', '' ],
	# nor the end of the grant, which stands for them
	[ 'lease_renew', 'greatest(n.granted_until,', 'greatest(old_until,' ]);

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

# Who takes over next, and what the third one does until then:
#	cut			gets nothing any more, from the same moment on
#	ahead		goes on following, so that it knows of more than the next primary
#	cascade		follows the next primary
#	down		is stopped
sub arrange_standbys
{
	my ($self, $swap, $third) = @_;
	my @standbys = grep { $_ != $self->{primary} } @{ $self->{registries} };
	$self->do_later('registry');
	@$self{qw(standby third)} = $swap ? reverse @standbys : @standbys;
	$self->{third_does} = $third;
	$self->note_fault("third($third)");
	$self->{third}->stop('immediate') if $third eq 'down';
	if ($third eq 'cascade')
	{
		follow($self->{third}, $self->{standby});
		$self->{third}->reload;
		$self->streams($self->{third}, $self->{standby}) or die "a standby does not follow another one\n";
	}
	return;
}

# Wait until a server has got all that the other one has at this moment; false if it does not, or cannot by what its log says
# from an offset on.
sub streams
{
	my ($self, $node, $from, $log) = @_;
	my ($next, $until) = 0;
	return 0 < $self->go_on(
		20,
		sub {
			return 0 if time < $next;
			$next = time + 0.1;
			return -1 if defined $log && log_since($node, $log) =~ /forked off current database system timeline/;
			$until ||= (try_psql($from, 'SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END'))[1] or return 0;
			return (try_psql($from, "SELECT count(*) FROM pg_stat_replication
				WHERE state = 'streaming' AND replay_lsn >= '$until' AND application_name = '" . $node->name . "'"))[1] eq '1';
		});
}

sub cut
{
	my ($node) = @_;
	follow($node);
	$node->reload;
	poll_until(sub { !grep { UidgenTest::process_file($_, 'cmdline') =~ /walreceiver/ } UidgenTest::child_pids($node) })
	  or die "the standby of the registry goes on to receive\n";
	return;
}

sub cut_standby
{
	my ($self) = @_;
	cut($_) foreach $self->{standby}, $self->{third_does} eq 'cut' ? $self->{third} : ();
	$self->note_fault('cut');
	return;
}

# Servers become standbys of the primary, each in a way: it goes on from where it is, is rewound, or begins anew as a copy.  Where
# the one cannot be, the next one is.  If none is named, all begin anew.  Where two servers have gone on apart on one timeline,
# PostgreSQL does not see that, and all are copies, too.
sub bring_back
{
	my ($self, %ways) = @_;
	my $primary = $self->{primary};
	foreach my $node (grep { $_ != $primary && (!%ways || $ways{$_}) } @{ $self->{registries} })
	{
		my $way = $self->{forked} ? 'copy' : $ways{$node} // 'copy';
		$node->stop('fast');
		foreach my $try ($way eq 'go on' ? ('go on', 'rewind', 'copy') : $way eq 'rewind' ? ('rewind', 'copy') : 'copy')
		{
			if ($try eq 'copy') { copy($primary, $node, 1) }
			else
			{
				if ($try eq 'rewind')
				{
					# Where it forked off is in its control file only then.
					$primary->safe_psql('postgres', 'CHECKPOINT');
					unlink $node->data_dir . '/standby.signal';
					IPC::Run::run([ 'pg_rewind', '--target-pgdata', $node->data_dir, '--source-server', $primary->connstr('postgres') ],
						'>', \my $out, '2>', \my $error) or next;
					$node->append_conf('postgresql.conf', 'port = ' . $node->port);
				}
				follow($node, $primary);
				$node->set_standby_mode;
			}
			my $log = -s $node->logfile // 0;
			if ($self->start($node, $self->{registry_clock}{$node}, $try ne 'copy') && $self->streams($node, $primary, $log))
			{
				$self->note_fault("back($try)");
				last;
			}
			die "a standby of the registry does not follow\n" if $try eq 'copy';
			$node->stop('fast', fail_ok => 1);
		}
	}
	$self->{forked} = 0;
	return;
}

# The primary is stopped, and the standby, which has all of it, is promoted; true if nothing was lost.  The former one follows it.
sub switch_over
{
	my ($self) = @_;
	my ($primary, $standby) = @$self{qw(primary standby)};
	$primary->stop('fast');
	my ($checkpoint) = (run_command([ 'pg_controldata', $primary->data_dir ]))[0] =~ /^Latest checkpoint location: *(\S+)/m;
	my $is_whole = $standby->safe_psql('postgres', "SELECT pg_last_wal_receive_lsn() > '$checkpoint'") eq 't';
	$standby->promote;
	@$self{qw(primary standby)} = ($standby, $primary);
	$self->note_fault($is_whole ? 'switch over' : 'switch over with loss');
	$self->bring_back(map { $_ => 'go on' } @{ $self->{registries} });
	return $is_whole;
}

# A base backup of the registry, as it is now.
sub back_up
{
	my ($self, $name) = @_;
	my $folder = "$self->{folder}/$name";
	my $primary = $self->{primary};
	remove_tree($folder);
	system_or_bail('pg_basebackup', '-D', $folder, '-h', $primary->host, '-p', $primary->port, '--checkpoint', 'fast', '--wal-method', 'stream', '--no-sync');
	return $folder;
}

# The registry's servers are gone, or will never be used again, and a backup is started in the place of the standby: by the run book
# of docs/fleet.md, where no node reaches it until its owner has said all, or as it is.
sub restore
{
	my ($self, $backup, $by_the_book, $seconds) = @_;
	my $node = $self->{standby};
	my $clock = $self->{registry_clock}{$node};
	$_->stop('immediate') foreach grep { $_ != $self->{primary} } @{ $self->{registries} };
	remove_tree($node->data_dir);
	system_or_bail('cp', '-a', $backup, $node->data_dir);
	chmod 0700, $node->data_dir or die $!;
	$node->append_conf('postgresql.conf', 'port = ' . $node->port);
	follow($node);
	$self->{forked} = 1;
	if ($by_the_book)
	{
		my $closed = $node->data_dir . '/closed.conf';
		append_to_file("$closed.hba", "local all " . getpwuid($<) . " trust\n");
		append_to_file($closed, "hba_file = '$closed.hba'\n");
		$self->start($node, $clock);
		$self->take_over($node);
		$self->go_on($seconds);
		$node->stop('fast');
		unlink $closed;
	}
	$self->start($node, $clock);
	return;
}

# A server of which some processes may stand still ends for good.
sub end_for_good
{
	my ($node, @processes) = @_;
	$node->kill9;
	kill 'KILL', @processes;
	poll_until(sub { !grep { UidgenTest::process_file($_, 'cmdline') } @processes }) or die "the former primary does not end\n";
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

# Let sessions draw for so many seconds, or until $code returns true; what it returned.
sub go_on
{
	my ($self, $seconds, $code) = @_;
	my $end = time + $seconds;
	for (;;)
	{
		$self->do_later;
		$self->tend($_) foreach @{ $self->{places} };
		$self->watch;
		my $done = $code && $code->();
		return $done if $done;
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
	my $standby = $self->{ $fault->{all} ? 'standby' : 'third' };

	my $is_registry = $what =~ /^(?:registry|cut|standby_|names)/;
	$self->do_later($is_registry ? 'registry' : $place->{number});
	$self->note_fault($what, $is_registry ? () : $place->{number});
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
		$self->end_registry($primary, $fault);
	}
	elsif ($what eq 'standby_end')
	{
		$self->end_registry($standby, $fault) if -e $standby->data_dir . '/postmaster.pid';
	}
	elsif ($what eq 'standby_freeze')
	{
		my @stopped = -e $standby->data_dir . '/postmaster.pid' ? stop_processes($standby) : ();
		$self->later($for, 'registry', sub { kill 'CONT', @stopped });
	}
	elsif ($what eq 'names')
	{
		# The name server is silent, about one server of the registry or all of them.
		my @names = map { $_->name . '.test' } $fault->{all} ? @{ $self->{registries} } : $primary;
		$self->{names}->silence($_) foreach @names;
		$self->later($for, 'registry', sub { $self->{names}->answer($_, '127.0.0.1') foreach @names });
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

sub end_registry
{
	my ($self, $node, $fault) = @_;
	$fault->{how} eq 'kill' ? $node->kill9 : $node->stop($fault->{how});
	$self->later($fault->{for}, 'registry', sub { $self->start($node, $self->{registry_clock}{$node}) });
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

# A server that was ahead asks for what the next primary does not have, or cannot start as its standby, until it is rewound.
sub alarms
{
	my ($self) = @_;
	return grep { !/requested starting point .* is not in this server's history|This server's history forked from|STATEMENT:  START_REPLICATION/
		  && !/requested timeline \d+ (?:is not a child|does not contain)/ } $self->SUPER::alarms;
}

sub judge_all
{
	my ($self) = @_;
	my @wrong = $self->{names}->wrong;
	ok(!@wrong, 'names were looked up in threads of their own') || diag(join("\n", @wrong));
	return;
}

sub sessions
{
	my ($self) = @_;
	return map { $_->{sessions} } grep { $_->{kind} eq 'node' } map { @{ $_->{servers} } } @{ $self->{places} };
}

1;
