#!/usr/bin/perl
# tools/mutate/run.pl
#	  Do the tests notice when the code is wrong?  Changes one thing at a time in a
#	  copy of the sources, and runs tests until one fails.
#
#	perl tools/mutate/run.pl [OPTION]... [FILE]...
#
#	--sample N       so many mutants of each file, instead of all of it
#	--random N       so many of all files together, each mutant as likely as another
#	--seed N         which ones (1)
#	--match REGEX    only mutants whose "FILE:FUNCTION OLD => NEW" matches
#	--tests 'T...'   by these tests, instead of the file's own; see @tests below
#	--results FILE   what is known already, and where more is noted (mutate.results)
#	--again          only those that survived, once more, for instance by other --tests
#	--list           name the mutants, and run nothing
#
# Without a file, all of src and script.  Runs can be ended and gone on with: what
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
use List::Util qw(shuffle uniq);
use Mutants qw(mutants_of apply);
use POSIX qw(WNOHANG);
use Time::HiRes qw(sleep time);

# By which tests, the quick ones first: "unit:ticket" is test/unit/test_ticket.c, "fuzz:lease" is
# test/fuzz/fuzz_lease.c; "regress:"
# and "isolation" are PostgreSQL's own, on a server that is started anew; the others
# are programs of test/t.
my $takes = 'regress:generate';
my @ticket = ('unit:ticket', 'unit:ticket', $takes);
my @waits = map { "test/t/$_.pl" } qw(ids_waits registry_worker_ids copies_promotion keeper_faulty_link);
my @keeper = map { "test/t/$_.pl" } qw(keeper_wake_up life_restart keeper_faulty_link clock_recovery fleet_failover);
# The first pattern that a file matches.  All of these tests are the gate's; --tests names others.
my @tests = (
	[ qr{core/(?:ahead|units|ticket)\.}, @ticket, 'test/t/ids_order.pl' ],
	[ qr{core/segment\.}, 'unit:segment', 'unit:segment' ],
	[ qr{core/segment_supply}, 'unit:segment_supply', 'regress:segments' ],
	[ qr{core/(?:textform|uuidform)}, 'unit:forms', 'regress:forms' ],
	[ qr{core/reading}, 'unit:reading', 'regress:forms' ],
	[ qr{core/layout}, 'unit:layout', 'regress:layout,decode' ],
	[ qr{core/lease}, 'unit:lease', 'unit:attempt', $takes, 'test/t/clock_recovery.pl' ],
	[ qr{core/fleetclock}, 'unit:fleetclock', 'unit:node' ],
	[ qr{core/(?:node|attempt|publish|pause)}, 'unit:node', 'unit:attempt', 'fuzz:lease', 'test/t/random_fleets.pl' ],
	[ qr{core/horizon}, 'unit:horizon', 'unit:horizon', 'test/t/horizon_rules.pl', 'test/t/horizon_readers.pl' ],
	[ qr{core/}, 'unit:attempt', @ticket ],
	[ qr{horizon}, $takes, 'test/t/horizon_rules.pl', 'test/t/horizon_readers.pl' ],
	[ qr{segment|functions/values}, 'regress:segments,numbers', 'test/t/fleet_script.pl', 'test/t/segments_failover.pl', 'test/t/segments_used_up.pl' ],
	[ qr{memory/(?:demand|counts)|ids/(?:waiting|generator)|functions/(?:next|statistics)}, 'regress:errors,generate', 'test/t/ids_order.pl', 'test/t/ids_unique.pl', 'test/t/operator_statistics.pl', @waits ],
	[ qr{ids/cache}, 'regress:errors,generate', 'test/t/ids_order.pl' ],
	[ qr{ids/(?:backfill|after)|functions/backfill}, 'regress:errors,generate', 'test/t/backfill_kills.pl' ],
	[ qr{ids/layout_used|keeper/pinning|memory/guc}, 'regress:errors,layout', 'test/t/operator_bad_settings.pl', 'test/t/operator_layout_change.pl' ],
	[ qr{ids/attach|memory/}, 'regress:install,errors,generate', 'test/t/operator_status.pl', 'test/t/copies_registry.pl', @keeper ],
	[ qr{keeper/}, $takes, @keeper, 'test/t/copies_promotion.pl', 'test/t/registry_worker_ids.pl', 'test/t/remote_answers.pl' ],
	[ qr{link/}, 'regress:install,generate', 'test/t/copies_registry.pl', @keeper ],
	[ qr{remote/}, 'test/t/remote_answers.pl', 'test/t/fleet_failover.pl' ],
	[ qr{functions/scramble|uidgen/55}, 'regress:scramble' ],
	[ qr{functions/(?:copy|stamp|confined|drop)|script/tools}, 'regress:copy,stamp,adopt,ranges,drop_partitions', 'test/t/changes_track.pl', 'test/t/operator_strange_names.pl' ],
	[ qr{functions/|src/|script/uidgen}, 'regress:install,catalog,layout,decode,explain,ranges,forms,errors,generate', 'test/t/operator_status.pl' ],
	[ qr{script/sql}, 'test/t/sql_edition.pl', 'test/t/sql_answers.pl' ],
	[ qr{script/}, 'regress:registry,fleet,guests,segments,writes', 'isolation', 'test/t/random_fleets.pl', 'test/t/registry_worker_ids.pl', 'test/t/registry_guards.pl', 'test/t/registry_layouts.pl' ]);

