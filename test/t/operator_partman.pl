# pg_partman makes partitions by ids as docs/partitions.md says, and uid_between() reads the one
# that it needs; and its options that look as if they were made for that do what the page
# says, too.  pg_partman is not PostgreSQL's; ./check --world --install installs it where the
# distribution has it.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use UidgenTest;

my $node = uidgen_node('main');
my $control = eval { slurp_file($node->config_data('--sharedir') . '/extension/pg_partman.control') } // '';
my ($version) = $control =~ /^default_version = '(.*)'/m;
plan skip_all => 'pg_partman is not installed' if !$version;
note("pg_partman $version");

$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen; CREATE SCHEMA partman; CREATE EXTENSION pg_partman SCHEMA partman');

# A call of create_parent() for a new table; version 4 has one argument more.
sub make_parent
{
	my ($table, $interval, $options) = @_;
	my $type = $version =~ /^4/ ? "'native', " : '';
	return "CREATE TABLE public.$table (id bigint NOT NULL DEFAULT uid_next(), body text) PARTITION BY RANGE (id);
		SELECT partman.create_parent('public.$table', 'id', $type$interval, $options)";
}

# The partitions of the rows of a table
sub partitions_of
{
	my ($table) = @_;
	return $node->safe_psql('postgres', "SELECT string_agg(DISTINCT tableoid::regclass::text, ' ') FROM $table");
}

my $day = "(uid_min('2026-11-23') - uid_min('2026-11-22'))";
$node->safe_psql('postgres', make_parent('ev', "$day\::text", "p_start_partition := uid_min(date_trunc('day', now()))::text"));
$node->safe_psql('postgres', 'INSERT INTO ev (body) SELECT n FROM generate_series(1, 100) AS n');
like(partitions_of('ev'), qr/^ev_p\d{18,}( ev_p\d{18,})?$/, 'rows go to the partition of their day');
like(
	$node->safe_psql('postgres', "EXPLAIN SELECT * FROM ev WHERE uid_between(id, date_trunc('day', now()), date_trunc('day', now()) + interval '1 day')"),
	qr/Subplans Removed: [4-9]/,
	'and a query for the day reads that one');

# It looks at the newest row.
$node->safe_psql('postgres', "INSERT INTO ev (id) VALUES (uid_min(now() + interval '4 days'))");
$node->safe_psql('postgres', "UPDATE partman.part_config SET retention = (2 * $day)::text, retention_keep_table = false");
my $before = $node->safe_psql('postgres', 'SELECT count(*) FROM ev');
$node->safe_psql('postgres', 'CALL partman.run_maintenance_proc()');
is($before . ' ' . $node->safe_psql('postgres', 'SELECT count(*) FROM ev'), '101 1', 'maintenance drops what is older than the newest row by so many ids');
$node->safe_psql('postgres', "INSERT INTO ev (id) VALUES (uid_min(now() + interval '6 days'))");
unlike(partitions_of('ev'), qr/default/, '... and has made partitions for the next days');

# The trap: if a later version refuses it, the page has to say so.
$node->safe_psql('postgres', make_parent('trap', "'1 day'", "p_epoch := 'milliseconds'"));
$node->safe_psql('postgres', 'INSERT INTO trap (body) SELECT n FROM generate_series(1, 100) AS n');
is(partitions_of('trap'), 'trap_default', 'p_epoch is accepted, and all rows go to the default partition');

if ($version !~ /^4/)
{
	$node->safe_psql('postgres', "CREATE FUNCTION public.to_id(timestamptz) RETURNS text RETURN uid_min(\$1)::text;
		CREATE FUNCTION public.to_time(text) RETURNS timestamptz RETURN uid_timestamp(\$1::bigint)");
	like((sqlstate_of($node, make_parent('coded', "'1 day'", "p_time_encoder := 'public.to_id', p_time_decoder := 'public.to_time'")))[1],
		qr/can only be used with text\/uuid type/, 'p_time_encoder is refused');
}

done_testing();
