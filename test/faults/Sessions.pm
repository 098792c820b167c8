# Sessions.pm: client sessions that draw ids into files, and what they were told.
#
#	my $sessions = Sessions->new($node, $folder);
#	$sessions->start('postgres', 'SET x = y', [ 'kind', 'SELECT uid_next() ...' ], ...);
#	$sessions->ids('kind');		# so far
#	$sessions->end;
#	$sessions->files('kind');
#
# Each session is a psql that runs statements one after the other; an array
# reference is a query whose bigints it receives in binary form, in a file of
# their own.  So the files have every id that a client saw, up to the byte at
# which a crash cut them off, and none that was lost on the way.
package Sessions;

use strict;
use warnings;
use Carp;
use List::Util qw(max);
use POSIX ();
use PostgreSQL::Test::Utils;
use Time::HiRes qw(usleep);
use UidgenTest;

# Of COPY in binary form, with one bigint a row.
use constant { HEADER => 19, ROW => 14 };

sub new
{
	my ($class, $node, $folder) = @_;
	return bless {
		node => $node,
		folder => $folder,
		serial => 0,
		running => {},		# by process id
		files => {},		# by kind: those of sessions that have ended
		ids => {},			# by kind: how many these files have
		errors => {},		# by SQLSTATE, then message: how often
	}, $class;
}

sub ids_in_file
{
	my ($file) = @_;
	my $size = -s $file;
	return $size && $size > HEADER ? int(($size - HEADER) / ROW) : 0;
}

# Run statements in a session of its own; returns its process id.
sub start
{
	my ($self, $database, @statements) = @_;
	my $session = $self->prepare($database, @statements);
	$self->go($session);
	return $session;
}

# The same, but the session waits until go() is called.
sub prepare
{
	my ($self, $database, @statements) = @_;
	my $session = { name => sprintf('%s/%06d', $self->{folder}, ++$self->{serial}), files => [], script => '' };

	foreach my $statement (@statements)
	{
		if (ref $statement)
		{
			my ($kind, $query) = @$statement;
			my $file = sprintf('%s.%02d', $session->{name}, scalar @{ $session->{files} });
			push @{ $session->{files} }, [ $kind, $file ];
			$session->{script} .= "\\o '$file'\nCOPY ($query) TO STDOUT (FORMAT binary);\n";
		}
		else
		{
			$session->{script} .= "$statement;\n";
		}
	}

	my @command = ($self->{node}->installed_command('psql'), '-XAtq',
		'-v', 'VERBOSITY=verbose', '-d', $self->{node}->connstr($database));
	pipe(my $input, $session->{pipe}) or croak "could not make a pipe: $!";
	defined(my $pid = fork) or croak "could not fork: $!";
	if ($pid == 0)
	{
		open(STDIN, '<&', $input);
		open(STDOUT, '>', "$session->{name}.out");
		open(STDERR, '>', "$session->{name}.err");
		exec(@command) or POSIX::_exit(127);
	}
	close $input;
	$self->_say($session, "\\echo ready\n");
	$self->{running}{$pid} = $session;
	return $pid;
}

# Is it connected and waiting?  Also if it has come to an end, by an error.
sub is_ready
{
	my ($self, $pid) = @_;
	$self->running;
	my $session = $self->{running}{$pid} or return 1;
	return -s "$session->{name}.out";
}

sub go
{
	my ($self, @pids) = @_;
	foreach my $session (grep { $_ } map { $self->{running}{$_} } @pids)
	{
		$self->_say($session, $session->{script});
		close delete $session->{pipe};
	}
	return;
}

# Begin a session that runs SQL and then holds what it has (locks, for instance)
# until release() or a crash.  Returns when it holds it.
sub hold
{
	my ($self, $database, $sql) = @_;
	my $pid = $self->prepare($database);
	my $session = $self->{running}{$pid};
	$session->{holds} = 1;
	$self->_say($session, "$sql;\n\\echo held\n");
	usleep(3000) until $self->is_ready($pid) && (!$self->{running}{$pid} || slurp_file("$session->{name}.out") =~ /held/);
	return $pid;
}

sub release
{
	my ($self, $pid) = @_;
	my $session = $self->{running}{$pid} or return;
	close delete $session->{pipe};
	return;
}

# To a session that may have ended.
sub _say
{
	my ($self, $session, $text) = @_;
	local $SIG{PIPE} = 'IGNORE';
	syswrite($session->{pipe}, $text);
	return;
}

