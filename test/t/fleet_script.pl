# A shared registry on a server without the extension: the script that is made of its
# parts works, for a role that is no superuser, and its functions do what those of the
# extension do.  pg_regress has a server with the extension.
# Promise: P6, S1, S3
# Kills: script/registry/34_fleet_owner.sql: nullif(current_setting('uidgen.layout', true), '') => nullif(current_setting('uidgen.layout'), '')

use FindBin;
use lib "$FindBin::RealBin/../perl";
use UidgenTest;

my ($sharedir) = run_command([ 'pg_config', '--sharedir' ]);
# Not those that update one.
my ($script) = grep { !/--.*--/ } glob "$sharedir/extension/uidgen-registry--*.sql";

my $node = PostgreSQL::Test::Cluster->new('plain');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', 'max_prepared_transactions = 1');
$node->start;
# It sees what standbys have replayed, for segments_confirmed.
$node->safe_psql('postgres', 'CREATE ROLE regress_uidgen_owner LOGIN CREATEROLE; GRANT pg_monitor TO regress_uidgen_owner');
$node->safe_psql('postgres', 'CREATE DATABASE fleet OWNER regress_uidgen_owner');
my $owner = $node->connstr('fleet') . ' user=regress_uidgen_owner';

# Returns what psql prints as pg_regress runs it.
sub output_of
{
	my ($file, @options) = @_;
	my $output = '';
	IPC::Run::run([ $node->installed_command('psql'), '-X', @options, '-d', $owner ], '<', $file, '>&', \$output)
	  or diag($output);
	return $output;
}

is(output_of($script, '-q', '-v', 'ON_ERROR_STOP=1'), '', 'the script runs in a plain database, for a role that is no superuser');
is($node->safe_psql('fleet', q{
		SELECT count(*) FROM pg_proc WHERE pronamespace = 'uidgen_registry'::regnamespace AND prolang = (SELECT oid FROM pg_language WHERE lanname = 'c')}),
	'0', 'it needs no library');
is(output_of("sql/$_.sql", '-a', '-q'), slurp_file("expected/$_.out"), "$_: its functions do what those of the extension do")
  foreach qw(fleet guests segments);

# The layout, by its name or as text.
fails_with($node, 'SELECT uidgen_registry.share_registry()', '22023', qr/the layout is missing.*HINT: .*share_registry\('default'\)/s, 'without the library there is no layout by default', 'fleet');
fails_with($node, "SELECT uidgen_registry.share_registry('js53 worker:4x')", '22023', qr/invalid layout.*DETAIL: .*"worker:4x" at position 6: nothing may follow/s, '... and a wrong one is told as everywhere', 'fleet');
$node->safe_psql('postgres', 'CREATE DATABASE js53 OWNER regress_uidgen_owner');
$node->safe_psql('js53', slurp_file($script) . "; SELECT uidgen_registry.share_registry('JS53 worker:4')", connstr => $node->connstr('js53') . ' user=regress_uidgen_owner');
is($node->safe_psql('js53', 'SELECT layout, unit, epoch, max_tick, max_datacenter, max_worker FROM uidgen_registry.registry'),
	'time:31:1s worker:4 sequence:14 epoch:2025-01-01|1000000|1735689600000000|2147483647|0|15', 'the registry knows the numbers of a layout that is named');

# With the clock and the history of a server.
sub acquire
{
	my ($holder, $token, $known) = @_;
	$known //= '';
	return qq{SELECT worker, registry_id, timeline FROM uidgen_registry.lease('$holder', 'time:41:1ms worker:10 sequence:12 epoch:2025-01-01', $token, '{$known}', window_ticks => 10000)};
}
$node->safe_psql('fleet', "SELECT uidgen_registry.share_registry('default', new_fleet => true)",
	connstr => $owner);
