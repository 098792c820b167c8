# Numbers.pm: what the tests of segments share: the numbers that clients have seen, and the account of those that
# nobody has.
#
#	create_segment($registry, "'orders', step => 100");
#	draw_numbers($server, 'orders', 1000);
#	one_by_one('orders', '...');		# of all that all servers gave out
#	is(missing($registry, 'orders'), held('orders', @servers) + ...);
package Numbers;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use UidgenTest;

our @EXPORT = qw(create_segment segment segment_status draw_numbers draw_all_numbers draw_to_error start_numbers
  finish_numbers stop_numbers seen_numbers fetch_numbers one_by_one ranges_of_100 take_snapshot set_back restored_from draws_more
  highest common);

# {segment}{server}: lists of numbers, each in the order in which one session saw them.
my %seen;

# ---- the registry ----

# With the arguments as SQL.
sub create_segment
{
	my ($registry, $arguments, $database) = @_;
	return $registry->safe_psql($database // 'postgres', "SELECT FROM uidgen_registry.create_segment($arguments)");
}

# Columns of its row.
sub segment
{
	my ($registry, $segment, $columns, $database) = @_;
	return $registry->safe_psql($database // 'postgres', "SELECT $columns FROM uidgen_registry.segment WHERE name = '$segment'");
}

# These segments, each with ranges of 100 that get no longer, and with this gap.
sub ranges_of_100
{
	my ($registry, $gap, @segments) = @_;
	create_segment($registry, "'$_', step => 100") foreach @segments;
	$registry->safe_psql('postgres', by_hand("UPDATE uidgen_registry.segment SET max_step = 100, failover_gap = $gap"));
	return;
}

# A copy of the server's files, and the server as it was then.
sub take_snapshot
{
	my ($registry) = @_;
	$registry->stop;
	$registry->backup_fs_cold('snapshot');
	$registry->start;
	return;
}

sub set_back
{
	my ($registry) = @_;
	$registry->stop('immediate');
	system_or_bail('rm', '-rf', $registry->data_dir);
	system_or_bail('cp', '-a', $registry->backup_dir . '/snapshot', $registry->data_dir);
	chmod 0700, $registry->data_dir or die $!;
	$registry->append_conf('postgresql.conf', 'port = ' . $registry->port);
	$registry->start;
	return;
}

# A server begins from a backup of a registry, as a restore goes: from the backup on, as far as there is WAL, and then by itself.
sub restored_from
{
	my ($restored, $registry, $backup) = @_;
	$registry->stop('immediate');
	$restored->init_from_backup($registry, $backup);
	$restored->append_conf('postgresql.conf', "restore_command = 'false'\nprimary_conninfo = ''");
	append_to_file($restored->data_dir . '/recovery.signal', '');
	$restored->start;
	$restored->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
	return;
}

# ---- servers ----

# Columns of uidgen.segment_status.
sub segment_status
{
	my ($server, $segment, $columns) = @_;
	return $server->safe_psql('postgres', "SELECT $columns FROM uidgen.segment_status WHERE name = '$segment'");
}

sub saw
{
	my ($server, $segment, $numbers) = @_;
	push @{ $seen{$segment}{ $server->name } }, $numbers if @$numbers;
	return @$numbers;
}

# Draw so many; returns them.
sub draw_numbers
{
	my ($server, $segment, $count, $database) = @_;
	return saw($server, $segment, [ split /\n/,
			$server->safe_psql($database // 'postgres', "SELECT uid_segment_next('$segment') FROM generate_series(1, $count)") ]);
}

# So many that the registry has given more ranges.
sub draws_more
{
	my ($server, $segment) = @_;
	draw_numbers($server, $segment, 450);
	await_keeper($server);
	return;
}

# Draw until a call fails, which may have waited for $timeout.  Returns their count, and what psql said.
sub draw_all_numbers
{
	my ($server, $segment, $timeout) = @_;
	my ($numbers, $err) = draw_until_error($server, 'postgres', $timeout, "uid_segment_next('$segment')");
	return (scalar saw($server, $segment, $numbers), $err);
}

# Draw until a call fails so, with a short time-out: as often as that is over before the keeper has met what is in the way, once more.
# Returns what psql said.
sub draw_to_error
{
	my ($server, $segment, $timeout, $pattern) = @_;
	my $err;
	poll_until(
		sub {
			(undef, $err) = draw_all_numbers($server, $segment, $timeout);
			return $err eq '' || $err =~ $pattern;
		});
	return $err;
}

# Begin to draw, some ten a millisecond, in a session of its own; $count in all, or for ever.
sub start_numbers
{
	my ($server, $segment, $count) = @_;
	my $drawing = start_drawing($server, 'postgres', undef, "uid_segment_next('$segment')", $count && $count / 10);
	return { %$drawing, server => $server, segment => $segment, count => $count };
}

# The end of such a session, by itself or at once.  A session that was cut has not seen the last numbers that it drew.
sub finish_numbers
{
	my ($drawing) = @_;
	return saw(@$drawing{qw(server segment)}, finish_drawing($drawing));
}

sub stop_numbers
{
	my ($drawing) = @_;
	return saw(@$drawing{qw(server segment)}, stop_drawing($drawing));
}

# Draw until so many ranges have been fetched, and no other one is on its way.
sub fetch_numbers
{
	my ($server, $segment, $ranges) = @_;
	my ($enough, $fetches, $left);
	while (1)
	{
		($fetches, $left) = split /\|/, segment_status($server, $segment, 'fetches, numbers_left') || '0|0';
		$enough //= $fetches + $ranges;
		return if $fetches >= $enough;
		# A range is fetched when a tenth of the one before is used.
		draw_numbers($server, $segment, $left > 160 ? int($left / 8) : 20);
		await_keeper($server);
	}
}

# ---- the account ----

# All numbers that were seen, of these servers or of all.
sub seen_numbers
{
	my ($segment, @servers) = @_;
	my @names = @servers ? map { $_->name } @servers : keys %{ $seen{$segment} };
	return map { @$_ } map { @{ $seen{$segment}{$_} // [] } } @names;
}

sub highest
{
	my ($segment, @servers) = @_;
	return (sort { $b <=> $a } seen_numbers($segment, @servers))[0];
}

# How many numbers two servers have both seen.
sub common
{
	my ($segment, $one, $other) = @_;
	my %seen = map { $_ => 1 } seen_numbers($segment, $one);
	return scalar grep { $seen{$_} } seen_numbers($segment, $other);
}

# Tests: none was seen twice, and each session's increase; with the option in_order, each server's do over its
# sessions, which followed one another.
sub one_by_one
{
	my ($segment, $name, %options) = @_;
	my @lists = map { $options{in_order} ? [ map { @$_ } @$_ ] : @$_ } values %{ $seen{$segment} };
	my @numbers = map { @$_ } @lists;
	my $falls = 0;
	foreach my $list (@lists)
	{
		$falls += grep { $list->[ $_ - 1 ] >= $list->[$_] } 1 .. $#$list;
	}
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	note(scalar @numbers, " numbers of $segment");
	is(@numbers ? repeated(\@numbers) : 'no numbers', 0, "$name: none twice");
	return is($falls, 0, '... and in order');
}

1;
