# What docs/readers.md and docs/writers.md have for ids that were drawn before, and for rows of another server, as it stands there: a trigger that holds ids, a
# restore of data alone, and views on the server of the rows, by which readers lose nothing through postgres_fdw; here the same reader without
# the view is refused, in all forms of sql/foreign.sql, and one who gives the horizon as a number loses a row.
use FindBin;
use lib "$FindBin::RealBin/../perl";
use Pages;
use SqlEdition;
use UidgenTest;

my ($there, $here) = map { uidgen_node($_) } qw(there here);
foreach my $node ($there, $here)
{
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION uidgen; SELECT uid_next()');
}

# The block of a page that has this.
sub block
{
	my ($page, $pattern) = @_;
	my ($block) = grep { $_->{text} =~ $pattern } blocks_of(slurp_file("$FindBin::RealBin/../../docs/$page.md"));
	return $block->{text} // die "$page has no $pattern";
}

sub is_final
{
	my ($node, $id) = @_;
	return poll_until(sub { $node->safe_psql('postgres', "SELECT coalesce(uid_horizon(), 0) >= $id") eq 't' });
}

# What psql says of a file that lies in a folder, with all that it names.
my $folder = PostgreSQL::Test::Utils::tempdir();
sub run_in_folder
{
	my ($node, $file) = @_;
	my $said = '';
	IPC::Run::run([ $node->installed_command('psql'), '-XAtq', '-v', 'ON_ERROR_STOP=1', '-v', 'VERBOSITY=verbose', '-d', $node->connstr('postgres'), '-f', $file ], '<', \undef, '>', '/dev/null', '2>', \$said, init => sub { chdir $folder });
	return $said;
}

# ---- ids that are drawn before ----

