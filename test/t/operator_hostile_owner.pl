# To look at a table runs what its owner has put into it.  The functions of uidgen_tools do so for the owner alone:
# not for a superuser or a member of the role, who would run it as themselves, nor for the owner of one table where another one is a
# partition, a child, a parent or, where a type changes, at the other end of a foreign key.  A superuser who has become the owner by SET ROLE
# is refused; the code of a member who has cannot become him.  pg_regress has no roles that log in.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use Twins;
use UidgenTest;

my ($node, $kind);
my $armed = 0;
my $NO_SUPERUSER = q{SELECT count(*) FROM pg_roles WHERE rolsuper AND rolname IN ('shop', 'member')};

# Run psql as a role; returns all that it says.
sub psql_as
{
	my ($role, $script) = @_;
	my $said = '';
	IPC::Run::run([ $node->installed_command('psql'), '-XAtq', '-v', 'VERBOSITY=verbose', '-U', $role, '-d', $node->connstr('postgres') ],
		'<', \$script, '>&', \$said, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return $said;
}

# The columns of a new table of a role, and what can be put on one that is there.
sub columns
{
	my ($role) = @_;
	return "x integer DEFAULT $role.evil(2), d $role.tricky DEFAULT 0, m $role.mood DEFAULT 'calm', g integer GENERATED ALWAYS AS ($role.evil(x)) STORED,
		CHECK ($role.evil(x) = 0), CHECK (m::integer = 0)";
}

sub arm
{
	my ($role, $table) = @_;
	my $number = $armed++;
	return "CREATE INDEX ON $table ((x + $role.evil(1))); CREATE INDEX ON $table ((x + 1)) WHERE $role.evil(3) = 0; CREATE INDEX ON $table (id) WHERE $role.evil(4) = 0 AND id > 0;
		ALTER TABLE $table ADD CHECK ($role.evil(5) = 0); CREATE STATISTICS $table$number ON ($role.evil(x)), x FROM $table;
		CREATE POLICY p ON $table USING ($role.evil(6) = 0); ALTER TABLE $table ENABLE ROW LEVEL SECURITY;
		CREATE RULE r AS ON UPDATE TO $table DO ALSO SELECT $role.evil(7);
		CREATE TRIGGER t$number BEFORE INSERT ON $table FOR EACH ROW EXECUTE FUNCTION $role.fires();\n";
}

# What the traps have caught since they were looked at last.
sub caught
{
	my ($last, $called, $super) = split /\|/,
	  $node->safe_psql('postgres', q{SELECT c.last_value, c.is_called, (SELECT count(*) FROM pg_roles WHERE rolsuper AND rolname IN ('shop', 'thief')) FROM trap.caught AS c});
	$node->safe_psql('postgres', q{ALTER ROLE shop NOSUPERUSER; ALTER ROLE thief NOSUPERUSER; SELECT setval('trap.caught', 1, false)});
	return ($called eq 't' ? $last : 0) + $super;
}

# Each call: (name, what it should say for its owner, statement).
sub calls
{
	my ($prefix) = @_;
	my %call;
	foreach my $what ([ 'prints', 'false' ], [ 'runs', 'true' ])
	{
		my ($does, $execute) = @$what;
		$call{"adopt $does $_"} = "SELECT count(*) FROM uid_adopt('$prefix.$_', 'id', $execute)" foreach qw(account small log);
		$call{"track $does $_"} = "SELECT count(*) FROM uid_track_changes('$prefix.$_', execute => $execute)" foreach qw(third many);
		$call{"partitions $does"} = "SELECT count(*) FROM uid_partitions('$prefix.event', '2025-06-01', '2025-08-01', '1 month', $execute, 'default')";
		$call{"drop $does"} = "SELECT count(*) FROM uid_drop_partitions('$prefix.event', '2025-03-01', $execute, 'default', true)";
		$call{"drop looks, $does"} = "SELECT count(*) FROM uid_drop_partitions('$prefix.event', '2025-03-01', $execute)";
	}
	$call{'numbers'} = "CALL uid_number_rows('$prefix.account', 'id')";
	$call{purge} = "SELECT uid_purge_deleted('$prefix.kept', now())";
	delete @call{ grep { !twin_has($kind, $call{$_} =~ /(uid_\w+)/) } keys %call };
	return \%call;
}

# Run calls in one session; returns for each its SQLSTATE, or '' if it has done it.  All is rolled back, but by a procedure that commits.
sub states
{
	my ($role, $before, $calls) = @_;
	my @names = sort keys %$calls;
	my $said = psql_as($role, "$before;\n" . join '', map { "\\echo \@\@\n" . ($calls->{$_} =~ /^CALL/ ? "$calls->{$_};\n" : "BEGIN;\n$calls->{$_};\nROLLBACK;\n") } @names);
	my (undef, @said) = split /^\@\@\n/m, $said;
	return { map { my $text = shift @said // 'ERROR: nothing'; $_ => $text =~ /ERROR:\s+(\w+)/ ? $1 : '' } @names };
}

# A key by a sequence, an integer key that another table refers to and that refers to a third, partitions with a default one, and
# partitions below partitions.
sub make_tables
{
	my ($role) = @_;
	my $columns = columns($role);
	return psql_as(
		$role, "SET client_min_messages = error;
		CREATE TABLE $role.account (id bigserial PRIMARY KEY, $columns);
		CREATE TABLE $role.third (id serial PRIMARY KEY, $columns);
		CREATE TABLE $role.small (id serial PRIMARY KEY, third integer REFERENCES $role.third, $columns);
		CREATE TABLE $role.refers (id serial PRIMARY KEY, small integer REFERENCES $role.small, $columns);
		CREATE TABLE $role.log (id bigserial, $columns) PARTITION BY RANGE (id);
		CREATE TABLE $role.log_1 PARTITION OF $role.log FOR VALUES FROM (MINVALUE) TO (1000) PARTITION BY RANGE (id);
		CREATE TABLE $role.log_1_1 PARTITION OF $role.log_1 DEFAULT;
		CREATE TABLE $role.log_2 PARTITION OF $role.log DEFAULT;
		CREATE TABLE $role.event (id bigint, $columns) PARTITION BY RANGE (id);
		CREATE TABLE $role.event_other PARTITION OF $role.event DEFAULT;
		CREATE TABLE $role.many (id bigint PRIMARY KEY, $columns) PARTITION BY RANGE (id);
		CREATE TABLE $role.many_1 PARTITION OF $role.many DEFAULT;
		CREATE TABLE $role.kept (id bigint PRIMARY KEY, $columns);
		" . (twin_has($kind, 'uid_track_changes') ? "SELECT FROM uid_track_changes('$role.kept', execute => true);
		CREATE INDEX ON $role.kept_deleted ((id + $role.evil(1))); CREATE INDEX ON $role.kept_deleted (changed) WHERE $role.evil(3) = 0; ALTER TABLE $role.kept_deleted ADD CHECK ($role.evil(5) = 0);" : '') . "
		CREATE SEQUENCE $role.n; ALTER TABLE $role.event ALTER id SET DEFAULT nextval('$role.n');
		SELECT FROM uid_partitions('$role.event', '2025-02-01', '2025-06-01', '1 month', true, 'default');
		"
		  . join('', map { arm($role, "$role.$_") } qw(account third small refers log_1_1 log_2 log event_other event many_1 many kept))
		  . "DELETE FROM $role.kept;" . join('', map { "INSERT INTO $role.$_ DEFAULT VALUES;" } qw(account third small refers log event))) =~ s/^INFO:.*\n(?:(?:    |LOCATION:).*\n)*//mgr;
}

foreach (kinds())
{
	$kind = $_;
	$node = twin_node($kind);
	$node->start;
	put_twin_in($kind, $node, 'postgres');

	# What a role's own code does.  Sequences count it, since they are not rolled back.
	$node->safe_psql('postgres', <<'SQL');
CREATE ROLE boss SUPERUSER LOGIN; CREATE ROLE chief SUPERUSER; CREATE ROLE shop LOGIN; CREATE ROLE thief LOGIN; CREATE ROLE member LOGIN IN ROLE shop;
CREATE SCHEMA trap; GRANT USAGE ON SCHEMA trap TO PUBLIC;
CREATE SEQUENCE trap.ran; CREATE SEQUENCE trap.caught; GRANT ALL ON ALL SEQUENCES IN SCHEMA trap TO PUBLIC;
CREATE SCHEMA shop AUTHORIZATION shop; CREATE SCHEMA thief AUTHORIZATION thief; GRANT ALL ON SCHEMA shop, thief TO PUBLIC;
CREATE SCHEMA chief AUTHORIZATION chief; CREATE TABLE chief.t (id bigserial PRIMARY KEY); ALTER TABLE chief.t OWNER TO chief;
SQL
	foreach my $role (qw(shop thief))
	{
		is(psql_as($role, <<"SQL"), '', "$role sets traps");
CREATE FUNCTION $role.act() RETURNS void LANGUAGE plpgsql AS \$\$
BEGIN
	PERFORM nextval('trap.ran');
	IF current_user <> '$role' THEN
		PERFORM nextval('trap.caught');
	END IF;
	BEGIN
		RESET ROLE;
	EXCEPTION WHEN OTHERS THEN
		NULL;
	END;
	BEGIN
		RESET SESSION AUTHORIZATION;
	EXCEPTION WHEN OTHERS THEN
		NULL;
	END;
	IF current_user <> '$role' THEN
		PERFORM nextval('trap.caught');
	END IF;
	BEGIN
		ALTER ROLE $role SUPERUSER;
	EXCEPTION WHEN OTHERS THEN
		NULL;
	END;
END \$\$;
CREATE FUNCTION $role.evil(x integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM $role.act(); RETURN 0; END';
CREATE DOMAIN $role.tricky AS integer CHECK ($role.evil(value) = 0);
CREATE TYPE $role.mood AS ENUM ('calm');
CREATE FUNCTION $role.number(m $role.mood) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM $role.act(); RETURN 0; END';
CREATE CAST ($role.mood AS integer) WITH FUNCTION $role.number($role.mood) AS IMPLICIT;
CREATE FUNCTION $role.fires() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM $role.act(); RETURN NEW; END';
SQL
	}

	# ---- one owner ----

	is(make_tables('shop'), '', 'the owner makes tables');
	caught();
	my $calls = calls('shop');
	my %expected = map { $_ => '' } keys %$calls;
	my $ran = $node->safe_psql('postgres', 'SELECT last_value FROM trap.ran');
	is_deeply(states('shop', '', { %$calls, numbers => $calls->{numbers} =~ s/\)$/, begin => true)/r }), \%expected, 'for the owner, all is done');
	cmp_ok($node->safe_psql('postgres', 'SELECT last_value FROM trap.ran'), '>', $ran, '... and runs what is in the tables');
	is(caught(), 0, '... as the owner');
	my %refused = map { $_ => '42501' } keys %$calls;
	$ran = $node->safe_psql('postgres', 'SELECT last_value FROM trap.ran');
	foreach my $role (qw(boss member thief))
	{
		is_deeply(states($role, '', $calls), \%refused, "for $role, nothing");
		is(caught(), 0, '... and the traps have caught nobody');
	}
	is($node->safe_psql('postgres', 'SELECT last_value FROM trap.ran'), $ran, '... nor been touched');
	fails_with($node, "SELECT uid_adopt('shop.account', 'id')", '42501', qr/table "shop"\."account" belongs to role "shop".*HINT: .*Log in as role "shop", @{[ $kind eq 'extension' ? 'or as a member of it who is no superuser' : 'and call' ]}/s, '... and the hint says how it is done');
	# What only prints by the catalogs runs nothing of the owner's.  For a member, the edition does no more.
	my %prints = map { $_ => /^(?:partitions|drop|track) prints/ ? '' : '28000' } keys %$calls;
	foreach ([ 'boss', 'SET ROLE shop' ], [ 'boss', 'SET SESSION AUTHORIZATION shop' ], [ 'boss', 'SET SESSION AUTHORIZATION member; SET ROLE shop' ], [ 'member', 'SET ROLE shop' ])
	{
		my ($role, $before) = @$_;
		my $goes_on = $role eq 'member' && $kind eq 'extension';
		$ran = $node->safe_psql('postgres', 'SELECT last_value FROM trap.ran');
		is_deeply(states($role, $before, $calls), $goes_on ? \%expected : \%prints, "for $role after $before, all is done, or is refused");
		cmp_ok($node->safe_psql('postgres', 'SELECT last_value FROM trap.ran'), $goes_on ? '>' : '==', $ran, '... and what is in the tables runs, or does not');
		is(caught(), 0, '... and the traps have caught nobody');
	}
	like(psql_as('boss', "SET ROLE shop; $calls->{'adopt prints account'}"), qr/28000: who has become role "shop" cannot change its tables\n.*"boss".*HINT:  Log in as the owner of the table, or @{[ $kind eq 'extension' ? 'as a member of that role who is no superuser, or ' : '' ]}let the owner/s, '... and why');
	is_deeply(states('boss', 'SET ROLE chief', { adopt => q{SELECT FROM uid_adopt('chief.t', 'id', true)} }), { adopt => '' }, 'a superuser may become another one');
	if ($kind eq 'extension')
	{
		# Nor does what is run there stay.
		psql_as('shop', "CREATE OR REPLACE FUNCTION shop.act() RETURNS void LANGUAGE plpgsql AS \$\$ BEGIN PERFORM nextval('trap.ran'), set_config('search_path', 'shop', false); END \$\$");
		is(psql_as('member', "SET ROLE shop;\nSELECT count(*) > 0 FROM uid_adopt('shop.account', 'id'); SHOW search_path;") =~ s/INFO:.*?\n(?=t\n)//sr, "t\n\"\$user\", public\n", '... nor a setting');
		psql_as('boss', "DROP FUNCTION IF EXISTS shop.none(); SET ROLE shop; CREATE OR REPLACE FUNCTION shop.act() RETURNS void LANGUAGE plpgsql AS \$\$ BEGIN PERFORM nextval('trap.ran');
			IF current_user <> 'shop' THEN PERFORM nextval('trap.caught'); END IF; BEGIN RESET ROLE; EXCEPTION WHEN OTHERS THEN NULL; END; IF current_user <> 'shop' THEN PERFORM nextval('trap.caught'); END IF; END \$\$");
		# Numbers come into a table of the owner's, who may put anything into that, too.
		is(psql_as('shop', "ALTER TABLE shop.account_number ADD CHECK (shop.evil(5) = 0); CREATE INDEX ON shop.account_number ((number + shop.evil(1))); CREATE TRIGGER t AFTER INSERT ON shop.account_number FOR EACH ROW EXECUTE FUNCTION shop.fires();
			CREATE TRIGGER t AFTER UPDATE ON shop.account_number_counter FOR EACH ROW EXECUTE FUNCTION shop.fires()"), '', 'the owner sets traps in the table of numbers');
		foreach ([ 'shop', '' ], [ 'member', 'SET ROLE shop' ])
		{
			my ($role, $before) = @$_;
			$ran = psql_as('shop', 'INSERT INTO shop.account DEFAULT VALUES; SELECT last_value FROM trap.ran');
			is_deeply(states($role, $before, { numbers => $calls->{numbers} }), { numbers => '' }, "$role numbers rows");
			cmp_ok($node->safe_psql('postgres', 'SELECT last_value FROM trap.ran'), '>', $ran, '... and runs what is in the tables');
			is(caught(), 0, '... and the traps have caught nobody');
		}
		psql_as('shop', 'CREATE CONSTRAINT TRIGGER late AFTER INSERT ON shop.account_number DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION shop.fires(); INSERT INTO shop.account DEFAULT VALUES');
		is_deeply(states('member', 'SET ROLE shop', { numbers => $calls->{numbers} }), { numbers => '42501' }, 'nor can a trigger wait for a commit of the procedure');
		is(caught(), 0, '... and the traps have caught nobody');
		is_deeply(states('shop', '', { numbers => $calls->{numbers} }), { numbers => '' }, '... unless it is its owner who numbers');
		psql_as('shop', 'DROP TRIGGER late ON shop.account_number');
		foreach my $table (qw(account_number account_number_counter))
		{
			$node->safe_psql('postgres', "ALTER TABLE shop.$table OWNER TO thief");
			is_deeply(states($_, $_ eq 'boss' ? 'SET ROLE shop' : '', { numbers => $calls->{numbers} }), { numbers => '55000' }, "numbers are not written into a stranger's table by $_") foreach qw(shop boss);
			$node->safe_psql('postgres', "ALTER TABLE shop.$table OWNER TO shop");
		}
	}
	caught();

	# A function of the owner's that does it for others.
	psql_as('shop', "CREATE FUNCTION shop.keep() RETURNS bigint SECURITY DEFINER LANGUAGE sql AS \$\$ SELECT count(*) FROM public.uid_partitions('shop.event', '2025-06-01', '2025-08-01', '1 month', true, 'default') \$\$");
	is_deeply(states('boss', '', { keep => 'SELECT shop.keep()' }), { keep => '' }, 'a SECURITY DEFINER function of the owner does it for a superuser');
	is(caught(), 0, '... and the traps have caught nobody');

	# ---- several owners ----

	# What makes a table another owner's, with which calls it ends, and which go on.
	my %all = %expected;
	foreach (
		[ 'the default partition of a stranger', 'event_other', [ grep { /partitions|drop/ } keys %$calls ] ],
		[ 'a partition of a stranger', 'log_2', [ grep { /log/ } keys %$calls ] ],
		[ 'a partition of a partition', 'log_1_1', [ grep { /log/ } keys %$calls ] ],
		[ 'a table that refers to one whose type changes', 'refers', [ grep { /small/ } keys %$calls ] ],
		[ 'a table that is referred to by one whose type changes', 'third', [ grep { /small/ } keys %$calls ] ])
	{
		my ($name, $table, $ended) = @$_;
		$node->safe_psql('postgres', "ALTER TABLE shop.$table OWNER TO thief");
		psql_as('thief', "CREATE INDEX ON shop.$table ((x + thief.evil(1))); CREATE INDEX ON shop.$table (x) WHERE thief.evil(3) = 0; ALTER TABLE shop.$table ADD CHECK (thief.evil(x) = 0); DROP POLICY p ON shop.$table; CREATE POLICY p ON shop.$table USING (thief.evil(6) = 0)");
		caught();
		my %states = (map({ $_ => '' } grep { /account/ } keys %$calls), map { $_ => '42501' } @$ended);
		is_deeply(states('shop', '', { map { $_ => $calls->{$_} } keys %states }), \%states, "$name ends what reads it, and nothing else");
		is(caught(), 0, '... and its traps have caught nobody');
		is_deeply(states('boss', '', { map { $_ => $calls->{$_} } @$ended }), { map { $_ => '42501' } @$ended }, '... also for a superuser');
		is(caught(), 0, '... and its traps have caught nobody');
		psql_as('boss', "DROP INDEX IF EXISTS " . $node->safe_psql('postgres', "SELECT string_agg(indexrelid::regclass::text, ', ') FROM pg_index WHERE indrelid = 'shop.$table'::regclass AND pg_get_indexdef(indexrelid) LIKE '%thief%'") . ';');
		$node->safe_psql('postgres', "SET client_min_messages = error; DO \$\$ DECLARE r record; BEGIN FOR r IN SELECT conname FROM pg_constraint WHERE conrelid = 'shop.$table'::regclass AND pg_get_constraintdef(oid) LIKE '%thief%' LOOP EXECUTE format('ALTER TABLE shop.$table DROP CONSTRAINT %I', r.conname); END LOOP; END \$\$;
			DROP POLICY p ON shop.$table; ALTER TABLE shop.$table OWNER TO shop");
		caught();
	}

	# Who may refer to a table can end neither a nightly job, nor what changes no type.
	psql_as('shop', 'ALTER TABLE shop.event ADD PRIMARY KEY (id); GRANT REFERENCES, SELECT ON shop.event, shop.account, shop.small TO thief');
	is(psql_as('thief', "CREATE TABLE thief.a (id bigserial, account bigint REFERENCES shop.account, event bigint REFERENCES shop.event, " . columns('thief') . "); " . arm('thief', 'thief.a')), '', 'a stranger refers to tables');
	caught();
	my %go_on = map { $_ => $calls->{$_} } grep { /account|partitions/ } keys %$calls;
	is_deeply(states('shop', '', \%go_on), { map { $_ => '' } keys %go_on }, 'a foreign key of a stranger does not end uid_partitions(), nor adopt() where no type changes');
	is(caught(), 0, '... and its traps have caught nobody');
	# To detach would read the other table.
	is_deeply(states('shop', '', { map { $_ => $calls->{$_} } grep { /drop/ } keys %$calls }), { map { $_ => '2BP01' } grep { /drop/ } keys %$calls }, '... while uid_drop_partitions() refuses, and detaches nothing');
	is(caught(), 0, '... and its traps have caught nobody');
	psql_as('thief', 'ALTER TABLE thief.a ADD COLUMN small integer REFERENCES shop.small');
	caught();
	is_deeply(states('shop', '', { map { $_ => $calls->{$_} } grep { /small/ } keys %$calls }), { map { $_ => '42501' } grep { /small/ } keys %$calls }, 'where a type changes it ends adopt()');
	# A column that need not change is read all the same.
	psql_as('thief', 'ALTER TABLE thief.a DROP COLUMN small; ALTER TABLE thief.a ADD COLUMN small bigint REFERENCES shop.small');
	caught();
	foreach my $role (qw(shop boss))
	{
		is_deeply(states($role, '', { map { $_ => $calls->{$_} } grep { /small/ } keys %$calls }), { map { $_ => '42501' } grep { /small/ } keys %$calls }, "... also by a column of type bigint, for $role");
		is(caught(), 0, '... and its traps have caught nobody');
	}
	# Inheritance: a superuser's child of a stranger's table, and the other way round.
	psql_as('shop', "CREATE TABLE shop.base (id bigserial, " . columns('shop') . '); ' . arm('shop', 'shop.base'));
	$node->safe_psql('postgres', 'CREATE TABLE shop.derived () INHERITS (shop.base); ALTER TABLE shop.derived OWNER TO thief');
	psql_as('thief', arm('thief', 'shop.derived'));
	caught();
	my %inherit = map { ("adopt $_" => "SELECT count(*) FROM uid_adopt('shop.$_', 'id')") } qw(base derived);
	is_deeply(states($_, '', \%inherit), { map { $_ => '42501' } keys %inherit }, "children by inheritance that are another owner's end it for $_") foreach qw(shop thief boss);
	is(caught(), 0, '... and the traps have caught nobody');
	psql_as('shop', 'CREATE OR REPLACE FUNCTION shop.act() RETURNS void LANGUAGE sql AS $$$$');
	my $call = q{uid_partitions('shop.event', '2025-06-01', '2025-08-01', '1 month', true, 'default')};
	is_deeply(states('shop', '', { repeatable => "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM $call" }), { repeatable => '25000' }, 'an older snapshot would not see who owns the tables now');
	is(psql_as('shop', "CREATE TEMP TABLE report (x text); BEGIN; SELECT count(*) FROM $call; ROLLBACK;") =~ s/INFO:.*?\n(?=\d+\n)//sr, "2\n", 'who has logged in as the owner may have temporary tables');

	is($node->safe_psql('postgres', $NO_SUPERUSER), '0', 'nobody has become a superuser');

	$node->stop;
}
done_testing();
