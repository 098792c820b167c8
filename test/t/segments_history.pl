# Numbers of segments go by the same notion as grants of whether the registry may have gone back: where no timeline can be
# known, as on a managed server, each start counts; a base backup that is started as it is counts once, also if the server is
# restarted before anybody asks; a restart does not.  And with segments_confirmed, as many standbys as the registry had have to
# know of a failover before numbers are given out, or as many as its owner says.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use Numbers;
use UidgenTest;

my $GAP = 5000;

# A registry with segments of ranges of 100, and standbys that follow it.
sub set_up
{
	my ($name, $standbys, @segments) = @_;
	my $registry = fleet_registry($name, max_lead => '3 s', clock_slack => '1 s');
	create_segment($registry, qq{'$_', step => 100}) foreach @segments;
	$registry->safe_psql('postgres', "SELECT uidgen_registry.change_segment(name, max_step => 100, failover_gap => $GAP) FROM uidgen_registry.segment");
	return ($registry, map { follower("${name}_$_", $registry) } 1 .. $standbys);
}

# A standby made anew.
sub follower
{
	my ($name, $of) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);
	$of->backup($name);
	$standby->init_from_backup($of, $name, has_streaming => 1);
	$standby->start;
	$of->wait_for_catchup($standby);
	return $standby;
}

# It follows another server, or none.
sub follows
{
	my ($standby, $of) = @_;
	$standby->append_conf('postgresql.conf', 'primary_conninfo = \'' . ($of ? $of->connstr . ' application_name=' . $standby->name : '') . '\'');
	$standby->restart;
	return;
}

# Draw so that the registry has given more ranges.
sub draws_more
{
	my ($server, $segment) = @_;
	draw_numbers($server, $segment, 450);
	await_keeper($server);
	return;
}

sub highest
{
	my ($segment) = @_;
	return (sort { $b <=> $a } seen_numbers($segment))[0];
}

# ---- where no timeline can be known ----

