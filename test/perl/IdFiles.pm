# IdFiles.pm: ids by the million, in files that test/tools/dupcheck.c checks.
package IdFiles;

use strict;
use warnings;
use Carp;
use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use UidgenTest;

our @EXPORT = qw(begin_file end_file draw_files unique_in_order count_in_files look_into_files);

my $files = 0;
my $dupcheck;

# Begin to write the ids that a query gives to a file, in a session of its own.
# An array reference as the query is [database, query].
sub begin_file
{
	my ($node, $query) = @_;
	my ($database, $select) = ref $query ? @$query : ('postgres', $query);
	my $file = sprintf('%s/ids.%03d', $node->basedir, ++$files);
	my $said = '';
	my $run = IPC::Run::start(
		[
			$node->installed_command('psql'),
			'-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database),
			'-c', "COPY ($select) TO '$file' (FORMAT binary)"
		],
		'<', \undef, '>&', \$said,
		# If it goes on for ever, end_file() should not.
		IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default));
	return { run => $run, file => $file, said => \$said };
}

# Wait for its end; returns the name of the file.  Dies if the query failed,
# unless that is allowed for: then what there is of a file may be cut off, and
# undef says that there is none.
sub end_file
{
	my ($draw, %options) = @_;
	my $success = eval { $draw->{run}->finish };
	croak "drawing ids failed: ${$draw->{said}}" unless $success || $options{may_fail};
	return -e $draw->{file} ? $draw->{file} : undef;
}

# Draw by several queries at once; returns the names of the files.
sub draw_files
{
	my ($node, @queries) = @_;
	return map { end_file($_) } map { begin_file($node, $_) } @queries;
}

# What dupcheck says of files: (number of ids, duplicates, disorders, details of the first ones, smallest and largest id).
sub look_into_files
{
	my (@names) = @_;
	$dupcheck //= build_program('tools/dupcheck', 'dupcheck');
	my ($out, $err) = run_command([ $dupcheck, @names ]);
	my @counts = $out =~ /^ids (\d+) duplicates (\d+) disorders (\d+)$/m
	  or croak "dupcheck: $out$err";
	return (@counts, $err, $out =~ /^from (-?\d+) to (-?\d+)$/m);
}

# The same, where the details are noted: (number of ids, duplicates, disorders).
sub count_in_files
{
	my ($ids, $duplicates, $disorders, $details) = look_into_files(@_);
	note $details if $details;
	return ($ids, $duplicates, $disorders);
}

# One test: the files hold so many ids (or at least one, if that is undef), none
# twice, and each file's ids increase.
sub unique_in_order
{
	my ($count, $name, @names) = @_;
	my ($ids, $duplicates, $disorders) = count_in_files(@names);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(
		(defined $count ? $ids == $count : $ids > 0) && $duplicates == 0 && $disorders == 0,
		$name)
	  || diag("$ids ids, $duplicates duplicates, $disorders disorders");
}

1;
