#!/usr/bin/perl
# docs/build/decoder.pl
#	  Brings the presets of src/core/layout.c into docs/uidgen.mjs, and that module into
#	  docs/decoder.html: a page that is opened from a disk cannot import one.
#
# What lies between the marks "NAME begins" and "NAME ends" is replaced; all else of both
# files is written by hand.  With --check nothing is written, and the exit status says
# whether both are up to date.  Core Perl only.
use strict;
use warnings;

use FindBin;

my $root = "$FindBin::RealBin/../..";
my $check = @ARGV && $ARGV[0] eq '--check';

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

# One line of JavaScript for each preset of the extension.  By what guesses go is in the module alone.
sub presets
{
	my ($module) = @_;
	my ($table) = slurp('src/core/layout.c') =~ /^const UidgenPreset uidgen_presets\[\] = \{\n(.*?)^\};/ms;
	my ($default) = slurp('src/core/layout.h') =~ /^#define UIDGEN_LAYOUT_DEFAULT (".*")$/m;
	$table =~ s/\bUIDGEN_LAYOUT_DEFAULT\b/$default/;
	my @lines;
	my %named;
	while ($table =~ /\{"([^"]+)", ("[^"]+"),\s*("[^"]+")\}/g)
	{
		my ($name, $layout, $note) = ($1, $2, $3);
		push @lines, "\t{ name: '$name', layout: $layout, note: $note },\n";
		die "docs/uidgen.mjs has no habits of the preset $name\n" unless $named{$layout}++ || $module =~ /^\t'$name': \{ rarity: /m;
	}
	die "src/core/layout.c has presets that are not understood\n" if @lines != (() = $table =~ /\{"/g);
	return join '', map { s/"([^"']*)"/'$1'/gr } @lines;
}

my $module = slurp('docs/uidgen.mjs');
$module = replaced($module, 'presets', presets($module));
# In the page it is a part of the page's own module.
my $built_in = $module =~ s/^export //gmr;
my %made = (
	'docs/uidgen.mjs' => $module,
	'docs/decoder.html' => replaced(slurp('docs/decoder.html'), 'uidgen.mjs', $built_in));

my @old = grep { slurp($_) ne $made{$_} } sort keys %made;
if ($check)
{
	print map { "$_ is not up to date; run docs/build/decoder.pl\n" } @old;
	exit(@old ? 1 : 0);
}
foreach my $file (@old)
{
	open(my $fh, '>', "$root/$file") or die "$file: $!\n";
	print $fh $made{$file};
	close $fh or die "$file: $!\n";
}
