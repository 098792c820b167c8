# test/decoder/decoder.pl
#	  docs/uidgen.mjs and docs/decoder.html against the extension: the suite decoder.
#
# A server decodes ids of all presets, ten thousand at random and those that others have published, and reads layouts and
# texts, good ones and bad ones.  module.mjs does the same with the module, in Node; page.mjs with the page, in a headless
# Chromium.  guesses.mjs tests what no server does.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use NodePrograms;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use UidgenTest;

my $node = uidgen_node('main', "timezone = 'UTC'", "datestyle = 'ISO, YMD'", 'log_statement = none');
$node->start;

my $folder = PostgreSQL::Test::Utils::tempdir('decoder');
$ENV{VECTORS} = $folder;

# The rows of a query, in a file of their own: columns with tabs between, \N for null.
sub save
{
	my ($name, $query) = @_;
	$node->safe_psql('postgres', "COPY ($query) TO '$folder/$name.tsv'");
	cmp_ok(-s "$folder/$name.tsv", '>', 0, "the server writes $name.tsv");
	return;
}

$node->safe_psql('postgres', q{
	CREATE EXTENSION uidgen;
	CREATE FUNCTION micros(timestamptz) RETURNS bigint IMMUTABLE LANGUAGE sql RETURN (extract(epoch FROM $1) * 1000000)::bigint;
	-- 385 of each preset and of some layouts besides: most of them with fields at random and a plausible time, some with bits all over
	CREATE TABLE trial AS
		WITH layouts AS (
			SELECT l.layout, i.epoch, i.expires_at, (SELECT bit_or((f.maximum::bit(64)) << f.shift) FROM uid_layout(l.layout) AS f) AS mask
			FROM (SELECT name FROM uidgen.presets UNION ALL VALUES ('twitter epoch:2019-03-01T08:00:00.123+08:00'),
				('time:29:1s worker:21 sequence:13 epoch:2016-09-20'), ('tag:7 time:40:1ms zero:2 worker:3 sequence:9 epoch:2012-01-01'),
				('time:48:10us datacenter:3 worker:4 tag:1 sequence:7 epoch:2001-02-03T04:05:06.789012Z')) AS l (layout),
				uid_layout_info(l.layout) AS i)
		SELECT l.layout, n, CASE WHEN n % 11 = 0 THEN (hashint8extended(n, hashtext(l.layout))::bit(64) & mask)::bigint
			-- (these operators are of equal precedence)
			ELSE (uid_min(greatest(epoch, '2010-01-01') + (least(expires_at, '2026-11-20') - greatest(epoch, '2010-01-01')) *
					abs(hashint8extended(n, 1 + hashtext(l.layout)) / 9.3e18), l.layout)::bit(64)
				| (hashint8extended(n, 2 + hashtext(l.layout))::bit(64) & mask
					& ~ (SELECT (f.maximum::bit(64)) << f.shift FROM uid_layout(l.layout) AS f WHERE f.name = 'time')))::bigint END AS id
		FROM layouts AS l, generate_series(1, 385) AS n;
	CREATE FUNCTION to_uuid(bigint, text) RETURNS uuid LANGUAGE plpgsql AS $$
		BEGIN
			RETURN uid_to_uuid($1, $2);
		EXCEPTION WHEN datetime_field_overflow THEN
			RETURN NULL;
		END $$;
	CREATE FUNCTION canonical(text) RETURNS text LANGUAGE plpgsql AS $$
		BEGIN
			RETURN (SELECT concat_ws('|', layout, bits, micros(epoch), workers, ids_per_second, fits_in_53_bits,
				CASE WHEN isfinite(expires_at) THEN micros(expires_at) END) FROM uid_layout_info($1));
		EXCEPTION WHEN invalid_parameter_value THEN
			RETURN NULL;
		END $$;
	-- What a text is read as: each form in order, with its id, or with the time if it holds no id
	CREATE FUNCTION readings(given text) RETURNS text LANGUAGE plpgsql AS $$
		DECLARE
			said text;
		BEGIN
			said := array_to_string(ARRAY(SELECT uid_explain(given, 'time:33:1s worker:31 epoch:1970-01-01')), E'\n');
			RETURN concat_ws(' ', coalesce(lower(substring(said, '^read as +(\w+)')), 'decimal') || '|' || coalesce(substring(said, '\mid +(-?\d+)\n'), micros(substring(said, '\ntime +([^\n]+)')::timestamptz)::text),
				(SELECT string_agg(m[1] || '|' || m[2], ' ') FROM regexp_matches(said, '\n +as (\w+) it is (-?\d+)', 'g') AS m));
		EXCEPTION WHEN invalid_text_representation THEN
			RETURN NULL;
		END $$});
is($node->safe_psql('postgres', 'SELECT count(*) >= 10000, count(DISTINCT layout) = 4 + (SELECT count(*) FROM uidgen.presets) FROM trial'), 't|t',
	'there are ten thousand ids, of all presets');

is($node->safe_psql('postgres', q{SELECT count(*) > 9000 FROM trial WHERE uid_timestamp(id, layout) BETWEEN '2010-01-01' AND '2026-11-25'}), 't', '... most of them of a plausible time');

save('ids', q{SELECT t.id, t.layout, micros(p.timestamp), p.datacenter, p.worker, p.tag, p.sequence, uid_to_text(t.id), uid_to_text(t.id, 'base58'),
	uid_to_text(t.id, 'base62'), uid_to_text(t.id, 'hex'), to_uuid(t.id, t.layout)
	FROM trial AS t, uid_parse(t.id, t.layout) AS p});

