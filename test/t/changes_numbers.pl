# uid_number_rows() gives 1, 2, 3 ... to all rows that are final: no number is left out or given twice, also beside writers that roll
# back, delete, commit late or are killed, with two callers, one of them in a pooled session, and when these are killed.  What is late
# gets a later number, and is counted; what is not final yet is left, and counted, and where nobody knows what is final there is an error.
#
# UIDGEN_CHANGES='--changes N' writes that many rows, with a kill for each 200,000.
use strict;
use warnings;

use FindBin;
use Getopt::Long 'GetOptionsFromString';
use IPC::Run;
use lib "$FindBin::RealBin/../perl";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use UidgenTest;

my $changes = 9_000;
GetOptionsFromString($ENV{UIDGEN_CHANGES} // '', 'changes=i' => \$changes) or die 'UIDGEN_CHANGES makes no sense';

my $node = uidgen_node('main', 'max_prepared_transactions = 10', 'max_connections = 100', "uidgen.window = '2s'", "log_statement = 'none'", 'restart_after_crash = on',
	'synchronous_commit = off', "max_wal_size = '4GB'", 'log_lock_waits = off');
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION uidgen;
CREATE EXTENSION uidgen_tools;
CREATE ROLE shop LOGIN; CREATE ROLE stranger LOGIN; CREATE ROLE member LOGIN IN ROLE shop;
CREATE SCHEMA shop AUTHORIZATION shop; GRANT ALL ON SCHEMA shop TO stranger;
SQL

sub as
{
	my ($role, $sql) = @_;
	return $node->safe_psql('postgres', $sql, extra_params => [ '-U', $role ]);
}

sub call
{
	my ($table, @more) = @_;
	return sprintf 'CALL uid_number_rows(%s)', join ', ', map({ "'$_'" } "shop.$table", 'id'), @more;
}

# The first one of a table.
sub begin
{
	my ($table) = @_;
	return as('shop', call($table) =~ s/\)$/, begin => true)/r);
}

# What a call answers, without the horizon.
sub numbers
{
	my @answer = split /\|/, as('shop', call(@_));
	return join ' ', @answer[ 0, 1, 2, 4 ];
}

sub is_final
{
	my ($table) = @_;
	return $node->poll_query_until('postgres', "SELECT coalesce(uid_horizon() >= max(id), false) FROM shop.$table");
}

# ---- what it answers ----

as('shop', 'CREATE TABLE shop.bill (id bigint PRIMARY KEY DEFAULT uid_next(), body text)');
like(begin('bill'), qr/^0\|0\|0\|\d+\|0$/, 'an empty table has no numbers');
as('shop', 'INSERT INTO shop.bill (body) SELECT n FROM generate_series(1, 12001) AS n');
is_final('bill');
is(numbers('bill'), '12001 0 12001 0', 'all rows get numbers, in several batches');
my $BY_NUMBER = "SELECT string_agg(b.body, ' ' ORDER BY n.number) FROM shop.bill AS b JOIN shop.bill_number AS n USING (id) WHERE n.number";
is(as('shop', "$BY_NUMBER IN (1, 2, 5000, 5001, 12001)"), '1 2 5000 5001 12001', '... in the order of their ids');
is(numbers('bill'), '0 0 12001 0', '... and once');
is(as('shop', q{SELECT count(*) FROM pg_attribute WHERE attrelid IN ('shop.bill_number'::regclass) AND attname IN ('number', 'id') AND atttypid = 'bigint'::regtype}), '2', 'the table of numbers has two columns');

# Not final yet.
my $open = $node->background_psql('postgres');
$open->query_safe(q{BEGIN; INSERT INTO shop.bill (body) VALUES ('a')});
as('shop', q{INSERT INTO shop.bill (body) VALUES ('b'), ('c')});
is(numbers('bill'), '0 0 12001 2', 'what an open transaction holds back is left, and counted');
$open->query_safe('COMMIT');
$open->quit;
is_final('bill');
is(numbers('bill'), '3 0 12004 0', '... until that has ended');
is(as('shop', "$BY_NUMBER > 12001"), 'a b c', '... and then comes in its place');

