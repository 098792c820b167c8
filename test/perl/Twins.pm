# Twins.pm: a program that tries the extension and the edition in SQL alike.  What they do not share is here: the server, who puts
# it in and owns it, and what stands in the way of what is called.
#
#	foreach my $kind (kinds())
#	{
#		my $node = twin_node($kind, "timezone = 'UTC'");
#		$node->start;
#		put_twin_in($kind, $node, 'postgres');
#		...
#		is(..., 'tests are named by their kind');
#	}
package Twins;

use strict;
use warnings;
use Carp;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use SqlEdition;
use UidgenTest;

our @EXPORT = qw(kinds twin_node put_twin_in twin_has);

my $present;

# Says which of the two a test is of.
{
	no warnings 'redefine';
	my $ok = \&Test::Builder::ok;
	*Test::Builder::ok = sub {
		my ($builder, $test, $name) = @_;
		@_ = ($builder, $test, "$present: " . ($name // '')) if defined $present;
		goto &$ok;
	};
}

sub kinds
{
	return qw(extension edition);
}

# A server, not yet started: with the library, or without.  Settings of the library are left out there.  The first of @settings may be a hash with options of
# init().
sub twin_node
{
	my ($kind, @settings) = @_;
	$present = $kind;
	return uidgen_node($kind, @settings) if $kind eq 'extension';
	my $node = PostgreSQL::Test::Cluster->new($kind);
	$node->init(ref $settings[0] ? %{ shift @settings } : ());
	$node->append_conf('postgresql.conf', join '', map { "$_\n" } grep { !/^uidgen\./ } @settings);
	return $node;
}

# Puts it into a database, with the tools: the extension by a superuser; the edition by role `owner` (by itself "maker"), which gets no more rights than it needs, into
# schema `schema`, as worker `worker`, with `layout`.
sub put_twin_in
{
	my ($kind, $node, $database, %o) = @_;
	%o = (owner => 'maker', schema => 'public', worker => 5, layout => 'default', %o);
	if ($kind eq 'extension')
	{
		$node->safe_psql($database, "CREATE EXTENSION $_ SCHEMA $o{schema}") foreach qw(uidgen uidgen_tools);
		return;
	}
	$node->safe_psql($database, "SELECT 'CREATE ROLE $o{owner} LOGIN' WHERE to_regrole('$o{owner}') IS NULL \\gexec
		SELECT format('GRANT CREATE ON DATABASE %I TO $o{owner}', current_database()) \\gexec
		GRANT USAGE, CREATE ON SCHEMA $o{schema} TO $o{owner}");
	my $said = as($node, $o{owner}, $database, "SET search_path = $o{schema};\n" . join('', map { "\\i " . edition_script($node, $_) . "\n" } 'sql', 'sql-tools') . "SELECT uidgen.set_up(worker_id => $o{worker}, layout => '$o{layout}');");
	croak $said if $said !~ /^worker id \d+, layout .*$/;
	return;
}

# Of names of functions of the tools, those that it has.
sub twin_has
{
	my ($kind, @functions) = @_;
	return @functions;
}

1;
