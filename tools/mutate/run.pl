#!/usr/bin/perl
# tools/mutate/run.pl
#	  Do the tests notice when the code is wrong?  Changes one thing at a time in a
#	  copy of the sources, and runs tests until one fails.
#
#	perl tools/mutate/run.pl [OPTION]... [FILE]...
#
#	--sample N       so many mutants of each file, instead of all of it
#	--seed N         which ones (1)
#	--match REGEX    only mutants whose "FILE:FUNCTION OLD => NEW" matches
#	--tests 'T...'   by these tests, instead of the file's own; see %tests below
#	--results FILE   what is known already, and where more is noted (mutate.results)
#	--again          only those that survived, once more, for instance by other --tests
#	--list           name the mutants, and run nothing
#
# Without a file, all of those in %tests.  Runs can be ended and gone on with: what
# the results have is not run again.  Several runs, each with files of its own, may
# share the results.
#
# Which mutants there are: see Mutants.pm.  One is killed if a test fails, does not
# end or loses its server.  One that does not compile, or that CREATE EXTENSION
# refuses, does not count.  The file "equivalent" beside this one has those that
# change nothing that a test could see, with the reason: they are not run.  First of
# all, the tests have to pass on the sources as they are.
#
# As root, all runs as the server's user.  Takes seconds to minutes for each mutant,
# so no part of ./check.  Core Perl, and what the tests need.
use strict;
use warnings;

use Cwd qw(abs_path);
use Fcntl qw(:flock);
use File::Basename qw(dirname);
use FindBin;
use lib $FindBin::RealBin;
use Getopt::Long;
use List::Util qw(shuffle);
use Mutants qw(mutants_of apply);
use POSIX qw(WNOHANG);
use Time::HiRes qw(sleep time);

# By which tests, the quick ones first: "unit:ticket" is test/unit/test_ticket.c, "fuzz:lease" is
# test/fuzz/fuzz_lease.c; "regress:"
# and "isolation" are PostgreSQL's own, on a server that is started anew; the others
# are programs of test/t.
my $takes = 'regress:generate';
my @parts = map { "script/registry/$_.sql" } qw(10_registry 20_local 30_fleet 32_fleet_calls 34_fleet_owner 36_node_role 40_segments 42_segment_calls);
my %tests = (
	'src/core/ahead.h' => "unit:ticket unit:ticket $takes test/t/cache_promises.pl test/t/ids_true_time.pl",
	'src/core/units.h' => "unit:ticket unit:ticket $takes test/t/cache_promises.pl test/t/ids_true_time.pl",
	'src/core/ticket.h' => "unit:ticket unit:ticket $takes test/t/cache_promises.pl test/t/ids_true_time.pl",
	'src/core/ticket.c' => "unit:ticket unit:ticket $takes test/t/cache_promises.pl test/t/ids_true_time.pl",
	'src/core/segment.h' => 'unit:segment unit:segment',
	'src/core/segment.c' => 'unit:segment unit:segment',
	'src/core/segment_supply.c' => 'unit:segment_supply',
	'src/core/textform.c' => 'unit:forms regress:forms',
	'src/core/uuidform.c' => 'unit:forms regress:forms',
	'src/core/reading.c' => 'unit:reading',
	'src/core/lease.c' => "unit:lease unit:attempt $takes test/t/ids_true_time.pl test/t/clock_steps.pl",
	'src/core/fleetclock.c' => 'unit:fleetclock unit:node',
	'src/core/node.c' => 'unit:node unit:attempt test/t/random_fleets.pl',
	'src/core/attempt.c' => 'unit:attempt fuzz:lease test/t/random_fleets.pl',
	'src/core/pause.h' => 'unit:attempt',
	'src/core/publish.c' => 'unit:attempt fuzz:lease test/t/random_fleets.pl',
	'src/memory/demand.c' => "$takes test/t/keeper_faulty_link.pl test/t/operator_status.pl test/t/keeper_trouble.pl test/t/keeper_wake_up.pl test/t/ids_outage.pl test/t/ids_waits.pl",
	'src/core/horizon.h' => 'unit:horizon unit:horizon test/t/horizon_rules.pl test/t/horizon_readers.pl',
	'src/memory/horizon_holders.c' => 'test/t/horizon_rules.pl test/t/horizon_readers.pl',
	'src/ids/horizon_hold.c' => 'test/t/horizon_rules.pl test/t/horizon_readers.pl',
	'src/ids/horizon.c' => 'test/t/horizon_snapshots.pl test/t/horizon_rules.pl test/t/fleet_clocks.pl',
	'src/ids/layout_used.c' => 'test/t/operator_layout_used.pl',
	'src/ids/waiting.c' => 'regress:errors,numbers test/t/ids_outage.pl test/t/ids_waits.pl test/t/registry_worker_ids.pl test/t/life_single_user.pl test/t/copies_promotion.pl test/t/keeper_faulty_link.pl',
	'src/ids/cache.c' => "$takes test/t/cache_promises.pl test/t/cache_errors.pl",
	'src/ids/generator.c' => "regress:errors,generate test/t/cache_promises.pl test/t/ids_true_time.pl"
	  . ' test/t/ids_outage.pl test/t/ids_waits.pl test/t/clock_steps.pl test/t/registry_worker_ids.pl test/t/life_single_user.pl'
	  . ' test/t/copies_promotion.pl test/t/ids_bursts.pl test/t/cost_consumption.pl test/t/keeper_faulty_link.pl',
	'src/keeper/keeper.c' => "$takes test/t/keeper_trouble.pl test/t/life_restart.pl test/t/ids_true_time.pl"
	  . ' test/t/clock_grants.pl test/t/clock_steps.pl test/t/keeper_faulty_link.pl test/t/registry_databases.pl'
	  . ' test/t/cost_consumption.pl',
	'src/ids/segment_numbers.c' => 'regress:numbers',
	'src/memory/segment_slots.c' => 'regress:numbers',
	'src/keeper/segment_fetch.c' => 'regress:numbers test/t/fleet_script.pl',
	'src/functions/scramble.c' => 'regress:scramble',
	'src/keeper/grants.c' => "$takes test/t/clock_steps.pl test/t/fleet_answers.pl test/t/fleet_moves.pl test/t/fleet_clocks.pl test/t/fleet_locks.pl test/t/fleet_failover.pl",
	'src/keeper/keeping.c' => "$takes test/t/fleet_answers.pl test/t/fleet_moves.pl test/t/fleet_clocks.pl test/t/segments_servers.pl test/t/registry_worker_ids.pl test/t/fleet_two_registries.pl test/t/clock_grants.pl test/t/clock_steps.pl",
	'src/keeper/fleet_registry.c' => 'test/t/remote_answers.pl test/t/fleet_answers.pl test/t/fleet_moves.pl test/t/fleet_clocks.pl',
	'src/keeper/local_registry.c' => "$takes test/t/keeper_faulty_link.pl test/t/registry_worker_ids.pl test/t/clock_recovery.pl",
	'src/link/link_local.c' => "$takes test/t/operator_status.pl test/t/keeper_hostile_database.pl test/t/keeper_trouble.pl test/t/upgrade_uidgen.pl",
	map({ $_ => 'regress:registry,fleet,segments isolation test/t/life_restart.pl test/t/registry_worker_ids.pl' } @parts));
