# SessionRounds.pm: rounds of random sessions under random faults, each on a new
# server with random settings.
#
#	SessionRounds->new(seed => 1, programs => 10_000, ids => 100_000_000)->run;
#
# Where the fault rounds (test/faults) draw as many ids as they can and compare with
# a control, here the sessions do whatever a client can do (SessionPrograms.pm) and
# go on after each error (session.c).  Each round:
#	1. a new server starts, with random settings; in some rounds nothing can be
#	   granted yet, in some it has a standby;
#	2. sessions run programs; meanwhile faults happen by a plan;
#	3. all faults are lifted, and each session draws a last id;
#	4. every id that a client saw is judged (oracle.c), and so is the server's log.
#
# In some rounds there are two nodes of a fleet, one a copy of the other, and a registry
# on a third server.  Their time is the registry's.  So are the clocks by which ids are
# judged then, while those of the nodes are set.
#
# Programs, settings and the plan of faults follow from the seed and the number of
# the round alone; when things happen does not.  A round that fails prints what
# repeats it.
#
# The grants come from a trigger on the registry that writes each to a table outside
# of the extension.
package SessionRounds;

use strict;
use warnings;
use Chance;
use Cwd qw(abs_path);
use FakeClock;
use File::Path qw(remove_tree);
use List::Util qw(max min);
use POSIX qw(ceil floor);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RemoteRegistry;
use Sessions;
use SessionPrograms;
use Test::More;
use Time::HiRes qw(time usleep);
use UidgenTest;

# A fault stops nobody for longer than this, in true seconds: after a crash, a step of
# the clock, or when what hinders the keeper is over.
my $MOST_WAIT = 60;

my $SESSIONS = 10;				# roles s0 to s9

my $MS = 1_000_000;				# nanoseconds
my ($NUMBERS) = slurp_file(__FILE__ =~ s{[^/]*$}{record.h}r) =~ /^#define RECORD_NUMBERS (\d+)/m;

my @LAYOUTS = (
	'time:41:1ms worker:10 sequence:12',
	'time:41:1ms worker:10 sequence:12',
	'time:41:1ms worker:8 tag:4 sequence:10',
	'time:41:1ms sequence:10 worker:4 tag:3',
	'time:31:1s worker:3 sequence:14',
	'time:50:50us worker:4 sequence:6',
	'time:42:1ms sequence:10',
	'time:39:10ms worker:12 sequence:8',
	'time:41:1ms datacenter:3 worker:7 sequence:2',
	'time:35:100ms worker:9 sequence:14',
	'time:44:200us worker:9 tag:2 sequence:8');
# So many ids a tick that few ids at a time never fill one.
my @ROOMY = @LAYOUTS[ 0, 2, 4, 9 ];
# So many worker ids that there is always another one.
my @MANY_WORKERS = @LAYOUTS[ 0, 0, 2, 7, 9, 10 ];
my $EPOCH = 'epoch:2005-01-01';
# Of a shared registry, in seconds; and how far off the clocks of nodes are, at most.
my ($MAX_LEAD, $CLOCK_SLACK, $REGISTRY_TIMEOUT, $NODE_OFF) = (3, 1, 1, 20 * 3600);
# The clock stays where all of them have ticks.
my ($EARLIEST, $LATEST) = (1167609600, 2871763200);		# 2007 to 2061

# The faults, by what they are about; how often each is chosen.
my %FAULTS = (
	crash => { backend => 3, keeper => 2, process => 1, postmaster => 1, immediate => 1, fast => 2 },
	clock => { clock_small => 3, clock_middle => 3, clock_large => 3 },
	session => { cancel => 2, terminate_backend => 2, stop_backend => 2, stop_keeper => 2, lock => 3 },
	registry => {
		terminate_keeper => 2, lock => 3, drop_create => 2, drop_for_a_while => 2, end_registry => 2, forget => 2,
		rename_database => 1, truncate => 1, layout_row => 2, read_only => 2, switch_database => 1, settings => 3,
		rewrite => 2 },
	fleet => { registry_restart => 2, registry_freeze => 3, clock_small => 1, clock_large => 2 });

# What a round is about: the groups of faults it chooses from.  In turn, so that a
# short run has them all.
my @PROFILES = (
	[ 'locked at the start', 'session' ],
	[ 'crashes', 'crash', 'crash', 'session', 'clock' ],
	[ 'registry', 'registry', 'registry', 'crash' ],
	[ 'few ids', 'session' ],
	[ 'clock', 'clock', 'clock', 'session', 'crash' ],
	[ 'standby', 'session', 'clock', 'crash' ],
	[ 'everything', 'crash', 'clock', 'session', 'registry' ],
	[ 'calm', 'session' ],
	[ 'copied database', 'session' ],
	[ 'fleet', 'fleet', 'fleet', 'crash', 'session' ]);

# These end the life of the shared memory.
my %ENDS = map { $_ => 1 } qw(backend keeper process postmaster immediate fast);

# In these rounds the registry is one of a database that no session is in.
my %APART = map { $_ => 1 } qw(rename_database copy_database);

# What may be in the log: SQLSTATE and message; and the faults or kinds of rounds with
# which alone it may, if not always.
my @ENDING = (keys %ENDS, qw(restart_while_locked restart_with_copy));
my @HINDERING = ('lock', 'locked at the start', 'restart_while_locked', 'rewrite', 'stop_keeper',
	qw(drop_create drop_for_a_while end_registry forget layout_row rename_database copy_database));
