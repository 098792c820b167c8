# Proves that a registry which was copied within the server (CREATE DATABASE ...
# TEMPLATE) counts as a copy, like a registry that was copied from another server: if
# the server changes to the copy while it runs, at a restart or after a crash, it takes
# another worker id there, and no id is issued twice; back in the original it goes on
# as before.  And that a database which is only renamed goes on as the registry.
# pg_regress cannot restart its server.
#
# The clock stands still, so that it cannot keep ids apart.  A copy does not know which
# worker ids another copy has taken, so there are a million to choose from.
# Promise: P1
# Kills: script/registry/20_local.sql pin_layout: IF pinned.database <> l.database OR uidgen_registry.is_made_anew(pinned.made, l.made) THEN => IF pinned.database <> l.database AND uidgen_registry.is_made_anew(pinned.made, l.made) THEN

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use UidgenTest;

my ($node, $clock, $worker_bits, @all);

sub begin_server
{
	($worker_bits) = @_;
	$node = uidgen_node("bits_$worker_bits", "uidgen.layout = 'time:39:1ms worker:$worker_bits sequence:2 epoch:2025-01-01'",
		'restart_after_crash = on', "uidgen.database = 'registry'", "uidgen.wait_timeout = '1h'");
	$clock = FakeClock->new($node);
	$clock->under(sub { $node->start });
	$node->safe_psql('postgres', $_) foreach 'CREATE DATABASE registry', 'CREATE EXTENSION uidgen';
	$clock->stop(int($clock->now) + 1);
	@all = ();
	return;
}

# Draw; returns the worker id, which must be one.
sub draw
{
	my ($name) = @_;
	my @ids = split /\n/, $node->safe_psql('postgres', 'SELECT uid_next() FROM generate_series(1, 100)');
	my %workers = map { ($_ >> 2 & (1 << $worker_bits) - 1) => 1 } @ids;

	push @all, \@ids;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(repeated(@all), 0, "$name: no id is issued twice");
	is(scalar keys %workers, 1, "$name: of one worker id");
	return (keys %workers)[0];
}

# Have the keeper leave the registry's database alone.
sub let_go
{
	# Where no other one comes by itself before the clock moves, none is called: it would connect.
	if (is_late())
	{
		my $keeper = keeper_pid($node);
		kill $_[0] // 'TERM', $keeper if $keeper;
		poll_until(sub { keeper_pid($node) ne $keeper }) or die 'the keeper does not end';
	}
	else
	{
		end_keeper($node, @_) or die 'no other keeper has begun';
	}
	$node->poll_query_until('postgres', 'SELECT true');
	return;
}

sub use_registry
{
	my ($database) = @_;
	$node->safe_psql('postgres', "ALTER SYSTEM SET uidgen.database = '$database'");
	$node->reload;
	$node->poll_query_until('postgres', 'SHOW uidgen.database', $database) or die;
	return;
}

sub replace_by_copy
{
	let_go();
	$node->safe_psql('postgres', $_)
	  foreach 'ALTER DATABASE registry RENAME TO old', 'CREATE DATABASE registry TEMPLATE old', 'DROP DATABASE old';
	return;
}

sub restart
{
	my ($mode) = @_;
	$node->stop($mode);
	$clock->under(sub { $node->start });
	return;
}

sub free_worker_ids
{
	return $node->safe_psql('postgres', 'SELECT free_worker_ids FROM uidgen.status');
}

# ---- a copy, while the server runs ----

begin_server(22);
my $worker = draw('the registry');
is(free_worker_ids(), 2**22 - 1, 'uidgen.status knows how many worker ids are left');
my $oid = $node->safe_psql('registry', 'SELECT database FROM uidgen_registry.registry');
is($node->safe_psql('postgres', "SELECT datname FROM pg_database WHERE oid = $oid"), 'registry', 'the registry knows its database');

# A grant that is held, and one that was handed back.
let_go('KILL');
$node->safe_psql('postgres', 'CREATE DATABASE held TEMPLATE registry');
is(draw('after a crash'), $worker, 'after a crash: the same worker id');
let_go();
$node->safe_psql('postgres', 'CREATE DATABASE released TEMPLATE registry');
is(draw('after the end of the keeper'), $worker, 'after the end of the keeper: the same worker id');

my %worker_in = (registry => $worker);
foreach my $copy ('held', 'released')
{
	# The grant in hand is not used up: another registry begins with one of its own.
	use_registry($copy);
	let_go();
	# A keeper that leaves the former registry by itself leaves its grant in force, until the next one has another.
	await_keeper($node);
	$worker_in{$copy} = draw("a copy ($copy)");
	isnt($worker_in{$copy}, $worker, "a copy ($copy): another worker id");
	is( $node->safe_psql($copy, "SELECT identity FROM uidgen_registry.worker_node WHERE worker_id = $worker") =~ s/: .*//r,
		"copied from database $oid", "a copy ($copy): the rows are another's");
	is(free_worker_ids(), 2**22 - 2, "a copy ($copy): two worker ids are taken");
}

foreach my $mode ('fast', 'immediate')
{
	foreach my $registry ('held', 'released', 'registry')
	{
		use_registry($registry);
		restart($mode);
		is(draw("$registry after a restart ($mode)"), $worker_in{$registry}, "$registry after a restart ($mode): the worker id that it had there");
	}
}

# ---- a copy that takes the place of the registry ----

replace_by_copy();
isnt(draw('a copy in the place of the registry'), $worker, 'a copy in the place of the registry: another worker id');

# With a grant in hand that the copy does not know.
my $before = draw('the copy');
let_go();
$node->safe_psql('postgres', 'CREATE DATABASE next TEMPLATE registry');
is(draw('the copy'), $before, 'the copy: the same worker id again');
drop_database($node, 'registry');
$node->safe_psql('postgres', 'ALTER DATABASE next RENAME TO registry');
draw('the grant in hand, and then a copy of the copy');
restart('fast');
isnt(draw('a copy of the copy'), $before, 'a copy of the copy: another worker id');

# ---- renamed ----

$worker = draw('the registry');
my $name = 'registry';
foreach my $mode ('fast', 'immediate', 'running')
{
	let_go();
	$node->safe_psql('postgres', "ALTER DATABASE $name RENAME TO named_$mode");
	$name = "named_$mode";
	use_registry($name);
	restart($mode) if $mode ne 'running';
	is(draw("renamed ($mode)"), $worker, "renamed ($mode): the same worker id");
}
$node->stop;

# ---- few worker ids are left ----

# Each copy takes one more.
begin_server(2);
my $log = -s $node->logfile;
foreach my $left (3, 2, 1, 0)
{
	replace_by_copy() if $left < 3;
	draw("$left worker ids left");
	is(free_worker_ids(), $left, "$left worker ids left: uidgen.status knows");
}
is(join(' ', log_since($node, $log) =~ /WARNING:  few worker ids are left: (\d+)/g), '2 1 0', 'the log warns when few are left');
replace_by_copy();
fails_with($node, 'SELECT uid_next()', '53400', qr/no worker id is free.*4 belong to other instances.*HINT:.*forget_worker/s,
	'then there are no ids');
$node->safe_psql('registry', "SELECT uidgen_registry.forget_worker($_)") foreach 0 .. 3;
draw('forgotten');
is(free_worker_ids(), 3, 'those that are forgotten can be used again');
$node->stop;

done_testing();
