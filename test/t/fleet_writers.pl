# Several servers of a fleet write one table at once, each by DEFAULT uid_next(), and logical replication brings the rows
# of each to all others: no id is in conflict, and at the end all have the same rows.  Also while one of them is cut off
# from all others and from the registry, and the registry fails over with lost commits meanwhile.
#
# The publications are FOR ALL TABLES, those of uidgen too.  On a node these do not change.  On the server of a registry they do, all
# the time: no other registry is changed by that; but a subscriber without uidgen gets nothing more.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use RegistryProxy;
use UidgenTest;

# A server that is cut off is to be waited for, however long that takes here.
my @LOGICAL = (
	'wal_level = logical', 'wal_receiver_timeout = 0', 'wal_sender_timeout = 0', 'max_logical_replication_workers = 10',
	'max_worker_processes = 20', 'wal_retrieve_retry_interval = 100ms');
my $dir = PostgreSQL::Test::Utils::tempdir();

# How often subscriptions of this server met an error or a conflict.
sub conflicts
{
	my ($node) = @_;
	return $node->safe_psql('postgres',
		q{SELECT sum(value::bigint) FROM pg_stat_subscription_stats AS s, jsonb_each_text(to_jsonb(s)) WHERE key ~ '_error_count$|^confl_'});
}

# ---- three writers ----

