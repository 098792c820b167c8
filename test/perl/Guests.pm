# Guests.pm: one list of faults for each client in clients/, and the same clients with a rule left out, which have to fail.
#
#	my $world = Guests->new('SQL_ASCII');				# a registry, in a cluster of this encoding
#	my $client = $world->client('python', 'psycopg');	# or 'java'
#	play($client);										# tests
#	play_without_rules($client);
#	play_long($world, { ids => 10**6, faults => 20 }, @clients);
#	fail_over($world, @clients);						# the last one: it ends the world
#
# A guest is a process that draws ids all the time (test/guests/player.py, Player.java).  A scenario has a registry of its own, which mostly has
# one worker id for guests, so that whoever loses it, or goes on with what is another's, is seen at once.  It returns what is wrong: nothing
# for a client that has all rules.
package Guests;

use strict;
use warnings;
use Chance;
use Exporter 'import';
use Fleet;
use FakeClock;
use File::Path qw(make_path);
use FindBin;
use IPC::Run ();
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RegistryProxy;
use Test::More;
use UidgenTest;

our @EXPORT = qw(read_vectors play play_without_rules play_long crowd fail_over begin ends place go_on ids complaints tick_of twice);

my $root = "$FindBin::RealBin/../..";
# 16 ids a millisecond, so that guests get ahead of the clock.
my $LAYOUT = 'time:41:1ms worker:10 sequence:4 epoch:2025-01-01';
# Two ids a millisecond: each tick is used up as soon as it is granted.
my $NARROW = 'time:41:1ms worker:10 sequence:1 epoch:2025-01-01';
my %FILE = (python => 'uidgen.py', java => 'uidgen/Guest.java', javascript => 'uidgen.mjs', go => 'uidgen.go');

my %SCENARIOS = (
	lost_answers => 'answers that are lost, late or doubled, and calls that are made twice, cost neither ids nor the worker id',
	stopped => 'stopped for longer than its grant, while another one gets the worker id',
	killed => 'killed: the worker id is free again soon after its grant, and nobody gets it before',
	handed_back => 'ended while it is ahead of the clock: the next one begins at once, above its ids',
	forked => 'a child after a fork is a guest of its own',
	warned => 'an answer with a warning counts for nothing',
	configured => 'an answer of another registry than configured counts for nothing, and nothing is written there',
	connects_ill => 'whatever connect() ends with, it goes on when that is over',
	dropped => 'before a snapshot it hands its worker id back, and goes on with a new grant',
	restored => 'restored from a snapshot it leaves its grant, and goes on with another one',
	other_registry => 'an answer of another registry counts for nothing',
	laid_out => 'it goes by the layout that the registry names',
	hasty => 'as fast as it can, it asks a few times a second, and goes on',
	threads => 'eight threads share one guest, and none draws what another one has',
	clock_set => 'where the clock of the machine was set, it asks before it goes on');

