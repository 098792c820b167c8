# SessionPrograms.pm: random programs of all that a client can do with uidgen, for
# session.c, whose head explains the steps.
#
#	my $programs = SessionPrograms->new(%of_the_round);
#	print $file $programs->session($number, $programs);
#
# They are made with rand() alone, so srand() before decides them.
package SessionPrograms;

use strict;
use warnings;
use List::Util qw(max min);

# What is told of a round:
#	capacity	ids in a tick
#	rate		ids a second
#	tags		how many there are; 0: the layout has no tag
#	blocks		the layout has blocks of consecutive ids
#	sparse		few ids at a time, so that none has to be ahead of the clock
#	standby		some sessions are on node 1
#	parallel	the setting that makes every plan a parallel one
sub new
{
	my ($class, %round) = @_;
	return bless {%round}, $class;
}

# ---- chance ----

sub pick { return $_[ rand @_ ] }

# A whole number; small and large ones equally often.
sub number
{
	my ($from, $to) = @_;
	return $from if $to <= $from;
	return int($from * (($to + 1) / $from)**rand);
}

# How many ids to draw.
sub count
{
	my ($self, $most) = @_;
	return number(1, 12) if $self->{sparse};
	return number(1, max(1, min($most, $self->{rate} / 2)));
}

# ---- steps ----

sub step { my $self = shift; $self->{text} .= join("\t", @_) . "\n"; return; }

