# The registry does not answer for longer than a call may wait, or a segment fails for a reason of its own.  Calls draw
# what the buffers have, exactly as uidgen.segment_status foretold, and then say why there is no more; ids and other
# segments go on, and so do the numbers afterwards, by themselves.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use Numbers;
use UidgenTest;

# Grants outlast the outages of this test, and while there is none, nothing comes too late on a busy machine.
my @CONF = ("uidgen.window = '4min'", "uidgen.registry_timeout = '1min'");
my $registry = fleet_registry('registry', max_lead => '10 minutes');
my $server = fleet_node('server', hosts($registry), @CONF);
my $bystander = fleet_node('bystander', hosts($registry), @CONF);

sub left
{
	my ($node, $segment) = @_;
	return segment_status($node, $segment, 'numbers_left');
}

# Draw all that there is in several sessions at once: as much as was foretold, and the error says why there is no more.
# On a busy machine a call's time may be over before the keeper has met what is in the way; then the session begins again.
sub runs_dry
{
	my ($node, $segment, $why, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	local $ENV{PGOPTIONS} = '-c uidgen.wait_timeout=1s';
	my $left = left($node, $segment);
	my @drawings = map { start_numbers($node, $segment) } 1 .. 3;
	my $drawn = 0;
	foreach my $drawing (@drawings)
	{
		my $err;
		poll_until(
			sub {
				$drawn += finish_numbers($drawing);
				$err = slurp_file("$drawing->{file}.err");
				return 1 if $err !~ /^ERROR:  segment "$segment" has no numbers to draw$/m;
				$drawing = start_numbers($node, $segment);
				return 0;
			});
		like($err, qr/^ERROR:  segment "$segment" has no numbers to draw: $why/, "$name: calls fail");
	}
	is($drawn, $left, '... after all numbers that were left');
	fails_with($node, "SELECT uid_segment_next('$segment')", '55000', $why, '... and have a SQLSTATE');
	return is(left($node, $segment), 0, '... and none is left');
}

# Both buffers full, and nothing on its way.
sub fill
{
	my ($node, $segment) = @_;
	fetch_numbers($node, $segment, 2);
	return;
}

# Waits and failures of ids and of a segment.
sub troubles
{
	my ($node, $segment) = @_;
	return status_of($node, 'waits || $$ $$ || failures') . ' ' . segment_status($node, $segment, 'waits || $$ $$ || failures');
}

# ---- the registry is frozen, and stopped ----

create_segment($registry, qq{'$_', step => 400}) foreach qw(orders bills parcels);
# However fast they are drawn, they are not longer.
$registry->safe_psql('postgres', by_hand('UPDATE uidgen_registry.segment SET max_step = 400'));
foreach my $how (qw(frozen stopped))
{
	fill($server, $_) foreach qw(orders bills parcels);
	fill($bystander, 'orders');
	cmp_ok(left($server, 'orders'), '>', 400, "$how: a server has numbers in both buffers");
	$server->safe_psql('postgres', 'SELECT uid_next()');
	my $waits = segment_status($server, 'bills', 'waits');
	my @stopped;
	if ($how eq 'frozen')
	{
		change_setting($server, 'uidgen.registry_timeout', '500ms');
		@stopped = stop_processes($registry);
	}
	else
	{
		$registry->stop('immediate');
	}
	runs_dry($server, 'orders', $how eq 'frozen' ? qr/.*(?:did not answer|could not connect|timeout)/ : qr/could not connect/, $how);
	my $sqlstate = (sqlstate_of($server, 'SELECT uid_next() FROM generate_series(1, 10000)'))[0];
	is($sqlstate, '', '... ids go on');
	is(scalar(draw_numbers($server, 'bills', 300)), 300, '... and so do other segments');
	is(segment_status($server, 'bills', 'waits'), $waits, '... without a wait');
	is(scalar(draw_numbers($bystander, 'orders', 200)), 200, '... and other servers');

	# Whoever may wait for long enough is served.
	my @waiting = map { start_numbers($server, 'orders', 100) } 1 .. 3;
	ok($server->poll_query_until('postgres', q{SELECT count(*) = 3 FROM pg_stat_activity WHERE query LIKE '%uid_segment_next%' AND wait_event_type = 'Extension'}),
		'... and calls with more time wait');
	if ($how eq 'frozen')
	{
		kill 'CONT', @stopped;
		change_setting($server, 'uidgen.registry_timeout', '1min');
	}
	else
	{
		$registry->start;
	}
	is(finish_numbers($_), 100, 'the registry is back: who waits is served') foreach @waiting;
	is(scalar(draw_numbers($server, $_, 1000)), 1000, "... $_ go on") foreach qw(orders bills parcels);
	ok(poll_until(sub { segment_status($server, 'orders', 'state') eq 'ready' }), '... and the status says so');
	one_by_one($_, "$how, $_") foreach qw(orders bills);
}

# ---- a segment fails for a reason of its own ----

# One after the other, while ids and another segment are drawn.  A range of that one lasts for longer than the keeper
# may have to wait for a processor.
create_segment($registry, q{'other', step => 200000});
create_segment($registry, q{'gone', step => 400});
$registry->safe_psql('postgres', by_hand(q{UPDATE uidgen_registry.segment SET max_step = 400 WHERE name = 'gone'}));
create_segment($registry, q{'ends', step => 400, max_value => 1000});

my $ids = start_drawing($server);
my $other = start_numbers($server, 'other');
ok(await_drawing($ids, 1000) && await_drawing($other, 1000), 'ids and another segment are drawn');
await_keeper($server);
my $before = troubles($server, 'other');

# While a forgotten transaction has the row, calls wait: it may end.
my $forgotten = $registry->background_psql('postgres');
fill($server, 'orders');
$forgotten->query_safe(q{BEGIN; SELECT FROM uidgen_registry.segment WHERE name = 'orders' FOR UPDATE});
runs_dry($server, 'orders', qr/canceling statement due to lock timeout/, 'a forgotten transaction locks the row');
# A session that waits asks again and again.
my $waiting = start_numbers($server, 'orders', 10);
my $failures = segment_status($server, 'orders', 'failures');
ok($server->poll_query_until('postgres', "SELECT failures > $failures + 3 FROM uidgen.segment_status WHERE name = 'orders'"), '... the keeper asks again and again');
ok(await_drawing($ids, 1000) && await_drawing($other, 1000), '... and the others go on');
$forgotten->query_safe('COMMIT');
is(finish_numbers($waiting), 10, '... and then there are numbers');
$forgotten->quit;

fill($server, 'gone');
$registry->safe_psql('postgres', q{SELECT uidgen_registry.drop_segment('gone')});
my $left = left($server, 'gone');
my ($drawn, $err) = draw_all_numbers($server, 'gone');
like($err, qr/ERROR:  42704: .*the segment was dropped/, 'dropped');
is($drawn + segment_status($server, 'gone', 'lost'), $left, '... what was left is given out, or counted as lost');
($drawn, $err) = draw_all_numbers($server, 'ends');
like($err, qr/ERROR:  2200H: /, 'used up');
is($drawn, 1000, '... after all of its numbers');
# Calls that fail all the time, beside a session that waits for each number: a failure is told only to those whose
# segment it is.
create_segment($registry, q{'single', step => 1});
$registry->safe_psql('postgres', by_hand(q{UPDATE uidgen_registry.segment SET max_step = 1 WHERE name = 'single'}));
my $single = start_numbers($server, 'single');
ok(await_drawing($single, 1), 'a session draws a segment whose ranges have one number');
my @failing = map { my $segment = $_; IPC::Run::start([ $server->installed_command('psql'), '-XAtq', '-d', $server->connstr('postgres') ],
		'<', \("SELECT uid_segment_next('$segment');\n" x 4), '>', \my $out, '2>', \my $said) } qw(gone ends unknown);
ok(await_drawing($ids, 1000) && await_drawing($other, 1000), 'calls that fail all the time: the others go on');
$_->finish foreach @failing;
ok(await_drawing($single, 1), '... also one that waits for each of its numbers');
stop_numbers($single);
is(segment_status($server, 'single', 'failures'), 0, '... and nothing of it failed');
is(troubles($server, 'other'), $before, '... and none of this was a wait or a failure of theirs');
is(repeated(stop_drawing($ids)), 0, '... and no id came twice');
stop_numbers($other);
one_by_one($_, $_) foreach qw(orders other gone ends single);
$_->stop('fast') foreach $server, $bystander, $registry;

done_testing();
