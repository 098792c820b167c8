# test/javascript/javascript.pl
#	  What docs/javascript.md says, tried with node-postgres and Drizzle: the suite
#	  javascript.
#
# The tests are in programs for Node, one for each part of the page, on a server of
# the default layout or of js53ms.  Both packages are installed by test/tempcheck.sh,
# with those of test/clients.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use NodePrograms;
use POSIX qw(strftime);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use UidgenTest;

my $modules = "$ENV{CHECK_DIR}/node_modules";
BAIL_OUT('npm could not install what test/clients/package.json names; the first lines of the run say why')
  unless -d "$modules/pg" && -d "$modules/drizzle-orm";

# A server with an empty table for messages, and one for replies to them.
sub server
{
	my ($name, $layout) = @_;
	my $node = uidgen_node($name, "uidgen.layout = '$layout'");
	$node->start;
	$node->safe_psql(
		'postgres', q{
		CREATE EXTENSION uidgen;
		CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), body text);
		CREATE TABLE reply (id bigint PRIMARY KEY DEFAULT uid_next(), message_id bigint REFERENCES message)});
	return $node;
}

my $node = server('default', 'default');
$node->safe_psql(
	'postgres', q{
	INSERT INTO message VALUES (250089339780861953, 'hello');
	INSERT INTO reply (message_id) VALUES (250089339780861953)});
run_node($node, "$FindBin::RealBin/numbers.mjs");
run_node($node, "$FindBin::RealBin/text.mjs");
run_node($node, "$FindBin::RealBin/bigint.mjs");
$node->stop;

$node = server('js53ms', 'js53ms');
run_node($node, "$FindBin::RealBin/js53ms.mjs");
$node->stop;

# Five minutes before the last millisecond of js53ms, which the epoch moves to now, all that
# are left are drawn ahead.
$node = server('end', 'js53ms epoch:' . strftime('%Y-%m-%dT%H:%M:%SZ', gmtime(time() + 300 - 2**41 / 1000)));
$node->append_conf('postgresql.conf', "uidgen.max_burst = '1h'");
$node->reload;
my ($status, $last, $said) = $node->psql(
	'postgres', q{
	SET client_min_messages = error;
	DO $$
	DECLARE
		last bigint;
	BEGIN
		LOOP
			last := uid_reserve(512) + 511;
		END LOOP;
	EXCEPTION WHEN sequence_generator_limit_exceeded THEN
		PERFORM set_config('test.last', last::text, false);
	END
	$$;
	SELECT (9007199254740991 - current_setting('test.last')::bigint) >> 12});
is($last, '1', 'the last ids of js53ms are of the last millisecond but one, below 2^53');
is($said, '', 'without an error before that');
fails_with($node, 'SELECT uid_next()', '2200H', qr/time bits of the layout are used up/, 'then ids end with an error');

done_testing();
