# Patroni.pm: three PostgreSQL servers under Patroni, with one etcd, as the registry of a fleet; and what befalls them.
#
#	my $cluster = Patroni->new($network);
#	$cluster->start;
#	my $leader = $cluster->leader;			# a PostgreSQL::Test::Cluster, as all members are
#	$cluster->synchronous(1);
#	$cluster->kill_machine($leader);
#	$cluster->await_leader($wait, $leader);
#	$cluster->run($leader);					# its machine is there again
#	$cluster->is_whole;
#
# Patroni makes, starts, stops, promotes, rewinds and remakes the servers; a test only takes things away from it.  Members reach etcd
# by the link etcd_NAME, and a member's server and its Patroni are reached by the other members by server_NAME and
# api_NAME (see Network.pm).  So these three cut a member off from its cluster, but not from clients, which are the test's to link.
#
# They use etcd's API of version 2.  With that of version 3, Patroni 3.0.2 takes the lead back when it has stood still for longer than its lease and
# wakes: by what it remembers of etcd it still leads, so it gets another lease and writes itself down as the leader, whoever has become that
# meanwhile.  The former leader's server then goes on, on its old timeline, without what was committed since, and knows nothing of it.
package Patroni;

use strict;
use warnings;
use HTTP::Tiny;
use JSON::PP;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(time);
use UidgenTest;

# Patroni's smallest, in seconds.
use constant { TTL => 20, LOOP_WAIT => 1, RETRY_TIMEOUT => 5 };

my @clusters;

# What is ended from outside ends what it has begun, too.
$SIG{INT} = $SIG{TERM} = sub { exit 1 };

# Why it cannot run here; '' if it can.
sub missing
{
	return join ' and ', grep { !program($_) } 'patroni', 'etcd';
}

sub program
{
	my ($name) = @_;
	return (grep { -x } map { "$_/$name" } split(/:/, $ENV{PATH}), '/usr/bin')[0];
}

# @conf: more parameters of the servers, [name, value].
sub new
{
	my ($class, $network, @conf) = @_;
	my $self = bless {
		network => $network,
		folder => PostgreSQL::Test::Utils::tempdir('patroni'),
		etcd_port => PostgreSQL::Test::Cluster::get_free_port(),
		members => [ map { PostgreSQL::Test::Cluster->new("registry$_") } 1 .. 3 ],
		conf => \@conf,
		running => {},		# process ids of Patroni, by the member's name
		away => {},			# members whose Patroni cannot be asked
	}, $class;
	foreach my $member (@{ $self->{members} })
	{
		my $name = $member->name;
		my $api = $self->{api}{$name} = PostgreSQL::Test::Cluster::get_free_port();
		$self->write_configuration($member, $network->link("etcd_$name", $self->{etcd_port}),
			$network->link("server_$name", $member->port), $network->link("api_$name", $api));
	}
	push @clusters, $self;
	return $self;
}

sub members { my ($self) = @_; return @{ $self->{members} } }

# The links by which a member and the rest of the cluster reach each other.
sub links
{
	my ($self, $member, @kinds) = @_;
	return map { $_ . '_' . $member->name } @kinds ? @kinds : qw(etcd server api);
}