# Late, deleted.
as('shop', q{INSERT INTO shop.bill SELECT min(id) - 1, 'late' FROM shop.bill; INSERT INTO shop.bill (body) VALUES ('new')});
is_final('bill');
is(numbers('bill'), '2 1 12006 0', 'a row that comes later with a smaller id is late');
is(as('shop', "$BY_NUMBER > 12004"), 'late new', '... and gets a later number');
as('shop', q{DELETE FROM shop.bill WHERE body IN ('2', 'new'); INSERT INTO shop.bill (body) VALUES ('newer')});
is_final('bill');
is(numbers('bill'), '1 0 12007 0', 'the number of a row that was deleted is not given again');
as('shop', q{DELETE FROM shop.bill_number WHERE number > 12000; DELETE FROM shop.bill WHERE body IN ('12001', 'a', 'b', 'c', 'late', 'new', 'newer'); INSERT INTO shop.bill (body) VALUES ('newest')});
is_final('bill');
is(numbers('bill'), '1 0 12008 0', '... also if the number itself was deleted');
as('shop', q{INSERT INTO shop.bill SELECT min(id) - 1, 'late' FROM shop.bill; INSERT INTO shop.bill (body) VALUES ('x')});
is_final('bill');
is(numbers('bill', "uid_min(now() - interval '1 day')"), '2 1 12010 0', 'with a third argument, rows above an id are looked at');
as('shop', q{INSERT INTO shop.bill SELECT min(id) - 1, 'latest' FROM shop.bill});
is(numbers('bill', as('shop', 'SELECT max(id) FROM shop.bill')), '0 0 12010 0', '... and no others');
is(numbers('bill'), '1 1 12011 0', '... which a call without it finds');
as('shop', q{INSERT INTO shop.bill SELECT uid_max(now() + interval '1 year'), 'future'});
is(numbers('bill'), '0 0 12011 1', 'ids of the future wait, and are counted');
as('shop', q{DELETE FROM shop.bill WHERE body = 'future'});

