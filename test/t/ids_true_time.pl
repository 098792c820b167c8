# Proves that the time in an id is the clock's at the call (P5), whatever the
# layout; and that uidgen.sequence_start puts the sequence of a new tick where it says.
# How far ids may be ahead of it: ids_bursts.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use UidgenTest;

# Draws n ids, at most one a millisecond.  Returns by how many microseconds the
# worst id's tick began after the call (late), and the worst ended before it
# (early): both must be 0 or less.
my $truth = <<'SQL';
CREATE FUNCTION truth(n integer, unit interval, OUT late bigint, OUT early bigint)
LANGUAGE plpgsql AS $$
DECLARE
	before timestamptz;
	shown timestamptz;
BEGIN
	FOR i IN 1 .. n LOOP
		before := clock_timestamp();
		shown := uid_timestamp(uid_next());
		late := greatest(late, 1000000 * extract(epoch FROM shown - clock_timestamp()));
		early := greatest(early, 1000000 * extract(epoch FROM before - (shown + unit)));
		PERFORM pg_sleep(0.001);
	END LOOP;
END
$$;
SQL

# The layout of a registry never changes, so each has a server.
my $nodes = 0;

sub server
{
	my ($layout, @conf) = @_;
	my $node = uidgen_node('time' . ++$nodes, "uidgen.layout = '$layout'", @conf);
	return $node;
}

sub create
{
	my ($node) = @_;
	$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
	$node->safe_psql('postgres', $truth);
	return;
}

# Is every id's time true to the tick, or at most so many ticks late?
sub is_true
{
	my ($node, $unit, $name, $allowed) = @_;
	my ($late, $early, $tick) = split /\|/,
	  $node->safe_psql('postgres',
		"SELECT *, 1000000 * extract(epoch FROM interval '$unit')::numeric FROM truth(200, '$unit')");

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok($late <= ($allowed // 0) * $tick && $early <= 0, $name)
	  || diag("too late by $late us, too early by $early us");
}

# ---- layouts ----

my @layouts = (
	[ '1 ms', 'time:41:1ms worker:10 sequence:12 epoch:2025-01-01' ],
	[ '10 ms', 'sonyflake' ],
	[ '1 s', 'time:32:1s worker:8 sequence:20 epoch:2025-01-01' ],
	[ '100 us', 'time:46:100us worker:6 sequence:8 epoch:2025-01-01' ],
	[ '1 ms', 'time:40:1ms tag:4 datacenter:3 sequence:8 worker:5 epoch:2025-01-01', 'uidgen.datacenter_id = 5' ]);
foreach (@layouts)
{
	my ($unit, $layout, @conf) = @$_;
	my $node = server($layout, 'uidgen.window = 300ms', @conf);
	$node->start;
	create($node);
	is_true($node, $unit, "$layout: the time is true");
	is( $node->safe_psql(
			'postgres',
			'SELECT p.worker = w.worker_id, coalesce(p.datacenter, 0) = w.datacenter_id, p.id > 0'
			  . ' FROM uid_parse(uid_next()) AS p, uidgen_registry.worker_node AS w'),
		't|t|t',
		"$layout: worker id and datacenter are the registry's");

	ok( poll_until(sub {
				$node->safe_psql('postgres',
					'SELECT granted_until < clock_timestamp() FROM uidgen.status') eq 't' }),
		"$layout: without calls the grant runs out");
	is_true($node, $unit, "$layout: after that the time is true again");

	$node->restart;
	# Grants are of whole ticks, and the one of the shutdown was used.
	is_true($node, $unit, "$layout: and after a restart, but for one tick", 1);

	# What was granted and perhaps used lies ahead.  A window has a tick at least; docs/design/generator.md says where the three ticks come from.
	$node->stop('immediate');
	$node->start;
	my ($late, $tick) = split /\|/, $node->safe_psql('postgres', "SELECT late, (1000000 * extract(epoch FROM interval '$unit'))::bigint FROM truth(1, '$unit')");
	cmp_ok($late, '<=', ($tick > 300_000 ? $tick : 300_000) + 3 * $tick, "$layout: after a crash it is ahead by a window and three ticks at most");
	ok( poll_until(sub {
				$node->safe_psql('postgres',
					"SELECT early <= 0 AND late <= 0 FROM truth(10, '$unit')") eq 't' }),
		"$layout: and true when the clock is there");
	$node->stop;
}

# ---- where the sequence starts ----

my $node = server('time:41:1ms worker:10 sequence:12 epoch:2025-01-01');
$node->start;
create($node);
$node->safe_psql('postgres', <<'SQL');
-- the sequences of n ids, each the first one of its tick
CREATE FUNCTION first_sequences(n integer) RETURNS SETOF integer
LANGUAGE plpgsql AS $$
DECLARE
	id bigint := uid_next();
BEGIN
	FOR i IN 1 .. n LOOP
		WHILE uid_max(clock_timestamp()) <= uid_max(uid_timestamp(id)) LOOP
			PERFORM pg_sleep(0.0001);
		END LOOP;
		id := uid_next();
		RETURN NEXT (uid_parse(id)).sequence;
	END LOOP;
END
$$;
SQL

sub set_start
{
	my ($node, $value) = @_;
	$node->append_conf('postgresql.conf', "uidgen.sequence_start = $value");
	$node->reload;
	poll_until(sub { $node->safe_psql('postgres', 'SHOW uidgen.sequence_start') eq $value });
	return;
}

is($node->safe_psql('postgres', 'SELECT min(s), max(s) FROM first_sequences(100) AS s'),
	'0|0', 'sequence_start = zero: every tick starts at zero');

set_start($node, 'continue');
is( $node->safe_psql(
		'postgres',
		'SELECT count(*) FROM (SELECT s, lag(s) OVER (ORDER BY i) AS l'
		  . ' FROM first_sequences(1100) WITH ORDINALITY AS f (s, i)) AS pairs'
		  . ' WHERE s <> (l + 1) % 512'),
	'0',
	'sequence_start = continue: every tick starts where the one before ended, below an eighth');

set_start($node, 'random');
my $numbers = $node->safe_psql('postgres', 'SELECT * FROM first_sequences(1000)');
my (%count, %residue);
foreach (split /\n/, $numbers)
{
	$count{$_}++;
	$residue{ $_ % 16 }++;
}
my @order = sort { $a <=> $b } keys %count;
cmp_ok($order[-1], '<', 512, 'sequence_start = random: every tick starts below an eighth');
cmp_ok(scalar @order, '>', 300, 'sequence_start = random: anywhere there');
# 62.5 each, with a standard deviation of 7.7
is(scalar(grep { ($residue{$_} // 0) > 15 && $residue{$_} < 110 } 0 .. 15),
	16, 'sequence_start = random: evenly modulo 16');
my %first;
$first{ $node->safe_psql('postgres', 'SELECT * FROM first_sequences(1)') }++ foreach 1 .. 12;
cmp_ok(scalar keys %first, '>', 6, 'sequence_start = random: other numbers in every session');
$node->stop;

done_testing();
