#!/usr/bin/perl
# tools/mutate/run.pl
#	  Do the tests notice when the code is wrong?  Changes one thing at a time in a
#	  copy of the sources, and runs tests until one fails.
#
#	perl tools/mutate/run.pl [OPTION]... [FILE]...
#	perl tools/mutate/run.pl --heads [PROGRAM]...
#
#	--random N       so many mutants, drawn from all of these files at once
#	--seed N         which ones (1)
#	--match REGEX    only mutants whose "FILE:FUNCTION OLD => NEW" matches
#	--tests 'T...'   by these tests, instead of the file's own; see @tests below
#	--results FILE   what is known already, and where more is noted (mutate.results)
#	--again          only those that survived, once more, for instance by other --tests
#	--list           name the mutants, and run nothing
#	--heads          does each program kill the mutant that its head names, by the line
#	                 "# Kills: FILE FUNCTION: OLD => NEW"?
#
# Without a file, all of src/ and script/.  Runs can be ended and gone on with: what the
# results have is not run again.  Several runs may share the results.
#
# Which mutants there are: see Mutants.pm.  A test kills one if it fails, does not end or
# loses its server, and passes on the sources as they are.  One that does not compile, or
# that CREATE EXTENSION refuses, does not count; a draw takes the next one for it.  The
# file "equivalent" beside this one has those that change nothing that a test could see,
# with the reason: they are not run, and a draw leaves them out.
#
# A slow machine is no reason to fail: tests have a limit of CPU time, and one for silence.
#
# As root, all runs as the server's user.  Takes seconds to minutes for each mutant,
# so no part of ./check.  Core Perl, and what the tests need.
use strict;
use warnings;

use Cwd qw(abs_path);
use Fcntl qw(:flock);
use File::Basename qw(basename dirname);
use FindBin;
use lib $FindBin::RealBin;
use Getopt::Long;
use List::Util qw(shuffle uniq);
use Mutants qw(mutants_of apply describe killed_by named_mutant);
use POSIX qw(WNOHANG);
use Time::HiRes qw(sleep time);

# By which tests, the quick ones first, for the first pattern that a file matches: "unit:ticket" is
# test/unit/test_ticket.c, "fuzz:lease" is test/fuzz/fuzz_lease.c; "regress:" and "isolation" are PostgreSQL's own, on
# a server that is started anew; the others are programs of test/t, here of the gate.
my $takes = 'regress:generate';
my $functions = 'regress:catalog,layout,decode,explain,ranges,stamp,forms,scramble,errors,generate,copy,writes';
my $keeps = "$takes life_restart registry_worker_ids keeper_wake_up keeper_faulty_link operator_status clock_recovery copies_promotion";
my @tests = (
	[ qr{^src/core/(?:ahead|units|ticket|clock|atomics)\.} => "unit:ticket $takes ids_unique ids_order" ],
	[ qr{^src/core/(segment|segment_supply|reading|layout)\.} => 'unit:$1 regress:numbers,layout' ],
	[ qr{^src/core/(?:textform|uuidform)\.} => 'unit:forms regress:forms' ],
	[ qr{^src/core/(lease|node|fleetclock)\.} => "unit:\$1 unit:node unit:attempt $takes" ],
	[ qr{^src/core/horizon\.} => 'unit:horizon horizon_rules horizon_readers' ],
	[ qr{^src/core/} => "unit:attempt fuzz:lease $takes" ],
	[ qr{/horizon} => "$takes horizon_rules horizon_readers" ],
	[ qr{/segment} => 'regress:numbers,segments segments_used_up segments_failover fleet_script' ],
	[ qr{^src/(?:remote|link/link_remote|keeper/(?:fleet_registry|answer))} => 'remote_answers fleet_failover fleet_script keeper_faulty_link' ],
	[ qr{^src/keeper/(?:grants|keeping|pinning|succession)} => "$keeps fleet_failover segments_failover fleet_script" ],
	[ qr{^src/(?:keeper|link)/} => "$keeps fleet_failover" ],
	[ qr{/layout_used|^src/memory/(?:catalog|guc|secrets|identity)} => "$functions operator_bad_settings operator_layout_change operator_status" ],
	[ qr{backfill\.c} => 'regress:writes backfill_kills' ],
	[ qr{^src/memory/counts|/statistics} => "$takes operator_statistics operator_status" ],
	[ qr{^src/memory/} => "$keeps ids_waits operator_statistics life_disk_full" ],
	[ qr{^src/ids/} => "regress:errors,generate,numbers ids_order ids_unique ids_waits $keeps" ],
	[ qr{^src/functions/(?:drop|confined)} => 'regress:drop_partitions,adopt,copy' ],
	[ qr{^script/registry/} => 'regress:registry,fleet,segments,guests,writes isolation registry_guards registry_layouts registry_worker_ids copies_registry fleet_script' ],
	[ qr{^script/tools/} => 'regress:ranges,drop_partitions,adopt,stamp,catalog changes_track' ],
	[ qr{^script/sql/} => 'sql_edition sql_answers' ],
	[ qr{} => "$functions operator_status" ]);

