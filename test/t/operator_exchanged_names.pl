# What is looked at by its number in the catalogs is locked and changed by its name.  Who may give that name to something else, while
# a call waits for a lock, gains nothing by it, and nothing else is dropped.  Nor does a name break out where the client's encoding has one character for several.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use Twins;
use UidgenTest;

my $node;

sub as
{
	my ($role, $sql) = @_;
	return $node->safe_psql('postgres', $sql, extra_params => [ '-U', $role ]);
}

sub superusers
{
	return $node->safe_psql('postgres', q{SELECT count(*) FROM pg_roles WHERE rolsuper AND rolname IN ('landlord', 'shop')});
}

# Begin to run a statement as the superuser; returns once it waits for a lock, with what waits for its end and returns what it says.
sub begin_waiting
{
	my ($user, $sql) = @_;
	my $said = '';
	my $run = IPC::Run::start(
		[ $node->installed_command('psql'), '-XAtq', '-U', $user, '-d', $node->connstr('postgres'), '-v', 'VERBOSITY=verbose', '-c', "SET application_name = 'waiting'", '-c', "SET lock_timeout = '5min'", '-c', $sql ],
		'<', \undef, '>&', \$said, IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default));
	$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'waiting' AND wait_event_type = 'Lock'}) or die 'it does not wait';
	return sub { $run->finish; return $said };
}