my @order = (qw(src/core/textform.c src/core/uuidform.c src/core/reading.c src/core/units.h src/core/ahead.h src/core/ticket.h src/core/ticket.c src/core/segment.h src/core/segment.c src/core/segment_supply.c src/core/lease.c src/core/fleetclock.c src/core/node.c src/core/pause.h src/core/publish.c src/core/attempt.c), @parts, qw(src/ids/cache.c src/keeper/local_registry.c src/link/link_local.c src/keeper/keeper.c src/keeper/fleet_registry.c src/keeper/keeping.c src/keeper/grants.c src/keeper/segment_fetch.c src/memory/demand.c src/memory/segment_slots.c src/ids/segment_numbers.c src/ids/waiting.c src/core/horizon.h src/memory/horizon_holders.c src/ids/horizon_hold.c src/ids/horizon.c src/ids/layout_used.c src/ids/generator.c src/functions/scramble.c));

# What ./check would not compile either, as far as it shows in what the program does.
my @strict = map { "-Werror=$_" } qw(return-type uninitialized maybe-uninitialized implicit-fallthrough);

my ($sample, $seed, $match, $only, $results, $again, $list) = (0, 1, '', '', 'mutate.results');
GetOptions(
	'sample=i' => \$sample, 'seed=i' => \$seed, 'match=s' => \$match, 'tests=s' => \$only,
	'results=s' => \$results, 'again' => \$again, 'list' => \$list)
  or exit 2;
my @files = @ARGV ? @ARGV : @order;
foreach (@files)
{
	die "no tests are known for $_; name them by --tests\n" unless $only || $tests{$_};
}
my $root = abs_path("$FindBin::RealBin/../..");
my ($dir, @as, %have);

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

