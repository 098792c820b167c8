# What people do with a fleet's registry, step by step: test/procedures/NAME.steps.  The pages show these steps (test/meta.pl compares
# them), their tests run them as the pages have them, and test/simulation plays them in any order, broken off anywhere.
#
#	# PAGE, "HEADING"		where the page has it
#	by WHO				a step begins; who is "owner" runs SQL on the registry, "owner of the other registry" on a second one
#	note NAME SELECT ...		its result is $NAME from now on; its rows, if there are several
#	if SELECT ...			a guard: goes on if it is true
#	play SELECT ... | NAME		what is done: a statement, or what the simulation calls so; several are one transaction
#	never SELECT ...		what the page warns of
#	without N [SELECT ...]		without the line above, or without its condition, or with this in its place, ids come twice, or in the end a node gets none, within N schedules
#	TAB TEXT			as the page shows it; where there is no text, the statements are in its prose
#
# Any of it may be lost by a failover, and nothing comes twice by that: a step that could not bear it would have to say so.
package Procedures;

use strict;
use warnings;
use Exporter qw(import);
use File::Basename qw(basename);
use Pages;

our @EXPORT = qw(procedures blocks_under statements_of_procedure);

my $folder = __FILE__ =~ s{[^/]*$}{../procedures}r;

sub slurp
{
	my ($file) = @_;
	open(my $handle, '<', $file) or die "could not open $file: $!";
	local $/;
	return scalar <$handle>;
}

# NAME => {page, heading, text, statements}
sub procedures
{
	my %procedures;
	foreach my $file (glob "$folder/*.steps")
	{
		my $text = slurp($file);
		my ($page, $heading) = $text =~ /\A# (\S+), "(.*)"\n/ or die "$file: of which page?\n";
		my @wrong = grep { !/^(?:#|\t|$|by (?:nobody: .*|operator|owner(?: of the other registry)?)$|note \w+ \S|if SELECT |(?:play|never) \S|without \d+(?: SELECT .*)?$)/ } split /\n/, $text;
		die "$file: @wrong\n" if @wrong;
		$procedures{ basename($file, '.steps') } = {
			page => $page,
			heading => $heading,
			text => join('', $text =~ /^\t(.*\n)/mg),
			statements => [ $text =~ /^(?:note \w+|if|play) (.*[a-z].*)$/mg ] };
	}
	return %procedures;
}

sub statements_of_procedure { my %procedures = procedures(); return @{ $procedures{ $_[0] }{statements} } }

# The blocks that are run, of the part of a page below a heading.
sub blocks_under
{
	my ($page, $heading) = @_;
	my ($part) = $page =~ /^#+ \Q$heading\E\n((?:^```.*?^```\n|^(?!#).*?\n)*)/ms or die "there is no \"$heading\"\n";
	return ($part, grep { $_->{kind} =~ /^(?:sh|sql)$/ } blocks_of($part));
}

1;
