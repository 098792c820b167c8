# monitoring/: what is there is made of uidgen.list; every query runs as a member of pg_monitor, in the form of each exporter; and each alert
# fires by its fault and goes out again, as promtool sees it, of what the queries say before, during and after the fault.  An outage is played
# with the default lengths, and whoever is woken is woken before calls fail.  Without promtool (Debian's package prometheus) the rules are not judged.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use Fleet;
use JSON::PP;
use POSIX ();
use UidgenTest;

my $monitoring = "$FindBin::RealBin/../../monitoring";

# ---- the files ----

my $made = PostgreSQL::Test::Utils::tempdir();
system($^X, "$monitoring/make.pl", $made) == 0 or die 'make.pl has failed';
my @files = map { m{([^/]+)$} } glob "$made/*";
is_deeply([ sort @files, 'make.pl', 'uidgen.list' ], [ sort map { m{([^/]+)$} } glob "$monitoring/*" ], 'each file is made of the list');
is(slurp_file("$monitoring/$_"), slurp_file("$made/$_"), "$_ is as made") foreach @files;

# The queries, as the list has them: name, place, SQL, labels, metrics with their kind.
my @queries;
foreach my $text (slurp_file("$monitoring/uidgen.list") =~ /^(query .*?)(?=^(?:query|alert) |\z)/msg)
{
	my %query = (sql => join(' ', $text =~ /^\tsql (.*)$/mg), labels => [ $text =~ /^\tlabel (\w+)/mg ], metrics => [ $text =~ /^\t(?:gauge|counter) (\w+)/mg ]);
	($query{name}) = $text =~ /^query (\w+)/;
	($query{on}) = $text =~ /^\ton (\w+)/m;
	push @queries, \%query;
}
my %metric = map { my $query = $_; map { ("$query->{name}_$_" => $query) } @{ $query->{metrics} } } @queries;
my $dashboard = decode_json(slurp_file("$monitoring/grafana.json"));
my @rows = grep { $_->{type} eq 'row' && $_->{collapsed} } @{ $dashboard->{panels} };
my %stat = map { $_->{title} => $_ } grep { $_->{type} eq 'stat' } @{ $dashboard->{panels} };
is_deeply([ map { $_->{type} } @{ $dashboard->{panels} } ], [ ('stat') x 6, ('row') x @rows ], 'the dashboard begins with six numbers, and the rest is folded');
my %shown = map { $_ => 1 } map { $_->{expr} =~ /(uidgen_\w+)/g } map { @{ $_->{targets} } } map { @{ $_->{panels} } } @rows;
is_deeply([ sort keys %shown ], [ sort keys %metric ], '... which shows each metric');
my @exprs = map { $_->{targets}[0]{expr} } map { $_, @{ $_->{panels} // [] } } grep { $_->{type} ne 'row' } values %stat, map { @{ $_->{panels} } } @rows;
is(join("\n", grep { /uidgen_\w+(?!\w|\{job=~"\$job",instance=~"\$instance"\})/ } @exprs), '', '... of the fleet and the servers that are chosen');
my %alerts = slurp_file("$monitoring/uidgen.list") =~ /^alert (\w+)\n(.*?)(?=^(?:alert|stat|#)|\z)/msg;
my %unknown = map { $_ => 1 } grep { !$metric{$_} } map { /\b(uidgen_\w+)\b/g } map { /^\texpr (.*)$/m } values %alerts;
is_deeply([ keys %unknown ], [], 'alerts are of metrics that there are');
my $page = slurp_file("$monitoring/../docs/operations.md");
my %anchors = map { my $a = lc; $a =~ s/[^\w\- ]//g; $a =~ tr/ /-/; $a => 1 } $page =~ /^#+ (.*)$/mg;
is(join(' ', grep { !$anchors{$_} } map { /^\tremedy (.*)$/m } values %alerts), '', 'the page has a remedy for each alert');
my ($version) = slurp_file("$monitoring/../uidgen.control") =~ /^default_version = '(.*)'/m;
my $PAGE = "https://github.com/uidgen/uidgen/blob/v$version/docs/operations.md";
my $elsewhere = PostgreSQL::Test::Utils::tempdir();
system($^X, "$monitoring/make.pl", '--runbook', 'https://wiki/uidgen', $elsewhere) == 0 or die 'make.pl has failed';
is_deeply([ slurp_file("$elsewhere/prometheus.rules.yml") =~ /^ +runbook_url: "(.*)"$/mg ], [ map { s/^\Q$PAGE\E/https:\/\/wiki\/uidgen/r } slurp_file("$monitoring/prometheus.rules.yml") =~ /^ +runbook_url: "(.*)"$/mg ],
	'... at the address that is named when the files are made');

# ---- the servers ----

my $LAYOUT = 'time:41:1ms worker:3 sequence:12 epoch:2025-01-01';
my @QUIET = ('log_statement = none', 'log_min_error_statement = panic', 'autovacuum = off', "uidgen.layout = '$LAYOUT'");
my %clock;

sub with_clock
{
	my ($name) = @_;
	return sub { $clock{$name} = FakeClock->new($_[0]) };
}
# What is the default of a fleet, and in between a short window, so that the rest takes no time.
my ($MAX_LEAD, $WINDOW, $SHORT) = ('4 minutes', '2min', '500ms');
my $registry = fleet_registry('registry', layout => $LAYOUT, max_lead => $MAX_LEAD, clock => with_clock('registry'));
my $other = fleet_registry('other', layout => $LAYOUT);
my $node = fleet_node('node', hosts($registry), with_clock('node'), @QUIET, "uidgen.wait_timeout = '100ms'");
my $alone = uidgen_node('alone', @QUIET, "uidgen.wait_timeout = '60s'", 'max_prepared_transactions = 2', "include_if_exists = 'more.conf'");
$alone->append_conf('postgresql.conf', "restart_after_crash = on\n");
$clock{alone} = FakeClock->new($alone);
$clock{alone}->under(sub { $alone->start });
$alone->safe_psql('postgres', 'SET client_min_messages = warning; CREATE EXTENSION uidgen');
my %server = (registry => $registry, other => $other, node => $node, alone => $alone, tables => $alone);
$_->safe_psql('postgres', 'CREATE ROLE watcher IN ROLE pg_monitor') foreach $registry, $other, $node, $alone;
$alone->safe_psql('postgres', q{CREATE EXTENSION uidgen_tools; CREATE TABLE item (id integer PRIMARY KEY); CREATE ROLE nobody});
$alone->safe_psql('postgres', 'CREATE DATABASE app');
$alone->safe_psql('app', 'CREATE EXTENSION uidgen');
my %watched = (registry => 'registry', other => 'registry', node => 'server', alone => 'server', tables => 'tables');

sub asks
{
	my ($server, $before) = @_;
	return (try_psql($server, ($before // '') . 'SELECT uid_next()'))[0] == 0;
}
sub has_ids
{
	my ($server) = @_;
	return poll_until(sub { asks($server) && status_of($server, "state <> 'failing'") eq 't' }) || die $server->name . ' has no ids';
}
has_ids($_) foreach $node, $alone;
$alone->safe_psql('postgres', q{SELECT uid_track_changes('item', execute => true)});

# What the queries of a place say there, as samples of Prometheus.  Where a setting is bad, all but that of the state are errors.
my ($status) = grep { $_->{name} eq 'uidgen_status' } @queries;
my $is_off = 0;

sub samples
{
	my (@names) = @_;
	return { map { my $name = $_; map { %{ samples_of($name, $_) } } grep { $_->{on} eq $watched{$name} && (!$is_off || $_ == $status) } @queries } @names };
}

sub samples_of
{
	my ($name, $query) = @_;
	my %samples;
	my $rows = $server{$name}->safe_psql('postgres', "SET default_transaction_read_only = on; SET ROLE " . ($name eq 'tables' ? 'nobody' : 'watcher') . "; SELECT coalesce(json_agg(q), '[]') FROM ($query->{sql}) AS q");
	foreach my $row (@{ decode_json($rows) })
	{
		my $labels = join ',', qq(instance="$name"), 'job="uidgen"', map { qq($_="$row->{$_}") } @{ $query->{labels} };
		foreach my $metric (@{ $query->{metrics} })
		{
			defined $row->{$metric} or fail("$query->{name}_$metric of $name is null");
			$samples{"$query->{name}_$metric\{$labels}"} = $row->{$metric};
		}
	}
	return \%samples;
}

# ---- each query, as each exporter has it ----

# pgwatch's have another form.
my $pgwatch = slurp_file("$monitoring/pgwatch.yaml");
foreach my $query (@queries)
{
	my ($sql) = $pgwatch =~ /^  $query->{name}:\n    sqls:\n      15: \|\n((?: {8}.*\n)+)/m;
	foreach my $name (grep { $watched{$_} eq $query->{on} } sort keys %server)
	{
		my $columns = $server{$name}->safe_psql('postgres', "SET ROLE watcher; SELECT string_agg(k, ' ') FROM (SELECT json_object_keys(row_to_json(q)) AS k FROM (SELECT * FROM ($sql) AS r LIMIT 1) AS q) AS keys");
		is($columns, $columns eq '' ? '' : join(' ', 'epoch_ns', (map { "tag_$_" } @{ $query->{labels} }), @{ $query->{metrics} }), "$query->{name} on $name, for pgwatch");
	}
}
cmp_ok(scalar(keys %{ samples(sort keys %server) }), '>', 20, 'the others');

# ---- faults ----

sub restart_alone
{
	my ($conf) = @_;
	unlink $alone->data_dir . '/more.conf';
	append_to_file($alone->data_dir . '/more.conf', $conf) if $conf;
	$clock{alone}->under(sub { $alone->restart });
	return;
}

sub registry_is_back
{
	$clock{registry}->under(sub { start_again($registry) });
	quarantine_ends($registry);
	has_ids($node);
	return;
}

# Each in a transaction of its own.
sub forget_workers
{
	my ($server, $rows) = @_;
	$server->safe_psql('postgres', "SELECT uidgen_registry.forget_worker($_, 0)") foreach split /\n/, $server->safe_psql('postgres', "SELECT worker_id FROM $rows");
	return;
}

# Change a setting that counts from the next start on, until that is seen.
sub is_pending
{
	my ($setting, $value, $is) = @_;
	$alone->safe_psql('postgres', "ALTER SYSTEM SET $setting = $value");
	$alone->reload;
	poll_until(sub { status_of($alone, "pending_restart $is") eq 't' }) or die;
	return;
}
my $session;

# Alert => [ which servers are watched, the labels that it has besides job, how the fault is made, and how it ends ].
my %fault = (
	UidgenCallsFail => [ 'alone', { instance => 'alone' }, sub { restart_alone("uidgen.layout = 'nonsense'\n"); $is_off = 1 }, sub { restart_alone(''); $is_off = 0; has_ids($alone) } ],
	UidgenGrantEnds => [
		'node', { instance => 'node' },
		sub {
			$registry->stop('immediate');
			poll_until(sub { asks($node); status_of($node, "state = 'failing' AND granted_until - clock_offset < clock_timestamp()") eq 't' }) or die;
		},
		\&registry_is_back
	],
	UidgenFailures => [
		'node', { instance => 'node' },
		sub {
			my $failures = status_of($node, 'failures');
			$registry->stop('immediate');
			poll_until(sub { asks($node); status_of($node, "failures > $failures + 6") eq 't' }) or die;
		},
		\&registry_is_back
	],
	UidgenAhead => [ 'alone', { instance => 'alone', cause => 'clock set back' }, sub { $clock{alone}->step(-600); has_ids($alone) }, sub { $clock{alone}->step(600); has_ids($alone) } ],
	UidgenSlowedDown => [
		'alone', { instance => 'alone' },
		sub {
			change_setting($alone, 'uidgen.max_burst', '0');
			poll_until(sub { $alone->safe_psql('postgres', 'SELECT count(uid_next()) FROM generate_series(1, 1000000)'); status_of($alone, 'waits > 200') eq 't' }) or die;
		},
		sub { change_setting($alone, 'uidgen.max_burst', '1s'); has_ids($alone) }
	],
	UidgenClockStep => [ 'alone', { instance => 'alone' }, sub { $clock{alone}->step(-7200); has_ids($alone) }, sub { $clock{alone}->step(7200); has_ids($alone) } ],
	UidgenClockWrong => [
		'node', { instance => 'node' },
		sub { $clock{node}->step(30); poll_until(sub { asks($node); status_of($node, "clock_offset < interval '-29 s'") eq 't' }) or die },
		sub { $clock{node}->step(-30); poll_until(sub { asks($node); status_of($node, "clock_offset > interval '-500 ms'") eq 't' }) or die }
	],
	UidgenFewWorkerIds => [
		'alone', { instance => 'alone' },
		sub {
			foreach (1 .. 6)
			{
				restart_alone("uidgen.worker_policy = 'disposable'\n");
				has_ids($alone);
				last if status_of($alone, 'free_worker_ids <= 3') eq 't';
			}
		},
		sub {
			forget_workers($alone, 'uidgen_registry.worker_node WHERE worker_id <> (SELECT worker_id FROM uidgen.status)');
			restart_alone("uidgen.worker_policy = 'disposable'\n");
			has_ids($alone);
			restart_alone('');
			has_ids($alone);
		}
	],
	UidgenRegistryFewWorkerIds => [
		'registry', { instance => 'registry', datacenter_id => 0 },
		sub { $registry->safe_psql('postgres', 'SELECT uidgen_registry.keep_worker(0, w) FROM (SELECT w FROM generate_series(0, 7) AS w EXCEPT SELECT worker_id FROM uidgen_registry.worker_node LIMIT 5) AS free') },
		sub {
			forget_workers($registry, "uidgen_registry.fleet WHERE state = 'kept'");
			$clock{registry}->pass(400);
			$clock{node}->pass(400);
			has_ids($node);
		}
	],
	UidgenQuarantine => [
		'registry', { instance => 'registry', datacenter_id => 0 },
		sub {
			$clock{registry}->under(sub { $registry->restart });
			poll_until(sub { asks($node); $registry->safe_psql('postgres', 'SELECT quarantine_until IS NOT NULL FROM uidgen_registry.status') eq 't' }) or die;
		},
		sub { quarantine_ends($registry); has_ids($node) }
	],
	UidgenRegistryClockWasAhead => [
		'registry', { instance => 'registry', datacenter_id => 0 },
		sub {
			$clock{registry}->step(3600);
			$clock{registry}->under(sub { $registry->restart });
			poll_until(sub { asks($node); $registry->safe_psql('postgres', 'SELECT quarantine_until > uidgen_registry.tick_at(uidgen_registry.registry_clock(), unit, epoch) FROM uidgen_registry.registry') eq 't' }) or die;
			$clock{registry}->step(-3600);
		},
		sub { quarantine_ends($registry); has_ids($node) }
	],
	UidgenDifferentRegistries => [ 'registry other', {}, sub { }, sub { }, 'registry' ],
	UidgenRegistryDeadRows => [
		'registry', { instance => 'registry', datacenter_id => 0 },
		sub { $registry->safe_psql('postgres', by_hand('DO $$ BEGIN FOR i IN 1 .. 1100 LOOP UPDATE uidgen_registry.worker_node SET host_name = host_name; END LOOP; END $$') . '; SELECT pg_stat_force_next_flush()') foreach 1 .. 2 },
		sub { $registry->safe_psql('postgres', 'VACUUM uidgen_registry.worker_node') }
	],
	UidgenSegmentFails => [
		'alone', { instance => 'alone', name => 'fails' },
		sub {
			$alone->safe_psql('postgres', q{SELECT uidgen_registry.create_segment('fails', step => 1); SELECT uid_segment_next('fails');
				CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END';
				CREATE TRIGGER refuse BEFORE UPDATE ON uidgen_registry.segment FOR EACH ROW EXECUTE FUNCTION refuse()});
			poll_until(sub { try_psql($alone, "SET uidgen.wait_timeout = 0; SELECT uid_segment_next('fails')"); $alone->safe_psql('postgres', "SELECT state = 'failing' FROM uidgen.segment_status WHERE name = 'fails'") eq 't' }) or die;
		},
		sub {
			$alone->safe_psql('postgres', 'DROP FUNCTION refuse() CASCADE');
			poll_until(sub { (try_psql($alone, "SELECT uid_segment_next('fails')"))[0] == 0 && $alone->safe_psql('postgres', "SELECT state <> 'failing' FROM uidgen.segment_status WHERE name = 'fails'") eq 't' }) or die;
		}
	],
	UidgenSegmentNearEnd => [
		'alone', { instance => 'alone', name => 'ends' },
		sub { $alone->safe_psql('postgres', "SELECT uidgen_registry.create_segment('ends', 1, 10, 15); SELECT count(*) FROM uid_segment_batch('ends', 12)") },
		sub {
			$alone->safe_psql('postgres', "SELECT uidgen_registry.change_segment('ends', max_value => 1000000); SELECT count(*) FROM uid_segment_batch('ends', 30)");
			poll_until(sub { $alone->safe_psql('postgres', "SELECT uid_segment_next('ends')"); $alone->safe_psql('postgres', "SELECT state = 'ready' FROM uidgen.segment_status WHERE name = 'ends'") eq 't' }) or die;
		}
	],
	UidgenSegmentStopped => [
		'other', { instance => 'other', datacenter_id => 0 },
		sub { $other->safe_psql('postgres', "SELECT uidgen_registry.create_segment('stopped'); SELECT uidgen_registry.take_over_registry()") },
		sub { $other->safe_psql('postgres', "SELECT uidgen_registry.raise_segment('stopped', 1000)") }
	],
	UidgenGapShort => [
		'registry', { instance => 'registry', datacenter_id => 0 },
		sub {
			$registry->safe_psql('postgres', "SELECT uidgen_registry.create_segment('gap', step => 1000)");
			# So small that it does not last however long a slow machine takes to look.
			poll_until(sub {
					try_psql($node, "SET uidgen.wait_timeout = '10s'; SELECT count(*) FROM uid_segment_batch('gap', 100000)");
					try_psql($registry, "SELECT uidgen_registry.change_segment('gap', failover_gap => 10)");
					$registry->safe_psql('postgres', "SELECT gap_lasts < interval '1 s' FROM uidgen_registry.status") eq 't' }) or die;
		},
		sub { $registry->safe_psql('postgres', "SELECT uidgen_registry.change_segment('gap', failover_gap => 1000000000000000)") }
	],
	UidgenHorizonLag => [
		'alone', { instance => 'alone', database => 'app' },
		sub {
			$session = $alone->background_psql('app');
			$session->query_safe('BEGIN; SELECT uid_next()');
			$clock{alone}->pass(400);
			has_ids($alone);
		},
		sub { $session->query_safe('COMMIT'); $session->quit; has_ids($alone) }
	],
	UidgenHorizonUnknown => [
		'alone', { instance => 'alone', database => 'app' },
		sub {
			$alone->safe_psql('app', q{BEGIN; CREATE TABLE forgotten AS SELECT uid_next() AS id; PREPARE TRANSACTION 'forgotten'});
			restart_alone('');
			has_ids($alone);
			is($alone->safe_psql('app', 'SELECT uid_horizon() IS NULL'), 't', 'readers get nothing');
		},
		sub { $alone->safe_psql('app', "ROLLBACK PREPARED 'forgotten'") }
	],
	UidgenLayoutEnds => [
		'alone', { instance => 'alone' },
		sub { restart_alone(sprintf "uidgen.layout = 'baidu epoch:%s'\n", POSIX::strftime('%Y-%m-%d', gmtime(time - (1 << 28) + 300 * 86400))) },
		sub { restart_alone(''); has_ids($alone) }
	],
	UidgenTables => [
		'tables', { instance => 'tables', class => 'anew' },
		sub { $alone->safe_psql('postgres', 'ALTER TABLE item DISABLE TRIGGER "~uid_delete"') },
		sub { $alone->safe_psql('postgres', q{SELECT uid_track_changes('item', execute => true)}) }
	],
	UidgenVersionsApart => [
		'alone', { instance => 'alone' },
		sub { $alone->safe_psql('postgres', "UPDATE pg_extension SET extversion = '0.2.2' WHERE extname = 'uidgen'") },
		sub { $alone->safe_psql('postgres', "UPDATE pg_extension SET extversion = uidgen.library_version() WHERE extname = 'uidgen'") }
	],
	UidgenPendingRestart => [
		'alone', { instance => 'alone' },
		sub { is_pending('uidgen.max_segments', 999, 'IS NOT NULL') },
		sub { is_pending('uidgen.max_segments', 1000, 'IS NULL') }
	]);
is_deeply([ sort keys %fault ], [ sort keys %alerts ], 'each alert has its fault');

# Minutes of each part.
my ($BEFORE, $DURING, $AFTER) = (5, 20, 40);

sub minutes
{
	my ($value, $count) = @_;
	return join ' ', ($value // '_') x $count if !defined $value;
	return "${value}x" . ($count - 1);
}
my $json = JSON::PP->new->allow_nonref->canonical;

sub head_of_tests
{
	my ($interval) = @_;
	return 'rule_files: [ ' . $json->encode("$monitoring/prometheus.rules.yml") . " ]\nevaluation_interval: $interval\ntests:\n";
}

# The alert as it fires.
sub firing
{
	my ($alert, %labels) = @_;
	my ($severity, $says, $remedy) = map { $alerts{$alert} =~ /^\t$_ (.*)$/m } qw(severity says remedy);
	$says =~ s/\{\{ \$labels\.(\w+) \}\}/$labels{$1}/g;
	return $json->encode({ exp_labels => { job => 'uidgen', severity => $severity, %labels }, exp_annotations => { summary => ($labels{instance} // 'uidgen') . ": $says", runbook_url => "$PAGE#$remedy" } });
}

# Whether a number of the dashboard is red, as it says there.
sub is_red
{
	my ($name) = @_;
	my $defaults = $stat{$name}{fieldConfig}{defaults};
	my $expr = '(' . ($stat{$name}{targets}[0]{expr} =~ s/\$(?:job|instance)/.*/gr) . ')';
	my ($first, $then) = @{ $defaults->{thresholds}{steps} };
	return join(' + ', "($expr " . ($first->{color} eq 'red' ? '<' : '>=') . " bool $then->{value})",
		map { my $options = $_->{options}; map { "($expr == bool $_)" } grep { $options->{$_}{color} eq 'red' } keys %$options } @{ $defaults->{mappings} }) . ' > bool 0 or vector(0)';
}
my %red = (
	UidgenCallsFail => 'State',
	UidgenGrantEnds => 'Grant left',
	UidgenAhead => 'Ahead of the clock',
	UidgenFewWorkerIds => 'Free worker ids',
	UidgenRegistryFewWorkerIds => 'Free worker ids',
	UidgenHorizonLag => 'Readers are behind',
	UidgenHorizonUnknown => 'Readers are behind');
my $test = head_of_tests('1m');
foreach my $alert (sort keys %fault)
{
	my ($names, $labels, $make, $end, $names_at_other_times) = @{ $fault{$alert} };
	my @names = split / /, $names;
	my @others = split / /, $names_at_other_times // $names;
	my $before = samples(@others);
	$make->();
	my $during = samples(@names);
	$end->();
	my $after = samples(@others);
	pass("$alert: the fault was made, and ended");

	my %series = (%$before, %$during, %$after);
	my $for = $alerts{$alert} =~ /^\tfor (\d+)m$/m ? $1 : 0;
	$test .= "  - interval: 1m\n    input_series:\n" . join '', map {
		"      - series: " . $json->encode($_) . "\n        values: '" . join(' ', minutes($before->{$_}, $BEFORE), minutes($during->{$_}, $DURING), minutes($after->{$_}, $AFTER)) . "'\n"
	} sort keys %series;
	my @expected = ([ $BEFORE - 1, '', 0 ], [ $BEFORE + $for + 2, firing($alert, %$labels), 1 ], [ $BEFORE + $DURING + $AFTER - 1, '', 0 ]);
	$test .= "    alert_rule_test:\n" . join '', map { "      - eval_time: $_->[0]m\n        alertname: $alert\n        exp_alerts: [ $_->[1] ]\n" } @expected;
	$test .= "    promql_expr_test:\n" . join '', map { "      - eval_time: $_->[0]m\n        expr: " . $json->encode(is_red($red{$alert})) . "\n        exp_samples: [ { labels: '{}', value: $_->[2] } ]\n" } @expected if $red{$alert};
}

# ---- an outage, by the default lengths ----

# What monitoring sees of it, up to when there has been no id for a while: a sample each few seconds, while somebody draws.  At the latest when so
# many seconds are left, a renewal is due.
sub watch_outage
{
	my ($name, $renews) = @_;
	my $server = $server{$name};
	my ($failed, @seen) = (0);
	while ($failed < 3)
	{
		my $asks = sub { asks($server, "SET uidgen.wait_timeout = '100ms';") };
		$failed++ unless $asks->();
		status_of($server, "granted_until - coalesce(clock_offset, interval '0') < clock_timestamp() + interval '$renews s'") eq 'f'
		  || poll_until(sub { $asks->(); status_of($server, 'state') eq 'failing' }) || die;
		push @seen, samples_of($name, $status);
		$clock{$name}->pass(5);
	}
	my $of = sub { return map { $_->{qq(uidgen_status_$_[0]\{instance="$name",job="uidgen"})} } @seen };
	my ($first) = grep { ($of->('failing'))[$_] } 0 .. $#seen;
	like(join('', $of->('failing')), qr/^0*1+$/, "an outage of $name: from a failed renewal on, no grant is to be had");
	cmp_ok(($of->('grant_seconds'))[$first], '<=', $renews, '... which was due');
	is(($of->('grant_seconds'))[-1], 0, '... until nothing is left');
	return ($seen[-1], 5 * @seen);
}

# By the lengths alone, what Prometheus sees that scrapes and evaluates each so many seconds.  The server is not scraped when the outage begins, but up
# to so many seconds later, and not evaluated when it is scraped.  A call that gets no id waits for 10 s before it fails.
sub outage_tests
{
	my ($name, $interval, $renews, $late, $sample) = @_;
	my $tests = '';
	my $begins = 300;
	foreach my $left ($renews, 1.25 * $renews, 1.5 * $renews, 2 * $renews)
	{
		my $ends = $begins + $left + 150;
		foreach my $shift (map { my $phase = 5 * $_; map { [ $phase, 5 * $_ ] } 0 .. $interval / 5 - 1 } 0 .. $interval / 5 - 1)
		{
			my ($phase, $lag) = @$shift;
			my @times = map { $_ * $interval - $lag - $begins - $phase } 0 .. $ends / $interval;
			my %seen = (failing => [ map { $_ > 0 && $left - $_ < $renews ? 1 : 0 } @times ],
				grant_seconds => [ map { $_ <= 0 ? $renews + POSIX::fmod($left - $renews - $_, $renews) : $_ < $left ? $left - $_ : 0 } @times ]);
			$tests .= "  - interval: ${interval}s\n    input_series:\n" . join '', map {
				my ($metric) = /^uidgen_status_(\w+)/;
				"      - series: " . $json->encode($_) . "\n        values: '" . join(' ', $seen{$metric} ? @{ $seen{$metric} } : ($sample->{$_}) x @times) . "'\n"
			} sort keys %$sample;
			$tests .= "    alert_rule_test:\n" . join '', map { "      - eval_time: $_->[0]s\n        alertname: $_->[1]\n        exp_alerts: [ " . ($_->[2] ? firing($_->[1], instance => $name) : '') . " ]\n" }
			  [ $begins, 'UidgenCallsFail', 0 ], [ $begins, 'UidgenGrantEnds', 0 ], [ POSIX::floor($begins + $phase + $left + 10 + $late), 'UidgenCallsFail', 1 ], [ POSIX::floor($ends), 'UidgenGrantEnds', 1 ];
		}
	}
	return $tests;
}
change_setting($node, 'uidgen."window"', $WINDOW);
poll_until(sub { asks($node); status_of($node, "granted_until > clock_timestamp() + clock_offset + interval '100 s'") eq 't' }) or die;
$registry->stop('immediate');
my ($of_node, $passed) = watch_outage('node', 60);
registry_is_back();
$clock{registry}->pass($passed);
change_setting($node, 'uidgen."window"', $SHORT);
has_ids($node);
$alone->safe_psql('postgres', q{CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END';
	CREATE TRIGGER refuse BEFORE UPDATE ON uidgen_registry.worker_node FOR EACH ROW EXECUTE FUNCTION refuse()});
my ($of_alone) = watch_outage('alone', 5);
$alone->safe_psql('postgres', 'DROP FUNCTION refuse() CASCADE');
has_ids($alone);

# ---- a lag is the same wherever it is asked for ----

$session = $alone->background_psql('app');
$session->query_safe('BEGIN; SELECT uid_next()');
$clock{alone}->pass(60);
my $lag_there = sub { return $alone->safe_psql('app', 'SELECT extract(epoch FROM horizon_lag)::float8 FROM uidgen.status') };
my ($query_lag) = grep { $_->{name} eq 'uidgen_horizon_lag' } @queries;
my ($low, $samples, $high) = ($lag_there->(), samples_of('alone', $query_lag), $lag_there->());
my $lag = $samples->{'uidgen_horizon_lag_seconds{instance="alone",job="uidgen",database="app"}'};
ok($low > 60 && $low <= $lag + 0.002 && $lag <= $high + 0.002, 'the lag of another database is what that database says itself') or diag("$low $lag $high");
$session->query_safe('COMMIT');
$session->quit;

my $folder = PostgreSQL::Test::Utils::tempdir();
append_to_file("$folder/faults.yml", $test);
# Before a call fails; but what takes a few seconds cannot be seen before.
append_to_file("$folder/outage$_.yml", head_of_tests("${_}s") . outage_tests('node', $_, 60, 0, $of_node) . outage_tests('alone', $_, 5, 60, $of_alone)) foreach 15, 30;
append_to_file("$folder/dashboard.yml", "groups:\n  - name: dashboard\n    rules:\n" . join '', map { "      - record: shown_$_\n        expr: " . $json->encode($exprs[$_] =~ s/\$(?:job|instance)/.*/gr) . "\n" } 0 .. $#exprs);

# ---- what Prometheus makes of them ----

SKIP:
{
	skip 'no promtool (package prometheus)', 6 unless (run_command([ 'sh', '-c', 'command -v promtool' ]))[0];
	foreach my $rules ('prometheus.rules.yml', 'cloudnativepg.rules.yml')
	{
		my ($out, $err) = run_command([ 'promtool', 'check', 'rules', "$monitoring/$rules" ]);
		like($out, qr/SUCCESS: ${\ scalar keys %alerts} rules found/, "$rules: the rules are good") or diag($out, $err);
	}
	my ($out, $err) = run_command([ 'promtool', 'check', 'rules', "$folder/dashboard.yml" ]);
	like($out, qr/SUCCESS/, 'the dashboard asks for what can be asked') or diag($out, $err);
	foreach ([ 'faults', 'each alert fires by its fault, and goes out again; the numbers of the dashboard are red then' ], [ 'outage15', 'alerts come before calls fail' ], [ 'outage30', '... with a scrape in 30 s, too' ])
	{
		my ($name, $what) = @$_;
		($out, $err) = run_command([ 'promtool', 'test', 'rules', "$folder/$name.yml" ]);
		like($out, qr/SUCCESS/, $what) or diag($out, $err, slurp_file("$folder/$name.yml"));
	}
}

done_testing();
