# The grammar of layouts in PL/pgSQL (script/registry/33_layouts.sql) and the one in C (src/core/layout.c) are the same: for all
# presets, what the fuzzer keeps, and thousands of texts that are made of these, both give the same layout, or the same error.
# Promise: P6
# Kills: script/registry/33_layouts.sql check_generates: ELSIF 'sequence' <> ALL (names) THEN => ELSIF 'sequence' = ALL (names) THEN

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Chance qw(pick);
use UidgenTest;

my $SEED = 42;
my ($EPOCHS, $MUTATIONS) = (600, 2000);

my $node = uidgen_node('main');
$node->start;
# Any bytes are text in one of them; in the other one a character may have several.
my %encodings = (ascii => 'SQL_ASCII', utf8 => 'UTF8');
foreach my $database (sort keys %encodings)
{
	$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE template0 ENCODING $encodings{$database} LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc");
	$node->safe_psql($database, <<'END');
CREATE EXTENSION uidgen;
CREATE EXTENSION uidgen_registry;
CREATE TABLE input (hex text);
-- The one hint that differs: a registry without the library has no view of presets.
CREATE FUNCTION failure(code text, message text, detail text, hint text) RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' | ', code, message, detail, replace(hint, 'The view uidgen.presets lists', 'SELECT name FROM uidgen_registry.layout_presets() lists'))
$$;
CREATE FUNCTION by_c(layout text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text;
	detail text;
	hint text;
BEGIN
	RETURN (SELECT row(n.layout, f.names, f.bits, f.shifts, n.unit, n.epoch, n.max_tick, n.max_datacenter, n.max_worker)::text
		FROM uidgen.layout_numbers(layout) AS n,
			(SELECT array_agg(l.name), array_agg(l.bits), array_agg(l.shift) FROM uid_layout(layout) AS l) AS f (names, bits, shifts));
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN failure(SQLSTATE, message, detail, hint);
END $$;
CREATE FUNCTION by_sql(layout text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text;
	detail text;
	hint text;
BEGIN
	RETURN (SELECT p::text FROM uidgen_registry.parse_layout(layout) AS p);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN failure(SQLSTATE, message, detail, hint);
END $$;
END
}

# Returns how many of these texts are layouts, and of how many bytes each is that both do not tell the same of.
sub compare
{
	my ($database, $name, @texts) = @_;
	$node->safe_psql($database, "TRUNCATE input;\nCOPY input FROM STDIN;\n" . join('', map { unpack('H*', $_) . "\n" } @texts) . "\\.\n");
	my $result = $node->safe_psql($database, <<"END");
CREATE TEMP TABLE told AS
	SELECT hex, by_c(text) AS c, by_sql(text) AS sql FROM input, convert_from(decode(hex, 'hex'), '$encodings{$database}') AS text;
SELECT 'differs: ' || encode(decode(hex, 'hex'), 'escape') || E'\\n  C: ' || c || E'\\n  SQL: ' || sql FROM told WHERE c IS DISTINCT FROM sql LIMIT 5;
SELECT count(*) || ' texts, ' || count(*) FILTER (WHERE c LIKE '(%') || ' layouts' FROM told;
END
	my ($texts, $layouts) = $result =~ /^(\d+) texts, (\d+) layouts\z/m;
	unlike($result, qr/^differs/m, "$name: both give the same for $texts texts in $encodings{$database}, of which $layouts are layouts");
	return $layouts;
}

# ---- the presets ----

my $presets = $node->safe_psql('utf8', 'SELECT name, layout FROM uidgen.presets');
is($node->safe_psql('utf8', 'SELECT name, layout FROM uidgen_registry.layout_presets()'), $presets, 'the presets are the same, in the same order');
my @presets = map { (split /\|/)[0] } split /\n/, $presets;
is(compare('utf8', 'presets', @presets, map { uc } @presets), 2 * @presets, 'each is a layout, however it is written');

# ---- what the fuzzer keeps ----

# Its targets see what is before the first byte that no text of a database can have.
my @kept = map { slurp_file($_) =~ s/\0.*//sr } sort glob "$FindBin::RealBin/../fuzz/corpus/layout/*";
cmp_ok(scalar @kept, '>', 40, 'the fuzzer keeps some');
cmp_ok(compare('utf8', 'kept', @kept), '>', 15, '... layouts and others');

# ---- made of them ----

srand($SEED);

# Dates and times: each part is at the edge of what it may be now and then, or beyond.
sub part
{
	my ($width, $most, @edges) = @_;
	return sprintf "%0${width}d", rand() < 0.15 ? pick(@edges) : 1 + int rand $most;
}
sub epoch
{
	my $date = join '-', part(4, 9998, 0, 1, 1969, 1970, 2000, 9999, 10000), part(2, 12, 0, 1, 2, 12, 13), part(2, 28, 0, 1, 29 .. 32);
	$date = pick('0001-01-01', '9999-12-31', '1970-01-01', '1900-02-29', '2000-02-29', '2023-02-29', '2024-02-29') if rand() < 0.3;
	return $date if rand() < 0.1;
	my $time = pick('T', 'T', 't') . part(2, 22, 0, 0, 23, 24) . ':' . part(2, 58, 0, 59, 60);
	$time .= ':' . part(2, 58, 0, 59, 60) if rand() < 0.7;
	$time .= '.' . join('', map { int rand 10 } 1 .. pick(1 .. 7)) if rand() < 0.3;
	return $date . $time . pick('', 'Z', 'z', pick('+', '-') . part(2, 14, 0, 15, 16) . pick('', ':', pick('', ':') . part(2, 58, 0, 59, 60)));
}

my @pieces = (
	' ', "\t", "\r\n", "\x0b", ',', ':', '-', '+', '0', '1', '9', '000', '31', '32', '63', '64', '65', '3600', '3601', '3600000000', '3600000001', '99999999999999999999',
	'us', 'ms', 's', 'S', 'time:', 'zero:1 ', ' tag:9', ' datacenter:31', ' worker:20', ' epoch:2024-02-29', 'x' x 61, "\xc3\xbc", "\xe2\x82\xac" x 20, "\xe2\x84\xaa", "\xff", '%s');

# One to three changes of a text.
sub mutate
{
	my ($text) = @_;
	foreach (1 .. pick(1, 1, 2, 3))
	{
		my $at = int rand(1 + length $text);
		my $length = int rand(1 + pick(2, 12));
		my $what = pick(qw(byte piece delete repeat case number item order));
		if ($what eq 'byte') { substr($text, $at, 1) = chr(1 + int rand pick(127, 255)) }
		elsif ($what eq 'piece') { substr($text, $at, 0) = pick(@pieces) }
		elsif ($what eq 'delete') { substr($text, $at, $length) = '' }
		elsif ($what eq 'repeat') { substr($text, $at, 0) = substr($text, $at, $length) }
		elsif ($what eq 'case') { substr($text, $at, $length) =~ tr/a-zA-Z/A-Za-z/ }
		elsif ($what eq 'number') { my $n = pick(0 .. 70, 100, 999, 1000, 3600, 3601); $text =~ s/:\d+(\D*)$/:$n$1/ || $text =~ s/:\d+/:$n/ }
		elsif ($what eq 'item') { $text .= ' ' . pick(split /[ \t\r\n]+/, pick(@kept)) }
		else { $text = join ' ', sort { rand() <=> 0.5 } split / /, $text }
	}
	return $text;
}

my @epochs = map { "js53 epoch:$_" } qw(0001-01-01T00:00+00:00 0001-01-01T00:00+00:01 0001-01-01T01:00+01:00 9999-12-31T23:00-00:59 9999-12-31T23:00-01:00), map { epoch() } 1 .. $EPOCHS;
my @mutants = map { mutate(pick(@kept, pick(@presets), pick(split /\n/, $presets) =~ s/.*\|//r)) } 1 .. $MUTATIONS;
cmp_ok(compare('utf8', 'epochs', @epochs), '>', $EPOCHS / 4, '... a good part layouts');
cmp_ok(compare('ascii', 'mutants', @mutants), '>', $MUTATIONS / 10, '... a good part layouts');
compare('utf8', 'characters', grep { /[\x80-\xff]/ && utf8::decode(my $copy = $_) } @mutants, map { my $x = $_; map { 'a' x $x . $_ x 40, 'default ' . 'a' x $x . $_ x 19 . ':b' } "\xc3\xbc", "\xe2\x82\xac" } 0 .. 4);

# ---- which of them can generate ids ----

# What is printed of each: the setting says it as well, and says first which layouts are used up.
my @layouts = split /\n/, $node->safe_psql('ascii', q{SELECT l.layout FROM (SELECT convert_from(decode(hex, 'hex'), 'SQL_ASCII') FROM input) AS i (text),
	uidgen_registry.parse_layout(CASE WHEN by_sql(i.text) LIKE '(%' THEN i.text END) AS l WHERE l.layout <> '' GROUP BY l.layout ORDER BY md5(l.layout) LIMIT 60});
sub says
{
	my ($statement) = @_;
	my ($status, $out, $err) = $node->psql('utf8', join("\n", "SELECT uid_layout_info('default');", "\\set SHOW_CONTEXT never", map { sprintf $statement, $_ } @layouts), on_error_stop => 0);
	my ($line, %said);
	foreach (split /\n/, $err)
	{
		$line = $1 if s/^psql:<stdin>:(\d+): (?=ERROR)//;
		$said{$line} .= "$_\n";
	}
	return { map { $_ => $said{$_} } grep { $said{$_} !~ /the layout is used up/ } keys %said };
}
my $by_setting = says("ALTER SYSTEM SET uidgen.layout = '%s';");
is_deeply(says("SELECT FROM uidgen_registry.parse_layout('%s') AS l, uidgen_registry.check_generates(l.names, l.bits);"), $by_setting, 'both say the same of why a layout cannot generate ids');
my %messages = map { s/\d+/N/gr => 1 } values %$by_setting;
cmp_ok(scalar keys %messages, '>=', 4, '... for each reason') or diag(%messages);

# ---- a collation by which other letters are equal ----

SKIP:
{
	skip 'this server has no ICU', 1 if $node->safe_psql('utf8', q(SELECT count(*) FROM pg_collation WHERE collprovider = 'i')) eq '0';
	is($node->safe_psql('utf8', q{CREATE COLLATION turkish (provider = icu, locale = 'tr-u-ks-level1', deterministic = false);
			SELECT layout FROM uidgen_registry.parse_layout('TIME:41:1MS SEQUENCE:12 EPOCH:2025-01-01T12:00Z' COLLATE turkish)}),
		'time:41:1ms sequence:12 epoch:2025-01-01T12:00:00Z', 'the collation of the text does not count');
}

done_testing();
