# Two servers that start from copies of one disk, in containers without a machine id, are equal in all that the server can
# see: then the name in uidgen.instance tells them apart, and without one the log and uidgen.diagnose() say what may come.
# The copy is put back over the files of its origin, so that the control file is the same one for both.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use UidgenTest;

my $node = uidgen_node('main', "include_if_exists = 'instance.conf'", 'restart_after_crash = on');
my $library = build_preload('nomachine');
my $disk = PostgreSQL::Test::Utils::tempdir() . '/disk';
my $data = $node->data_dir;

sub start_as
{
	my ($instance) = @_;
	unlink "$data/instance.conf";
	append_to_file("$data/instance.conf", "uidgen.instance = '$instance'\n");
	local $ENV{LD_PRELOAD} = $library;
	$node->start;
	return;
}

sub draw
{
	return split /\n/, $node->safe_psql('postgres', 'SELECT uid_next() FROM generate_series(1, 1000)');
}

sub worker
{
	return $node->safe_psql('postgres', 'SELECT worker_id FROM uidgen.status');
}

# As from a snapshot of the running server, at another moment in the same place.
sub put_back
{
	$node->stop('immediate');
	my $control = (stat "$data/global/pg_control")[1];
	system_or_bail('find', $data, '-mindepth', 1, '!', '-type', 'd', '!', '-name', 'pg_control', '-delete');
	system_or_bail('cp', '-a', "$disk/.", $data);
	is((stat "$data/global/pg_control")[1], $control, 'the copy has the control file of its origin');
	return;
}

# ---- a disk that was copied while its server ran ----

start_as('pod-0');
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
my @origin = draw();
my $worker = worker();
my $home = $node->safe_psql('postgres', 'SELECT uidgen.backfill_home()');
like($home, qr{^\d+/\d+/\d+/\d+/0{16}/[0-9a-f]{16}/\d+/\d+$}, 'a home has the name, and here no machine');
unlike($home, qr{/0{16}/0{16}/}, '... as a hash of it');
is($node->safe_psql('postgres', 'SELECT severity FROM uidgen.diagnose()'), 'ok', 'with a name nothing is missing');
is($node->safe_psql('postgres', 'SELECT DISTINCT host_name FROM uidgen_registry.worker_node'), 'pod???', 'of a host name that is no text, the registry has what is');
$node->stop;
system_or_bail('cp', '-a', $data, $disk);

my %ids;
my %workers;
foreach my $name (qw(pod-a pod-b pod-0))
{
	start_as($name);
	$ids{$name} = [ draw() ];
	$workers{$name} = worker();
	put_back();
}
is($workers{'pod-0'}, $worker, 'a server that keeps its name keeps its worker id');
isnt($workers{$_}, $worker, "one that was copied, and is $_, does not") foreach qw(pod-a pod-b);
my %seen;
$seen{$_}++ foreach @origin, map { @$_ } values %ids;
is(scalar(grep { $_ > 1 } values %seen), 0, 'and no id comes twice');

# ---- what is said where there is no name ----

my $log = -s $node->logfile;
start_as('');
draw();
# The keeper writes it after it has made its grant known.
ok(poll_until(sub { log_since($node, $log) =~ /LOG:  this server cannot be told from a copy of its disk\n.*DETAIL:.*machine-id.*"uidgen\.instance".*\n.*HINT:/ }), 'without a name the log says what may come');
is(scalar(() = log_since($node, $log) =~ /cannot be told from a copy/g), 1, '... once');
like($node->safe_psql('postgres', 'SELECT * FROM uidgen.diagnose()'), qr/^warning\|this server cannot be told from a copy.*"uidgen\.instance"/, '... and so does a diagnosis');
append_to_file("$data/instance.conf", "uidgen.max_segments = 77\n");
$node->reload;
ok($node->poll_query_until('postgres', q{SELECT string_agg(severity || ' ' || (message ~ 'uidgen.max_segments in the configuration') || ' ' || (message ~ 'a copy of its disk'), ', ') FROM uidgen.diagnose()}, 'warning true false, warning false true'),
	'... a row for each warning');
unlike($node->safe_psql('postgres', 'SELECT uidgen.backfill_home()'), qr/\Q$home\E/, 'and it is another home');
put_back();

# ---- a name that is changed while the server runs ----

start_as('pod-0');
draw();
# The files were put back, so it is not that of before: what has issued ids of the past since may not be known.
$home = $node->safe_psql('postgres', 'SELECT uidgen.backfill_home()');
append_to_file("$data/instance.conf", "uidgen.instance = 'pod-1'\n");
$node->reload;
ok($node->poll_query_until('postgres', 'SELECT pending_restart FROM uidgen.status', 'uidgen.instance'), 'another name is pending');
like($node->safe_psql('postgres', 'SELECT message FROM uidgen.diagnose()'), qr/uidgen\.instance in the configuration counts only from the next start/, '... as a diagnosis says');
is($node->safe_psql('postgres', 'SELECT uidgen.backfill_home()'), $home, '... and until then the home is the same');

$node->stop;
done_testing();
