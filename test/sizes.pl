#!/usr/bin/perl
# sizes.pl
#	Prints how large this tree is: lines of each part, the longest pages and the functions that
#	are longer than one can read at a glance.  Comments and blank lines of a function do not count.
#
#	test/sizes.pl		from anywhere; exits with 1 if a limit is exceeded
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

my @files = split /\0/, `git ls-files -z`;
my %lines = map { $_ => scalar(() = slurp($_) =~ /\n/g) } grep { -f } @files;
# As large as they are, and a little more: to go beyond is to be decided.
my %limits = (src => 24_100, script => 9_600, '*.md' => 8_300, test => 73_900);
my %parts = (
	src => sub { m{^src/} },
	script => sub { m{^script/} },
	'*.md' => sub { /\.md$/ },
	test => sub { m{^test/} });

foreach my $part (qw(src script *.md test))
{
	my $sum = 0;
	$sum += $lines{$_} foreach grep { $parts{$part}->() } keys %lines;
	show("lines in $part", $sum, $limits{$part});
}
show($_, $lines{$_}, $_ eq 'test/README.md' ? 520 : 400) foreach grep { /\.md$/ && $lines{$_} > 380 } sort keys %lines;

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
		show("$file: $name()", $size, 120) if $size > 100;
	}
}
exit $exceeded;
