# EverySetting.pm: sets all that ALTER DATABASE and ALTER ROLE can set, for the tests of hostile settings.
#
#	my $every = EverySetting->new($node, 'postgres', fixed => [...]);
#	foreach my $round (1 .. $every->rounds)
#	{
#		$every->set('DATABASE registry', $round);
#		...
#	}
#
# In odd rounds each setting is at its least, in even ones at its greatest, and an enumeration has its value of the round's
# number, or the last one.  Texts do harm where one can think of some, and are "evil" elsewhere.
package EverySetting;

use strict;
use warnings;
use Test::More;

my %texts = (
	client_encoding => 'SJIS',
	createrole_self_grant => 'set, inherit',
	datestyle => 'German',
	default_text_search_config => 'simple',
	log_min_messages => 'debug5',    # an enumeration before version 19
	'plpgsql.extra_errors' => 'all',
	'plpgsql.extra_warnings' => 'all',
	restrict_nonsystem_relation_kind => 'view, foreign-table',
	timezone => 'Pacific/Kiritimati',
	timezone_abbreviations => 'India',
	wal_consistency_checking => 'all',
	map { $_ => 'C' } qw(lc_messages lc_monetary lc_numeric lc_time));

# Options: but, names that are left alone.
sub new
{
	my ($class, $node, $database, %options) = @_;
	# A value that the machine may not allow, and since version 19 standard_conforming_strings can only be on.
	my @fixed = ('max_stack_depth', $node->pg_version->major >= 19 ? 'standard_conforming_strings' : ());
	my $self = bless {
		node => $node,
		database => $database,
		fixed => join(', ', map { "'$_'" } @fixed),
		texts => join(', ', map { "('$_', '$texts{$_}')" } sort keys %texts) =~ s/SJIS/$node->safe_psql($database, "SELECT CASE WHEN getdatabaseencoding() IN ('UTF8', 'SQL_ASCII') THEN 'SJIS' ELSE 'UTF8' END")/er,
		can_be_set => "context IN ('user', 'superuser') AND name !~ '^(transaction_(isolation|read_only|deferrable))\$'"
		  . join('', map { " AND name <> '$_'" } @{ $options{but} // [] }),
	}, $class;
	$self->{rounds} = $node->safe_psql($database, "LOAD 'plpgsql'; SELECT max(cardinality(enumvals)) FROM pg_settings WHERE $self->{can_be_set}");
	return $self;
}

sub rounds
{
	my ($self) = @_;
	return $self->{rounds};
}

sub end_of
{
	my ($round) = @_;
	return $round % 2 ? 'least' : 'greatest';
}

# For a DATABASE or a ROLE.  In the first two rounds one test: all is set.
sub set
{
	my ($self, $holder, $round) = @_;
	my $end = end_of($round);
	$self->{node}->psql($self->{database}, <<~"END", on_error_stop => 0);
		LOAD 'plpgsql';
		SELECT format('ALTER $holder SET %s = %L', name,
			CASE vartype
				WHEN 'bool' THEN CASE '$end' WHEN 'least' THEN 'off' ELSE 'on' END
				WHEN 'enum' THEN enumvals[least($round, cardinality(enumvals))]
				WHEN 'string' THEN coalesce(sample, 'evil')
				ELSE CASE '$end' WHEN 'least' THEN min_val ELSE max_val END
			END)
		FROM pg_settings LEFT JOIN (VALUES $self->{texts}) AS t (of, sample) ON of = lower(name)
		WHERE $self->{can_be_set}
		\\gexec
		END
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is( $self->{node}->safe_psql($self->{database}, <<~"END"), '', "round $round: all is set") if $round <= 2;
		LOAD 'plpgsql';
		SELECT string_agg(name, ' ') FROM pg_settings
		WHERE $self->{can_be_set} AND name NOT IN ($self->{fixed}) AND lower(name) NOT IN
			(SELECT lower(split_part(unnest(setconfig), '=', 1)) FROM pg_db_role_setting)
		END
	return "all settings at their $end, and value $round of enumerations";
}

1;
