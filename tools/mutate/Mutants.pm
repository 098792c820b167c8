# Mutants.pm: the small changes that tools/mutate/run.pl makes to a source file.
#
# A mutant is a file with one change, which a test should notice: a comparison,
# a constant, AND for OR, a condition that is negated, plus for minus, the lower for
# the higher, or a statement that is left out.  C files are changed in functions,
# initializers and constants, and SQL scripts in functions.  Comments, assertions, messages and declarations
# stay as they are.  The text is looked through by patterns, with what stays blotted out:
# what the compiler refuses is no mutant.
package Mutants;

use strict;
use warnings;
use Exporter 'import';

our @EXPORT_OK = qw(mutants_of apply describe killed_by named_mutant);

# What takes the place of what.
my %c_swap = (
	'<' => [ '<=', '>=' ], '<=' => [ '<', '>' ], '>' => [ '>=', '<=' ], '>=' => [ '>', '<' ],
	'==' => ['!='], '!=' => ['=='], '&&' => ['||'], '||' => ['&&'],
	'+' => ['-'], '-' => ['+'], '+=' => ['-='], '-=' => ['+='], '++' => ['--'], '--' => ['++'],
	'*' => ['/'], '/' => ['*'], '<<' => ['>>'], '>>' => ['<<'], '&' => ['|'], '|' => ['&'],
	'true' => ['false'], 'false' => ['true'], 'Min' => ['Max'], 'Max' => ['Min'],
	'uidgen_tick_lower' => ['uidgen_tick_higher'], 'uidgen_tick_higher' => ['uidgen_tick_lower'],
	'uidgen_tick_plus' => ['uidgen_tick_minus'], 'uidgen_tick_minus' => ['uidgen_tick_plus']);
my %sql_swap = (
	'<' => [ '<=', '>=' ], '<=' => [ '<', '>' ], '>' => [ '>=', '<=' ], '>=' => [ '>', '<' ],
	'=' => ['<>'], '<>' => ['='], 'AND' => ['OR'], 'OR' => ['AND'],
	'+' => ['-'], '-' => ['+'], '*' => ['/'], '/' => ['*'],
	'true' => ['false'], 'false' => ['true'], 'greatest' => ['least'], 'least' => ['greatest'],
	'min' => ['max'], 'IS NULL' => ['IS NOT NULL'], 'IS NOT NULL' => ['IS NULL'],
	'IN' => ['NOT IN'], 'NOT IN' => ['IN'], 'NOT' => [''], ' DESC' => ['']);

# The same text, of which what matches is blotted out.
sub blot
{
	my ($text, $pattern) = @_;
	$text =~ s{$pattern}{ (my $blot = $&) =~ tr/\n/\1/c; $blot }ge;
	return $text;
}

my $parens;
$parens = qr{\((?:[^()]++|(??{ $parens }))*\)};

