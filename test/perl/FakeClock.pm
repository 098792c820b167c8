# FakeClock.pm: a clock that tests can set, for a whole server.
#
#	my $clock = FakeClock->new($node);
#	$clock->under(sub { $node->start });	# likewise restart
#	$clock->step(-7200);
#	$clock->suspend(8 * 3600);
#	$clock->pass(60);
#
# step(), set(), stop() and correct() are about the wall clock alone, and return when
# every process of the server sees what they did.
# See test/tools/clockshim.c for how the server is made to believe it.  The clocks of
# this program and of psql stay true.
package FakeClock;

use strict;
use warnings;
use Carp;
use Time::HiRes ();
use UidgenTest;

sub new
{
	my ($class, $node) = @_;
	my $self = bless {
		node => $node,
		library => build_preload('clockshim'),
		file => $node->basedir . '/clock',
		offset => 0,
		standstill => 0,
		suspended => 0,
		passed => 0,
	}, $class;
	$self->_write;
	return $self;
}

# Run $code, which starts the server, so that the server has this clock.
sub under
{
	my ($self, $code) = @_;
	local $ENV{LD_PRELOAD} = join ' ', $self->{library}, $ENV{LD_PRELOAD} // ();
	local $ENV{CLOCKSHIM_FILE} = $self->{file};
	return $code->();
}

# What the clock shows, in seconds since 1970.
sub now
{
	my ($self) = @_;
	return ($self->{passed} + ($self->{standstill} || _true_now() + $self->{offset})) / 1e9;
}

# Set it forward by so many seconds (back, if negative).
sub step
{
	my ($self, $seconds) = @_;
	$self->{$self->{standstill} ? 'standstill' : 'offset'} += int($seconds * 1e9);
	return $self->_change;
}

# The machine is suspended for so many seconds: the boot clock goes on as well,
# and no process of the server sees one of the two changed without the other.
sub suspend
{
	my ($self, $seconds) = @_;
	my @stopped = stop_processes($self->{node});
	$self->{suspended} += int($seconds * 1e9);
	$self->step($seconds);
	kill 'CONT', @stopped;
	return;
}

# So many seconds pass, by all clocks of the server.  Whoever sleeps goes on sleeping for as
# long as it had planned, unless something wakes it.
sub pass
{
	my ($self, $seconds) = @_;
	$self->{passed} += int($seconds * 1e9);
	return $self->_change;
}

# Set it to a time, from which it runs on.
sub set
{
	my ($self, $time) = @_;
	$self->{offset} = int($time * 1e9) - $self->{passed} - _true_now();
	$self->{standstill} = 0;
	return $self->_change;
}

# Stop it at a time.
sub stop
{
	my ($self, $time) = @_;
	$self->{standstill} = int($time * 1e9) - $self->{passed};
	return $self->_change;
}

# Set it right again.
sub correct
{
	my ($self) = @_;
	$self->{standstill} = 0;
	$self->{offset} = -$self->{passed};
	return $self->_change;
}

sub _true_now
{
	return int(Time::HiRes::clock_gettime(Time::HiRes::CLOCK_REALTIME()) * 1e9);
}

# Write it, and wait until it counts.  A process that has read the clock goes by the
# processor's counter for up to a millisecond
# until that moves (every 4 ms where the kernel's timer has 250 Hz).  So long may an id still have
# the time of before: it is what uidgen promises, however busy the machine is.
sub _change
{
	my ($self) = @_;
	$self->_write;
	Time::HiRes::usleep(3000);
	my $coarse = _coarse_now();
	Time::HiRes::usleep(500) while _coarse_now() == $coarse;
	return;
}

# The clock of the kernel's last timer interrupt, which no file changes for this program.
sub _coarse_now
{
	return Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC_COARSE());
}

# In place and in one piece: the server has the file mapped.
sub _write
{
	my ($self) = @_;
	my @state = @$self{qw(offset standstill suspended passed)};
	my $state = pack('q4 Q', @state, ~($state[0] ^ $state[1] ^ $state[2] ^ $state[3]));
	open(my $file, -e $self->{file} ? '+<' : '+>', $self->{file})
	  or croak "could not open $self->{file}: $!";
	binmode $file;
	syswrite($file, $state) == length($state)
	  or croak "could not write $self->{file}: $!";
	close $file;
	return;
}

1;
