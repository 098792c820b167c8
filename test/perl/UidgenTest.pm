# UidgenTest.pm: what the TAP tests of uidgen share, on top of PostgreSQL::Test.
package UidgenTest;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

our @EXPORT = qw(uidgen_node sqlstate_of poll_until log_since);

# A server that has uidgen preloaded, not yet started.  @conf: more lines for
# postgresql.conf.  The extension is created by the test, where it wants it.
sub uidgen_node
{
	my ($name, @conf) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf',
		join("\n", "shared_preload_libraries = 'uidgen'", @conf) . "\n");
	return $node;
}

# Run SQL that should fail; returns (SQLSTATE, everything that psql said).
# SQLSTATE is '' if it did not fail.
sub sqlstate_of
{
	my ($node, $sql, $database) = @_;
	my ($out, $err);
	my $status = $node->psql($database // 'postgres', $sql,
		stdout => \$out, stderr => \$err, on_error_stop => 1,
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	return ('', $out) if $status == 0;
	return ($err =~ /ERROR:\s+([0-9A-Z]{5}):/ ? $1 : 'unknown', $err);
}

# Call $code until it returns true; false after a generous limit.
sub poll_until
{
	my ($code, $seconds) = @_;
	my $end = time() + ($seconds // $PostgreSQL::Test::Utils::timeout_default);
	while (time() < $end)
	{
		my $result = $code->();
		return $result if $result;
		usleep(20_000);
	}
	return 0;
}

# The server log from an offset on; take the offset with -s $node->logfile.
sub log_since
{
	my ($node, $offset) = @_;
	return substr(slurp_file($node->logfile), $offset);
}

1;
