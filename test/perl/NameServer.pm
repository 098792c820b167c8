# NameServer.pm: a name server that answers when a test says so, for a whole server.
#
#	my $names = NameServer->new;
#	$names->under(sub { $node->start });	# likewise restart
#	$names->answer('reg1.test', '127.0.0.1');
#	$names->silence('reg1.test');
#
# It knows the names that end in ".test"; the look-up of one lasts until the test has answered it.  See
# test/tools/nameshim.c for how the server is made to ask it.
package NameServer;

use strict;
use warnings;
use Carp;
use PostgreSQL::Test::Utils;
use UidgenTest;

my $library;

sub new
{
	my ($class) = @_;
	$library //= build_preload('nameshim');
	return bless { folder => PostgreSQL::Test::Utils::tempdir() }, $class;
}

# The environment of a server that asks it.
sub environment
{
	my ($self) = @_;
	return (LD_PRELOAD => $library, NAMESHIM_FOLDER => $self->{folder});
}

# Run $code, which starts such a server.
sub under
{
	my ($self, $code) = @_;
	my %environment = $self->environment;
	$environment{LD_PRELOAD} = join ' ', $environment{LD_PRELOAD}, $ENV{LD_PRELOAD} // ();
	local %ENV = (%ENV, %environment);
	return $code->();
}

# From now on, the look-up of a name ends with these addresses; with none, it does not exist.
sub answer
{
	my ($self, $name, @addresses) = @_;
	my $folder = $self->{folder};
	append_to_file("$folder/new", join('', map { "$_\n" } @addresses));
	rename "$folder/new", "$folder/$name" or croak "could not name $folder/$name: $!";
	return;
}

# From now on it answers no look-up of this name.
sub silence
{
	my ($self, $name) = @_;
	unlink "$self->{folder}/$name";
	return;
}

sub _lines
{
	my ($self, $file) = @_;
	my $path = "$self->{folder}/$file";
	return -e $path ? split /\n/, slurp_file($path) : ();
}

# How often a name was looked up, since the last forget().
sub asked
{
	my ($self, $name) = @_;
	return scalar grep { $_ eq $name } $self->_lines('asked');
}

sub forget
{
	my ($self) = @_;
	unlink "$self->{folder}/asked";
	return;
}

# Look-ups that were made as none should be; lines of text.
sub wrong
{
	my ($self) = @_;
	return $self->_lines('wrong');
}

1;
