# test/selftest.pl
#	  What ./check itself promises: it runs what its options say; what failed is
#	  counted and named, also if it broke off, never started or said nothing; and a
#	  process that a test leaves behind does not stay in the list of processes when
#	  it has ended.  And that tools/mutate/run.pl tells what a test kills from what it
#	  does not.
#
# Runs test/tools/tap.pl, and verdict() of test/lib.sh, on small programs of its own,
# and ./check with a "make" that builds and runs nothing.
# Core Perl only; runs from the root of the source tree, below test/tools/reaper.c.
use strict;
use warnings;

use Cwd qw(getcwd);
use File::Temp qw(tempdir);
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep);

my $dir = tempdir(CLEANUP => 1);
my $root = getcwd();
symlink "$ENV{CHECK_DIR}/reaper", "$dir/reaper";	# below which tap.pl runs each program

sub spew
{
	my ($file, $text) = @_;
	open(my $fh, '>', "$dir/$file") or die "could not write $dir/$file: $!";
	print $fh $text;
	close $fh;
	return $file;
}

sub slurp
{
	my ($file) = @_;
	open(my $fh, '<', "$dir/$file") or return '';
	local $/;
	return scalar(<$fh>) // '';
}

# Run a command of the shell in our folder, as ./check would, and return its output.
sub run
{
	my ($command) = @_;
	local $ENV{CHECK_DIR} = $dir;
	local $ENV{TESTLOGDIR} = $dir;
	return scalar `cd '$dir' && { $command; } 2>&1`;
}

# Run test/tools/tap.pl anew on programs with these texts; return the line of the counts,
# the lines of the failures and the output.
sub tap
{
	my ($options, @texts) = @_;
	my $number = 0;
	my @programs = map { ref $_ ? $$_ : spew('p' . ++$number . '.pl', $_) } @texts;
	unlink "$dir/counts", "$dir/failed", "$dir/skipped";
	my $out = run("'$^X' '$root/test/tools/tap.pl' suite $options @programs");
	return (slurp('counts'), slurp('failed'), $out);
}

my $good = 'use Test::More tests => 2; ok(1); ok(1);';
my $bail = 'use Test::More tests => 2; ok(1); BAIL_OUT("no more");';
my $wrong = 'use Test::More tests => 3; ok(0, "is wrong"); ok(1); ok(0);';
my $short = 'use Test::More tests => 3; ok(1);';
my $killed = '$| = 1; print "1..1\nok 1\n"; kill 9, $$;';
my $exit = 'print "1..1\nok 1\n"; exit 3;';
my $skipped = 'use Test::More skip_all => "no moon";';
my $slow = 'print "1..1\nok 1\n"; sleep 600;';
my $busy = 'print "1..1\nok 1\n"; if (fork) { wait } else { 1 while 1 }';

# ---- Counts and names ----

my ($counts, $failed, $out) = tap('1 100 1000', $good, $skipped, $good);
is($counts, "suite 4 0\n", 'what passed is counted');
is($failed, '', 'nothing is said to have failed');
is(slurp('skipped'), "p2.pl: no moon\n", 'what was skipped is named');
tap('1 100 1000', $good, 'use Test::More tests => 3; ok(1); SKIP: { skip "no sun", 2; }');
is(slurp('skipped'), "p2.pl: 2 of its tests: no sun\n", '... also where it is a part');
like($out, qr/^\[2 of 3\] p2\.pl: skipped: no moon$/m, 'what was skipped is said');

