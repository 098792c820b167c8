# RegistryProxy.pm: a proxy in front of a registry, which loses, keeps and delays what goes through it.
#
#	my $proxy = RegistryProxy->new($registry);
#	... uidgen.registry = conninfo($proxy->port)
#	$proxy->set(cut => 'lease_renew');
#	$proxy->await('cut lease_renew granted');
#	$proxy->set();
#	$proxy->point_to($standby);
#
# Faults are of calls of the registry's functions whose names match the second argument (else of all), and of no more calls of each
# than the third one says (else of any number):
#
#	cut		the call is made, and the connection closed before the answer
#	swallow	the call is made, and its answer never comes
#	late	the call is made after the node has given it up: its connection is closed, and some time has passed
#	double	the answer comes twice
#	twice	the call is made twice, and the second answer comes
#	warn	the answer comes with a warning
#	watch	nothing happens to it
#	hole	nothing goes through, in either direction, not even a connection; it does later on
#	slow	each way takes as many milliseconds as the second argument says
#
# Each call that met one of the first seven leaves a line: the fault, the function, and what the registry
# said to it: "granted", or an SQLSTATE.  A process of its own, which ends with the test.
package RegistryProxy;

use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;
use POSIX ();
use PostgreSQL::Test::Utils;
use Time::HiRes qw(time);
use UidgenTest;

# How long after the node has given up a late call comes: beyond what it may think of the registry's clock.
use constant LATE => 0.2;

# As the protocol has it: of the kind that a commit comes with which no standby has confirmed.  By the extended protocol it comes behind the row.
use constant WARNING => 'N' . pack('N/a*', "SWARNING\0VWARNING\0C01000\0Mcanceling wait for synchronous replication\0\0") =~ s/^(.{4})/pack('N', unpack('N', $1) + 4)/esr;

my @children;

sub new
{
	my ($class, $registry) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();
	my $listener = IO::Socket::INET->new(Listen => 100, LocalAddr => '127.0.0.1') or die "could not listen: $!";
	my $self = bless {
		port => $listener->sockport,
		server => "$dir/server",
		fault_file => "$dir/fault",
		events => "$dir/events",
		listener => $listener,
		connections => [],
	}, $class;
	append_to_file($self->{events}, '');
	$self->point_to($registry);
	my $pid = fork // die "could not fork: $!";
	if ($pid == 0)
	{
		$SIG{PIPE} = 'IGNORE';
		eval { $self->_run };
		print STDERR "proxy: $@";
		POSIX::_exit(1);
	}
	push @children, $pid;
	close $listener;
	return $self;
}

sub port
{
	my ($self) = @_;
	return $self->{port};
}

# New connections go there, as to an address that moves in a failover.
sub point_to
{
	my ($self, $registry) = @_;
	unlink "$self->{server}.new";
	symlink($registry->host . '/.s.PGSQL.' . $registry->port, "$self->{server}.new") && rename("$self->{server}.new", $self->{server})
	  or die "could not make $self->{server}: $!";
	return;
}