# What ./check does not compile is no mutant.
my @strict = qw(-Wall -Wextra -Werror);

my ($random, $seed, $match, $only, $results, $again, $list, $heads) = (0, 1, '', '', 'mutate.results');
GetOptions(
	'random=i' => \$random, 'seed=i' => \$seed, 'match=s' => \$match, 'tests=s' => \$only,
	'results=s' => \$results, 'again' => \$again, 'list' => \$list, 'heads' => \$heads)
  or exit 2;
my $root = abs_path("$FindBin::RealBin/../..");
my @files = @ARGV && !$heads ? @ARGV : sort map { s{^\Q$root\E/}{}r } glob("$root/src/*.[ch] $root/src/*/*.[ch] $root/script/*/*.sql");
my ($dir, @as);

$| = 1;
delete @ENV{ grep { /^PG[A-Z]+$/ } keys %ENV };
setpriority(0, 0, 10);

sub slurp
{
	my ($file) = @_;
	open(my $fh, '<', $file) or return '';
	local $/;
	return scalar(<$fh>) // '';
}

sub spew
{
	my ($file, $text) = @_;
	open(my $fh, '>', $file) or die "could not write $file: $!\n";
	print $fh $text;
	close $fh or die "could not write $file: $!\n";
}

sub tests_of
{
	my ($file) = @_;
	return split ' ', $only if $only;
	foreach (@tests)
	{
		my ($pattern, $names) = @$_;
		next if $file !~ $pattern;
		my $name = $1;
		return split ' ', $names =~ s/\$1/$name/gr;
	}
}

# ---- What is known ----

my %verdict;	# by mutant: [verdict, by which test]
my %equivalent;

sub key
{
	my ($mutant) = @_;
	return join "\t", @{$mutant}{qw(file function change)};
}

# Those for which all this is the same are told apart by their number.
sub is_equivalent
{
	my ($mutant) = @_;
	my $number = $mutant->{number} > 1 ? "#$mutant->{number}" : '';
	return $equivalent{ join "\t", $mutant->{file}, $mutant->{function} . $number, $mutant->{change} };
}

