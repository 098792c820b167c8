# A name is never more than a name: what uid_adopt(), uid_partitions(), uid_drop_partitions() and uid_track_changes() print is run by \gexec and from
# a file, and what uid_number_rows() runs, with and without standard_conforming_strings.  Nobody gains a right, and what was asked for happens.
# pg_regress has no names with line ends that its files could show; operator_strange_letters has more names.
#
# Promise: P9
# Kills: script/tools/10_statements.sql: replace(c.relname::text, '"', '""'))) || '::pg_catalog.regclass' => c.relname::text)) || '::pg_catalog.regclass'

use FindBin;
use lib "$FindBin::RealBin/../perl";
use StrangeNames;
use Twins;
use UidgenTest;

foreach my $kind (kinds())
{
	my $node = server_of_names($kind);
	# Each would make a superuser of somebody if it ended anywhere but at its own quote.
	tries_names(
		"n\nALTER ROLE nobody SUPERUSER; --",
		'q"; ALTER ROLE nobody SUPERUSER; --',
		"a'; ALTER ROLE nobody SUPERUSER; --",
		'e\\\'\\"\\n\\x0a\\u000a\\');
	$node->stop;
}
done_testing();