# Where late rows must not be.
as('shop', q{CREATE TRIGGER hold_id BEFORE INSERT ON shop.bill FOR EACH ROW EXECUTE FUNCTION public.uid_hold_row('id')});
fails_with($node, q{INSERT INTO shop.bill SELECT max(id) - 1, 'late' FROM shop.bill}, '40001', qr//, 'a trigger with uid_hold_row() refuses late rows');

# ---- what it refuses ----

as('shop', <<'SQL');
CREATE VIEW shop.view AS SELECT 1::bigint AS id;
CREATE TABLE shop.no_key (id bigint NOT NULL); CREATE TABLE shop.nulls (id bigint UNIQUE); CREATE TABLE shop.small (id integer PRIMARY KEY); CREATE TABLE shop.pair (id bigint, x integer, PRIMARY KEY (id, x));
CREATE TABLE shop.parent (id bigint PRIMARY KEY); CREATE TABLE shop.child () INHERITS (shop.parent);
CREATE TABLE shop.hidden (id bigint PRIMARY KEY DEFAULT uid_next()); CREATE POLICY p ON shop.hidden USING (id % 2 = 0);
ALTER TABLE shop.hidden ENABLE ROW LEVEL SECURITY; ALTER TABLE shop.hidden FORCE ROW LEVEL SECURITY;
SQL
foreach (
	[ '2D000', "BEGIN; " . call('bill') . "; COMMIT", qr/invalid transaction termination/, 'a transaction block' ],
	[ '22004', "CALL uid_number_rows(NULL, 'id')", qr/may be null/, 'no table' ],
	[ '22004', "CALL uid_number_rows('shop.bill', NULL)", qr/may be null/, 'no column' ],
	[ '42P01', "CALL uid_number_rows(1, 'id')", qr/there is no table with OID 1/, 'an OID of nothing' ],
	[ '42809', call('view'), qr/"view" is not a table/, 'a view' ],
	[ '42703', "CALL uid_number_rows('shop.bill', 'none')", qr/table "bill" has no column "none"/, 'a column that there is not' ],
	map({ [ '55000', call($_), qr/column "id" of table "$_" is not a unique bigint/, $_ ] } qw(no_key nulls small pair)),
	map({ [ '42809', call($_), qr/table "$_" inherits from another one, or another one from it/, $_ ] } qw(parent)),
	[ '42501', call('hidden'), qr/row security hides rows of table "hidden"/, 'rows that a policy hides' ])
{
	my ($state, $sql, $pattern, $name) = @$_;
	fails_with($node, $sql, $state, $pattern, "refused: $name", 'postgres', 'shop');
}
foreach my $role ($node->safe_psql('postgres', 'SELECT current_user'), 'stranger')
{
	fails_with($node, "SET SESSION AUTHORIZATION \"$role\"; " . call('bill'), '42501', qr/table "shop"\."bill" belongs to role "shop".*Log in as role "shop"/s, "refused: $role, who is not the owner");
}
is(as('member', 'SET ROLE shop; ' . call('bill')) =~ s/\|\d{15,}\|/ /r, '0|0|12011 0', '... until a member has become it');
foreach my $level ('repeatable read', 'serializable')
{
	like(as('shop', "SET default_transaction_isolation = '$level'; " . call('bill')), qr/^0\|0\|12011\|/, "a session whose default is $level");
}

# By hand.
as('shop', q{INSERT INTO shop.bill_number VALUES (12012, 1)});
fails_with($node, call('bill'), '55000', qr/table "shop"\."bill_number" has numbers above the last one that was given, 12011/, 'a number that was written by hand ends it', 'postgres', 'shop');
as('shop', q{DELETE FROM shop.bill_number WHERE number = 12012; CREATE TABLE shop.put_by AS SELECT * FROM shop.bill_number_counter; DELETE FROM shop.bill_number_counter});
fails_with($node, call('bill'), '55000', qr/table "shop"\."bill_number_counter" has no row/, '... and so does a last number that was deleted', 'postgres', 'shop');
as('shop', q{INSERT INTO shop.bill_number_counter SELECT * FROM shop.put_by;
	CREATE FUNCTION shop.skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN CASE WHEN NEW.number % 2 = 0 THEN NEW END; END';
	CREATE TRIGGER skip BEFORE INSERT ON shop.bill_number FOR EACH ROW EXECUTE FUNCTION shop.skip();
	INSERT INTO shop.bill (body) VALUES ('x'), ('y')});
is_final('bill');
my $says = sub { return qr/table "bill" are not as they were made.*$_[0] of table "shop"\."$_[1]", which has the $_[2] of table "shop"\."bill", may change or leave out what is written there\.\nHINT:  .*DROP $_[0] ON "shop"\."$_[1]";/is };
fails_with($node, call('bill'), '55000', $says->('trigger "skip"', 'bill_number', 'numbers'), 'a trigger that leaves rows out would make a gap', 'postgres', 'shop');
as('shop', 'DROP TRIGGER skip ON shop.bill_number; CREATE RULE kept AS ON UPDATE TO shop.bill_number_counter DO INSTEAD NOTHING');
fails_with($node, call('bill'), '55000', $says->('rule "kept"', 'bill_number_counter', 'last number'), '... as would a rule', 'postgres', 'shop');
is(as('shop', q{SELECT class, what FROM uid_check_table('shop.bill')}), 'tell|rule "kept" of table "shop"."bill_number_counter", which has the last number of table "shop"."bill", may change or leave out what is written there', '... which the check tells');
as('shop', q{DROP RULE kept ON shop.bill_number_counter; CREATE FUNCTION shop.tell() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN IF current_setting('synchronous_commit') = 'off' THEN RAISE 'a crash would take numbers back'; END IF; NOTIFY numbered; RETURN NULL; END$$;
	ALTER ROLE shop SET synchronous_commit = off;
	CREATE TRIGGER tell AFTER INSERT ON shop.bill_number FOR EACH ROW EXECUTE FUNCTION shop.tell()});
is(numbers('bill') . as('shop', q{SELECT what FROM uid_check_table('shop.bill')}), '2 0 12013 0', '... and has made none; a trigger that tells of numbers afterwards is welcome');

# All tables published; partitions.
$node->safe_psql('postgres', 'SET client_min_messages = error; CREATE PUBLICATION everything FOR ALL TABLES WITH (publish_via_partition_root = true)');
as('shop', q{INSERT INTO shop.bill (body) VALUES ('x');
	CREATE TABLE shop.log (id bigint PRIMARY KEY DEFAULT uid_next()) PARTITION BY RANGE (id);
	SELECT FROM uid_partitions('shop.log', now() - interval '3 days', now() + interval '3 days', '1 day', true);
	INSERT INTO shop.log SELECT uid_min(now() - n * interval '1 day') FROM generate_series(1, 2) AS n; INSERT INTO shop.log DEFAULT VALUES});
is_final('bill') && is_final('log');
is(numbers('bill'), '1 0 12014 0', 'tables that are published are numbered');
$node->safe_psql('postgres', 'DROP PUBLICATION everything');
is(begin('log') =~ s/\|\d{15,}\|/ /r, '3|0|3 0', '... and tables with partitions');

# ---- nobody knows what is final ----

$node->safe_psql('postgres', q{BEGIN; INSERT INTO shop.bill (body) VALUES ('prepared'); PREPARE TRANSACTION 'p'});
$node->restart;
fails_with($node, call('bill'), '55000', qr/it is not known yet which rows are final.*uidgen\.horizon_holders/s, 'without a horizon there is an error, and not the answer that nothing is left', 'postgres', 'shop');
$node->safe_psql('postgres', q{COMMIT PREPARED 'p'});
is_final('bill');
is(numbers('bill'), '1 0 12015 0', '... and then it goes on');

# ---- beside writers ----

as('shop', <<'SQL');
CREATE TABLE shop.invoice (id bigint PRIMARY KEY DEFAULT uid_next(), kind text);
CREATE TABLE shop.said (numbered bigint, late bigint, last_number bigint, horizon bigint, remaining bigint);
CREATE TABLE shop.committed (id bigint PRIMARY KEY);
CREATE FUNCTION shop.note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO shop.committed VALUES (NEW.id); RETURN NULL; END';
CREATE TRIGGER note AFTER INSERT ON shop.invoice FOR EACH ROW EXECUTE FUNCTION shop.note();
SQL
my $folder = PostgreSQL::Test::Utils::tempdir();
my %writers = (
	automatic => [ 10, "INSERT INTO shop.invoice (kind) VALUES ('automatic');\n" ],
	long => [ 4, "\\set ms random(1, 60)\nBEGIN;\nINSERT INTO shop.invoice (kind) VALUES ('long');\n\\sleep :ms ms\nINSERT INTO shop.invoice (kind) VALUES ('long');\nCOMMIT;\n" ],
	rollback => [ 3, "BEGIN;\nINSERT INTO shop.invoice (kind) VALUES ('undone');\n\\sleep 3 ms\nROLLBACK;\n" ],
	savepoint => [ 2, "BEGIN;\nINSERT INTO shop.invoice (kind) VALUES ('savepoint');\nSAVEPOINT a;\nINSERT INTO shop.invoice (kind) VALUES ('undone');\nROLLBACK TO a;\nCOMMIT;\n" ],
	many => [ 2, "INSERT INTO shop.invoice (kind) SELECT 'many' FROM generate_series(1, 20);\n" ],
	late => [ 1, "\\set back random(1, 1000000000)\nINSERT INTO shop.invoice SELECT uid_next() - 1000000000000 - :back, 'late' ON CONFLICT DO NOTHING;\n" ],
	updated => [ 3, "UPDATE shop.invoice SET kind = kind || ' again' WHERE id IN (SELECT id FROM shop.invoice ORDER BY id DESC LIMIT 3) AND kind NOT LIKE '% again';\n" ],
	# of rows that have no number yet, so that numbering meets them
	deleted => [ 3, "DELETE FROM shop.invoice WHERE id IN (SELECT id FROM shop.invoice ORDER BY id DESC LIMIT 2);\n" ]);
append_to_file("$folder/$_", $writers{$_}[1]) foreach keys %writers;
begin('invoice');
append_to_file("$folder/number", call('invoice') . ";\n");
append_to_file("$folder/pooled", "SELECT pg_advisory_lock_shared(1), set_config('lock_timeout', '1min', false);\n" . call('invoice') . ";\n");

sub start_pgbench
{
	my ($role, @args) = @_;
	my $said = '';
	my $run = IPC::Run::start([ $node->installed_command('pgbench'), '-n', '-U', $role, '-h', $node->host, '-p', $node->port, @args, '--max-tries', 0, '-T', 1000000, 'postgres' ],
		'<', \undef, '>&', \$said);
	return { run => $run, said => \$said };
}

sub start_all
{
	my ($numbering) = @_;
	my $writing = start_pgbench('shop', '-c', 30, '-j', 2, '-l', '--log-prefix', "$folder/log_" . ($numbering ? 'beside' : 'alone'), map { ('-f', "$folder/$_\@$writers{$_}[0]") } sort keys %writers);
	return $writing if !$numbering;
	return ($writing, start_pgbench('shop', '-c', 2, '-R', 40, '-f', "$folder/number"), start_pgbench('shop', '-c', 1, '-R', 10, '-M', 'prepared', '-f', "$folder/pooled"));
}

# Its output has to be taken before it is known.
sub has_ended
{
	my ($run) = @_;
	$run->pump_nb if $run->pumpable;
	return !$run->pumpable;
}

sub stop_all
{
	foreach my $bench (@_)
	{
		$bench->{run}->signal('TERM');
		eval { $bench->{run}->finish };
	}
	return $node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()});
}