# Builds the extension with assertions, as ./check does.
sub build
{
	my (@goal) = @_;
	return run(300, 'make', '-s', 'with_llvm=no', "PG_CONFIG=$pg_config", "PG_CFLAGS=@strict -DUSE_ASSERT_CHECKING", @goal);
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
		PG_TEST_TIMEOUT_DEFAULT => 60,
		# of cost_consumption.pl
		UIDGEN_BATCH => 10_000_000,
		# Those of pg_regress
		PGHOST => "$dir/tmp", PGPORT => 54321);
	check('mkdir', "$dir/tmp");
	check("$bindir/initdb", '-N', '-A', 'trust', '--no-locale', '-E', 'UTF8', '-D', "$dir/template");
	open(my $conf, '>>', "$dir/template/postgresql.conf") or die "postgresql.conf: $!";
	print $conf slurp("$root/test/tempcheck.conf"),
	  "fsync = off\nlisten_addresses = ''\nunix_socket_directories = '$dir/tmp'\nport = 54321\nstatement_timeout = 60s\n";
	close $conf;
}

sub stop_servers
{
	return unless $bindir;
	foreach my $pid_file (grep { -e } split /\n/, `find '$dir' -name postmaster.pid 2>/dev/null`)
	{
		run(60, "$bindir/pg_ctl", '-D', dirname($pid_file), '-m', 'immediate', '-s', 'stop');
	}
}

# A new server of our own, with the registry; returns what was wrong, or ''.
sub start_server
{
	stop_servers();
	system('rm', '-rf', "$dir/data", "$dir/regress");
	check('cp', '-a', "$dir/template", "$dir/data");
	check('mkdir', "$dir/regress");
	return run(90, "$dir/reaper", "$bindir/pg_ctl", '-D', "$dir/data", '-l', "$dir/regress/log", '-w', '-t', 60, 'start')
	  || run(60, 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', 'postgres', '-c', 'CREATE EXTENSION uidgen');
}

# Puts a file, as changed, where the tests find it; false if it does not compile.
sub install
{
	my ($file) = @_;
	set_up_server();
	if ($file =~ /\.sql$/)
	{
		my ($version) = slurp("$dir/tree/uidgen.control") =~ /^default_version = '(.*)'/m;
		return 0 if run(60, 'make', '-s', "PG_CONFIG=$pg_config", "script/uidgen_registry--$version.sql") ne '';
		check('cp', "$dir/tree/script/uidgen_registry--$version.sql", $scripts);
		start_server() and return 0 if !-e "$dir/data/postmaster.pid";
		# CREATE EXTENSION does not look into functions.
		return run(60, 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', 'template1', '-c', <<'END') eq '';
			BEGIN;
			CREATE EXTENSION uidgen_registry;
			DO $do$
			DECLARE
				f oid;
			BEGIN
				FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = 'uidgen_registry'::regnamespace AND prokind = 'f' LOOP
					EXECUTE pg_get_functiondef(f);
				END LOOP;
			END
			$do$;
			ROLLBACK;
END
	}
	return 0 if build() ne '';
	# Anew: a server may have mapped the old one.
	unlink "$library/uidgen.so";
	check('cp', "$dir/tree/uidgen.so", "$library/uidgen.so");
	return 1;
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
			return undef if run(300, qw(gcc -std=c99 -O1 -Isrc -DUIDGEN_STANDALONE -pthread), @$flags, @strict, '-o', "$dir/tree/unit", @sources) ne '';
			# In seconds of the processor's, since a machine may be slow.
			my $wrong = run(300, 'sh', '-c', 'ulimit -t 60; exec ./unit');
			return $wrong if $wrong ne '';
		}
		return '';
	}
	if ($test =~ /^fuzz:(\w+)$/)
	{
		set_up_server();
		unlink "$dir/tree/test/fuzz/fuzz_$1";
		# As the Makefile builds it.  On the inputs that are kept, and on new ones for some seconds.
		return undef if run(300, 'make', '-s', "PG_CONFIG=$pg_config", "test/fuzz/fuzz_$1") ne '';
		return run(300, 'sh', '-c', "cp -r test/fuzz/corpus/$1 '$dir/corpus' && test/fuzz/fuzz_$1 -runs=60000 -seed=1 -timeout=20 -max_len=400 '$dir/corpus'; status=\$?; rm -rf '$dir/corpus'; exit \$status");
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
		# A script goes into databases that are made now: the server may stay.
		my $wrong = $file =~ /\.sql$/ && -e "$dir/data/postmaster.pid" ? '' : start_server();
		return $wrong if $wrong ne '';
		my @common = ("--bindir=$bindir", "--outputdir=$dir/regress", '--load-extension=uidgen', "--host=$dir/tmp", '--port=54321');
		return run(100, "$pgxs/src/test/regress/pg_regress", @common, '--dbname=contrib_regression', "--inputdir=$dir/tree", split(/,/, $names))
		  if $kind eq 'regress';
		return run(100, "$pgxs/src/test/isolation/pg_isolation_regress", @common, '--dbname=isolation_regression',
			"--inputdir=$dir/tree/test/isolation", map { m{(\w+)\.spec$} } glob "$dir/tree/test/isolation/specs/*.spec");
	}
	stop_servers();
	local %ENV = %ENV;
	delete @ENV{qw(PGHOST PGPORT)};
	system('rm', '-rf', "$dir/tmp_check");
	my $wrong = run(150, "$dir/reaper", $^X, $test);
	stop_servers();
	return $wrong;
}

