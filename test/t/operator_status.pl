# uidgen.status and uidgen.diagnose() tell the truth before the first id, with a
# grant, after it ran out, and where something is missing; everyone may ask what to
# do, members of pg_monitor what went wrong.  pg_regress cannot change settings of
# the server, nor wait for a grant to run out.
# Promise: none; part: src/functions/status.c
# Kills: src/functions/status.c find_state: if (uidgen_link()->is_missing(&look->failure) || look->failure.sqlerrcode != 0) => if (uidgen_link()->is_missing(&look->failure) && look->failure.sqlerrcode != 0)

use FindBin;
use lib "$FindBin::RealBin/../perl";
use UidgenTest;

my $node = uidgen_node('main', 'uidgen.window = 500ms');
$node->start;

sub query
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

# The same by a role that has no rights of its own.
sub anyone
{
	my ($sql) = @_;
	return query("SET ROLE anyone; $sql");
}

# Asks for nothing but the state: no call makes the keeper try.
my $STATE = 'SELECT state, worker_id IS NULL, granted_until IS NULL, last_error FROM uidgen.status';

sub set_database
{
	my ($database) = @_;
	query("ALTER SYSTEM SET uidgen.database = '$database'");
	$node->reload;
	ok($node->poll_query_until('postgres', "SELECT current_setting('uidgen.database') = '$database'"),
		"uidgen.database is $database");
}

# Between two attempts the keeper shows as idle.  Each time after one more: after a while
# without any, another keeper takes its place, and shows nothing yet.
sub keeper_rests
{
	my ($sql, $name) = @_;
	return ok(
		poll_until(
			sub {
				query($sql);
				return query("SELECT state FROM pg_stat_activity WHERE backend_type = 'uidgen keeper'") eq 'idle';
			}),
		$name);
}

query('CREATE ROLE anyone');
query('CREATE EXTENSION uidgen');
query('CREATE DATABASE taken');
$node->safe_psql('taken', 'CREATE SCHEMA uidgen_registry');

# ---- idle and granted ----

is(query($STATE), 'idle|t|t|', 'before the first id the state is idle, without a worker id');
is(query('SELECT renewals, failures, waits FROM uidgen.status'), '0|0|0', 'and nothing has been counted');
ok(poll_until(sub { anyone('SELECT severity FROM uidgen.diagnose()') eq 'ok' }), 'nothing is missing');
is(query($STATE), 'idle|t|t|', '... for which nothing was granted');
ok(poll_until(sub { anyone('SELECT uidgen.ask_for_grant()') eq 'ok' }), 'a grant without an id');
like(query($STATE), qr/^(granted|idle)\|f\|f\|$/, '... is a grant');

# A grant lasts half a second, which is short on a busy machine.
ok( poll_until(sub { query('DO $$ BEGIN PERFORM uid_next(); END $$; SELECT state FROM uidgen.status') eq 'granted' }),
	'with a grant that reaches beyond the clock it is granted');
keeper_rests('SELECT uid_next()', 'a keeper that got a grant shows as idle');
my $worker = query('SELECT worker_id FROM uidgen.status');

# Everybody may ask, so while a grant is in force an answer costs the registry nothing.
query("ALTER SYSTEM SET uidgen.\"window\" = '1h'");
$node->reload;
query('SELECT message FROM uidgen.diagnose()');
ok(poll_until(sub { query("DO \$\$ BEGIN PERFORM uid_next(); END \$\$; SELECT granted_until > now() + interval '50 minutes' FROM uidgen.status") eq 't' }),
	'a grant for an hour');
my $renewals = query('SELECT renewals FROM uidgen.status');
is(anyone("BEGIN READ ONLY; SELECT count(*), min(d.severity), max(d.severity) FROM generate_series(1, 500), uidgen.diagnose() AS d; COMMIT"), '500|ok|ok',
	'a thousand answers');
is(query('SELECT renewals FROM uidgen.status'), $renewals, '... and no renewal');
query('ALTER SYSTEM RESET uidgen."window"');
$node->restart;
query('SELECT uid_next()');
$worker = query('SELECT worker_id FROM uidgen.status');
ok($node->poll_query_until('postgres', "SELECT state = 'idle' FROM uidgen.status"),
	'when the grant has run out, it is idle');
is(query('SELECT worker_id, granted_until < now(), ahead, last_error IS NULL FROM uidgen.status'), "$worker|t|00:00:00|t",
	'the worker id is kept');
is(query('SELECT worker FROM uid_parse(uid_next())'), $worker, 'and the next call has its grant renewed');

# ---- failing ----

# No call is needed to find that out.
set_database('nowhere');
my $missing = 'database "nowhere" does not exist';
is(query('SELECT state, last_error FROM uidgen.status'), "failing|$missing",
	'where the database does not exist, the state is failing and says why');
is(anyone('SELECT state, last_error IS NULL FROM uidgen.status'), 'failing|t', 'the reason is not for everyone');
my $advice = "$missing. Create the database, or name another one in the setting \"uidgen.database\".";
foreach my $who (\&query, \&anyone)
{
	ok(poll_until(sub { $who->('SELECT * FROM uidgen.diagnose()') eq "error|$advice" }), 'what to do is');
}

set_database('taken');
foreach my $who (\&query, \&anyone)
{
	ok(poll_until(sub { $who->('SELECT message FROM uidgen.diagnose()') =~ /^the registry of worker ids cannot be made in database "taken", which has a schema "uidgen_registry" already\. .*Rename or drop/ }),
		'where the registry cannot be made, diagnose() says what to do');
}
is(query("SELECT state, last_error ~ 'cannot be made' FROM uidgen.status"), 'failing|t', 'and the state is failing');
keeper_rests('SELECT message FROM uidgen.diagnose()', 'and so does one that got none');

set_database('postgres');
ok(poll_until(sub { anyone('SELECT severity FROM uidgen.diagnose()') eq 'ok' }), 'once all is there again, nothing is missing');
like(query('SELECT state, last_error FROM uidgen.status'), qr/^(granted|idle)\|$/, 'and the state is good');

done_testing();
