# Fleet.pm: what the tests of a fleet share: servers whose grants come from one registry, and the ids
# that their clients have seen.
#
#	my $registry = fleet_registry('registry');
#	my $node = fleet_node('one', hosts($registry));
#	draws($node);						# from now on, all the time
#	ok(goes_on($node), '...');			# it draws more
#	is(worker_id($node), ...);
#	nothing_twice('...');				# of all that all of them have seen
package Fleet;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RemoteRegistry;
use Test::More;
use UidgenTest;

our @EXPORT = qw(fleet_registry fleet_node hosts draws draws_ahead goes_on stops_drawing nothing_twice worker_id status_of last_error rows
  quarantine_ends);

# So short that a grant ends while a test waits, and calls wait for as long as that takes.
our @SETTINGS = ("uidgen.window = '500ms'", "uidgen.registry_timeout = '1s'", "uidgen.wait_timeout = '10min'");

my %drawings;
my %seen;
my %template;
my %has_clock;

# A server with the extension, started, and perhaps with a clock: a function that gives it one (FakeClock.pm).  Making a
# cluster takes longer than copying one; nothing was granted in the one that all of an encoding are copies of.
sub new_server
{
	my ($name, $give_clock, $encoding, @conf) = @_;
	my $server = PostgreSQL::Test::Cluster->new($name);
	my $template = $template{$encoding};
	if (!$template)
	{
		$template = $template{$encoding} = PostgreSQL::Test::Cluster->new("template$encoding");
		$template->init(allows_streaming => 1, extra => [ $encoding eq '' ? () : in_encoding($encoding) ]);
		$template->start;
		$template->safe_psql('postgres', q{SET client_min_messages = error; CREATE EXTENSION uidgen;
			CREATE FUNCTION pause() RETURNS void LANGUAGE plpgsql AS 'BEGIN PERFORM count(*) FROM generate_series(1, 5000); END'});
		$template->backup('server');
		$template->stop('immediate');
	}
	$server->init_from_backup($template, 'server');
	$server->append_conf('postgresql.conf', join('', map { "$_\n" } @conf));
	my $start = sub { $server->start };
	if ($give_clock)
	{
		$has_clock{$name} = 1;
		$give_clock->($server)->under($start);
	}
	else
	{
		$start->();
	}
	return $server;
}

# A server whose database postgres has the registry of a fleet.  It does not preload uidgen.  Options: layout, max_lead,
# clock_slack, clock, encoding.
sub fleet_registry
{
	my ($name, %options) = @_;
	my $registry = new_server($name, $options{clock}, $options{encoding} // '');
	$registry->safe_psql('postgres', sprintf(
			"CREATE EXTENSION uidgen_registry; SELECT FROM uidgen_registry.share_registry('%s', max_lead => '%s', clock_slack => '%s', new_fleet => true)",
			$options{layout} // 'time:41:1ms worker:10 sequence:12 epoch:2025-01-01', $options{max_lead} // '2 minutes', $options{clock_slack} // '10 seconds'));
	return $registry;
}

# What uidgen.registry says to reach it on these hosts: servers, or ports of 127.0.0.1.
sub hosts
{
	return conninfo(@_);
}

# A server whose grants come from there.  The first of @conf may be a clock.
sub fleet_node
{
	my ($name, $registry, @conf) = @_;
	my $clock = ref $conf[0] ? shift @conf : undef;
	return new_server($name, $clock, '', preload(), @SETTINGS, "uidgen.registry = '$registry'", @conf);
}

# Begin to draw ids, or to draw on after what ended the session.
sub draws
{
	my (@nodes) = @_;
	foreach my $node (@nodes)
	{
		stops_drawing($node);
		# pg_sleep() does not end where the clock is set back.
		$drawings{ $node->name } = start_drawing($node, 'postgres', $has_clock{ $node->name } && 'pause()');
	}
	return;
}

# Do all of them draw at least some ids more?
sub goes_on
{
	my (@nodes) = @_;
	foreach my $node (@nodes)
	{
		my $drawing = $drawings{ $node->name };
		next if await_drawing($drawing, 200);
		diag($node->name, ' draws no more: ', slurp_file("$drawing->{file}.err"), last_error($node));
		return 0;
	}
	return 1;
}

# Returns the ids that this drawing has brought.
sub stops_drawing
{
	my ($node) = @_;
	my $drawing = delete $drawings{ $node->name } or return [];
	my $ids = stop_drawing($drawing);
	push @{ $seen{ $node->name } }, $ids;
	return $ids;
}

# Draw so many at once that ids are ahead of the clock; returns the last one.
sub draws_ahead
{
	my ($node, $count) = @_;
	my @ids = split /\n/, $node->safe_psql('postgres', "SELECT uid_next() FROM generate_series(1, $count)");
	push @{ $seen{ $node->name } }, \@ids;
	return $ids[-1];
}

# One test, after which nobody draws: of all ids none was seen twice, and there are some.  With the option apart, of those of
# each server; for servers that went by different registries.
sub nothing_twice
{
	my ($name, %options) = @_;
	push @{ $seen{$_} }, stop_drawing(delete $drawings{$_}) foreach keys %drawings;
	my $count = 0;
	$count += @$_ foreach map { @$_ } values %seen;
	note("$count ids");
	my $repeated = 0;
	$repeated += repeated(@$_) foreach $options{apart} ? values %seen : [ map { @$_ } values %seen ];
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is($count > 1000 ? $repeated : 'too few ids', 0, $name);
}

# The layout of a registry and its numbers, as the calls of nodes have them among their arguments.
sub status_of
{
	my ($node, $column) = @_;
	return $node->safe_psql('postgres', "SELECT $column FROM uidgen.status");
}

sub worker_id
{
	my ($node) = @_;
	return status_of($node, 'worker_id');
}

sub last_error
{
	my ($node) = @_;
	return status_of($node, 'last_error');
}

# Rows of the registry: these columns.
sub rows
{
	my ($registry, $columns, $rest) = @_;
	return $registry->safe_psql('postgres', "SELECT $columns FROM uidgen_registry.worker_node " . ($rest // 'ORDER BY worker_id'));
}

# As the owner does where nothing can be lost.
sub quarantine_ends
{
	my ($registry) = @_;
	return $registry->safe_psql('postgres', 'SELECT uidgen_registry.end_quarantine()');
}

1;
