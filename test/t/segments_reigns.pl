# What no failover_gap covers is noticed, and stops the segment for all until its owner raises it: two failovers in a row,
# of which the second server knows nothing of the first; a copy of the registry's files that is started as it is; a backup
# on a host that servers are pointed to; and a random plan of all of these.  Where no timeline can be known, each start
# leaves the gap out; a base backup that is started as it is leaves it out once; a restart does not.  With
# segments_confirmed, numbers are given out when as many standbys as the registry had, or as its owner says, know of a failover.
#
#	UIDGEN_SEGMENTS='--rounds 100' ./check test/t/segments_reigns.pl
#
# --seed N       the random plan; printed in any case
# --rounds N     (3)

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use Getopt::Long;
use List::Util qw(shuffle);
use Numbers;
use UidgenTest;

my %options = (seed => time ^ $$, rounds => 3);
unshift @ARGV, split ' ', $ENV{UIDGEN_SEGMENTS} // '';
GetOptions(\%options, 'seed=i', 'rounds=i', 'numbers=i', 'seconds=i') or die "see the head of $0\n";
note "seed $options{seed}";

my $GAP = 5000;
my $STOPPED = qr/ERROR:  55000: .*the registry has stopped it, as numbers may have been given out twice.*raise_segment\(\)/s;
my $NONE = qr/ERROR:  55000: .*no standby of the registry has replayed its failover so far.*raise_segment\(\)/s;
my $TIMELINE = 'SELECT timeline FROM uidgen_registry.registry_history()';

# The servers that draw, in all scenes; the first registry is made for them.
my ($one, $two, $three);

# A registry with these segments, and standbys that follow it.
sub set_up
{
	my ($name, $standbys, @segments) = @_;
	my $registry = fleet_registry($name);
	# For the subscriber of a scene.
	$registry->append_conf('postgresql.conf', 'wal_level = logical');
	$registry->restart;
	ranges_of_100($registry, $GAP, @segments);
	return ($registry, map { standby_of($registry, "${name}_$_") } 1 .. $standbys);
}

# From now on they go by the registry on these hosts.
sub go_by
{
	my (@registries) = @_;
	# No answer is lost to a busy machine.
	($one, $two, $three) = map { fleet_node($_, hosts(@registries), "uidgen.registry_timeout = '1min'") } qw(one two three) if !$one;
	change_setting($_, 'uidgen.registry', hosts(@registries)) foreach $one, $two, $three;
	return;
}

# It follows another server, or none.
sub follows
{
	my ($standby, $of) = @_;
	$standby->append_conf('postgresql.conf', 'primary_conninfo = \'' . ($of ? $of->connstr . ' application_name=' . $standby->name : '') . '\'');
	$standby->restart;
	return;
}

# A server is lost, once the others have all that they are to have; another one takes over.
sub takes_over
{
	my ($next, $from, @followers) = @_;
	await_keeper($_) foreach $one, $two, $three;
	$from->wait_for_catchup($_) foreach @followers;
	$from->stop('immediate');
	$next->promote;
	return;
}

sub all_stopped
{
	my ($segment, @servers) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	like((draw_all_numbers($_, $segment))[1], $STOPPED, "... $segment is stopped for " . $_->name) foreach @servers;
	return;
}

# ---- two failovers, of which the second server has not seen the first ----

