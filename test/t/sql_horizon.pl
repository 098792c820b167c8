# Readers of the edition in SQL that end at uid_horizon() lose no row, beside writers of nine kinds that sleep between any two statements of its functions, are cancelled, stopped
# and ended, beside jumps, steps of the clock and crashes; a reader without it loses rows.  With each rule left out a row is lost, in a schedule in which none
# is with all of them.  With UIDGEN_SQL_HORIZON='--rows N' sessions write N rows in rounds.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Getopt::Long 'GetOptionsFromString';
use FakeClock;
use POSIX ();
use SqlEdition;
use UidgenTest;

my $ROWS = 15_000;
GetOptionsFromString($ENV{UIDGEN_SQL_HORIZON} // '', 'rows=i' => \$ROWS) or die 'UIDGEN_SQL_HORIZON: --rows N';
my $is_long = $ROWS > 1_000_000;

my $node = edition_node('plain', "wal_writer_delay = '10s'", 'max_prepared_transactions = 60', "max_wal_size = '4GB'", 'autovacuum = on', 'autovacuum_naptime = 1s');
my $clock = FakeClock->new($node);
$clock->under(sub { $node->start });
landlords($node);
put_in($node, add_database($node, 'app'), 'worker_id=5', 'max_ahead=10 years');
sub sql { my ($sql) = @_; return as($node, 'landlord', 'app', $sql) }
$node->safe_psql('app', q{
	CREATE FUNCTION uidgen.gate(key integer DEFAULT 7) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_lock_shared(key); PERFORM pg_advisory_unlock_shared(key); RETURN true; END $$});
sql(q{CREATE TABLE event (id bigint PRIMARY KEY DEFAULT uid_next(), kind text); CREATE TABLE copied (id bigint);
	CREATE FUNCTION ask_again() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM uidgen.gate(8); PERFORM count(*) FROM event WHERE id <= uid_horizon(); RETURN NEW; END $$;
	CREATE TRIGGER ask_again BEFORE INSERT ON copied FOR EACH ROW EXECUTE FUNCTION ask_again()});
my $copy = 'INSERT INTO copied SELECT id FROM event WHERE id > coalesce((SELECT max(id) FROM copied), 0) AND id <= %s';

# ---- each rule is needed ----

# A session; and one that waits for the gate, or for whatever has a lock.
sub session { return $node->background_psql('app', extra_params => [ '-U', 'landlord', '-v', 'VERBOSITY=verbose' ], on_error_stop => 0) }
sub begin_waiting
{
	my ($session, $sql) = @_;
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	$session->query_until(qr/begun/, "\\echo begun\n$sql;\n");
	poll_until(sub { $node->safe_psql('postgres', "SELECT wait_event_type = 'Lock' OR wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $pid") eq 't' }) or die 'it does not wait';
	return;
}
my $gate = session();
sub shut { my ($key) = @_; $gate->query_safe('SELECT pg_advisory_lock(' . ($key // 7) . ')'); return }
sub open_gate { $gate->query_safe('SELECT pg_advisory_unlock_all()'); return }

# A reader, which has read before.  What is asked for in a subquery is not looked up by the planner.
my ($reader, $last);
my $poll = 'SELECT id FROM event WHERE id > %s AND id <= (SELECT uid_horizon()) ORDER BY id';
sub ids_of { my ($said) = @_; return sort { $a <=> $b } $said =~ /^(\d{15,})$/mg }
sub got { my ($said) = @_; my @ids = ids_of($said); $last = $ids[-1] if @ids; return scalar @ids }
sub begin_reader
{
	sql('TRUNCATE event');
	$reader = session();
	$last = sql('INSERT INTO event VALUES (DEFAULT) RETURNING id');
	$reader->query_safe('SELECT uid_horizon()');
	return;
}
sub poll { return got($reader->query_safe(sprintf $poll, $last)) }
# What a statement that was begun says.
sub ends
{
	my ($session) = @_;
	return $session->query_safe('SELECT') . "\n";
}
# How many of so many rows have not come.
sub end_reader
{
	my ($rows, $came) = @_;
	sql('SELECT uid_next()');
	$came += poll() foreach 1 .. 3;
	$reader->quit;
	return $rows - $came;
}

# A writer whose transaction stays open beside one that is over.
sub beside_open
{
	my ($begin, $commit, $rows, $again) = @_;
	begin_reader();
	my $writer = session();
	$writer->query_safe('INSERT INTO event VALUES (DEFAULT)');
	$writer->query_safe("BEGIN; $begin");
	sql('INSERT INTO event VALUES (DEFAULT)');
	$writer->query_safe($again) if defined $again;
	my $came = 0;
	$came += poll() foreach 1 .. 4;
	$writer->query_safe($commit // 'COMMIT');
	$writer->quit;
	return end_reader($rows // 3, $came);
}
sub go_ahead
{
	sql(q{SELECT setval('uidgen.position', greatest(last_value, ((uidgen.clock() + 600000000) / uidgen.own_unit()) << uidgen.own_sequence_bits())) FROM uidgen.position});
	return;
}
my $INSERT = 'INSERT INTO event VALUES (DEFAULT)';
my %schedules = (
	'an open transaction' => sub { beside_open($INSERT) },
	'a setting that somebody has set' => sub { beside_open("SELECT set_config('uidgen_sql.held', 'uidgen.place'::regclass::oid::text, false) \\gset\n$INSERT") },
	'an id that was drawn in a savepoint that was rolled back' => sub { beside_open('SAVEPOINT s; SELECT uid_next() AS drawn \gset' . "\nROLLBACK TO s; INSERT INTO event VALUES (:drawn)") },
	'the same, with another draw' => sub { beside_open('SAVEPOINT s; SELECT uid_next() AS drawn \gset' . "\nROLLBACK TO s", 'COMMIT', 4, "$INSERT; INSERT INTO event VALUES (:drawn)") },
	'the same, with another draw after DISCARD SEQUENCES' => sub { beside_open('SAVEPOINT s; SELECT uid_next() AS drawn \gset' . "\nROLLBACK TO s; DISCARD SEQUENCES", 'COMMIT', 4, "$INSERT; INSERT INTO event VALUES (:drawn)") },
	'the same, beside a lock of the application' => sub { beside_open('SELECT pg_advisory_xact_lock_shared(-1) \gset' . "\nSAVEPOINT s; SELECT uid_next() AS drawn \\gset\nROLLBACK TO s; INSERT INTO event VALUES (:drawn)") },
	# One is open at any time.
	'transactions that overlap, and went back to a savepoint' => sub {
		begin_reader();
		my ($before, $writer) = map { session() } 1, 2;
		$before->query_safe('BEGIN; SAVEPOINT s; SELECT uid_next() AS drawn \gset' . "\nROLLBACK TO s");
		sql($INSERT);
		my $came = poll();
		foreach (1 .. 4)
		{
			$writer->query_safe('BEGIN; SAVEPOINT s; SELECT uid_next() AS drawn \gset' . "\nROLLBACK TO s");
			$before->query_safe('COMMIT');
			($before, $writer) = ($writer, $before);
			$came += poll() + poll();
		}
		$before->query_safe('INSERT INTO event VALUES (:drawn); COMMIT');
		$_->quit foreach $before, $writer;
		return $came < 1 ? 1 : end_reader(2, $came);
	},
	'an open transaction that went back to a savepoint' => sub { beside_open("SAVEPOINT s; $INSERT; ROLLBACK TO s; $INSERT") },
	'an open transaction that goes on above a savepoint' => sub { beside_open("SAVEPOINT s; $INSERT; RELEASE s; $INSERT", 'COMMIT', 4) },
	'an open transaction with its settings reset' => sub { beside_open("$INSERT; RESET ALL; SELECT pg_advisory_unlock_all() \\gset\n$INSERT", 'COMMIT', 4) },
	'an open transaction whose id was drawn by an exception block' => sub { beside_open(q{DO 'DECLARE i bigint; BEGIN BEGIN i := uid_next(); END; BEGIN PERFORM uid_next() / 0; EXCEPTION WHEN division_by_zero THEN INSERT INTO event VALUES (i); END; END'}) },
	'a batch' => sub { beside_open('INSERT INTO event SELECT uid_next_batch(1)') },
	'a block' => sub { beside_open('INSERT INTO event SELECT uid_reserve(1)') },
	'a prepared transaction' => sub { beside_open("$INSERT; PREPARE TRANSACTION 'p'", q{COMMIT PREPARED 'p'}) },
	'a key that somebody has locked' => sub {
		my $other = session();
		$other->query_safe(q{SELECT pg_advisory_lock(1::bigint << 63 | last_value + i) FROM uidgen.position, generate_series(-2, 2000) AS i});
		my $lost = beside_open($INSERT);
		$other->quit;
		return $lost;
	},
	# The reader looks while this goes on.
	'a transaction that begins meanwhile' => sub {
		begin_reader();
		my $writer = session();
		shut();
		begin_waiting($reader, sprintf $poll, $last);
		$writer->query_safe("BEGIN; $INSERT");
		sql($INSERT);
		open_gate();
		my $came = got(ends($reader));
		# What was noted then counts while others commit.
		shut();
		begin_waiting($reader, sprintf $poll, $last);
		sql($INSERT);
		open_gate();
		$came += got(ends($reader));
		$writer->query_safe('COMMIT');
		$writer->quit;
		return end_reader(3, $came);
	},
	'a transaction that ends meanwhile' => sub {
		begin_reader();
		my $writer = session();
		$writer->query_safe("BEGIN; $INSERT");
		sql($INSERT);
		shut();
		begin_waiting($reader, sprintf $poll, $last);
		$writer->query_safe('COMMIT');
		open_gate();
		my $came = got(ends($reader));
		$writer->quit;
		return end_reader(2, $came);
	},
	# By hand, ahead of the clock, where no draw jumps: closed, drawn from by those who had looked before, set back, open.
	'a jump, and a reader' => sub {
		go_ahead();
		begin_reader();
		$clock->step(601);
		my $jumper = session();
		my $position = $jumper->query_safe(q{BEGIN; LOCK TABLE uidgen.jumping IN SHARE UPDATE EXCLUSIVE MODE; SELECT nextval('uidgen.jumps') \gset
			SELECT last_value FROM uidgen.position}) =~ s/\D//gr;
		$jumper->query_safe(q{SELECT nextval('uidgen.position') FROM generate_series(1, 5)});
		$reader->query_until(qr/begun/, '\echo begun' . "\nSELECT (SELECT uid_horizon()) AS told \\gset\n");
		$node->safe_psql('app', 'SELECT pg_sleep(0.1)');
		$jumper->query_safe("SELECT setval('uidgen.position', $position); SELECT nextval('uidgen.jumps'); COMMIT");
		ends($reader);
		$jumper->quit;
		$clock->step(-601);
		my $told = $reader->query_safe('SELECT :told');
		my $lost = grep { $_ <= $told } split /\n/, sql("$INSERT, (DEFAULT), (DEFAULT) RETURNING id");
		$clock->step(601);	# else nothing is read after this
		$reader->quit;
		return $lost;
	},
	'a jump, and a writer' => sub {
		go_ahead();
		begin_reader();
		my ($jumper, $writer) = map { session() } 1, 2;
		my $position = $jumper->query_safe(q{BEGIN; LOCK TABLE uidgen.jumping IN SHARE UPDATE EXCLUSIVE MODE; SELECT nextval('uidgen.jumps') \gset
			SELECT last_value FROM uidgen.position}) =~ s/\D//gr;
		$jumper->query_safe(q{SELECT nextval('uidgen.position') FROM generate_series(1, 5)});
		begin_waiting($writer, "BEGIN; $INSERT");
		$jumper->query_safe("SELECT setval('uidgen.position', $position); SELECT nextval('uidgen.jumps'); COMMIT");
		ends($writer);
		sql("$INSERT, (DEFAULT), (DEFAULT), (DEFAULT), (DEFAULT)");
		$clock->step(601);
		my $came = poll() + poll();
		$writer->query_safe('COMMIT');
		$_->quit foreach $jumper, $writer;
		return end_reader(6, $came);
	},
	'a statement that asks for each row' => sub {
		begin_reader();
		my $writer = session();
		# Its end is in no snapshot.
		$writer->query_safe('BEGIN');
		poll_until(sub { $writer->query_safe("SELECT uid_next();\nROLLBACK; BEGIN; SELECT uid_next() \\g /dev/null\nSELECT pg_current_xact_id_if_assigned() IS NULL") =~ /t\s*$/ }) or die 'it always writes';
		sql("$INSERT, (DEFAULT)");
		shut(8);
		begin_waiting($reader, "SET enable_indexscan = off; SET enable_bitmapscan = off; SELECT id FROM event WHERE id > $last AND CASE WHEN id <= uid_horizon() THEN true ELSE NOT uidgen.gate(8) END");
		$writer->query_safe('COMMIT');
		open_gate();
		my $came = got(ends($reader));
		$writer->quit;
		return end_reader(2, $came);
	},
	# Where no index is used, and the row of the lower id is the second one.
	'a statement whose trigger asks, too' => sub {
		begin_reader();
		sql("TRUNCATE copied; TRUNCATE event; SELECT uid_next() AS drawn \\gset\n$INSERT; INSERT INTO event VALUES (:drawn); SELECT pg_sleep(0.01)");
		$reader->query_safe('SET enable_indexscan = off; SET enable_bitmapscan = off; SELECT uid_horizon()');
		shut(8);
		begin_waiting($reader, sprintf $copy, 'uid_horizon()');
		sql($INSERT);
		open_gate();
		$reader->query('SELECT');
		if ($reader->{stderr} ne '')
		{
			like($reader->{stderr}, qr/55000: the horizon of this statement is not known any more.*HINT:.*\(SELECT uid_horizon\(\)\)/s, 'a statement after which a later one has asked is refused');
			$reader->{stderr} = '';
		}
		$reader->query_safe(sprintf $copy, '(SELECT uid_horizon())') foreach 1 .. 2;
		$reader->quit;
		return sql('SELECT count(*) FROM event WHERE id NOT IN (SELECT id FROM copied)');
	});

my $look = qr/SELECT bool_and.*?;/s;
my @rules = (	# the schedule, the rule, the function, the change
	[ 'an open transaction', 'H1, who draws holds', 'uidgen.is_held()', sub { s/uidgen\.own_horizon\(\)/false/ } ],
	[ 'a batch', 'H1, who draws many holds', 'uidgen.hold_and_jump(integer, boolean)', sub { s/uidgen\.own_horizon\(\)/false/ } ],
	[ 'a setting that somebody has set', 'H2, each transaction by itself', 'uidgen.is_held()', sub { s/uidgen\.can_hold\(currval\('uidgen\.place'::regclass\), 0\)/true/ } ],
	[ 'a jump, and a writer', 'H3, no jump while a writer looks', 'uidgen.hold_at(bigint, bigint)', sub { s/uidgen\.no_jump_since\(jumps\)/true/ } ],
	[ 'a transaction that begins meanwhile', 'H4, the position before the locks', 'uidgen.read_horizon()', sub {
			my ($locks) = /($look)/;
			s/\Q$locks/place := least(place, held);/;
			$locks = 'SELECT min(h.held) INTO held FROM uidgen.held_positions() AS h;';
			s/PERFORM uidgen\.gate\(\);//;
			s/jumps bigint;/jumps bigint; held bigint;/;
			s/FOR attempt/$locks PERFORM uidgen.gate(); FOR attempt/;
		} ],
	[ 'a jump, and a reader', 'H5, no jump while a reader looks', 'uidgen.read_horizon()', sub { s/uidgen\.no_jump_since\(jumps\)/true/ } ],
	[ 'a transaction that ends meanwhile', 'H6, a snapshot after the look', 'uidgen.read_horizon()', sub { s/(snapshot := uidgen\.number_of.*?;)//; my $snapshot = $1; s/(PERFORM uidgen\.gate)/$snapshot $1/ } ],
	[ 'a transaction that ends meanwhile', 'H7, the snapshot of the statement', 'uidgen.present_horizon()', sub { s/found\.snapshot <= mine/true/ } ],
	[ 'a statement that asks for each row', 'H8, one answer', 'uidgen.present_horizon()', sub { s/currval\('uidgen\.told_of'\) = mine/false/ } ],
	[ 'a statement whose trigger asks, too', 'H12, no other answer after a later one', 'uidgen.present_horizon()', sub { s/IF is_late/IF false/ } ],
	[ 'an id that was drawn in a savepoint that was rolled back', 'H11, the lock of a sequence', 'uidgen.held_positions()', sub { s/\s+OR l\.relation IN .*?'RowExclusiveLock'// } ],
	[ 'an id that was drawn in a savepoint that was rolled back', 'H14, a turn begins anew when nobody draws in it', 'uidgen.read_horizon()', sub { s/IF coalesce\(turns, 0\).*? = 0/IF true/ } ],
	[ 'transactions that overlap, and went back to a savepoint', 'H14, a turn ends', 'uidgen.read_horizon()', sub { s/IF coalesce\(turns, 0\).*? = 0/IF false/ } ],
	[ 'the same, beside a lock of the application', 'H13, a key above the position is none of its own', 'uidgen.held_positions()', sub { s/ AND k\.held <= \(.*?\)// } ],
	[ 'the same, with another draw after DISCARD SEQUENCES', 'H11, the lock of a sequence that was discarded', 'uidgen.hold_now()', sub { s/uidgen\.has_locked\(.*?\) THEN/false THEN/ } ],
	[ 'the same, with another draw', 'H11, the place that was held', 'uidgen.place_again()', sub { s/ = uidgen\.transaction_time\(\)/ IS NULL/ } ]);

change_function($node, 'app', 'uidgen.read_horizon()', sub { s/(SELECT bool_and)/PERFORM uidgen.gate(); $1/ });
foreach my $schedule (sort keys %schedules)
{
	is($schedules{$schedule}->(), 0, "$schedule: no row is lost");
}
foreach my $rule (@rules)
{
	my ($schedule, $name, $function, $change) = @$rule;
	my $text = $node->safe_psql('app', "SELECT pg_get_functiondef('$function'::regprocedure)");
	change_function($node, 'app', $function, $change);
	my $lost = 0;
	foreach (1 .. 5) { last if $lost ||= $schedules{$schedule}->() }	# somebody else's transaction may have ended meanwhile
	cmp_ok($lost, '>', 0, "$schedule: a row is lost without $name");
	$node->safe_psql('app', $text);
}
$gate->quit;
change_function($node, 'app', 'uidgen.read_horizon()', sub { s/PERFORM uidgen\.gate\(\);// });

# Whatever is drawn ahead of the clock, and not committed, is drawn again after a crash.
sub passed_after_crash
{
	$node->safe_psql('postgres', 'CHECKPOINT');
	go_ahead();
	sql('BEGIN; SELECT count(uid_next()) FROM generate_series(1, 40); ROLLBACK');
	my $told = sql('SELECT uid_horizon()');
	$node->stop('immediate');
	$clock->under(sub { $node->start });
	return scalar grep { $_ <= $told } split /\n/, sql("$INSERT RETURNING id");
}
is(passed_after_crash(), 0, 'ids ahead of the clock, and a crash: no row is lost');
my $limited = $node->safe_psql('app', q{SELECT pg_get_functiondef('uidgen.read_horizon()'::regprocedure)});
change_function($node, 'app', 'uidgen.read_horizon()', sub { s/place := least\(place, \(\(uidgen\.clock.*?;// });
my $passed;
foreach (1 .. 10) { last if $passed = passed_after_crash() }	# the server may have written the log in between
ok($passed, '... and without H9, the limit at the clock, one is');
$node->safe_psql('app', $limited);
$clock->step(7000);	# above all ids

# ---- a session, and what it may not ----

is(sql("BEGIN; $INSERT RETURNING id \\gset\nSELECT id < :id, prepared IS NULL, pid = pg_backend_pid() FROM uidgen.horizon_holders; PREPARE TRANSACTION 'held'") . sql(q{SELECT prepared, pid IS NULL FROM uidgen.horizon_holders}) . sql(q{COMMIT PREPARED 'held'; SELECT count(*) FROM uidgen.horizon_holders}), 't|t|theld|t0', 'who holds readers back is shown');

is(sql('SELECT pg_sleep(0.01) \gset' . "\n$INSERT RETURNING id \\gset\nSELECT uid_horizon() = :id"), 't', 'where nobody writes, the newest row is read');
is($node->safe_psql('app', q{SELECT string_agg(DISTINCT m[1], ' ') FROM pg_proc AS p, regexp_matches(coalesce(pg_get_function_sqlbody(p.oid), p.prosrc), 'current_setting\(''(.*?)''', 'g') AS m WHERE p.pronamespace = 'uidgen'::regnamespace}),
	'transaction_isolation transaction_read_only uidgen_sql.held', 'nothing else goes by a setting, which everybody can set');
like(sql('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT uid_horizon()'), qr/55000: the horizon needs isolation level READ COMMITTED.*HINT/s, 'a transaction with one snapshot is refused');
# Also where it becomes so, in a function or a savepoint.
sql(q{CREATE FUNCTION up_to() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN PERFORM set_config('transaction_read_only', 'on', true); RETURN uid_horizon(); END $$});
like(sql($_), qr/25006: the horizon is not known in a read-only transaction.*HINT/s, "so is a read-only one: $_") foreach 'BEGIN READ ONLY; SELECT uid_horizon()', 'SELECT up_to()', 'BEGIN; SAVEPOINT s; SET LOCAL transaction_read_only = on; SELECT uid_horizon()';
my $unknown = session();
$unknown->query_safe(q{BEGIN; SELECT setval('uidgen.place', 1)});
is(sql('BEGIN; SELECT uid_horizon() IS NULL; SAVEPOINT s; CREATE TABLE undone (); ROLLBACK TO s; SELECT uid_horizon() IS NULL'), "t\nt", 'while nothing is known, a later statement of a transaction may ask');
$unknown->query_safe('ROLLBACK; BEGIN; SELECT pg_advisory_xact_lock_shared(-1) \gset');
is(sql('SELECT uid_horizon() \g /dev/null' . "\nSELECT uid_horizon() > 0"), 't', '... and a lock of the application alone is in nobody\'s way');
$unknown->quit;
# Without an index.
like(sql("BEGIN; SET enable_indexscan = off; SET enable_bitmapscan = off; DECLARE c CURSOR FOR SELECT id FROM event WHERE id <= uid_horizon(); FETCH 1 FROM c \\gset\nDISCARD SEQUENCES; FETCH ALL FROM c"),
	qr/55000: the horizon of this statement is not known any more/, 'so is who has discarded what the rest of a statement goes by');
is(as($node, 'tenant', 'app', 'SELECT uid_horizon() > 0'), 't', 'every role may ask');
# Nobody else can set what a session remembers.
$node->safe_psql('app', 'CREATE ROLE auditor LOGIN IN ROLE pg_read_all_data');
like(as($node, 'auditor', 'app', "SELECT setval('uidgen.$_', 1)"), qr/42501/, "others do not set sequence $_") foreach qw(place place_of told told_of told_in noted noted_of);
is($node->safe_psql('app', q{SELECT count(DISTINCT last_value) FROM (SELECT last_value FROM uidgen.noted UNION ALL SELECT last_value FROM uidgen.told) AS s, pg_class WHERE relname ~ '^(told|noted)(_|$)' AND relpersistence <> 'u'}), '0', '... of which nothing is logged');
put_in($node, add_database($node, 'without'), 'worker_id=6', 'horizon=false');
is(as($node, 'landlord', 'without', q{BEGIN; SELECT uid_next() \gset
	SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'}), '0', 'put in without a horizon, nobody holds');
like(as($node, 'landlord', 'without', 'SELECT uid_horizon()'), qr/55000: this database has no horizon/, '... and there is none');
is(as($node, 'landlord', 'without', 'SELECT uidgen.own_max_ahead()'), '3600000000', '... and ids may run an hour ahead');
# Positions of 63 bits, and tags above and below the sequence.
foreach my $layout ('time:41:1ms worker:1 sequence:21', 'time:41:1ms tag:4 worker:4 sequence:12', 'time:41:1ms worker:4 sequence:12 tag:4', 'time:33:1s worker:10 sequence:20')
{
	my $database = add_database($node, 'layout');
	put_in($node, $database, 'worker_id=1', "layout=$layout epoch:2025-01-01");
	is(as($node, 'landlord', $database, 'SELECT uidgen.own_max_ahead()'), '60000000', "$layout: with a horizon, ids may run a minute ahead");
	# Where only whole ticks end, a transaction holds back those of the tick at which it began.
	my $before = $layout =~ /tag.*sequence/ ? 0 : ':a';
	my $nap = $layout =~ /:1s/ ? 3.5 : 0.1;		# a database begins two ticks ahead of the clock
	my $call = $layout =~ /tag/ ? 'uid_next(7)' : 'uid_next()';
	is(as($node, 'landlord', $database, qq{SELECT $call AS a \\gset
		BEGIN; SELECT $call AS b \\gset
		SELECT pg_sleep($nap) \\gset
		SELECT uid_horizon() \\gset
		SELECT uid_horizon() >= $before AND uid_horizon() < :b;
		COMMIT; SELECT pg_sleep($nap) \\gset
		SELECT uid_horizon() >= :b}) =~ s/\n/ /r, 't t', "$layout: an open transaction, and the newest row");
	# Within a tick, where it is long enough to see it.
	is(join(' ', map { as($node, 'landlord', $database, qq{SELECT set_config('v.last', greatest(uid_next(), uid_horizon())::text, false) AS last \\gset
		SELECT uidgen.set_up(worker_id => 1 - $_, instead_of => $_) \\gset
		SELECT $call > :last}) } 1, 0, 1), 't t t', '... and another worker id, whose ids are above all that was told');
	is(as($node, 'landlord', $database, ($call =~ /7/ ? 'SELECT uid_next(15) AS last \gset' : 'SELECT uid_next() AS last \gset') . "\nSELECT uidgen.take_out() >= :last"), 't', '... taken out: an id that is not below any');
	drop_database($node, $database);
}

# ---- all of them are enough ----

$node->safe_psql('app', q{
	TRUNCATE event;
	ALTER TABLE event ALTER id SET DEFAULT uid_next();
	CREATE TABLE reader (name text PRIMARY KEY, last bigint NOT NULL DEFAULT 0, n bigint NOT NULL DEFAULT 0, sum numeric NOT NULL DEFAULT 0, polls bigint NOT NULL DEFAULT 0) WITH (fillfactor = 20);
	CREATE FUNCTION store_later() RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE i bigint := uid_next(); BEGIN PERFORM pg_sleep(random() * 0.03); INSERT INTO event VALUES (i, 'before'); RETURN i; END $$;
	CREATE FUNCTION undo_some() RETURNS bigint LANGUAGE plpgsql AS $$
		BEGIN
			BEGIN
				INSERT INTO event (kind) VALUES ('undone');
				RAISE division_by_zero;
			EXCEPTION WHEN division_by_zero THEN
				INSERT INTO event (kind) VALUES ('exception');
			END;
			PERFORM pg_sleep(random() * 0.01);
			INSERT INTO event (kind) VALUES ('exception');
			RETURN uid_next();
		END $$;
	GRANT ALL ON event TO landlord});
nap_between_statements($node, 'app', $is_long ? 0.0005 : 0.003, 0.05);
my $bulk = $is_long ? 150 : 10;
my @program;
foreach (1 .. 20)
{
	push @program, map { "INSERT INTO event (kind) VALUES ('$_') RETURNING id;" } ('automatic') x 5;
	push @program, 'BEGIN;', "INSERT INTO event (kind) VALUES ('long') RETURNING id;", 'SELECT pg_sleep(random() * random() * 0.1) \gset', "INSERT INTO event (kind) VALUES ('long') RETURNING id;", 'COMMIT;';
	push @program, 'BEGIN;', "INSERT INTO event (kind) VALUES ('undone') RETURNING id;", 'ROLLBACK;';
	push @program, 'BEGIN;', 'SAVEPOINT s;', "INSERT INTO event (kind) VALUES ('undone') RETURNING id;", 'ROLLBACK TO s;', "INSERT INTO event (kind) VALUES ('savepoint') RETURNING id;",
	  'SELECT pg_sleep(random() * 0.01) \gset', 'COMMIT;';
	push @program, 'SELECT store_later();', 'SELECT undo_some();';
	push @program, "INSERT INTO event SELECT uid_next_batch($bulk), 'batch' RETURNING id;", "INSERT INTO event SELECT generate_series(r, r + 1), 'block' FROM uid_reserve(2) AS r RETURNING id;";
	push @program, "INSERT INTO event (kind) SELECT 'many' FROM generate_series(1, $bulk) RETURNING id;";
	push @program, 'SELECT gen_random_uuid() AS gid \gset', 'BEGIN;', "INSERT INTO event (kind) VALUES ('prepared') RETURNING id;", q{PREPARE TRANSACTION :'gid';}, 'SELECT pg_sleep(random() * 0.02) \gset', q{COMMIT PREPARED :'gid';};
}

# By one statement, by one with a plan for all, by two, and without.
sub move_reader
{
	my ($name, $until) = @_;
	return "WITH place AS MATERIALIZED (SELECT last FROM reader WHERE name = '$name'),
	found AS MATERIALIZED (SELECT e.id FROM event AS e WHERE e.id > (SELECT last FROM place) $until ORDER BY e.id LIMIT 5000)
	UPDATE reader SET last = greatest(last, (SELECT max(id) FROM found)), n = n + (SELECT count(*) FROM found),
		sum = sum + coalesce((SELECT sum(hashint8(id)) FROM found), 0), polls = polls + 1 WHERE name = '$name'" =~ s/\s*\n\s*/ /gr;
}
my %readers = (
	statement => [ 'SELECT uid_horizon() \gset', move_reader('statement', 'AND e.id <= uid_horizon()') . ';' ],
	prepared => [ "SET plan_cache_mode = force_generic_plan; PREPARE poll AS " . move_reader('prepared', 'AND e.id <= uid_horizon()') . ';', 'EXECUTE poll;' ],
	asking => [ 'SELECT uid_horizon() \gset', 'SELECT coalesce(uid_horizon(), 0) AS horizon \gset' . "\n" . move_reader('asking', 'AND e.id <= :horizon') . ';' ],
	control => [ '', move_reader('control', '') . ';' ]);
$node->safe_psql('app', 'INSERT INTO reader (name) VALUES ' . join ', ', map { "('$_')" } sort keys %readers);
my $stop = $node->basedir . '/stop';
foreach my $name (keys %readers)
{
	my ($first, $again) = @{ $readers{$name} };
	append_to_file($node->basedir . "/reader.$name", join "\n", $first, ($again, 'SELECT pg_sleep(0.002) \gset') x 300, '');
}
sub read_once
{
	my ($name) = @_;
	return system($node->installed_command('psql') . " -Xqat -d '" . $node->connstr('app') . "' -f '" . $node->basedir . "/reader.$name' >>'" . $node->basedir . "/reader.log' 2>&1");
}
sub begin_readers
{
	unlink $stop;
	return map {
		my $name = $_;
		my $pid = fork // die "could not fork: $!";
		if ($pid == 0)
		{
			while (!-e $stop) { read_once($name); select undef, undef, undef, 0.02 }
			POSIX::_exit(0);
		}
		$pid;
	} sort keys %readers;
}

sub round_of
{
	my ($name, %options) = @_;
	my @reading = begin_readers();
	my $drawn = draw($node, databases => ['app'], sessions => 12, program => [ map { "$_\n" } @program ], clock => $clock, forward => $is_long ? 40 : 0.2, back => $is_long ? 5 : 0.1, %options);
	append_to_file($stop, '');
	waitpid $_, 0 foreach @reading;
	note "$name: $drawn->{did}";
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(join("\n", grep { /ERROR:/ && !/canceling statement|current transaction is aborted|savepoint "s" does not exist|prepared transaction with identifier|can only be used in transaction blocks|syntax error at or near ":"/ } split /\n/, $drawn->{errors}), '', "$name: rows are written without an error");
	$node->safe_psql('app', "ROLLBACK PREPARED '$_'") foreach split /\n/, $node->safe_psql('app', 'SELECT gid FROM pg_prepared_xacts');
	is($node->safe_psql('app', q{SELECT count(*) FROM pg_locks WHERE relation = 'uidgen.jumping'::regclass OR locktype = 'advisory'}), '0', '... and no lock is left');
	PostgreSQL::Test::Utils::system_log('rm', '-rf', $drawn->{folder});
	return;
}
my $PER_ROUND = $is_long ? 500_000 : $ROWS;
foreach my $round (1 .. ($ROWS + $PER_ROUND - 1) / $PER_ROUND)
{
	round_of("round $round", ids => $PER_ROUND, cancel => 50, stop => 20, terminate => 1, step => 10);
	next if $round % 3 != 1;
	# The clock is not set back meanwhile: what was drawn by then can be lost.
	round_of("round $round, with crashes", ids => $PER_ROUND / 2, cancel => 20, stop => 10, crash => 0.3, step => 10, back => 0);
}

# Ids may be ahead of the clock.
$clock->step($node->safe_psql('app', q{SELECT greatest(uidgen.ahead(last_value) / 1000000, 0) + 1 FROM uidgen.position}));
my $newest = $node->safe_psql('app', 'SELECT max(id) FROM event');
foreach my $name (sort keys %readers)
{
	my $before = -1;
	while ((my $now = $node->safe_psql('app', "SELECT last FROM reader WHERE name = '$name'")) != $before)
	{
		$before = $now;
		read_once($name);
	}
}
my ($count, $sum) = split /\|/, $node->safe_psql('app', 'SELECT count(*), sum(hashint8(id)::numeric) FROM event');
note("$count rows: " . $node->safe_psql('app', q{SELECT string_agg(kind || ' ' || n, ', ') FROM (SELECT kind, count(*) AS n FROM event GROUP BY kind ORDER BY 2 DESC) AS k}));
is($node->safe_psql('app', q{SELECT count(DISTINCT kind) FROM event WHERE kind <> 'undone'}), '9', 'all kinds of writers have written');
foreach my $name (sort keys %readers)
{
	my ($n, $its_sum, $polls) = split /\|/, $node->safe_psql('app', "SELECT n, sum, polls FROM reader WHERE name = '$name'");
	note("$name: $n rows in $polls polls, lost " . ($count - $n));
	if ($name eq 'control') { cmp_ok($n, '<', $count, 'who reads without the horizon loses rows') }
	else { is("$n $its_sum", "$count $sum", "$name: no row is lost, and none comes twice") }
}

done_testing();