sub read_known
{
	foreach (split /\n/, slurp($results))
	{
		my ($file, undef, $function, $old, $new, $number, @known) = split /\t/;
		$verdict{ join "\t", $file, $function, $old, $new, $number } = \@known;
	}
	foreach (grep { /^[^#]/ } split /\n/, slurp("$FindBin::RealBin/equivalent"))
	{
		my ($file, $function, $old, $new, $reason) = split /\t/;
		die "in tools/mutate/equivalent, not file, function, old, new, reason: $_\n" unless $reason;
		$equivalent{ join "\t", $file, $function, $old, $new } = $reason;
	}
}

sub note
{
	my ($mutant, @known) = @_;
	$verdict{ key($mutant) . "\t$mutant->{number}" } = \@known;
	open(my $fh, '>>', $results) or die "could not write $results: $!\n";
	flock($fh, LOCK_EX);
	print $fh join("\t", @{$mutant}{qw(file line function change number)}, @known), "\n";
	close $fh;
}

# ---- Running a command ----

# Of a test: seconds of silence, and a command that limits the CPU time of each of its processes.
my @LIMITS = (600, 'sh', '-c', 'ulimit -t 200; exec "$@"', 'sh');
my $running = 0;

# Ends a command and all that it started; what it leaves behind is ended by
# stop_servers().
sub end_running
{
	return unless $running;
	kill 'TERM', -$running;
	for (my $end = time + 10; time < $end; sleep(0.1))
	{
		last if waitpid($running, WNOHANG) != 0;
	}
	kill 'KILL', -$running;
	waitpid($running, 0);
	$running = 0;
}

# Run a command as the server's user, in the copy of the tree, until it ends, says
# "not ok", or is silent for too long.  Returns what was wrong, or ''.
sub run
{
	my ($silence, @command) = @_;
	my $log = "$dir/output";
	my ($size, $since) = (0, time);

	unlink $log;
	$running = fork() // die "fork: $!";
	if ($running == 0)
	{
		setpgrp;
		chdir "$dir/tree" and open(STDIN, '<', '/dev/null') and open(STDOUT, '>', $log)
		  and open(STDERR, '>&', \*STDOUT) and exec { $as[0] // $command[0] } @as, @command;
		POSIX::_exit(127);
	}
	for (;; sleep(0.03))
	{
		my $status = waitpid($running, WNOHANG) == $running ? $? : undef;
		$running = 0 if defined $status;
		if ((-s $log || 0) != $size)
		{
			($size, $since) = (-s $log, time);
			if (slurp($log) =~ /^not ok(?! .*# TODO)[ \d-]*(.*)/m)
			{
				my $name = $1;
				end_running();
				return $name || 'a test without a name';
			}
		}
		return $status == 0 ? '' : last_words($log, $status) if defined $status;
		next if time - $since < $silence;
		end_running();
		return 'does not end';
	}
}

sub last_words
{
	my ($log, $status) = @_;
	my $text = slurp($log);
	return $1 if $text =~ /^test (\S+) +\.\.\. FAILED/m || $text =~ /^not ok \d+ +[-+] (\S+)/m;
	return "assertion $1" if $text =~ /Assertion `?(.*?)'? failed/;
	return $status & 127 ? 'signal ' . ($status & 127) : $text =~ /(\S.*)\n*\z/ ? "exit status, $1" : 'exit status';
}

sub check
{
	my (@command) = @_;
	my $wrong = run(600, @command);
	die "@command: $wrong\n", slurp("$dir/output") if $wrong ne '';
}

# ---- The copy of the tree, and of the server ----

my ($pg_config, $bindir, $pgxs, $library, $scripts);

sub shell
{
	my ($script) = @_;
	my $out = `srcdir='$root'; set -eu; . "\$srcdir/test/lib.sh"; $script`;
	die "could not set up\n" if $? != 0;
	chomp $out;
	return $out;
}

sub own
{
	system('chown', '-R', $as[2], $dir) == 0 or die "chown failed\n" if @as;
}

sub set_up
{
	return if $dir;
	$dir = shell('dir=$(work_dir); copy_tree "$dir/tree"; echo "$dir"');
	@as = ('runuser', '-u', shell('server_user'), '--') if $> == 0;
	own();
}

# An hour without a word is no fault of the sources.
sub make
{
	my $wrong = run(3600, 'make', '-s', "PG_CONFIG=$pg_config", @_);
	die "make took too long: @_\n" if $wrong eq 'does not end';
	return $wrong;
}

# Builds the extension with assertions, as ./check does.
sub build
{
	my (@goal) = @_;
	return make('with_llvm=no', "PG_CFLAGS=-DUSE_ASSERT_CHECKING", "COPT=-Werror", @goal);
}

sub installed_files
{
	return ("$dir/inst" . `$pg_config --pkglibdir` =~ s/\n//r, "$dir/inst" . `$pg_config --sharedir` =~ s/\n//r . '/extension');
}

# Once: builds, and installs into the copy of the server.
sub set_up_server
{
	return if $bindir;
	$pg_config = shell('find_server || die "no PostgreSQL server with PGXS found"; command -v "$PG_CONFIG"');
	shell("PG_CONFIG='$pg_config'; copy_server '$dir/inst'; gcc -o '$dir/reaper' '$root/test/tools/reaper.c'");
	own();
	($library, $scripts) = installed_files();
	$bindir = "$dir/inst" . `$pg_config --bindir` =~ s/\n//r;
	$pgxs = dirname(dirname(dirname(`$pg_config --pgxs`)));
	die "the sources as they are do not compile\n", slurp("$dir/output") if build("DESTDIR=$dir/inst", 'install') ne '';
	%ENV = (
		%ENV,
		CHECK_DIR => $dir, HOME => $dir, TMPDIR => "$dir/tmp", PATH => "$bindir:$ENV{PATH}",
		PG_REGRESS => "$pgxs/src/test/regress/pg_regress", PERL5LIB => "$pgxs/src/test/perl",
		TESTDIR => $dir, TESTDATADIR => "$dir/tmp_check", TESTLOGDIR => "$dir/tmp_check/log",
		SERVER_HEADERS => `$pg_config --includedir-server` =~ s/\n//r,
		CLIENT_HEADERS => `$pg_config --includedir` =~ s/\n//r,
		CLIENT_LIBRARIES => `$pg_config --libdir` =~ s/\n//r,
		# A mutant that lets a test wait for something need not wait for so long.
		PG_TEST_TIMEOUT_DEFAULT => 300,
		# of cost_consumption.pl
		UIDGEN_BATCH => 10_000_000,
		# Those of pg_regress
		PGHOST => "$dir/tmp", PGPORT => 54321);
	check('mkdir', "$dir/tmp");
	check("$bindir/initdb", '-N', '-A', 'trust', '--no-locale', '-E', 'UTF8', '-D', "$dir/template");
	open(my $conf, '>>', "$dir/template/postgresql.conf") or die "postgresql.conf: $!";
	print $conf slurp("$root/test/tempcheck.conf"),
	  "fsync = off\nlisten_addresses = ''\nunix_socket_directories = '$dir/tmp'\nport = 54321\nstatement_timeout = 300s\n";
	close $conf;
}

sub stop_servers
{
	return unless $bindir;
	foreach my $pid_file (grep { -e } split /\n/, `find '$dir' -name postmaster.pid 2>/dev/null`)
	{
		run(600, "$bindir/pg_ctl", '-D', dirname($pid_file), '-m', 'immediate', '-s', 'stop');
	}
}

# A new server of our own, with the registry; returns what was wrong, or ''.
sub start_server
{
	stop_servers();
	system('rm', '-rf', "$dir/data", "$dir/regress");
	check('cp', '-a', "$dir/template", "$dir/data");
	check('mkdir', "$dir/regress");
	# Not below the reaper, which would end the server with pg_ctl.
	return run(@LIMITS, "$bindir/pg_ctl", '-D', "$dir/data", '-l', "$dir/regress/log", '-w', '-t', 600, 'start')
	  || run(600, 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', 'postgres', '-c', 'CREATE EXTENSION uidgen');
}

# Builds all anew and puts it where the tests find it; false if the file does not compile.
sub install
{
	my ($file) = @_;
	return 0 if build() ne '';
	my @scripts = map { s{^\Q$dir/tree/\E}{}r } glob "$dir/tree/script/*--*.sql";
	# Anew: a server may have mapped the old ones.
	unlink map { "$library/$_" } qw(uidgen.so uidgen_libpq.so);
	check('cp', qw(uidgen.so uidgen_libpq.so), $library);
	check('cp', @scripts, $scripts);
	return 1 if $file !~ /\.sql$/;
	# CREATE EXTENSION does not look into functions; those of the edition in SQL lie in no extension.
	return 0 if start_server() ne '';
	my $wrong = run(@LIMITS, 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', 'template1', '-c', <<'END');
		BEGIN;
		CREATE EXTENSION uidgen;
		CREATE EXTENSION uidgen_registry;
		CREATE EXTENSION uidgen_tools;
		DO $do$
		DECLARE
			f oid;
		BEGIN
			FOR f IN SELECT oid FROM pg_proc WHERE pronamespace::regnamespace::text LIKE 'uidgen%' AND prokind IN ('f', 'p') AND prolang <> 13 LOOP
				EXECUTE pg_get_functiondef(f);
			END LOOP;
		END
		$do$;
		ROLLBACK;
END
	if ($wrong eq '' && $file =~ m{^script/(?:sql|tools)/|33_layouts})
	{
		my ($edition) = grep { /uidgen-sql--/ } @scripts;
		$wrong = run(@LIMITS, 'createdb', 'edition') || run(@LIMITS, qw(psql -Xq -d edition -f), $edition, '-c', 'SELECT uidgen.set_up(worker_id => 1)');
	}
	return $wrong eq '';
}

# ---- Tests ----

my $installed = '';		# which mutant is

# The sources that a unit test is linked with, where that is not the one of its name.
# test_horizon.c, test_segment.c and test_ticket.c have ticket.c and segment.c in them.
my @attempt = qw(attempt publish node lease fleetclock ticket);
my %linked = (forms => [qw(textform uuidform)], node => [qw(node lease fleetclock)], reading => [qw(reading textform uuidform)], attempt => \@attempt, horizon => [], segment => [], ticket => []);

# Runs one; returns what was wrong with it, '' if all is well, and undef if the mutant
# does not compile.
sub run_test
{
	my ($test, $file, $mutant) = @_;
	if ($test =~ /^unit:(\w+)$/)
	{
		my @sources = ("test/unit/test_$1.c", map { "src/core/$_.c" } @{ $linked{$1} // [$1] });
		# Then under sanitizers, as by `make unitcheck`, which takes longer; the many threads of
		# test_horizon.c, test_segment.c and test_ticket.c would take too long.
		my @ways = ([], $1 =~ /^(?:horizon|segment|ticket)$/ ? () : [ map { "-f$_" } qw(sanitize=address sanitize=undefined no-sanitize-recover=all) ]);
		foreach my $flags (@ways)
		{
			return undef if run(3600, qw(gcc -std=c99 -O1 -Isrc -DUIDGEN_STANDALONE -pthread), @$flags, @strict, '-o', "$dir/tree/unit", @sources) ne '';
			my $wrong = run(@LIMITS, './unit');
			return $wrong if $wrong ne '';
		}
		return '';
	}
	if ($test =~ /^fuzz:(\w+)$/)
	{
		unlink "$dir/tree/test/fuzz/fuzz_$1";
		# As the Makefile builds it.  On the inputs that are kept, and on new ones for some seconds.
		return undef if make("test/fuzz/fuzz_$1") ne '';
		return run(600, 'sh', '-c', "ulimit -t 200; cp -r test/fuzz/corpus/$1 '$dir/corpus' && test/fuzz/fuzz_$1 -runs=60000 -seed=1 -timeout=20 -max_len=400 '$dir/corpus'; status=\$?; rm -rf '$dir/corpus'; exit \$status");
	}
	if ($installed ne $mutant)
	{
		$installed = '';
		return undef if !install($file);
		$installed = $mutant;
	}
	if ($test =~ /^(regress|isolation)(?::(.*))?$/)
	{
		my ($kind, $names) = ($1, $2);
		my $wrong = start_server();
		return $wrong if $wrong ne '';
		my @common = ("--bindir=$bindir", "--outputdir=$dir/regress", "--host=$dir/tmp", '--port=54321');
		return run(600, "$pgxs/src/test/regress/pg_regress", @common, '--dbname=contrib_regression', "--inputdir=$dir/tree", uniq('install', split(/,/, $names)))
		  if $kind eq 'regress';
		return run(600, "$pgxs/src/test/isolation/pg_isolation_regress", @common, '--load-extension=uidgen', '--dbname=isolation_regression',
			"--inputdir=$dir/tree/test/isolation", map { m{(\w+)\.spec$} } glob "$dir/tree/test/isolation/specs/*.spec");
	}
	stop_servers();
	local %ENV = %ENV;
	delete @ENV{qw(PGHOST PGPORT)};
	system('rm', '-rf', "$dir/tmp_check");
	my $wrong = run(@LIMITS, "$dir/reaper", $^X, -e "$dir/tree/$test" ? $test : "test/t/$test.pl");
	stop_servers();
	return $wrong;
}

# The first test that fails, and what it says; [] if none does; undef if it does not
# compile.  What a test says of a mutant counts if it passes on the sources as they are.
my %passes;

sub verdict_of
{
	my ($mutant, $source, @tests) = @_;
	my $file = $mutant->{file};
	# The first build is of the sources as they are.
	set_up_server() if grep { !/^unit:/ } @tests;
	foreach my $test (@tests)
	{
		change($file, apply($source, $mutant));
		my $wrong = run_test($test, $file, "$file $mutant->{from} $mutant->{text}");
		my $said = slurp("$dir/output");
		change($file, $source);
		next if defined $wrong && $wrong eq '';
		# The refusal of a script tells nothing of a test.
		if (!$passes{$test})
		{
			my $intact = run_test($test, $file, 'none');
			die "the sources as they are, $test: ", $intact // 'do not compile', "\n", slurp("$dir/output") if ($intact // 'no') ne '';
			$passes{$test} = 1;
		}
		return undef if !defined $wrong;
		return [ $test, $wrong =~ s/\s+/ /gr ];
	}
	return [];
}

sub change
{
	my ($file, $text) = @_;
	return if slurp("$dir/tree/$file") eq $text;
	spew("$dir/tree/$file", $text);
	# So that make sees the next change also within the same second.
	unlink $file =~ /\.sql$/ ? glob("$dir/tree/script/*--*.sql") : $file =~ /\.c$/ ? "$dir/tree/$file" =~ s/\.c$/.o/r : glob("$dir/tree/src/*.o $dir/tree/src/*/*.o");
}

# ---- The run ----

my %counts;

# A mutant's verdict, known or found now.
sub run_mutant
{
	my ($mutant) = @_;
	my $file = $mutant->{file};
	my $name = describe($mutant) =~ s/^\S+/$&:$mutant->{line}/r;
	my $known = $verdict{ key($mutant) . "\t$mutant->{number}" };
	my $start = time;
	return '' if $again && (!$known || $known->[0] ne 'survived');
	if ($known && !$again)
	{
		print "survived   $name\n" if $known->[0] eq 'survived';
		return $known->[0];
	}
	set_up();
	my $wrong = verdict_of($mutant, slurp("$root/$file"), tests_of($file));
	$known = !$wrong ? ['uncompiled'] : @$wrong ? [ 'killed', @$wrong ] : ['survived'];
	note($mutant, @$known);
	printf "%-10s %s%s (%.0f s)\n", $known->[0], $name, $known->[1] ? ", by $known->[1]: $known->[2]" : '', time - $start;
	return $known->[0];
}

# Those that the heads of programs name.
sub run_heads
{
	my @programs = @ARGV ? @ARGV : map { s{^\Q$root\E/}{}r } glob "$root/test/t/*.pl";
	my $survived = 0;
	($results, $again) = ('/dev/null', 0);
	%verdict = ();
	foreach my $program (@programs)
	{
		foreach my $text (killed_by(slurp("$root/$program")))
		{
			my ($file) = $text =~ /^(\S+?):? /;
			my $mutant = named_mutant($text, slurp("$root/$file"));
			die "$program: no such mutant: $text\n" if !$mutant;
			$only = $program;
			$survived++ if run_mutant($mutant) ne 'killed';
		}
	}
	exit($survived > 0);
}

END
{
	my $status = $?;
	if ($dir)
	{
		end_running();
		stop_servers();
		system('rm', '-rf', $dir);
	}
	$? = $status;
}
$SIG{$_} = sub { exit 130 } foreach qw(HUP INT TERM);

read_known();
run_heads() if $heads;
my @mutants = grep { "$_->{file}:$_->{function} $_->{change}" =~ s/\t/ => /r =~ /(?:$match)/ } map { mutants_of($_, slurp("$root/$_")) } @files;
if ($random > 0)
{
	srand($seed);
	@mutants = shuffle(grep { !is_equivalent($_) } @mutants);
}
my $done = 0;
foreach my $mutant (@mutants)
{
	last if $random > 0 && $done == $random;
	if ($list)
	{
		print describe($mutant) =~ s/^\S+/$&:$mutant->{line}/r, "\n";
		$done++;
		next;
	}
	my $verdict = is_equivalent($mutant) ? 'equivalent' : run_mutant($mutant) or next;
	$counts{ $mutant->{file} }{$verdict}++;
	$counts{all}{$verdict}++;
	$done++ unless $verdict eq 'uncompiled';
}
exit if $list;
printf "%-24s %8s %8s %11s %8s %16s\n", '', qw(mutants killed equivalent open), 'not compiled';
foreach my $file (grep({ $counts{$_} } @files), 'all')
{
	my ($killed, $equivalent, $open, $uncompiled) = map { $counts{$file}{$_} // 0 } qw(killed equivalent survived uncompiled);
	printf "%-24s %8d %8d %11d %8d %16d\n", $file, $killed + $equivalent + $open, $killed, $equivalent, $open, $uncompiled;
}
