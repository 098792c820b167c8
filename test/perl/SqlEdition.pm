# SqlEdition.pm: the edition in SQL (script/sql) in databases whose owner has no other rights, sessions that draw
# from it, and what befalls them.
#
#	my $node = edition_node('plain');
#	$node->start;
#	landlords($node);
#	add_database($node, 'app');
#	put_in($node, 'app', 'worker_id=5');
#	nap_between_statements($node, 'app', 0.01, 0.05);
#	my $drawn = draw($node, databases => ['app'], ids => 10_000, cancel => 0.1, stop => 0.1);
#	is_deeply([ judge($drawn) ], [ 0, 0 ], 'no id twice, and each session\'s increase');
package SqlEdition;

use strict;
use warnings;
use Carp;
use Exporter 'import';
use IPC::Run;
use POSIX ':sys_wait_h';
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);
use IdFiles;
use UidgenTest;

our @EXPORT = qw(edition_node landlords edition_script as run_script set_up put_in add_database change_function nap_between_statements without_rule rules_of_ids says_the_same draw judge);

# What lets ids come twice if it is left out: by name, the functions of script/sql/50_ids.sql, what is there, and what is put in its place; expressions
# as the server shows them.
my %RULES = (
	'a look at jumps before the draw' => [ 'uidgen.draw(bigint)', '((jumps & (1)::bigint) = 0)', 'true' ],
	'a look at jumps after the draw' => [ 'uidgen.counts_at_clock(bigint, bigint)', '(uidgen.jumps_so_far() = jumps)', 'true' ],
	'a look at jumps after a draw ahead of the clock' => [ 'uidgen.counts_ahead(bigint, bigint)', '(uidgen.jumps_so_far() = jumps)', 'true' ],
	'closing' => [ 'uidgen.jump(integer, boolean)', q{PERFORM nextval('uidgen.jumps');}, '' ],
	'closing before a look at the position' => [
		'uidgen.jump(integer, boolean)',
		q{IF coalesce(pg_sequence_last_value('uidgen.jumps') & 1, 0) = 0 THEN} => q{first := pg_sequence_last_value('uidgen.position'); PERFORM uidgen.nap(); IF coalesce(pg_sequence_last_value('uidgen.jumps') & 1, 0) = 0 THEN},
		q{greatest(pg_sequence_last_value('uidgen.position') + 1,} => 'greatest(first + 1,' ],
	'one jump at a time' => [ 'uidgen.jump(integer, boolean)', 'LOCK TABLE uidgen.jumping IN SHARE UPDATE EXCLUSIVE MODE;', '' ],
	'never back' => [ 'uidgen.jump(integer, boolean)', q{greatest(pg_sequence_last_value('uidgen.position') + 1,}, 'greatest(0,' ]);

sub rules_of_ids
{
	return sort keys %RULES;
}

# A server, not yet started, on which nothing of the library is loaded; landlords() makes its roles.
sub edition_node
{
	my ($name, @settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(extra => [ '--locale=C', '--encoding=UTF8' ]);
	$node->append_conf('postgresql.conf', join '', map { "$_\n" } 'autovacuum = off', 'max_connections = 60', 'restart_after_crash = on', 'log_statement = none', @settings);
	return $node;
}

sub edition_script
{
	my ($node, $kind) = @_;
	my ($script) = glob $node->config_data('--sharedir') . "/extension/uidgen-$kind--*.sql";
	return $script // croak "there is no script uidgen-$kind";
}

# What psql prints as a role, errors included.
sub as
{
	my ($node, $role, $database, $sql, @options) = @_;
	my ($status, $out, $err) = $node->psql($database, $sql, extra_params => [ '-U', $role, '-v', 'VERBOSITY=verbose', @options ]);
	return join "\n", grep { $_ ne '' } $out, $err;
}

sub run_script
{
	my ($node, $database, $file) = @_;
	return as($node, 'landlord', $database, undef, '-f', $file);
}

# An owner of databases, and a role without any right.
sub landlords
{
	my ($node) = @_;
	$node->safe_psql('postgres', 'CREATE ROLE landlord LOGIN; CREATE ROLE tenant LOGIN');
	return;
}

sub add_database
{
	my ($node, $database) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $database OWNER landlord");
	return $database;
}

# What set_up() says of arguments such as worker_id=5.
sub set_up
{
	my ($node, $database, @arguments) = @_;
	return as($node, 'landlord', $database, 'SELECT uidgen.set_up(' . join(', ', map { s/=(.*)/ => '$1'/r } @arguments) . ')');
}

sub put_in
{
	my ($node, $database, @arguments) = @_;
	my $said = run_script($node, $database, edition_script($node, 'sql')) . set_up($node, $database, @arguments);
	croak $said if $said !~ /^worker id \d+, layout .*$/;
	return $database;
}

# Change a function by its text, which must have what is to be changed.
sub change_function
{
	my ($node, $database, $function, $change) = @_;
	my $text = $node->safe_psql($database, "SELECT pg_get_functiondef('$function'::regprocedure)");
	local $_ = $text;
	$change->();
	croak "$function has not what should be changed" if $_ eq $text;
	$node->safe_psql($database, $_);
	return;
}

# After each statement of the functions that draw, a share of the sessions sleeps for up to so many seconds.
sub nap_between_statements
{
	my ($node, $database, $share, $seconds) = @_;
	$node->safe_psql($database, qq{
		CREATE FUNCTION uidgen.nap() RETURNS void LANGUAGE plpgsql AS \$\$ BEGIN IF random() < $share THEN PERFORM pg_sleep(random() * random() * $seconds); END IF; END \$\$});
	foreach my $function ('uidgen.next_otherwise(bigint, bigint)', 'uidgen.next(timestamptz)', 'uidgen.jump(integer, boolean)', 'uidgen.hold_now()', 'uidgen.read_horizon()')
	{
		change_function($node, $database, $function, sub {
			my ($head, $body) = /^(.*?\nBEGIN\n)(.*)\z/s or croak "$function has no body";
			$body =~ s/(;|\bTHEN|\bLOOP)([ \t]*(?:--[^\n]*)?)$/$1 PERFORM uidgen.nap();$2/mg;
			$_ = $head . $body;
		});
	}
	return;
}

sub without_rule
{
	my ($node, $database, $rule) = @_;
	my ($function, @changes) = @{ $RULES{$rule} // croak "there is no rule $rule" };
	while (my ($from, $to) = splice @changes, 0, 2)
	{
		change_function($node, $database, $function, sub { s/\Q$from\E/$to/g });
	}
	return;
}

# What is not in the edition, or what it does otherwise: statements with these words are left out.
my @OTHERWISE = (
	'uid_next_after', 'uidgen\.status', 'current_setting\(.uidgen\.', 'uidgen\.layout_used', 'SELECT uid_stamp',	# they are not there
	'no_xid', 'READ ONLY', 'DEFERRABLE');	# ids are written

# Two tests: a file of pg_regress, as far as the edition has what is in it, gives the same in database postgres of $main, which has the extension, and in
# database app of $node.
sub says_the_same
{
	my ($main, $node, $name, $up_to, $role) = @_;
	my $superuser = $main->safe_psql('postgres', 'SELECT current_user');
	$node->safe_psql('postgres', 'GRANT SET ON PARAMETER compute_query_id TO landlord');
	my $text = slurp_file("$FindBin::RealBin/../../sql/$name.sql");
	$text =~ s/\Q$up_to\E.*//s || croak "$name has no $up_to" if defined $up_to;
	# Fewer ids: each parses its layout.
	$text =~ s/generate_series\(1, (?:100|200|300)\)/generate_series(1, 3)/g;
	$text =~ s/generate_series\(0, 6[23]\)/generate_series(0, 63, 9)/g;
	my ($kept, $statement) = ('', '');
	foreach (split /^/, $text)
	{
		$statement .= $_;
		next if !/;\s*$|\\gset|^\\|^--|^$/;
		$kept .= $statement if !grep { $statement =~ /$_/ } @OTHERWISE;
		$statement = '';
	}
	my %said = map {
		my ($server, $database, $role) = @$_;
		my $file = $server->basedir . "/$name.sql";
		append_to_file($file, $kept . $statement);
		my $out;
		IPC::Run::run([ $server->installed_command('psql'), '-Xaq', '-v', 'SHOW_CONTEXT=never', '-U', $role, '-d', $server->connstr($database), '-f', $file ], '>', \$out, '2>&1');
		# Nothing can depend on the edition, and its tools have a function that the library has.
		($server->name => $out =~ s/^psql:\S+ //mgr =~ s/^.* DEPENDS ON EXTENSION uidgen;\n//mgr =~ s/\buidgen_tools(?=\.write_deleted\()/uidgen/gr);
	} [ $main, 'postgres', $superuser ], [ $node, 'app', $role // $superuser ];
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	cmp_ok(scalar(() = $said{plain} =~ /\n/g), '>', $name eq 'vectors' ? 10 : 50, "$name: says something");
	return is($said{plain}, $said{main}, "$name: the edition says what the extension does");
}
# What sessions do, one statement a line, each of which shows ids and nothing else.
sub _program
{
	my ($batch, $transactions) = @_;
	my @lines;
	foreach (1 .. 20)
	{
		push @lines, 'SELECT pg_sleep(random() * random() * 0.02) \gset', "SELECT uid_next() FROM generate_series(1, 4);";
		push @lines, "SELECT uid_next_batch($batch);", 'SELECT generate_series(r, r + 1) FROM uid_reserve(2) AS r;', "SELECT uid_next() FROM generate_series(1, 20);";
		push @lines, 'BEGIN;', "SELECT uid_next();", 'SAVEPOINT s;', "SELECT uid_next();", 'ROLLBACK TO s;', "SELECT uid_next();", rand() < 0.5 ? 'COMMIT;' : 'ROLLBACK;' if $transactions;
	}
	return map { "$_\n" } @lines;
}

# Not by IPC::Run, which does not notice soon that one of many has ended.
sub _begin_session
{
	my ($node, $database, $program, $file) = @_;
	my @command = ($node->installed_command('psql'), '-XAtq', '-v', 'SHOW_CONTEXT=never', '-U', 'landlord', '-d', $node->connstr($database), '-f', $program);
	my $pid = fork // croak "could not fork: $!";
	if ($pid == 0)
	{
		open(STDIN, '<', '/dev/null') && open(STDOUT, '>', $file) && open(STDERR, '>', "$file.err") && exec @command;
		POSIX::_exit(127);
	}
	return { database => $database, file => $file, pid => $pid };
}

my $draws = 0;

# Sessions draw so many ids, and are not left in peace.  How often a second: cancel, stop, terminate, crash, step
# (of `clock`, by up to `forward` and `back` seconds).  `program` is what a session does, if not what is above.
sub draw
{
	my ($node, %o) = @_;
	%o = (sessions => 8, batch => 3, transactions => !$o{crash}, %o);
	my $folder = $node->basedir . '/drawn.' . ++$draws;
	mkdir $folder or croak "could not make $folder: $!";
	my $program = "$folder/program";
	append_to_file($program, $_) foreach $o{program} ? @{ $o{program} } : _program(@o{qw(batch transactions)});

	my $files = 0;
	my %did;
	my (@sessions, @done);
	my $begin = sub {
		my $database = $o{databases}[ ++$files % @{ $o{databases} } ];
		push @sessions, _begin_session($node, $database, $program, "$folder/$files");
	};
	$begin->() foreach 1 .. $o{sessions};

	my $end = time + $PostgreSQL::Test::Utils::timeout_default + $o{ids} / 1000;
	my ($bytes, $last, $looked) = (0, time, 0);
	my (%stopped, @backends);
	my $now = $last;
	# So often since the last look.
	my $comes = sub { my ($what) = @_; return $o{$what} && rand() < $o{$what} * ($now - $last) && ++$did{$what} };
	while (@sessions)
	{
		usleep(3000);
		($last, $now) = ($now, time);
		my $enough = $bytes >= 19 * $o{ids} || $now > $end;
		if (!$looked || $now > $looked + 0.1)
		{
			$looked = $now;
			$bytes = 0;
			$bytes += -s $_->{file} // 0 foreach @sessions, @done;
			@backends = grep { process_file($_, 'cmdline') =~ /^postgres: (?:\S+: )?landlord / } child_pids($node);
			foreach my $session (splice @sessions)
			{
				if (waitpid($session->{pid}, WNOHANG) == 0) { push @sessions, $session; next }
				push @done, $session;
				$begin->() if !$enough;
			}
		}
		kill 'CONT', grep { $stopped{$_} < $now } keys %stopped;
		delete @stopped{ grep { $stopped{$_} < $now } keys %stopped };
		next if $enough || !@backends;
		my $pid = $backends[ rand @backends ];
		kill 'INT', $pid if $comes->('cancel');
		if ($comes->('stop')) { kill 'STOP', $pid; $stopped{$pid} = $now + 0.001 + rand() * rand() * 0.1 }
		if ($comes->('terminate')) { kill 'TERM', $pid }
		if ($comes->('crash')) { kill 'CONT', keys %stopped; %stopped = (); kill 'KILL', $pid; $looked = 0 }
		if ($comes->('step')) { $o{clock}->step(rand() < 0.8 ? rand() * rand() * $o{forward} : -rand() * $o{back}) }
	}
	kill 'CONT', keys %stopped;
	croak "sessions did not draw $o{ids} ids" if time > $end;
	return {
		files => { map { my $database = $_; ($database => [ map { $_->{file} } grep { $_->{database} eq $database } @done ]) } @{ $o{databases} } },
		errors => join('', map { slurp_file("$_->{file}.err") } @done),
		did => join(', ', map { "$did{$_} x $_" } sort keys %did),
		folder => $folder };
}

# How many ids come twice, in all databases, and how many are not above the one before in their session.  The first element of what
# is returned; the second; how many there are; and by database the smallest and the largest one.
sub judge
{
	my ($drawn) = @_;
	my ($ids, $twice, $disorders, $details) = look_into_files(map { @$_ } values %{ $drawn->{files} });
	note $details if $details;
	my %range;
	foreach my $database (keys %{ $drawn->{files} })
	{
		my @looked = look_into_files(@{ $drawn->{files}{$database} });
		$range{$database} = [ @looked[ 4, 5 ] ];
	}
	return ($twice, $disorders, $ids, \%range);
}

1;