my ($managed, $follower) = set_up('managed', 1, 'orders');
$managed->safe_psql('postgres', slurp_file("$FindBin::RealBin/../../docs/registry-server.md") =~ /^(CREATE OR REPLACE FUNCTION uidgen_registry\.registry_history\(.*?^AS \$\$.*?\$\$;)$/ms);
is($managed->safe_psql('postgres', 'SELECT timeline FROM uidgen_registry.registry_history()'), '0', 'a registry whose timeline cannot be known, by the function of the page');
is($managed->safe_psql('postgres', 'SELECT timeline FROM uidgen_registry.registry_identity()'), '1001', '... while nodes are told a later one than before');
my ($one, $two) = map { fleet_node($_, hosts($managed, $follower)) } qw(one two);
draw_numbers($_, 'orders', 50) foreach $one, $two;
await_keeper($_) foreach $one, $two;
$managed->wait_for_catchup($follower);
follows($follower, undef);
draws_more($one, 'orders');
my $lost = highest('orders');
$managed->stop('immediate');
$follower->promote;
$follower->stop('immediate');
$follower->start;
draw_numbers($two, 'orders', 450);
cmp_ok(highest('orders'), '>', $GAP, 'it fails over, and leaves the gap out, though nobody asks who knows of a loss');
draw_numbers($one, 'orders', 150);
one_by_one('orders', 'a failover', in_order => 1);
cmp_ok($lost, '>', segment($follower, 'orders', 'reign_ends[cardinality(reign_ends)]') - 1, 'numbers were lost in it');
await_keeper($_) foreach $one, $two;
my $last = segment($follower, 'orders', 'last_value');
$follower->restart;
draws_more($one, 'orders');
cmp_ok(segment($follower, 'orders', 'last_value'), '>=', $last + $GAP, 'each start may be a failover, so a restart leaves it out as well');
$_->stop('immediate') foreach $follower, $one, $two;

# ---- a base backup that is started as it is ----

my ($registry) = set_up('registry', 0, qw(invoices idle));
my $restored = PostgreSQL::Test::Cluster->new('restored');
my ($before, $fresh) = map { fleet_node($_, hosts($registry, $restored)) } qw(before fresh);
draw_numbers($before, $_, 50) foreach qw(invoices idle);
await_keeper($before);
$registry->backup('base');
draws_more($before, $_) foreach qw(invoices idle);
my %given = map { $_ => segment($registry, $_, 'last_value') } qw(invoices idle);
$registry->stop('immediate');
$restored->init_from_backup($registry, 'base');
$restored->start;
is($restored->safe_psql('postgres', 'SELECT timeline FROM uidgen_registry.registry_history()'), 1, 'a backup is started as it is, on the same timeline');
my @numbers = draw_numbers($fresh, 'invoices', 50);
cmp_ok($numbers[0], '>', $given{invoices}, '... and who begins is given numbers above the gap');
$restored->restart;
@numbers = draw_numbers($fresh, 'idle', 50);
cmp_ok($numbers[0], '>', $given{idle}, '... also of a segment of which nobody had asked when it was restarted');
foreach my $mode (qw(fast immediate))
{
	await_keeper($fresh);
	$last = segment($restored, 'invoices', 'last_value');
	$restored->stop($mode);
	$restored->start;
	draws_more($fresh, 'invoices');
	cmp_ok(segment($restored, 'invoices', 'last_value'), '<', $last + $GAP, "... a later start leaves nothing out ($mode)");
}
draw_numbers($before, $_, 250) foreach qw(invoices idle);
one_by_one($_, "restored: $_") foreach qw(invoices idle);
$_->stop('immediate') foreach $restored, $before, $fresh;

# ---- three servers of a registry, with segments_confirmed ----

my ($first, $second, $third) = set_up('first', 2, qw(bills));
my ($four, $five) = map { fleet_node($_, hosts($first, $second, $third)) } qw(four five);
fails_with($first, 'SELECT uidgen_registry.change_registry(confirming_standbys => -1)', '22023', qr/the number of standbys cannot be -1/, 'the number of standbys is checked');
$first->safe_psql('postgres', 'SELECT uidgen_registry.change_registry(segments_confirmed => true)');
my $STANDBYS = q{SELECT array_to_string(ARRAY(SELECT unnest(standbys) ORDER BY 1), ' '), confirming_standbys FROM uidgen_registry.registry};
is($first->safe_psql('postgres', $STANDBYS), 'first_1 first_2|', 'confirmed: it is known which standbys there are');
draw_numbers($_, 'bills', 50) foreach $four, $five;
await_keeper($_) foreach $four, $five;
$first->wait_for_catchup($_) foreach $second, $third;

# One is cut off, and another one takes over; the former primary follows it.
follows($third, undef);
$first->stop('immediate');
$second->promote;
my $again = follower('first_again', $second);
my $TOO_FEW = qr/too few standbys/;
like(draw_to_error($four, 'bills', '3s', $TOO_FEW), qr/ERROR:  55000: .*too few standbys of the registry have replayed its failover so far.*HINT: .*Start the other standbys of the registry\..*raise_segment\(\)/s,
	'one of them is cut off: who took over gives nothing, though the former primary follows, and has confirmed');
like($second->safe_psql('postgres', "SELECT detail FROM uidgen_registry.explain_unconfirmed('0/1')"),
	qr{^The log has to be replayed up to 0/0*1 by all standbys that follow, and by those that followed before, but for this server: "first_1", "first_2", "first_again"\. It has been by: "first_again"\.$},
	'... and says who is missing');
# It takes over, of which nobody has told it.
$second->stop('immediate');
$third->promote;
my $later = follower('later', $third);
like(draw_to_error($five, 'bills', '3s', $TOO_FEW), $TOO_FEW, '... so it may take over, and repeats nothing');
$third->safe_psql('postgres', 'SELECT uidgen_registry.change_registry(confirming_standbys => 0)');
is($third->safe_psql('postgres', $STANDBYS), 'later|', '... until its owner says that those are all that follow now');
draw_numbers($_, 'bills', 350) foreach $four, $five;
one_by_one('bills', 'two failovers', in_order => 1);

# Of those that followed before, one follows the new primary.
my $other = follower('other', $third);
draws_more($five, 'bills');
is($third->safe_psql('postgres', $STANDBYS), 'later other|', 'a standby that comes later counts as well');
$third->wait_for_catchup($_) foreach $later, $other;
$third->stop('immediate');
$later->promote;
foreach my $node ($four, $five)
{
	$node->append_conf('postgresql.conf', "uidgen.registry = '" . hosts($later) . "'");
	$node->reload;
}
my $NONE = qr/no standby of the registry has replayed/;
like(draw_to_error($four, 'bills', '3s', $NONE), $NONE, '... after the next failover none follows at first');
my $waiting = start_numbers($five, 'bills', 20);
follows($other, $later);
is(scalar(finish_numbers($waiting)), 20, '... and numbers are given when the other one does');
is($later->safe_psql('postgres', $STANDBYS), 'other|', '... which is all that there is now');
draw_numbers($_, 'bills', 350) foreach $four, $five;

# An election that asks two of three.
my $third_one = follower('third_one', $later);
draws_more($five, 'bills');
is($later->safe_psql('postgres', 'SELECT uidgen_registry.change_registry(confirming_standbys => 1); ' . $STANDBYS), "\nother third_one|1", 'the owner says that one standby is enough');
await_keeper($_) foreach $four, $five;
$later->wait_for_catchup($_) foreach $other, $third_one;
$later->stop('immediate');
$other->promote;
my $new = follower('new', $other);
$four->append_conf('postgresql.conf', "uidgen.registry = '" . hosts($other) . "'");
$four->reload;
is(scalar(draw_numbers($four, 'bills', 350)), 350, '... and it is, whichever it is');
one_by_one('bills', 'confirmed by one', in_order => 1);

done_testing();