# From now on, calls meet this fault; without arguments, none.
sub set
{
	my ($self, $fault, $what, $times) = @_;
	my $new = "$self->{fault_file}.new";
	unlink $new;
	append_to_file($new, join(' ', $fault // '', $what // '', $times // 'any', ++$self->{sets}) . "\n");
	# Before the fault is there: a call can meet it at once.
	$self->{seen} = -s $self->{events};
	rename($new, $self->{fault_file}) or die "could not rename $new: $!";
	return;
}

# What calls have met since set() was called.
sub events
{
	my ($self) = @_;
	return substr(slurp_file($self->{events}), $self->{seen} // 0) =~ /^(.*)\n/mg;
}

# Wait until as many calls have met what matches; false if they do not.
sub await
{
	my ($self, $pattern, $count) = @_;
	return poll_until(sub { ($count // 1) <= grep { /$pattern/ } $self->events });
}

# ---- the process ----

sub _fault
{
	my ($self) = @_;
	my $text = -e $self->{fault_file} ? slurp_file($self->{fault_file}) : '';
	my ($fault, $what, $times, $number) = $text =~ /^(\S*) (\S*) (\S+) (\d+)$/m;
	return ($fault // '', $what // '', $times // 'any', $number // 0);
}

# Does this call meet the fault, or have as many met it as are to?
sub _meets
{
	my ($self, $function) = @_;
	my ($fault, $what, $times, $number) = $self->_fault;
	return '' if $fault !~ /^(?:cut|swallow|late|double|twice|warn|watch)$/ || $function !~ /$what/;
	return $times eq 'any' || $self->{met}{"$number $function"}++ < $times ? $fault : '';
}

sub _note
{
	my ($self, $connection) = @_;
	my ($answer) = $connection->{answer} =~ /C([0-9A-Z]{5})\0/;
	append_to_file($self->{events}, "$connection->{fault} $connection->{function} " . ($answer // 'granted') . "\n");
	return;
}

sub _run
{
	my ($self) = @_;
	while (1)
	{
		my ($fault) = $self->_fault;
		my @sockets = $fault eq 'hole' ? () : ($self->{listener}, map { grep { defined } @$_{qw(client server)} } @{ $self->{connections} });
		# While nothing is pending, sleep until something comes.
		my $pending = $fault =~ /hole|slow/ || grep { $_->{late} || @{ $_->{slow} } } @{ $self->{connections} };
		foreach my $socket (IO::Select->new(@sockets)->can_read($pending ? 0.01 : 0.1))
		{
			if ($socket == $self->{listener})
			{
				my $client = $socket->accept or next;
				my $server = IO::Socket::UNIX->new(Peer => $self->{server});
				push @{ $self->{connections} }, { client => $client, server => $server, slow => [] } if $server;
				next;
			}
			my ($connection) = grep { ($_->{client} // 0) == $socket || ($_->{server} // 0) == $socket } @{ $self->{connections} };
			next unless $connection;
			my $from_client = ($connection->{client} // 0) == $socket;
			my $data = '';
			my $ended = !sysread($socket, $data, 65536);
			if ($from_client)
			{
				$self->_from_client($connection, $data, $ended);
			}
			else
			{
				$self->_from_server($connection, $data, $ended);
			}
		}
		foreach my $connection (@{ $self->{connections} })
		{
			if ($connection->{late} && $connection->{late} <= time)
			{
				delete $connection->{late};
				_send($connection->{server}, delete $connection->{kept});
			}
			while (@{ $connection->{slow} } && $connection->{slow}[0]{time} <= time)
			{
				my $chunk = shift @{ $connection->{slow} };
				_send($connection->{ $chunk->{to} }, $chunk->{data});
			}
		}
		@{ $self->{connections} } = grep { $_->{client} || $_->{server} } @{ $self->{connections} };
	}
}

sub _send
{
	my ($socket, $data) = @_;
	while ($socket && length $data)
	{
		my $n = syswrite($socket, $data) or return;
		substr($data, 0, $n, '');
	}
	return;
}

sub _close
{
	my ($connection, @sides) = @_;
	foreach (@sides)
	{
		close $connection->{$_} if $connection->{$_};
		delete $connection->{$_};
	}
	return;
}

# Now, or some milliseconds later.
sub _pass
{
	my ($self, $connection, $to, $data) = @_;
	my ($fault, $what) = $self->_fault;
	push @{ $connection->{slow} }, { time => time + ($fault eq 'slow' ? $what / 1000 : 0), to => $to, data => $data };
	return if $fault eq 'slow' || @{ $connection->{slow} } > 1;
	_send($connection->{$to}, (shift @{ $connection->{slow} })->{data});
	return;
}

sub _from_client
{
	my ($self, $connection, $data, $ended) = @_;
	if ($ended)
	{
		my $lasts = $connection->{fault};
		$connection->{late} = time + LATE if defined $connection->{kept};
		_close($connection, $lasts ? 'client' : ('client', 'server'));
		return;
	}
	my ($function) = $data =~ /uidgen_registry\.((?:lease|node|guest)\w*)/;
	my $fault = $function ? $self->_meets($function) : '';
	if ($fault)
	{
		@$connection{qw(fault function answer call noted)} = ($fault, $function, '', $data, 0);
		if ($fault eq 'late')
		{
			$connection->{kept} = $data;
			return;
		}
	}
	# What libpq says when it ends the session must not come before the call.
	return if defined $connection->{kept};
	$self->_pass($connection, 'server', $data);
	return;
}

sub _from_server
{
	my ($self, $connection, $data, $ended) = @_;
	if ($connection->{fault})
	{
		$connection->{answer} .= $data;
		# With the session idle again, the call is committed, or rolled back.
		return unless $ended || $connection->{answer} =~ /Z\0\0\0\x05[ITE]\z/;
		if ($connection->{fault} eq 'twice' && !$ended && defined $connection->{call})
		{
			$connection->{answer} = '';
			_send($connection->{server}, delete $connection->{call});
			return;
		}
		$self->_note($connection) unless $connection->{noted}++;
		if ($connection->{fault} =~ /double|twice|warn|watch/)
		{
			my ($fault, $answer) = delete @$connection{qw(fault answer)};
			$self->_pass($connection, 'client', $fault eq 'warn' ? $answer =~ s/(?=Z....[ITE]\z)/WARNING/esr : $answer x ($fault eq 'double' ? 2 : 1));
			_close($connection, 'client', 'server') if $ended;
			return;
		}
		_close($connection, 'server') if $connection->{fault} ne 'swallow' || $ended;
		_close($connection, 'client') if $connection->{fault} eq 'cut';
	}
	elsif ($ended)
	{
		_close($connection, 'client', 'server');
	}
	else
	{
		$self->_pass($connection, 'client', $data);
	}
	return;
}

# For a process that ends without END blocks
sub end_all
{
	kill 'KILL', splice @children;
	return;
}

END
{
	my $status = $?;
	end_all();
	$? = $status;
}

1;