$node->safe_psql('fleet', 'REVOKE pg_monitor FROM regress_uidgen_owner');
fails_with($node, 'SELECT uidgen_registry.change_registry(segments_confirmed => true)', '42501', qr/cannot see what the standbys of the registry have replayed.*HINT: .*GRANT pg_monitor TO/s,
	'who does not see standbys cannot have them confirm', 'fleet');
$node->safe_psql('fleet', "CREATE ROLE regress_uidgen_node LOGIN; SELECT uidgen_registry.grant_node('regress_uidgen_node')");
my $connstr = $node->connstr('fleet') . ' user=regress_uidgen_node';
my $first = $node->safe_psql('fleet', acquire('a', 1), connstr => $connstr);
like($first, qr/^\d+\|-?\d+\|1$/, 'a node gets a worker id');
is($node->safe_psql('fleet', 'SELECT state FROM uidgen_registry.fleet'), 'running', 'which is seen');
is($node->safe_psql('fleet', 'SET ROLE pg_monitor; SELECT count(*) FROM uidgen_registry.fleet'), '1', 'by pg_monitor too');
is($node->safe_psql('fleet', 'SET ROLE pg_monitor; SELECT running, quarantine_until FROM uidgen_registry.status'), '1|', '... which sees how the registry is');

is((sqlstate_of($node, acquire('b', 2), 'fleet'))[0], '', 'another gets one at once');

# For a database elsewhere, which has the library.
my $past = $node->safe_psql('fleet', 'SELECT max(w) FROM generate_series(997, 999) AS w WHERE w NOT IN (SELECT worker_id FROM uidgen_registry.worker_node)');
fails_with($node, 'SELECT uidgen_registry.reserve_backfill(NULL)', '22023', qr/does not name a database: null/, 'a reservation has to say for which database', 'fleet');
like($node->safe_psql('fleet', "SELECT uidgen_registry.reserve_backfill('7577777777777777777/1/123/456/0123456789abcdef/0123456789abcdef/5/16384', $past)", connstr => $owner), qr{^0/$past/-\d+/0\@7577777777777777777/}, '... and its owner may reserve');
fails_with($node, "SET ROLE regress_uidgen_node; SELECT uidgen_registry.reserve_backfill('7577777777777777777/1/123/456/0123456789abcdef/0123456789abcdef/5/16384')", '42501', qr/permission denied/, '... but no node', 'fleet');
fails_with($node, "BEGIN; SELECT $_; SELECT uidgen_registry.forget_worker($past)", '25001', qr/cannot be called in a transaction block/, "... nor anybody in a block that is seen by $_", 'fleet')
  foreach 'pg_current_xact_id()', 'pg_sleep(1.1)';
fails_with($node, "SELECT uidgen_registry.forget_worker($past)", '55006', qr/worker id $past of datacenter 0 is reserved for ids of past times/, '... for good', 'fleet');
$node->safe_psql('fleet', by_hand("DELETE FROM uidgen_registry.worker_node WHERE worker_id = $past"));

# The locks are held as long as this transaction is prepared.
$node->safe_psql('fleet', q{BEGIN; SELECT FROM uidgen_registry.registry FOR UPDATE; SELECT FROM uidgen_registry.worker_node WHERE token = 2 FOR UPDATE;
	PREPARE TRANSACTION 'stuck'});
is((sqlstate_of($node, acquire('b', 3, 2), 'fleet'))[0], '', 'who finds the own row locked does not wait: there are other worker ids');
is((sqlstate_of($node, acquire('c', 4), 'fleet'))[0], '', 'another one does not wait');
is($node->safe_psql('fleet', "SELECT last_tick > 0 FROM uidgen_registry.worker_node AS n, uidgen_registry.lease_renew(0, worker_id, 1, granted_until, 1, 0, 10000, 9223372036854775807, 9223372036854775807) WHERE token = 1"),
	't', 'nor does a renewal');
$node->safe_psql('fleet', q{ROLLBACK PREPARED 'stuck'});