my ($registry, $first, $second) = set_up('registry', 2, qw(noticed late orders));
go_by($registry, $first, $second);
foreach my $segment (qw(noticed late orders))
{
	draw_numbers($_, $segment, 50) foreach $one, $two;
}
takes_over($first, $registry, $first, $second);
draw_numbers($one, $_, 350) foreach qw(noticed late);
await_keeper($one);
cmp_ok(highest('noticed', $one), '>', $GAP, 'a first server takes over, and gives out numbers above the gap');
# The second one never followed that one.
takes_over($second, $first);
is($second->safe_psql('postgres', $TIMELINE), 2, 'a second one takes over, on the same timeline');
# Who knows comes first.
all_stopped('noticed', $one, $two, $three);
is($second->safe_psql('postgres', q{SELECT string_agg(name, ' ') FROM uidgen_registry.segment WHERE stopped IS NOT NULL}), 'noticed', '... and no other segment is');
my $evidence = segment($second, 'noticed', 'evidence');
cmp_ok($evidence, '>=', highest('noticed', $one), '... and how far it was given numbers is written down');
$second->safe_psql('postgres', "SELECT uidgen_registry.raise_segment('noticed', $evidence)");
draw_numbers($_, 'noticed', 250) foreach $one, $two, $three;
one_by_one('noticed', 'raised, it goes on', in_order => 1);

# Others come first: their numbers do repeat, up to the first call of who knows.
draw_numbers($two, 'late', 350);
cmp_ok(common('late', $one, $two), '>', 100, 'who knows nothing of the first one is given the same numbers');
await_keeper($two);
all_stopped('late', $one);
draw_all_numbers($two, 'late');
my $last = segment($second, 'late', 'last_value');
all_stopped('late', $two, $three);
is(segment($second, 'late', 'last_value'), $last, '... and nobody gets any from the registry');
$second->safe_psql('postgres', q{SELECT uidgen_registry.raise_segment('late', greatest(last_value, evidence)) FROM uidgen_registry.segment WHERE name = 'late'});
my @later = map { draw_numbers($_, 'late', 250) } $three, $one, $two;
is(repeated(\@later), 0, 'raised, it goes on without repeating any');
# A segment that nobody drew from the first server has nothing to be stopped for.
draw_numbers($_, 'orders', 250) foreach $one, $two, $three;
one_by_one('orders', 'a segment that the first one gave nothing of goes on', in_order => 1);

# ---- a copy of the files, started as it is ----

draws_more($_, 'orders') foreach $one, $two;
take_snapshot($second);
$second->safe_psql('postgres', q{SELECT count(*) FROM uidgen_registry.segment});
$last = segment($second, 'orders', 'last_value');
draws_more($one, 'orders');
is((segment($second, 'orders', 'last_value') - $last) % 100, 0, 'a restart leaves no number out');
cmp_ok(segment($second, 'orders', 'cardinality(reigns)'), '>', 1, '... though it is a reign');
set_back($second);
is($second->safe_psql('postgres', $TIMELINE), 2, 'a snapshot is started as it is, without another timeline');
draws_more($three, 'orders');
cmp_ok(common('orders', $one, $three), '>', 100, '... and who knows of nothing later is given numbers that were given out');
all_stopped('orders', $one);
draw_all_numbers($three, 'orders');
all_stopped('orders', $two, $three);
$second->stop('immediate');

# ---- where no timeline can be known ----