sub tests_of
{
	my ($file) = @_;
	my ($found) = grep { $file =~ $_->[0] } @tests;
	return @$found[ 1 .. $#$found ];
}

# What ./check would not compile either, as far as it shows in what the program does.
my @strict = map { "-Werror=$_" } qw(return-type uninitialized maybe-uninitialized implicit-fallthrough);

my ($random, $sample, $seed, $match, $only, $results, $again, $list) = (0, 0, 1, '', '', 'mutate.results');
GetOptions(
	'random=i' => \$random, 'sample=i' => \$sample, 'seed=i' => \$seed, 'match=s' => \$match, 'tests=s' => \$only,
	'results=s' => \$results, 'again' => \$again, 'list' => \$list)
  or exit 2;
my $root = abs_path("$FindBin::RealBin/../..");
my @files = @ARGV ? @ARGV : map { s{^\Q$root\E/}{}r } grep { !m{/update} } glob("$root/src/*.c $root/src/*/*.[ch] $root/script/*/*.sql");
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
	return run(3600, 'make', '-s', 'with_llvm=no', "PG_CONFIG=$pg_config", "PG_CFLAGS=@strict -DUSE_ASSERT_CHECKING", @goal);
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
	my $wrong = build("DESTDIR=$dir/inst", 'install');
	die "the sources as they are: $wrong\n", slurp("$dir/output") if $wrong ne '';
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
	return run(600, "$bindir/pg_ctl", '-D', "$dir/data", '-l', "$dir/regress/log", '-w', '-t', 600, 'start')
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
		my ($folder) = $file =~ m{^script/(\w+)/};
		my @scripts = map { "script/$_--$version.sql" } @{ { registry => [qw(uidgen_registry uidgen-registry uidgen-sql)], uidgen => ['uidgen'], tools => [qw(uidgen_tools uidgen-sql-tools)],
				sql => [qw(uidgen-sql uidgen-sql-tools uidgen-sql-uninstall)] }->{$folder} };
		return 0 if run(600, 'make', '-s', "PG_CONFIG=$pg_config", @scripts) ne '';
		check('cp', (map { "$dir/tree/$_" } @scripts), $scripts);
		# The edition is no extension.
		return 1 if $folder eq 'sql';
		start_server() and return 0 if !-e "$dir/data/postmaster.pid";
		# CREATE EXTENSION does not look into functions.
		return run(60, 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', 'template1', '-c', <<'END') eq '';
			BEGIN;
			CREATE EXTENSION IF NOT EXISTS uidgen;
			CREATE EXTENSION IF NOT EXISTS uidgen_registry;
			CREATE EXTENSION IF NOT EXISTS uidgen_tools;
			DO $do$
			DECLARE
				f oid;
			BEGIN
				FOR f IN SELECT oid FROM pg_proc WHERE pronamespace::regnamespace::text LIKE 'uidgen%' AND prokind = 'f' LOOP
					EXECUTE pg_get_functiondef(f);
				END LOOP;
			END
			$do$;
			ROLLBACK;
END
	}
	return 0 if build() ne '';
	# Anew: a server may have mapped the old ones.
	unlink map { "$library/$_.so" } qw(uidgen uidgen_libpq);
	check('cp', "$dir/tree/uidgen.so", "$dir/tree/uidgen_libpq.so", $library);
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
			return undef if run(3600, qw(gcc -std=c99 -O1 -Isrc -DUIDGEN_STANDALONE -pthread), @$flags, @strict, '-o', "$dir/tree/unit", @sources) ne '';
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
	my $wrong = run(600, "$dir/reaper", $^X, $test);
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

my ($last_file, %intact) = ('');

# One mutant: what is known of it then.  Its file is $file, with the text $source.
sub try_mutant
{
	my ($file, $source, $mutant) = @_;
	my @tests = $only ? split ' ', $only : tests_of($file);
	my $name = "$file:$mutant->{line} $mutant->{function}: " . $mutant->{change} =~ s/\t/ => /r;

	set_up();
	as_it_was() if $last_file ne $file;
	$last_file = $file;
	if (!$intact{"@tests"}++)
	{
		my $wrong = verdict_of($file, 'none', @tests);
		die "the sources as they are: ", $wrong ? "@$wrong\n" . slurp("$dir/output") : "do not compile\n" . slurp("$dir/output") if !$wrong || @$wrong;
	}
	my $start = time;
	spew("$dir/tree/$file", apply($source, $mutant));
	my $wrong = verdict_of($file, "$mutant->{from} $mutant->{text}", @tests);
	die "$name: neither compiled nor refused\n", slurp("$dir/output") if !$wrong && slurp("$dir/output") !~ /\berror:/i;
	my $known = !$wrong ? ['uncompiled'] : @$wrong ? [ 'killed', @$wrong ] : ['survived'];
	note($mutant, @$known);
	printf "%-10s %s%s (%.0f s)\n", $known->[0], $name, $known->[1] ? ", by $known->[1]: $known->[2]" : '', time - $start;
	spew("$dir/tree/$file", $source);
	# So that make sees the next change also within the same second.
	unlink map { s/\.c$/.o/r } $file =~ /\.c$/ ? "$dir/tree/$file" : glob "$dir/tree/src/*/*.c";
	return $known;
}

# Installs the last file's sources as they are, before the next file's mutants.
sub as_it_was
{
	return if $installed eq '';
	install($last_file) or die "$last_file does not compile any more\n";
	$installed = '';
}

my %sources;
sub mutants_in
{
	my ($file) = @_;
	$sources{$file} //= slurp("$root/$file") || die "could not read $root/$file\n";
	return grep { "$_->{file}:$_->{function} $_->{change}" =~ s/\t/ => /r =~ /(?:$match)/ } mutants_of($file, $sources{$file});
}

# Takes mutants in their order until $limit of them have counted; 0: all.
sub take
{
	my ($limit, @mutants) = @_;
	my $done = 0;
	foreach my $mutant (@mutants)
	{
		last if $limit > 0 && $done == $limit;
		my $file = $mutant->{file};
		my $count = $counts{$file} //= { map { $_ => 0 } qw(killed equivalent open uncompiled) };
		my $name = "$file:$mutant->{line} $mutant->{function}: " . $mutant->{change} =~ s/\t/ => /r;
		if ($list)
		{
			print "$name\n";
			$done++;
			next;
		}
		if (is_equivalent($mutant))
		{
			$count->{equivalent}++;
			# It cannot matter, so another is drawn in its place.
			$done++ unless $random;
			next;
		}
		my $known = $verdict{ key($mutant) . "\t$mutant->{number}" };
		next if $again && (!$known || $known->[0] ne 'survived');
		print "survived   $name\n" if $known && !$again && $known->[0] eq 'survived';
		$known = try_mutant($file, $sources{$file}, $mutant) if !$known || $again;
		$count->{ $known->[0] eq 'survived' ? 'open' : $known->[0] }++;
		$done++ unless $known->[0] eq 'uncompiled';
	}
	as_it_was() if $dir;
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
srand($seed);
if ($random)
{
	take($random, shuffle(map { mutants_in($_) } @files));
}
else
{
	take($sample, $sample > 0 ? shuffle(mutants_in($_)) : mutants_in($_)) foreach @files;
}
exit if $list;
printf "%-24s %8s %8s %11s %8s %16s\n", '', qw(mutants killed equivalent open), 'not compiled';
foreach my $file (@files)
{
	my $count = $counts{$file} or next;
	printf "%-24s %8d %8d %11d %8d %16d\n", $file, $count->{killed} + $count->{equivalent} + $count->{open},
	  @{$count}{qw(killed equivalent open uncompiled)};
}
