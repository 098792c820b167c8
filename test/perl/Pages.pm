# What pages of the documentation show, as a reader would run it.
#
# A block between lines of ``` is run if it is of the kind "sql", "sh" or none; the next block, if nothing but a blank line is between,
# is what a block of such a kind prints.  A block without a kind may also have statements with what each prints.  What a reader does not
# see stands in comments before a block:
#
#	<!-- before: SQL -->		to be run first
#	<!-- not run: REASON -->	the next block is not run; the reason may be "before PostgreSQL 18"
#	<!-- no block of this page is run: REASON -->
package Pages;

use strict;
use warnings;
use Exporter qw(import);
use Sys::Hostname;
use Test::More;

our @EXPORT = qw(blocks_of statements_of is_as_shown);

# [number of the line, kind, text, what is to be run before, why it is not run, whether another block touches it]
sub blocks_of
{
	my ($page) = @_;
	my @blocks;
	my $end = 0;
	my $none = $page =~ /<!-- no block of this page is run: (.*?) -->/s ? $1 : undef;
	while ($page =~ /^```(\w*)\n(.*?)^```\n/msg)
	{
		my ($kind, $text, $begin) = ($1, $2, $-[0]);
		my $between = substr($page, $end, $begin - $end);
		push @blocks,
		  {
			line => 1 + (substr($page, 0, $begin) =~ tr/\n//),
			kind => $kind,
			text => $text,
			before => join("\n", $between =~ /<!-- before: (.*?) -->/sg),
			not_run => $between =~ /<!-- not run: (.*?) -->/s ? $1 : $none,
			follows => scalar(@blocks && $between =~ /^\s*$/),
		  };
		$end = pos $page;
	}
	return @blocks;
}

# A block that has statements: [statement, what it prints; undef: that is not shown].
sub statements_of
{
	my ($text) = @_;
	my @statements;
	my $open = 0;
	foreach my $line (split /^/, $text)
	{
		if ($open)
		{
			$statements[-1][0] .= $line;
		}
		elsif ($line =~ /^(?:SELECT|INSERT|LOCK|CREATE|ALTER|UPDATE|DELETE|BEGIN|COMMIT|ROLLBACK|CALL|EXPLAIN|ANALYZE|SET|RESET|REVOKE|COMMENT|GRANT|DROP|PREPARE|EXECUTE|WITH|DO|\\\w)\b|^--(?!-)/)
		{
			push @statements, [ $line, undef ];
		}
		else
		{
			$statements[-1][1] .= $line if @statements && ($line =~ /\S/ || defined $statements[-1][1]);
			next;
		}
		$open = $line !~ /;\s*(?:--.*)?$|^\\|^--|^\s*$/ || $line =~ /^--(?!-)/;
		$open = 0 if $line =~ /^\\/;
	}
	return @statements;
}

# As a pattern, of what must be equal: numbers count as equal, as do the widths of columns, and texts that are made of numbers.
sub stable
{
	my ($text, %names) = @_;
	my $host = hostname();
	$text =~ s/\Q$names{$_}\E/$_/g foreach keys %names;
	$text =~ s/\b\Q$host\E\b/vm/g;
	$text =~ s/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/X/g;
	$text =~ s/\b0[0-9A-HJKMNP-TV-Z]{12}\b/X/g;    # base32, which may have no letter
	$text =~ s/^(hex +)[0-9a-f]{16}$/$1X/mg;
	$text =~ s/\b(?=\w*\d)(?=\w*[A-Za-z])[\w-]{11,}\b/X/g;
	$text =~ s/\d+/0/g;
	$text =~ s/-?0(?:(?::0)*\.0|:0:0)\b/0/g;    # with or without a fraction
	$text =~ s/(?<=\s)-0\b/0/g;    # a random number
	$text =~ s/[-+]{2,}/-/g;
	$text =~ s/ +/ /g;
	$text =~ s/^ | $//mg;
	$text =~ s/^\n//mg;
	return $text;
}

# "..." stands for any lines.
sub is_as_shown
{
	my ($got, $shown, $name, %names) = @_;
	my $pattern = join '.*', map { quotemeta } split /^\.\.\.\n/m, stable($shown, %names), -1;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(stable($got, %names) =~ /\A$pattern\z/s, $name) || diag("printed:\n$got\nshown:\n$shown");
}

1;
