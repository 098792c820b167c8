# The edition says what the extension does, by files of pg_regress in a database with each.  A list in SqlEdition.pm leaves out what it has not, or does otherwise.
# Promise: none; part: script/sql
# Kills: script/sql/42_ranges.sql range_bound: RETURN CASE WHEN last < 9223372036854775807 THEN last + 1 END; => RETURN CASE WHEN last < 9223372036854775807 THEN last - 1 END;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use SqlEdition;
use UidgenTest;

my $node = edition_node('plain');
$node->start;
landlords($node);
put_in($node, add_database($node, 'app'), 'worker_id=5', 'max_ahead=1h');
my $main = uidgen_node('main');
$main->start;
$main->safe_psql('postgres', 'CREATE EXTENSION uidgen');

says_the_same($main, $node, 'layout', undef, 'landlord');
says_the_same($main, $node, 'decode', undef, 'landlord');
says_the_same($main, $node, 'forms', undef, 'landlord');
says_the_same($main, $node, 'vectors', undef, 'landlord');
is($node->safe_psql('app', 'TABLE uidgen.presets'), $main->safe_psql('postgres', 'TABLE uidgen.presets'), 'the presets are the same');
# The plans of the extension's estimate how many rows there are.
says_the_same($main, $node, 'ranges', "--\n-- Plans\n", 'landlord');
# The rest of this file is about the library, and that of the next one about transactions that only read, and the registry.
says_the_same($main, $node, 'errors', '-- A catalog and a library', 'landlord');
says_the_same($main, $node, 'generate', '-- No write: works where nothing may be written', 'landlord');

# ---- the tools ----

is(run_script($node, 'app', edition_script($node, 'sql-tools')), '', 'the tools are put in');
$main->safe_psql('postgres', 'CREATE EXTENSION uidgen_tools');
says_the_same($main, $node, 'drop_partitions');
says_the_same($main, $node, 'scramble');
says_the_same($main, $node, 'stamp');
like(as($node, 'landlord', 'app', q{
	CREATE TABLE old (k bigserial PRIMARY KEY, body text);
	INSERT INTO old (body) VALUES ('a'), ('b');
	SELECT uid_adopt('old', 'k', true);
	INSERT INTO old (body) VALUES ('c') RETURNING (uid_parse(k)).worker}), qr/^5$/m, 'a table that exists gets ids');
is(as($node, 'landlord', 'app', q{
	CREATE TABLE event (id bigint PRIMARY KEY DEFAULT uid_next(), body text) PARTITION BY RANGE (id);
	SELECT count(*) FROM uid_partitions('event', now() - interval '3 months', now() + interval '1 month', '1 month', true);
	INSERT INTO event (body) VALUES ('a') RETURNING tableoid::regclass = to_regclass(to_char(uid_timestamp(id), '"event_"YYYY_MM'));
	SELECT count(*) FROM uid_drop_partitions('event', date_trunc('month', now()) - interval '1 month', true, true)}) =~ s/\n/ /gr, '5 t 2', 'partitions are made, used and dropped');
like(as($node, 'landlord', 'app', 'SELECT uidgen.take_out()'), qr/2BP01.*HINT:  Take out the tools first: SELECT uidgen_tools\.take_out\(\)/s, 'the edition stays while there are tools, which its hint names');
is(as($node, 'landlord', 'app', 'SELECT uidgen_tools.take_out()'), '', 'they are taken out');
is($node->safe_psql('app', q{SELECT count(*) FROM pg_proc WHERE proname ~ '^uid_(partitions|drop_|adopt|track|purge|check|number|time_e|scr)'}), '0', '... and all of them');

done_testing();
