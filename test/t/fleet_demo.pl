# ./try: its tour ends with an outbox, of which a plain reader loses rows and one that ends at the horizon none.
# ./try -c: takes what was built before.
# ./try fleet: tells its story to the end, where no id came twice; says so if one did; and leaves nothing behind, also
# when a signal ends it.  Where something is wrong with the registry is made up here: it says to each server that it has
# worker id 1.
#
# uidgen is not built again: "make" is a program of this test, which installs what ./check has built.

use File::Path qw(make_path);
use FindBin;
use IPC::Run;
use lib "$FindBin::RealBin/../perl";
use UidgenTest;

plan skip_all => 'what was built needs the server of the sanitizers' if ($ENV{CHECK_MODE} // '') eq 'sanitize';

my $dir = PostgreSQL::Test::Utils::tempdir_short();		# of sockets, too
mkdir "$dir/bin";
append_to_file("$dir/bin/make", <<'END');
#!/bin/sh
set -e
installs=
for word; do
	case $word in
	install) installs=yes ;;
	DESTDIR=*) to=${word#DESTDIR=} ;;
	esac
done
[ "$installs" ] || exit 0
mkdir -p "$to"
cd "$CHECK_DIR/inst"
find . -name 'uidgen*' -type f | tar -cf - -T - | tar -C "$to" -xf -
[ -z "$BREAK" ] || find "$to" -name 'uidgen_registry--[0-9]*.sql' -exec sed -i "$BREAK" {} +
END
chmod 0755, "$dir/bin/make";

# It is to find the server that is installed, not the copy that is tested.
my $path = join ':', "$dir/bin", grep { $_ ne $ENV{BINDIR} } split /:/, $ENV{PATH};

# As process 1 of many containers: killed servers, whose parent it becomes, it leaves in the list of processes.
my @careless_parent = ($^X, '-e', <<'END');
require 'sys/syscall.ph';
my $PR_SET_CHILD_SUBREAPER = 36;
syscall(SYS_prctl(), $PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 or die "prctl: $!\n";
exit(system(@ARGV) >> 8);
END

# Begin it, in a folder of its own; with a broken rule of the registry, a command of sed; as the child of a program.
sub begin_demo
{
	my ($name, $break, @parent) = @_;
	my @show = $name eq 'tour' ? () : $name eq 'again' ? ('-c', 'SELECT uid_next() > 0') : 'fleet';
	my %demo = (folder => "$dir/$name", out => '');
	make_path($demo{folder});
	local %ENV = (%ENV, PATH => $path, TMPDIR => $demo{folder}, BREAK => $break // '', XDG_CACHE_HOME => "$dir/kept by " . $name =~ s/again/tour/r);
	$demo{run} = IPC::Run::start([ @parent, "$FindBin::RealBin/../../try", @show ],
		'<', \undef, '>&', \$demo{out}, IPC::Run::timeout(4 * $PostgreSQL::Test::Utils::timeout_default));
	return \%demo;
}

# Returns its exit status.
sub end_demo
{
	my ($demo) = @_;
	$demo->{run}->finish;
	return $demo->{run}->full_result >> 8;
}

# Processes and files that it has left.
sub left_by
{
	my ($demo) = @_;
	my @left = glob qq("$demo->{folder}/*");
	# The servers' processes are in their data directories, others name the folder.
	push @left, grep { join(' ', readlink("/proc/$_/cwd") // '', UidgenTest::process_file($_, 'cmdline')) =~ /\Q$demo->{folder}\E/ }
	  map { m{(\d+)$} } glob '/proc/[0-9]*';
	return join ' ', @left;
}

# Shared memory of ours that no process has mapped any more.
sub shared_memory_left
{
	my %mapped = map { $_ => 1 } map { UidgenTest::process_file($_, 'maps') =~ m{(/dev/shm/PostgreSQL\.\d+)}g } map { m{(\d+)$} } glob '/proc/[0-9]*';
	return map { $_ => 1 } grep { -o && !$mapped{$_} } glob '/dev/shm/PostgreSQL.*';
}
my %left_before = shared_memory_left();

# The rows of uidgen_registry.fleet, as lists of worker ids, in the order in which they are shown.
sub fleets
{
	my ($demo) = @_;
	my @fleets;
	foreach my $table ($demo->{out} =~ /^ worker_id \| port [^\n]*\n[-+]+\n(.*?)^\(\d+ rows\)/msg)
	{
		push @fleets, [ $table =~ /^ +(\d+) \|/mg ];
	}
	return @fleets;
}

# What nohup has these ignore, a shell cannot catch.
local $SIG{HUP} = 'DEFAULT';

# All at once, since they mostly wait.  A folder may have a name that has to be quoted.
my $demo = begin_demo('the demo', '', @careless_parent);
my $broken = begin_demo('broken', 's/worker := choice.worker;/worker := 1;/');
my %interrupted = (
	HUP => [ 129, qr/starting five private servers/ ],
	TERM => [ 143, qr/^-- Meanwhile server b is cloned/m ]);
push @{ $interrupted{$_} }, begin_demo($_) foreach keys %interrupted;

foreach my $signal (sort keys %interrupted)
{
	my ($status, $when, $demo) = @{ $interrupted{$signal} };
	ok(poll_until(sub { $demo->{run}->pump_nb; $demo->{out} =~ $when }), "under way: $when");
	$demo->{run}->signal($signal);
	is(end_demo($demo), $status, "it ends by SIG$signal");
	is(left_by($demo), '', 'nothing is left behind') or diag($demo->{out});
}

is(end_demo($demo), 0, 'it tells its story to the end') or diag($demo->{out});
my ($start, $copied, $behind, $taken_over) = fleets($demo);
is_deeply([ map { scalar @$_ } $start, $copied, $behind, $taken_over ], [ 3, 4, 3, 4 ],
	'three servers, a copy, of which the standby knows nothing, and all of them after the failover');
is(repeated($copied), 0, 'each has a worker id of its own');
like($demo->{out}, qr/^-- kill -9 of the registry.* [1-9]\d* commits are lost/m, 'commits are lost');
like($demo->{out}, qr/^ +\d{5,} +together, 0 of them more than once$/m, 'no id came twice');
is(left_by($demo), '', 'nothing is left behind');

is(end_demo($broken), 1, 'with a registry that grants one worker id to all it ends in an error');
like($broken->{out}, qr/^ +\d{5,} +together, [1-9]\d* of them more than once\nuidgen: the same id came twice, such as \d+$/m, '... and says that ids came twice')
  or diag($broken->{out});
is(left_by($broken), '', 'nothing is left behind');

my $tour = begin_demo('tour');
is(end_demo($tour), 0, 'the tour comes to its end') or diag($tour->{out});
like($tour->{out}, qr/^ id > last +\| +\d+ \| +[1-9]\d*\n \.\.\. AND id <= uid_horizon\(\) +\| +[1-9]\d* \| +0\n/m, '... and of the outbox a plain reader has lost rows, and the other one none') or diag($tour->{out});
unlike($tour->{out}, qr/ERROR|FATAL/, '... without an error');
is(left_by($tour), '', 'nothing is left behind');
my $again = begin_demo('again');
is(end_demo($again), 0, './try -c runs a statement') or diag($again->{out});
like($again->{out}, qr/^ t$/m, '... whose result it shows');
is_deeply([ map { $_->{out} =~ /^uidgen: building/m ? 'built' : 'kept' } $tour, $again ], [qw(built kept)], '... with what was built before');

my %left = shared_memory_left();
is(join(' ', grep { !$left_before{$_} } sort keys %left), '', 'nor is shared memory');

done_testing();
