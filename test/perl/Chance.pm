# Chance.pm: what a random plan is made of; srand() decides on all of it.
package Chance;

use strict;
use warnings;
use Exporter 'import';
use List::Util qw(sum0);

our @EXPORT = qw(pick pick_weighted pick_magnitude);

sub pick { return $_[ rand @_ ] }

# One of the keys of a hash of weights.
sub pick_weighted
{
	my ($weights) = @_;
	my $at = rand sum0(values %$weights);
	foreach my $key (sort keys %$weights)
	{
		return $key if ($at -= $weights->{$key}) < 0;
	}
	return (sort keys %$weights)[-1];
}

# Small and large ones equally often.
sub pick_magnitude
{
	my ($from, $to) = @_;
	return $from * ($to / $from)**rand;
}

1;