# A client with a rule left out: the scenario that has to notice, and what of its text is replaced by what.
my %WITHOUT = (
	python => [
		[ 'the end of a grant', 'stopped', 'if tick > self._last:', 'if False:' ],
		[ 'the begin of a grant', 'handed_back', 'self._pos = max(self._pos, (first << self._bits) - 1)', 'pass' ],
		[ 'tokens that are remembered before the call', 'lost_answers', 'self._tokens[:1] + self._tokens[1:][-98:] + [token], True', 'self._tokens[:1], True' ],
		[ 'forks', 'forked', 'os.register_at_fork(', '(lambda **ignored: None)(' ],
		[ 'warnings', 'warned', 'or self._notices or getattr(self._connection, "notices", None)', '' ],
		[ 'the number of the registry', 'other_registry', 'registry_id != self._registry[0]', 'False' ],
		[ 'the number that is configured', 'configured', 'if self._wanted and registry_id', 'if False and registry_id' ],
		[ 'a thread that is looked after', 'connects_ill', 'except BaseException as error:', 'except Exception as error:' ],
		[ 'snapshots', 'restored', "        _abandoned.append(self._connection)\n        self._begin()", '        pass' ],
		[ 'a look at the clock of the machine', 'clock_set', 'abs(time.time_ns() - now - self._apart) > _SECOND', 'False' ],
		[ 'the hand-back', 'handed_back', 'if worker is not None and self._connection', 'if False and self._connection' ],
		[ 'the pause after an answer', 'hasty', 'if failures else 0.25', 'if failures else 0' ],
		[ 'the timeline', 'left_behind', 'timeline < self._registry[1]', 'False' ],
	],
	java => [
		[ 'the end of a grant', 'stopped', 'if (tick >= 0 && pos >> g.bits <= g.last) {', 'if (tick >= 0) {' ],
		[ 'the begin of a grant', 'handed_back', 'position.accumulateAndGet((first << g.bits) - 1, Math::max);', '' ],
		[ 'tokens that are remembered before the call', 'lost_answers', 'tokens.add(token);  ', 'if (tokens.isEmpty()) tokens.add(token);  ' ],
		[ 'warnings', 'warned', '|| statement.getWarnings() != null || connection.getWarnings() != null', '' ],
		[ 'the number of the registry', 'other_registry', '(Long) row[2] != registry', 'false' ],
		[ 'the number that is configured', 'configured', 'if (wanted != 0 && (Long) row[2] != wanted)', 'if (false)' ],
		[ 'an error that is caught', 'connects_ill', "catch (Throwable e) {\n                Thread.interrupted();", 'catch (Exception e) {' ],
		[ 'snapshots', 'restored', "keeper.ends.countDown();\n        grant = null;\n        keeper = new Keeper();\n        notifyAll", 'notifyAll' ],
		[ 'a look at the clock of the machine', 'clock_set', 'stale |= Math.abs', 'stale |= false && Math.abs' ],
		[ 'the hand-back', 'handed_back', 'if (connection != null && worker >= 0 && keeper == this)', 'if (false)' ],
		[ 'the pause after an answer', 'hasty', 'failures == 0 ? 250', 'failures == 0 ? 0' ],
		[ 'the timeline', 'left_behind', 'number(row[3]) < timeline', 'false' ],
	],
	javascript => [
		[ 'the end of a grant', 'stopped', 'if (tick > this.#last)', 'if (false)', 'Math.max(next, now) <= this.#last', 'true' ],
		[ 'the begin of a grant', 'handed_back', 'if (Number(first_tick) > this.#tick)', 'if (false)' ],
		[ 'tokens that are remembered before the call', 'lost_answers', 'life.tokens.push(token)', 'if (!life.tokens.length) life.tokens.push(token)' ],
		[ 'warnings', 'warned', '|| life.notices.length > 0', '' ],
		[ 'the number of the registry', 'other_registry', 'registry !== this.#registry[0]', 'false' ],
		[ 'the number that is configured', 'configured', 'if (this.registry !== 0n && registry', 'if (false && registry' ],
		[ 'a connection that is given up after a failure', 'connects_ill', "Guest.#disconnect(life)\t\t// whatever", '// whatever' ],
		[ 'snapshots', 'restored', "if (!this.#closed)\n\t\t\tthis.#begin()\n\t\tGuest.#tell(life)", '' ],
		[ 'a look at the clock of the machine', 'clock_set', 'Math.abs(Date.now() - now - this.#apart) > 1000', 'false' ],
		[ 'the hand-back', 'handed_back', 'if (worker !== null && life.client', 'if (false && life.client' ],
		[ 'the pause after an answer', 'hasty', ' : 250, false)', ' : 0, false)' ],
		[ 'the timeline', 'left_behind', 'row.timeline < this.#registry[1]', 'false' ],
	],
	go => [
		[ 'the end of a grant', 'stopped', 'if at <= gr.last {', 'if at <= 1<<62 {' ],
		[ 'the begin of a grant', 'handed_back', 'g.raise(a.first<<next.sequence.Bits - 1)', '_ = renews' ],
		[ 'tokens that are remembered before the call', 'lost_answers', 'append(k.tokens, token), true', 'append(k.tokens[:len(k.tokens):len(k.tokens)], token)[:1], true' ],
		[ 'warnings', 'warned', '|| c.warned.Load()', '' ],
		[ 'the number of the registry', 'other_registry', 'g.timeline >= 0 && a.registry != g.registry', 'false' ],
		[ 'the number that is configured', 'configured', 'if g.Registry != 0 && a.registry', 'if false && a.registry' ],
		[ 'a goroutine that is looked after', 'connects_ill', 'if failure := recover(); failure != nil {', 'if failure := error(nil); failure != nil {' ],
		[ 'snapshots', 'restored', "g.keeper = newKeeper(g)\n\tg.grant.Store(nil)\n\tg.err = nil\n\tg.tell()\n\tg.mutex.Unlock()\n\tk.end(false)", "_ = k\n\tg.mutex.Unlock()" ],
		[ 'the hand-back', 'handed_back', 'if k.releases && k.worker >= 0', 'if false' ],
		[ 'the pause after an answer', 'hasty', 'k.sleep(250*time.Millisecond, nil)', 'k.sleep(0, nil)' ],
		[ 'the timeline', 'left_behind', 'if a.timeline < g.timeline {', 'if false {' ],
	]);

# ---- the world ----