sub blot_c
{
	my ($text) = @_;
	$text = blot($text, qr{/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'}s);
	$text = blot($text, qr{\b(?:uidgen_assert|Assert\w*|StaticAssert\w*)\s*$parens;});
	$text = blot($text, qr{\b(?:err(?:msg|detail|hint|code|context)\w*|elog)$parens});
	# A line of the preprocessor's, unless it gives a number a name.
	$text = blot($text, qr{^#(?!define\s+\w+\s+\(?\d)(?:.*\\\n)*.*$}m);
	return blot($text, qr{^#define\s+\w+}m);
}

sub blot_sql
{
	my ($text) = @_;
	$text = blot($text, qr{--.*$|'(?:''|[^'])*'|"[^"]*"}m);
	$text = blot($text, qr{(?<=RAISE )(?:EXCEPTION|WARNING)[^;]*});
	return blot($text, qr{#variable_conflict.*});
}

# Is a condition negated anyway, by another operator or without its "!"?
sub simple
{
	return $_[0] !~ /&&|\|\||\b(?:AND|OR)\b/ && $_[0] =~ /\s[<>=!]=\s|\s[<>=]\s|\s<>\s|^\(!\w|\b(?:NOT|NULL)\b/;
}

# Position after the bracket that closes the one at $from.
sub closing
{
	my ($text, $from) = @_;
	my $depth = 0;
	pos($text) = $from;
	while ($text =~ /([(){}\[\]])/g)
	{
		$depth += $1 =~ /[({\[]/ ? 1 : -1;
		return pos($text) if $depth == 0;
	}
	return length $text;
}

# The pieces of a file that are changed: [from, to, name of the function or ''].
sub pieces_c
{
	my ($text) = @_;
	my @pieces;
	while ($text =~ /^#\1+(.*)$/mg)
	{
		push @pieces, [ $-[1], $+[1], '' ];
	}
	while ($text =~ /^\{|(?<== )\{/mg)
	{
		my $from = $-[0];
		my $before = substr($text, 0, $from);
		my $to = closing($text, $from);
		pos($text) = $to;
		if ($before =~ /[=] $/)
		{
			push @pieces, [ $from, $to, '' ];
		}
		elsif ($before =~ /\n(\w+)$parens\s*$/)
		{
			push @pieces, [ $from, $to, $1 ];
		}
	}
	return sort { $a->[0] <=> $b->[0] } @pieces;
}

sub pieces_sql
{
	my ($text) = @_;
	my @pieces;
	while ($text =~ /^\t*CREATE (?:OR REPLACE )?(?:FUNCTION|PROCEDURE) (?:[@\w]+\.)?(\w+)\((?:(?!^\t*CREATE ).)*?^\t*(?:AS \$\$\n(.*?)^\t*\$\$;|RETURN (.*?);$)/msg)
	{
		push @pieces, defined $2 ? [ $-[2], $+[2], $1 ] : [ $-[3], $+[3], $1 ];
	}
	return @pieces;
}

# Where statements lie that can be left out: [from, to] each, the end without ";".
sub statements_c
{
	my ($text, $from, $to) = @_;
	my @found;
	my $start = $from + 1;
	for (my $i = $start; $i < $to; $i++)
	{
		my $char = substr($text, $i, 1);
		my $so_far = substr($text, $start, $i - $start);
		$so_far =~ s/[\s\1]+/ /g;
		$so_far =~ s/^ //;
		if ($char eq '(' || $char eq '[')
		{
			$i = closing($text, $i) - 1;
			$start = $i + 1 if $so_far =~ /^(if|while|for|switch) ?$/;
		}
		elsif ($char eq '{' && $so_far =~ /\S/ && $so_far !~ /^(else|do) ?$/)
		{
			$i = closing($text, $i) - 1;
		}
		elsif ($char eq '{' || $char eq '}' || ($char eq ':' && $so_far =~ /^(case\b|default|\w+$)/))
		{
			$start = $i + 1;
		}
		elsif ($char =~ /\s/ && $so_far =~ /^(else|do)$/)
		{
			$start = $i + 1;
		}
		elsif ($char eq ';')
		{
			push @found, [ $start, $i ]
			  if $so_far ne ''
			  && $so_far !~ /^(?!return|goto|else)[A-Za-z_]\w* (?:\w+ )*\**\w+(?:\[.*\])? ?(?:[=,]|$)/;
			$start = $i + 1;
		}
	}
	return @found;
}

sub statements_sql
{
	my ($text, $from, $to) = @_;
	my @found;
	pos($text) = $from;
	# A function in SQL has one statement, and needs it.
	return if $text !~ /^\t*BEGIN\n/mg || pos($text) > $to;
	my $start = pos($text);
	while ($text =~ /\G[^;]*?;/gc)
	{
		my $end = pos($text);
		last if $end > $to;
		# An END belongs to no statement, THEN and ELSE begin the next one; but not
		# those of a CASE.
		my $statement = substr($text, $start, $end - $start);
		$statement =~ s/^(?:[\s\1]*(?:(?:IF|ELSIF)\b(?:(?!\bTHEN\b).)*\bTHEN\b|ELSE\b))+//s;
		push @found, [ $end - length $statement, $end - 1 ] if $statement !~ /^[\s\1]*END\b/;
		$start = $end;
	}
	return @found;
}

# All mutants of a file: a list of hashes with file, function, line, and `change`,
# from one text to another without needless blanks; `number`, of those for which all
# this but the line is the same; from, to and text are what apply() needs.
sub mutants_of
{
	my ($file, $source) = @_;
	my $sql = $file =~ /\.sql$/;
	my $text = $sql ? blot_sql($source) : blot_c($source);
	my @mutants;

	my $add = sub {
		my ($function, $from, $to, $new) = @_;
		# How long padding is, no test sees; and shared memory is zero before it is initialized.
		my $changed = substr($source, $from, $to - $from);
		return if $function eq '' && substr($source, 0, $to) =~ /\bpad\w*\[[^\n]*\z/;
		return if $new eq '' && $changed =~ /^\s*pg_atomic_init_u\d+\([^;]*, 0\)$/;
		$from++ while substr($text, $from, 1) =~ /[\s\1]/ && $from < $to;
		my ($first, $last) = ($from, $to);
		my $line = 1 + (substr($source, 0, $first) =~ tr/\n//);
		# The whole lines, before and after.
		$first-- while $first > 0 && substr($source, $first - 1, 1) ne "\n";
		$last++ while $last < length $source && substr($source, $last, 1) ne "\n";
		my $old_lines = substr($source, $first, $last - $first);
		my $new_lines = substr($source, $first, $from > $first ? $from - $first : 0) . $new . substr($source, $to, $last - $to);
		s/\s+/ /g, s/^ | $//g foreach $old_lines, $new_lines;
		push @mutants,
		  {
			file => $file, function => $function, line => $line, change => "$old_lines\t$new_lines",
			from => $from, to => $to, text => $new };
	};

	foreach my $piece ($sql ? pieces_sql($text) : pieces_c($text))
	{
		my ($from, $to, $function) = @$piece;
		my $swap = $sql ? \%sql_swap : \%c_swap;
		my $word =
		  $sql
		  ? qr{IS NOT NULL|IS NULL|NOT IN|\b(?:AND|OR|NOT|IN|true|false|greatest|least|min)\b|\ DESC\b|<=|>=|<>|(?<![:<>])=|(?<!<)<(?![=>])|>(?!=)|(?<=\s)[-+*/](?=\s)}x
		  : qr{\b(?:true|false|Min|Max|uidgen_tick_(?:lower|higher|plus|minus))\b|->(*SKIP)(*FAIL)|(?<=\s)(?:<<|>>|[-+*/&|]|[<>=!]=|[<>]|&&|\|\||[-+]=)(?=\s)|\+\+|--}x;
		pos($text) = $from;
		while ($text =~ /$word/g)
		{
			my ($first, $last, $old) = ($-[0], $+[0], $&);
			last if $first >= $to;
			# BETWEEN takes its own AND.
			next if $old eq 'AND' && substr($text, 0, $first) =~ /BETWEEN \w+ $/;
			$add->($function, $first, $last, $_) foreach @{ $swap->{$old} };
		}
		pos($text) = $from;
		while ($text =~ /(?<![\w.])(\d+)(?![\w.])/g)
		{
			my ($first, $last, $old) = ($-[1], $+[1], $1);
			last if $first >= $to;
			$add->($function, $first, $last, $_) foreach $old + 1, $old > 0 ? $old - 1 : ();
		}
		if (!$sql)
		{
			# !x, and whole conditions
			pos($text) = $from;
			while ($text =~ /!(?=[\w(])/g)
			{
				last if $-[0] >= $to;
				$add->($function, $-[0], $+[0], '');
			}
			pos($text) = $from;
			while ($text =~ /\b(?:if|while) (?=\()/g)
			{
				my $first = pos($text);
				last if $first >= $to;
				my $last = closing($text, $first);
				next if simple(substr($text, $first, $last - $first));
				$add->($function, $first, $last, '(!' . substr($source, $first, $last - $first) . ')');
			}
			if ($function ne '')
			{
				$add->($function, @$_, '') foreach statements_c($text, $from, $to);
			}
			# A field of a struct that is left zero.
			pos($text) = $from;
			while ($text =~ /^\s*\.\w+ = (?:[^{};]*?),$/mg)
			{
				last if $-[0] >= $to;
				$add->($function, $-[0], $+[0], '');
			}
		}
		else
		{
			pos($text) = $from;
			while ($text =~ /\b(?:ELS)?IF (.*?) THEN\b/sg)
			{
				last if $-[0] >= $to;
				next if simple($1);
				$add->($function, $-[1], $+[1], 'NOT (' . substr($source, $-[1], $+[1] - $-[1]) . ')');
			}
			# The other direction, where none is named.
			pos($text) = $from;
			while ($text =~ /ORDER BY [\w.]+(?! DESC)(?:, [\w.]+)?(?= LIMIT)|ORDER BY [\w.]+ DESC, [\w.]+(?= LIMIT)/g)
			{
				last if $-[0] >= $to;
				$add->($function, $+[0], $+[0], ' DESC');
			}
			# One of the columns that UPDATE sets.
			pos($text) = $from;
			while ($text =~ /^\t+\w+ = [^,;()]*(?:$parens)?,$/mg)
			{
				last if $-[0] >= $to;
				$add->($function, $-[0], $+[0], '');
			}
			$add->($function, @$_, ' NULL') foreach statements_sql($text, $from, $to);
		}
	}
	# By place; the same text at the same place once.
	my (%seen, %number);
	@mutants = sort { $a->{from} <=> $b->{from} || $a->{to} <=> $b->{to} || $a->{text} cmp $b->{text} }
	  grep { !$seen{"$_->{from} $_->{to} $_->{text}"}++ } @mutants;
	$_->{number} = ++$number{"$_->{function} $_->{change}"} foreach @mutants;
	return @mutants;
}

# FILE FUNCTION: OLD => NEW.  Of several that are alike the second has #2 after the function.
sub describe
{
	my ($mutant) = @_;
	my $number = $mutant->{number} > 1 ? "#$mutant->{number}" : '';
	return "$mutant->{file} $mutant->{function}$number: " . $mutant->{change} =~ s/\t/ => /r;
}

# What the head of a program says that it kills, as describe() has it; or, of SQL for which there are no mutants, FILE: OLD => NEW.
sub killed_by
{
	my ($program) = @_;
	return $program =~ /^# Kills: (.*)$/mg;
}

# The mutant that such a text names; undef if there is none, or if OLD does not stand exactly once in the SQL.
sub named_mutant
{
	my ($text, $source) = @_;
	my ($file, $old, $new) = $text =~ /^(\S+?)(?: [\w#]+)?: (.*?) => (.*)$/ or return;
	my ($mutant) = grep { describe($_) eq $text } mutants_of($file, $source);
	return $mutant if $mutant || $file !~ /\.sql$/;
	my $pattern = join '\s+', map { quotemeta } split / /, $old;
	my @places;
	push @places, [ $-[0], $+[0] ] while $source =~ /$pattern/g;
	return if @places != 1;
	my ($from, $to) = @{ $places[0] };
	return {
		file => $file, function => '', line => 1 + (substr($source, 0, $from) =~ tr/\n//), change => "$old\t$new", number => 1,
		from => $from, to => $to, text => $new };
}

sub apply
{
	my ($source, $mutant) = @_;
	substr($source, $mutant->{from}, $mutant->{to} - $mutant->{from}) = $mutant->{text};
	return $source;
}

1;