my @EXPECTED = (
	# what the programs provoke
	[ '22012', qr/^division by zero/ ],
	[ '22003', qr/^(?:n|number of ids|number of consecutive numbers|tag -?\d+) (?:is out of range|must not be negative)|^batch size must not be negative/ ],
	[ '22023', qr/^(?:n|number of ids|tag -?\d+) (?:is out of range|must not be negative)|^invalid value for parameter "uidgen\.wait_timeout"/ ],
	[ '55000', qr/^the layout has no blocks of consecutive ids/ ],
	[ '42704', qr/^uidgen has no grant to issue ids from: there is no such segment/ ],
	[ '22004', qr/^the name of a segment must not be null/ ],
	[ '42602', qr/^the name of a segment must not be empty/ ],
	[ '22004', qr/^(?:tag|number of ids) must not be null/ ],
	[ '25006', qr/^cannot execute (?:SELECT|INSERT|COPY FROM|ALTER ROLE) in a read-only transaction/ ],
	[ '25P01', qr/^there is no transaction in progress|^SET LOCAL can only be used in transaction blocks|can only be used in transaction blocks/ ],
	[ '25P02', qr/^current transaction is aborted/ ],
	[ '26000', qr/^prepared statement "p" does not exist/ ],
	[ '34000', qr/^cursor "." does not exist/ ],
	[ '3B001', qr/^savepoint "s" does not exist/ ],
	[ '42P03', qr/^cursor "." already exists/ ],
	[ '42P05', qr/^prepared statement "p" already exists/ ],
	[ '55000', qr/^cursor can only scan forward/ ],
	[ '57014', qr/^canceling statement due to (?:user request|statement timeout)/ ],
	# the clock was set while a session connected
	[ '57014', qr/^canceling authentication due to timeout/ ],
	# it has ended before it was cancelled or terminated
	[ '00000', qr/^PID \d+ in cancel request did not match any process/ ],
	[ '01000', qr/^PID \d+ is not a PostgreSQL (?:backend|server) process/ ],
	# a parallel worker that is told to end with its leader
	[ '57P01', qr/^terminating (?:background worker "parallel worker"|connection) due to administrator command/ ],
	[ '00000', qr/^background worker "parallel worker" \(PID \d+\) exited with exit code 1/ ],
	[ '55000', qr/^lost connection to parallel worker|^parallel worker failed|^could not (?:attach to|map) dynamic shared/ ],
	# waits that came to an end
	[ '55000', qr/^uidgen has no grant to issue ids from$/ ],
	[ '55000', qr/^uidgen has no grant to issue ids from: canceling statement due to lock timeout/, @HINDERING, @ENDING ],
	[ '55000', qr/^uidgen has no grant to issue ids from: could not connect to database/, 'rename_database', 'copy_database' ],
	[ '55000', qr/^uidgen has no grant to issue ids from: database "registry" does not exist/, 'rename_database' ],
	[ '55000', qr/^ids would run too far ahead of the clock/ ],
	# the keeper
	[ '00000', qr/^uidgen acquired worker id / ],
	[ '55P03', qr/^uidgen has no new grant: canceling statement due to lock timeout/, @HINDERING ],
	[ '57014', qr/^uidgen has no new grant: canceling statement due to user request/, 'terminate_keeper', 'rename_database', 'copy_database', 'fast' ],
	[ '55000', qr/^uidgen has no grant to issue ids from: canceling statement due to user request/, 'terminate_keeper', 'rename_database', 'copy_database', 'fast' ],
	[ '00000', qr/^background worker "uidgen keeper" \(PID \d+\) exited with exit code 1/ ],
	[ '55000', qr/^(?:uidgen has no grant to issue ids from|uidgen has no new grant): the clock was set (?:back|forward) by a large step/, 'clock_middle', 'clock_large' ],
	[ '55000', qr/^(?:uidgen has no grant to issue ids from|uidgen has no new grant): the clock is behind the last grant/, 'clock_middle', 'clock_large' ],
	[ '53400', qr/^(?:uidgen has no grant to issue ids from|uidgen has no new grant): no worker id is free/, 'clock_middle', 'clock_large' ],
	[ '40001', qr/^uidgen has no new grant: the registry's clock is further ahead than expected/, 'clock_middle', 'clock_large' ],
	[ '00000', qr/^uidgen begins by the clock of the registry, which is \d+ ms (?:behind|ahead of) this server's/, 'clock_large' ],
	[ '01000', qr/^few worker ids are left: \d+/ ],
	[ '00000', qr/^uidgen lost worker id \d+/, 'end_registry', 'forget', 'drop_create', 'drop_for_a_while', 'switch_database', 'switch_to_copy' ],
	# the registry is not there, or another one
	[ '01000', qr/^the registry of worker ids goes, from which this server issues ids/, 'drop_create', 'drop_for_a_while' ],
	[ '42704', qr/^uidgen has no new grant: (?:the registry of worker ids is gone|extension "uidgen_registry" is not in database)/, 'drop_for_a_while' ],
	[ '55000', qr/^uidgen has no grant to issue ids from: (?:the registry of worker ids is gone|extension "uidgen_registry" is not in database)/, 'drop_for_a_while' ],
	[ '55000', qr/^(?:uidgen has no grant to issue ids from|uidgen has no new grant): the registry of worker ids cannot be made in database "\w+", which has a schema/, 'drop_for_a_while' ],
	[ '42P01', qr/^uidgen has no new grant: relation "uidgen_registry\.\w+" does not exist/, 'drop_create', 'drop_for_a_while' ],
	[ '42883', qr/^function (?:with OID \d+|(?:uid_next|uid_next_batch|uid_reserve|uid_segment_(?:next|batch|reserve)|new_id|ids_with_exceptions)\(.*\)) does not exist/, 'drop_for_a_while' ],
	[ '42P01', qr/^relation "(?:uidgen\.status|uidgen_registry\.\w+)" does not exist/, 'drop_for_a_while' ],
	[ '3F000', qr/^schema "uidgen" does not exist/, 'drop_for_a_while' ],
	# DROP EXTENSION ... CASCADE takes the default off the column
	[ '23502', qr/^null value in column "id" of relation "[tu]"/, 'drop_create', 'drop_for_a_while' ],
	[ 'XX000', qr/^(?:uidgen has no new grant: )?(?:cache lookup failed for \w+ \d+|could not open relation with OID \d+)/, 'drop_create', 'drop_for_a_while' ],
	[ '55000', qr/^uidgen has no grant to issue ids from: (?:cache lookup failed for \w+ \d+|could not open relation with OID \d+|relation "uidgen_registry\.\w+" does not exist)/, 'drop_create', 'drop_for_a_while' ],
	# Another segment of the name may begin below.
	[ '55000', qr/^(?:uidgen has no grant to issue ids from|uidgen has no new grant): the registry has stopped it, as numbers may have been given out twice/, 'drop_create', 'drop_for_a_while' ],
	[ '55000', qr/^(?:uidgen has no grant to issue ids from|uidgen has no new grant): the layout differs from the registry's/, 'layout_row' ],
	[ '55P03', qr/^canceling statement due to lock timeout/, 'rename_database', 'copy_database' ],	# while it connects
	[ '55000', qr/^cannot truncate uidgen_registry\./, 'truncate' ],
	[ '3D000', qr/^database "registry" does not exist/, 'rename_database' ],
	[ '55006', qr/^(?:database|source database) "re\w+" is being accessed by other users/, 'rename_database', 'copy_database' ],
	# the registry of a fleet is restarted or frozen
	[ '08001', qr/^uidgen has no new grant: could not connect to the registry/, 'registry_restart', 'registry_freeze' ],
	[ '08007', qr/^uidgen has no new grant: the registry did not answer/, 'registry_restart', 'registry_freeze' ],
	[ '57P03', qr/^uidgen has no new grant: the registry is in quarantine until /, 'registry_restart' ],
	[ '55000', qr/^uidgen has no grant to issue ids from: (?:could not connect to the registry|the registry did not answer)/, 'registry_restart', 'registry_freeze' ],
	[ '55000', qr/^uidgen has no grant to issue ids from: the registry is in quarantine until /, 'registry_restart' ],
	[ '08007', qr/^uidgen has no new grant: waiting for the registry was broken off/, 'fast' ],
	[ '55000', qr/^uidgen has no grant to issue ids from: waiting for the registry was broken off/, 'fast' ],
	# a hot standby
	[ '25006', qr/^cannot execute [\w()]+ during recovery|^uidgen issues no ids during recovery/, 'standby' ],
	[ '25006', qr/^cannot set transaction read-write mode during recovery/, 'standby' ],
	[ '0A000', qr/^cannot use serializable mode in a hot standby/, 'standby' ],
	[ '57P03', qr/^the database system is /, @ENDING, 'standby', 'clock_middle', 'clock_large' ],
	# the harness's own trigger
	[ '00000', qr/^trigger note_grant of table \S+ in database \w+ is none of the registry's/ ],
	# a crash
	[ '00000', qr/^all server processes terminated; reinitializing|^terminating any other active server processes/, @ENDING ],
	[ '00000', qr/^(?:server process|client backend|background worker "(?:uidgen keeper|parallel worker)"|background writer process|walwriter process|checkpointer process|autovacuum launcher process|WAL writer process) \(PID \d+\) was terminated by signal 9/, @ENDING ],
	[ '57P02', qr/^terminating connection because of (?:crash of another server process|unexpected)/, @ENDING ],
	[ '57P01', qr/^terminating connection due to (?:immediate shutdown command|administrator command|unexpected postmaster exit)|^postmaster exited during a parallel transaction/, @ENDING, 'terminate_backend' ],
	# The server's own, where a parallel query's leader finds that out while it ends the transaction.
	[ '01000', qr/^AbortTransaction while in ABORT state$/, @ENDING ],
	[ 'XX000', qr/could not (?:attach to|map) (?:dynamic shared area|per-session DSM segment|dynamic shared memory segment)|^could not open shared memory segment/, @ENDING, 'cancel', 'terminate_backend' ],
	[ '08006', qr/^could not (?:receive|send) data (?:from|to) client|^unexpected EOF on client connection/ ],
	[ '08P01', qr/^unexpected EOF on client connection/ ],
	[ '00000', qr/^terminating walsender process due to replication timeout/, 'standby' ],
	[ '57P01', qr/^terminating walreceiver process/, 'standby' ],
	[ '08006', qr/^terminating walreceiver due to timeout/, 'clock_middle', 'clock_large' ],	# a step forward is time in which nothing came
	[ '08006', qr/^connection to client lost/, 'standby' ],	# by a walsender, whose standby has gone
	[ '58P01', qr/^could not remove shared memory segment/, @ENDING ],
	[ '08006', qr/^(?:streaming replication receiver "\w+" )?could not (?:connect to the primary server|receive data from WAL stream|send end-of-streaming message)/, 'standby' ],
	# the postmaster was killed, and what it left behind is still there
	[ 'F0001', qr/^lock file "postmaster.pid" already exists|^pre-existing shared memory block/, 'postmaster' ],
	[ 'XX000', qr/^(?:streaming replication receiver "\w+" )?could not (?:connect to the primary server|receive data from WAL stream)/, 'standby' ]);

# Of the server itself.
my @SERVER = (
	qr/^(?:starting PostgreSQL|listening on|database system|checkpoint|received |aborting any|background worker "logical replication|shutting down|restartpoint|recovery restart point)/,
	qr/^(?:parameter "|received SIGHUP|redo |invalid record length|consistent recovery|entering standby|started streaming|terminating walreceiver|replication terminated|selected new timeline|archive recovery complete|record with incorrect|invalid resource manager|waiting for|unexpected pageaddr|out-of-sequence timeline|incorrect resource manager|invalid magic|contrecord|there is no contrecord|last completed transaction was|successfully skipped missing contrecord)/);

sub new
{
	my ($class, %options) = @_;
	return bless {
		seed => $options{seed} // time ^ $$,
		programs => $options{programs} // 10_000,
		ids => $options{ids} // 0,
		seconds => $options{seconds} // 0,
		first => $options{round} // 1,
		most_rounds => $options{rounds} // 0,
		profiles => [ grep { $options{fleets} || $_->[0] ne 'fleet' } @PROFILES ],
		profile => $options{profile},
		judge_burst => $options{burst},
		keep_going => $options{keep_going},
		done_programs => 0,
		done_ids => 0,
		done_numbers => 0,
		done_excused => 0,
		rounds => 0,
		failed => 0,
		faults_seen => {},
		times => {},
		told => {},
	}, $class;
}

# ---- time ----

sub mono { return int(Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC()) * 1e9) }

# ---- the server that each round copies ----

my $NOTE_GRANTS = <<'SQL';
CREATE TABLE public.grants (serial bigserial, node text, db oid, relid oid, life text, op text,
	datacenter int, worker int, first bigint, last bigint);
CREATE FUNCTION public.note_grant() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	acquired boolean := TG_OP = 'INSERT' OR NEW.launches > OLD.launches;
	first bigint;
	life text;
BEGIN
	IF TG_OP = 'UPDATE' THEN
		first := OLD.granted_until + 1;
	END IF;
	IF acquired THEN
		-- It begins where the clock, the old grant and the ids of before allow for it,
		-- and has the length of a window.
		SELECT greatest(first, NEW.granted_until
				- greatest(ceil(extract(epoch FROM coalesce(current_setting('fleet.window', true), current_setting('uidgen.window'))::interval) * 1000000 / l.unit), 1)::bigint)
			INTO first FROM uidgen_registry.registry AS l;
		-- The shared memory lives as long as the checkpointer.
		SELECT a.pid || ' ' || a.backend_start INTO life
			FROM pg_stat_activity AS a WHERE a.backend_type = 'checkpointer';
	ELSIF NEW.granted_until <= OLD.granted_until THEN
		RETURN NULL;
	END IF;
	INSERT INTO public.grants (node, db, relid, life, op, datacenter, worker, first, last)
		SELECT CASE WHEN (SELECT l.shared FROM uidgen_registry.registry AS l) THEN NEW.port::text ELSE current_setting('cluster_name') END, d.oid, TG_RELID, life,
			CASE WHEN acquired THEN TG_OP ELSE 'RENEW' END, NEW.datacenter_id, NEW.worker_id, first, NEW.granted_until
		FROM pg_database AS d WHERE d.datname = current_database();
	RETURN NULL;
END
$$;
SQL

my $NOTICE = <<'SQL';
CREATE TRIGGER note_grant AFTER INSERT OR UPDATE ON uidgen_registry.worker_node
	FOR EACH ROW EXECUTE FUNCTION public.note_grant();
SQL

# Each begins where no other one does.
my $SEGMENTS = <<'SQL';
SELECT uidgen_registry.create_segment(name, (random() * 800000000)::bigint * 10000000000, step => step)
	FROM (VALUES ('one', 20), ('two', 500), ('three', 3000)) AS s (name, step);
SQL

my $CREATE = "CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_registry; $NOTICE ALTER TABLE public.t ALTER id SET DEFAULT uid_next(), ALTER twin SET DEFAULT uid_next();
ALTER TABLE public.u ALTER id SET DEFAULT uid_segment_next('one'); $SEGMENTS";

my $FURNISH = <<'SQL';
CREATE TABLE public.t (id bigint PRIMARY KEY, v int, seen boolean DEFAULT false, twin bigint);
CREATE TABLE public.u (id bigint PRIMARY KEY, v int, seen boolean DEFAULT false);
CREATE TABLE public.source AS SELECT generate_series(1, 20000) AS i;
CREATE FUNCTION public.new_id() RETURNS bigint LANGUAGE plpgsql VOLATILE SET uidgen.wait_timeout = '10s' AS 'BEGIN RETURN uid_next(); END';
-- For workers, to which the planner does not leave uid_next() itself.  The extension comes later.
SET check_function_bodies = off;
CREATE FUNCTION public.in_worker() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE AS 'SELECT uid_next()';
RESET check_function_bodies;
CREATE FUNCTION public.ids_with_exceptions(n int) RETURNS SETOF bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	id bigint;
BEGIN
	FOR i IN 1..n LOOP
		BEGIN
			id := uid_next();
			RETURN NEXT id;
			IF i % 3 = 0 THEN
				RAISE EXCEPTION 'planned';
			END IF;
		EXCEPTION WHEN OTHERS THEN
			NULL;
		END;
	END LOOP;
END
$$;
GRANT ALL ON public.t, public.u, public.source TO PUBLIC;
SQL

sub set_up
{
	my ($self) = @_;
	my $node = $self->{node} = uidgen_node('sessions',
		'restart_after_crash = on',
		'autovacuum = off',
		'max_connections = 60',
		'log_statement = none',
		'log_min_error_statement = panic',
		'log_connections = off',
		'log_disconnections = off',
		'log_checkpoints = off',
		'log_replication_commands = off',
		'log_error_verbosity = default',
		'wal_keep_size = 1GB',
		'max_wal_senders = 5',
		'wal_level = replica',
		'hot_standby = on',
		"log_line_prefix = '%m [%p] %b|%e|'",
		"include_if_exists = 'round.conf'");

	$self->{folder} = abs_path(PostgreSQL::Test::Utils::tempdir('sessions'));
	$self->{session} = build_program('sessions/session', 'session',
		"-I$ENV{CLIENT_HEADERS}", "-L$ENV{CLIENT_LIBRARIES}", '-lpq');
	$self->{oracle} = build_program('sessions/oracle', 'oracle');
	$self->{clock} = FakeClock->new($node);
	$self->{other} = PostgreSQL::Test::Cluster->new('other');

	$node->start;
	$node->safe_psql('postgres', join '', 'CREATE DATABASE second; CREATE DATABASE registry;',
		map { "CREATE ROLE s$_ LOGIN;" } 0 .. $SESSIONS - 1);
	foreach my $database ('postgres', 'second', 'registry')
	{
		$node->safe_psql($database, "$NOTE_GRANTS $FURNISH $CREATE VACUUM ANALYZE source");
	}
	$self->{has_burst} = $node->safe_psql('postgres', q{LOAD 'uidgen'; SELECT current_setting('uidgen.max_burst', true) IS NOT NULL}) eq 't';
	foreach my $layout (@LAYOUTS)
	{
		$self->{fields}{$layout} //= { map { my ($name, $bits, $shift) = split /\|/; $name => [ $shift, $bits ] }
			  split /\n/, $node->safe_psql('postgres', "SELECT name, bits, shift FROM uid_layout('$layout $EPOCH')") };
	}
	$self->{parallel} = $node->pg_version < 16 ? 'force_parallel_mode' : 'debug_parallel_query';
	$node->stop;
	$self->{template} = $node->basedir . '/template';
	system_or_bail('cp', '-a', $node->data_dir, $self->{template});

	my $holder = $self->{holder} = PostgreSQL::Test::Cluster->new('holder');
	mkdir $holder->basedir;
	$self->{true_clock} = FakeClock->new($holder);
	return;
}

# A server whose database postgres is the registry of a fleet.
sub begin_holder
{
	my ($self) = @_;
	my $plan = $self->{plan};
	my $holder = $self->{holder};
	copy_server($self->{template}, $holder, "shared_preload_libraries = ''",
		# As far as a grant reaches, for the trigger.
		sprintf("fleet.window = '%d ms'", min($plan->{settings}{window}, 1000 * $MAX_LEAD / 2)));
	$holder->start;
	$holder->safe_psql('postgres', 'CREATE DATABASE holder');
	share_registry($holder, 'holder', "'$plan->{layout} $EPOCH', max_lead => '$MAX_LEAD s', clock_slack => '$CLOCK_SLACK s'");
	$holder->safe_psql('holder', "$NOTE_GRANTS $NOTICE $SEGMENTS");
	return;
}

# Make a server out of a data directory, with more lines of configuration.
sub copy_server
{
	my ($from, $to, @conf) = @_;
	remove_tree($to->data_dir);
	mkdir $to->basedir;
	system_or_bail('cp', '-a', $from, $to->data_dir);
	append_to_file($to->data_dir . '/round.conf', join("\n", 'port = ' . $to->port, @conf, ''));
	return;
}

# ---- the plan of a round ----

sub plan_round
{
	my ($self, $number) = @_;
	srand($self->{seed} * 1_000_003 + $number);
	my @profiles = @{ $self->{profiles} };
	my ($profile, @groups) = @{ $profiles[ ($self->{profile} // $number - 1) % @profiles ] };
	my $window = pick(20, 100, 1000, 10_000, 60_000);
	my $max_ahead = pick(0, 50, 1000, 1000, 30_000, 3_600_000);
	my $sparse = $profile eq 'few ids';
	my $changes = grep { $_ eq 'registry' } @groups;
	my $layout = pick($sparse ? @ROOMY : $profile =~ /registry|standby|copied|fleet/ ? @MANY_WORKERS : @LAYOUTS);
	my $unit = unit_of($layout);
	my $fields = $self->{fields}{$layout};
	my $workers = 2**($fields->{worker} ? $fields->{worker}[1] : 0);
	my $capacity = 2**$fields->{sequence}[1];
	my %plan = (
		number => $number,
		profile => $profile,
		layout => $layout,
		unit => $unit,
		capacity => $capacity,
		workers => $workers,
		sparse => $sparse,
		standby => $profile eq 'standby',
		fleet => $profile eq 'fleet',
		two => $profile eq 'standby' || $profile eq 'fleet',
		registry => $profile eq 'fleet' ? 'holder' : $profile eq 'copied database' || rand > 0.5 ? 'registry' : 'postgres',
		sessions => 5 + int rand 4,
		programs => 8,
		seconds => 1.5 + rand 1.5,
		settings => {
			window => $window,
			max_ahead => $max_ahead,
			padding_factor => pick(0, 20, 50, 50, 100),
			wait_timeout => pick(200, 1000, 3000, 10_000),
			sequence_start => pick('zero', 'zero', 'random', 'continue'),
			worker_policy => rand > 0.15 || $workers < 256 ? 'reuse' : 'disposable',
			worker_id => rand > 0.9 && !$changes && $profile !~ /standby|copied|fleet/ ? int rand $workers : -1,
			datacenter_id => $fields->{datacenter} ? int rand 2**$fields->{datacenter}[1] : 0,
			max_burst => pick(0, 5, 100, 1000, 1000, 10_000),
		},
		faults => []);

	# Whether there is another worker id to turn to.
	$plan{alone} = $plan{settings}{worker_id} >= 0 || $workers < 16 || $plan{settings}{worker_policy} eq 'disposable';

	# A grant that a lock outlasts, and draws that fail, in some.
	$plan{settings}{window} = pick(20, 100, 1000) if $profile eq 'locked at the start' && rand > 0.5;
	$plan{settings}{wait_timeout} = pick(0, 50, 200, 500) if $profile =~ /locked|standby/;

	# What was granted before the copy is used up soon after.
	$plan{settings}{window} = pick(20, 20, 100) if $profile eq 'copied database';

	my @faults = map { my $group = pick(@groups); pick_weighted($FAULTS{$group}) } 1 .. 2 + rand 4;
	@faults = grep { $_ ne 'rename_database' || $plan{registry} eq 'registry' } @faults;
	# What takes rows or registries away leaves fewer worker ids than there are.
	@faults = grep { $workers >= 128 || !/^(?:drop|end_registry|switch_database)/ } @faults;
	push @faults, ('restart_while_locked') if $profile eq 'locked at the start' && rand > 0.4;
	splice @faults, rand @faults, 0, 'promote' if $plan{standby};
	@faults = ('copy_database', pick('switch_to_copy', 'restart_with_copy', 'restart_with_copy'), @faults[ 0 .. 1 ])
	  if $profile eq 'copied database';
	my $at = 0;
	foreach my $fault (@faults)
	{
		next unless defined $fault;
		$at += 0.1 + rand($plan{seconds} / @faults);
		push @{ $plan{faults} }, { name => $fault, at => $at, %{ $self->details($fault, \%plan) } };
	}
	$plan{seconds} = max($plan{seconds}, $at + 0.5);
	$plan{locked_at_start} = pick_magnitude(0.2, 1.5) if $profile eq 'locked at the start';

	my $programs = SessionPrograms->new(
		capacity => $capacity,
		rate => $capacity * 1_000_000 / $unit,
		tags => $fields->{tag} ? 2**$fields->{tag}[1] : 0,
		blocks => $fields->{sequence}[0] == 0,
		sparse => $sparse,
		standby => $plan{two},
		parallel => $self->{parallel});
	$plan{texts} = [ map { $programs->session($_, $plan{programs}) } 0 .. $plan{sessions} - 1 ];
	return \%plan;
}

sub unit_of
{
	my ($layout) = @_;
	my ($count, $unit) = $layout =~ /^time:\d+:(\d+)(us|ms|s)/ or die "no unit in $layout\n";
	return $count * { us => 1, ms => 1000, s => 1_000_000 }->{$unit};
}

# What a fault does in particular.
sub details
{
	my ($self, $fault, $plan) = @_;
	my $max_ahead = $plan->{settings}{max_ahead} / 1000;
	# With one worker id and no other, a leap forward would make it useless afterwards.
	my $way = $plan->{alone} ? -1 : pick(-1, -1, 1);
	return { step => pick(-1, 1) * pick_magnitude($fault eq 'clock_small' ? (0.001, 2) : (5, $NODE_OFF)) } if $plan->{fleet} && $fault =~ /^clock/;
	return { step => pick(-1, -1, 1) * pick_magnitude(0.001, 2) } if $fault eq 'clock_small';
	# About where a step begins to count as large.
	return { step => $way * ($max_ahead + pick(0.5, 0.9, 1.1, 3)) * pick(0.5, 1, 1, 1.5),
		back => rand > 0.5 ? pick_magnitude(0.1, 1) : undef } if $fault eq 'clock_middle';
	return { step => $way * pick_magnitude(5000, 5 * 365 * 86400), back => rand > 0.4 ? pick_magnitude(0.1, 1) : undef }
	  if $fault eq 'clock_large';
	return { for => pick_magnitude(0.05, 1.5) } if $fault =~ /^(?:lock|drop_for_a_while|layout_row|read_only|rename_database|restart_while_locked)$/;
	return { for => pick_magnitude(0.002, 0.5) } if $fault =~ /^stop_/;
	return { for => pick_magnitude(0.02, 3), how => pick('fast', 'immediate') } if $fault =~ /^registry_/;
	return { how => pick('immediate', 'fast'), step => pick(0, -1, -1) * pick_magnitude(0.5, 5) } if $fault eq 'restart_with_copy';
	return { set => { window => pick(20, 1000, 10_000), max_ahead => pick(0, 1000, 60_000), padding_factor => pick(0, 50, 100),
			sequence_start => pick('zero', 'random', 'continue'), max_burst => pick(0, 100, 1000) } }
	  if $fault eq 'settings';
	return { statement => pick('VACUUM FULL uidgen_registry.worker_node', 'REINDEX TABLE CONCURRENTLY uidgen_registry.worker_node',
			'CLUSTER uidgen_registry.worker_node USING worker_node_pkey', 'VACUUM FREEZE uidgen_registry.worker_node', 'ANALYZE uidgen_registry.worker_node') } if $fault eq 'rewrite';
	return {};
}

# ---- a round: the server ----

# Write the settings of the round, but for those given, which count from now on.
sub configure
{
	my ($self, %more) = @_;
	my $settings = $self->{settings} = { %{ $self->{settings} }, %more };
	my @lines = (
		"uidgen.layout = '$self->{plan}{layout} $EPOCH'",
		$self->{plan}{fleet} ? ("uidgen.registry = '" . (conninfo($self->{holder}) =~ s/dbname=\K.*/holder/r) . "'", "uidgen.registry_timeout = '${REGISTRY_TIMEOUT}s'")
		: "uidgen.database = '$self->{registry}'",
		"default_transaction_read_only = " . ($self->{read_only} ? 'on' : 'off'),
		map { "uidgen.$_ = $settings->{$_}" } grep { $_ ne 'max_burst' || $self->{has_burst} } sort keys %$settings);
	my $file = $self->{node}->data_dir . '/round.conf';
	unlink $file;
	append_to_file($file, join('', map { "$_\n" } @lines));
	return;
}

# Start a server, with a new log.
sub start_node
{
	my ($self, $node, %options) = @_;
	my $log = $node->rotate_logfile;
	push @{ $self->{logs} }, [ $node == $self->{node} ? 0 : 1, $log ];
	return $self->{clock}->under(sub { $node->start(%options) });
}

sub begin_server
{
	my ($self) = @_;
	my $node = $self->{node};
	remove_tree($node->data_dir);
	system_or_bail('cp', '-a', $self->{template}, $node->data_dir);
	$self->configure;
	if ($self->{plan}{two})
	{
		copy_server($node->data_dir, $self->{other}, $self->{plan}{standby} ? "primary_conninfo = '" . $node->connstr . "'" : ());
		append_to_file($self->{other}->data_dir . '/standby.signal', '') if $self->{plan}{standby};
	}
	$self->begin_holder if $self->{plan}{fleet};
	$self->start_node($node);
	$self->start_node($self->{other}) if $self->{plan}{two};
	return;
}

# Run SQL as superuser; what it says, or undef if it fails.
sub query
{
	my ($self, $database, $sql, %options) = @_;
	my $node = $options{node} // $self->{node};
	my ($status, $out, $err) = try_psql($node, $sql, database => $database, on_error_stop => 1,
		timeout => 30, timed_out => \my $timed_out);
	push @{ $self->{story} }, 'a query hung: ' . substr($sql, 0, 60) if $timed_out;
	$self->{said} = $err;
	return defined $status && $status == 0 && !$timed_out ? $out : undef;
}

# Something begins here that ends the round's calm: ids may be further ahead of the
# clock than drawing alone puts them.
sub disturb
{
	my ($self) = @_;
	$self->{calm_until} //= mono();
	return;
}

sub set_clock
{
	my ($self, $time) = @_;
	my $from = mono();
	$self->disturb;
	$self->{clock}->set(max($EARLIEST, min($LATEST, $time)));
	push @{ $self->{facts} }, "step $from " . mono();
	return;
}

# Ask until there is an id; in time, unless no other worker id can be had.
sub first_id
{
	my ($self, $what, $node, $begin) = @_;
	my $number = $node == $self->{node} ? 0 : 1;
	$begin //= time;
	for (;;)
	{
		my ($before, $wall) = (mono(), int($self->{ids_clock}->now * 1e9));
		my $id = $self->query('second', q{SET uidgen.wait_timeout = '3s'; SELECT uid_next()}, node => $node);
		if (defined $id)
		{
			# A chunk of record.h
			$self->{probes} .= pack('L2 S2 l L2 q4 q2', 0, ++$self->{nprobes}, $number, 0, -1, 1, 0,
				$before, $wall, int($self->{ids_clock}->now * 1e9), mono(), $id, $id);
			push @{ $self->{times}{$what} }, time - $begin;
			push @{ $self->{story} }, sprintf '(%.1f s to the first id)', time - $begin if time - $begin > 4;
			return;
		}
		if (time - $begin > $MOST_WAIT)
		{
			# With one worker id and no other, a large step of the clock stops all.
			$self->complain("no id within $MOST_WAIT s after $what: $self->{said}") unless $self->{stuck};
			return;
		}
		$self->catch_up if !$self->{plan}{fleet} && $self->{said} =~ /ids would run too far/;
		# With one worker id and no other, steps forward may add up to a large one.  The
		# clock is correct, so the error's hint is to restart the server.
		return $self->bring_down('fast')
		  if $self->{plan}{alone} && !$self->{stuck} && $number == 0 && $self->{said} =~ /the clock was set forward by a large step/;
		usleep(5000);
	}
}

# Where ids began ahead of the clock (it was set back, or a crash took a grant along),
# calls may draw no more than max_burst has room for until the clock is there.  If
# that is so little that the sessions have drawn it all, let the clock catch up,
# as if the machine had slept for the time that is missing.  Likewise where there is
# one worker id and no other, which crash after crash has carried a window further.
sub catch_up
{
	my ($self) = @_;
	my $plan = $self->{plan};
	my ($calm) = $self->bounds;
	my ($ahead, $allowed) = $self->{said} =~ /(?:set back by|The grant began).* (\d+) ms ahead.* (\d+) ms are allowed/ or return;
	my $ticks = $plan->{unit} / 1000;
	my $drawn = ($calm - 1) * $plan->{capacity} > 2_000_000 ? 0 : 2 * $ticks + 2;
	my $carried = $plan->{alone} && $self->{said} =~ /The grant began/ ? ($self->{crashes} - 1) * ($self->{settings}{window} + 4 * $ticks) : 0;
	return if $ahead - $allowed > max($drawn, $carried);
	my $from = mono();
	$self->{clock}->suspend($ahead / 1000);
	push @{ $self->{facts} }, "step $from " . mono();
	$self->{faults_seen}{'(the clock caught up)'}++;
	push @{ $self->{story} }, sprintf '(caught up %.1f s)', $ahead / 1000;
	return;
}

sub complain
{
	my ($self, $text) = @_;
	push @{ $self->{complaints} }, $text;
	return;
}

# ---- a round: the sessions ----

sub start_sessions
{
	my ($self) = @_;
	my @nodes = map { $_->connstr } $self->{node}, $self->{plan}{two} ? $self->{other} : ();
	$self->{running} = {};
	foreach my $number (0 .. $self->{plan}{sessions} - 1)
	{
		my $name = "$self->{folder}/session.$number";
		unlink glob "$name.*";
		append_to_file("$name.program", $self->{plan}{texts}[$number]);
		defined(my $pid = fork) or die "could not fork: $!\n";
		if ($pid == 0)
		{
			open(STDERR, '>', "$name.err");
			$self->{ids_clock}->under(sub { exec($self->{session}, map({ "$name.$_" } qw(program ids log)), @nodes) });
			POSIX::_exit(127);
		}
		$self->{running}{$pid} = $number;
	}
	return;
}

sub running
{
	my ($self) = @_;
	foreach my $pid (keys %{ $self->{running} })
	{
		next unless waitpid($pid, POSIX::WNOHANG()) == $pid;
		my $number = delete $self->{running}{$pid};
		$self->complain("session $number ended with status $?: " . slurp_file("$self->{folder}/session.$number.err")) if $? != 0;
	}
	return scalar keys %{ $self->{running} };
}

sub end_sessions
{
	my ($self) = @_;
	my $end = time + 120;
	my $look = time + 3;
	kill 'TERM', keys %{ $self->{running} };
	while ($self->running)
	{
		if (time > $look)
		{
			$self->first_id('the end of all faults', $_) foreach $self->{node}, $self->{promoted} ? $self->{other} : ();
			$look = time + 3;
		}
		if (time > $end)
		{
			$self->complain('session ' . join(', ', values %{ $self->{running} }) . ' does not end');
			kill 'KILL', keys %{ $self->{running} };
			waitpid($_, 0) foreach keys %{ $self->{running} };
			$self->{running} = {};
			last;
		}
		usleep(3000);
	}
	return;
}

# ---- a round: faults ----

# The process id of a process of the server whose title matches; undef if there is
# none.
sub child
{
	my ($self, $node, $pattern) = @_;
	my @pids = eval { UidgenTest::child_pids($node) };
	my @found = grep { UidgenTest::process_file($_, 'cmdline') =~ $pattern } @pids;
	# Not by rand(), which is the plan's.
	return $found[ $$ % @found ] if @found;
	return;
}

sub inject
{
	my ($self, $fault) = @_;
	my $name = $fault->{name};
	my $node = $self->{node};
	my $registry = $self->{registry};

	$self->{faults_seen}{$name}++;
	push @{ $self->{story} }, sprintf '%s@%.1f', $name, time - $self->{begin};
	# What changes the registry would wait for it.
	$self->unlock if $name =~ /^(?:drop|delete|forget|truncate|layout|rewrite|rename|copy)/;
	$self->disturb unless $name =~ /^(?:cancel|terminate_backend|stop_|lock|rewrite|truncate|read_only)/ || $self->{plan}{fleet} && $name =~ /^clock/;

	if ($ENDS{$name}) { $self->bring_down($name) }
	elsif ($name =~ /^clock_/ && $self->{plan}{fleet})
	{
		my $off = $self->{clock}->now - $self->{true_clock}->now + $fault->{step};
		$self->{clock_is_wrong} = 1;
		$self->{clock}->set($self->{true_clock}->now + max(-$NODE_OFF, min($NODE_OFF, $off)));
		$self->first_id('a step of the clock', $_) foreach $self->{hindered} ? () : ($node, $self->{other});
	}
	elsif ($name =~ /^registry_/)
	{
		my $holder = $self->{holder};
		my @stopped;
		$self->{hindered}++;
		if ($name eq 'registry_restart') { $self->unlock; $holder->stop($fault->{how}) }
		else { @stopped = stop_processes($holder) }
		usleep($fault->{for} * 1e6);
		@stopped ? kill('CONT', @stopped) : $holder->start;
		$self->{hindered}--;
		$self->first_id($name, $_) foreach $self->{hindered} ? () : ($node, $self->{other});
	}
	elsif ($name =~ /^clock_/)
	{
		my $alone = $self->{plan}{alone};
		my $before = $self->{clock}->now;
		$self->{stuck}++ if $alone;
		$self->set_clock($before + $fault->{step});
		my $step = $self->{clock}->now - $before;
		$self->later($fault->{back} // 0.3, sub {
			$self->set_clock($self->{clock}->now - $step);
			$self->{stuck}-- if $alone;
			$self->first_id("the clock's return", $node) unless $self->{hindered} || $self->{stuck};
		}) if defined $fault->{back} || $alone;
		$self->first_id('a step of the clock', $node) unless $alone || $self->{hindered};
	}
	elsif ($name eq 'cancel')
	{
		$self->query('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'session'});
	}
	elsif ($name eq 'terminate_backend')
	{
		$self->query('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'session' LIMIT 3});
	}
	elsif ($name eq 'terminate_keeper')
	{
		my $pid = keeper_pid($node);
		kill 'TERM', $pid if $pid;
	}
	elsif ($name =~ /^stop_(backend|keeper)/)
	{
		my $pid = $1 eq 'keeper' ? keeper_pid($node) : $self->child($node, qr/\[local\]/);
		if ($pid && kill 'STOP', $pid)
		{
			usleep($fault->{for} * 1e6);
			kill 'CONT', $pid;
		}
	}
	elsif ($name eq 'lock') { $self->lock($fault->{for}) }
	elsif ($name eq 'restart_while_locked')
	{
		$self->bring_down('immediate', up => sub { $self->lock($fault->{for}) });
	}
	elsif ($name eq 'drop_create')
	{
		$self->change("BEGIN; DROP EXTENSION uidgen, uidgen_registry CASCADE; $CREATE COMMIT");
	}
	elsif ($name eq 'drop_for_a_while')
	{
		# With a schema of that name, no keeper makes another registry, which notes no grants.
		$self->hinder($fault->{for}, 'BEGIN; DROP EXTENSION uidgen, uidgen_registry CASCADE; CREATE SCHEMA uidgen_registry; COMMIT',
			"BEGIN; DROP SCHEMA uidgen_registry; $CREATE COMMIT");
	}
	elsif ($name eq 'end_registry') { $self->change('SELECT uidgen_registry.end_registry()') }
	elsif ($name eq 'forget')
	{
		# Each in a transaction of its own.
		$self->change("SELECT uidgen_registry.forget_worker($_)")
		  foreach split /\n/, $self->query($registry, q{SELECT worker_id || ', ' || datacenter_id FROM uidgen_registry.worker_node}) // '';
	}
	elsif ($name eq 'truncate')
	{
		$self->complain('TRUNCATE was not refused') if defined $self->query($registry, 'TRUNCATE uidgen_registry.worker_node');
	}
	elsif ($name eq 'layout_row')
	{
		$self->hinder($fault->{for}, by_hand(q{UPDATE uidgen_registry.registry SET layout = 'x' || layout}),
			by_hand(q{UPDATE uidgen_registry.registry SET layout = substr(layout, 2)}));
	}
	elsif ($name eq 'read_only')
	{
		$self->{read_only} = 1;
		$self->configure;
		$node->reload;
		$self->later($fault->{for}, sub { $self->{read_only} = 0; $self->configure; $node->reload });
	}
	elsif ($name eq 'settings')
	{
		$self->configure(%{ $fault->{set} });
		$node->reload;
	}
	elsif ($name eq 'rewrite') { $self->query($registry, $fault->{statement}) }
	elsif ($name eq 'switch_database')
	{
		$self->{registry} = $registry eq 'second' ? $self->{plan}{registry} : 'second';
		$self->configure;
		$node->reload;
	}
	elsif ($name eq 'rename_database')
	{
		if ($self->undisturbed("ALTER DATABASE registry RENAME TO renamed"))
		{
			$self->{hindered}++;
			$self->later($fault->{for}, sub {
				$self->{hindered}--;
				$self->undisturbed('ALTER DATABASE renamed RENAME TO registry') or $self->complain("the database keeps its name: $self->{said}");
			});
		}
	}
	elsif ($name eq 'copy_database')
	{
		$self->{copied} = $self->undisturbed('CREATE DATABASE copy TEMPLATE registry');
	}
	elsif ($name eq 'switch_to_copy' && $self->{copied})
	{
		$self->{registry} = 'copy';
		$self->configure;
		$node->reload;
		$self->first_id('a change of the registry', $node);
	}
	elsif ($name eq 'restart_with_copy' && $self->{copied})
	{
		$self->{registry} = 'copy';
		$self->configure;
		$self->bring_down($fault->{how}, down => sub { $self->set_clock($self->{clock}->now + $fault->{step}) if $fault->{step} });
	}
	elsif ($name eq 'promote')
	{
		$self->query('postgres', 'SELECT pg_promote()', node => $self->{other});
		$self->{promoted} = 1;
		$self->first_id('a promotion', $self->{other}) unless $self->{hindered};
	}
	return;
}

# Do something in so many seconds, or when the round ends.
sub later
{
	my ($self, $seconds, $what) = @_;
	push @{ $self->{later} }, [ time + $seconds, $what ];
	return;
}

# A session holds a lock on the registry for a while.
sub lock
{
	my ($self, $seconds) = @_;
	return if $self->{lock};
	my $lock = $self->{lock} =
	  $self->{lockers}->hold($self->{registry}, 'BEGIN; LOCK TABLE uidgen_registry.worker_node IN ACCESS EXCLUSIVE MODE');
	$self->{hindered}++;
	$self->later($seconds, sub { $self->unlock if $self->{lock} && $self->{lock} == $lock });
	return;
}

sub unlock
{
	my ($self) = @_;
	my $lock = delete $self->{lock} or return;
	$self->{hindered}--;
	$self->{lockers}->release($lock);
	$self->{lockers}->end($lock);
	return;
}

# Changes are made also while the fault read_only lasts, which would wait for its end otherwise.
my $WRITE = 'SET default_transaction_read_only = off; ';

# A change of the registry that has to come about, unless the registry is changed for a
# while already.
sub change
{
	my ($self, $sql) = @_;
	return if $self->{hindered};
	my $done = poll_until(sub { defined $self->query($self->{registry}, $WRITE . $sql) }, 30);
	$self->complain("could not run $sql: $self->{said}") unless $done;
	return $done;
}

# A change that keeps the keeper from its work for a while.
sub hinder
{
	my ($self, $seconds, $sql, $undo) = @_;
	my $registry = $self->{registry};
	$self->change($sql) or return;
	$self->{hindered}++;
	$self->later($seconds, sub {
		$self->{hindered}--;
		poll_until(sub { defined $self->query($registry, $WRITE . $undo) }, 30) or $self->complain("could not run $undo: $self->{said}");
	});
	return;
}

# A command that needs a database without the keeper, which comes back as often as
# somebody draws an id.
sub undisturbed
{
	my ($self, $sql) = @_;
	my $sessions = $self->{lockers};
	my $done;
	foreach (1 .. 5)
	{
		my $before = $self->query('postgres', q{SELECT count(*) || string_agg(datname, ' ' ORDER BY datname) FROM pg_database});
		my $pid = $sessions->start('postgres', $sql);
		my $end = time + 8;
		while ($sessions->running && time < $end)
		{
			my $keeper = keeper_pid($self->{node});
			kill 'TERM', $keeper if $keeper;
			usleep(30_000);
		}
		$sessions->end($pid);
		my $after = $self->query('postgres', q{SELECT count(*) || string_agg(datname, ' ' ORDER BY datname) FROM pg_database});
		return 1 if ($before // '') ne ($after // '');
	}
	return 0;
}

# Bring the server down and up again, and wait for its first id.  Options: down (called
# while it is down, where there is such a time), up (called when it is up).
sub bring_down
{
	my ($self, $how, %options) = @_;
	my $node = $self->{node};
	my $from = mono();
	my $begin = time;
	my $down = $options{down} // sub { };

	# Otherwise the grant is handed back.
	$self->{crashes}++ if $how ne 'fast' || $self->{lock};
	# Whoever is new to the registry has to go by its clock, to within the round trip.
	$self->{blur} = 1_000_000 * $REGISTRY_TIMEOUT if $self->{plan}{fleet} && $self->{clock_is_wrong};

	if ($how eq 'postmaster')
	{
		$node->kill9;
		$down->();
		poll_until(sub {
			return 1 if $self->start_node($node, fail_ok => 1);
			# It may take the process that is ending for a server.
			$node->stop('immediate', fail_ok => 1);
			return 0;
		}) || die "the server does not start\n";
	}
	elsif ($how eq 'immediate' || $how eq 'fast')
	{
		$node->stop($how);
		$down->();
		$self->start_node($node);
	}
	else
	{
		$self->kill_child($how);
	}
	push @{ $self->{facts} }, "life 0 $from " . mono();
	# It ended with the session that held it.
	$self->unlock;
	$options{up}->() if $options{up};
	$self->first_id($how, $node, $begin) unless $self->{hindered};
	return;
}

# Kill a process of the server with signal 9; returns when the postmaster has ended all
# others.
sub kill_child
{
	my ($self, $what) = @_;
	my $node = $self->{node};
	my %title = (
		# one that is done with connecting
		backend => qr/\[local\] (?!startup|authentication)/,
		keeper => qr/uidgen keeper/,
		process => qr/background writer|walwriter/);
	my $end = time + $PostgreSQL::Test::Utils::timeout_default;

	for (;;)
	{
		die "there is no $what to kill\n" if time > $end;
		my $checkpointer = $self->child($node, qr/checkpointer/);
		my $victim = $self->child($node, $title{$what});
		my $begin = time;
		if ($checkpointer && $victim && kill 'KILL', $victim)
		{
			# It may have come to its end just before.
			usleep(500) while kill(0, $checkpointer) && time - $begin < 3;
			last unless kill 0, $checkpointer;
		}
		usleep(1000);
		# There is none when all sessions have ended.
		$what = 'process' if $what eq 'backend' && !$victim;
	}
	return;
}

# ---- a round: the whole ----

sub round
{
	my ($self, $number) = @_;
	my $plan = $self->{plan} = $self->plan_round($number);

	$self->{begin} = time;
	$self->{lock} = undef;
	$self->{$_} = [] foreach qw(facts story complaints later logs);
	$self->{$_} = 0 foreach qw(hindered read_only promoted copied stuck nprobes clock_is_wrong blur crashes);
	# There is nothing to promote.
	$self->{promoted} = 1 if $plan->{fleet};
	$self->{ids_clock} = $self->{ $plan->{fleet} ? 'true_clock' : 'clock' };
	$self->{probes} = '';
	$self->{calm_until} = undef;
	$self->{registry} = $plan->{registry};
	$self->{settings} = $plan->{settings};
	$self->{clock}->correct;
	$self->{lockers} = Sessions->new($plan->{fleet} ? $self->{holder} : $self->{node}, $self->{folder});

	$self->begin_server;
	$self->lock($plan->{locked_at_start}) if $plan->{locked_at_start};
	$self->start_sessions;
	my $start = time;
	my @faults = @{ $plan->{faults} };
	while (time - $start < $plan->{seconds} || @faults)
	{
		last unless $self->running || @faults;
		$self->do_later(time);
		$self->inject(shift @faults) if @faults && time - $start >= $faults[0]{at};
		usleep(5000);
	}
	$self->do_later(9e99);
	$self->{lockers}->end;
	$self->first_id('the end of all faults', $self->{node});
	$self->end_sessions;
	$self->judge;
	return;
}

# What is due by a time, in its order.
sub do_later
{
	my ($self, $now) = @_;
	while (my ($next) = sort { $a->[0] <=> $b->[0] } @{ $self->{later} })
	{
		last if $next->[0] > $now;
		$self->{later} = [ grep { $_ != $next } @{ $self->{later} } ];
		$next->[1]->();
	}
	return;
}

# ---- judgement ----

# The bounds on how far ahead of the clock an id may be, in ticks: while nothing has
# happened but draws, and ever.  One more than the rules say, because the machine's
# true clock may be corrected a little meanwhile.
sub bounds
{
	my ($self) = @_;
	my $plan = $self->{plan};
	my $up = sub { ceil($_[0] * 1000 / $plan->{unit}) };
	# The highest of the round: a fault may change them on the way.
	my @settings = ($plan->{settings}, map { $_->{set} // () } @{ $plan->{faults} });
	my ($max_ahead, $window, $burst) = map { my $name = $_; max(map { $_->{$name} } @settings) } qw(max_ahead window max_burst);
	my $A = floor($max_ahead * 1000 / $plan->{unit});
	my $W = max($up->($window), 1);

	$burst = $self->{judge_burst} if defined $self->{judge_burst};
	# Before there was max_burst, max_ahead was the one bound.
	return (map { $_ + 1 } $plan->{sparse} ? 2 : max($A, 1), max($A, $W + 3)) unless $self->{has_burst} || defined $self->{judge_burst};
	my $B = $up->($burst);
	my $S = $up->($max_ahead) + $up->(1000);
	my $C = $S + $W + $B + 3;
	# No grant reaches further.
	my $L = $up->(1000 * $MAX_LEAD);
	return (map { $_ + 1 } min($B, $L), $L) if $plan->{fleet};
	return (map { $_ + 1 } $plan->{sparse} ? min($B, 2) : $B, max($A, $C) + $B);
}

sub judge
{
	my ($self) = @_;
	my $plan = $self->{plan};
	my @nodes = ($self->{node}, $self->{promoted} ? $self->{other} : ());
	my $facts = "$self->{folder}/facts";
	my $fields = $self->{fields}{ $plan->{layout} };
	my ($calm, $always) = $self->bounds;
	my @facts = (
		"layout $plan->{unit} " . 1_104_537_600_000_000,
		map({ "field $_ @{ $fields->{$_} }" } sort keys %$fields),
		"datacenter $plan->{settings}{datacenter_id}",
		"ahead $calm $always",
		"blur $self->{blur}",
		'numbers ' . ($plan->{profile} eq 'copied database' ? 1 : 0),
		defined $self->{calm_until} ? "calm_until $self->{calm_until}" : (),
		@{ $self->{facts} });
	my @stored;

	# From what the registries granted, and the rows whose ids no client saw yet.
	my @rows;
	my %known;
	foreach my $number (0 .. $#nodes, $plan->{fleet} ? 'holder' : ())
	{
		my $node = $number eq 'holder' ? $self->{holder} : $nodes[$number];
		my @databases = $number eq 'holder' ? 'holder' : split /\n/, $self->query('postgres', q{SELECT datname FROM pg_database WHERE datname NOT LIKE 'template%'}, node => $node) // '';
		foreach my $database (@databases)
		{
			my $grants = $self->query($database, 'SELECT serial, node, db, relid, life, op, datacenter, worker, first, last FROM grants ORDER BY serial', node => $node);
			defined $grants or die "no grants in $database: $self->{said}\n";
			foreach my $line (split /\n/, $grants)
			{
				push @rows, [ split /\|/, $line ] unless $known{$line}++;
			}
			next if $number eq 'holder';
			foreach my $table ('t', 'u')
			{
				my $ids = $self->query($database, "SELECT id FROM $table WHERE NOT seen"
					  . ($table eq 't' ? ' UNION ALL SELECT twin FROM t WHERE NOT seen AND twin IS NOT NULL' : ''), node => $node) // '';
				push @stored, map { [ $number, "$database.$table", $_ ] } split /\n/, $ids;
			}
		}
		next if $number eq 'holder';
		my $status = $self->query('postgres', 'SELECT renewals, failures, waits, clock_steps, wasted FROM uidgen.status', node => $node) // '';
		$self->complain("counters in uidgen.status: $status") if $status =~ /-/;
	}
	my %is_first = map { $_ => 1 } $self->{node}->name, $self->{node}->port;
	push @facts, map { sprintf 'grant %d %d %d %d %d', $is_first{ $_->[1] } ? 0 : 1, @{$_}[ 6 .. 9 ] } @rows;
	push @facts, map { "chance $_" } chosen_by_chance(@rows);
	$_->stop foreach @nodes, $plan->{fleet} ? $self->{holder} : ();
	$self->{other}->stop('immediate', fail_ok => 1) if $plan->{standby} && !$self->{promoted};
	push @facts, $self->read_logs;

	unlink $facts;
	append_to_file($facts, join('', map { "$_\n" } @facts));
	my @files = map { "$self->{folder}/session.$_.ids" } 0 .. $plan->{sessions} - 1;
	push @files, $self->write_others(@stored);
	my ($out, $err) = run_command([ $self->{oracle}, $facts, @files ]);
	my ($ids, $numbers, $violations, $excused, $ahead) = $out =~ /^ids (\d+) numbers (\d+) violations (\d+) excused (\d+) ahead (-?\d+)$/m
	  or die "oracle: $out$err\n";
	my $programs = $self->read_session_logs;

	$self->{done_ids} += $ids;
	$self->{done_numbers} += $numbers;
	$self->{done_programs} += $programs;
	$self->{done_excused} += $excused;
	$self->{rounds}++;
	my $failed = $violations || @{ $self->{complaints} };
	note sprintf 'round %3d: %7d ids, %7d numbers, %3d programs, %d violations; ahead %d; %4.1f s; %s: %s', $plan->{number}, $ids, $numbers, $programs,
	  $violations, $ahead, time - $self->{begin}, $plan->{profile}, join(' ', @{ $self->{story} });
	$self->report_failure($out) if $failed;
	$self->{failed}++ if $failed;
	return;
}

# Ids that no session saw: those that the harness drew, and those that were stored but
# never returned.  Nobody knows when the latter were drawn.
sub write_others
{
	my ($self, @stored) = @_;
	my $name = "$self->{folder}/others.ids";
	my $now = int($self->{ids_clock}->now * 1e9);
	unlink $name;
	open(my $file, '>', $name) or die "could not open $name: $!\n";
	binmode $file;
	print $file $self->{probes};
	my %seen;
	foreach (@stored)
	{
		my ($node, $table, $id) = @$_;
		# The standby has the rows of its primary too.
		next if $seen{ $self->{plan}{standby} ? "$table $id" : "$node $table $id" }++;
		print $file pack('L2 S2 l L2 q4 q2', 0, 1_000_000, $node, $table =~ /u$/ ? $NUMBERS : 0, -1, 1, 0, mono(), $now, $now + 4e18, mono(), $id, $id);
	}
	close $file or die "could not write $name: $!\n";
	return $name;
}

# The worker ids that two registries may both have chosen by chance: each took one that
# it had never used, and no shared memory knew of both grants.
sub chosen_by_chance
{
	my (@rows) = @_;
	my %taken;		# by worker id: a list of the lives in which it was acquired
	my %latest;		# by registry and worker id: its entry in that list
	foreach (@rows)
	{
		my ($serial, $node, $db, $relid, $life, $op, $datacenter, $worker) = @$_;
		next if $op eq 'RENEW';
		push @{ $taken{$worker} }, $latest{"$db $relid $worker"} = {} if $op eq 'INSERT';
		$latest{"$db $relid $worker"}{$life} = 1;
	}
	return grep {
		my @lives = @{ $taken{$_} };
		grep {
			my $one = $_;
			grep { my $other = $_; $other != $one && !grep { $one->{$_} } keys %$other } @lives;
		} @lives;
	} sort keys %taken;
}

# The logs of the servers: complain about what is not expected.  Returns facts for the
# oracle: from which worker id to which one the server went after a large step back.
sub read_logs
{
	my ($self) = @_;
	my $plan = $self->{plan};
	my %what = map { $_ => 1 } $plan->{profile}, map { $_->{name} } @{ $plan->{faults} };
	my %strange;
	my %acquired;
	my %facts;

	foreach (@{ $self->{logs} })
	{
		my ($number, $log) = @$_;
		my $rows = $acquired{$number} //= [];
		my $worker;
		open(my $lines, '<', $log) or die "could not open $log: $!\n";
		while (my $line = <$lines>)
		{
			chomp $line;
			next if $line =~ /^\t|^$/;
			my ($type, $state, $level, $text) = $line =~ /^\d{4}-\S+ \S+ \S+ \[\d+\] ([^|]*)\|(\w{5})\|(\w+):\s+(.*)/
			  or do { $strange{$line}++; next };
			if ($level eq 'DETAIL')
			{
				$rows->[-1]{steps}++ if defined $worker && $text =~ /set back/;
				$strange{"$text, with $plan->{workers} worker ids"}++ if $text =~ /no worker id is free/ && !$plan->{alone};
			}
			$worker = undef;
			next if $level =~ /^(?:DETAIL|HINT|CONTEXT|STATEMENT|QUERY|LOCATION)$/;
			$worker = $1 if $text =~ /^uidgen acquired worker id (\d+)/;
			push @$rows, { worker => $worker, steps => @$rows ? $rows->[-1]{steps} : 0 } if defined $worker;
			next if $level eq 'LOG' && grep { $text =~ $_ } @SERVER;
			# A segment fails for the reasons that a grant does.
			$text =~ s/^uidgen has no further numbers of segment ".*?":/uidgen has no new grant:/;
			$text =~ s/^segment "\w*" has no numbers to draw/uidgen has no grant to issue ids from/;
			next if grep {
				my ($of, $pattern, @with) = @$_;
				$state eq $of && $text =~ $pattern && (!@with || grep { $what{$_} } @with)
				  # An error while it connects ends the keeper.
				  && ($level ne 'FATAL' || $type !~ /keeper/ || $state =~ /^(?:3D000|55P03)$/);
			} @EXPECTED;
			$strange{ "$type $level $state: " . $text =~ s/\d+/N/gr }++;
		}
	}
	foreach my $number (keys %acquired)
	{
		my @before;
		foreach my $row (@{ $acquired{$number} })
		{
			$facts{"stepped $number $_->{worker} $row->{worker}"}++
				  foreach grep { $_->{steps} < $row->{steps} && $_->{worker} != $row->{worker} } @before;
			push @before, $row;
		}
	}
	$self->complain("in the log, $strange{$_} times: $_") foreach sort keys %strange;
	return sort keys %facts;
}

# What the sessions say of their statements.  Returns the number of programs.
sub read_session_logs
{
	my ($self) = @_;
	my $programs = 0;

	foreach my $number (0 .. $self->{plan}{sessions} - 1)
	{
		my @lines = split /\n/, slurp_file("$self->{folder}/session.$number.log");
		# It is the last step but one.
		my $at = ($self->{plan}{texts}[$number] =~ tr/\n//) - 1;
		my ($last) = grep { /^$at / } @lines;
		$programs += grep { /^\d+ program / } @lines;
		$self->complain("session $number: $_") foreach grep { /NEGATIVE|NO CONNECTION|HANGS/ } @lines;
		$self->complain("session $number drew no last id: " . ($last // 'it did not get there')) unless ($last // '') =~ / ok$/;
		my ($last_number) = grep { /^${\($at - 2)} / } @lines;
		$self->complain("session $number drew no last number: " . ($last_number // 'it did not get there')) unless ($last_number // '') =~ / ok$/;
		foreach (@lines)
		{
			$self->{told}{ "$1 " . $2 =~ s/\d+/N/gr }++ if /^\d+ \d+ \d+ \d+ ([0-9A-Z]{5}) (.*)/;
		}
	}
	return $programs;
}

# All that helps to find out what went wrong.
sub report_failure
{
	my ($self, $said) = @_;
	my $plan = $self->{plan};
	my $kept = sprintf '%s/failed.%d', $self->{folder}, $plan->{number};
	my @text = (
		"round $plan->{number} of seed $self->{seed} failed; --seed $self->{seed} --round $plan->{number} --rounds 1 repeats its plan",
		"layout $plan->{layout}, profile \"$plan->{profile}\", registry $plan->{registry}, "
		  . join(', ', map { "$_ $plan->{settings}{$_}" } sort keys %{ $plan->{settings} }),
		'faults: ' . join(' ', @{ $self->{story} }),
		@{ $self->{complaints} });
	my %shown;

	foreach my $line (split /\n/, $said)
	{
		push @text, $line;
		my ($session, $at, $time) = $line =~ /session (\d+) line (\d+) at (\d+)/ or next;
		my $name = "$self->{folder}/session.$session";
		next if !-e "$name.log" || $shown{"$session $at"}++ || keys %shown > 5;
		my @program = split /\n/, slurp_file("$name.program");
		my @before = grep { /^(\d+) (\d+)/ && $1 <= $at } split /\n/, slurp_file("$name.log");
		push @text, map { /^(\d+) (.*)/; "    $1: " . substr($program[ $1 - 1 ], 0, 150) . " -> $2" } @before[ max(0, @before - 8) .. $#before ];
	}
	mkdir $kept;
	system('cp', glob("$self->{folder}/session.*"), "$self->{folder}/facts", "$self->{folder}/others.ids", map({ $_->[1] } @{ $self->{logs} }), $kept);
	diag(join("\n", @text, "files and logs are in $kept"));
	return;
}

# ---- all rounds ----

sub run
{
	my ($self) = @_;
	my $begin = time;
	my $number = $self->{first};

	note "seed $self->{seed}";
	$self->set_up;
	while ($self->{most_rounds} ? $self->{rounds} < $self->{most_rounds}
		: $self->{done_programs} < $self->{programs} || $self->{done_ids} < $self->{ids})
	{
		# One round at least, however slow the machine is.
		last if $self->{seconds} && $self->{rounds} && time - $begin > $self->{seconds};
		last if $self->{failed} && !$self->{keep_going};
		$self->round($number++);
	}
	note $_ foreach $self->report(time - $begin);
	cmp_ok($self->{rounds}, '>', 0, 'there were rounds');
	is($self->{failed}, 0, 'rounds in which anything was wrong');
	return;
}

sub report
{
	my ($self, $seconds) = @_;
	my @lines = map { sprintf('%-34s %s', @$_) } (
		[ 'seed', $self->{seed} ],
		[ 'rounds', $self->{rounds} ],
		[ 'programs', $self->{done_programs} ],
		[ 'ids', $self->{done_ids} ],
		[ 'numbers of segments', $self->{done_numbers} ],
		[ 'rounds that failed', $self->{failed} ],
		[ 'equal ids by chance (copies)', $self->{done_excused} ],
		[ 'seconds', int $seconds ]);
	push @lines, Sessions::report($self->{faults_seen}, $self->{times});
	push @lines, map { sprintf('told %6d  %s', $self->{told}{$_}, $_) } sort keys %{ $self->{told} };
	return @lines;
}

1;