SKIP:
{
	my $primary = fleet_registry('primary', max_lead => '1 h');
	skip 'before version 16 a subscription has no origin = none, so rows would go round in circles', 1 if $primary->pg_version < 16;

	my $standby = standby_of($primary, 'standby');

	# The way of the west to the others, and theirs to it, can be cut; and its way to the registry.
	my @proxies;
	my $through_proxy = sub {
		push @proxies, RegistryProxy->new($_[0]);
		return $proxies[-1]->port;
	};
	my @names = qw(east north west);
	my %node = map { $_ => fleet_node($_, hosts($primary, $standby), @LOGICAL) } qw(east north);
	# Its grants last for as long as it is cut off; and it renews them every few seconds.
	$node{west} = fleet_node('west', hosts(map { $through_proxy->($_) } $primary, $standby), @LOGICAL, "uidgen.window = '10min'", 'uidgen.padding_factor = 99');
	foreach my $node (values %node)
	{
		$node->safe_psql('postgres', 'CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), writer text NOT NULL, body text DEFAULT md5(random()::text));
			CREATE PUBLICATION everything FOR ALL TABLES');
	}
	foreach my $to (@names)
	{
		foreach my $from (grep { $_ ne $to } @names)
		{
			my $address = hosts("$to$from" =~ /west/ ? $through_proxy->($node{$from}) : $node{$from});
			$node{$to}->psql('postgres', "CREATE SUBSCRIPTION ${to}_from_$from CONNECTION '$address' PUBLICATION everything WITH (origin = none, copy_data = false)",
				on_error_die => 1);
		}
	}

	# Rows one by one, several in a statement and by COPY, in two sessions on each, until there is a file.
	my @writers;
	foreach my $name (@names)
	{
		my $file = "$dir/$name";
		append_to_file($file, "$name\n" x 10);
		push @writers, map {
			IPC::Run::start(
				[ $node{$name}->installed_command('psql'), '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node{$name}->connstr('postgres'), '-c', "
				DO \$\$ BEGIN
					LOOP
						INSERT INTO message (writer) VALUES ('$name');
						COMMIT;
						INSERT INTO message (writer) SELECT '$name' FROM generate_series(1, 10);
						COMMIT;
						COPY message (writer) FROM '$file';
						COMMIT;
						EXIT WHEN (pg_stat_file('$dir/enough', true)).size IS NOT NULL;
						PERFORM pg_sleep(0.02);
					END LOOP;
				END \$\$" ], '<', \undef, '>&', "$file.said", IPC::Run::timeout(4 * $PostgreSQL::Test::Utils::timeout_default))
		} 1, 2;
	}

	my $rows_of = sub {
		my ($where, $writer) = @_;
		return $node{$where}->safe_psql('postgres', "SELECT count(*) FROM message WHERE writer = '$writer'");
	};
	# Does the first one see that the second one writes more?
	my $sees = sub {
		my ($where, $writer) = @_;
		my $enough = $rows_of->($where, $writer) + 200;
		return poll_until(sub { $rows_of->($where, $writer) >= $enough });
	};
	foreach my $writer (@names)
	{
		ok($sees->($_, $writer), "the $_ sees what the $writer writes") foreach @names;
	}
	my %worker = map { $_ => worker_id($node{$_}) } @names;

	# The registry loses what it grants from here on; the west, which has just been granted more, is cut off.
	$primary->wait_for_catchup($standby);
	$standby->stop;
	$standby->append_conf('postgresql.conf', "primary_conninfo = ''");
	$standby->start;
	my %until;
	foreach my $name (@names)
	{
		my $before = rows($primary, 'granted_until', "WHERE worker_id = $worker{$name}");
		ok(poll_until(sub { ($until{$name} = rows($primary, 'granted_until', "WHERE worker_id = $worker{$name}")) > $before }), "the standby lacks a grant of the $name");
	}
	$_->set('hole') foreach @proxies;
	ok($sees->('west', 'west'), 'the west is cut off, and writes');
	ok($sees->('north', 'east') && $sees->('east', 'north'), '... and so do the others');

	$primary->stop('immediate');
	$standby->promote;
	foreach my $name (qw(east north))
	{
		ok($node{$name}->poll_query_until('postgres', 'SELECT timeline = 2 FROM uidgen.status'), "the registry fails over; the $name has a grant of the new primary");
	}
	ok($sees->('north', 'east') && $sees->('east', 'north'), 'the others write on');
	ok($sees->('west', 'west'), '... and so does the west, by the grant that the registry has lost');
	is(rows($standby, 'granted_until', "WHERE worker_id = $worker{west}") < $until{west}, 1, '... of which the new primary knows nothing');

	$_->set() foreach @proxies;
	ok($sees->('west', 'east') && $sees->('east', 'west'), 'it is back');
	ok($node{west}->poll_query_until('postgres', 'SELECT timeline = 2 FROM uidgen.status'), '... and has a grant of the new primary');
	ok($sees->('north', 'west'), '... and writes on');

	append_to_file("$dir/enough", '');
	$_->finish foreach @writers;
	is(join('', map { slurp_file("$dir/$_.said") } @names), '', 'no writer has met an error');
	foreach my $to (@names)
	{
		$node{$_}->wait_for_catchup("${to}_from_$_") foreach grep { $_ ne $to } @names;
	}
	my %rows = map { $_ => $node{$_}->safe_psql('postgres', 'SELECT count(*), count(DISTINCT id), sum(hashtextextended(m::text, 0)) FROM message AS m') } @names;
	note("$_: $rows{$_}") foreach @names;
	is($rows{$_}, $rows{east}, "at the end the $_ has the same rows as the east") foreach qw(north west);
	is($node{east}->safe_psql('postgres', 'SELECT DISTINCT writer, worker FROM message, uid_parse(id) ORDER BY writer'),
		join("\n", map { "$_|$worker{$_}" } @names), 'each row has the worker id of the server that wrote it');
	foreach my $name (@names)
	{
		is(conflicts($node{$name}), '0', "the $name has met no conflict");
		# But what a registry that stops has told the keeper.
		unlike(log_since($node{$name}, 0) =~ s/^.* DETAIL:  host .*\n//mgr, qr/ERROR: |FATAL: |PANIC: |conflict detected/, '... and its log has none');
	}
	is($node{$_}->safe_psql('postgres', q{SELECT to_regnamespace('uidgen_registry') IS NULL}), 't', "nothing of a registry is in the $_") foreach @names;
	$_->stop foreach values %node, $standby;
}

# ---- registries in publications of all tables ----

# Each of two is a server's that is a node, too, of the fleet of which it has the registry.
my %other = (hub => 'rim', rim => 'hub');
my %registry;
foreach my $name (sort keys %other)
{
	my $server = $registry{$name} = fleet_registry($name);
	# An answer that it does not wait for would have it acquire its worker id once more.
	$server->append_conf('postgresql.conf', join('', map { "$_\n" } preload(), @Fleet::SETTINGS, @LOGICAL, "uidgen.registry_timeout = '1min'",
			"uidgen.registry = '" . hosts($server) . "'"));
	$server->restart;
	quarantine_ends($server);
	$server->safe_psql('postgres', 'SELECT uid_next(); CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), writer text NOT NULL);
		CREATE PUBLICATION everything FOR ALL TABLES; CREATE PUBLICATION ours FOR TABLES IN SCHEMA public');
}
# Both ways, but for versions where a row would come back from there.
my @subscribers = $registry{rim}->pg_version < 16 ? 'rim' : sort keys %other;
my $options = $registry{rim}->pg_version < 16 ? '' : 'WITH (origin = none)';
foreach my $name (@subscribers)
{
	$registry{$name}->psql('postgres', "CREATE SUBSCRIPTION from_$other{$name} CONNECTION '" . hosts($registry{ $other{$name} }) . "' PUBLICATION everything $options",
		on_error_die => 1);
}
$registry{$_}->wait_for_subscription_sync($registry{ $other{$_} }, "from_$other{$_}") foreach @subscribers;
draws(values %registry);
ok($_->poll_query_until('postgres', 'SELECT renewals > 5 FROM uidgen.status'), 'a registry that is in a publication of all tables goes on: ' . $_->name)
  foreach values %registry;
stops_drawing($_) foreach values %registry;
$registry{$_}->safe_psql('postgres', "INSERT INTO message (writer) VALUES ('$_')") foreach keys %other;
$registry{ $other{$_} }->wait_for_catchup("from_$other{$_}") foreach @subscribers;
foreach my $name (sort keys %other)
{
	my $server = $registry{$name};
	is(rows($server, 'worker_id, port, launches'), join('|', worker_id($server), $server->port, 1), "the registry of the $name has its own row alone");
}
foreach my $name (@subscribers)
{
	my $server = $registry{$name};
	is($server->safe_psql('postgres', q{SELECT string_agg(writer, ' ' ORDER BY writer) FROM message}), 'hub rim', "the $name has the rows of both");
	my $log = log_since($server, 0);
	unlike($log, qr/subscription.*ERROR: /, '... and no error');
	# From version 18 on the server says of each renewal of the other that the row is missing here.
	is($log =~ /conflict detected on relation "uidgen_registry\.worker_node": conflict=update_missing/ ? 1 : 0, $server->pg_version < 18 ? 0 : 1,
		'... and notes about what is dropped from version 18 on');
	unlike($log =~ s/.*uidgen_registry\.worker_node": conflict=update_missing//gr, qr/conflict detected/, '... alone');
}

# A server without uidgen cannot subscribe to all tables of one that has it.  If it has done so before, the first change
# of a registry ends what it receives, until it has both extensions.
sub plain_server
{
	my ($name, @conf) = @_;
	my $server = PostgreSQL::Test::Cluster->new($name);
	$server->init(allows_streaming => 'logical');
	$server->append_conf('postgresql.conf', join('', map { "$_\n" } @conf));
	$server->start;
	$server->safe_psql('postgres', 'CREATE TABLE message (id bigint PRIMARY KEY, writer text NOT NULL)');
	return $server;
}

my $plain = plain_server('plain', 'wal_retrieve_retry_interval = 100ms');
fails_with($plain, "CREATE SUBSCRIPTION plain_from_hub CONNECTION '" . hosts($registry{hub}) . "' PUBLICATION everything", '3F000', qr/schema "uidgen(?:_registry)?" does not exist/,
	'a server without uidgen cannot subscribe to all tables of one that has it');
$plain->psql('postgres', "CREATE SUBSCRIPTION plain_from_hub CONNECTION '" . hosts($registry{hub}) . "' PUBLICATION ours", on_error_die => 1);
$plain->wait_for_subscription_sync($registry{hub}, 'plain_from_hub');
is($plain->safe_psql('postgres', q{SELECT count(*) FROM message WHERE writer = 'hub'}), '1', '... but to those of a schema');

my $late = plain_server('late', preload());
$late->safe_psql('postgres', 'CREATE PUBLICATION everything FOR ALL TABLES');
$plain->psql('postgres', "CREATE SUBSCRIPTION from_late CONNECTION '" . hosts($late) . "' PUBLICATION everything", on_error_die => 1);
$plain->wait_for_subscription_sync($late, 'from_late');
$late->safe_psql('postgres', q{CREATE EXTENSION uidgen; SELECT uid_next(); INSERT INTO message VALUES (-1, 'late')});
ok(poll_until(sub { log_since($plain, 0) =~ /ERROR: .*target relation "uidgen_registry\.\w+" does not exist/ }), 'the first change of a new registry stops a subscriber to all tables');
is($plain->safe_psql('postgres', 'SELECT count(*) FROM message WHERE id = -1'), '0', '... which gets nothing more');
$plain->psql('postgres', 'SET client_min_messages = error; CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_registry', on_error_die => 1);
$late->wait_for_catchup('from_late');
is($plain->safe_psql('postgres', 'SELECT count(*) FROM message WHERE id = -1'), '1', '... until it has both extensions');
is(rows($plain, 'count(*)', ''), '0', '... and still no registry');
$_->stop foreach $plain, $late, values %registry;

done_testing();