# The first test that fails, and what it says; [] if none does; undef if it does not
# compile.
sub verdict_of
{
	my ($file, $mutant, @tests) = @_;
	foreach my $test (@tests)
	{
		my $wrong = run_test($test, $file, $mutant);
		return undef if !defined $wrong;
		return [ $test, $wrong =~ s/\s+/ /gr ] if $wrong ne '';
	}
	return [];
}

# ---- The run ----

my %counts;

sub run_file
{
	my ($file) = @_;
	my $source = slurp("$root/$file") or die "could not read $root/$file\n";
	my @tests = split ' ', $only || $tests{$file};
	my @mutants = grep { "$_->{file}:$_->{function} $_->{change}" =~ s/\t/ => /r =~ /(?:$match)/ } mutants_of($file, $source);
	my ($done, $intact) = (0, 0);
	my %count = map { $_ => 0 } qw(killed equivalent open uncompiled);

	if ($sample > 0)
	{
		srand($seed);
		@mutants = shuffle(@mutants);
	}
	foreach my $mutant (@mutants)
	{
		last if $sample > 0 && $done == $sample;
		my $change = $mutant->{change} =~ s/\t/ => /r;
		my $name = "$file:$mutant->{line} $mutant->{function}: $change";
		if ($list)
		{
			print "$name\n";
			$done++;
			next;
		}
		if (is_equivalent($mutant))
		{
			$count{equivalent}++;
			$done++;
			next;
		}
		my $known = $verdict{ key($mutant) . "\t$mutant->{number}" };
		next if $again && (!$known || $known->[0] ne 'survived');
		if (!$known || $again)
		{
			set_up();
			if (!$intact)
			{
				my $wrong = verdict_of($file, 'none', @tests);
				die "the sources as they are: ", $wrong ? "@$wrong\n" . slurp("$dir/output") : "do not compile\n" . slurp("$dir/output") if !$wrong || @$wrong;
				$intact = 1;
			}
			my $start = time;
			spew("$dir/tree/$file", apply($source, $mutant));
			my $wrong = verdict_of($file, "$mutant->{from} $mutant->{text}", @tests);
			die "$name: neither compiled nor refused\n", slurp("$dir/output") if !$wrong && slurp("$dir/output") !~ /\berror:/i;
			$known = !$wrong ? ['uncompiled'] : @$wrong ? [ 'killed', @$wrong ] : ['survived'];
			note($mutant, @$known);
			printf "%-10s %s%s (%.0f s)\n", $known->[0], $name, $known->[1] ? ", by $known->[1]: $known->[2]" : '', time - $start;
			spew("$dir/tree/$file", $source);
			# So that make sees the next change also within the same second.
			unlink map { s/\.c$/.o/r } $file =~ /\.c$/ ? "$dir/tree/$file" : glob "$dir/tree/src/*/*.c";
		}
		else
		{
			print "survived   $name\n" if $known->[0] eq 'survived';
		}
		$count{ $known->[0] eq 'survived' ? 'open' : $known->[0] }++;
		$done++ unless $known->[0] eq 'uncompiled';
	}
	$counts{$file} = \%count;
	# As it was, for the next file.
	if ($installed ne '')
	{
		install($file) or die "$file does not compile any more\n";
		$installed = '';
	}
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
run_file($_) foreach @files;
exit if $list;
printf "%-24s %8s %8s %11s %8s %16s\n", '', qw(mutants killed equivalent open), 'not compiled';
foreach my $file (@files)
{
	my $count = $counts{$file};
	printf "%-24s %8d %8d %11d %8d %16d\n", $file, $count->{killed} + $count->{equivalent} + $count->{open},
	  @{$count}{qw(killed equivalent open uncompiled)};
}