# Numbers are 1 to n, whatever has happened, and each of a row that was committed.
sub is_whole
{
	my ($name) = @_;
	is(as('shop', q{SELECT concat_ws(' ', min(n.number) = 1, max(n.number) = count(*), max(n.number) = (SELECT number FROM shop.invoice_number_counter),
		count(*) FILTER (WHERE NOT EXISTS (SELECT FROM shop.committed AS c WHERE c.id = n.id))) FROM shop.invoice_number AS n}), 't t t 0', $name);
	return;
}

# How long transactions of one statement took.
sub latencies
{
	my ($which) = @_;
	my @kinds = sort keys %writers;
	my ($automatic) = grep { $kinds[$_] eq 'automatic' } 0 .. $#kinds;
	return map { my @f = split / /; $f[3] == $automatic ? $f[2] / 1e6 : () } map { split /\n/, slurp_file($_) } glob "$folder/log_$which*";
}

sub rows
{
	return $node->safe_psql('postgres', 'SELECT count(*) FROM shop.committed');
}

my @alone = start_all(0);
ok(poll_until(sub { return rows() >= $changes / 4 }, 3600), 'writers write alone');
stop_all(@alone);
note('a row alone: ' . spread(latencies('alone')));
my $log = -s $node->logfile;
my @beside = start_all(1);
ok(poll_until(sub { return rows() >= $changes / 2 }, 3600), '... and beside the numbering');
# Writers have deadlocks of their own, the more the slower they are; the log names all that are part of one, whoever is broken off.
my $logged = log_since($node, $log);
stop_all(@beside);
note(scalar(() = $logged =~ /ERROR:  deadlock detected/g) . ' deadlocks of writers');
unlike($logged, qr/(?:Process \d+:|STATEMENT:) +CALL uid_number_rows/, '... which is part of no deadlock, and meets no error');
note('a row beside the numbering: ' . spread(latencies('beside')));
is_whole('the numbers are 1 to n');