foreach (
	[ 'bails out', $bail, 1, 1, 'Bail out! no more' ],
	[ 'has wrong tests', $wrong, 1, 2, '2 of 3 tests failed' ],
	[ 'breaks off', $short, 1, 1, 'exit status 255; Bad plan.  You planned 3 tests but ran 1.' ],
	[ 'is killed', $killed, 1, 1, 'signal 9' ],
	[ 'ends with a status', $exit, 1, 1, 'exit status 3' ],
	[ 'says nothing', '', 0, 1, 'No plan found in TAP output' ],
	[ 'is not there', \'gone.pl', 0, 1, 'exit status 2; No plan found in TAP output' ])
{
	my ($what, $text, $passed, $number, $why) = @$_;
	my ($counts, $failed, $out) = tap('2 100 1000', $good, $text, $good);
	my $name = ref $text ? 'gone.pl' : 'p2.pl';
	is($counts, 'suite ' . (4 + $passed) . " $number\n", "one that $what is counted, and the others run");
	is($failed =~ s/^\t.*\n//mgr, "$name: $why\n", "one that $what is named");
	is(join('', $failed =~ /^\tnot ok.*\n/mg), $text eq $wrong ? "\tnot ok 1 - is wrong\n\tnot ok 3\n" : '', '... with what failed in it');
	like($out, qr/^\[\d of 3\] \Q$name\E: FAILED: /m, "one that $what is reported at once");
}

my $chatty = 'use Test::More tests => 1; is(1, 2, "is two"); note($_) for 1 .. 99;';
like((tap('1 100 1000', $good, $chatty))[1], qr/^\tnot ok 1 - is two\n(?:\t#.*\n)*\t#\s+expected: '2'$/m, 'why a test failed is not lost in later remarks');
like((tap('1 100 1000', $good, 'print "1..2\nok 1\n"; die "no more";'))[1], qr/^\tno more at /m, '... nor why a program broke off');
($counts, $failed) = tap('1 100 1', $slow);
like("$counts$failed", qr/^suite \d 1\np1\.pl: hangs: not done after 1 s$/m, 'one that hangs fails');
($counts, $failed) = tap('1 1 1000', $busy);
like("$counts$failed", qr/^suite \d 1\np1\.pl: not done after 1 s of CPU time$/m, '... and so does one whose child computes for ever');
is((do { local $ENV{TIMES} = 3; tap('3 100 1000', 'use Test::More tests => 1; ok(mkdir "$ENV{TESTDIR}/own")') })[0], "suite 3 0\n", 'each of several runs has folders of its own');
($counts, $failed) = tap('1 100 1000', $skipped);
is("$counts$failed", "suite 0 1\nsuite: no test ran\n", 'a suite of which nothing ran has failed');
like((tap('1 100 1000', $wrong))[2], qr/^not ok 1 - is wrong\n.*^ok 2\n/ms, 'a program alone is shown as it runs');
like((tap('1 100 1000', $wrong, $good))[2], qr/^not ok 1 - is wrong$/m, 'what failed is shown of many');

# ---- The verdict ----

sub verdict
{
	my ($suites, $counts, $failed) = @_;
	mkdir "$dir/run";
	spew('run/counts', $counts);
	spew('run/failed', $failed);
	my $out = run("SUITES='$suites' CHECK_DIR='$dir/run' srcdir='$root' sh -c '. \"\$srcdir/test/lib.sh\"; verdict; echo status \$?'");
	$out =~ s/ are in .*//;
	return $out;
}

is(verdict('a b', "a 3 0\nb 4 0\n", ''), "7 passed, 0 failed\nstatus 0\n", 'the verdict if all is well');
ok(!-e "$dir/run", 'nothing is left then');
mkdir "$dir/run";
spew('run/skipped', "c.pl: no moon\n");
is(verdict('a b', "a 3 0\nb 4 0\n", ''), "SKIPPED: c.pl: no moon\n7 passed, 0 failed\nstatus 0\n", '... and names what was skipped');
is(verdict('a b', "a 3 2\nb 4 0\n", "a: x\n\tnot ok 1\nb: y\n"),
	"FAILED: a: x\n\tnot ok 1\nFAILED: b: y\nuidgen: logs and differences\n7 passed, 2 failed\nstatus 1\n", 'the verdict if tests failed');
is(verdict('a b/c.pl', "a 3 0\n", ''),
	"FAILED: b/c.pl: did not run to its end\nuidgen: logs and differences\n3 passed, 1 failed\nstatus 1\n",
	'the verdict if a suite did not run');

# ---- The options ----

# Tells what it is to do, and counts a test for each suite.
mkdir "$dir/bin";
spew('bin/make', <<'END');
#!/bin/sh
for goal; do :; done
case $goal in
all) touch uidgen.so ;;
tempcheck)
	env
	echo "GIVEN=$*"
	for suite in $SUITES; do echo "$suite 1 0" >>"$CHECK_DIR/counts"; done ;;
esac
END
chmod 0755, "$dir/bin/make";
# What is missing here, for suites that do not run here, is not installed.
spew('bin/sudo', "#!/bin/sh\nexec \"\$@\"\n");
chmod 0755, "$dir/bin/sudo";
symlink '/bin/true', "$dir/bin/$_" foreach qw(apt-get apt-cache);

# What ./check has told make in its environment, and all that it said.  It is to find
# the server that is installed, not the copy that is tested.
my $path = join ':', "$dir/bin", grep { $_ ne $ENV{BINDIR} } split /:/, $ENV{PATH};
my $unset = '-u SUITES -u MODEL -u JOBS -u TIMES';
sub check
{
	my ($options) = @_;
	my $out = run("env $unset PATH='$path' TMPDIR='$dir' '$root/check' $options");
	# Further runs, by --world, come after the first one.
	my %told;
	$told{$1} //= $2 while $out =~ /^(\w+)=(.*)$/mg;
	return (\%told, $out);
}

my ($told, $said) = check('');
is_deeply([ @$told{qw(SUITES CHECK_MODE MODEL)} ], [ 'gate reports', 'assert', undef ], 'without options the gate runs, small');
like($said, qr/^2 passed, 0 failed$/m, 'the suites are counted');
($told) = check('--sanitize unit test/t/life_restart.pl');
is_deeply([ @$told{qw(SUITES CHECK_MODE)} ], [ 'unit test/t/life_restart.pl reports', 'sanitize' ], 'an option and suites');
($told) = check('--valgrind');
is_deeply([ @$told{qw(SUITES CHECK_MODE)} ], [ 'regress isolation reports', 'valgrind' ], '--valgrind has suites of its own');
($told) = check('--again 20 --jobs 2 unit');
is_deeply([ @$told{qw(SUITES TIMES JOBS)} ], [ 'unit reports', 20, 2 ], 'again, and some at once');
like((check('--again unit'))[1], qr/--again needs a number/, '... how often has to be said');
($told, $said) = check('--world --install');
is_deeply([ @$told{qw(SUITES CHECK_MODE MODEL)} ], [ 'world reports', 'assert', 'large' ], '--world runs the others, thoroughly');
my (undef, @runs) = grep { /^uidgen: building/ } split /^(?=uidgen: building)/m, $said;
SKIP:
{
	skip 'before 17, servers can only preload uidgen', 1 if $said =~ /PostgreSQL 1[56]\./;
	like(shift(@runs), qr/^UIDGEN_LATE=yes$/m, '... and once more without the preload');
}
like($runs[0], qr/^GIVEN=.*-Werror -include test\/tools\/portable\.h/m, '... and without what only Linux has');
unlike($said =~ s/^.*?^GIVEN=//msr, qr/^UIDGEN_SESSIONS=/m, '... not as long');
like($runs[0], qr/^\d+ passed, 0 failed\n(?:.*\n)*?(\d+) passed, 0 failed$/m, '... which counts');
is((check('--world --install model'))[0]{SUITES}, 'model reports', '... or what is named');
like((check('--al'))[1], qr/there is no option --al/, 'another option is refused');
like((check('test/t/gone.pl'))[1], qr/there is no suite or program/, '... and so is another suite');

# ---- Mutants ----

# Some of one line, of which one is in tools/mutate/equivalent; and one in a file that
# the test of tickets does not have.
my $mutants = "'$^X' '$root/tools/mutate/run.pl' --tests unit:ticket --results results"
  . " --match '^src/(core/units.h:uidgen_tick_minus .*(; => ;|[<>]= b)|memory/server.c:uidgen_server_tick return 0; => return 1)' src/core/units.h src/memory/server.c";
$out = run($mutants);
like($out, qr/^uncompiled src\S+ uidgen_tick_minus: return a > b \? a - b : 0; => ; /m, 'a mutant that does not compile');
like($out, qr/^killed     src\S+ uidgen_tick_minus: .*\? a - b : 0; => return a <= b .*, by unit:ticket: \w/m, 'one that the test kills');
unlike($out, qr/ => return a >= b /m, 'one that changes nothing is not run');
like($out, qr/^survived   src\S+ uidgen_server_tick: return 0; => return 1; /m, 'one that the test cannot see');
like($out, qr/^src\/core\/units.h +2 +1 +1 +0 +1\nsrc\/memory\/server.c +1 +0 +0 +1 +0\n/m, 'all are counted') or diag($out);
is(run($mutants) =~ s/ \(\d+ s\)//gr, $out =~ s/^(?:killed|uncompiled) .*\n| \(\d+ s\)//gmr, 'what is known is not run again');

# ---- Orphans ----

# A child's child says whose child it is when its parent has gone, and ends.
pipe(my $read, my $write) or die "pipe: $!";
my $child = fork() // die "fork: $!";
if ($child == 0)
{
	my $self = $$;
	my $orphan = fork() // die "fork: $!";
	POSIX::_exit(0) if $orphan;
	sleep(0.01) while getppid() == $self;
	syswrite $write, join(' ', $$, getppid()) . "\n";
	POSIX::_exit(0);
}
waitpid($child, 0);
my ($orphan, $parent) = split ' ', scalar <$read>;
like(readlink("/proc/$parent/exe") || '', qr{/reaper$}, 'an orphan becomes a child of the reaper');
my $tries = 0;
sleep(0.1) while kill(0, $orphan) && ++$tries < 600;
ok(!kill(0, $orphan), '... which takes its exit status');

my ($left) = `'$ENV{CHECK_DIR}/reaper' sh -c 'sleep 1000 >/dev/null 2>&1 & kill -STOP \$!; echo \$!' 2>&1` =~ /^(\d+)$/m;
ok($left && !kill(0, $left), 'a process that stands still when all is done is killed');

done_testing();
