# The link to the registry fails, is silent, answers late or answers nonsense, in each of its operations: callers are told what
# it is, no id is issued twice, and ids go on once the fault is over, without anybody's help.
# A real registry fails in few of these ways, and not when a test wants it to; so a library that is preloaded beside uidgen
# (test/faults/faulty_link.c) puts its own link in front.
# Promise: P3, P6
# Kills: src/memory/demand.c note_cause: is_news = place == UIDGEN_CAUSES; => is_news = place != UIDGEN_CAUSES;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use Time::HiRes qw(time);
use UidgenTest;

my $faulty_link = build_module('faults/faulty_link', "-I$FindBin::RealBin/../../src");

# Each grant is used up at once.
my $node = uidgen_node('main', "uidgen.window = '10ms'", 'uidgen.padding_factor = 0', "uidgen.wait_timeout = '100ms'",
	"include_if_exists = 'more.conf'");
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'uidgen, $faulty_link'\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
my $log = 0;

# From now on this operation goes wrong; without an argument, none does.
sub set_fault
{
	my ($fault) = @_;
	my $file = $node->data_dir . '/faulty_link';
	$log = -s $node->logfile;
	return unlink $file unless defined $fault;
	append_to_file("$file.new", "$fault\n");
	return rename("$file.new", $file) || die "could not rename $file.new: $!";
}

# Is it going wrong?
sub meets
{
	my ($operation) = @_;
	return poll_until(sub { log_since($node, $log) =~ /faulty link: \Q$operation\E/ });
}

# Every id that a client has seen.
my @ids;

sub goes_on
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ids_go_on($node, \@ids, $_[0]);
}

# A call, for which the grant in force is no longer good, fails with this.
sub fails_once_used_up
{
	my ($sqlstate, $pattern, $name) = @_;
	my ($state, $text);
	poll_until(
		sub {
			($state, $text) = sqlstate_of($node, 'SELECT uid_next()');
			push @ids, $text =~ /^(\d+)$/m if $state eq '';
			return $text =~ /$pattern/s;
		},
		# The same error comes with each attempt, several times in a second.
		60);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return like("$state $text", qr/^$sqlstate .*$pattern/s, $name);
}

my $NO_GRANT = 'uidgen has no grant to issue ids from';

# Have another keeper, without a connection.
sub reconnect
{
	return end_keeper($node) || die 'the keeper does not come back';
}

# Without a grant: the server forgets it in a crash.
sub forget_grant
{
	$node->stop('immediate');
	return $node->start;
}

goes_on('at first');

# ---- renewals ----

foreach my $fault ('error', 'lost')
{
	set_fault("call renew_worker_id $fault");
	fails_once_used_up('55000', "$NO_GRANT: faulty link: call renew_worker_id $fault", "renewal, $fault: callers are told");
	is($node->safe_psql('postgres', 'SELECT state, last_error FROM uidgen.status'),
		"failing|faulty link: call renew_worker_id $fault", "renewal, $fault: uidgen.status shows it");
	my $failures = $node->safe_psql('postgres', 'SELECT failures FROM uidgen.status');
	ok( poll_until(
			sub {
				sqlstate_of($node, 'SELECT uid_next()');
				return $node->safe_psql('postgres', "SELECT failures > $failures + 1 FROM uidgen.status") eq 't';
			}),
		"renewal, $fault: each call has another attempt made");
	my $lines = () = log_since($node, $log) =~ /LOG:  uidgen has no new grant/g;
	is($lines, 1, "renewal, $fault: the log has it once");
	set_fault();
	goes_on("renewal, $fault");
	# An id may come before the keeper has noted that it was successful, and has written to the log what it got.
	ok(poll_until(sub { $node->safe_psql('postgres', 'SELECT state, last_error IS NULL FROM uidgen.status') =~ /^(granted|idle)\|t$/ }),
		"renewal, $fault: uidgen.status shows that it is over");
}
is_logged($node, 0, qr/uidgen lost worker id/, 'a token that never arrived is a row that was lost');