# Segments, which have locks of their own.
sub fetch
{
	my ($name, @known) = @_;
	my ($incarnation, $version, $highest) = (@known, 0, 0, -1);
	return "SELECT first_value, last_value FROM uidgen_registry.segment_fetch('$name', 10, $incarnation, $version, '{}', $highest, 9223372036854775807)";
}
$node->safe_psql('fleet', "SELECT uidgen_registry.create_segment(n, step => 10) FROM unnest('{s,t,u}'::text[]) AS n", connstr => $owner);
# One statement may be for several rows, and is no block.
my $change = 'SELECT uidgen_registry.change_segment(name, step => 10) FROM uidgen_registry.segment';
is((sqlstate_of($node, $change, 'fleet'))[0], '', 'all segments are changed by one statement');
fails_with($node, "BEGIN; $change; $change", '25001', qr/change_segment\(\) cannot be called in a transaction block/, '... but not by two in a block', 'fleet');
is($node->safe_psql('fleet', fetch('s'), connstr => $connstr), '1|10', 'a node gets a range of a segment');
$node->safe_psql('fleet', q{BEGIN; SELECT FROM uidgen_registry.registry FOR UPDATE; SELECT FROM uidgen_registry.segment WHERE name = 's' FOR UPDATE; PREPARE TRANSACTION 'stuck'});
fails_with($node, fetch('s'), '55P03', qr/lock timeout/, 'a fetch does not wait for ever', 'fleet');
fails_with($node, "SELECT uidgen_registry.segment_release('s', 1, 1, 9223372036854775807)", '55P03', qr/lock timeout/, 'nor does a release', 'fleet');
is($node->safe_psql('fleet', fetch('t')), '1|10', 'and no other segment waits for it');
$node->safe_psql('fleet', q{ROLLBACK PREPARED 'stuck'});

# Several sessions: no number is in two ranges, and none is left out.  On a busy machine a fetch may find
# the row locked for longer than it waits; it takes nothing then, and is repeated.
my $ranges = $node->basedir . '/ranges';
append_to_file("$ranges.sql", "\\set VERBOSITY sqlstate\nSET synchronous_commit = off;\n" . (fetch('u') . ";\n") x 200);
my @sessions = map { IPC::Run::start([ $node->installed_command('psql'), '-XAtq', '-d', $node->connstr('fleet'), '-f', "$ranges.sql" ],
		'<', \undef, '>', "$ranges.$_", '2>', "$ranges.$_.err") } 1 .. 4;
$_->finish foreach @sessions;
my @ranges = map { split /\n/, slurp_file("$ranges.$_") } 1 .. 4;
my @refused = map { split /\n/, slurp_file("$ranges.$_.err") } 1 .. 4;
is(join("\n", grep { !/: ERROR:  55P03$/ } @refused), '', 'a fetch among others fails by its wait for the lock alone');
push @ranges, map { $node->safe_psql('fleet', fetch('u')) } @refused;
@ranges = sort { $a <=> $b } @ranges;
is(join(' ', @ranges), join(' ', map { ($_ * 10 + 1) . '|' . ($_ * 10 + 10) } 0 .. 799), 'ranges of four sessions at a time follow each other without a gap');

$node->restart;
is($node->safe_psql('fleet', fetch('s')), '11|20', 'a restart leaves out no numbers of a segment');
is($node->safe_psql('fleet', acquire('c', 3) =~ s/worker, .* FROM/worker IS NULL FROM/r, connstr => $connstr), 't',
	'after a restart of the server the first call is told to ask again');
is($node->safe_psql('fleet', acquire('c', 3) =~ s/worker, .* FROM/worker IS NULL, first_tick = quarantine_until + 1, abs(clock - extract(epoch FROM now()) * 1000000) < 600000000 FROM/r,
	connstr => $connstr), 't|t|t', 'and then where it may begin, above the quarantine, and the time');
is($node->safe_psql('fleet', "SELECT last_tick > 0 FROM uidgen_registry.worker_node AS n, uidgen_registry.lease_renew(0, worker_id, 1, granted_until, 4, 0, 10000, 9223372036854775807, 9223372036854775807) WHERE token = 1"),
	't', 'which renewals need not wait for');