$there->safe_psql('postgres', block('readers', qr/^CREATE TABLE outbox \(/m) =~ s/^BEGIN.*//msr);
$there->safe_psql('postgres', block('readers', qr/^CREATE TRIGGER hold_id/m));
my $pool = $there->background_psql('postgres');
my $given = $pool->query_safe('SELECT uid_next()');
my $writer = $there->background_psql('postgres');
# With an empty search path, as postgres_fdw has it.
$writer->query_safe(qq{SET search_path = ''; BEGIN; INSERT INTO public.outbox VALUES ($given, 'given', '{}'), (NULL, 'null', '{}')});
my $later = $there->safe_psql('postgres', 'SELECT uid_next()');
is($there->safe_psql('postgres', "SELECT pg_sleep(0.01); SELECT uid_horizon() < $given AND $given < $later") =~ s/^\n//r, 't', 'the trigger holds an id that another transaction has drawn');
$writer->query_safe('COMMIT');
ok(is_final($there, $later), '... until its own ends');
is($there->safe_psql('postgres', "SELECT count(*) FROM outbox WHERE id = $given OR topic = 'null' AND id > $given"), '2', '... and gives one where there is none');
fails_with($there, "INSERT INTO outbox VALUES ($later, 'late', '{}')", '40001', qr/readers have passed the id $later/, 'one that readers have passed is refused');
$_->quit foreach $writer, $pool;

IPC::Run::run([ $there->installed_command('pg_dump'), '-a', '-t', 'outbox', '-f', "$folder/outbox.sql", '-d', $there->connstr('postgres') ], '<', \undef) or die 'no dump';
$there->safe_psql('postgres', "UPDATE outbox_place SET last = $later; DELETE FROM outbox");
like(run_in_folder($there, 'outbox.sql'), qr/ERROR:  40001: readers have passed/, 'a restore of data alone is refused');
append_to_file("$folder/restore.sql", block('readers', qr/^\\i outbox\.sql/m));
is(run_in_folder($there, 'restore.sql'), '', '... but not as the page has it');
is($there->safe_psql('postgres', 'SELECT count(*) FROM outbox, outbox_place WHERE id > last'), '2', '... and readers find the rows');
fails_with($there, "INSERT INTO outbox VALUES ($later, 'late', '{}')", '40001', qr/readers have passed/, '... and the trigger is there again');

# ---- rows of another server ----

SKIP:
{
	skip 'the server has no postgres_fdw or dblink', 1
	  if $here->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name IN ('postgres_fdw', 'dblink')") < 2;
	my $to = sprintf q{OPTIONS (host '%s', port '%s', dbname }, $there->host, $there->port;
	$here->safe_psql('postgres', "CREATE EXTENSION postgres_fdw; CREATE EXTENSION dblink; CREATE SERVER north FOREIGN DATA WRAPPER postgres_fdw $to 'postgres'); CREATE USER MAPPING FOR CURRENT_USER SERVER north");
	$there->safe_psql('postgres', block('writers', qr/^CREATE TABLE orders \(id bigint PRIMARY KEY/m) =~ s/^/DROP TABLE IF EXISTS orders; /r);
	$there->safe_psql('postgres', block($_, qr/^CREATE VIEW \w+_final/m)) foreach qw(readers writers);
	$here->safe_psql('postgres', 'IMPORT FOREIGN SCHEMA public LIMIT TO (outbox, outbox_final, orders) FROM SERVER north INTO public');
	my $reader = block('writers', qr/^CREATE FOREIGN TABLE orders_final_north/m);
	$here->safe_psql('postgres', $reader =~ s/^SELECT.*//mr);
	my %tables = (outbox => [ 'outbox_final', q{(topic, payload) VALUES ('%s', '{}')} ], orders => [ 'orders_final_north', q{(item) VALUES ('%s')} ]);
	foreach my $table (sort keys %tables)
	{
		my ($final, $values) = @{ $tables{$table} };
		my $insert = "INSERT INTO $table $values RETURNING id";
		my $last = 0;
		my $slow = $there->background_psql('postgres');
		my $held = $slow->query_safe('BEGIN; ' . sprintf $insert, 'slow');
		my $quick = $there->safe_psql('postgres', sprintf $insert, 'quick');
		$here->safe_psql('postgres', 'SELECT uid_next()');
		ok(is_final($here, $quick), "$table: the horizon of the reader's own server goes on");
		fails_with($here, "SELECT * FROM $table WHERE id > $last AND id <= uid_horizon()", '0A000', qr/uid_horizon\(\) cannot be compared with a column of foreign table "$table"/, '... and is refused');
		my $number = $here->safe_psql('postgres', 'SELECT uid_horizon()');
		is($here->safe_psql('postgres', "SELECT count(*) FILTER (WHERE id = $held), count(*) FILTER (WHERE id = $quick) FROM $table WHERE id > $last AND id <= $number"), '0|1', '... by its number a row is passed');
		my $poll = sub {
			my $ids = $here->safe_psql('postgres', "PREPARE poll (bigint) AS " . ($reader =~ /^(SELECT.*)/m)[0] =~ s/orders_final_north/$final/r . "; EXECUTE poll ($last)");
			my @ids = $ids =~ /^(\d+)/mg;
			$last = $ids[-1] if @ids;
			return @ids;
		};
		is(join(' ', grep { $_ >= $held } $poll->()), '', '... by the view over there nothing is read that is not final');
		$slow->query_safe('COMMIT');
		$slow->quit;
		my @read;
		poll_until(sub { push @read, grep { $_ >= $held } $poll->(); return @read >= 2 });
		is("@read", "$held $quick", '... and then both rows, once');
	}

	my $said = '';
	IPC::Run::run([ $here->installed_command('psql'), '-XAtq', '-v', 'wrapper=postgres_fdw', '-d', $here->connstr('postgres'), '-f', "$FindBin::RealBin/../../sql/foreign.sql" ], '<', \undef, '>', \$said, '2>', '/dev/null');
	my ($refused, $planned) = $said =~ /^Refused:\n(.*)^Not refused:\n((?:\d+\|[^\n]*\n)*)/ms;
	like($refused // $said, qr/^\d+\n$/, 'all forms of a comparison are refused with postgres_fdw');
	is(join("\n", grep { !/\|planned$/ } split /\n/, $planned || 'none'), '', '... and no others');

	# The edition in SQL, as its page has it.
	landlords($there);
	add_database($there, 'plain');
	put_in($there, 'plain', 'worker_id=5');
	as($there, 'landlord', 'plain', 'CREATE TABLE event (id bigint PRIMARY KEY DEFAULT uid_next()); INSERT INTO event DEFAULT VALUES; CREATE VIEW event_final AS SELECT * FROM event WHERE id <= uid_horizon()');
	$here->safe_psql('postgres', "CREATE SERVER plain FOREIGN DATA WRAPPER postgres_fdw $to 'plain'); CREATE USER MAPPING FOR CURRENT_USER SERVER plain OPTIONS (user 'landlord'); CREATE FOREIGN TABLE event (id bigint) SERVER plain OPTIONS (table_name 'event_final')");
	fails_with($here, 'SELECT * FROM event', '55000', qr/READ COMMITTED/, 'the edition in SQL: a view with its horizon cannot be read by postgres_fdw');
	ok(poll_until(sub { $here->safe_psql('postgres', q{SELECT count(*) FROM dblink('plain', 'SELECT uid_horizon() AS id UNION ALL SELECT id FROM event_final') AS e (id bigint)}) eq '2' }), '... but by dblink');
}

$_->stop foreach $here, $there;
done_testing();
