# The pages of a fleet can be copied: their blocks are run as they are, one after the other, on servers that they make
# themselves, and print what the pages say.  docs/fleet.md makes them, and docs/runbook.md ends them.
#
# Blocks of the kind "sh" run in one shell, in the order of the pages.  Those of the kind "sql" begin with a comment that
# says where they run (test/perl/Pages.pm reads them).  A block without a kind that follows one of these is what it prints.  Numbers count as equal, as do
# the widths of columns, and "..." stands for any lines.  Only the folder of the servers and their ports are others.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use Pages;
use Procedures;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $home = PostgreSQL::Test::Utils::tempdir_short();
my %port = map { $_ => PostgreSQL::Test::Cluster::get_free_port() } 5501 .. 5505;
my %where = (
	'on the registry' => '-p 5501 -d uidgen',
	'on a node' => '-p 5502',
	'on each node' => '-p 5502');

# What is left of each procedure: the pages have them block by block.
my %left = map { $_->[0] => $_->[1]{text} } do { my %all = procedures(); map { [ $_ => $all{$_} ] } grep { $all{$_}{page} =~ m{/(?:fleet|registry-server|runbook)\.md$} } keys %all };

# [page and line, what to run, what it prints, if the page says that]
sub commands_of
{
	my ($name) = @_;
	my $page = slurp_file("docs/$name.md");
	my @commands;
	my $printed;
	foreach my $block (blocks_of($page))
	{
		my ($kind, $text) = @{$block}{qw(kind text)};
		my $line = "$name.md, line $block->{line}";
		my ($procedure) = grep { index($left{$_}, $text) == 0 } sort keys %left;
		$line .= " ($procedure)" and $text = substr($left{$procedure}, 0, length $text, '') if defined $procedure;
		if ($kind eq 'sql')
		{
			my ($place) = $text =~ /^-- (.*)\n/ or die "$line: it does not say where it runs\n";
			push @commands, [ $line, 'psql ' . ($where{$place} // die "$line: where is \"$place\"?\n") . " -v ON_ERROR_STOP=1 <<'SQL'\n${text}SQL\n" ];
		}
		elsif ($kind eq 'sh')
		{
			push @commands, [ $line, $text ];
		}
		elsif ($kind eq '' && $printed && $block->{follows})
		{
			$commands[-1][2] = $text;
		}
		$printed = $kind =~ /^(?:sh|sql)$/;
	}
	return @commands;
}

my $AGAIN = <<'SH';
until psql -p 5501 -d uidgen -Atc "SELECT state FROM uidgen_registry.fleet WHERE port = 5503" | grep -qx released; do
	pg_ctl -D node2 -l node2/log -s -w start
	psql -p 5503 -Atc 'SELECT uid_next()' >/dev/null 2>&1 || true
	pg_ctl -D node2 -s stop
done
SH
my @blocks = map { commands_of($_) } qw(fleet registry-server node-roles runbook);
is_deeply([ grep { $left{$_} ne '' } sort keys %left ], [], 'the pages have each procedure to its end');
my $script = '';
foreach my $i (0 .. $#blocks)
{
	my ($line, $commands) = @{ $blocks[$i] };
	# A slow machine needs longer to look at a session, and to hand a worker id back: a keeper that ends has a second for that.
	$commands =~ s/pg_sleep\(5\)/pg_sleep(15)/g;
	$commands =~ s{^pg_ctl -D node2 -s stop\n(?=(?:.*\n)+.*revoke_node\('node2'\);)}{$&$AGAIN}m;
	$commands =~ s/\b(550\d)\b/$port{$1} \/\/ die "$line: port $1 is not one of the page's\n"/ge;
	$script .= "{\n$commands} >'$home/$i.out' 2>&1\ntouch '$home/$i.done'\n";
	# As a node would that begins while the backup of the registry is not taken over so far, and has seen nothing.  (One that
	# does begin is ahead of the clock by two minutes afterwards, for which the page's next step would wait.)
	$script .= <<"END" if $commands =~ /closed\.conf/;
psql -d "host=127.0.0.1 port=$port{5501} dbname=uidgen user=node2 passfile=\$PWD/node2/registry.pass" -c 'SELECT * FROM uidgen_registry.registry_identity()' >'$home/begins.out' 2>&1 || true
END
}
append_to_file("$home/script", $script);

# What the reader's shell has, and what test/tools/postgres.pl needs.
my %environment = (HOME => $home, LANG => 'C', TERM => 'dumb', map { $_ => $ENV{$_} } grep { defined $ENV{$_} } qw(PATH CHECK_DIR CHECK_MODE));
{
	local %ENV = %environment;
	my $run = IPC::Run::start([ 'bash', '-e', "$home/script" ], '<', \undef, '>&', \my $output, IPC::Run::timeout(4 * $PostgreSQL::Test::Utils::timeout_default));
	eval { $run->finish };
	diag($output, $@) if $output || $@;
}

foreach my $i (0 .. $#blocks)
{
	my ($line, undef, $shown) = @{ $blocks[$i] };
	my $printed = -e "$home/$i.out" ? slurp_file("$home/$i.out") : '';
	note("---- $line\n$printed");
	if (!ok(-e "$home/$i.done", "$line: the block runs"))
	{
		diag($printed, map { "-- $_\n" . slurp_file($_) } glob "$home/fleet/*/log");
		last;
	}
	is_as_shown($printed, $shown, '... and prints what the page shows', '~' => $home) if defined $shown;
	like(slurp_file("$home/begins.out"), qr/no pg_hba\.conf entry for host/, '... where no node reaches it')
	  if $blocks[$i][1] =~ /closed\.conf/;
}
ok(!-e "$home/fleet", 'nothing is left');

END
{
	my $status = $?;
	system 'pg_ctl', '-D', $_ =~ s{/postmaster.pid$}{}r, qw(-m immediate -s stop) foreach glob "$home/fleet/*/postmaster.pid";
	$? = $status;
}

done_testing();
