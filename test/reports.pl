# test/reports.pl
#	  What the servers that the suites ran have reported in their logs: assertions
#	  that failed, and under the sanitizers or valgrind what these found.  A test
#	  that survives the crash of a server would not notice.
use strict;
use warnings;

use File::Find;
use File::Glob qw(bsd_glob);
use Test::More;

my $dir = $ENV{CHECK_DIR};
my $mode = $ENV{CHECK_MODE} // '';

sub slurp
{
	my ($file) = @_;
	open(my $fh, '<', $file) or return '';
	local $/;
	return scalar <$fh>;
}

# The beginning of the first report in each log; but not in the sources and the
# servers' data.
my @reports;
find(
	{
		no_chdir => 1,
		wanted => sub {
			$File::Find::prune = 1 if m{^\Q$dir\E/(tree|inst)$|/(base|global|pg_wal)$};
			return if !-f || !-T;
			my $text = slurp($_);
			push @reports, "$_:\n" . substr($text, $-[0], 2000)
			  if $text =~ /^.*(TRAP: |Sanitizer:|: runtime error:)/m;
		}
	},
	$dir);

# Of valgrind's reports those count whose innermost function (but for valgrind's
# own memcpy and the like) is in the library: the server itself does write bytes
# that were never set.
push @reports,
  grep { ((grep { !/vgpreload/ } m{<obj>(.*?)</obj>}g)[0] // '') =~ m{/uidgen\.so$} }
  map { slurp($_) =~ m{<error>.*?</error>}sg } bsd_glob("$dir/valgrind.*.xml");

ok(-s "$dir/runs", "servers ran in mode $mode") if $mode eq 'sanitize' || $mode eq 'valgrind';
ok(!@reports, 'nothing was reported') or diag(join "\n", @reports);

done_testing();