# Whoever is killed: by pg_terminate_backend(), as one session, and by kill -9, which takes the server down.
my $kills = 2 + int($changes / 200_000);
my $numbered_beside = 0;
foreach my $kill (1 .. $kills)
{
	my @all = start_all(1);
	my $goal = rows() + $changes / 2 / $kills;
	my $ended = 0;
	poll_until(sub {
			$ended += $node->safe_psql('postgres', q{SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity WHERE usename = 'shop' AND backend_type = 'client backend' ORDER BY random() LIMIT 1) AS a}) if $kill % 2 && $ended < 20;
			$all[1] = start_pgbench('shop', '-c', 2, '-R', 40, '-f', "$folder/number") if has_ended($all[1]{run});
			return rows() >= $goal;
		}, 3600);
	if ($kill % 2 == 0)
	{
		# It may have begun later than the writers.
		my $pid;
		poll_until(sub { $pid = $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE query LIKE 'CALL uid_number_rows%' ORDER BY state <> 'active' LIMIT 1}) }) or die 'nobody calls';
		$log = -s $node->logfile;
		kill 'KILL', $pid;
		ok(await_recovery($node, $log), 'a caller is killed, and the server recovers');
	}
	stop_all(@all);
	is_whole('... the numbers are 1 to n');
}

# All rows, in the order of their ids but for those that were late.
is_final('invoice');
as('shop', call('invoice'));
is(as('shop', q{SELECT count(*) FROM shop.invoice AS i WHERE NOT EXISTS (SELECT FROM shop.invoice_number AS n WHERE n.id = i.id)}), '0', 'in the end all rows have numbers');
is_whole('... and the numbers are 1 to n');
is(as('shop', q{SELECT count(*) FROM (SELECT i.kind, n.id, max(n.id) OVER (ORDER BY n.number ROWS UNBOUNDED PRECEDING) AS highest
	FROM shop.invoice_number AS n JOIN shop.invoice AS i USING (id)) AS x WHERE x.id < x.highest AND x.kind NOT LIKE 'late%'}), '0', '... in the order of the ids, but for rows that came with a smaller id');
my $late = as('shop', q{SELECT count(*) FROM (SELECT n.id, max(n.id) OVER (ORDER BY n.number ROWS UNBOUNDED PRECEDING) AS highest FROM shop.invoice_number AS n) AS x WHERE x.id < x.highest});
cmp_ok($late, '>', 0, '... of which there were some');
my $deleted = as('shop', q{SELECT count(*) FROM shop.invoice_number AS n WHERE NOT EXISTS (SELECT FROM shop.invoice AS i WHERE i.id = n.id)});
note(as('shop', q{SELECT count(*) FROM shop.invoice_number}) . " numbers, $late of late rows, $deleted of rows that were deleted since");

$node->stop;
done_testing();