# A standby can say so only.
$node->backup('b');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'b', has_streaming => 1);
$standby->start;
my $text;
foreach my $call (acquire('d', 5), fetch('s'), "SELECT * FROM uidgen_registry.segment_release('s', 1, 1, 1)", 'SELECT * FROM uidgen_registry.lease_renew(0, 1, 1, 1, 1, 1, 1, 1, 1)', q(SELECT * FROM uidgen_registry.lease_release(0, 1, '{1}', 1)))
{
	$standby->psql('fleet', "\\set VERBOSITY sqlstate\n$call", stderr => \$text);
	like($text, qr/25006/, 'a standby refuses');
}
# This is lost: the standby does not get it.
my $known = $node->safe_psql('fleet', "SELECT incarnation, version FROM uidgen_registry.segment WHERE name = 's'");
$standby->stop;
my $lost = $node->safe_psql('fleet', fetch('s'));
$node->stop('immediate');
$standby->append_conf('postgresql.conf', "primary_conninfo = ''");
$standby->start;
$standby->promote;
is($lost, '21|30', 'a range is given out that the standby does not get');
is($standby->safe_psql('fleet', 'SELECT done FROM uidgen_registry.segment_release(' . "'s', " . (split /\|/, $known)[1] . ', 15, 9223372036854775807)'), 'f',
	'promoted, it takes back nothing of before');
is($standby->safe_psql('fleet', fetch('s')), '20021|20030', 'and begins above what was lost');
is($standby->safe_psql('fleet', fetch('s')), '20031|20040', 'once');
is($standby->safe_psql('fleet', fetch('t')), '20011|20020', 'with each segment');
is($standby->safe_psql('fleet', acquire('d', 5) =~ s/worker, .* FROM/worker IS NULL, timeline FROM/r), 't|2', 'promoted, it writes down its timeline');

# ---- names, in databases of several encodings ----

# u with two dots, and the sign of the euro
my ($uuml, $euro) = ("c3bc", "e282ac");
foreach my $encoding (qw(utf8 latin1 sql_ascii))
{
	$standby->safe_psql('postgres', "CREATE DATABASE in_$encoding TEMPLATE template0 ENCODING $encoding LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc");
	$standby->safe_psql("in_$encoding", slurp_file($script));
	# 63 bytes in UTF-8
	$standby->safe_psql("in_$encoding", "SELECT uidgen_registry.create_segment(convert_from('\\x" . $uuml x 31 . "61', 'UTF8'))");
	is($standby->safe_psql("in_$encoding", "SELECT first_value FROM uidgen_registry.segment_fetch('\\x" . $uuml x 31 . "61', 10, 0, 0, '{}', -1, 9223372036854775807)"), '1',
		"$encoding: a node finds a segment by its name in UTF-8");
	fails_with($standby, "SELECT uidgen_registry.create_segment(convert_from('\\x" . $uuml x 32 . "', 'UTF8'))", '42622', qr/64 bytes/, "$encoding: bytes in UTF-8 count",
		"in_$encoding");
	fails_with($standby, "SELECT uidgen_registry.segment_fetch('\\x$euro', 10, 0, 0, '{}', -1, 9223372036854775807)", 'P0002', qr/no such segment/,
		"$encoding: one that is not there, whether it could be or not", "in_$encoding");
	is($standby->safe_psql("in_$encoding", "SELECT done FROM uidgen_registry.segment_release('\\x$euro', 1, 1, 9223372036854775807)"), 'f', "$encoding: nor takes it back anything");
	fails_with($standby, "SELECT uidgen_registry.segment_fetch('\\xfc', 10, 0, 0, '{}', -1, 9223372036854775807)", '22021', qr/not in UTF-8/,
		"$encoding: a name in LATIN1 is refused", "in_$encoding");
}

done_testing();
