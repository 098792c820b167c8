# Proves that no id of the edition in SQL comes twice, and that each session's increase, with two bits of sequence: sessions
# that draw at once from two databases with different worker ids sleep between any two statements of its functions, are cancelled, stopped and ended, roll back to
# savepoints, and the clock is set forward and back; and the server crashes.  Without each of its rules ids come twice, and so do those of the function that is commonly
# copied.  With UIDGEN_SQL='--ids N' sessions draw N ids in rounds.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Getopt::Long 'GetOptionsFromString';
use FakeClock;
use IdFiles;
use Pages;
use SqlEdition;
use UidgenTest;

my $IDS = 20_000;
GetOptionsFromString($ENV{UIDGEN_SQL} // '', 'ids=i' => \$IDS) or die 'UIDGEN_SQL: --ids N';
my $LAYOUT = 'layout=time:41:1ms worker:4 sequence:2 epoch:2025-01-01';
my $is_long = $IDS > 1_000_000;

my $node = edition_node('plain', "wal_writer_delay = '10s'");
my $clock = FakeClock->new($node);
$clock->under(sub { $node->start });
landlords($node);

my ($planted, $cut) = map { $node->basedir . "/planted.$_" } 1, 2;
append_to_file($planted, "5\n7\n9\n");
append_to_file($cut, "6\n7\n5\n9");
is_deeply([ count_in_files($planted, $cut) ], [ 6, 2, 1 ], 'dupcheck: of files of text, what was cut off does not count');

# ---- each rule is needed ----

# At once, with naps and nothing else; one round after the other, until some come twice.
sub twice_without
{
	my ($rule) = @_;
	my $database = add_database($node, 'rule');
	put_in($node, $database, 'worker_id=3', $LAYOUT);
	as($node, 'landlord', $database, 'SELECT uid_next()');	# opens it
	nap_between_statements($node, $database, 0.05, 0.03);
	without_rule($node, $database, $rule);
	my ($twice, $ids) = (0, 0);
	foreach my $round (1 .. 30)
	{
		my @round = judge(draw($node, databases => [$database], ids => 1_000, cancel => $rule =~ /before the draw/ ? 20 : 0));
		$twice += $round[0];
		$ids += $round[2];
		last if $twice;
	}
	note "without $rule: $twice of $ids twice";
	drop_database($node, $database);
	return $twice;
}
foreach my $rule (rules_of_ids())
{
	cmp_ok(twice_without($rule), '>', 0, "ids come twice without: $rule");
}

# ---- and all of them are enough ----

my @databases = map { add_database($node, "town_$_") } 1, 2;
put_in($node, $databases[ $_ - 1 ], "worker_id=$_", $LAYOUT, "max_ahead=10 years") foreach 1, 2;
nap_between_statements($node, $_, $is_long ? 0.0005 : 0.003, 0.05) foreach @databases;
my (%highest, $all);

# Five tests: what was drawn in a round is unique, and above what was drawn before.
sub round_of
{
	my ($name, %options) = @_;
	my $drawn = draw($node, databases => \@databases, sessions => 16, clock => $clock, forward => $is_long ? 40 : 0.2, back => $is_long ? 5 : 0.1, batch => $is_long ? 2000 : 3, %options);
	my ($twice, $disorders, $ids, $range) = judge($drawn);
	note "$name: $ids ids; $drawn->{did}";
	$all += $ids;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($twice, 0, "$name: no id twice");
	is($disorders, 0, '... and each session\'s increase');
	is(join(' ', grep { $range->{$_}[0] <= ($highest{$_} // 0) } @databases), '', '... and all are above those of the round before');
	$highest{$_} = $range->{$_}[1] foreach @databases;
	is(join("\n", grep { /ERROR:/ && !/canceling statement|current transaction is aborted|savepoint "s" does not exist|SAVEPOINT can only be used in transaction blocks/ } split /\n/, $drawn->{errors}), '', '... without another error');
	poll_until(sub { (try_psql($node, 'SELECT 1'))[0] == 0 }) or die 'the server does not come back';
	is(join(' ', map { $node->safe_psql($_, q{SELECT count(*) FROM pg_locks WHERE relation = 'uidgen.jumping'::regclass OR locktype = 'advisory'}) } @databases), '0 0', '... and no lock is left');
	PostgreSQL::Test::Utils::system_log('rm', '-rf', $drawn->{folder});
	return;
}

my $PER_ROUND = $is_long ? 2_000_000 : $IDS;
foreach my $round (1 .. ($IDS + $PER_ROUND - 1) / $PER_ROUND)
{
	round_of("round $round", ids => $PER_ROUND, cancel => 100, stop => 30, terminate => 1, step => 20);
	next if $round % 5 != 1;
	# The clock is not set back meanwhile: what was drawn by then can be lost.
	round_of("round $round, with crashes", ids => $PER_ROUND / 2, cancel => 50, stop => 10, crash => 0.3, step => 20, back => 0);
}
note "$all ids in all";

# ---- the function that is commonly copied ----

# As its page shows it on the reader's server, in rounds of a second; and the same with uid_next().
my $common = add_database($node, 'common');
put_in($node, $common, 'worker_id=7');
my ($made, $commands) = map { $_->{text} } blocks_of(slurp_file("$FindBin::RealBin/../../docs/common-function.md"));
is(as($node, 'landlord', $common, $made), '', 'the function that is commonly copied can be made');
$commands =~ s/-d app|\bapp$/-d common/mg;
$commands =~ s/-T 20\b/-T 1/ or die 'the command takes another time';
# (ids, repeated)
sub commands_say
{
	my ($commands) = @_;
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	local $ENV{PGUSER} = 'landlord';
	my ($out, $err) = run_command([ 'sh', '-c', 'cd "$1" && eval "$2"', 'sh', $node->basedir, $commands ]);
	return $out =~ /^ *(\d+) \| +(\d+)$/m ? ($1, $2) : die "$out$err";
}
my ($common_ids, $common_twice) = (0, 0);
foreach my $round (1 .. 60)
{
	($common_ids, $common_twice) = commands_say($commands);
	last if $common_twice;
}
note "the common function: $common_twice of $common_ids twice";
cmp_ok($common_twice, '>', 0, '... and repeats ids');
as($node, 'landlord', $common, 'CREATE UNLOGGED TABLE drawn (id bigint)');
my ($edition_ids, $edition_twice) = commands_say($commands =~ s/common_id/uid_next/gr =~ s/common_drawn/drawn/gr);
note "$edition_ids of the edition";
is($edition_twice, 0, '... where the edition repeats none');

# ---- one thing at a time ----

$clock->correct;
my $small = add_database($node, 'small');
put_in($node, $small, 'worker_id=3', $LAYOUT, 'max_ahead=1h');
my $last = 0;

# One test: ids go on above all.
sub goes_on
{
	my ($database, $name) = @_;
	my $id = as($node, 'tenant', $database, 'SELECT uid_next()');
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	like($id, qr/^\d+$/, "$name: there are ids");
	cmp_ok($id, '>', $last, '... above those before');
	$last = $id;
}
goes_on($small, 'at first');
as($node, 'landlord', $small, q{SELECT nextval('uidgen.jumps')});
goes_on($small, 'a session that ended in the middle of a jump');
as($node, 'landlord', $small, 'ALTER SEQUENCE uidgen.jumps RESTART');
goes_on($small, 'jumps that were never counted');
is(as($node, 'tenant', $small, 'BEGIN; SELECT uid_next() AS a \gset
	SAVEPOINT s; SELECT uid_next() AS b \gset
	ROLLBACK TO s; SELECT uid_next() AS c \gset
	ROLLBACK; SELECT uid_next() AS d \gset
	SELECT :a < :b AND :b < :c AND :c < :d'), 't', 'what was rolled back is not drawn again');
my $holder = $node->background_psql($small, extra_params => [ '-U', 'landlord' ]);
as($node, 'landlord', $small, q{ALTER FUNCTION uidgen.jump(integer, boolean) SET lock_timeout = '100ms'});
$holder->query_safe('BEGIN; LOCK TABLE uidgen.jumping');
like(as($node, 'tenant', $small, 'SELECT uid_next_batch(2)'), qr/55P03/, 'a wait for a jump has an end');
$holder->query_safe('ROLLBACK');
# For a draw, which a change of its sequences holds up, the caller says how long.
$holder->query_safe('BEGIN; ALTER SEQUENCE uidgen.position NO CYCLE');
like(as($node, 'tenant', $small, q{SET lock_timeout = '100ms'; SELECT uid_next()}), qr/55P03/, 'a wait for the owner has an end that the caller says');
as($node, 'landlord', $small, q{ALTER FUNCTION uidgen.next(timestamptz) SET lock_timeout = '100ms'});
like(as($node, 'tenant', $small, 'SELECT uid_next()'), qr/55P03/, '... or that the owner says for all');
as($node, 'landlord', $small, 'ALTER FUNCTION uidgen.next(timestamptz) RESET lock_timeout');
$holder->query_safe('ROLLBACK');
$holder->quit;
goes_on($small, 'after that');

# Not rounded up: a tick is not before its time.
$clock->stop(1_800_000_000.9996);
is(as($node, 'landlord', $small, 'SELECT uidgen.clock() / 1000 + 1735689600000'), '1800000000999', 'the clock is not rounded');
$clock->correct;

# A clock that is set back, by less than the bound and by more; after the first, each refused call leaves the position where it is.
goes_on($small, 'the clock is right');
$clock->step(-600);
goes_on($small, 'the clock is set back');
is(as($node, 'tenant', $small, 'SELECT uid_next_batch(5)') =~ tr/\n//, 4, '... and there are batches');
$clock->step(-7200);
like(as($node, 'tenant', $small, 'SELECT uid_next()'), qr/55000: ids are too far ahead/, 'a draw that is too far ahead is refused');
my $position = as($node, 'landlord', $small, 'SELECT last_value FROM uidgen.position');
foreach my $call ('uid_next()', 'uid_next_batch(2)', 'uid_reserve(3)', 'uid_reserve(4)')
{
	like(as($node, 'tenant', $small, "SELECT $call"), qr/55000: ids are too far ahead of the clock.*DETAIL:.*HINT/s, "$call: there is a bound ahead of the clock");
}
is(as($node, 'landlord', $small, 'SELECT last_value FROM uidgen.position'), $position, '... and whoever is refused after that moves nothing');
$clock->step(7200);
goes_on($small, 'the clock is nearly right again');
$clock->correct;
goes_on($small, 'the clock is right again');

done_testing();
