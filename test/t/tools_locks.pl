# Every tool on tables in use, by readers and writers, a report and a dump: no statement of the application fails, none is the victim of a deadlock, and none
# waits for longer than a tool's patience and a second.  How much slower the machine is than that, the same statements tell without a tool.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use SqlEdition;
use Twins;
use UidgenTest;

my $node;
my $timeout = 2 * $PostgreSQL::Test::Utils::timeout_default;

sub psql_begin
{
	my ($role, $sql, $said) = @_;
	return IPC::Run::start([ $node->installed_command('psql'), '-XAtq', '-v', 'ON_ERROR_STOP=1', '-U', $role, '-d', $node->connstr('app'), map({ ('-c', $_) } ref $sql ? @$sql : $sql) ], '<', \undef, '>&', $said, IPC::Run::timeout($timeout));
}

# What a session of the application does over and over, each statement a transaction that is planned anew.
sub application
{
	my @statements = @_;
	my $list = join ', ', map { "\$q\$$_\$q\$" } @statements;
	return <<"SQL";
DO \$do\$
DECLARE
	q text;
	begun timestamptz;
BEGIN
	WHILE NOT EXISTS (SELECT FROM stop) LOOP
		FOREACH q IN ARRAY ARRAY[$list] LOOP
			begun := clock_timestamp();
			EXECUTE q;
			COMMIT;
			IF clock_timestamp() - begun > interval '5 ms' THEN
				INSERT INTO delay VALUES (begun, clock_timestamp() - begun, q);
			END IF;
			PERFORM nextval('done'), pg_sleep(0.003);
		END LOOP;
	END LOOP;
END
\$do\$
SQL
}

# (SQLSTATE or '', all that it says)
sub tool
{
	my ($sql) = @_;
	my $said = as($node, 'shop', 'app', "SET client_min_messages = warning; $sql");
	return ($said =~ /ERROR:  (\w+)/ ? $1 : '', $said);
}