sub write_configuration
{
	my ($self, $member, $etcd, $server, $api) = @_;
	my $user = getpwuid($<);
	my $bin = $member->installed_command('postgres') =~ s{/[^/]*$}{}r;
	($bin) = run_command([ 'pg_config', '--bindir' ]) if $bin !~ m{/};
	my $logs = $self->{folder} . '/' . $member->name;
	my $parameters = join('', map { "    $_->[0]: " . ($_->[1] =~ /^'/ ? $_->[1] : "'$_->[1]'") . "\n" } @{ $self->{conf} });
	mkdir $logs;
	# JSON would do as well, but this is what its users know.
	append_to_file("$logs.yml", <<"END");
scope: registry
name: @{[ $member->name ]}
log:
  dir: $logs
restapi:
  listen: 127.0.0.1:$self->{api}{ $member->name }
  connect_address: 127.0.0.1:$api
etcd:
  hosts: [127.0.0.1:$etcd]
  use_proxies: true
bootstrap:
  dcs:
    ttl: @{[ TTL ]}
    loop_wait: @{[ LOOP_WAIT ]}
    retry_timeout: @{[ RETRY_TIMEOUT ]}
    maximum_lag_on_failover: 100000000
    master_start_timeout: 0
    postgresql:
      use_pg_rewind: true
      use_slots: true
  initdb: [{encoding: UTF8}, {locale: C}, data-checksums, no-sync]
postgresql:
  listen: 127.0.0.1:@{[ $member->port ]}
  connect_address: 127.0.0.1:$server
  data_dir: @{[ $member->data_dir ]}
  bin_dir: $bin
  pgpass: $logs/pgpass
  remove_data_directory_on_rewind_failure: true
  remove_data_directory_on_diverged_timelines: true
  authentication:
    superuser: {username: $user}
    replication: {username: $user}
    rewind: {username: $user}
  pg_hba:
  - local all all trust
  - host all all 127.0.0.1/32 trust
  - host replication all 127.0.0.1/32 trust
  parameters:
    unix_socket_directories: @{[ $member->host ]}
    log_line_prefix: '%n [%p] %e '
    max_connections: 100
${parameters}watchdog:
  mode: off
END
	return;
}

# Begin a program of ours, which writes to a log.
sub begin
{
	my ($log, @command) = @_;
	my $pid = fork // die "could not fork: $!";
	if ($pid == 0)
	{
		open(STDIN, '<', '/dev/null');
		open(STDOUT, '>>', $log);
		open(STDERR, '>&', \*STDOUT);
		exec(@command) or POSIX::_exit(127);
	}
	return $pid;
}

# etcd, and the three; returns when they are a cluster.
sub start
{
	my ($self) = @_;
	my ($client, $peer) = map { "http://127.0.0.1:$_" } $self->{etcd_port}, PostgreSQL::Test::Cluster::get_free_port();
	# What is in the environment counts for more than what is said here.
	delete local @ENV{ grep { /^(?:ETCD|PATRONI)/ } keys %ENV };
	$self->{etcd} = begin("$self->{folder}/etcd.log", program('etcd'), '--enable-v2', '--data-dir', "$self->{folder}/etcd",
		'--listen-client-urls', $client, '--advertise-client-urls', $client, '--listen-peer-urls', $peer,
		'--initial-advertise-peer-urls', $peer, '--initial-cluster', "default=$peer");
	poll_until(sub { HTTP::Tiny->new(timeout => 2)->get("$client/health")->{success} }) or die "etcd does not start\n";
	$self->run($_) foreach $self->members;
	poll_until(sub { $self->is_whole }) or die "Patroni makes no cluster; its logs are in $self->{folder}\n";
	return;
}

# ---- what there is ----

# What Patroni says by its API; undef if it does not.
sub ask
{
	my ($self, $member, $method, $path, $content) = @_;
	my $answer = HTTP::Tiny->new(timeout => $content ? 60 : 3)->request($method, "http://127.0.0.1:$self->{api}{ $member->name }/$path",
		$content ? { content => encode_json($content), headers => { 'Content-Type' => 'application/json' } } : {});
	$self->{said} = "$answer->{status} $answer->{content}";
	return $answer->{success} ? eval { decode_json($answer->{content}) } // {} : undef;
}

sub present
{
	my ($self) = @_;
	return grep { !$self->{away}{ $_->name } } $self->members;
}

# What one of those says of all that can be asked.
sub topology
{
	my ($self) = @_;
	foreach my $member ($self->present)
	{
		my $cluster = $self->ask($member, 'GET', 'cluster') or next;
		return @{ $cluster->{members} };
	}
	return ();
}

# The member that leads and takes writes; undef if none does.
sub leader
{
	my ($self) = @_;
	my ($name) = map { $_->{name} } grep { $_->{role} eq 'leader' && $_->{state} eq 'running' } $self->topology;
	my ($leader) = grep { $_->name eq ($name // '') } $self->present;
	return $leader && sql($leader, 'SELECT pg_is_in_recovery()') eq 'f' ? $leader : undef;
}

# The same, where there is one or will soon be.
sub any_leader
{
	my ($self) = @_;
	my $leader;
	poll_until(sub { $leader = $self->leader }) or die "no member leads; the logs of Patroni are in $self->{folder}\n";
	return $leader;
}

# SQL in the database postgres; what comes back, '' also where the server is away.
sub sql
{
	my ($member, $sql) = @_;
	my ($status, $out) = try_psql($member, $sql, timeout => 10, timed_out => \my $late);
	return defined $status && $status == 0 ? $out : '';
}

# Do two members follow a leader?
sub is_whole
{
	my ($self) = @_;
	my $leader = $self->leader or return 0;
	# While a member is made, its copy streams, too.
	return $self->members == grep({ $_->{state} =~ /^(?:running|streaming)$/ } $self->topology)
	  && sql($leader, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") eq '2';
}

# Wait for one to lead that is not $before; $wait->($seconds, $code) lets time go by until $code returns true.
sub await_leader
{
	my ($self, $wait, $before) = @_;
	my ($leader, $next) = (undef, 0);
	$wait->(
		180,
		sub {
			return 0 if time < $next;
			$leader = $self->leader;
			$next = time + 0.2;
			return $leader && $leader != $before;
		}) or die "no other member leads; the logs of Patroni are in $self->{folder}\n";
	return $leader;
}

# Set the mode of replication, and wait until commits go by it.
sub synchronous
{
	my ($self, $yes) = @_;
	my $leader = $self->any_leader;
	$self->ask($leader, 'PATCH', 'config', { synchronous_mode => $yes ? JSON::PP::true : JSON::PP::false })
	  or die "Patroni refuses another mode: $self->{said}\n";
	poll_until(
		sub {
			my $standbys = sql($leader, 'SHOW synchronous_standby_names');
			return !$yes ? $standbys eq '' : sql($leader, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") eq '1'
			  && grep { $_->{role} eq 'sync_standby' } $self->topology;
		}) or die "Patroni does not change the mode of replication\n";
	return;
}

# ---- what befalls it ----

# Begin Patroni, which starts the member's server if it does not run.
sub run
{
	my ($self, $member) = @_;
	delete local @ENV{ grep { /^(?:ETCD|PATRONI)/ } keys %ENV };
	$self->{running}{ $member->name } = begin($member->logfile, program('patroni'), "$self->{folder}/" . $member->name . '.yml');
	delete $self->{away}{ $member->name };
	return;
}

# What runs of a server: its postmaster and all that it has begun.
sub server_pids
{
	my ($member) = @_;
	my $postmaster = eval { UidgenTest::postmaster_pid($member) } or return ();
	return grep { UidgenTest::process_file($_, 'cmdline') =~ /postgres/ } $postmaster, UidgenTest::child_pids($member);
}

sub kill_patroni
{
	my ($self, $member) = @_;
	$self->{away}{ $member->name } = 1;
	my $pid = delete $self->{running}{ $member->name } or return;
	kill 'KILL', $pid;
	waitpid($pid, 0);
	return;
}

sub kill_server
{
	my ($self, $member) = @_;
	my @pids = server_pids($member);
	kill 'KILL', @pids;
	poll_until(sub { !grep { UidgenTest::process_file($_, 'cmdline') } @pids }) or die "a killed server does not end\n";
	return;
}

sub kill_machine
{
	my ($self, $member) = @_;
	$self->kill_patroni($member);
	$self->kill_server($member);
	return;
}

# All of a member stands still; returns the process ids, for thaw().
sub freeze
{
	my ($self, $member) = @_;
	my @pids = ($self->{running}{ $member->name });
	kill 'STOP', @pids;
	$self->{away}{ $member->name } = 1;
	return [ @pids, stop_processes($member) ];
}

sub thaw
{
	my ($self, $member, $pids) = @_;
	kill 'CONT', @$pids;
	delete $self->{away}{ $member->name };
	return;
}

# A member loses sight of the others and of etcd, and they of it.
sub cut
{
	my ($self, $member) = @_;
	$self->{network}->cut($self->links($member));
	$self->{away}{ $member->name } = 1;
	return;
}

# What was on the way is lost.
sub heal
{
	my ($self, $member) = @_;
	$self->{network}->reset($self->links($member));
	delete $self->{away}{ $member->name };
	return;
}

# No standby receives what the leader writes from now on.
sub hold_back
{
	my ($self, $leader) = @_;
	$self->{network}->cut($self->links($leader, 'server'));
	return;
}

# As an operator asks for it.  Patroni answers when it is done; so a process of its own waits for that.
sub switch_over
{
	my ($self, $leader) = @_;
	my $pid = fork // die "could not fork: $!";
	if ($pid == 0)
	{
		# It refuses while it has not heard of the others for a moment.
		poll_until(sub { $self->ask($leader, 'POST', 'switchover', { leader => $leader->name }) }, 30)
		  or print STDERR "Patroni refuses to switch over: $self->{said}\n";
		POSIX::_exit(0);
	}
	push @{ $self->{asking} }, $pid;
	return;
}

sub stop
{
	my ($self) = @_;
	foreach my $member ($self->members)
	{
		my $pid = delete $self->{running}{ $member->name };
		kill 'KILL', $pid if $pid;
		waitpid($pid, 0) if $pid;
		kill 'KILL', server_pids($member);
	}
	waitpid($_, 0) foreach @{ delete $self->{asking} // [] };
	if (my $etcd = delete $self->{etcd})
	{
		kill 'KILL', $etcd;
		waitpid($etcd, 0);
	}
	return;
}

END
{
	my $status = $?;
	$_->stop foreach @clusters;
	$? = $status;
}

1;