sub new
{
	my ($class, $encoding, %options) = @_;
	my $primary = fleet_registry("in_$encoding", encoding => $encoding);
	# Drivers of Java know no other way than TCP.
	$primary->append_conf('postgresql.conf', "listen_addresses = '127.0.0.1'\nmax_connections = " . ($options{connections} // 60));
	$primary->restart;
	$primary->safe_psql('postgres', 'CREATE ROLE app LOGIN; CREATE ROLE other LOGIN; CREATE DATABASE guests');
	$primary->safe_psql('guests', 'CREATE EXTENSION uidgen_registry');
	return bless {
		primary => $primary,
		encoding => $encoding,
		dir => PostgreSQL::Test::Utils::tempdir(),
		count => 0,
	}, $class;
}

# A client, as the command that its guests run.  With a replacement, it is a copy in which a rule is left out.
sub client
{
	my ($self, $language, $driver, @replacements) = @_;
	my $dir = "$self->{dir}/client" . ++$self->{count};
	my $text = slurp_file("$root/clients/$language/$FILE{$language}");
	while (my ($what, $by) = splice @replacements, 0, 2)
	{
		$text =~ s/\Q$what\E/$by/ or die "$FILE{$language} has no \"$what\"";
	}
	make_path("$dir/uidgen");
	append_to_file("$dir/$FILE{$language}", $text);
	my @command = ('/usr/bin/python3', "$root/test/guests/player.py", $dir, $driver // 'psycopg');
	if ($language eq 'java')
	{
		my $said = '';
		IPC::Run::run([ 'javac', '-d', $dir, "$dir/$FILE{java}", "$root/test/guests/Player.java" ], '<', \undef, '>&', \$said) or die $said;
		@command = (qw(java -Xmx64m -XX:+UseSerialGC -cp), "$dir:/usr/share/java/postgresql.jar", 'Player');
	}
	if ($language eq 'javascript')
	{
		symlink "$ENV{CHECK_DIR}/node_modules", "$dir/node_modules" or die "$dir: $!";
		@command = ('node', "$root/test/guests/player.mjs", $dir);
	}
	if ($language eq 'go')
	{
		make_path("$dir/src/uidgen", "$dir/src/player");
		append_to_file("$dir/src/uidgen/uidgen.go", $text);
		append_to_file("$dir/src/player/player.go", slurp_file("$root/test/guests/player.go"));
		local @ENV{qw(GO111MODULE GOPATH GOCACHE GOFLAGS)} = ('off', "$dir:/usr/share/gocode", "$self->{dir}/gocache", '');
		my $said = '';
		IPC::Run::run([ '/usr/bin/go', 'build', '-o', "$dir/player", 'player' ], '<', \undef, '>&', \$said) or die $said;
		@command = ("$dir/player");
	}
	return { world => $self, language => $language, driver => $driver, name => join(' with ', $language, $driver // ()) . ", $self->{encoding}", command => \@command };
}

# A player that is not ours, by its command
sub player
{
	my ($self, $command, $without) = @_;
	return { world => $self, language => '', without => $without, name => "$command, $self->{encoding}", command => [ split ' ', $command ] };
}

# A client reads the strict rows of test/vectors.tsv as they say.
sub read_vectors
{
	my ($client) = @_;
	IPC::Run::run([ @{ $client->{command} }, 'vectors', "$root/test/vectors.tsv" ], '<', \undef, '>&', \my $said);
	return like($said, qr/\A\d\d rows\n\z/, "$client->{name}: the vectors");
}

# A registry in a database of its own, with so many worker ids for guests
sub registry
{
	my ($self, $workers, %options) = @_;
	my $name = 'guests_' . ++$self->{count};
	$self->{primary}->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE guests");
	$self->{primary}->safe_psql($name, sprintf(
			q{SET client_min_messages = error; SELECT FROM uidgen_registry.share_registry('%s', max_lead => '60 s', clock_slack => '1 s', first_guest => %d, guest_lead => '%s', new_fleet => true);
			SELECT uidgen_registry.grant_guest('app', %d), uidgen_registry.grant_guest('other', 9)},
			$options{layout} // $LAYOUT, 1024 - $workers, $options{lead} // '2 s', $workers));
	return $name;
}

# Of each scenario its own
sub proxy
{
	my ($world) = @_;
	return $world->{proxy} //= RegistryProxy->new($world->{primary});
}

# What the registry knows of the worker id that it was asked about last
sub row
{
	my ($world, $database, $columns) = @_;
	return $world->{primary}->safe_psql($database, "SELECT $columns FROM uidgen_registry.worker_node AS n, uidgen_registry.registry AS r ORDER BY n.modified DESC LIMIT 1");
}

# The tick of its clock
sub now_tick
{
	my ($world, $database) = @_;
	return row($world, $database, 'floor(extract(epoch FROM clock_timestamp()) * 1000 - r.epoch / 1000)');
}

# ---- guests ----

my @pids;

END
{
	my $status = $?;
	kill '-KILL', @pids if @pids;
	$? = $status;
}

# A guest of a client: where it finds its registry, and how it draws.
sub begin
{
	my ($client, $where, %options) = @_;
	my $world = $client->{world};
	my $guest = { file => "$world->{dir}/ids" . ++$world->{count}, client => $client };
	send_to($guest, $where);
	$guest->{pid} = fork // die "could not fork: $!";
	if ($guest->{pid} == 0)
	{
		# With its children.
		setpgrp;
		open STDERR, '>', "$guest->{file}.stderr";
		$ENV{PLAYER_REGISTRY} = $options{registry} // 0;
		{ exec @{ $client->{command} }, $guest->{file}, $options{batch} // 20, $options{pause} // 2, $options{forks} ? 'fork' : () }
		POSIX::_exit(127);
	}
	push @pids, $guest->{pid};
	return $guest;
}

sub place
{
	my ($database, $user, @ports) = @_;
	return sprintf 'host=%s port=%s dbname=%s user=%s', join(',', ('127.0.0.1') x @ports), join(',', @ports), $database, $user;
}

# It connects there from now on.
sub send_to
{
	my ($guest, $where) = @_;
	unlink "$guest->{file}.new";
	append_to_file("$guest->{file}.new", $where);
	rename "$guest->{file}.new", "$guest->{file}.to";
	return;
}

sub ends
{
	my ($signal, @guests) = @_;
	foreach my $guest (@guests)
	{
		kill $signal eq 'KILL' ? '-KILL' : $signal, $guest->{pid};
		waitpid $guest->{pid}, 0;
		@pids = grep { $_ != $guest->{pid} } @pids;
	}
	return;
}

sub ids
{
	my ($guest, $suffix) = @_;
	my $file = $guest->{file} . ($suffix // '');
	return () if !-e $file || -s $file < 33;
	my $text = slurp_file($file);
	my @ids = unpack('x19 (x6 q>)*', substr($text, 0, 19 + 14 * int((length($text) - 19) / 14)));
	return @ids;
}

sub tick_of
{
	my ($id) = @_;
	return $id >> 14;
}

# What next() has said since this was asked for the last time
sub complaints
{
	my ($guest) = @_;
	my $text = -e "$guest->{file}.err" ? slurp_file("$guest->{file}.err") : '';
	my $new = substr($text, $guest->{heard} // 0);
	$guest->{heard} = length $text;
	return $new;
}

# Does it draw at least some ids more?
sub go_on
{
	my ($guest, $suffix) = @_;
	my $file = $guest->{file} . ($suffix // '');
	my $size = -s $file // 0;
	return 1 if poll_until(sub { -e $file && -s $file > $size + 14 * 200 });
	diag(map { -e "$guest->{file}$_" ? slurp_file("$guest->{file}$_") =~ s/.*(?=.{2000}\z)//sr : '' } '.err', '.stderr');
	return 0;
}

# Wait until one of both shows: that next() says this, which is right, or an id of a later tick, which is wrong.
sub says_before
{
	my ($guest, $pattern, $tick) = @_;
	my $said = '';
	poll_until(
		sub {
			$said .= complaints($guest);
			return $said =~ $pattern || tick_of((ids($guest))[-1]) > $tick;
		});
	return $said =~ $pattern ? '' : "it goes on: $said";
}

sub twice
{
	my (@guests) = @_;
	return repeated(map { [ ids(@$_) ] } @guests) ? 'ids come twice' : '';
}

# ---- the scenarios ----

sub lost_answers
{
	my ($client) = @_;
	my $world = $client->{world};
	# Its worker id is its own for 20 s after the end of a grant, which is up to 20 s ahead: long enough on a slow machine, too.  It draws as fast
	# as it can, so that it calls often.
	my $database = registry($world, 1, lead => '20 s', layout => $NARROW);
	my $guest = begin($client, place($database, 'app', proxy($world)->port), pause => 0);
	go_on($guest) or return 'it does not begin';
	foreach my $fault ('cut guest_renew', 'cut guest_', 'swallow guest_renew', 'late guest_renew', 'double guest_renew', 'twice guest_renew')
	{
		complaints($guest);
		proxy($world)->set(split(/ /, $fault), 1);
		proxy($world)->await("^$fault\\w* ", $fault eq 'cut guest_' ? 2 : 1) or return "no call meets $fault";
		proxy($world)->set();
		# Another call succeeds, so what it has lost shows.
		my $now = row($world, $database, "clock_timestamp() + interval '500 ms'");
		my $said = '';
		poll_until(sub { $said .= complaints($guest); $said =~ /^refused /m || row($world, $database, "n.modified > '$now'") eq 't' }) or return "$fault: it does not renew";
		return "$fault: it loses its worker id" if $said =~ /^refused /m;
		go_on($guest) or return "$fault: it does not go on";
	}
	ends('TERM', $guest);
	return twice([$guest]);
}

sub stopped
{
	my ($client) = @_;
	my $world = $client->{world};
	# As in killed(): no stall of the heir is longer.
	my $database = registry($world, 1, lead => '8 s');
	my $where = place($database, 'app', $world->{primary}->port);
	my $guest = begin($client, $where);
	go_on($guest) or return 'it does not begin';
	kill 'STOP', $guest->{pid};
	# Sooner than by itself
	$world->{primary}->safe_psql($database, 'SELECT uidgen_registry.forget_worker(1023, 0)');
	my $until = row($world, $database, 'n.granted_until');
	my $heir = begin($client, $where);
	poll_until(sub { my @ids = ids($heir); @ids && tick_of($ids[-1]) > $until + 500 }) or return 'the next one does not begin';
	kill 'CONT', $guest->{pid};
	my ($wrong, $said) = ('', '');
	poll_until(sub { $said .= complaints($guest); $said =~ /^refused /m || ($wrong = twice([$guest], [$heir])) }) or return 'it says nothing';
	ends('KILL', $guest, $heir);
	return $wrong || twice([$guest], [$heir]);
}

sub killed
{
	my ($client) = @_;
	my $world = $client->{world};
	# So long that no stall of the first one is longer.
	my $database = registry($world, 1, lead => '8 s');
	my $where = place($database, 'app', $world->{primary}->port);
	my $guest = begin($client, $where);
	go_on($guest) or return 'it does not begin';
	my $heir = begin($client, $where);
	poll_until(sub { complaints($heir) =~ /^refused /m }) or return 'the next one is not told that there is none';
	ends('KILL', $guest);
	my $until = row($world, $database, 'n.granted_until');
	go_on($heir) or return 'the next one does not begin';
	ends('KILL', $heir);
	return twice([$guest], [$heir]) || (tick_of((ids($heir))[0]) < $until + 9000 ? 'the next one begins too early' : '');
}

# It has a second for that, which may be too short on a slow machine, and the clock may overtake it there, but not each time.
sub handed_back
{
	my ($client) = @_;
	my $wrong;
	foreach (1 .. 5)
	{
		$wrong = handed_back_once($client);
		last if $wrong !~ /hand its worker id back|not ahead/;
	}
	return $wrong;
}

sub handed_back_once
{
	my ($client) = @_;
	my $world = $client->{world};
	# At once for 15 s, however slow the machine is.
	my $database = registry($world, 1, lead => '60 s', layout => $NARROW);
	my $where = place($database, 'app', $world->{primary}->port);
	my $guest = begin($client, $where, batch => 30000, pause => 600000);
	poll_until(sub { (-s $guest->{file} // 0) > 14 * 30000 }) or return 'it does not begin';
	ends('TERM', $guest);
	my @ids = ids($guest);
	return 'it is not ahead of the clock' if $ids[-1] >> 11 <= now_tick($world, $database);
	return 'it does not hand its worker id back' if row($world, $database, 'n.released') ne 't';
	my $heir = begin($client, $where);
	go_on($heir) or return 'the next one does not begin';
	ends('KILL', $heir);
	return (ids($heir))[0] <= $ids[-1] ? 'the next one begins too early' : '';
}

sub forked
{
	my ($client) = @_;
	my $world = $client->{world};
	my $guest = begin($client, place(registry($world, 2), 'app', $world->{primary}->port), forks => 1);
	(go_on($guest) && go_on($guest, '.child')) or return 'it does not begin';
	my ($mine, $childs) = map { ((ids($guest, $_))[-1] >> 4) & 1023 } '', '.child';
	ends('KILL', $guest);
	return $mine == $childs ? 'the child has the same worker id' : twice([$guest], [ $guest, '.child' ]);
}

sub warned
{
	my ($client) = @_;
	my $world = $client->{world};
	my $database = registry($world, 1);
	my $guest = begin($client, place($database, 'app', proxy($world)->port));
	go_on($guest) or return 'it does not begin';
	proxy($world)->set('warn', 'guest_');
	proxy($world)->await('^warn guest_') or return 'no call meets the warning';
	my $wrong = says_before($guest, qr/^uncertain /m, row($world, $database, 'n.granted_until') + 1000);
	proxy($world)->set();
	$wrong ||= 'it does not begin again' if !go_on($guest);
	ends('KILL', $guest);
	return $wrong || twice([$guest]);
}

sub other_registry
{
	my ($client) = @_;
	my $world = $client->{world};
	my ($database, $other) = (registry($world, 1), registry($world, 1));
	my $guest = begin($client, place($database, 'app', $world->{primary}->port));
	go_on($guest) or return 'it does not begin';
	my $wrong = lead_astray($guest, $world->{primary}, $database, place($other, 'app', $world->{primary}->port));
	ends('KILL', $guest);
	return $wrong || twice([$guest]);
}

sub configured
{
	my ($client) = @_;
	my $world = $client->{world};
	my ($database, $other) = (registry($world, 1), registry($world, 1));
	my $port = $world->{primary}->port;
	my $guest = begin($client, place($other, 'app', $port), registry => $world->{primary}->safe_psql($database, 'SELECT id FROM uidgen_registry.registry'));
	my $said = '';
	poll_until(sub { $said .= complaints($guest); $said =~ /^other_registry /m || ids($guest) }) or return 'it says nothing';
	return 'it draws' if ids($guest);
	return 'the other registry has a row' if $world->{primary}->safe_psql($other, 'SELECT count(*) FROM uidgen_registry.worker_node') ne '0';
	send_to($guest, place($database, 'app', $port));
	my $wrong = go_on($guest) ? '' : 'it does not go on';
	ends('KILL', $guest);
	return $wrong;
}

sub connects_ill
{
	my ($client) = @_;
	my $world = $client->{world};
	my $database = registry($world, 1);
	my $where = place($database, 'app', $world->{primary}->port);
	my $guest = begin($client, 'fail');
	poll_until(sub { complaints($guest) =~ /^no_answer .*as /m }) or return 'no call meets it';
	send_to($guest, $where);
	go_on($guest) or return 'it does not go on';
	send_to($guest, 'fail');
	$world->{primary}->safe_psql($database, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'app'");
	complaints($guest);
	poll_until(sub { complaints($guest) =~ /as /m }) or return 'it does not say what happened';
	send_to($guest, $where);
	my $wrong = go_on($guest) ? twice([$guest]) : 'it does not go on';
	ends('KILL', $guest);
	return $wrong;
}

sub restored
{
	my ($client, $method) = @_;
	$method //= 'restored';
	my $world = $client->{world};
	my $database = registry($world, 2, lead => '20 s');
	my $guest = begin($client, place($database, 'app', $world->{primary}->port));
	go_on($guest) or return 'it does not begin';
	my $before = (ids($guest))[-1];
	append_to_file("$guest->{file}.tmp", $method);
	rename "$guest->{file}.tmp", "$guest->{file}.do";
	poll_until(sub { !-e "$guest->{file}.do" }) or return 'it does not do it';
	my $drawn = ids($guest);
	go_on($guest) or return 'it does not go on';
	my @after = (ids($guest))[ $drawn + 100 .. $drawn + 150 ];
	ends('KILL', $guest);
	return twice([$guest]) if twice([$guest]);
	my $same = !grep { (($_ >> 4) & 1023) != (($before >> 4) & 1023) } @after;
	my $released = $world->{primary}->safe_psql($database, 'SELECT count(*) FROM uidgen_registry.worker_node WHERE released OR launches > 1');
	return 'it goes on with its grant' if $method eq 'restored' && $same;
	return 'it does not hand its worker id back' if $method eq 'drop' && $released eq '0';
	return '';
}

sub dropped
{
	my ($client) = @_;
	return restored($client, 'drop');
}

# Its next answers come from elsewhere.
sub lead_astray
{
	my ($guest, $server, $database, $elsewhere) = @_;
	send_to($guest, $elsewhere);
	$server->safe_psql($database, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'app'");
	my $until = $server->safe_psql($database, 'SELECT max(granted_until) FROM uidgen_registry.worker_node');
	return says_before($guest, qr/^(?:other_registry|left_behind) /m, $until + 3000);
}

sub clock_set
{
	my ($client) = @_;
	my $world = $client->{world};
	my $database = registry($world, 1, lead => '20 s');
	my $machine = bless { basedir => "$world->{dir}/machine" . ++$world->{count} }, 'Guests::Machine';
	make_path($machine->basedir);
	my $clock = FakeClock->new($machine);
	my $guest = $clock->under(sub { begin($client, place($database, 'app', proxy($world)->port)) });
	go_on($guest) or return 'it does not begin';
	proxy($world)->set('hole');
	my $until = row($world, $database, 'n.granted_until');
	$clock->step(-7200);
	# It says so after its time-out.
	complaints($guest);
	my $wrong = says_before($guest, qr/./, $until);
	$wrong ||= 'it goes on to the end of its grant' if tick_of((ids($guest))[-1]) > $until - 1000;
	proxy($world)->set();
	$wrong ||= 'it does not go on' if !go_on($guest);
	ends('KILL', $guest);
	return $wrong || twice([$guest]);
}

sub hasty
{
	my ($client) = @_;
	my $world = $client->{world};
	my $database = registry($world, 1, layout => $NARROW);
	my $guest = begin($client, place($database, 'app', proxy($world)->port), pause => 0);
	go_on($guest) or return 'it does not begin';
	my $begun = now_tick($world, $database);
	proxy($world)->set('watch', 'guest_');
	my $calls = 0;
	# Enough of them, whoever makes them.
	poll_until(sub { $calls = () = proxy($world)->events; $calls >= 16 }) or return "it asks only $calls times";
	my $took = now_tick($world, $database) - $begun;
	my $goes_on = go_on($guest);
	ends('KILL', $guest);
	return $took < $calls * 200 ? "$calls calls in $took ms" : $goes_on ? twice([$guest]) : 'it does not go on';
}

# Of other bits, in another order, and with ticks of another length
sub laid_out
{
	my ($client) = @_;
	my $world = $client->{world};
	my $database = registry($world, 1, layout => 'time:39:10ms sequence:8 worker:16 epoch:2014-09-01');
	my $guest = begin($client, place($database, 'app', $world->{primary}->port));
	go_on($guest) or return 'it does not begin';
	ends('KILL', $guest);
	my ($worker, $until) = split /\|/, row($world, $database, 'n.worker_id, n.granted_until');
	my ($wrong) = grep { ($_ & 65535) != $worker || $_ >> 24 > $until || $_ >> 24 < $until - 6000 } ids($guest);
	return defined $wrong ? "$wrong is not of worker id $worker" : twice([$guest]);
}

sub threads
{
	my ($client) = @_;
	my $world = $client->{world};
	my $database = registry($world, 1, lead => '20 s', layout => 'time:41:1ms worker:10 sequence:12 epoch:2025-01-01');
	my $guest = begin($client, place($database, 'app', $world->{primary}->port), batch => 'threads', pause => 8);
	ends('CONT', $guest);
	append_to_file("$world->{dir}/notes", "$client->{name}: " . complaints($guest));
	return scalar(ids($guest)) < 160000 ? 'there are too few ids' : twice([$guest]);
}

sub Guests::Machine::basedir
{
	my ($self) = @_;
	return $self->{basedir};
}

# ---- the tests ----

# What these scenarios return, each a name and a client.  They mostly wait, so some run at a time, each in a process of its own.
sub run_at_once
{
	my ($world, @scenarios) = @_;
	my (@results, %running);
	my $next = 0;
	while ($next < @scenarios || %running)
	{
		if ($next < @scenarios && keys %running < 4)
		{
			my ($name, $client) = @{ $scenarios[$next] };
			$world->{count} += 100;
			my $result = "$world->{dir}/result$next";
			unlink $result;
			my $pid = fork // die "could not fork: $!";
			if ($pid == 0)
			{
				delete $world->{proxy};
				my $wrong = eval { Guests->can($name)->($client) } // "it dies: $@";
				append_to_file($result, $wrong);
				kill '-KILL', @pids if @pids;
				RegistryProxy::end_all();
				POSIX::_exit(0);
			}
			$running{$pid} = $next++;
			next;
		}
		my $done = delete $running{ wait() } // next;
		$results[$done] = slurp_file("$world->{dir}/result$done");
	}
	$world->{count} += 100;
	return @results;
}

# These scenarios, or all; one test for each
sub play
{
	my ($client, @names) = @_;
	# Go asks the kernel for the time, past the C library, which FakeClock stands for.
	my $without = { go => 'forked clock_set', java => 'forked', javascript => 'forked' }->{ $client->{language} } // $client->{without} // '';
	@names = grep { $without !~ /\b$_\b/ } sort { ($b eq 'lost_answers') <=> ($a eq 'lost_answers') || $a cmp $b } keys %SCENARIOS if !@names;	# the longest first
	my @results = run_at_once($client->{world}, map { [ $_, $client ] } @names);
	is($results[$_], '', "$client->{name}: $SCENARIOS{ $names[$_] }") foreach 0 .. $#names;
	note(slurp_file("$client->{world}{dir}/notes")) if grep { $_ eq 'threads' } @names;
	return;
}

# One test for each rule, or for these, which looks at whether something is wrong; what it is, is in the notes.
sub play_without_rules
{
	my ($client, @names) = @_;
	my @rules = grep { my $rule = $_; $rule->[1] ne 'left_behind' && (!@names || grep { $_ eq $rule->[0] } @names) } @{ $WITHOUT{ $client->{language} } };
	my @plays = map { my (undef, $scenario, @replacement) = @$_; [ $scenario, $client->{world}->client(@$client{qw(language driver)}, @replacement) ] } @rules;
	my @results = run_at_once($client->{world}, @plays);
	foreach my $i (0 .. $#rules)
	{
		# Alone, where a machine that was busy with all of them has kept it from where the rule matters.
		my $nothing = qr/^(?:\z|it dies|it does not begin\z|no call meets|it is not ahead)/;
		($results[$i]) = run_at_once($client->{world}, $plays[$i]) if $results[$i] =~ $nothing;
		unlike($results[$i], $nothing, "$client->{name} without $rules[$i][0] is found");
		note($results[$i]);
	}
	return;
}

# So many guests at once, each with a worker id, in processes of a hundred
sub crowd
{
	my ($client, $guests) = @_;
	my $world = $client->{world};
	my $database = registry($world, $guests, lead => '60 s');
	my $begun = time;
	my @crowd = map { begin($client, place($database, 'app', $world->{primary}->port), batch => 'crowd', pause => 100) } 1 .. $guests / 100;
	my @ids;
	poll_until(sub { @ids = map { ids($_) } @crowd; @ids == 10 * $guests }, 600);
	is(scalar(@ids), 10 * $guests, "$client->{name}: $guests guests at once have ids");
	note(sprintf 'in %d s', time - $begun);
	is(twice(map { [$_] } @crowd), '', '... none twice');
	is($world->{primary}->safe_psql($database, q{SELECT running FROM uidgen_registry.guests WHERE role = 'app'}), $guests, '... and a worker id each');
	ends('KILL', @crowd);
	return;
}

# Guests of all clients draw ids in one registry, while one fault after the other happens, until there are enough of both.  The control: guests without
# the end of a grant, each in a registry with one worker id.  When one is stopped for longer than a grant, another one gets it; then both go on.
sub play_long
{
	my ($world, $enough, @clients) = @_;
	my $dupcheck = build_program('tools/dupcheck', 'dupcheck');
	my $database = registry($world, 60, layout => 'time:41:1ms worker:10 sequence:12 epoch:2025-01-01');
	my $primary = $world->{primary};
	my $proxy = RegistryProxy->new($primary);
	my $where = place($database, 'app', $proxy->port);
	my @files;
	my $more = sub {
		my ($client) = @_;
		my $guest = begin($client, $where, batch => 400, pause => 20);
		push @files, $guest->{file};
		return $guest;
	};
	my @guests = map { $more->($_) } (@clients) x 2;
	my @unfenced;
	my $unfenced = sub {
		my ($client) = @_;
		$client->{unfenced}{database} //= registry($world, 1);
		push @unfenced, begin($client->{unfenced}, place($client->{unfenced}{database}, 'app', $proxy->port), batch => 400);
		return $unfenced[-1];
	};
	foreach my $client (@clients)
	{
		my ($rule) = grep { $_->[0] eq 'the end of a grant' } @{ $WITHOUT{ $client->{language} } };
		$client->{unfenced} = $world->client(@$client{qw(language driver)}, @$rule[ 2 .. $#$rule ]);
		$client->{control} = $unfenced->($client);
	}
	ok(!(grep { !go_on($_) } @guests, map { $_->{control} } @clients), 'guests of all clients draw ids');
	note('seed ', srand($enough->{seed} // time));
	my %done;
	my $count = 0;
	my $ids = 0;
	while ($count < $enough->{faults} || $ids < $enough->{ids})
	{
		my $guest = \$guests[ rand @guests ];
		my $fault = pick(qw(kill end stop cut swallow late double twice warn hole crash failover));
		if ($fault eq 'kill' || $fault eq 'end')
		{
			ends($fault eq 'kill' ? 'KILL' : 'TERM', $$guest);
			$$guest = $more->($$guest->{client});
		}
		elsif ($fault eq 'stop')
		{
			my $client = $$guest->{client};
			kill 'STOP', $$guest->{pid}, $client->{control}{pid};
			# Longer than a grant; others go on.
			my $until = now_tick($world, $database) + 500 + rand 6000;
			my $heir = $unfenced->($client);
			poll_until(sub { now_tick($world, $database) > $until });
			go_on($heir) or last;
			# What it draws before its next call is refused
			my $drawn = -s $client->{control}{file};
			complaints($client->{control});
			kill 'CONT', $$guest->{pid}, $client->{control}{pid};
			poll_until(sub { -s $client->{control}{file} > $drawn || complaints($client->{control}) =~ /refused/ }) or last;
			ends('KILL', $client->{control});
			$client->{control} = $heir;
		}
		elsif ($fault eq 'hole')
		{
			$proxy->set('hole');
			my $until = now_tick($world, $database) + rand 3000;
			poll_until(sub { now_tick($world, $database) > $until });
			$proxy->set();
		}
		elsif ($fault eq 'crash')
		{
			$primary->stop('immediate');
			start_again($primary);
		}
		elsif ($fault eq 'failover')
		{
			my $name = 'heir' . ++$world->{count};
			my $standby = standby_of($primary, $name);
			$standby->stop('immediate');
			$standby->append_conf('postgresql.conf', "primary_conninfo = ''");
			$standby->start;
			# Some calls that the standby does not know
			my $until = now_tick($world, $database) + rand 1500;
			poll_until(sub { now_tick($world, $database) > $until });
			$primary->stop('immediate');
			$standby->promote;
			$proxy->point_to($standby);
			$world->{primary} = $primary = $standby;
		}
		else
		{
			$proxy->set($fault, 'guest_', 1 + int(rand 3));
			$proxy->await("^$fault ", 1) or last;
			$proxy->set();
		}
		$done{$fault}++;
		$count++;
		go_on(pick(@guests)) or last;
		$ids = 0;
		$ids += ((-s) - 19) / 14 foreach grep { -e } @files;
	}
	ends('KILL', @guests, map { $_->{control} } @clients);
	note(join(', ', map { "$_ $done{$_}" } sort keys %done), sprintf '; %d ids', $ids);
	cmp_ok($count, '>=', $enough->{faults}, "$count faults");
	my $said = '';
	IPC::Run::run([ $dupcheck, grep { (-s // 0) >= 19 } @files ], '<', \undef, '>&', \$said);
	like($said, qr/^ids \d+ duplicates 0 disorders 0\n/, 'no id comes twice, and those of a process increase');
	note($said);
	# Each client in a registry of its own
	foreach my $client ($done{stop} ? @clients : ())
	{
		my @control = map { $_->{file} } grep { $_->{client} == $client->{unfenced} } @unfenced;
		next if @control < 2;
		IPC::Run::run([ $dupcheck, grep { (-s // 0) >= 19 } @control ], '<', \undef, '>', \$said, '2>', \my $named);
		like($said, qr/duplicates [1-9]/, "... but of $client->{name} without the end of a grant they do");
		note($said);
	}
	return;
}

# A failover that loses commits; then the former primary is there again, as where nobody has ended it.  Each client is there twice, the second one without the rule of timelines.
sub fail_over
{
	my ($world, @clients) = @_;
	my $primary = $world->{primary};
	my $database = registry($world, 8);
	my $standby = standby_of($primary, 'standby');
	my $where = place($database, 'app', $primary->port, $standby->port);

	my @without = map {
		my ($rule) = grep { $_->[1] eq 'left_behind' } @{ $WITHOUT{ $_->{language} } };
		$rule ? $world->client(@$_{qw(language driver)}, @$rule[ 2, 3 ]) : ()
	} @clients;
	my @guests = map { begin($_, $where) } @clients;
	my @others = map { begin($_, $where) } @without;
	is((grep { !go_on($_) } @guests, @others), 0, 'guests of all clients draw ids');
	$primary->wait_for_catchup($standby);
	$standby->stop;
	my $lost = "SELECT count(*) FROM uidgen_registry.worker_node WHERE modified > '" . $primary->safe_psql('postgres', 'SELECT clock_timestamp()') . "'";
	$standby->append_conf('postgresql.conf', "primary_conninfo = ''");
	$standby->start;
	ok(poll_until(sub { $primary->safe_psql($database, $lost) >= @guests + @others }), 'they renew, which the standby does not know');
	$primary->stop('immediate');
	$standby->promote;
	is((grep { !go_on($_) } @guests, @others), 0, 'after a failover that has lost that they go on');
	my @new = map { begin($_, $where) } @clients;
	is((grep { !go_on($_) } @new), 0, '... and new ones begin');
	is(twice(map { [$_] } @guests, @others, @new), '', '... and no id comes twice');

	$primary->start;
	foreach my $i (0 .. $#clients)
	{
		is(lead_astray($guests[$i], $standby, $database, place($database, 'app', $primary->port)), '', "$clients[$i]{name}: what the former primary says counts for nothing");
		isnt(lead_astray($others[$i], $standby, $database, place($database, 'app', $primary->port)), '', '... and without the rule of timelines it does') if $others[$i];
	}
	ends('KILL', @guests, @others, @new);
	return;
}

1;
