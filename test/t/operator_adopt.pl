# uid_adopt() on tables that are in use: writers see no error, whoever has the table locked is not waited for long, what changes before the
# lock is looked at again; and a dump from before or after it is restored as it was.  pg_regress has one session.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use SqlEdition;
use Twins;
use UidgenTest;

my ($node, %folder);

sub dump_of
{
	my ($when) = @_;
	$node->command_ok([ 'pg_dump', '-Fc', '--file', "$folder{$when}/dump", 'app' ], "a dump from $when adopt()");
}

# What uid_adopt() says of a table: (SQLSTATE, all that psql says).
sub adopt
{
	my ($table, @options) = @_;
	return sqlstate_of($node, join('; ', @options, "SELECT uid_adopt('$table', 'id', true)"), 'app');
}
sub uids
{
	my ($column, $table, $database) = @_;
	return $node->safe_psql($database // 'app', "SELECT count(*) FILTER (WHERE uid_between($column, now() - interval '1 hour', NULL)) || ' of ' || count(*) FROM $table");
}
sub rows_grow
{
	my ($name) = @_;
	my $rows = $node->safe_psql('app', 'SELECT count(*) FROM line');
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok($node->poll_query_until('app', "SELECT count(*) > $rows + 100 FROM line"), $name);
}
sub start_adopting
{
	my ($table) = @_;
	my $said = '';
	my $run = IPC::Run::start(
		[ $node->installed_command('psql'), '-XAtq', '-d', $node->connstr('app'), '-c', "SET lock_timeout = '5min'", '-c', "SELECT uid_adopt('$table', execute => true)" ],
		'<', \undef, '>&', \$said, IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default));
	$node->poll_query_until('app', "SELECT count(*) > 0 FROM pg_locks WHERE relation = '$table'::regclass AND NOT granted") or die 'it does not wait';
	return sub { $run->finish; return $said };
}