# Take note of the sessions that have ended; how many that run statements are left?
sub running
{
	my ($self) = @_;
	foreach my $pid (keys %{ $self->{running} })
	{
		$self->_ended($pid) if waitpid($pid, POSIX::WNOHANG()) == $pid;
	}
	return scalar grep { !$_->{holds} } values %{ $self->{running} };
}

# Wait for the end of one session, or of all.
sub end
{
	my ($self, @pids) = @_;
	foreach my $pid (@pids ? @pids : keys %{ $self->{running} })
	{
		next unless $self->{running}{$pid};
		waitpid($pid, 0);
		$self->_ended($pid);
	}
	return;
}

# The ids of a kind that clients have received.
sub ids
{
	my ($self, $kind) = @_;
	my $ids = $self->{ids}{$kind} // 0;
	foreach my $session (values %{ $self->{running} })
	{
		$ids += ids_in_file($_->[1]) foreach grep { $_->[0] eq $kind } @{ $session->{files} };
	}
	return $ids;
}

# The files of some kinds, of sessions that have ended.
sub files
{
	my ($self, @kinds) = @_;
	return map { @{ $self->{files}{$_} // [] } } @kinds;
}

# Forget the files; they are removed.
sub clear
{
	my ($self) = @_;
	unlink map { @$_ } values %{ $self->{files} };
	$self->{files} = {};
	$self->{ids} = {};
	return;
}

sub _ended
{
	my ($self, $pid) = @_;
	my $session = delete $self->{running}{$pid};

	foreach (@{ $session->{files} })
	{
		my ($kind, $file) = @$_;
		next unless -e $file;
		push @{ $self->{files}{$kind} }, $file;
		$self->{ids}{$kind} += ids_in_file($file);
	}
	$self->_note_errors(slurp_file("$session->{name}.err"));
	unlink map { "$session->{name}.$_" } qw(out err);
	return;
}

# libpq tells no SQLSTATE of what it finds out by itself, nor of a refused
# connection.
my @untold = (
	# of a message that was told
	[ qr/^(?:DETAIL|HINT|LOCATION|CONTEXT|STATEMENT|QUERY|LINE \d+):/, '' ],
	[ qr/FATAL:  the database system is /, '57P03' ],
	[ qr/(?:FATAL|WARNING):  terminating connection because of crash/, '57P02' ],
	[ qr/(?:FATAL|WARNING):  terminating connection due to /, '57P01' ],
	[ qr/server closed the connection unexpectedly/, '08006' ],
	[ qr/could not (?:send|receive) data|Resource temporarily unavailable/, '08006' ],
	[ qr/connection to server .* failed: (?:No such file|Connection (?:refused|reset))/, '08001' ],
	# follows one of the above, or a FATAL
	[ qr/connection to server was lost|no connection to the server|^\s/, '' ]);

sub _note_errors
{
	my ($self, $said) = @_;

  LINE: foreach my $line (split /\n/, $said)
	{
		if ($line =~ /(?:WARNING|ERROR|FATAL|PANIC):\s+([0-9A-Z]{5}): (.*)/)
		{
			$self->_note($1, $2);
			next;
		}
		foreach (@untold)
		{
			my ($pattern, $sqlstate) = @$_;
			next unless $line =~ $pattern;
			$self->_note($sqlstate, $line =~ s/.*(?:failed|error): |.*(?:FATAL|WARNING):  //gr) if $sqlstate;
			next LINE;
		}
		$self->_note('unknown', $line);
	}
	return;
}

# Messages that differ in numbers alone count as one.
sub _note
{
	my ($self, $sqlstate, $message) = @_;
	$self->{errors}{$sqlstate}{ $message =~ s/\d+/N/gr }++;
	return;
}

# Lines of a report: how often each fault was made, and how long it took from each to the first id.
sub report
{
	my ($faults, $times) = @_;
	my @lines = map { sprintf('fault %-28s %6d', $_, $faults->{$_}) } sort keys %$faults;
	push @lines, 'seconds to the first id                 n    p50    p99    max';
	push @lines, map {
		my @times = @{ $times->{$_} };
		sprintf('after %-28s %6d %6.2f %6.2f %6.2f', $_, scalar @times, percentile(50, @times), percentile(99, @times), max(@times))
	} sort keys %$times;
	return @lines;
}

1;
