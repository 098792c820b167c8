# The job of docs/partitions.md, run now and then for more than a year: all rows find a partition, three months are kept ahead and
# six behind, a night without the lock is made up for, and nobody waits long.  pg_regress has no clock that can be set.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use IPC::Run;
use Pages;
use SqlEdition;
use Twins;
use UidgenTest;

my ($node, $clock, $script);

# ---- what the page shows ----

my @blocks = blocks_of(slurp_file("$FindBin::RealBin/../../docs/partitions.md"));
my ($job) = grep { $_->{kind} eq 'sql' && $_->{text} =~ /^SELECT uid_drop_partitions\(/m } @blocks;
my ($table) = grep { /^CREATE TABLE event / } map { $_->[0] } map { statements_of($_->{text}) } @blocks;
my ($options) = map { $_->{text} =~ /^\d+ \d+ \* \* \*  \w+  psql (.*) -d app -f / } @blocks;
ok(defined $options && defined $job && $table, 'the page has the table, the job and its script') or BAIL_OUT('docs/partitions.md');

# One night: (exit status, what it prints, its errors).
sub night
{
	my ($out, $err) = ('', '');
	IPC::Run::run([ $node->installed_command('psql'), split(' ', $options), '-d', $node->connstr('app') . ' user=keeper', '-f', $script ], '<', \undef, '>', \$out, '2>', \$err);
	return ($? >> 8, $out, $err);
}

# The first days of the months that a row can have, as YYYY_MM.
sub months
{
	return $node->safe_psql('app', q{SELECT string_agg(right(inhrelid::regclass::text, 7), ' ' ORDER BY 1) FROM pg_inherits WHERE inhparent = 'event'::regclass});
}

sub expected_months
{
	my ($from, $to) = @_;
	return $node->safe_psql('app',
		qq{SELECT string_agg(to_char(m, 'YYYY_MM'), ' ' ORDER BY m) FROM generate_series(date_trunc('month', now() $from), date_trunc('month', now() $to), '1 month') AS m});
}

sub keeper_says
{
	my ($sql) = @_;
	return as($node, 'keeper', 'app', $sql);
}

# On each day of a month, the next one is due, and no other.  A table without rows for so long would keep more.
sub a_month_passes
{
	$clock->pass($node->safe_psql('app', q{SELECT extract(epoch FROM date_trunc('month', now()) + interval '1 month 14 days' - now())::bigint}));
	$node->safe_psql('app', q{INSERT INTO event (body) VALUES ('of this month')});
	return;
}

foreach my $kind (kinds())
{
	$node = twin_node($kind, "timezone = 'UTC'", "uidgen.database = 'app'", 'autovacuum = off', "deadlock_timeout = '1h'");
	$clock = FakeClock->new($node);
	$clock->under(sub { $node->start });
	$node->safe_psql('postgres', 'CREATE DATABASE app');
	put_twin_in($kind, $node, 'app');
	$node->safe_psql('app', 'CREATE ROLE keeper LOGIN; GRANT CREATE ON SCHEMA public TO keeper');
	$script = $node->basedir . '/event-partitions.sql';
	append_to_file($script, $job->{text});

	# ---- nights of more than a year ----

	$node->safe_psql('app', "$table CREATE INDEX ON event (body)", connstr => $node->connstr('app') . ' user=keeper');
	my ($status, $said, $err) = night();
	is("$status $err", '0 ', 'the first night');
	is(months(), expected_months('', "+ interval '3 months'"), '... makes the months to come');
	is((night())[1], '', 'a night on which nothing is to be done prints nothing');

	my ($nights, $wrong, $dropped, @errors) = (0, 0, 0);
	foreach (1 .. 40)
	{
		$clock->pass(11 * 86400);
		$node->safe_psql('app', 'INSERT INTO event (body) SELECT n FROM generate_series(1, 10) AS n');
		($status, $said, $err) = night();
		$nights++;
		push @errors, $err if $status || $err ne '';
		$dropped += () = $said =~ /^DROP TABLE /mg;
		# All that is not yet six months old is there, and nothing else; three months are ahead.
		my $full = expected_months("- interval '6 months'", "+ interval '3 months'");
		$wrong++ if substr($full, -length months()) ne months();
		$wrong++ if $nights > 20 && months() ne $full;
	}
	is("@errors", '', "$nights nights, eleven days apart: no error");
	is($wrong, 0, '... each time three months are ahead, and six behind');
	cmp_ok($dropped, '>=', 8, "... $dropped months were dropped");
	is($node->safe_psql('app', "SELECT count(*) = 0 FROM event WHERE uid_between(id, NULL, date_trunc('month', now() - interval '6 months'))"), 't', 'older rows are gone');
	is($node->safe_psql('app', q{SELECT count(*) FROM event}) % 10, 0, 'and all others are there');

	# ---- a table that is in use ----

	a_month_passes();
	my $before = months();
	my $reader = $node->background_psql('app');
	$reader->query_safe('BEGIN; SELECT count(*) FROM event');
	($status, $said, $err) = night();
	isnt($status, 0, 'a transaction that reads the table for long: the job fails');
	like($err, qr/ERROR:  table "public"\."event" is in use\nDETAIL:  Process \d+ of role ".*", application ".*", has AccessShareLock on it\./, '... since it does not wait for ever');
	$reader->query_safe('COMMIT');
	$reader->quit;
	($status, $said, $err) = night();
	is("$status $err", '0 ', 'the next night');
	is(months(), expected_months("- interval '6 months'", "+ interval '3 months'"), '... makes up for it');

	a_month_passes();
	$reader = $node->background_psql('app');
	$reader->query_safe('BEGIN; SELECT count(*) FROM event');
	like(keeper_says("SELECT uid_drop_partitions('event', now() - interval '6 months', true)"), qr/55P03: table .* is in use/, 'nor does uid_drop_partitions() by itself');
	like(keeper_says("SELECT uid_drop_partitions('event', now() - interval '6 months')"), qr/^DROP TABLE "public"\."event_\d{4}_\d\d";$/m, '... and what it prints needs no lock');
	$reader->query_safe('COMMIT');
	$reader->quit;

	# ---- a partition that somebody detaches ----

	# It is no longer the table's, and is being kept for something.
	my $oldest = $node->safe_psql('app', q{SELECT min(inhrelid::regclass::text) FROM pg_inherits WHERE inhparent = 'event'::regclass});
	$reader = $node->background_psql('app');
	$reader->query_safe('BEGIN; SELECT count(*) FROM event');
	my $detach = IPC::Run::start([ $node->installed_command('psql'), '-X', '-d', $node->connstr('app'), '-c', "ALTER TABLE event DETACH PARTITION $oldest CONCURRENTLY" ],
		'<', \undef, '>&', \$said, IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default));
	ok($node->poll_query_until('app', 'SELECT count(*) = 1 FROM pg_inherits WHERE inhdetachpending'), 'DETACH CONCURRENTLY waits half-way');
	$node->safe_psql('app', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'ALTER TABLE event DETACH%'});
	$detach->finish;
	like($said, qr/canceling statement due to user request/, '... and is broken off there');
	$reader->query_safe('COMMIT');
	$reader->quit;
	my $drop = "SELECT uid_drop_partitions('event', now() - interval '6 months')";
	is(keeper_says($drop), '', '... a partition in this state is not dropped');
	$node->safe_psql('app', "ALTER TABLE event DETACH PARTITION $oldest FINALIZE; ALTER TABLE event ATTACH PARTITION $oldest FOR VALUES FROM ("
		  . $node->safe_psql('app', "SELECT uid_min(to_date(right('$oldest', 7), 'YYYY_MM'))") . ') TO ('
		  . $node->safe_psql('app', "SELECT uid_min((to_date(right('$oldest', 7), 'YYYY_MM') + interval '1 month')::timestamptz)") . ')');
	is(keeper_says($drop), qq{BEGIN;\nSET LOCAL lock_timeout = '500ms';\nDROP TABLE "public"."$oldest";\nCOMMIT;}, '... and is dropped once it is attached again');

	# ---- writers all the while ----

	# Each row is stored by its transaction, while partitions come and go in others.
	$node->safe_psql('app', 'CREATE TABLE stop ()');
	my @writers = map {
		my $file = $node->basedir . "/writer.$_";
		IPC::Run::start(
			[ $node->installed_command('psql'), '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('app'), '-c',
				'DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM stop) LOOP INSERT INTO event DEFAULT VALUES; COMMIT; END LOOP; END $$' ],
			'<', \undef, '>&', $file, IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default))
	} 1 .. 3;
	my $written = 'SELECT count(*) FROM event WHERE body IS NULL';
	my ($made, $gone) = (0, 0);
	foreach (1 .. 20)
	{
		my $rows = $node->safe_psql('app', $written);
		$made += keeper_says("SET lock_timeout = '1min'; SELECT count(*) FROM uid_partitions('event', now() - interval '3 years', now() - interval '2 years', '1 month', true)");
		$gone += keeper_says("SET lock_timeout = '1min'; SELECT count(*) FROM uid_drop_partitions('event', now() - interval '1 year', true, true)");
		$node->poll_query_until('app', "SELECT ($written) > $rows") or last;
	}
	$node->safe_psql('app', 'INSERT INTO stop DEFAULT VALUES');
	$_->finish foreach @writers;
	cmp_ok($made, '>', 200, 'partitions are made beneath three writers');
	is($gone, $made, '... and dropped');
	is(join('', map { slurp_file($node->basedir . "/writer.$_") } 1 .. 3), '', '... who see no error');

	# ---- a partition is what PARTITION OF makes, and no reader waits for it ----

	is(keeper_says(q{
		CREATE TABLE goal (id bigint PRIMARY KEY);
		CREATE FUNCTION fires() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
		CREATE TABLE whole (id bigint NOT NULL DEFAULT uid_next(), dropped integer, n integer, g integer GENERATED ALWAYS AS (k * 2) STORED, s serial,
			t text COLLATE "C" CONSTRAINT t_ok CHECK (t <> ''), goal bigint REFERENCES goal ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, k integer NOT NULL,
			CONSTRAINT two CHECK (n + s > -5), PRIMARY KEY (id), UNIQUE (id, k) INCLUDE (t)) PARTITION BY RANGE (id);
		ALTER TABLE whole DROP dropped;
		ALTER TABLE whole ALTER t SET STORAGE external;
		ALTER TABLE whole ALTER k SET STATISTICS 500;
		ALTER TABLE whole ALTER k SET (n_distinct = 7);
		CREATE INDEX whole_low ON whole (lower(t)) WHERE k > 3;
		CREATE INDEX ON whole USING hash (t);
		CREATE STATISTICS whole_statistics (ndistinct) ON id, k FROM whole;
		COMMENT ON COLUMN whole.k IS 'k';
		ALTER TABLE whole ENABLE ROW LEVEL SECURITY;
		CREATE POLICY all_rows ON whole USING (k > 0);
		CREATE TRIGGER fires BEFORE INSERT OR UPDATE ON whole FOR EACH ROW WHEN (new.k > 0) EXECUTE FUNCTION fires();
		ALTER TABLE whole ENABLE ALWAYS TRIGGER fires;
		GRANT SELECT ON whole TO PUBLIC;
		ALTER TABLE whole REPLICA IDENTITY FULL;
		CREATE TABLE refers (r bigint REFERENCES whole (id) ON DELETE CASCADE);
		CREATE TABLE by_hand PARTITION OF whole FOR VALUES FROM (0) TO (100);
		CREATE VIEW shown AS
			SELECT r.oid AS relation, l.line FROM pg_class AS r CROSS JOIN LATERAL (
				SELECT format('table %s %s %s %s %s %s %s %s', r.relrowsecurity, r.relforcerowsecurity, r.relreplident, r.relacl, r.relowner, r.reloptions, r.reltablespace, r.relam)
				UNION ALL
				SELECT format('column %s %s %s %s %s %s %s %s %s %s %s %s %s %s %s', a.attnum - dense_rank() OVER (ORDER BY a.attnum), a.attname, a.atttypid::regtype, a.attnotnull, pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated, a.attstorage,
						a.attstattarget, (SELECT array_agg(x) FROM unnest(a.attoptions) AS x WHERE x ~ '^n_'), a.attacl, a.attinhcount, a.attislocal, a.attcollation, col_description(r.oid, a.attnum))
					FROM pg_attribute AS a LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
				UNION ALL
				SELECT format('constraint %s %s %s %s %s %s', o.contype, pg_get_constraintdef(o.oid), o.convalidated, o.coninhcount, o.conislocal, o.conparentid <> 0) FROM pg_constraint AS o WHERE o.conrelid = r.oid OR o.confrelid = r.oid
				UNION ALL
				SELECT format('index %s %s', replace(replace(pg_get_indexdef(i.indexrelid), r.relname, 'x'), i.indexrelid::regclass::text, 'i'), (SELECT h.inhparent::regclass FROM pg_inherits AS h WHERE h.inhrelid = i.indexrelid)) FROM pg_index AS i WHERE i.indrelid = r.oid
				UNION ALL
				SELECT format('trigger %s %s %s', replace(pg_get_triggerdef(g.oid), r.relname, 'x'), g.tgenabled, g.tgparentid <> 0) FROM pg_trigger AS g WHERE g.tgrelid = r.oid AND NOT g.tgisinternal
				UNION ALL
				SELECT 'statistics ' || pg_get_statisticsobjdef(e.oid) FROM pg_statistic_ext AS e WHERE e.stxrelid = r.oid
				UNION ALL
				SELECT 'policy ' || p.polname FROM pg_policy AS p WHERE p.polrelid = r.oid) AS l (line)}), '', 'a table with much in it');
	my $report = $node->background_psql('app', extra_params => [ '-U', 'keeper' ]);
	$report->query_safe('BEGIN; SELECT count(*) FROM whole');
	is(keeper_says(q{SELECT count(*) FROM uid_partitions('whole', now(), now() + interval '1 hour', '1 day', true)}) =~ s/\D.*//sr, '1', 'a report is not in the way of a new partition');
	$report->query_safe('COMMIT');
	$report->quit;
	my $shown = q{SELECT string_agg(regexp_replace(regexp_replace(line, 'whole_\d+_\d+_\d+|by_hand', 'x', 'g'), '^(index .*?)x_[a-z0-9_]*', '\1'), e'\n' ORDER BY line COLLATE "C") FROM shown WHERE relation = %s};
	my ($own, $other) = map { keeper_says(sprintf $shown, $_) } "'by_hand'::regclass", q{(SELECT max(inhrelid) FROM pg_inherits WHERE inhparent = 'whole'::regclass)};
	is($other, $own =~ s/^table f /table t /mr, '... which is what PARTITION OF makes, and has row security');
	cmp_ok($own =~ tr/\n//, '>', 12, '... with much in it');

	# ---- what a partition is for is written on it, and outlives names and dumps ----

	like(keeper_says(q{ALTER TABLE whole RENAME TO other; SELECT string_agg(obj_description(inhrelid), '/') FROM pg_inherits WHERE inhparent = 'other'::regclass}), qr/^uidgen: ids of layout "time:41:1ms [^"]*" from \d+ to \d+$/, 'its layout and bounds are on each partition');
	keeper_says(q{ALTER TABLE other RENAME TO whole});
	is(keeper_says(q{SELECT class, what ~ 'by_hand.* has no record', statement ~ 'COMMENT ON TABLE "public"."by_hand" IS .uidgen: ids of layout "time:41.* from 0 to 100.;$' FROM uidgen_tools.check_partitions('whole')}), 'tell|t|t', 'what has none is told');
	keeper_says(q{CREATE TABLE dumped (id bigint) PARTITION BY RANGE (id); SELECT FROM uid_partitions('dumped', now(), now() + interval '2 months', '1 month', true)});
	$node->safe_psql('postgres', 'CREATE DATABASE restored');
	IPC::Run::run([ $node->installed_command('pg_dump'), '-t', 'dumped*', '-d', $node->connstr('app') ], '|', [ $node->installed_command('psql'), '-Xq', '-d', $node->connstr('restored') ], '>&', \my $restored);
	my $records = q{SELECT string_agg(obj_description(inhrelid), e'\n' ORDER BY inhrelid::regclass::text) FROM pg_inherits WHERE inhparent = 'dumped'::regclass};
	is($node->safe_psql('restored', $records), $node->safe_psql('app', $records), '... and a dump has it');

	# ---- what something depends on stays, and the others go ----

	my @m = split ' ', $node->safe_psql('app', q{SELECT string_agg(to_char(date_trunc('month', now()) - n * interval '1 month', 'YYYY_MM'), ' ' ORDER BY n DESC) FROM generate_series(7, 13) AS n});
	my $half = q{date_trunc('month', now()) - interval '6 months'};
	like(keeper_says(qq{CREATE TABLE used (id bigint PRIMARY KEY DEFAULT uid_next(), n integer, g integer GENERATED ALWAYS AS (n * 2) STORED) PARTITION BY RANGE (id); SELECT FROM uid_partitions('used', now() - interval '13 months', now(), '1 month', true); INSERT INTO used SELECT uid_min(t) FROM generate_series(now() - interval '13 months', now(), '7 days') AS t;
		CREATE VIEW used_view AS SELECT n FROM used_$m[2]; CREATE FUNCTION used_function(used_$m[3]) RETURNS integer LANGUAGE sql AS 'SELECT 1'; CREATE TABLE used_array (a used_$m[4]\[]);
		ALTER TABLE used_$m[5] ENABLE ROW LEVEL SECURITY, ADD CHECK (n < 5); CREATE POLICY all_rows ON used_$m[5] USING (n > 0); CREATE TRIGGER fires BEFORE INSERT ON used_$m[5] FOR EACH ROW WHEN (new.n > 0) EXECUTE FUNCTION fires();
		CREATE STATISTICS used_statistics ON id, n FROM used_$m[5]; CREATE RULE r AS ON UPDATE TO used_$m[5] WHERE new.n > 7 DO NOTHING; CREATE INDEX ON used_$m[5] ((n + 1)) WHERE n > 3;
		CALL uid_number_rows('used_$m[1]', 'id', begin => true)}), qr/NOTICE:  (?:\d+: )?the numbers of table "used_$m[1]" begin/, 'partitions that something depends on, and a partition with much of its own');
	foreach my $execute ('false', 'true')
	{
		my $drops = keeper_says(qq{SELECT uid_drop_partitions('used', $half, $execute, force => true)});
		is(join(' ', $drops =~ /^DROP TABLE "public"\."(used_\w+)";$/mg), "used_$m[0] used_$m[5] used_$m[6]", "those go on which nothing depends ($execute)");
		like($drops, qr/NOTICE:  (?:\d+: )?partition "used_$m[1]" is kept\nDETAIL:  On it depend: constraint uid_last_number_of on table (?:public\.)?used_$m[1]_number_counter, constraint uid_numbers_of on table (?:public\.)?used_$m[1]_number\.\nHINT:  If nobody needs these, drop them first\./, '... and the others stay with a notice');
		is(join(' ', $drops =~ /On it depend: (?!constraint)(\w+ (?:\w+ )*(?:public\.)?\w+)/g) =~ s/public\.//gr, 'rule _RETURN on view used_view function used_function column a of table used_array', '... which says what it is');
	}
	keeper_says('DROP TABLE used_array');
	is(keeper_says(qq{SELECT uid_drop_partitions('used', $half, true, force => true)}) =~ /^(DROP .*)/ && $1, qq{DROP TABLE "public"."used_$m[4]";}, '... and can go when that is gone');

	# ---- the order in which rows are stored is nothing, and a partition ends before the time at which it ends ----

	keeper_says(q{CREATE TABLE turned (id bigint PRIMARY KEY) PARTITION BY RANGE (id); SELECT FROM uid_partitions('turned', now() - interval '3 months', now(), '1 month', true)});
	@m = split ' ', expected_months("- interval '3 months'", '');
	foreach my $case (
		[ 'now()' => "date_trunc('month', now() - interval '1 month')", '', 0, 1 ],
		# And a row as of a night with a wrong clock.
		[ "date_trunc('month', now()) - interval '1 hour'" => "date_trunc('month', now() - interval '1 month')", 1, 0 ],
		[ "date_trunc('month', now() - interval '1 month') + interval '4 days'" => "date_trunc('month', now())", '1 2', 0 ])
	{
		my ($newest, $before, $kept, @gone) = @$case;
		is(keeper_says("BEGIN; INSERT INTO turned SELECT uid_min(t) FROM generate_series($newest, date_trunc('month', now() - interval '3 months'), '-7 hours') AS t; INSERT INTO turned SELECT uid_min(now()) WHERE '$kept' = '1'; SELECT d FROM uid_drop_partitions('turned', $before) AS d WHERE d ~ '^DROP'") =~ s/\nDETAIL.*//sr =~ s/^psql.*: (?=")//mr,
			join("\n", (map { qq{DROP TABLE "public"."turned_$m[$_]";} } @gone), $kept eq '' ? () : join ', ', map { qq{"turned_$m[$_]"} } split ' ', $kept), "rows until $newest: what ends before $before");
	}

	keeper_says(q{CREATE TABLE heap (id bigint) PARTITION BY RANGE (id); SELECT FROM uid_partitions('heap', now() - interval '3 months', now(), '1 month', true); INSERT INTO heap SELECT uid_min(t) FROM generate_series(now() - interval '3 months', now(), '1 day') AS t});
	is(keeper_says("BEGIN; SELECT count(*) FROM uid_drop_partitions('heap', date_trunc('month', now() - interval '1 month'), true); SELECT pg_stat_get_xact_numscans('heap_$m[-1]'::regclass); COMMIT"), "2\n1", 'the present partition is read before the lock, and not under it');

	# ---- an event trigger that gives each new table to another role ----

	$node->safe_psql('app', q{CREATE ROLE other; GRANT other TO keeper; GRANT CREATE ON SCHEMA public TO other;
		CREATE FUNCTION gives() RETURNS event_trigger LANGUAGE plpgsql AS $$ DECLARE o record; BEGIN FOR o IN SELECT * FROM pg_event_trigger_ddl_commands() WHERE object_type = 'table' LOOP EXECUTE format('ALTER TABLE %s OWNER TO other', o.object_identity); END LOOP; END $$;
		CREATE EVENT TRIGGER gives ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION gives()});
	my $parts = q{SELECT count(*) FROM pg_inherits WHERE inhparent = 'heap'::regclass};
	my $had = $node->safe_psql('app', $parts);
	my $next = q{SELECT count(*) FROM uid_partitions('heap', now() + interval '1 month', now() + interval '2 months', '1 month', true)};
	like(keeper_says($next), qr/ERROR:  42501: table "public"\."heap_\d+_\d+" belongs to role "other"/, 'a partition that would belong to another role is refused');
	is($node->safe_psql('app', "$parts; SELECT count(*) FROM pg_class WHERE relowner = 'other'::regrole; DROP EVENT TRIGGER gives"), "$had\n0", '... and none is made');
	foreach my $published ('TABLE heap', 'TABLES IN SCHEMA public', 'ALL TABLES')
	{
		$node->safe_psql('app', "SET client_min_messages = error; CREATE PUBLICATION sends FOR $published");
		like(keeper_says($next), qr/ERROR:  55000: a subscriber would stop at what uid_partitions\(\) makes for table "public"\."heap"\n.*publications: "sends"/s, "a partition that a publication for $published would send is refused");
		$node->safe_psql('app', 'ALTER PUBLICATION sends SET (publish_via_partition_root = true)');
		like(keeper_says("BEGIN; $next; ROLLBACK"), qr/^[12]$/, '... and is made where it goes as the whole table');
		$node->safe_psql('app', 'DROP PUBLICATION sends');
	}
	like(keeper_says($next), qr/^[12]$/, '... and made when it would be the owner\'s');

	# ---- a replica identity ----

	$node->safe_psql('app', q{CREATE TABLE "it's" (id bigint NOT NULL UNIQUE DEFAULT uid_next(), body text) PARTITION BY RANGE (id); ALTER TABLE "it's" OWNER TO keeper});
	my $month = q{uid_partitions('"it''s"', now() + interval '%s months', now() + interval '%1$s months 1 day', '1 month'};
	my $identity = q{SELECT c.relreplident::text || coalesce(i.indisreplident::text, '-') FROM pg_inherits AS h JOIN pg_class AS c ON c.oid = h.inhrelid LEFT JOIN pg_index AS i ON i.indrelid = c.oid WHERE h.inhparent = '"it''s"'::regclass ORDER BY c.oid DESC LIMIT 1};
	my $n = 0;
	foreach ([ 'REPLICA IDENTITY USING INDEX "it\'s_id_key"', 'itrue' ], [ undef, 'itrue' ], [ 'ADD CONSTRAINT own UNIQUE (id, body), ALTER body SET NOT NULL, REPLICA IDENTITY USING INDEX own', 'ffalse' ], [ 'REPLICA IDENTITY FULL', 'ffalse' ], [ 'REPLICA IDENTITY DEFAULT', 'dfalse' ])
	{
		my ($alter, $expected) = @$_;
		my $last = $n ? $node->safe_psql('app', q{SELECT h.inhrelid::regclass FROM pg_inherits AS h WHERE h.inhparent = '"it''s"'::regclass ORDER BY h.inhrelid DESC LIMIT 1}) : q{"it's"};
		keeper_says("ALTER TABLE $last $alter") if $alter;
		keeper_says($n % 2 ? sprintf("SELECT $month) \\gexec", $n) : sprintf("SELECT $month, true)", $n));
		is($node->safe_psql('app', $identity), $expected, 'a partition gets the replica identity of the last one: ' . ($alter // 'the same'));
		$n++;
	}

	# ---- a night with a clock that is a year ahead, and a row that is written in it ----

	my $recent = q{SELECT count(*) FROM event WHERE uid_between(id, '} . $node->safe_psql('app', q{SELECT now() - interval '5 months'}) . q{', NULL)};
	my $young = $node->safe_psql('app', $recent);
	night();
	$clock->step(365 * 86400);
	($status, $said, $err) = night();
	is("$status $said", join('', '0 ', $said =~ /^CREATE TABLE .*\n/mg) , 'a clock that is a year ahead: partitions are made for it, and none is dropped') or diag($err);
	ok(poll_until(sub { ($node->psql('app', q{INSERT INTO event (body) VALUES ('of that night')}))[0] == 0 }), '... and take a row');
	($status, $said, $err) = night();
	is("$status $said", '0 ', 'a row of that night lets none go');
	like($err, qr/NOTICE:  partitions of table "event" are kept: "event_\d+_\d+", .*\nDETAIL: .*the clock of this server may be ahead\.\nHINT: .* force => true\.\n\z/, '... and it says so');
	is($node->safe_psql('app', $recent), $young + 1, '... and all rows are there');
	$clock->step(-365 * 86400);
	is(join(' ', (night())[ 0, 2 ]), '0 ', 'with the clock set right, nights are as ever');

	$node->stop;
}
done_testing();
