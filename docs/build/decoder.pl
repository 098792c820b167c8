#!/usr/bin/perl
# docs/build/decoder.pl
#	  Brings the presets of src/core/layout.c into docs/uidgen.mjs, and that module into
#	  docs/decoder.html: a page that is opened from a disk cannot import one (make made).
#
# What lies between the marks "NAME begins" and "NAME ends" is replaced; all else of both
# files is written by hand.  Core Perl only.
use strict;
use warnings;

use FindBin;

my $root = "$FindBin::RealBin/../..";

sub slurp
{
	my ($file) = @_;
	open(my $fh, '<', "$root/$file") or die "$file: $!\n";
	local $/;
	return scalar <$fh>;
}

# A text with another one between the marks of that name; whole lines.
sub replaced
{
	my ($text, $name, $by) = @_;
	$text =~ s{^([^\n]*\b$name begins\b[^\n]*\n).*?^([^\n]*\b$name ends\b)}{$1$by$2}ms or die "no marks for $name\n";
	return $text;
}

# One line of JavaScript for each preset of the extension.
sub presets
{
	my ($table) = slurp('src/core/layout.c') =~ /^const UidgenPreset uidgen_presets\[\] = \{\n(.*?)^\};/ms;
	my ($default) = slurp('src/core/layout.h') =~ /^#define UIDGEN_LAYOUT_DEFAULT (".*")$/m;
	$table =~ s/\bUIDGEN_LAYOUT_DEFAULT\b/$default/;
	my @lines;
	while ($table =~ /\{"([^"]+)", ("[^"]+"),\s*("[^"]+")\}/g)
	{
		push @lines, "\t{ name: '$1', layout: $2, note: $3 },\n";
	}
	die "src/core/layout.c has presets that are not understood\n" if @lines != (() = $table =~ /\{"/g);
	return join '', map { s/"([^"']*)"/'$1'/gr } @lines;
}

my $module = slurp('docs/uidgen.mjs');
$module = replaced($module, 'presets', presets());
# In the page it is a part of the page's own module.
my $built_in = $module =~ s/^export //gmr;
my %made = (
	'docs/uidgen.mjs' => $module,
	'docs/decoder.html' => replaced(slurp('docs/decoder.html'), 'uidgen.mjs', $built_in));

my @old = grep { slurp($_) ne $made{$_} } sort keys %made;
foreach my $file (@old)
{
	open(my $fh, '>', "$root/$file") or die "$file: $!\n";
	print $fh $made{$file};
	close $fh or die "$file: $!\n";
}
