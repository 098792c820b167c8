# RemoteRegistry.pm: what the tests of a registry on another server share: a session that
# drives the client, and hosts that do what no PostgreSQL does.
package RemoteRegistry;

use strict;
use warnings;
use Exporter 'import';
use FindBin;
use IO::Socket::INET;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use UidgenTest;

our @EXPORT = qw(shared_registry share_registry client_node conninfo calls calls_until calls_fail black_hole refused_port fake_server row error_message);

my @children;

# A server, started, whose database postgres has the registry of a fleet.  It does not preload uidgen.  @conf: as
# in uidgen_node().
sub shared_registry
{
	my ($name, @conf) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 1);
	$node->append_conf('postgresql.conf', join('', map { "$_\n" } @conf));
	$node->start;
	share_registry($node, 'postgres', "'time:41:1ms worker:10 sequence:12 epoch:2025-01-01'");
	return $node;
}

# Make a database the registry of a new fleet; with the arguments of share_registry() as SQL.
sub share_registry
{
	my ($node, $database, $arguments) = @_;
	$node->safe_psql($database, "SET client_min_messages = warning; CREATE EXTENSION uidgen_registry;
		SELECT FROM uidgen_registry.share_registry($arguments, new_fleet => true)");
	return;
}

# A server whose sessions can be clients, started in this environment.
sub client_node
{
	my (%environment) = @_;
	my $module = build_module('tools/remote_client', "-I$FindBin::RealBin/../../src");
	my $node = PostgreSQL::Test::Cluster->new('client');
	$node->init(extra => ['--encoding=UTF8']);
	{
		local %ENV = (%ENV, %environment);
		$node->start;
	}
	$node->safe_psql('postgres', "CREATE FUNCTION $_ AS '$module' LANGUAGE C STRICT")
	  foreach 'client_version() RETURNS text', 'client_configure(text, int) RETURNS void', 'client_expect(bigint) RETURNS void', 'client_connect() RETURNS text',
	  'client_host() RETURNS text', 'client_call(text, VARIADIC text[]) RETURNS text', 'client_disconnect() RETURNS void',
	  'client_finish() RETURNS bool';
	$node->safe_psql('postgres', "CREATE FUNCTION client_call(text) RETURNS text RETURN client_call(\$1, VARIADIC '{}')");
	return $node;
}

# A connection string for several hosts: servers, or ports of 127.0.0.1.
sub conninfo
{
	my (@hosts) = @_;
	return 'host=' . join(',', map { ref $_ ? $_->host : '127.0.0.1' } @hosts)
	  . ' port=' . join(',', map { ref $_ ? $_->port : $_ } @hosts)
	  . ' dbname=postgres';
}

# SQL for a session that goes to these hosts.
sub configured
{
	my ($conninfo, $timeout) = @_;
	$conninfo = conninfo(@$conninfo) if ref $conninfo;
	$timeout //= 1000 * $PostgreSQL::Test::Utils::timeout_default;
	return "SELECT FROM client_configure('" . ($conninfo =~ s/'/''/gr) . "', $timeout);\n";
}

# What SQL says in a new session that goes to these hosts (see configured()).
sub calls
{
	my ($node, $hosts, $sql, $timeout) = @_;
	my ($status, $out, $err) = try_psql($node, configured($hosts, $timeout) . $sql,
		on_error_stop => 1, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	return $out =~ s/^\n+//r if $status == 0;
	return $err;
}

# The same with a time-out that may be over before a busy machine has done what takes no time: again, until what it says matches.
sub calls_until
{
	my ($pattern, @call) = @_;
	my $said;
	poll_until(sub { ($said = calls(@call)) =~ $pattern });
	return $said;
}

# One test: SQL fails in such a session with this SQLSTATE, and what psql says of it matches.
sub calls_fail
{
	my ($node, $hosts, $sql, $sqlstate, $pattern, $name, $timeout) = @_;
	my $expected = qr/ERROR:  $sqlstate: .*$pattern/s;
	my @call = ($node, $hosts, $sql, $timeout);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return like(defined $timeout ? calls_until($expected, @call) : calls(@call), $expected, $name);
}

# A port where connections are accepted and nobody says anything.
my @holes;

sub black_hole
{
	my $hole = IO::Socket::INET->new(Listen => 100, LocalAddr => '127.0.0.1') or die "could not listen: $!";
	push @holes, $hole;
	return $hole->sockport;
}

# A port where nobody listens; it is kept from others.
sub refused_port
{
	my $socket = IO::Socket::INET->new(Proto => 'tcp', LocalAddr => '127.0.0.1') or die "could not bind: $!";
	push @holes, $socket;
	return $socket->sockport;
}

# ---- a host that speaks the protocol ----

# A message of the protocol.
sub message
{
	my ($type, $text) = @_;
	return $type . pack('N', length($text) + 4) . $text;
}

# Rows of one column "value", and the end of the statement.
sub row
{
	my (@values) = @_;
	return message('T', pack('n Z* N n N n N n', 1, 'value', 0, 0, 25, 65535, 0xFFFFFFFF, 0))
	  . join('', map { message('D', pack('n N/a*', 1, $_)) } @values)
	  . message('C', "SELECT 1\0");
}

# An error or a notice: type, severity, SQLSTATE, text.
sub error_message
{
	my ($type, $severity, $sqlstate, $text) = @_;
	return message($type, join('', map { "$_\0" } "S$severity", "V$severity", "C$sqlstate", "M$text") . "\0");
}

# A PostgreSQL of which only the protocol is there: calls of uidgen.NAME are answered by $answers->{NAME}, and
# then the session is idle again, unless the answer is followed by other text: [answer, rest].  Without rest
# the connection is closed.  $answers->{connect}: instead of a session; {ended}: run after each.  Returns its port.
sub fake_server
{
	my ($answers) = @_;
	my $listener = IO::Socket::INET->new(Listen => 100, LocalAddr => '127.0.0.1') or die "could not listen: $!";
	my $pid = fork // die "could not fork: $!";

	if ($pid == 0)
	{
		$SIG{PIPE} = 'IGNORE';
		while (my $socket = $listener->accept)
		{
			eval { serve($socket, $answers) };
			close $socket;
			$answers->{ended}->() if $answers->{ended};
		}
		POSIX::_exit(0);
	}
	push @children, $pid;
	return $listener->sockport;
}

sub receive
{
	my ($socket, $length) = @_;
	my $text = '';
	while (length($text) < $length)
	{
		sysread($socket, $text, $length - length($text), length($text)) or die "the client has gone\n";
	}
	return $text;
}

sub serve
{
	my ($socket, $answers) = @_;
	my $idle = message('Z', 'I');
	my $name;

	while (1)
	{
		my $startup = receive($socket, unpack('N', receive($socket, 4)) - 4);
		last if unpack('N', $startup) == 0x30000;
		# Neither TLS nor GSS.
		syswrite($socket, 'N');
	}
	if (defined $answers->{connect})
	{
		syswrite($socket, $answers->{connect});
		return;
	}
	syswrite($socket, message('R', pack('N', 0)) . $idle);
	while (1)
	{
		my $type = receive($socket, 1);
		my $text = receive($socket, unpack('N', receive($socket, 4)) - 4);
		return if $type eq 'X';
		$name = $1 if $type eq 'P' && $text =~ /uidgen_registry\.(\w+)/;
		next if $type ne 'S';
		# Which registry it has, it tells only if it is told to.
		my $answer = $answers->{$name} // error_message('E', 'ERROR', '42883', "function uidgen_registry.$name() does not exist");
		my ($first, $rest) = ref $answer ? @$answer : ($answer, $idle);
		$first = message('1', '') . message('2', '') . $first;
		while (length $first)
		{
			my $n = syswrite($socket, $first) or return;
			substr($first, 0, $n, '');
		}
		return unless defined $rest;
		syswrite($socket, $rest);
	}
}

END
{
	my $status = $?;
	kill 'KILL', @children if @children;
	$? = $status;
}

1;
