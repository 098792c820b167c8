# Session.pm: a session that speaks PostgreSQL's protocol itself: a program keeps many of them, asks them thousands of times, and is told each SQLSTATE,
# without a psql for each.
#
#	my $session = Session->new($node, 'postgres', 'app');
#	my $rows = $session->run('SELECT 1, NULL');		# [['1', undef]], or nothing after an error
#	print "$session->{state}: $session->{message}\n" if !$rows;
package Session;

use strict;
use warnings;

sub new
{
	my ($class, $node, $database, $user) = @_;
	my $self = bless { socket => $node->raw_connect, read => '', status => 'I' }, $class;
	my $start = pack 'N (Z*)4 x', 196608, user => $user, database => $database;
	syswrite($self->{socket}, pack('N', 4 + length $start) . $start);
	$self->answer or die "$self->{state}: $self->{message}";
	return $self;
}

sub run
{
	my ($self, $sql) = @_;
	utf8::encode($sql) if utf8::is_utf8($sql);
	syswrite($self->{socket}, 'Q' . pack('N', 5 + length $sql) . "$sql\0");
	return $self->answer;
}

# Is a transaction open: "I" no, "T" yes, "E" it has failed.
sub status { return $_[0]{status} }

# Rows as texts, undefined for null; those of the last statement where there are several.
sub answer
{
	my ($self) = @_;
	my @rows;
	@$self{qw(state message detail notices)} = ('', '', '', '');
	while (1)
	{
		while (length $self->{read} > 4 && length $self->{read} > (my $length = unpack 'x N', $self->{read}))
		{
			my ($type, $body) = unpack "a x4 a@{[ $length - 4 ]}", $self->{read};
			substr($self->{read}, 0, 1 + $length) = '';
			if ($type eq 'T') { @rows = () }
			elsif ($type eq 'D') { push @rows, columns($body) }
			elsif ($type eq 'N') { $self->{notices} .= { fields($body) }->{M} . "\n" }
			elsif ($type eq 'E' && !$self->{state})
			{
				my %said = fields($body);
				@$self{qw(state message detail)} = ($said{C}, $said{M}, join ' ', map { $said{$_} // () } qw(D W));
			}
			elsif ($type eq 'Z')
			{
				$self->{status} = $body;
				return $self->{state} ? () : \@rows;
			}
		}
		if (!sysread($self->{socket}, $self->{read}, 65536, length $self->{read}))
		{
			@$self{qw(state message)} = ('08006', "the connection is gone: $self->{message}");
			return;
		}
	}
	return;
}

sub fields { return map { substr($_, 0, 1) => substr($_, 1) } grep { length } split /\0/, $_[0] }

sub columns
{
	my ($body) = @_;
	my ($count, $at, @columns) = (unpack('n', $body), 2);
	while ($count-- > 0)
	{
		my $length = unpack 'l>', substr($body, $at, 4);
		push @columns, $length < 0 ? undef : substr($body, $at + 4, $length);
		$at += 4 + ($length < 0 ? 0 : $length);
	}
	return \@columns;
}

1;