foreach my $kind (kinds())
{
	$node = twin_node($kind, { extra => [ in_encoding('UTF8') ] }, "deadlock_timeout = '1h'");
	$node->start;
	put_twin_in($kind, $node, 'postgres');
	$node->safe_psql('postgres', <<'SQL');
CREATE ROLE landlord LOGIN; CREATE ROLE shop LOGIN;
GRANT CREATE ON DATABASE postgres TO landlord;
CREATE SCHEMA shop AUTHORIZATION shop;
SQL
	my $log = -s $node->logfile;

	# ---- names that are exchanged during a wait ----

	my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
	as('landlord', <<'SQL');
CREATE SCHEMA own;
CREATE FUNCTION own.act() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE LOG 'trapped as %', current_user; IF current_user <> 'landlord' THEN ALTER ROLE landlord SUPERUSER; END IF; END $$;
CREATE FUNCTION own.evil(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM own.act(); RETURN $1; END $$;
SQL
	foreach my $case (
		[ q{uid_partitions('let.ev', now(), now() + interval '1 day', '1 month', true)}, 'CREATE TABLE let.ev (id bigint PRIMARY KEY, b text) PARTITION BY RANGE (id); CREATE INDEX ON let.ev (b) WHERE own.evil(\'x\') = \'x\'' ],
		[ q{uid_drop_partitions('let.ev', now() - interval '1 day', true, true)}, 'CREATE TABLE let.ev (id bigint PRIMARY KEY, b text) PARTITION BY RANGE (id); CREATE INDEX ON let.ev (b) WHERE own.evil(\'x\') = \'x\'' ],
		[ q{uid_adopt('let.t', 'id')}, 'CREATE VIEW let.t AS SELECT 1::bigint AS id, own.evil(\'x\') AS b WHERE own.evil(\'y\') = \'y\'' ],
		[ q{CALL uid_number_rows('let.t', 'id', begin => true)}, 'CREATE TABLE let.t (id bigint PRIMARY KEY, b text); CREATE INDEX ON let.t (b) WHERE own.evil(\'x\') = \'x\'' ],
		[ q{uid_track_changes('let.t', execute => true)}, 'CREATE TABLE let.t (id bigint PRIMARY KEY, b text); CREATE INDEX ON let.t (b) WHERE own.evil(\'x\') = \'x\'' ],
		[ q{uid_adopt('let.t', 'id', true)}, 'CREATE TABLE let.t (id bigint PRIMARY KEY, b text); CREATE INDEX ON let.t (b) WHERE own.evil(\'x\') = \'x\'' ])
	{
		my ($call, $instead) = @$case;
		next if !twin_has($kind, $call =~ /(uid_\w+)/);
		$node->safe_psql('postgres', 'SET client_min_messages = error; DROP SCHEMA IF EXISTS let CASCADE; DROP SCHEMA IF EXISTS let_old CASCADE; CREATE SCHEMA let AUTHORIZATION landlord;
			CREATE TABLE let.t (id bigserial PRIMARY KEY, b text); CREATE TABLE let.ev (id bigint PRIMARY KEY DEFAULT uid_next(), b text) PARTITION BY RANGE (id);
			SELECT FROM uid_partitions(\'let.ev\', now() - interval \'3 months\', now() - interval \'2 months\', \'1 month\', true)');
		my $table = $call =~ /let\.(\w+)/ ? $1 : die;
		# The owner of a schema may drop what others have in it.
		my $holder = $node->background_psql('postgres', extra_params => [ '-U', 'landlord' ]);
		$holder->query_safe("BEGIN; DROP TABLE let.$table");
		my $finish = begin_waiting($superuser, $call =~ /^CALL/ ? $call : "SELECT $call");
		as('landlord', "BEGIN; ALTER SCHEMA let RENAME TO let_old; CREATE SCHEMA let; $instead; COMMIT");
		$holder->query_safe('ROLLBACK');
		$holder->quit;
		like($finish->(), qr/ERROR:  (?:55000|42501|42809)/, "$call ends where the name is another table's meanwhile");
		is(superusers(), '0', '... and nobody has gained a right');
	}
	# A schema may get another name while its tables are locked, and so what is found by a name after the lock may be another one.
	{
		$node->safe_psql('postgres', 'SET client_min_messages = error; DROP SCHEMA let, let_old CASCADE; CREATE SCHEMA let AUTHORIZATION landlord; CREATE TABLE let.t (id bigint PRIMARY KEY)');
		$node->safe_psql('postgres', q{CALL uid_number_rows('let.t', 'id', begin => true)});
		my $holder = $node->background_psql('postgres');
		$holder->query_safe('BEGIN; SELECT FROM let.t_number_counter FOR UPDATE');
		my $finish = begin_waiting($superuser, q{CALL uid_number_rows('let.t', 'id')});
		as('landlord', q{BEGIN; ALTER SCHEMA let RENAME TO let_old; CREATE SCHEMA let; CREATE VIEW let.t_number_counter AS SELECT 1::bigint AS number, 1::bigint AS id WHERE own.evil('y') = 'y'; COMMIT});
		$holder->quit;
		like($finish->(), qr/ERROR:  42501: a table was exchanged for another role's meanwhile/, 'a schema is exchanged behind the lock');
		is(superusers(), '0', '... and nobody has gained a right');
	}
	unlike(log_since($node, $log), qr/trapped as \Q$superuser\E/, '... nor had code of theirs run as somebody else');

	# Partitions that exchange their names.
	as('shop', q{CREATE TABLE shop.past (id bigint NOT NULL) PARTITION BY RANGE (id)});
	my @made = split /\n/, as('shop', q{SELECT uid_partitions('shop.past', now() - interval '8 months', now(), '1 month', true)});
	my ($oldest, $second, $newest) = map { /CREATE TABLE "shop"\."(\w+)"/ } @made[ 0, 1, -1 ];
	as('shop', 'INSERT INTO shop.past VALUES (uid_next())');
	my $holder = $node->background_psql('postgres', extra_params => [ '-U', 'shop' ]);
	$holder->query_safe(qq{BEGIN; ALTER TABLE shop."$second" RENAME TO put_by; ALTER TABLE shop."$newest" RENAME TO "$second"});
	my $finish = begin_waiting('shop', q{SELECT uid_drop_partitions('shop.past', now() - interval '3 months', true, true)});
	$holder->query_safe('COMMIT');
	$holder->quit;
	like($finish->(), qr/ERROR:  55000: a table was renamed meanwhile/, 'partitions exchange their names while one is about to be dropped');
	is(as('shop', 'SELECT count(*) FROM shop.past'), '1', '... and what is of today stays');

	# ---- privileges of the sequence of an identity column ----

	as('shop', q{ALTER DEFAULT PRIVILEGES IN SCHEMA shop GRANT ALL ON SEQUENCES TO landlord; ALTER DEFAULT PRIVILEGES GRANT USAGE ON SEQUENCES TO PUBLIC;
		CREATE TABLE shop.numbered (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY);
		REVOKE ALL ON SEQUENCE shop.numbered_id_seq FROM landlord, PUBLIC; GRANT SELECT ON SEQUENCE shop.numbered_id_seq TO landlord});
	my $ACL = q{SELECT relacl FROM pg_class WHERE oid = 'shop.numbered_id_seq'::regclass};
	my $acl = $node->safe_psql('postgres', $ACL);
	as('shop', q{SELECT uid_adopt('shop.numbered', 'id', true)});
	is($node->safe_psql('postgres', $ACL), $acl, 'the sequence of an identity column is granted to nobody by default privileges');

	as('shop', q{CREATE TABLE shop.quoted (id bigserial PRIMARY KEY); SET quote_all_identifiers = on; SELECT uid_adopt('shop.quoted', 'id', true)});
	cmp_ok(as('shop', 'INSERT INTO shop.quoted DEFAULT VALUES RETURNING id'), '>', 1000, '... and how the server quotes names makes no difference');

	# ---- an encoding with one character for several ----

	{
		my $name = q{U&"s\00a5'); commit; alter role shop superuser; --\301c\+01f600"};
		as('shop', qq{CREATE SCHEMA jp; CREATE TABLE jp.t (id bigint GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME jp.$name) PRIMARY KEY)})
		  if $node->safe_psql('postgres', 'GRANT CREATE ON DATABASE postgres TO shop; SELECT true');
		my $file = $node->basedir . '/sjis.sql';
		local $ENV{PGCLIENTENCODING} = 'SJIS';
		append_to_file($file, as('shop', q{SELECT uid_adopt('jp.t', 'id')}) . "\n");
		$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', $file ], 'what is printed for a client in Shift JIS runs');
		is(superusers(), '0', '... and says what is meant');
	}

	$node->stop;
}
done_testing();
