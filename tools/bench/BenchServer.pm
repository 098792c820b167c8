# BenchServer.pm: a throw-away server for run.pl, below a folder, with uidgen.
# Core Perl only.
package BenchServer;

use strict;
use warnings;

my @running;

# $dir: where it lives; @conf: lines for postgresql.conf.
sub new
{
	my ($class, $dir, $name, @conf) = @_;
	my $self = bless { dir => $dir, data => "$dir/$name", port => 5432 + @running }, $class;

	$self->_quietly("$ENV{BINDIR}/initdb", '-D', $self->{data}, '-U', 'postgres', '-A', 'trust',
		'-E', 'UTF8', '--no-locale', '--no-sync');
	open(my $file, '>>', "$self->{data}/postgresql.conf") or die $!;
	print $file map { "$_\n" } "shared_preload_libraries = 'uidgen'", "listen_addresses = ''",
	  "unix_socket_directories = '$dir'", "port = $self->{port}", @conf;
	close $file;
	$self->_quietly("$ENV{BINDIR}/pg_ctl", '-D', $self->{data}, '-l', "$dir/$name.log", '-w', '-s', 'start');
	push @running, $self;
	return $self;
}

# How another server reaches it.
sub conninfo
{
	my ($self) = @_;
	return "host=$self->{dir} port=$self->{port} dbname=postgres user=postgres";
}

# Run a script of psql; returns what it printed, fields between blanks.
# %options: variables of psql; settings of the session as "set" => "name=value".
sub sql
{
	my ($self, $script, %options) = @_;
	my @variables = map { ('-v', "$_=$options{$_}") } grep { $_ ne 'set' } keys %options;

	$self->_environment($options{set});
	$self->_write_file('script.sql', $script);
	return $self->_run("$ENV{BINDIR}/psql", '-XAtq', '-F', ' ', '-v', 'ON_ERROR_STOP=1', @variables,
		'-f', "$self->{dir}/script.sql");
}

# Run a script of pgbench; returns transactions a second.  May fail: then undef.
sub pgbench
{
	my ($self, $script, %options) = @_;

	$self->_environment($options{set});
	$self->_write_file('script.pgbench', $script);
	my $said = eval {
		$self->_run("$ENV{BINDIR}/pgbench", '-n', '-f', "$self->{dir}/script.pgbench", @{ $options{options} });
	};
	die $@ unless defined $said || $options{may_fail};
	return ($said // '') =~ /^tps = ([\d.]+)/m ? $1 : undef;
}

# The files stay: whoever made the folder removes it.
sub stop
{
	my ($self) = @_;
	return unless -e "$self->{data}/postmaster.pid";
	system("$ENV{BINDIR}/pg_ctl", '-D', $self->{data}, '-m', 'immediate', '-s', 'stop');
	return;
}

END
{
	my $status = $?;
	$_->stop foreach @running;
	$? = $status;
}

# Connections are made by the environment.
sub _environment
{
	my ($self, $set) = @_;
	delete $ENV{PGOPTIONS};
	$ENV{PGOPTIONS} = "-c $set" if $set;
	@ENV{qw(PGHOST PGPORT PGUSER PGDATABASE)} = ($self->{dir}, $self->{port}, 'postgres', 'postgres');
	return;
}

sub _write_file
{
	my ($self, $name, $text) = @_;
	open(my $file, '>', "$self->{dir}/$name") or die "$self->{dir}/$name: $!";
	print $file $text;
	close $file;
	return;
}

# Run a command; returns its output.
sub _run
{
	my ($self, @command) = @_;
	open(my $old, '>&', \*STDERR) or die $!;
	open(STDERR, '>', "$self->{dir}/errors") or die $!;
	my $opened = open(my $pipe, '-|', @command);
	open(STDERR, '>&', $old) or die $!;
	die "$command[0]: $!" unless $opened;
	local $/;
	my $said = <$pipe>;
	return $said if close $pipe;
	open(my $errors, '<', "$self->{dir}/errors") or die $!;
	die "@command failed:\n$said" . <$errors>;
}

sub _quietly
{
	my ($self, @command) = @_;
	system("'" . join("' '", @command) . "' >'$self->{dir}/output' 2>&1") == 0
	  or die "@command failed: " . `cat '$self->{dir}/output'`;
	return;
}

1;
