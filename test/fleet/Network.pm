# Network.pm: links between servers on this machine, each of which can be cut.
#
#	my $network = Network->new;
#	my $port = $network->link('name', $target);	# what connects here reaches port $target
#	$network->start;
#	$network->cut('name', ...);
#	$network->heal('name', ...);
#	$network->reset('name', ...);
#
# A link that is cut is silent, as a network is that loses all packets: nothing goes through in either direction, and a
# new connection is made and stays without an answer.  Healed, it carries what was sent meanwhile, as TCP
# does.  Reset instead, its connections of before are lost, as after a long time.
#
# All links are in a process of its own, which ends with the test.  A call returns when it is in force.  Faults of
# single calls on a registry are RegistryProxy.pm's.
package Network;

use strict;
use warnings;
use Errno;
use IO::Select;
use IO::Socket::INET;
use POSIX ();
use Socket qw(AF_UNIX PF_UNSPEC SOCK_STREAM);

my @children;

sub new
{
	my ($class) = @_;
	return bless { links => {}, pairs => [] }, $class;
}

sub link
{
	my ($self, $name, $target) = @_;
	my $listener = IO::Socket::INET->new(Listen => 100, LocalAddr => '127.0.0.1') or die "could not listen: $!";
	$self->{links}{$name} = { name => $name, listener => $listener, target => $target };
	return $listener->sockport;
}

sub start
{
	my ($self) = @_;
	socketpair(my $ours, my $theirs, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die "could not make a pair of sockets: $!";
	my $pid = fork // die "could not fork: $!";
	if ($pid == 0)
	{
		close $ours;
		$SIG{PIPE} = 'IGNORE';
		eval { $self->_run($theirs) };
		print STDERR "network: $@" if $@;
		POSIX::_exit(1);
	}
	push @children, $pid;
	close $theirs;
	close $_->{listener} foreach values %{ $self->{links} };
	$self->{control} = $ours;
	return;
}

sub cut { my ($self, @names) = @_; return $self->_order('cut', @names) }
sub heal { my ($self, @names) = @_; return $self->_order('heal', @names) }
sub reset { my ($self, @names) = @_; return $self->_order('reset', @names) }

sub _order
{
	my ($self, $what, @names) = @_;
	exists $self->{links}{$_} or die "there is no link $_" foreach @names;
	syswrite($self->{control}, join(' ', $what, @names) . "\n");
	sysread($self->{control}, my $done, 1) or die 'the network has ended';
	return;
}

# ---- the process ----

# What one side has sent and the other has no room for is kept here, and no more is read from the first: a side that
# does not read must not stop other links.
sub _run
{
	my ($self, $control) = @_;
	my $links = $self->{links};
	while (1)
	{
		my @ends = map { @{ $_->{ends} } } grep { !$links->{ $_->{link} }{cut} } @{ $self->{pairs} };
		my %end = map { $_->{socket} => $_ } @ends;
		my %listening = map { $_->{listener} => $_ } grep { !$_->{cut} } values %$links;
		my $reads = IO::Select->new($control, (map { $_->{listener} } values %listening), map { $_->{socket} } grep { $_->{other}{pending} eq '' } @ends);
		my $writes = IO::Select->new(map { $_->{socket} } grep { $_->{pending} ne '' } @ends);
		my ($readable, $writable) = IO::Select->select($reads, $writes);
		foreach my $end (map { $end{$_} } @$writable)
		{
			$self->_close($end->{pair}) if $end->{pair} && !_send($end);
		}
		foreach my $socket (@$readable)
		{
			if ($socket == $control)
			{
				$self->_obey($control);
				# What there is to read may be another matter now.
				last;
			}
			if (my $link = $listening{$socket})
			{
				$self->_accept($link);
				next;
			}
			my $end = $end{$socket};
			# Not one that was closed in this turn.
			next unless $end->{pair};
			my $n = sysread($socket, $end->{other}{pending}, 65536);
			next if !defined $n && $!{EAGAIN};
			$self->_close($end->{pair}) unless $n && _send($end->{other});
		}
	}
}

sub _obey
{
	my ($self, $control) = @_;
	my $order = <$control> // POSIX::_exit(0);
	my ($what, @names) = split ' ', $order;
	$self->{links}{$_}{cut} = $what eq 'cut' foreach @names;
	my %reset = map { $_ => 1 } $what eq 'reset' ? @names : ();
	my @lost = grep { $reset{ $_->{link} } } @{ $self->{pairs} };
	$self->_close($_) foreach @lost;
	syswrite($control, '.');
	return;
}

sub _accept
{
	my ($self, $link) = @_;
	my $client = $link->{listener}->accept or return;
	my $server = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $link->{target}) or return;
	my $pair = { link => $link->{name} };
	my @ends = map { $_->blocking(0); +{ socket => $_, pair => $pair, pending => '' } } $client, $server;
	$ends[$_]{other} = $ends[ 1 - $_ ] foreach 0, 1;
	$pair->{ends} = \@ends;
	push @{ $self->{pairs} }, $pair;
	return;
}

# Send what is pending, as far as there is room; false if the connection has ended.
sub _send
{
	my ($end) = @_;
	my $n = syswrite($end->{socket}, $end->{pending});
	return $!{EAGAIN} unless defined $n;
	substr($end->{pending}, 0, $n, '');
	return 1;
}

sub _close
{
	my ($self, $pair) = @_;
	foreach my $end (@{ $pair->{ends} })
	{
		close $end->{socket};
		# They refer to each other.
		delete @$end{qw(other pair)};
	}
	$self->{pairs} = [ grep { $_ != $pair } @{ $self->{pairs} } ];
	return;
}

END
{
	my $status = $?;
	kill 'KILL', @children if @children;
	$? = $status;
}

1;
