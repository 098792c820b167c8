# When the server's transaction ids are used up, and it refuses whatever would
# write, ids go on to the end of what was granted, then the error says why, and
# after VACUUM they go on.  pg_regress cannot bring a server to that.
#
# Two billion transactions are not run but skipped, with pg_resetwal.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use UidgenTest;

# A grant lasts long enough to use transaction ids up in it, also on a slow machine; most of the rest passes by a false clock.
# Nothing is vacuumed too early: when ids run out, the server vacuums even with autovacuum = off, but not before
# autovacuum_naptime is over.
my $node = uidgen_node('main', "uidgen.window = '1min'", 'uidgen.padding_factor = 10', "uidgen.wait_timeout = '5s'",
	'autovacuum = on', 'autovacuum_naptime = 2147483', 'log_statement = none');
my $clock = FakeClock->new($node);
$clock->under(sub { $node->start });
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
my @seen = ([ $node->safe_psql('postgres', 'SELECT uid_next()') ]);

# ---- the last transaction ids ----

my $oldest = $node->safe_psql('postgres', 'SELECT min(datfrozenxid::text::bigint) FROM pg_database');
$node->stop;
# The server stops three million before the oldest comes round.
my $next = $oldest + 2**31 - 1 - 3_000_000 - 30;
command_ok([ 'pg_resetwal', '-x', $next, $node->data_dir ], 'transaction ids are skipped');
# A page of the commit log has 8192 * 4 of them, a file 32 pages.
my $file = sprintf('%s/pg_xact/%04X', $node->data_dir, $next / (8192 * 4 * 32));
append_to_file($file, "\0" x (8192 * 32));
$clock->under(sub { $node->start });

push @seen, [ $node->safe_psql('postgres', 'SELECT uid_next()') ];
# In one session: one for each would take seconds of the grant on a slow machine.
my ($spent, $error);
$node->psql('postgres', "SELECT txid_current();\n" x 100, stdout => \$spent, stderr => \$error, on_error_stop => 1);
my $used = () = $spent =~ /^\d+$/mg;
like($error, qr/wraparound/, "after $used more, the server assigns no transaction ids");

# ---- what is left ----

my $drawing = start_drawing($node);
ok(await_drawing($drawing, 1000), 'ids go on');
$clock->pass(55);
ok(poll_until(sub { -s "$drawing->{file}.err" }), 'to the end of the grant');
push @seen, stop_drawing($drawing);
is($node->safe_psql('postgres', 'SELECT granted_until < clock_timestamp() + interval \'1 s\' FROM uidgen.status'), 't',
	'all of it');
comes_to_fail($node, "SET uidgen.wait_timeout = '500ms'; SELECT uid_next()", '55000', qr/uidgen has no grant to issue ids from: .*wraparound.*HINT:.*vacuum/is,
	'then the error says why') foreach 1 .. 2;
my @lines = log_since($node, 0) =~ /(uidgen has no new grant)/g;
is(scalar(@lines), 1, 'the log says so once');
note $node->safe_psql('postgres', 'SELECT last_error FROM uidgen.status');

# ---- VACUUM ----

$node->safe_psql('postgres', 'ALTER SYSTEM SET autovacuum_naptime = 1');
$node->reload;
ok($node->poll_query_until('postgres', "SELECT max(age(datfrozenxid)) < 1000000000 FROM pg_database"), 'the databases are vacuumed');
push @seen, [ split /\n/, $node->safe_psql('postgres', 'SELECT uid_next() FROM generate_series(1, 1000)') ];
is(scalar(@{ $seen[-1] }), 1000, 'ids go on');
is(repeated(@seen), 0, 'none is issued twice');
$node->stop;

done_testing();