my ($managed, $follower) = set_up('managed', 1, 'invoices');
$managed->safe_psql('postgres', slurp_file("$FindBin::RealBin/../../docs/registry-server.md") =~ /^(CREATE OR REPLACE FUNCTION uidgen_registry\.registry_history\(.*?^AS \$\$.*?\$\$;)$/ms);
is($managed->safe_psql('postgres', $TIMELINE), '0', 'a registry whose timeline cannot be known, by the function of the page');
is($managed->safe_psql('postgres', 'SELECT timeline FROM uidgen_registry.registry_identity()'), '1001', '... while nodes are told a later one than before');
go_by($managed, $follower);
draw_numbers($_, 'invoices', 50) foreach $one, $two;
await_keeper($_) foreach $one, $two;
$managed->wait_for_catchup($follower);
follows($follower, undef);
draws_more($one, 'invoices');
my $lost = highest('invoices');
takes_over($follower, $managed);
$follower->stop('immediate');
$follower->start;
draw_numbers($two, 'invoices', 450);
cmp_ok(highest('invoices'), '>', $GAP, 'it fails over, and leaves the gap out, though nobody asks who knows of a loss');
draw_numbers($one, 'invoices', 150);
one_by_one('invoices', 'a failover', in_order => 1);
cmp_ok($lost, '>', segment($follower, 'invoices', 'reign_ends[cardinality(reign_ends)]') - 1, 'numbers were lost in it');
await_keeper($_) foreach $one, $two;
$last = segment($follower, 'invoices', 'last_value');
$follower->restart;
draws_more($one, 'invoices');
cmp_ok(segment($follower, 'invoices', 'last_value'), '>=', $last + $GAP, 'each start may be a failover, so a restart leaves it out as well');
$follower->stop('immediate');

# ---- a base backup that is started as it is ----

($registry) = set_up('backed_up', 0, qw(rents idle));
my ($restored, $moved) = map { PostgreSQL::Test::Cluster->new($_) } qw(restored moved);
go_by($registry, $restored);
draw_numbers($one, $_, 50) foreach qw(rents idle);
await_keeper($one);
$registry->backup('base');
draws_more($one, $_) foreach qw(rents idle);
my %given = map { $_ => segment($registry, $_, 'last_value') } qw(rents idle);
$registry->stop('immediate');
$restored->init_from_backup($registry, 'base');
$restored->start;
is($restored->safe_psql('postgres', $TIMELINE), 1, 'a backup is started as it is, on the same timeline');
cmp_ok((draw_numbers($two, 'rents', 50))[0], '>', $given{rents}, '... and who begins is given numbers above the gap');
$restored->restart;
cmp_ok((draw_numbers($two, 'idle', 50))[0], '>', $given{idle}, '... also of a segment of which nobody had asked when it was restarted');
foreach my $mode (qw(fast immediate))
{
	await_keeper($two);
	$last = segment($restored, 'rents', 'last_value');
	$restored->stop($mode);
	$restored->start;
	draws_more($two, 'rents');
	cmp_ok(segment($restored, 'rents', 'last_value'), '<', $last + $GAP, "... a later start leaves nothing out ($mode)");
}
draw_numbers($one, $_, 250) foreach qw(rents idle);
one_by_one($_, "restored: $_") foreach qw(rents idle);

# ---- a backup on another host, which servers are pointed to ----

ranges_of_100($restored, 500, 'moved');
draw_numbers($_, 'moved', 50) foreach $one, $two;
$restored->backup('backup');
draw_numbers($one, 'moved', 2000);
await_keeper($one);
restored_from($moved, $restored, 'backup');
is($moved->safe_psql('postgres', $TIMELINE), 2, 'a backup is restored on another host, on a timeline of its own');
go_by($moved);
draw_numbers($two, 'moved', 900);
await_keeper($two);
note(common('moved', $one, $two) . ' numbers are given out twice');
my $err = draw_to_error($one, 'moved', '2s', $STOPPED);
note(segment($moved, 'moved', 'last_value, stopped, evidence'));
like($err, $STOPPED, 'a server that was given these before calls the registry: the segment is stopped');
$moved->stop('immediate');

# ---- with segments_confirmed, three servers of a registry ----

my $third;
($first, $second, $third) = set_up('first', 2, 'bills');
go_by($first, $second, $third);
fails_with($first, 'SELECT uidgen_registry.change_registry(confirming_standbys => -1)', '22023', qr/the number of standbys cannot be -1/, 'the number of standbys is checked');
$first->safe_psql('postgres', 'SELECT uidgen_registry.change_registry(segments_confirmed => true); CREATE TABLE t (i integer); CREATE PUBLICATION p FOR TABLE t');
my $STANDBYS = q{SELECT array_to_string(ARRAY(SELECT unnest(standbys) ORDER BY 1), ' '), confirming_standbys FROM uidgen_registry.registry};
is($first->safe_psql('postgres', $STANDBYS), 'first_1 first_2|', 'confirmed: it is known which standbys there are');
draw_numbers($_, 'bills', 50) foreach $one, $two;
await_keeper($_) foreach $one, $two;
$first->wait_for_catchup($_) foreach $second, $third;

# The third one is cut off, and the second takes over; the former primary follows it.
follows($third, undef);
takes_over($second, $first);
my $again = standby_of($second, 'first_again');
my $TOO_FEW = qr/too few standbys/;
like(draw_to_error($one, 'bills', '3s', $TOO_FEW), qr/ERROR:  55000: .*too few standbys of the registry have replayed its failover so far.*HINT: .*Start the other standbys of the registry\..*raise_segment\(\)/s,
	'a standby is cut off: who took over gives nothing, though the former primary follows, and has confirmed');
like($second->safe_psql('postgres', "SELECT detail FROM uidgen_registry.explain_unconfirmed('0/1')"),
	qr{^The log has to be replayed up to 0/0*1 by all standbys that follow, and by those that followed before, but for this server: "first_1", "first_2", "first_again"\. It has been by: "first_again"\.$},
	'... and says who is missing');
# It takes over, of which nobody has told it.
takes_over($third, $second);
my $later = standby_of($third, 'later');
like(draw_to_error($two, 'bills', '3s', $TOO_FEW), $TOO_FEW, '... so it may take over, and repeats nothing');
$third->safe_psql('postgres', 'SELECT uidgen_registry.change_registry(confirming_standbys => 0)');
is($third->safe_psql('postgres', $STANDBYS), 'later|', '... until its owner says that those are all that follow now');
draw_numbers($_, 'bills', 350) foreach $one, $two;
one_by_one('bills', 'two failovers', in_order => 1);

# Of those that followed before, one follows the new primary.
my $other = standby_of($third, 'other');
draws_more($two, 'bills');
is($third->safe_psql('postgres', $STANDBYS), 'later other|', 'a standby that comes later counts as well');
takes_over($later, $third, $later, $other);
go_by($later);
like(draw_to_error($one, 'bills', '3s', $NONE), $NONE, '... after the next failover none follows at first');
# A subscriber of logical replication is in pg_stat_replication, too.
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init;
$subscriber->start;
$subscriber->safe_psql('postgres', q{CREATE TABLE t (i integer); CREATE SUBSCRIPTION s CONNECTION '} . $later->connstr . q{ dbname=postgres' PUBLICATION p});
$later->safe_psql('postgres', 'INSERT INTO t VALUES (1)');
$subscriber->poll_query_until('postgres', 'SELECT count(*) = 1 FROM t') or die;
like(draw_to_error($one, 'bills', '5s', $NONE), $NONE, '... nor is a subscriber a standby');
is(segment($later, 'bills', 'unconfirmed IS NOT NULL'), 't', '... which could not take over');
$subscriber->stop;
my $waiting = start_numbers($two, 'bills', 20);
follows($other, $later);
is(scalar(finish_numbers($waiting)), 20, '... and numbers are given when the other standby follows');
is($later->safe_psql('postgres', $STANDBYS), 'other|', '... which is all that there is now');
draw_numbers($_, 'bills', 350) foreach $one, $two;

# An election that asks two of three.
my $third_one = standby_of($later, 'third_one');
draws_more($two, 'bills');
is($later->safe_psql('postgres', 'SELECT uidgen_registry.change_registry(confirming_standbys => 1); ' . $STANDBYS), "\nother third_one|1", 'the owner says that one standby is enough');
takes_over($other, $later, $other, $third_one);
my $new = standby_of($other, 'new');
go_by($other, $new);
is(scalar(draw_numbers($one, 'bills', 350)), 350, '... and it is, whichever it is');
draws_more($two, 'bills');
takes_over($new, $other, $new);
draw_all_numbers($one, 'bills', '3s');
$new->safe_psql('postgres', q{SELECT uidgen_registry.raise_segment('bills', 0)});
draw_numbers($_, 'bills', 350) foreach $two, $one;
one_by_one('bills', 'confirmed: failovers, and the owner\'s word where no standby is left', in_order => 1);
$_->stop('immediate') foreach $new, $third_one, $one, $two, $three;

# ---- a random plan ----

# Three servers of a registry take over from each other in quick succession, lose what was committed last, are restarted and
# are set back.  The calls are those of keepers, made here.  The registry writes a diary, which is kept and lost with the
# ranges.  Beside it a control, whose callers say nothing of the course that the registry took, must repeat numbers unnoticed.
my @NODES = (0 .. 3);
my @SEGMENTS = qw(ours control);
my $template = fleet_registry('template_of_rounds');
$template->safe_psql('postgres', <<"END");
CREATE TABLE diary (segment text, node text, low bigint, high bigint);
CREATE FUNCTION write_diary() RETURNS trigger LANGUAGE plpgsql AS \$\$
BEGIN
	IF new.last_value > old.last_value AND new.run_start IS NOT NULL THEN
		INSERT INTO public.diary VALUES (new.name, current_setting('test.node'), new.last_value - 9, new.last_value);
	END IF;
	RETURN NULL;
END \$\$;
CREATE TRIGGER diary AFTER UPDATE ON uidgen_registry.segment FOR EACH ROW EXECUTE FUNCTION write_diary();
SELECT uidgen_registry.create_segment(s, step => 10) FROM unnest('{@{[join ',', @SEGMENTS]}}'::text[]) AS s;
SELECT uidgen_registry.change_segment(name, failover_gap => 3000) FROM uidgen_registry.segment;
END
$template->backup('round');
$template->stop;

my (%sum, @wrong);

foreach my $round (1 .. $options{rounds})
{
	srand($options{seed} * 1_000_003 + $round);
	my @story;
	my @servers = map { PostgreSQL::Test::Cluster->new("r${round}_$_") } 0 .. 2;
	my ($leader, @standbys) = @servers;
	$leader->init_from_backup($template, 'round');
	$leader->append_conf('postgresql.conf', "max_wal_senders = 5\nwal_level = replica");
	$leader->start;
	$leader->backup('standby');
	foreach my $standby (@standbys)
	{
		$standby->init_from_backup($leader, 'standby', has_streaming => 1);
		$standby->start;
	}
	my (%knows, %is_stopped, $snapshot);		# segment, node: what it was told

	my $fetch = sub {
		my ($segment, $node) = @_;
		my $k = $knows{$segment}{$node} //= { incarnation => 0, version => 0, course => '{}', highest => -1, timeline => 0, runs => [] };
		my $course = $segment eq 'control' ? '{}' : $k->{course};
		my ($first, $last, $incarnation, $version, $got, $refusal, $timeline) = split /\|/, (split /\n/, $leader->safe_psql('postgres', <<"END"))[-1];
			SELECT set_config('test.node', '$node', false);
			SELECT first_value, last_value, incarnation, version, course, refusal, timeline
			FROM uidgen_registry.segment_fetch('$segment', 10, $k->{incarnation}, $k->{version}, '$course', $k->{highest}, 9223372036854775807)
END
		# It does not use what a server says that was left behind.
		return 'old' if $timeline < $k->{timeline};
		$k->{timeline} = $timeline;
		if ($refusal ne '')
		{
			$is_stopped{$segment} = 1;
			return 'stopped';
		}
		push @wrong, "round $round: $segment was stopped, and gave $first" if $is_stopped{$segment};
		push @wrong, "round $round: $segment gave $first after $k->{highest}" if $first <= $k->{highest};
		@$k{qw(incarnation version course highest)} = ($incarnation, $version, $got, $last);
		push @{ $k->{runs} }, $first .. $last;
		return 'given';
	};
	my $draw = sub {
		my ($times) = @_;
		foreach (1 .. $times)
		{
			my $node = $NODES[ rand @NODES ];
			$fetch->($_, $node) foreach @SEGMENTS;
		}
	};
	my $fail_over = sub {
		return if !@standbys;
		my ($next) = splice @standbys, rand @standbys, 1;
		# The others stay as they are: they have not begun to follow it when it fails.
		$leader->stop('immediate');
		$next->promote;
		$leader = $next;
		push @story, 'failover';
		%is_stopped = ();
	};
	my $cut = sub {
		my ($standby) = shuffle @standbys or return;
		$standby->append_conf('postgresql.conf', "primary_conninfo = ''");
		$standby->reload;
		push @story, 'cut';
	};
	my $restart = sub { $leader->stop('immediate'); $leader->start; push @story, 'restart' };
	my $take_snapshot = sub { $snapshot = $leader; system_or_bail('rm', '-rf', $leader->backup_dir . '/snapshot'); take_snapshot($leader); push @story, 'snapshot' };
	my $set_back = sub {
		return if !$snapshot || $snapshot != $leader;
		# Another course of the same timeline must not be written over what the standbys have: its WAL would begin in
		# the midst of theirs, and a promotion would end in a PANIC.
		$leader->stop('immediate');
		follows($_) foreach @standbys;
		set_back($leader);
		undef $snapshot;
		push @story, 'set back';
		%is_stopped = ();
	};

	$draw->(2 + rand 4);
	if (rand > 0.3)
	{
		# In quick succession.
		$cut->() if rand > 0.5;
		$draw->(1 + rand 3);
		$fail_over->();
		$draw->(1 + rand 4);
		$fail_over->();
	}
	foreach (1 .. rand 4)
	{
		my $act = rand;
		($act < 0.35 ? $fail_over : $act < 0.5 ? $restart : $act < 0.75 ? $take_snapshot : $set_back)->();
		$draw->(rand 4);
	}
	$set_back->() if $snapshot && rand > 0.3;
	$draw->(rand 4);

	# All call once more.  Whose numbers others were given by this server stops the segment.
	my %given;
	foreach my $line (split /\n/, $leader->safe_psql('postgres', 'SELECT * FROM diary'))
	{
		my ($segment, $node, $low, $high) = split /\|/, $line;
		push @{ $given{$segment}{$node} }, $low .. $high;
	}
	foreach my $segment (@SEGMENTS)
	{
		my $twice = repeated([ map { @{ $_->{runs} } } values %{ $knows{$segment} } ]);
		$sum{"$segment: numbers"} += @{ $_->{runs} } foreach values %{ $knows{$segment} };
		$sum{"$segment: numbers"} -= $twice;
		$sum{"$segment: numbers that came again"} += $twice;
		$sum{"$segment: rounds in which some did"}++ if $twice;
		foreach my $node (shuffle keys %{ $knows{$segment} })
		{
			my %others = map { $_ => 1 } map { @{ $given{$segment}{$_} } } grep { $_ ne $node } keys %{ $given{$segment} };
			my $both = grep { $others{$_} } @{ $knows{$segment}{$node}{runs} };
			my $result = $fetch->($segment, $node);
			push @wrong, "round $round: node $node has $both numbers that others were given, and is given more (@story)"
			  if $both && $result eq 'given' && $segment eq 'ours';
		}
		$sum{"$segment: rounds in which it was stopped in the end"}++ if $is_stopped{$segment};
		$sum{"$segment: rounds with repeated numbers that were not stopped"}++ if $twice && !$is_stopped{$segment};
	}
	note "round $round: @story";
	$_->stop('immediate') foreach $leader, @standbys;
	system_or_bail('rm', '-rf', map { $_->basedir } @servers);
}

note sprintf '%-64s %8d', $_, $sum{$_} foreach sort keys %sum;
ok(!@wrong, 'who was given numbers that others were given stops the segment, and then nobody is given any') or diag(join "\n", @wrong);
cmp_ok($sum{'control: numbers that came again'} // 0, '>', 0, 'numbers of the control come twice') if $options{rounds} > 9;
cmp_ok($sum{'control: rounds with repeated numbers that were not stopped'} // 0, '>', 0, '... and nobody notices') if $options{rounds} > 9;
done_testing();