# A query; the letters of session.c that follow from the session are added.
sub query
{
	my ($self, $flags, $sql, $tag) = @_;
	$flags .= 'e' if rand > 0.8 && $sql !~ /;/;
	$self->step('query', $flags, $tag // -1, $sql =~ s/\s+/ /gr);
	return;
}

sub run { my ($self, $sql) = @_; $self->query('', $sql); return; }

# The session's last id comes from here: a query whose ids are in order.
sub draw
{
	my ($self) = @_;
	my $n = $self->count(2000);
	my @ways = (
		sub { $self->query('of', 'SELECT uid_next() AS id') },
		sub { $self->query('of', 'SELECT uid_next() AS id') },
		sub { $self->query('of', "SELECT uid_next() AS id FROM generate_series(1, $n)") },
		sub { $self->query('of', "SELECT uid_next_batch($n) AS id") },
		sub { $self->query('of', "SELECT id FROM uid_next_batch($n) AS id") });
	push @ways, sub {
		my $tag = int rand $self->{tags};
		$self->query('of', pick("SELECT uid_next($tag) AS id", "SELECT uid_next($tag) AS id FROM generate_series(1, $n)",
				"SELECT id FROM uid_next_batch($n, $tag) AS id"), $tag);
	} if $self->{tags};
	push @ways, sub { $self->block } if $self->{blocks};
	pick(@ways)->();
	return;
}

sub block
{
	my ($self) = @_;
	my $size = $self->{sparse} ? number(1, 12) : pick($self->{capacity}, number(1, $self->{capacity}), int($self->{capacity} / 2) + 1);
	$size = min($size, $self->{capacity}, 100_000);
	# Each may take a tick.
	my $blocks = $self->{sparse} ? 1 : number(1, min(500, max(1, $self->{rate} / $self->{capacity} / 2)));
	$self->query('of', "SELECT b AS first_id, b + $size - 1 AS last_id FROM generate_series(1, $blocks) AS i, LATERAL uid_reserve($size + 0 * i) AS b");
	return;
}

sub begin
{
	my ($self) = @_;
	$self->run('BEGIN' . pick('', '', '', ' READ ONLY', ' ISOLATION LEVEL SERIALIZABLE', ' ISOLATION LEVEL REPEATABLE READ'));
	return;
}

sub finish { my ($self) = @_; $self->run(pick('COMMIT', 'COMMIT', 'ROLLBACK')); return; }

# Every plan is a parallel one from here on, if it can be.
sub go_parallel
{
	my ($self) = @_;
	$self->run("SET $self->{parallel} = on") if rand > 0.5;
	$self->run($_) foreach map { "SET $_ = 0" } qw(parallel_setup_cost parallel_tuple_cost min_parallel_table_scan_size);
	return;
}

# Often all that the session does afterwards remains so.
sub leave_parallel
{
	my ($self) = @_;
	$self->run("SET $self->{parallel} = off") if rand > 0.5;
	return;
}

# Two calls in one row, which the planner may not take for one.  $size: of a block, of which
# the call tells the first.  $segment: the letter for numbers.
sub two_in_a_row
{
	my ($self, $segment, $call, $n, $size) = @_;
	my ($a, $b) = $size ? ('a AS first_id, a + %d AS last_id', 'b AS first_id, b + %d AS last_id') : ('a AS id', 'b AS id');
	my $two = sprintf "$a, $b", ($size ? $size - 1 : ()) x 2;
	my $rows = pick("generate_series(1, $n)", ("source WHERE i <= $n") x 3, "source WHERE i <= $n ORDER BY i",
		"source WHERE i <= $n GROUP BY i", "source JOIN generate_series(1, $n) AS i USING (i)");
	my $drawn = "SELECT $call AS a, $call AS b FROM $rows";
	# Two batches take turns in the rows.
	my $flags = $segment . ($call =~ /batch/ ? 'f' : 'of');
	$self->query($flags, pick(
		"SELECT $two FROM ($drawn OFFSET 0) AS d",
		"WITH d AS MATERIALIZED ($drawn) SELECT $two FROM d",
		$size ? () : ("SELECT $call AS id, $call AS id FROM $rows") x 2,
		$size ? () : "COPY (SELECT $call, $call FROM $rows) TO STDOUT (FORMAT binary)"));
	return;
}

# Numbers of segments; the letter g.
sub numbers
{
	my ($self) = @_;
	my $n = number(1, 3000);
	my $segment = pick('one', 'one', 'two', 'three');
	my @ways = (
		"SELECT uid_segment_next('$segment') AS id",
		"SELECT uid_segment_next('$segment') AS id FROM generate_series(1, $n)",
		"SELECT uid_segment_batch('$segment', $n) AS id",
		"SELECT id FROM uid_segment_batch('$segment', $n) AS id",
		"COPY (SELECT uid_segment_next('$segment') FROM generate_series(1, $n)) TO STDOUT (FORMAT binary)",
		"SELECT b AS first_id, b + $n - 1 AS last_id FROM generate_series(1, 3) AS i, LATERAL uid_segment_reserve('$segment', $n + 0 * i) AS b",
		"SELECT uid_segment_next(s) AS id FROM generate_series(1, $n) AS i, unnest(ARRAY['one', 'two', 'three', 'one']) AS s");
	$self->query('gof', pick(@ways));
	return;
}

# ---- what a program is made of ----

my %OPS = (
	single => [ 6, sub { my ($self) = @_; $self->draw foreach 1 .. 1 + rand 4 } ],
	many => [
		3,
		sub {
			my ($self) = @_;
			my $n = $self->count(20_000);
			$self->query('of', pick("COPY (SELECT uid_next() FROM generate_series(1, $n)) TO STDOUT (FORMAT binary)",
					"COPY (SELECT uid_next_batch($n)) TO STDOUT (FORMAT binary)"));
		}
	],
	mixed => [
		2,
		sub {
			my ($self) = @_;
			my $n = $self->count(200);
			if ($self->{blocks})
			{
				my $size = $self->{sparse} ? 1 : number(1, min(1000, $self->{capacity}));
				$n = max(1, min($n, $self->{rate} / $self->{capacity} / 2));
				$self->query('of', "SELECT b AS first_id, b + $size - 1 AS last_id, uid_next() AS id FROM generate_series(1, $n) AS i, LATERAL uid_reserve($size + 0 * i) AS b");
			}
			else
			{
				$self->query('of', "SELECT b AS id, uid_next() AS id FROM generate_series(1, $n) AS i, LATERAL uid_next_batch(1 + 0 * i) AS b");
			}
		}
	],
	in_function => [
		3,
		sub {
			my ($self) = @_;
			my $n = $self->count(500);
			$self->query('of', pick('SELECT new_id() AS id', "SELECT new_id() AS id FROM generate_series(1, $n)",
					"SELECT uid_next() AS id, new_id() AS id FROM generate_series(1, $n)"));
			$self->draw;
		}
	],
	wait_timeout => [
		2,
		sub {
			my ($self) = @_;
			$self->run(sprintf q{SET uidgen.wait_timeout = '%dms'}, pick(0, number(1, 50), number(50, 2000), 10_000));
			$self->draw foreach 1 .. 1 + rand 3;
			$self->run('RESET uidgen.wait_timeout') if rand > 0.3;
		}
	],
	statement_timeout => [
		2,
		sub {
			my ($self) = @_;
			my $n = $self->count(50_000);
			$self->run(sprintf q{SET statement_timeout = '%dms'}, number(1, 60));
			$self->query('of', pick("COPY (SELECT uid_next() FROM generate_series(1, $n)) TO STDOUT (FORMAT binary)", 'SELECT uid_next() AS id'));
			$self->run('SET statement_timeout = 0');
			$self->draw;
		}
	],
	cancel => [
		2,
		sub {
			my ($self) = @_;
			my $n = $self->count(50_000);
			$self->step('cancel', number(1, 60));
			$self->query('of', pick("COPY (SELECT uid_next() FROM generate_series(1, $n)) TO STDOUT (FORMAT binary)",
					"SELECT uid_next() AS id FROM generate_series(1, $n)", 'SELECT uid_next() AS id'));
			$self->draw;
		}
	],
	cursor => [
		3,
		sub {
			my ($self) = @_;
			my $n = $self->count(300);
			my $scroll = pick('', '', 'SCROLL ', 'NO SCROLL ');
			# A batch is taken before all of it is fetched.
			my ($flags, $select) = @{ pick([ 'ofa', "uid_next() AS id FROM generate_series(1, $n)" ], [ 'a', "uid_next_batch($n) AS id" ]) };
			$self->begin;
			$self->run("DECLARE c ${scroll}CURSOR FOR SELECT $select");
			foreach (1 .. 2 + rand 3)
			{
				$self->query($flags, sprintf 'FETCH %d FROM c', number(1, 100));
				$self->draw if rand > 0.5;
				# What goes back may be drawn anew, but need not.
				$self->query('a', sprintf 'FETCH BACKWARD %d FROM c', number(1, 20)) if $scroll eq 'SCROLL ';
				$self->query('a', 'FETCH ABSOLUTE 1 FROM c') if $scroll eq 'SCROLL ' && rand > 0.5;
			}
			$self->finish;
		}
	],
	hold => [
		2,
		sub {
			my ($self) = @_;
			my $n = $self->count(300);
			my $scroll = pick('', 'SCROLL ', 'NO SCROLL ');
			$self->begin;
			$self->run("DECLARE h ${scroll}CURSOR WITH HOLD FOR SELECT uid_next() AS id FROM generate_series(1, $n)");
			# Drawn by the COMMIT at the latest.
			$self->query('a', 'FETCH 5 FROM h') if rand > 0.5;
			$self->finish;
			$self->query('a', sprintf 'FETCH %d FROM h', number(1, 100));
			$self->draw;
			$self->query('a', 'FETCH BACKWARD 7 FROM h') if $scroll eq 'SCROLL ';
			$self->query('a', 'FETCH ALL FROM h') if rand > 0.5;
			$self->run('CLOSE ALL');
		}
	],
	prepared => [
		2,
		sub {
			my ($self) = @_;
			$self->run('PREPARE p (int) AS SELECT uid_next() AS id FROM generate_series(1, $1)');
			foreach (1 .. 2 + rand 6)
			{
				$self->query('of', sprintf 'EXECUTE p (%d)', $self->count(300));
				$self->step('pause', number(1, 30)) if rand > 0.5;
			}
			$self->run(pick('DEALLOCATE p', 'DEALLOCATE ALL', 'DISCARD ALL'));
		}
	],
	exceptions => [
		3,
		sub {
			my ($self) = @_;
			my $n = $self->count(60);
			my $fail = 2 + int rand 5;
			$self->query('of', "DO \$\$ BEGIN FOR i IN 1..$n LOOP BEGIN RAISE NOTICE 'id=%', uid_next();"
				  . " IF i % $fail = 0 THEN RAISE EXCEPTION 'planned'; END IF; EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; END \$\$");
		}
	],
	exception_rows => [
		2,
		sub {
			my ($self) = @_;
			$self->query('of', sprintf 'SELECT id FROM ids_with_exceptions(%d) AS id', $self->count(200));
		}
	],
	savepoints => [
		3,
		sub {
			my ($self) = @_;
			$self->begin;
			$self->draw;
			foreach (1 .. 1 + rand 3)
			{
				$self->run('SAVEPOINT s');
				$self->draw;
				$self->run('SELECT 1 / 0') if rand > 0.6;
				$self->run(pick('ROLLBACK TO s', 'ROLLBACK TO s', 'RELEASE s'));
				$self->draw;
			}
			$self->finish;
		}
	],
	fails_later => [
		2,
		sub {
			my ($self) = @_;
			my $n = $self->count(2000);
			$self->query('of', "SELECT uid_next() AS id, 1 / ($n - i) FROM generate_series(1, $n) AS i");
			$self->query('of', "COPY (SELECT uid_next() + 0 * (1 / ($n - i)) FROM generate_series(1, $n) AS i) TO STDOUT (FORMAT binary)");
			$self->draw;
		}
	],
	bad_arguments => [
		1,
		sub {
			my ($self) = @_;
			$self->run(pick('SELECT uid_next(NULL)', 'SELECT uid_next(-1)', 'SELECT uid_next_batch(-1)', 'SELECT uid_reserve(0)',
					'SELECT uid_reserve(2000000000)', q{SET uidgen.wait_timeout = 'soon'}));
			$self->draw;
		}
	],
	parallel => [
		2,
		sub {
			my ($self) = @_;
			$self->go_parallel;
			# In the workers; or by the leader, in order.
			my ($flags, $call) = @{ pick([ 'f', 'in_worker()' ], [ 'f', 'in_worker()' ], [ 'of', 'uid_next()' ]) };
			$self->query($flags, sprintf "SELECT $call AS id FROM source WHERE i <= %d", $self->count(20_000)) foreach 1 .. 1 + rand 2;
			$self->query($flags, sprintf "COPY (SELECT $call FROM source WHERE i <= %d) TO STDOUT (FORMAT binary)", $self->count(20_000));
			$self->leave_parallel;
		}
	],
	two => [
		4,
		sub {
			my ($self) = @_;
			$self->go_parallel if rand > 0.4;
			foreach (1 .. 1 + rand 3)
			{
				my $n = int(($self->count(2000) + 1) / 2);
				my @ways = ([ 'uid_next()', $n ], [ 'uid_next()', $n ], [ 'uid_next_batch(2)', int(($n + 1) / 2) ]);
				if ($self->{blocks})
				{
					my $size = $self->{sparse} ? 2 : number(1, min(100, $self->{capacity}));
					# Each may take a tick.
					my $blocks = $self->{sparse} ? 2 : max(1, min($n, int($self->{rate} / $self->{capacity} / 4)));
					push @ways, [ "uid_reserve($size)", $blocks, $size ];
				}
				$self->two_in_a_row('', @{ pick(@ways) });
			}
			$self->leave_parallel;
		}
	],
	copy_in => [ 2, sub { my ($self) = @_; $self->step('copy', $self->count(2000), '-', 'COPY t (v) FROM STDIN') } ],
	insert => [
		3,
		sub {
			my ($self) = @_;
			my $n = $self->count(500);
			$self->begin if rand > 0.5;
			$self->query('of', pick('INSERT INTO t (seen) VALUES (true) RETURNING id, twin AS id',
					"INSERT INTO t (seen) SELECT true FROM generate_series(1, $n) RETURNING id, twin AS id",
					"INSERT INTO t (seen, id, twin) SELECT true, uid_next(), uid_next() FROM source WHERE i <= $n RETURNING id, twin AS id"));
			$self->run(pick('INSERT INTO t DEFAULT VALUES', "INSERT INTO t (v) SELECT generate_series(1, $n)",
					"WITH w AS (INSERT INTO t (v) SELECT generate_series(1, $n) RETURNING v) SELECT count(*) FROM w"));
			$self->finish;
		}
	],
	numbers => [ 4, sub { my ($self) = @_; pick(sub { $self->numbers }, sub { $self->numbers }, sub { $self->draw })->() foreach 1 .. 1 + rand 5 } ],
	numbers_fail => [
		3,
		sub {
			my ($self) = @_;
			my $n = number(2, 3000);
			$self->run(sprintf q{SET statement_timeout = '%dms'}, number(1, 60)) if rand > 0.7;
			$self->step('cancel', number(1, 40)) if rand > 0.7;
			$self->query('gof', pick("SELECT uid_segment_next('one') AS id, 1 / ($n - i) FROM generate_series(1, $n) AS i",
					"COPY (SELECT uid_segment_batch('two', 50 + 0 * (1 / ($n - i))) FROM generate_series(1, $n) AS i) TO STDOUT (FORMAT binary)",
					"DO \$\$ BEGIN FOR i IN 1..$n LOOP BEGIN RAISE NOTICE 'id=%', uid_segment_next('one'); IF i % 7 = 0 THEN RAISE EXCEPTION 'planned'; END IF;"
					  . " EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; END \$\$"));
			$self->run('SET statement_timeout = 0');
			$self->run(pick(q{SELECT uid_segment_next('none')}, q{SELECT uid_segment_next(NULL)}, q{SELECT uid_segment_next('')},
					q{SELECT uid_segment_reserve('two', 2000000000)}, q{SELECT uid_segment_batch('two', -1)})) if rand > 0.5;
			$self->numbers;
		}
	],
	numbers_cursor => [
		2,
		sub {
			my ($self) = @_;
			my $n = number(1, 300);
			$self->begin;
			$self->run("DECLARE n CURSOR FOR SELECT uid_segment_next('two') AS id FROM generate_series(1, $n)");
			foreach (1 .. 2 + rand 3)
			{
				$self->query('gof', sprintf 'FETCH %d FROM n', number(1, 100));
				$self->numbers if rand > 0.5;
			}
			$self->finish;
		}
	],
	numbers_parallel => [
		2,
		sub {
			my ($self) = @_;
			$self->go_parallel;
			$self->query('gof', sprintf q{SELECT uid_segment_next('three') AS id FROM source WHERE i <= %d}, number(1, 20_000)) if rand > 0.5;
			my ($n, $size) = (number(1, 2000), number(1, 20));
			$self->two_in_a_row('g', @{ pick([ "uid_segment_next('three')", $n ], [ "uid_segment_batch('three', 2)", $n ],
					[ "uid_segment_reserve('three', $size)", number(1, 200), $size ]) });
			$self->leave_parallel;
		}
	],
	numbers_stored => [
		2,
		sub {
			my ($self) = @_;
			my $n = number(1, 1000);
			$self->begin if rand > 0.5;
			$self->step('copy', $n, '-', 'COPY u (v) FROM STDIN');
			$self->query('gof', pick('INSERT INTO u (seen) VALUES (true) RETURNING id',
					"INSERT INTO u (seen) SELECT true FROM generate_series(1, $n) RETURNING id"));
			$self->finish;
		}
	],
	reconnect => [ 2, sub { my ($self) = @_; $self->connect; $self->draw } ],
	status => [
		1, sub { my ($self) = @_; $self->query('n', 'SELECT renewals, failures, waits, clock_steps, wasted FROM uidgen.status') }
	]);

# ---- sessions ----

sub connect
{
	my ($self) = @_;
	$self->step('connect', $self->{node}, pick('postgres', 'second'), "s$self->{number}", '');
	return;
}

# The steps of a session, with so many programs.
sub session
{
	my ($self, $number, $programs) = @_;
	$self->{text} = '';
	$self->{number} = $number;
	$self->{node} = $self->{standby} && $number % 2 ? 1 : 0;
	my @weighted = map { ($_) x $OPS{$_}[0] } sort keys %OPS;
	$self->connect;
	foreach my $program (1 .. $programs)
	{
		$self->step('program', $program);
		foreach (1 .. 3 + rand 6)
		{
			$OPS{ pick(@weighted) }[1]->($self);
			# What a standby refuses takes no time.
			$self->step('pause', number($self->{node} ? 30 : 1, 100)) if rand > 0.5 || $self->{node};
		}
		$self->run('ROLLBACK');
	}

	# At the end nothing hinders it any more.
	$self->step('end');
	$self->run($_) foreach 'ROLLBACK', 'SET statement_timeout = 0', q{SET uidgen.wait_timeout = '15s'};
	$self->step('cancel', 20_000);
	$self->step('query', 'gof', -1, q{SELECT uid_segment_next('one') AS id});
	$self->step('cancel', 20_000);
	$self->step('query', 'of', -1, 'SELECT uid_next() AS id');
	$self->step('query', 'n', -1, 'SELECT renewals, failures, waits, clock_steps, wasted FROM uidgen.status');
	return $self->{text};
}

1;
