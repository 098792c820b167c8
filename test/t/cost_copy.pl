# Proves what COPY FROM with DEFAULT uid_next() costs the server: as much WAL as with a
# constant default, where a volatile default costs twice as much; and that it sends rows
# to a foreign table in batches.  What COPY does and leaves alone is in sql/copy.sql.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use UidgenTest;

my $rows = 100_000;

# Nothing else may write WAL: the grant lasts.
my $node = uidgen_node('load', 'autovacuum = off', 'checkpoint_timeout = 1h', 'max_wal_size = 10GB', 'uidgen.window = 1h',
	'uidgen.max_burst = 1h');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
my $file = $node->basedir . '/rows';
$node->safe_psql('postgres', "COPY (SELECT md5(i::text) FROM generate_series(1, $rows) AS i) TO '$file'; SELECT uid_next()");

# ---- WAL ----

# Bytes of WAL that a COPY wrote with this default.
sub wal_of
{
	my ($default) = @_;
	return $node->safe_psql('postgres', qq{
		CREATE TABLE loaded (id bigint NOT NULL DEFAULT $default, body text);
		CHECKPOINT;
		SELECT pg_current_wal_insert_lsn() AS before \\gset
		COPY loaded (body) FROM '$file';
		SELECT pg_current_wal_insert_lsn() - :'before';
		DROP TABLE loaded});
}

my %wal = map { $_ => wal_of($_) } '4711', 'uid_next()', '(random() * 4711)::bigint';
my %ratio = map { $_ => $wal{$_} / $wal{4711} } keys %wal;
note("bytes of WAL a row: $_: " . $wal{$_} / $rows) foreach sort keys %wal;
cmp_ok($ratio{'uid_next()'}, '<', 1.02, 'as much WAL as with a constant');
cmp_ok($ratio{'(random() * 4711)::bigint'}, '>', 1.5, 'a volatile default writes more');

# ---- a foreign table ----

# The server itself is the foreign server.
SKIP:
{
	skip 'the server has no postgres_fdw', 2
	  if $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'") == 0;
	my ($host, $port) = ($node->host, $node->port);
	$node->safe_psql('postgres', qq{
		CREATE EXTENSION postgres_fdw;
		CREATE SERVER loopback FOREIGN DATA WRAPPER postgres_fdw
			OPTIONS (host '$host', port '$port', dbname 'postgres', batch_size '1000');
		CREATE USER MAPPING FOR CURRENT_USER SERVER loopback;
		CREATE TABLE remote (id bigint, body text);
		CREATE TABLE statement (n bigint);
		CREATE FUNCTION count_statement() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN INSERT INTO public.statement VALUES (1); RETURN NULL; END';
		CREATE TRIGGER counted AFTER INSERT ON remote EXECUTE FUNCTION count_statement();
		CREATE FOREIGN TABLE local (id bigint NOT NULL DEFAULT uid_next(), body text) SERVER loopback OPTIONS (table_name 'remote');
		COPY local (body) FROM '$file'});
	is($node->safe_psql('postgres', 'SELECT count(DISTINCT id) FROM remote'), $rows, 'a foreign table: every row has its own id');
	# Since 16, COPY does that; before, it sends them one by one in any case.
	cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM statement'), '<=', $rows / ($node->pg_version >= 16 ? 1000 : 1),
		'and rows are sent a thousand at a time');
}

$node->stop;
done_testing();
