# The way to an id has not become longer: callgrind counts the instructions of a call of uid_next() and of uid_segment_next()
# in a real server, without those of the call itself.  Counted, not timed, so that a busy machine does not matter.
#
# The counts below are from the last change that made the path longer for a good reason; after such a change they are
# adjusted by hand.  They hold for the compilers that are named with them; for others the count is only shown.  The gate counts
# with assertions, ./check --plain without.
# Promise: P7
# Kills: src/ids/layout_used.c has_just_looked: last_look.command == GetCurrentCommandId(false) && => last_look.command != GetCurrentCommandId(false) &&

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use UidgenTest;

my %reference = (
	assert => {
		'x86_64 gcc 12' => { strict => 173, segment => 99 } },
	plain => {
		'x86_64 gcc 12' => { strict => 75, segment => 62 },
		'x86_64 gcc 14' => { strict => 75, segment => 60 },
		'x86_64 gcc 16' => { strict => 76, segment => 45 } });
# How many times the instructions a call may have: assertions count more where a machine is busy.
my %tolerance = (assert => 1.25, plain => 1.10);
my $mode = $ENV{CHECK_MODE} // '';
my $calls = 50_000;
# What is done now and then, the more often the busier the machine is: a look at the clock, and asking the keeper for the next grant.
my $SELDOM = qr/^(?:next_id_slowly|take_slowly|look_at_clock)\b/;

if (system('valgrind --version >/dev/null 2>&1') != 0)
{
	plan skip_all => 'no valgrind';
}
if ($mode =~ /sanitize|valgrind/)
{
	plan skip_all => 'the server runs under another tool';
}

my $module = build_module('../tools/bench/fmgr_bench');
my $node = uidgen_node('main', 'autovacuum = off', "uidgen.wait_timeout = '60s'");

# From 19 on, the server reads the time stamp counter by an instruction that not each valgrind knows.
if (output_of('valgrind', '--tool=none', $node->installed_command('postgres'), '-D', $node->data_dir, '-C', 'port') =~ /Unrecognised instruction/)
{
	plan skip_all => 'this valgrind cannot run this server';
}

# Only what bench_calls() does is counted, in each process by itself.
my $said = '';
my $server = IPC::Run::start(
	[
		'valgrind', '--tool=callgrind', '--collect-atstart=no', '--toggle-collect=bench_calls',
		'--callgrind-out-file=' . $node->basedir . '/count.%p',
		$node->installed_command('postgres'), '-D', $node->data_dir
	],
	'<', \undef, '>&', \$said, IPC::Run::timeout(3 * $PostgreSQL::Test::Utils::timeout_default));

END
{
	my $status = $?;
	$server->kill_kill if $server;
	$? = $status;
}

poll_until(sub { run_log([ $node->installed_command('pg_isready'), '-q', '-d', $node->connstr('postgres') ]) })
  or die "the server did not start: $said";
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_registry');
# All numbers that are drawn come from one range.
$node->safe_psql('postgres', "SELECT uidgen_registry.create_segment('lasts', step => 10000000)");
$node->safe_psql('postgres', "CREATE FUNCTION next_number(text) RETURNS bigint AS '\$libdir/uidgen', 'uidgen_segment_next' LANGUAGE C");
$node->safe_psql('postgres', "CREATE FUNCTION next_id() RETURNS bigint AS '\$libdir/uidgen', 'uidgen_next' LANGUAGE C");
command_ok(
	[
		$node->installed_command('psql'), '-Xq', '-v', 'ON_ERROR_STOP=1', '-v', "module=$module",
		'-d', $node->connstr('postgres'), '-f', "$FindBin::RealBin/../../tools/bench/fmgr_bench.sql"
	],
	'the module is there');

# Only the first commit of a database notes the layout: till then, calls look again, but not each of them.
my $first = call('next_id()');
# The processes that made $calls calls each.
my %processes;
foreach my $run (1 .. 3)
{
	push @{ $processes{empty} }, call('bench_empty()');
	push @{ $processes{strict} }, call('next_id()');
	push @{ $processes{segment} }, call('next_number(text)', undef, 'lasts');
}
command_ok([ 'pg_ctl', '-D', $node->data_dir, '-m', 'fast', '-s', 'stop' ], 'the server stops');
$server->finish;
undef $server;

my $compiler = compiler();
my ($in_all) = slurp_file($node->basedir . "/count.$first") =~ /^(?:totals|summary): (\d+)$/m;
ok($in_all && $in_all < 3000 * $calls, 'in the first statement of a database a call has no more than 3000 instructions') || diag($in_all);
my $empty = instructions('empty');
foreach my $path (qw(strict segment))
{
	my $count = instructions($path) - $empty;
	my $expected = $reference{$mode}{$compiler}{$path};

	note sprintf('%s: %.1f instructions a call, %s, by %s', $path, $count, $mode, $compiler);
	cmp_ok($count, '>', 5, "$path: instructions were counted");
  SKIP:
	{
		skip "no count is known for $compiler", 1 unless $expected;
		cmp_ok($count, '<=', $expected * $tolerance{$mode}, "$path: a call has no more than $expected instructions, or $tolerance{$mode} times that");
	}
}

done_testing();

# Call a function in a session of its own; returns its process.
sub call
{
	my ($function, $before, @arguments) = @_;
	return $node->safe_psql('postgres',
		($before // '') . "SELECT pg_backend_pid() FROM bench_ns("
		  . join(', ', "'$function'", $calls, map { "'$_'" } @arguments) . ')');
}

# What a command prints, on both channels
sub output_of
{
	my (@command) = @_;
	IPC::Run::run(\@command, '<', \undef, '>&', \my $printed);
	return $printed;
}

# Instructions of one call: the least of all runs, because work that is done now and then is more in one run than in another.
sub instructions
{
	my ($path) = @_;
	my @counts = sort { $a <=> $b } map { instructions_of($_) } @{ $processes{$path} };
	note "$path: @counts";
	return $counts[0];
}

# Of one process, without what is done now and then.
sub instructions_of
{
	my ($process) = @_;
	my ($total, $seldom, $caller, $is_seldom, %name) = (0, 0, '', 0);
	foreach (split /\n/, slurp_file($node->basedir . "/count.$process"))
	{
		if (/^(c?)fn=\((\d+)\)(?: (.*))?$/)
		{
			my ($is_callee, $id, $name) = ($1, $2, $3);
			$name{$id} = $name if defined $name;
			$caller = $name{$id} if !$is_callee;
			# What one of them calls is counted with it.
			$is_seldom = $is_callee && $caller !~ $SELDOM && $name{$id} =~ $SELDOM;
		}
		# The line after that of the calls has what they took.
		elsif ($is_seldom && /^(?!calls=)\S+ (\d+)$/) { $seldom += $1; $is_seldom = 0 }
		elsif (/^(?:totals|summary): (\d+)$/) { $total = $1 }
	}
	return ($total - $seldom) / $calls;
}

# What the count depends on beside the source.
sub compiler
{
	my ($machine) = run_command([ 'uname', '-m' ]);
	my ($version) = run_command([ $ENV{CC} || 'gcc', '-dumpversion' ]);
	return "$machine gcc $version";
}