foreach my $kind (kinds())
{
	$node = twin_node($kind, "uidgen.database = 'app'", 'autovacuum = off', "deadlock_timeout = '1h'");
	$node->start;
	$node->safe_psql('postgres', 'CREATE DATABASE app');
	put_twin_in($kind, $node, 'app');
	$node->safe_psql('app', <<'END');
CREATE TABLE customer (id bigserial PRIMARY KEY);
CREATE TABLE invoice (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer_id bigint NOT NULL REFERENCES customer);
CREATE TABLE line (id serial PRIMARY KEY, invoice_id bigint NOT NULL REFERENCES invoice);
CREATE TABLE note (line_id integer NOT NULL REFERENCES line);
CREATE TABLE stop ();
END
	%folder = map { $_ => PostgreSQL::Test::Utils::tempdir($_) } qw(before after);

	# ---- writers all the while ----

	my @files = map { $node->basedir . "/writer.$_" } 1 .. 4;
	my @writers = map {
		IPC::Run::start(
			[ $node->installed_command('psql'), '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('app'), '-c', <<'SQL' ], '<', \undef, '>&', $_, IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default))
DO $$
DECLARE
	c bigint;
	i bigint;
	l bigint;
BEGIN
	WHILE NOT EXISTS (SELECT FROM stop) LOOP
		INSERT INTO customer DEFAULT VALUES RETURNING id INTO c;
		INSERT INTO invoice (customer_id) VALUES (c) RETURNING id INTO i;
		COMMIT;
		INSERT INTO line (invoice_id) VALUES (i) RETURNING id INTO l;
		INSERT INTO note (line_id) VALUES (l);
		COMMIT;
		DELETE FROM note WHERE line_id = l;
		PERFORM FROM invoice WHERE id = i FOR UPDATE;
		COMMIT;
	END LOOP;
END
$$
SQL
	} @files;
	rows_grow('four writers are at work');
	dump_of('before');
	foreach my $table (qw(customer line invoice))
	{
		# A lock that is not to be had in time is no fault.
		my ($state, $text, $tries) = ('', '', 0);
		ok(poll_until(sub { ($state, $text) = adopt($table); $tries++; return $state !~ /^(55P03|40P01)$/ }), "$table is adopted beneath them");
		is($state, '', "... at attempt $tries") or diag($text);
		rows_grow('... and they go on');
	}
	$node->safe_psql('app', 'INSERT INTO stop DEFAULT VALUES');
	$_->finish foreach @writers;
	is(join('', map { slurp_file($_) } @files), '', '... without an error');
	foreach my $table (qw(customer invoice line))
	{
		my ($new, $all) = uids('id', $table) =~ /(\d+) of (\d+)/;
		ok($new > 0 && $new < $all, "$table has old ids and new ones");
		is($node->safe_psql('app', "SELECT count(DISTINCT id) FROM $table"), $all, '... none twice');
	}
	dump_of('after');

	# ---- who is in the way ----

	$node->safe_psql('app', 'CREATE TABLE event (id bigserial PRIMARY KEY); INSERT INTO event DEFAULT VALUES');
	my $other = $node->background_psql('app');
	$other->query_safe('BEGIN; SELECT FROM event');
	my ($state, $text) = adopt('event');
	is($state, '55P03', 'a transaction that has read the table: adopt() gives up');
	$other->query_safe('INSERT INTO event DEFAULT VALUES; COMMIT');
	is($node->safe_psql('app', 'INSERT INTO event DEFAULT VALUES RETURNING id'), '3', '... and all is as before');

	# What it cannot see when it looks first, it sees when it has the lock.
	$other->query_safe("BEGIN; INSERT INTO event VALUES (uid_min(now() + interval '1 year'))");
	my $finish = start_adopting('event');
	$other->query_safe('COMMIT');
	like($finish->(), qr/table "event" has ids where new ones will be\nDETAIL:.*: 1, the largest is/, 'a row that comes while it waits for the lock is seen');
	$node->safe_psql('app', 'DELETE FROM event WHERE id > 10');
	$other->query_safe('BEGIN; CREATE TABLE child (event_id integer REFERENCES event); INSERT INTO event VALUES (uid_next())');
	$finish = start_adopting('event');
	$other->query_safe('COMMIT');
	like($finish->(), qr/^INFO:  done: LOCK TABLE "public"\."event", "public"\."child" .*^INFO:  done: ALTER TABLE "public"\."child" ALTER COLUMN "event_id" TYPE bigint/ms, '... and so is a foreign key; an id that was drawn meanwhile does no harm');
	$node->safe_psql('app', 'DROP TABLE child; ALTER TABLE event ALTER id SET DEFAULT nextval($$event_id_seq$$)');
	# query_safe() dies of what it says.
	$other->query(q{BEGIN; SELECT uid_adopt('event', 'id', true)});
	$other->{stderr} = '';
	$finish = start_adopting('event');
	$other->query_safe('COMMIT');
	is($finish->(), "NOTICE:  nothing is to be done: new rows of table \"event\" have ids of uidgen\n", '... and that another call has done it all');
	$other->query(q{ALTER TABLE event ALTER id SET DEFAULT nextval('event_id_seq'); BEGIN; SELECT uid_adopt('event', 'id', true); ROLLBACK});
	$other->{stderr} = '';
	is($node->safe_psql('app', 'INSERT INTO event DEFAULT VALUES RETURNING id < 100'), 't', 'a call that is rolled back has done nothing');
	$other->quit;

	# A server that issues no ids.
	my $last = $node->safe_psql('app', 'SELECT uid_next()');
	$node->safe_psql('app', $kind eq 'edition' ? "SELECT setval('uidgen.position', 1)"
		: "DELETE FROM uidgen.layout_used; INSERT INTO uidgen.layout_used VALUES ('time:41:1ms worker:10 sequence:12 epoch:2020-01-01', now(), 1, 1)");
	($state, $text) = adopt('event');
	is($state, '55000', 'where no ids can be issued, nothing is run');
	like($text, qr/no ids can be issued.*DETAIL:  uidgen\.diagnose\(\) says: (?:this database has ids of another layout|sequence uidgen\.position was restarted)/s, '... and it says why');
	is($node->safe_psql('app', "SELECT count(*) > 3 FROM uid_adopt('event', 'id')"), 't', '... but printed');
	$node->safe_psql('app', $kind eq 'edition' ? "SELECT uidgen.set_up(after => $last)" : 'SELECT uidgen.use_layout()');

	# ---- what a sequence loses with its identity ----

	$node->safe_psql('app', q{CREATE ROLE reader; CREATE TABLE counted (id bigint GENERATED BY DEFAULT AS IDENTITY (START 100 INCREMENT 7 MINVALUE 3 MAXVALUE 100000 CACHE 2 CYCLE) PRIMARY KEY); INSERT INTO counted DEFAULT VALUES;
		GRANT USAGE ON SEQUENCE counted_id_seq TO reader WITH GRANT OPTION; COMMENT ON SEQUENCE counted_id_seq IS E'it''s\nmine'; ALTER SEQUENCE counted_id_seq SET UNLOGGED});
	my $user = $node->background_psql('app', on_error_stop => 0);
	$user->query_safe('INSERT INTO counted DEFAULT VALUES');
	my $all = q{SELECT c.relname, c.relpersistence, c.relacl, obj_description(c.oid), s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, s.seqcycle, s.seqtypid::regtype, (SELECT last_value FROM counted_id_seq) FROM pg_class AS c JOIN pg_sequence AS s ON s.seqrelid = c.oid WHERE c.oid = 'counted_id_seq'::regclass};
	my $was = $node->safe_psql('app', $all);
	my ($back) = ($node->psql('app', q{SELECT uid_adopt('counted', 'id', true)}))[2] =~ /the way back:\n(.*?COMMIT;)/s;
	is($node->safe_psql('app', "$all; SELECT attidentity FROM pg_attribute WHERE attrelid = 'counted'::regclass AND attname = 'id'"), "$was\n", 'the sequence that is kept is as the one of the identity was');
	$user->query('SELECT lastval()');
	like($user->{stderr}, qr/lastval is not yet defined/, '... but another, so lastval() is an error, as the call says');
	$user->quit;
	is($node->safe_psql('app', "$back\n$all; SELECT attidentity FROM pg_attribute WHERE attrelid = 'counted'::regclass AND attname = 'id'; DROP TABLE counted") =~ s/^\d+\n//r, "$was\nd", '... and so is the one of the way back');
	$node->safe_psql('app', q{CREATE TABLE labelled (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY); INSERT INTO pg_seclabel VALUES ('labelled_id_seq'::regclass, 'pg_class'::regclass, 0, 'provider', 'a label')});
	is($node->safe_psql('app', q{SELECT count(*) FROM uid_adopt('labelled', 'id') AS l WHERE l = 'SECURITY LABEL FOR "provider" ON SEQUENCE "public"."labelled_id_seq" IS ''a label'';'; DROP TABLE labelled; DROP ROLE reader}), '1', 'a security label is given again');

	# ---- dumps ----

	my $catalog = q{SELECT a.attrelid::regclass, a.attname, a.atttypid::regtype, a.attidentity, pg_get_expr(d.adbin, d.adrelid), pg_get_serial_sequence(a.attrelid::regclass::text, a.attname)
		FROM pg_attribute AS a LEFT JOIN pg_attrdef AS d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
		WHERE a.attrelid IN ('customer'::regclass, 'invoice'::regclass, 'line'::regclass, 'note'::regclass) AND a.attnum > 0 ORDER BY 1, 2};
	my $sequences = 'SELECT sequencename, last_value, increment_by FROM pg_sequences ORDER BY 1';
	foreach my $when (qw(before after))
	{
		$node->safe_psql('postgres', "CREATE DATABASE $when");
		$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr($when), "$folder{$when}/dump" ], "the dump from $when adopt() is restored");
	}
	my %adopted = map { $_ => $node->safe_psql($_, $catalog) } qw(app after);
	is($adopted{after}, $adopted{app}, 'columns, defaults and sequences are as they were');
	like($adopted{after}, qr/^invoice\|id\|bigint\|\|uid_next\(\)\|public\.invoice_id_seq$/m, '... the kept sequence of an identity among them');
	# Which table has which ids is known from the rows, so a call has nothing to do there.
	foreach my $table (qw(customer invoice line))
	{
		is($node->safe_psql('after', "SELECT uid_adopt('$table', 'id', true)"), '', "$table stays adopted");
		# in the dump from before, it is adopted for the first time
		is($node->safe_psql('before', "SELECT uid_adopt('$table', 'id', true)"), '', "... and can be adopted, where the dump is from before");
	}
	is($node->safe_psql('before', $catalog), $adopted{app}, '... with the same result');
	foreach my $database (qw(before after))
	{
		is($node->safe_psql($database, q{WITH c AS (INSERT INTO customer DEFAULT VALUES RETURNING id), i AS (INSERT INTO invoice (customer_id) SELECT id FROM c RETURNING id),
				l AS (INSERT INTO line (invoice_id) SELECT id FROM i RETURNING id)
			INSERT INTO note SELECT id FROM l RETURNING uid_between(line_id, now() - interval '1 hour', NULL)}), 't', "new rows in the database from $database have new ids");
	}

	$node->stop;
}
done_testing();
