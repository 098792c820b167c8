#!/usr/bin/perl
# sizes.pl
#	Prints how large this tree is: lines of each part, the longest pages and the functions that
#	are longer than one can read at a glance.  Comments and blank lines of a function do not count.
#
#	test/sizes.pl		from anywhere; exits with 1 if a limit is exceeded, as test/meta.pl asks
#
# The limits are what stood here when they were set, and only go down.  A commit that raises a limit says what it took
# out elsewhere.
use strict;
use warnings;
use FindBin;

chdir "$FindBin::RealBin/.." or die "cannot change the folder: $!";
my $exceeded = 0;

sub slurp
{
	my ($file) = @_;
	open(my $handle, '<', $file) or die "could not open $file: $!";
	local $/;
	return scalar <$handle>;
}

sub show
{
	my ($what, $size, $limit) = @_;
	my $above = defined $limit && $size > $limit;
	$exceeded ||= $above;
	printf "%7d  %s%s\n", $size, $what, defined $limit ? sprintf(' (at most %d%s)', $limit, $above ? ': EXCEEDED' : '') : '';
	return;
}

# A copy of the tree has no repository, but nothing else either than what was built.
my @files = -e '.git' ? split(/\0/, `git ls-files -z`) : grep { !m{^script/[^/]*\.sql$|^test/(?:unit|fuzz)/[^/.]+$} } split(/\n/, `find . -type f -size +0 ! -name '*.o' ! -name '*.so' ! -name '*.bc' -printf '%P\n'`);
my %lines = map { $_ => scalar(() = slurp($_) =~ /\n/g) } grep { -f } @files;
my %limits = (src => 24_155, script => 11_359, '*.md' => 7_600, 'test and tools' => 75_114, 'what the gate reads of these' => 33_838);

# The programs of the gate, what they use, and what runs them.
my ($glue) = map { s/\\\n//gr } slurp('Makefile') =~ /^GLUE_LONG = (.*?)^GLUE_FIRST/ms;
my @reads = ((map { "test/t/$_.pl" } 'random_fleets', grep { !/^GLUE$|^=$/ } split ' ', $glue),
	grep { m{^test/(?:unit|fuzz|isolation|simulation|tools)/|^test/(?:meta|regress|reports|sizes)\.pl$|^test/(?:pgindent|tempcheck|lib)\.sh$|^test/[^/]+\.conf$|^test/internal_functions$|^test/vectors\.tsv$} } @files);
my %read;
while (defined(my $file = shift @reads))
{
	next if $read{$file}++ || $file !~ /\.p[lm]$/;
	foreach my $module (slurp($file) =~ /^use ([A-Z]\w+)/mg)
	{
		push @reads, grep { m{/\Q$module\E\.pm$} } @files;
	}
}
my %parts = (
	src => sub { m{^src/} },
	script => sub { m{^script/} },
	'*.md' => sub { /\.md$/ },
	'test and tools' => sub { m{^(?:test|tools)/} },
	'what the gate reads of these' => sub { $read{$_} });

foreach my $part ('src', 'script', '*.md', 'test and tools', 'what the gate reads of these')
{
	my $sum = 0;
	$sum += $lines{$_} foreach grep { $parts{$part}->() } keys %lines;
	show("lines in $part", $sum, $limits{$part});
}
show($_, $lines{$_}, 400) foreach grep { /\.md$/ && $lines{$_} > 380 } sort keys %lines;

# The longest functions in C: pgindent puts the name, and both braces, into the first column.
foreach my $file (grep { m{^src/.*\.[ch]$} } sort keys %lines)
{
	my $text = slurp($file);
	$text =~ s{(/\*.*?\*/)}{ $1 =~ tr/\n//cdr }gse;
	while ($text =~ /^(\w+)\([^;{}]*\)\n\{\n(.*?)^\}/gms)
	{
		my ($name, $body) = ($1, $2);
		my $size = grep { /\S/ } split /\n/, $body;
		show("$file: $name()", $size, 60) if $size > 55;
	}
}

# In SQL: from CREATE to the end of the body.
foreach my $file (grep { m{^script/.*\.sql$} } sort keys %lines)
{
	my $text = slurp($file);
	while ($text =~ /^CREATE (?:OR REPLACE )?(?:FUNCTION|PROCEDURE) (\S+?)\((?:(?!^CREATE ).)*?^AS \$\$(.*?)^\$\$;/gms)
	{
		my ($name, $body) = ($1, $2);
		my $size = grep { /\S/ && !/^\s*--/ } split /\n/, $body;
		show("$file: $name()", $size, 80) if $size > 70;
	}
}
exit $exceeded;