foreach my $kind (kinds())
{
	$node = twin_node($kind, "timezone = 'UTC'", 'log_statement = none', 'max_connections = 40', 'max_prepared_transactions = 1');
	$node->start;
	$node->safe_psql('postgres', 'CREATE DATABASE app; CREATE ROLE shop LOGIN; CREATE ROLE plain LOGIN; GRANT SET ON PARAMETER deadlock_timeout, track_functions TO shop');
	put_twin_in($kind, $node, 'app');
	$node->safe_psql('app', 'GRANT CREATE ON SCHEMA public TO shop');
	is((tool(q{
		CREATE TABLE event (id bigint PRIMARY KEY DEFAULT uid_next(), body text) PARTITION BY RANGE (id);
		SELECT FROM uid_partitions('event', now() - interval '400 days', now() + interval '1 day', '7 days', true);
		INSERT INTO event SELECT uid_min(now() - n * interval '1 day'), 'old' FROM generate_series(1, 400) AS n;
		CREATE TABLE item (id bigserial PRIMARY KEY, body text);
		INSERT INTO item (body) SELECT repeat('x', 100) FROM generate_series(1, 3000);
		CREATE TABLE part (id serial PRIMARY KEY, item_id bigint REFERENCES item);
		CREATE TABLE stop (); CREATE TABLE delay (begun timestamptz, took interval, statement text); CREATE SEQUENCE done}))[1], '', 'tables');

	# ---- the application, at first alone ----

	my @said = ('') x 5;
	my @sessions = map { psql_begin('shop', application(@{ $_->[1] }), \$said[ $_->[0] ]) }
		[ 0, [ q{SELECT count(*) FROM event WHERE body = 'nothing'}, 'SELECT count(*) FROM item' ] ],
		[ 1, [ q{INSERT INTO event (body) VALUES ('new')}, 'SELECT max(id) FROM event', 'SELECT FROM part LIMIT 1' ] ],
		[ 2, [ q{INSERT INTO event (body) SELECT 'new' FROM generate_series(1, 3)}, q{INSERT INTO item (body) VALUES ('new')} ] ],
		[ 3, [ q{UPDATE item SET body = 'changed' WHERE id = (SELECT max(id) FROM item)}, 'DELETE FROM item WHERE id = (SELECT min(i.id) FROM item AS i LEFT JOIN part AS p ON p.item_id = i.id WHERE p.id IS NULL)' ] ],
		[ 4, [ 'INSERT INTO part (item_id) SELECT max(id) FROM item', 'SELECT count(*) FROM item AS i JOIN part AS p ON p.item_id = i.id', 'DELETE FROM part WHERE id < (SELECT max(id) - 20 FROM part)' ] ];
	my $done = 'SELECT last_value FROM done';
	my $more = sub { my $before = $node->safe_psql('app', $done); return $node->poll_query_until('app', "SELECT last_value > $before + $_[0] FROM done") };
	ok($more->(500), 'an application is at work');
	my $bound = $node->safe_psql('app', q{SELECT interval '1.5 s' + 5 * coalesce(max(took), '0') FROM delay});
	my $alone = $node->safe_psql('app', 'SELECT clock_timestamp()');

	# ---- tools beside it, a report and a dump ----

	my $report = $node->background_psql('app');
	$report->query_safe('BEGIN; SELECT count(*) FROM event; SELECT count(*) FROM item; SELECT count(*) FROM part');
	# It holds its locks until somebody reads what it writes.
	open(my $dump, '-|', $node->installed_command('pg_dump'), '-t', 'event*', '-t', 'item', '-t', 'part', '-d', $node->connstr('app')) or die;
	ok($node->poll_query_until('app', q{SELECT count(*) > 2 FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid) WHERE a.query LIKE 'COPY %' AND l.relation IN ('event'::regclass, 'item'::regclass, 'part'::regclass)}), 'a report and a dump are under way');
	my @calls = (
		[ partitions => q{SELECT FROM uid_partitions('event', now(), now() + interval '28 days', '7 days', true)} ],
		[ drop => q{SELECT FROM uid_drop_partitions('event', now() - interval '350 days', true)} ],
		[ adopt => q{SELECT FROM uid_adopt('item', 'id', true)} ], [ 'adopt a column that grows' => q{SELECT FROM uid_adopt('part', 'id', true)} ],
		[ track => q{SELECT FROM uid_track_changes('item', execute => true)} ], [ 'track partitions' => q{SELECT FROM uid_track_changes('event', execute => true)} ],
		[ number => "CALL uid_number_rows('item', 'id', begin => to_regclass('item_number') IS NULL)" ], [ purge => q{SELECT uid_purge_deleted('item', now())} ],
		map({ [ $_ => "SELECT count(*) FROM $_('event')" ] } qw(uidgen_tools.check_partitions uid_check_table)));
	my %state = map { my ($name, $sql) = @$_; my ($state, $text) = tool($sql); $more->(20); $name => $state eq '' || $text =~ /55P03/ ? $state : $text } @calls;
	is_deeply([ grep { !/^(?:|55P03)$|the changes of table "item" are not tracked/ } values %state ], [], 'beside them a tool does its work, or gives way');
	is("$state{partitions} $state{drop} $state{'uidgen_tools.check_partitions'}", ' 55P03 ', '... partitions are made, and none is dropped');
	$report->query_safe('COMMIT');
	$report->quit;
	1 while <$dump>;
	ok(close $dump, '... and the dump is whole');

	# ---- tools beside it alone, each of which tries again ----

	foreach my $call (@calls)
	{
		my ($name, $sql) = @$call;
		my ($state, $text);
		ok(poll_until(sub { ($state, $text) = tool($sql); return $state ne '55P03' }), "$name: comes to an end");
		is($state, '', '... and has done its work') or diag($text);
		$more->(20);
	}
	my $gone = 0;
	foreach my $days (map { 350 - 14 * $_ } 1 .. 10)
	{
		my $text;
		poll_until(sub { (my $state, $text) = tool("SELECT count(*) FROM uid_drop_partitions('event', now() - interval '$days days', true)"); return $state ne '55P03' });
		$gone++ if $text =~ /^[123]$/m;
		tool("SELECT FROM uid_partitions('event', now(), now() + interval '@{[ 400 - $days ]} days', '7 days', true)");
	}
	is($gone, 10, 'partitions come and go');
	$node->safe_psql('app', 'INSERT INTO stop DEFAULT VALUES');
	$_->finish foreach @sessions;
	is(join('', @said), '', 'no statement of the application has failed');
	unlike(log_since($node, 0), qr/deadlock detected/, '... and there was no deadlock');
	is($node->safe_psql('app', "SELECT took, statement FROM delay WHERE begun > '$alone' AND took > '$bound' ORDER BY took DESC LIMIT 3"), '', "... nor has any waited for longer than $bound");

	# ---- a program takes a stronger lock on a table that a tool waits for ----

	is((tool(q{
		CREATE TABLE wide (id bigserial PRIMARY KEY); CREATE TABLE narrow (id serial PRIMARY KEY); CREATE TABLE narrow_line (narrow integer REFERENCES narrow);
		CREATE TABLE tracked (id bigint PRIMARY KEY DEFAULT uid_next()); CREATE TABLE parted (id bigint PRIMARY KEY DEFAULT uid_next()) PARTITION BY RANGE (id);
		CREATE TABLE parted_rest PARTITION OF parted DEFAULT; INSERT INTO parted VALUES (1)}))[1], '', 'tables');
	foreach my $case (
		[ wide => q{SELECT FROM uid_adopt('wide', 'id', true)} ], [ narrow => q{SELECT FROM uid_adopt('narrow', 'id', true)} ],
		[ tracked => q{SELECT FROM uid_track_changes('tracked', execute => true)} ],
		[ parted_rest => q{SELECT FROM uid_partitions('parted', now(), now() + interval '1 day', '1 day', true)} ])
	{
		my ($table, $sql) = @$case;
		# Of several calls one does it, and the others find it done.
		my @waiting = ('') x 3;
		my $program = $node->background_psql('app', on_error_stop => 0, extra_params => [ '-U', 'shop' ]);
		$program->query("BEGIN; INSERT INTO $table SELECT 2");
		my @tools = map { psql_begin('shop', "SET client_min_messages = warning; SET lock_timeout = '1min'; SET deadlock_timeout = '5min'; $sql", \$_) } @waiting;
		poll_until(sub { $_->pumpable && eval { $_->pump_nb } foreach @tools; return "@waiting" =~ /ERROR/ || $node->safe_psql('app', q{SELECT count(*) = 3 FROM pg_stat_activity WHERE usename = 'shop' AND wait_event_type = 'Lock'}) eq 't' });
		$program->query("TRUNCATE $table" . ($table eq 'narrow' ? ', narrow_line' : '') . '; COMMIT');
		is($program->{stderr}, '', "$table: a program that calls wait for takes a stronger lock");
		$program->quit;
		$_->finish foreach @tools;
		unlike(join('', @waiting), qr{ERROR}, '... and no call fails');
	}

	# ---- what is found before a lock has changed behind it ----

	is((tool(q{CREATE TABLE bill (id bigint PRIMARY KEY, other bigint NOT NULL UNIQUE); INSERT INTO bill SELECT n, n + 10 FROM generate_series(1, 3) AS n; CALL uid_number_rows('bill', 'id', begin => true)}))[1] =~ s/^3\|0\|3\|.*//r, '', 'three numbers');
	my $past = q{uid_drop_partitions('ring', now() - interval '4 months', true, true)};
	is((tool(q{CREATE TABLE ring (id bigint PRIMARY KEY, body text) PARTITION BY RANGE (id); CREATE TABLE keyed (id bigint PRIMARY KEY, other bigint); SELECT FROM uid_partitions('ring', now() - interval '7 months', now(), '1 month', true)}))[1], '', '... and partitions');
	is((tool(q{CREATE TABLE parcel (id bigint PRIMARY KEY); SELECT uid_track_changes('parcel', execute => true); INSERT INTO parcel VALUES (1), (2); DELETE FROM parcel}))[0], '', '... and deleted keys');

	my ($low, $high, $layout) = split /\|/, (tool(q{SELECT uid_min(now() + interval '2 months'), uid_min(now() + interval '3 months'), substring(obj_description(inhrelid) from '"(.*)"') FROM pg_inherits WHERE inhparent = 'ring'::regclass LIMIT 1}))[1];
	my ($oldest, $second) = split /\n/, (tool(q{SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'ring'::regclass ORDER BY 1 LIMIT 2}))[1];
	foreach my $case (
		[ 'a column exchanged' => q{ALTER TABLE bill RENAME id TO x; ALTER TABLE bill RENAME other TO id} => q{CALL uid_number_rows('bill', 'id')} => qr/ERROR:  column "id" is not the one by which the rows of table "bill" are numbered/ ],
		[ 'a column unique no more' => q{ALTER TABLE bill DROP CONSTRAINT bill_pkey} => q{CALL uid_number_rows('bill', 'x')} => qr/ERROR:  column "x" of table "bill" is not a unique bigint/ ],
		[ 'another primary key' => 'ALTER TABLE keyed DROP CONSTRAINT keyed_pkey, ADD PRIMARY KEY (other)' => q{SELECT FROM uid_adopt('keyed', execute => true); SELECT attname FROM pg_attribute WHERE attrelid = 'keyed'::regclass AND atthasdef} => qr/^other$/m ],
		[ 'changes tracked no more' => 'SET LOCAL client_min_messages = warning; LOCK TABLE parcel_deleted; DROP FUNCTION parcel_deleted() CASCADE' => q{SELECT uid_purge_deleted('parcel', now())} => qr/ERROR:  the changes of table "parcel" are not tracked/ ],
		[ 'another range' => "ALTER TABLE ring DETACH PARTITION $oldest; ALTER TABLE ring ATTACH PARTITION $oldest FOR VALUES FROM ($low) TO ($high); COMMENT ON TABLE $oldest IS 'uidgen: ids of layout \"$layout\" from $low to $high'; INSERT INTO ring VALUES ($low)" => "SELECT $past" => qr/\A(?!.*$oldest).*^DROP TABLE "public"\."$second";$/ms ])
	{
		my ($what, $change, $sql, $says) = @$case;
		my $program = $node->background_psql('app', extra_params => [ '-U', 'shop' ]);
		$program->query_safe("BEGIN; $change");
		my $waiting = psql_begin('shop', [ "SET application_name = 'waiting'; SET client_min_messages = warning; SET lock_timeout = '1min'; SET deadlock_timeout = '5min'", $sql ], \my $said);
		ok($node->poll_query_until('app', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'waiting' AND wait_event_type = 'Lock'}), "$what: a call waits");
		$program->query_safe('COMMIT');
		$program->quit;
		$waiting->finish;
		like($said, $says, '... and sees it');
	}

	# ---- the waits of a tool together are no longer than one may be ----

	$node->safe_psql('app', 'CREATE ROLE super LOGIN SUPERUSER');
	is((tool(q{CREATE TABLE a1 (id serial PRIMARY KEY); CREATE TABLE b1 (a integer REFERENCES a1); CREATE TABLE c1 (a integer REFERENCES a1); CREATE TABLE d1 (a integer REFERENCES a1)}))[1], '', 'tables');
	my @parts = split /\n/, (tool(q{SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'ring'::regclass ORDER BY 1}))[1];
	# Partitions of a tracked table that come from others, and such as have gone.
	is((tool(join '', map { "CREATE TABLE $_ (id bigint PRIMARY KEY) PARTITION BY RANGE (id); SELECT FROM uid_track_changes('$_', execute => true);" } qw(m1 m2 m3 m4 m5)))[0], '', '... and tracked tables');
	is((tool(join '', (map { my $from = $_ < 4 ? "m$_" : 'm4'; "CREATE TABLE p$_ PARTITION OF $from FOR VALUES FROM ($_) TO ($_ + 1); SELECT FROM uid_track_changes('$from', execute => true);" } 1 .. 6),
		(map { "ALTER TABLE m$_ DETACH PARTITION p$_; ALTER TABLE m5 ATTACH PARTITION p$_ FOR VALUES FROM ($_) TO ($_ + 1);" } 1 .. 3), map { "ALTER TABLE m4 DETACH PARTITION p$_;" } 4 .. 6))[0], '', '... with partitions');
	is((tool(join '', (map { "CREATE TABLE r$_ (id bigint PRIMARY KEY);" } 1 .. 3), 'CREATE TABLE f (id bigint PRIMARY KEY DEFAULT uid_next(), a bigint REFERENCES r1, b bigint REFERENCES r2, c bigint REFERENCES r3) PARTITION BY RANGE (id); CREATE TABLE f_rest PARTITION OF f DEFAULT'))[0], '', '... and what partitions refer to');
	is((tool(join '', (map { "CREATE TABLE k$_ (id bigint PRIMARY KEY);" } 1 .. 3), q{CREATE TABLE log (id bigint PRIMARY KEY, a bigint, b bigint, c bigint) PARTITION BY RANGE (id); SELECT FROM uid_partitions('log', now() - interval '3 months', now() - interval '2 months', '1 month', true);
		DO $$ BEGIN EXECUTE format('ALTER TABLE %s ADD FOREIGN KEY (a) REFERENCES k1, ADD FOREIGN KEY (b) REFERENCES k2, ADD FOREIGN KEY (c) REFERENCES k3', (SELECT min(inhrelid)::regclass FROM pg_inherits WHERE inhparent = 'log'::regclass)); END $$}))[0], '', '... and what a partition alone refers to');
	foreach my $case ([ f_rest => q{SELECT FROM uid_partitions('f', now(), now() + interval '1 day', '1 day', true)}, qw(r1 r2 r3) ], [ a1 => "SELECT FROM uid_adopt('a1', 'id', true)", qw(b1 c1 d1) ], [ ring => "SELECT FROM uid_drop_partitions('ring', now() - interval '1 month', true, true)", @parts ],
		[ log => "SELECT FROM uid_drop_partitions('log', now(), true, true)", qw(k1 k2 k3) ],
		[ m5 => "SELECT FROM uid_track_changes('m5', execute => true)", qw(m1_deleted m2_deleted m3_deleted) ], [ m4 => "SELECT FROM uid_track_changes('m4', execute => true)", qw(p4 p5 p6) ])
	{
		my ($first, $sql, @rest) = @$case;
		my @readers = map { $node->background_psql('app') } 0, 1;
		$readers[$_]->query_safe("BEGIN; LOCK TABLE $rest[$_] IN ROW EXCLUSIVE MODE") foreach 0, 1;
		my $latch = $node->background_psql('app');
		$latch->query_safe('SELECT pg_advisory_lock(1)');
		my $program = psql_begin('super', "SET deadlock_timeout = '3s'; BEGIN; LOCK TABLE $rest[2] IN ROW EXCLUSIVE MODE; SELECT pg_advisory_lock(1); SELECT FROM $first; COMMIT", \my $failed);
		my $is_there = sub { return $node->poll_query_until('app', "SELECT count(*) > 0 FROM pg_locks WHERE $_[0]") };
		ok($is_there->("locktype = 'advisory' AND NOT granted"), "$first: a program has a lock that the tool will wait for");
		my $tool = psql_begin('shop', "SET application_name = 'tool'; SET client_min_messages = warning; SET lock_timeout = '1min'; SET deadlock_timeout = '3s'; $sql", \my $said);
		ok($is_there->("relation = '$first'::regclass AND mode = 'AccessExclusiveLock'"), '... and wants that which the tool has');
		$latch->quit;
		foreach my $n (0, 1)
		{
			$node->poll_query_until('app', qq{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'tool'
				AND NOT EXISTS (SELECT FROM pg_locks AS l WHERE relation = '$rest[$n]'::regclass AND NOT granted AND waitstart < clock_timestamp() - interval '1.2 s')});
			$readers[$n]->quit;
		}
		$_->finish foreach $tool, $program;
		like($said, qr/ERROR:  table "public"\."\w+" is in use/, '... which gives way');
		unlike($failed, qr/\w/, '... to the program');
	}

	# ---- others wait for what is left, and not for all that is made ----

	$node->safe_psql('app', 'CREATE TABLE theirs (id bigint PRIMARY KEY); ALTER TABLE theirs OWNER TO plain; GRANT REFERENCES ON theirs TO shop');
	is((tool(q{ALTER TABLE f ADD FOREIGN KEY (a) REFERENCES theirs; DO $$BEGIN FOR n IN 1 .. 30 LOOP EXECUTE format('CREATE TABLE tracked_%s (id integer PRIMARY KEY)', n); PERFORM uid_track_changes('tracked_' || n, execute => true); END LOOP; END$$}))[0], '', 'a table of another role is referred to, and many are tracked');
	$node->safe_psql('app', q{CREATE FUNCTION see() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING '% %', tg_tag, (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND mode IN ('ShareRowExclusiveLock', 'AccessExclusiveLock') AND relation IN (SELECT oid FROM pg_class WHERE relname IN ('r1', 'r2', 'r3', 'f_rest', 'theirs'))); END $$;
		CREATE EVENT TRIGGER see ON ddl_command_start WHEN TAG IN ('CREATE TABLE', 'ALTER TABLE') EXECUTE FUNCTION see()});
	my $months = q{SELECT count(*) FROM uid_partitions('f', now(), now() + interval '120 days', '1 day', true)};
	my ($state, $text) = tool("SET client_min_messages = notice; $months");
	is(join(' ', ($text =~ /^.*WARNING:  (?:\w+: )?((?:CREATE|ALTER) TABLE \d+)$/mg)[99, 100]), 'CREATE TABLE 0 ALTER TABLE 4', 'tables are made before others are locked') or diag(substr $text, 0, 1000);
	like($text, qr/^100\n.*2[01] partitions of table "f" are left\n/ms, '... 100 at most');
	$node->safe_psql('app', 'DROP EVENT TRIGGER see');
	like((tool($months))[1], qr/^(?:20|21)$/m, '... and the next call makes the others');
	my $hours = q{SELECT count(*) FROM uid_drop_partitions('hours', now() - interval '1 hour', true, true)};
	like((tool("CREATE TABLE hours (id bigint PRIMARY KEY) PARTITION BY RANGE (id); SELECT FROM uid_partitions('hours', now() - interval '131 hours', now() - interval '40 hours', '1 hour', true); SELECT FROM uid_partitions('hours', now() - interval '40 hours', now(), '1 hour', true); SET client_min_messages = notice; SET track_functions = 'pl'; BEGIN; $hours; SELECT string_agg(calls::text, ' ' ORDER BY funcname) FROM pg_stat_xact_user_functions WHERE funcname IN ('list_dependents', 'seek_tracking'); COMMIT; $hours"))[1],
		qr/\A100\n(?:229|230) \d\n(?:29|30)\n.*NOTICE:  (?:\w+: )?(?:29|30) partitions of table "hours" are left\n/s, 'one call drops 100 partitions at most, and looks only at these under the lock');
	is((tool(q{CREATE TABLE deep (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
		DO $$ DECLARE low bigint; BEGIN FOR n IN 1 .. 3 LOOP
			low := uid_min(now() - n * interval '1 month');
			EXECUTE format('CREATE TABLE deep_%s PARTITION OF deep FOR VALUES FROM (%s) TO (%s) PARTITION BY HASH (id); COMMENT ON TABLE deep_%1$s IS %4$L', n, low, low + 1, format('%s from %s to %s', (SELECT substring(obj_description(inhrelid) FROM '.*"') FROM pg_inherits WHERE inhparent = 'hours'::regclass LIMIT 1), low, low + 1));
			FOR m IN 0 .. 39 LOOP EXECUTE format('CREATE TABLE deep_%s_%s PARTITION OF deep_%1$s FOR VALUES WITH (MODULUS 40, REMAINDER %2$s)', n, m); END LOOP;
		END LOOP; END $$; SELECT count(*) FROM uid_drop_partitions('deep', now(), true, true); SELECT count(*) FROM uid_drop_partitions('deep', now(), true, true)}))[1], "2\n1", '... with theirs');

	# ---- who is in the way is told ----

	my $reader = $node->background_psql('app', extra_params => [ '-U', 'shop' ]);
	my $pid = $reader->query_safe('SELECT pg_backend_pid()');
	$reader->query_safe("SET application_name = 'the report'; BEGIN; SELECT count(*) FROM event");
	like((tool(q{SELECT FROM uid_drop_partitions('event', now() - interval '100 days', true)}))[1],
		qr/55P03: table "public"\."event" is in use\nDETAIL:  Process $pid of role "shop", application "the report", has AccessShareLock on it\.\nHINT:  Call it again/, 'who is in the way is told');
	tool('CREATE TABLE ware (id serial PRIMARY KEY); CREATE TABLE ware_line (ware integer REFERENCES ware)');
	$reader->query_safe('SELECT count(*) FROM ware_line, ware');
	like((tool("SELECT $_"))[1], qr/55P03: table "public"\."ware" is in use\nDETAIL:  (?:Process $pid of role "shop", application "the report", has AccessShareLock on (?:it|table "public"\."ware(?:_line)?")\. ?)+\nHINT:  Call it again/, '... whatever the tool')
	  foreach q{uid_adopt('ware', 'id', true)}, q{uid_track_changes('ware', execute => true)};
	$reader->query_safe('COMMIT');
	is((tool(q{CREATE TABLE invoice (id bigint PRIMARY KEY); CALL uid_number_rows('invoice', 'id', begin => true)}))[0], '', 'a table with numbers');
	is((tool(q{CREATE TABLE letter (id bigint PRIMARY KEY); SELECT uid_track_changes('letter', execute => true); INSERT INTO letter VALUES (1), (2); DELETE FROM letter}))[0], '', '... and one with deleted keys');
	foreach my $case (map({ [ $_ => q{CALL uid_number_rows('invoice', 'id')} ] } 'LOCK TABLE invoice_number IN SHARE MODE', 'SELECT FROM invoice_number_counter FOR UPDATE'),
		map({ [ $_ => q{SELECT uid_purge_deleted('letter', now())} ] } 'LOCK TABLE letter_deleted IN SHARE MODE', 'SELECT FROM letter_deleted WHERE id = 1 FOR UPDATE'))
	{
		my ($statement, $call) = @$case;
		$reader->query_safe("BEGIN; $statement");
		like((tool("SET lock_timeout = '1h'; SET statement_timeout = '30s'; $call"))[1], qr/55P03: table "public"\."\w+" is in use\nDETAIL:  Process $pid of role "shop", application "the report", has \w+Lock on it\.\nHINT:  Call it again/, "$statement: $call does not wait without a limit");
		$reader->query_safe('ROLLBACK');
	}
	$reader->query_safe(q{BEGIN; LOCK TABLE ware; PREPARE TRANSACTION 'the half'});
	like((tool(q{SELECT uid_adopt('ware', 'id', true)}))[1], qr/55P03: table "public"\."ware" is in use\nDETAIL:  Prepared transaction "the half" has AccessExclusiveLock on it\.\n/, 'a prepared transaction is named');
	$reader->query_safe(q{ROLLBACK PREPARED 'the half'});
	if ($kind eq 'extension')
	{
		# Any role can wait for a lock that it will be refused.
		$reader->query_safe('BEGIN; SELECT count(*) FROM uidgen.layout_used');
		my $rule = psql_begin('plain', 'CREATE RULE r AS ON INSERT TO uidgen.layout_used DO NOTHING', \my $refused);
		ok($node->poll_query_until('app', q{SELECT count(*) > 0 FROM pg_locks WHERE relation = 'uidgen.layout_used'::regclass AND NOT granted}), 'a role without rights waits for a lock on a table of the extension');
		like((tool(q{SELECT FROM uid_partitions('event', now(), now() + interval '1000 days', '7 days', true)}))[1],
			qr/55P03: the extensions are in use\nDETAIL:  Process \d+ of role "plain", application "[^"]*", waits for AccessExclusiveLock on table uidgen\.layout_used\./, '... and a call ends, and says so');
		$reader->query_safe('COMMIT');
		$rule->finish;
		like($refused, qr/must be owner of table/, '... which it does not get');
		my $superuser = $node->safe_psql('app', 'SELECT current_user; ALTER SCHEMA uidgen_tools OWNER TO plain');
		like((tool(q{SELECT FROM uid_partitions('event', now(), now() + interval '1000 days', '7 days', true)}))[1], qr/55000: the extensions were dropped meanwhile, or belong to a role that is no superuser\nDETAIL:  Their schemas belong to .*"plain"/, 'whose the extensions are is told');
		$node->safe_psql('app', qq{ALTER SCHEMA uidgen_tools OWNER TO "$superuser"});
		my $owner = $node->background_psql('app');
		$pid = $owner->query_safe('BEGIN; LOCK TABLE uidgen_tools.in_use; SELECT pg_backend_pid()');
		like((tool(q{SET lock_timeout = '10ms'; CALL uid_number_rows('item', 'id')}))[1], qr/55P03: the extensions are in use\nDETAIL:  .*processes $pid\./, '... and so does one that commits');
		$owner->quit;
	}
	$reader->quit;
	$node->stop;
}
done_testing();