set_fault('call renew_worker_id fatal');
fails_once_used_up('55000', "$NO_GRANT: the keeper ended during an attempt", 'renewal, fatal: callers are told');
set_fault();
goes_on('renewal, fatal');

set_fault('call renew_worker_id silent');
fails_once_used_up('55000', "$NO_GRANT.*the keeper got no grant that reaches far enough", 'renewal, silent: calls wait for wait_timeout');
like(
	$node->safe_psql('postgres', "SET uidgen.wait_timeout = '1s'; SELECT message FROM uidgen.diagnose()"),
	qr/^The keeper has not answered/,
	'renewal, silent: so says the diagnosis');
ok(end_keeper($node), 'renewal, silent: SIGTERM ends it');
ok(meets('call renew_worker_id'), 'renewal, silent: the next keeper meets the same') if sqlstate_of($node, 'SELECT uid_next()');
set_fault();
goes_on('renewal, silent');

foreach my $fault ('late', 'answer')
{
	set_fault("call renew_worker_id $fault");
	fails_once_used_up('55000', $NO_GRANT, "renewal, $fault: calls wait for wait_timeout");
	my $waiting = do { local $ENV{PGOPTIONS} = '-c uidgen.wait_timeout=1h'; start_drawing($node) };
	# Only then is there something to cancel.
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'COPY%' AND state = 'active'") or die 'nobody draws';
	ok(meets('call renew_worker_id'), "renewal, $fault: it is under way");
	set_fault();
	push @ids, @{ stop_drawing($waiting) };
	goes_on("renewal, $fault");
}

# ---- acquisitions ----

