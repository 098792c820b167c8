# A registry is lost, and its backup restored on a host that the nodes' settings do not name yet.  A node that was given
# numbers which this backup cannot explain, and is pointed there, still tells of them.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use Numbers;
use UidgenTest;

my $registry = fleet_registry('registry');
my ($one, $two) = map { fleet_node($_, hosts($registry)) } qw(one two);
create_segment($registry, qq{'$_', step => 100}) foreach qw(named moved);
$registry->safe_psql('postgres', by_hand('UPDATE uidgen_registry.segment SET max_step = 100, failover_gap = 500'));
foreach my $segment (qw(named moved))
{
	draw_numbers($_, $segment, 50) foreach $one, $two;
}
$registry->backup('backup');
foreach my $segment (qw(named moved))
{
	draw_numbers($one, $segment, 2000);
}
await_keeper($one);
my $restored = PostgreSQL::Test::Cluster->new('restored');
$restored->init_from_backup($registry, 'backup');
$restored->append_conf('postgresql.conf', "restore_command = 'false'\nprimary_conninfo = ''");
append_to_file($restored->data_dir . '/recovery.signal', '');
$registry->stop('immediate');
$restored->start;
$restored->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
is($restored->safe_psql('postgres', 'SELECT timeline FROM uidgen_registry.registry_history()'), 2, 'the backup is restored on another host, on a timeline of its own');
change_setting($_, 'uidgen.registry', hosts($restored)) foreach $one, $two;
draw_numbers($two, 'moved', 900);
await_keeper($two);
my %seen = map { $_ => 1 } seen_numbers('moved', $one);
note(scalar(grep { $seen{$_} } seen_numbers('moved', $two)) . ' numbers are given out twice');
my $STOPPED = qr/the registry has stopped it/;
my $err = draw_to_error($one, 'moved', '2s', $STOPPED);
note(segment($restored, 'moved', 'last_value, stopped, evidence'));
like($err, $STOPPED, 'a server that was given these before calls the registry: the segment is stopped');

done_testing();