# Ranges of time, with ends before the epoch, within a tick, at its beginning and after the end of the layout
save('ranges', q{SELECT l.layout, micros(f), micros(t), uidgen.first_since(f, l.layout), uidgen.last_before(t, l.layout)
	FROM (SELECT layout FROM uidgen.presets UNION VALUES ('time:31:1s worker:20 zero:3 sequence:9 epoch:2025-01-01')) AS l,
		unnest('{NULL, 1960-01-01, 2019-11-22 12:00:00.000999, 2026-11-22 12:00:00.001, 2026-11-22 12:00:00.00102, 2039-12-31, 2100-01-01, 9999-12-31}'::timestamptz[]) AS f,
		unnest('{NULL, 1969-12-31 23:59:59.999999, 2026-11-22 12:00:00.000999, 2026-11-22 12:00:00.0099, 2061-07-23, 9999-12-31}'::timestamptz[]) AS t
	WHERE l.layout ~ '^time:'});

# Layouts, good ones and bad ones: items at random, and what is at the edges of the grammar.
srand(42);
my @items = ('time:41:1ms', 'time:31:1s', 'time:63:1us', 'time:20:3600s', 'time:0:1ms', 'time:64:1ms', 'time:41', 'time:41:0ms', 'time:41:1h', 'time:41:3601s',
	'time:30:1500us', 'TIME:40:10MS', 'datacenter:5', 'worker:10', 'worker:31', 'worker:32', 'worker:', 'worker:1:1', 'tag:1', 'sequence:12', 'Sequence:8', 'zero:3', 'colour:3', 'worker',
	'epoch:2025-01-01', 'epoch:2024-02-29', 'epoch:2023-02-29', 'epoch:2025-13-01', 'epoch:2025-01-01T08:00+08:00', 'epoch:2025-01-01T08:00:00.1-0330', 'epoch:2025-01-01t08:00:00z',
	'epoch:2025-01-01T08', 'epoch:0001-01-01', 'epoch:0001-01-01T00:00+00:01', 'epoch:9999-12-31T23:59:59.999999Z', 'epoch:9999-12-31T23:59:59-00:01', 'epoch:1900-02-29', 'epoch:2000-02-29', 'epoch:2025-01-01T24:00');
my @presets = split /\n/, $node->safe_psql('postgres', 'SELECT name FROM uidgen.presets');
my @layouts = ('', ' ', 'twetter', 'twitter twitter', 'Twitter', "\tdiscord\n", 'twitter zero:1', 'twitter sequence:10', 'zero:1 time:41:1ms epoch:2025-01-01',
	map { my @some = map { $items[ rand @items ] } 1 .. 1 + rand 5; join ' ', (rand() < 0.3 ? $presets[ rand @presets ] : ()), @some } 1 .. 3000);
my $quoted = join ', ', map { s/'/''/gr =~ s/^(.*)$/('$1')/sr } @layouts;
save('layouts', "SELECT l.layout, canonical(l.layout) FROM (VALUES $quoted) AS l (layout)");
cmp_ok($node->safe_psql('postgres', "SELECT count(canonical(l.layout)) FROM (VALUES $quoted) AS l (layout)"), '>', 100, '... of which some are good');

# Texts: of each length that a form has, and one more or less, of the digits of each.
my @digits = ('0123456789', '0123456789ABCDEFGHJKMNPQRSTVWXYZ', '0123456789abcdef', join('', 0 .. 9, 'A' .. 'Z', 'a' .. 'z'), '0123456789ABCDEFabcdef-');
my @texts = ('', '-', '-0', '00', '0x', '0X1f', ' 7 ', 'none', '18446744073709551616', '7ZZZZZZZZZZZZZZZZZZZZZZZZZ', '8ZZZZZZZZZZZZZZZZZZZZZZZZZ', '01ARZ3NDEKTSV4RRFFQ69G5FAV',
	'017F22E2-79B0-7CC3-98C4-DC0C0C07398F', '01a202ca-0a9b-7037-a3a0-8e9bad00000f', '9b5f51f4-2a32-4d54-8d4f-4c1b2b3a7d10', '-6Y784EKEPG000', '06Y7-84EK-EPGOO',
	map {
		my $of = $digits[ rand @digits ];
		my $length = (1, 10, 11, 12, 13, 14, 16, 17, 18, 19, 20, 21, 26, 32, 36)[ rand 15 ];
		(rand() < 0.1 ? '0x' : rand() < 0.1 ? '-' : '') . join('', map { substr($of, rand length $of, 1) } 1 .. $length)
	} 1 .. 2000);
$quoted = join ', ', map { "('$_')" } @texts;
save('texts', "SELECT t.given, readings(t.given) FROM (VALUES $quoted) AS t (given)");
save('room', q{SELECT i.layout, to_char(i.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), i.workers, i.ids_per_second, i.fits_in_53_bits
	FROM uidgen.presets AS p, uid_layout_info(p.layout) AS i WHERE p.layout ~ '^time:(\d+):(1s|1ms|10ms|10us) ((datacenter|worker|tag|sequence):\d+ )+epoch:\d{4}-\d\d-\d\d$'
		AND p.layout ~ 'sequence' AND i.bits <= 63 AND p.name <> 'pgedge-2023'});

run_node($node, "$FindBin::RealBin/module.mjs");
run_node($node, "$FindBin::RealBin/guesses.mjs");
run_node($node, "$FindBin::RealBin/page.mjs");
$node->stop;

done_testing();