foreach my $fault ('error', 'lost', 'fatal')
{
	set_fault("call acquire_worker_id $fault");
	forget_grant();
	comes_to_fail($node, 'SELECT uid_next()', '55000',
		$fault eq 'fatal' ? qr/the keeper ended during an attempt/ : qr/faulty link: call acquire_worker_id $fault/,
		"acquisition, $fault: callers are told");
	set_fault();
	goes_on("acquisition, $fault");
}
foreach my $fault ('silent', 'late', 'answer')
{
	set_fault("call acquire_worker_id $fault");
	forget_grant();
	# It may be some time before the server has a keeper.
	comes_to_fail($node, 'SELECT uid_next()', '55000', qr/the keeper got no grant/, "acquisition, $fault: calls wait for wait_timeout");
	if ($fault eq 'silent')
	{
		ok(end_keeper($node), 'acquisition, silent: SIGTERM ends it');
	}
	set_fault();
	goes_on("acquisition, $fault");
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM uidgen_registry.worker_node'), '1', 'none of all this cost a worker id');

# ---- answers that make no sense ----

foreach my $spoilt (
	'renew_worker_id column token NULL',
	'renew_worker_id column last_tick NULL',
	'renew_worker_id column last_tick 1',
	'renew_worker_id column last_tick 99999999999999',
	'renew_worker_id column last_tick 99999999999999999999',
	'renew_worker_id column last_tick tomorrow',
	'renew_worker_id drop token',
	'acquire_worker_id column worker -1',
	'acquire_worker_id column worker 1024',
	'acquire_worker_id column worker 1x',
	'acquire_worker_id column token NULL',
	'acquire_worker_id column first_tick -1',
	'acquire_worker_id column first_tick 99999999999999',
	'acquire_worker_id column last_tick 0',
	'acquire_worker_id column last_tick 2199023255551',
	'acquire_worker_id column never_used perhaps',
	'acquire_worker_id column seen_tick NULL',
	'acquire_worker_id column reason NULL',
	'acquire_worker_id drop free_workers')
{
	my ($function, $what, $column, $value) = split / /, $spoilt;
	my $has = $what eq 'drop' || $value eq 'NULL' ? 'nothing' : "\"$value\"";
	set_fault("call $spoilt");
	forget_grant() if $function eq 'acquire_worker_id';
	my $row = $node->safe_psql('postgres', 'SELECT launches, released FROM uidgen_registry.worker_node');
	# The attempt after it may succeed, so callers need not notice.
	ok( poll_until(
			sub {
				my ($state, $id) = sqlstate_of($node, 'SELECT uid_next()');
				push @ids, $id =~ /^(\d+)$/m if $state eq '';
				return log_since($node, $log) =~
				  /uidgen has no new grant: the registry gave an answer that makes no sense\n.*uidgen_registry\.$function returned $has in column "$column"/;
			}),
		"$spoilt: it is refused");
	# While it still goes wrong: a call that has ended may have left something to do.
	is($node->safe_psql('postgres', 'SELECT launches, released FROM uidgen_registry.worker_node'), $row, "$spoilt: it took nothing")
	  if $function eq 'acquire_worker_id';
	set_fault();
	goes_on($spoilt);
}

# A worker id that is set is the only one that may come, also if it is the lowest.
append_to_file($node->data_dir . '/more.conf', "uidgen.worker_id = 0\n");
set_fault('call acquire_worker_id column worker 1');
forget_grant();
comes_to_fail($node, 'SELECT uid_next()', '55000', qr/the registry gave an answer that makes no sense/,
	'another worker id than the one that is set is refused');
set_fault();
goes_on('the worker id that is set');
append_to_file($node->data_dir . '/more.conf', "uidgen.worker_id = -1\n");
forget_grant();
goes_on('any worker id');

# Another registry, by the link's word: the keeper acquires there.
set_fault('registry other');
goes_on('another registry');
set_fault();
goes_on('the registry again');
set_fault('registry error');
fails_once_used_up('55000', "$NO_GRANT: faulty link: registry error", 'registry, error: callers are told');
set_fault();
goes_on('registry, error');

# ---- the connection ----

set_fault('connect error');
reconnect();
fails_once_used_up('55000', "$NO_GRANT: faulty link: connect error", 'connect, error: callers are told');
set_fault();
goes_on('connect, error');
# A new server has made no attempt yet.
set_fault('connect fatal');
forget_grant();
my $began = time();
fails_with($node, 'SET uidgen.wait_timeout = 0; SELECT uid_next()', '55000', qr/$NO_GRANT/, 'without a wait, a call fails');
cmp_ok($node->safe_psql('postgres', 'SELECT failures FROM uidgen.status'), '<=', 1,
	'after one attempt, although the next might succeed');
# 50 ms after the first attempt, 100 ms after the second, and so on.
comes_to_fail($node, "SET uidgen.wait_timeout = '3s'; SELECT uid_next()", '55000', qr/could not connect/, 'a call that waits has more attempts made');
my $attempts = $node->safe_psql('postgres', 'SELECT failures FROM uidgen.status');
cmp_ok(0.05 * (2**($attempts - 1) - 1), '<=', time() - $began, 'with growing pauses');
set_fault();
goes_on('without a wait');
# The link is connected now, so the next attempt succeeds.
set_fault('connect lost');
reconnect();
goes_on('connect, lost');
ok(meets('connect lost'), 'connect, lost: it was met');
set_fault();
set_fault('connect fatal');
reconnect();
fails_once_used_up('55000', "$NO_GRANT: could not connect to database \"postgres\".*Check the setting \"uidgen.database\"",
	'connect, fatal: callers are told');
set_fault();
goes_on('connect, fatal');
foreach my $fault ('silent', 'late', 'answer')
{
	set_fault("connect $fault");
	reconnect();
	fails_once_used_up('55000', "$NO_GRANT.*the keeper got no grant", "connect, $fault: calls wait for wait_timeout");
	if ($fault eq 'silent')
	{
		ok(end_keeper($node), 'connect, silent: SIGTERM ends it');
	}
	set_fault();
	goes_on("connect, $fault");
}

# ---- where the registry is made ----

# Ids go on with what another database makes of it, or say why not.
foreach my $fault ('has_registry error', 'rehearse error', 'make_registry error', 'make_registry lost', 'make_registry fatal')
{
	my $database = $fault =~ s/ /_/r;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	append_to_file($node->data_dir . '/more.conf', "uidgen.database = '$database'\n");
	set_fault($fault);
	$node->reload;
	if ($fault !~ /^rehearse|lost/)
	{
		fails_once_used_up('55000', $fault =~ /fatal/ ? "$NO_GRANT: .*keeper ended" : "$NO_GRANT: faulty link: $fault", "$fault: callers are told");
		is($node->safe_psql($database, q{SELECT count(*) FROM pg_extension WHERE extname = 'uidgen_registry'}), '0', "$fault: none is made");
	}
	set_fault();
	goes_on($fault);
	is($node->safe_psql($database, 'SELECT count(*) FROM uidgen_registry.worker_node'), '1', "$fault: it is made once");
}
append_to_file($node->data_dir . '/more.conf', "uidgen.database = 'postgres'\n");
$node->reload;
goes_on('the first registry again');

# ---- what follows a failure, or the end ----

# Each of these ends the keeper, since the state after such an error is unknown.
$node->safe_psql('postgres', 'CREATE DATABASE other');
foreach my $fault ('error', 'lost', 'fatal')
{
	# The call fails because its table is locked.
	my $locked = $node->background_psql('postgres');
	$locked->query_safe('BEGIN; LOCK TABLE uidgen_registry.worker_node');
	set_fault("end_failed $fault");
	fails_once_used_up('55000', "$NO_GRANT: the keeper ended during an attempt", "cleaning up, $fault: callers are told");
	$locked->query_safe('COMMIT');
	$locked->quit;
	set_fault();
	goes_on("cleaning up, $fault");
}
foreach my $fault ('error', 'fatal')
{
	set_fault("disconnect $fault");
	append_to_file($node->data_dir . '/more.conf',
		"uidgen.database = '" . ($fault eq 'error' ? 'other' : 'postgres') . "'\n");
	$node->reload;
	ok(meets("disconnect $fault"), "disconnect, $fault: it is met");
	set_fault();
	goes_on("disconnect, $fault");
}

# ---- shutdown ----

foreach my $fault ('error', 'lost', 'fatal')
{
	goes_on("before a release, $fault");
	set_fault("call release_worker $fault");
	$node->stop('fast');
	ok(meets('call release_worker'), "release, $fault: it is met");
	$node->start;
	set_fault();
	goes_on("after a release, $fault");
}
set_fault('call release_worker column release_worker perhaps');
$node->stop('fast');
like(
	log_since($node, $log),
	qr/the registry gave an answer that makes no sense\n.*uidgen_registry\.release_worker returned "perhaps" in column "release_worker"/,
	'an answer to a release that makes no sense is refused');
set_fault();
$node->start;
is($node->safe_psql('postgres', 'SELECT bool_or(released) FROM uidgen_registry.worker_node'), 'f', 'and nothing is handed back');
goes_on('after a release that makes no sense');
foreach my $operation ('call renew_worker_id', 'connect')
{
	set_fault("$operation silent");
	reconnect() if $operation eq 'connect';
	fails_once_used_up('55000', "$NO_GRANT.*the keeper got no grant", "$operation, silent: calls wait");
	$node->stop('fast');
	pass("$operation, silent: it does not keep the server from ending");
	set_fault();
	$node->start;
	goes_on("$operation, silent, restarted");
}

# ---- what callers ask ----

set_fault('is_missing yes');
is($node->safe_psql('postgres', 'SELECT state, last_error FROM uidgen.status'), 'failing|faulty link: nothing is there',
	'a registry that is missing shows in uidgen.status');
is($node->safe_psql('postgres', 'SELECT message FROM uidgen.diagnose()'), 'faulty link: nothing is there. Do not say so.',
	'and in the diagnosis');
fails_once_used_up('55000', "$NO_GRANT: faulty link: nothing is there.*DETAIL:  It is said so.*HINT:  Do not say so",
	'and callers are told');
set_fault('in_recovery yes');
is($node->safe_psql('postgres', 'SELECT state FROM uidgen.status'), 'recovery', 'the link says whether recovery counts');
fails_once_used_up('25006', 'uidgen issues no ids during recovery', 'and callers are told');
set_fault();
goes_on('both');

done_testing();
