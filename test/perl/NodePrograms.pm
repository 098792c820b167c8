# Programs for Node whose tests are told as ours: each is run by Node's own test runner.
package NodePrograms;

use strict;
use warnings;
use Exporter qw(import);
use IPC::Run;
use Test::More;

our @EXPORT = qw(run_node);

# Run a program with a database of this server as its own; what else it needs is in its environment.
sub run_node
{
	my ($node, $program, @arguments) = @_;
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	local $ENV{PGDATABASE} = 'postgres';
	local $ENV{PGUSER} = $node->safe_psql('postgres', 'SELECT current_user');
	my $said;
	my $well = IPC::Run::run([ 'node', '--test-reporter=tap', $program, @arguments ], '<', \undef, '>&', \$said);

	my @tests = $said =~ /^((?:not )?ok \d+ - .*)$/mg;
	foreach (@tests)
	{
		my ($not, $name, $skip) = /^(not )?ok \d+ - (.*?)(?: # SKIP ?(.*))?$/;
		defined $skip ? Test::More->builder->skip("$name: $skip") : ok(!$not, $name);
	}
	ok($well && @tests, "$program comes to its end") or diag($said);
	return;
}

1;
