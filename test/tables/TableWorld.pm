# TableWorld.pm: a few tables in two schemas, with all that tools, owners and applications do to them, and what must hold of
# them meanwhile.  TableSteps.pm has what is done.
#
# The tables: "t" has ids of uidgen, "s" a serial, "k" a text, "p" is partitioned by its ids.  Each is made when a step first wants it, and is known by its OID.
# The world knows of each table what its owner has done that no trigger sees (unsound), so that readers may miss changes until
# uid_track_changes() is called; and what lets tools refuse it (refusals).
#
# What fails dies with a hash: kind, text.  Kinds: A a statement of the application, C a copy, R a reader, N numbers, P partitions, K uid_check_table(),
# T a tool, D a dump, X the server.
package TableWorld;

use strict;
use warnings;
use Chance;
use IPC::Run;
use Session;
use Time::HiRes qw(time usleep);

my %COLUMNS = (t => 'bigint PRIMARY KEY DEFAULT public.uid_next()', s => 'serial PRIMARY KEY', k => 'text PRIMARY KEY', p => 'bigint PRIMARY KEY DEFAULT public.uid_next()');
my @ROLES = qw(own own2 a b watch);

# ---- the server, on which one world comes after the other ----

sub prepare
{
	my ($class, $node) = @_;
	$node->safe_psql('postgres', join '', map { "CREATE ROLE $_ LOGIN; " } @ROLES);
	return { node => $node, worlds => 0, rule => {} };
}

# A session takes what it has learned of the tools along, and catalogs grow with each world: so a database has some dozens.
sub open_database
{
	my ($server) = @_;
	my $node = $server->{node};
	if ($server->{database})
	{
		delete $server->{session};
		$node->psql('postgres', "DROP DATABASE $server->{database} WITH (FORCE)");
	}
	$server->{database} = 'world' . ++$server->{databases};
	$node->safe_psql('postgres', "CREATE DATABASE $server->{database}");
	$server->{session}{su} = Session->new($node, $server->{database}, (getpwuid $<)[0]);
	must($server, "SET client_min_messages = error; SET search_path = ''; SET lock_timeout = '1s'");
	foreach my $role (@ROLES)
	{
		my $session = $server->{session}{$role} = Session->new($node, $server->{database}, $role);
		$session->run("SET client_min_messages = error; SET lock_timeout = '30ms'; SET statement_timeout = '5min'");
	}
	make_extensions($server);
	return;
}

sub must
{
	my ($server, $sql) = @_;
	return $server->{session}{su}->run($sql) // die { kind => 'X', text => "$server->{session}{su}{state} $server->{session}{su}{message} of $sql" };
}

# With the rule left out that is meant to be, if there is one: functions of the tools are written with other texts.
sub make_extensions
{
	my ($server) = @_;
	must($server, 'CREATE EXTENSION IF NOT EXISTS uidgen SCHEMA public; CREATE EXTENSION IF NOT EXISTS uidgen_tools SCHEMA public');
	my $rule = $server->{rule};
	my $is_there = !$rule->{text};
	foreach my $row ($is_there ? () : @{ must($server, "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'uidgen_tools'::regnamespace AND prolang <> (SELECT oid FROM pg_language WHERE lanname = 'c') ORDER BY oid") })
	{
		my $changed = $row->[0] =~ s/$rule->{text}/$rule->{by}/gr;
		next if $changed eq $row->[0];
		must($server, $changed);
		$is_there = 1;
	}
	$rule->{is_gone} = !$is_there;
	return;
}

# ---- a world ----

sub new
{
	my ($class, $server, $focus) = @_;
	open_database($server) if $server->{worlds}++ % 60 == 0 || delete $server->{is_used} || !$server->{session};
	$server->{session}{$_}->run('ROLLBACK') foreach grep { $server->{session}{$_}->status ne 'I' } @ROLES, 'su';
	$server->{session}{own}->run('RESET quote_all_identifiers');
	my $w = bless { server => $server, session => $server->{session}, focus => $focus, tables => {}, count => 0, log => [] }, $class;
	must($server, 'DROP SCHEMA IF EXISTS w CASCADE; DROP SCHEMA IF EXISTS w2 CASCADE; CREATE SCHEMA w AUTHORIZATION own; CREATE SCHEMA w2 AUTHORIZATION own;
		GRANT ALL ON SCHEMA w, w2 TO own2; GRANT USAGE ON SCHEMA w, w2 TO a, b');
	return $w;
}

# Runs steps, [name, number] each; returns what fails, and in which step, or nothing.
sub play
{
	my ($class, $server, $steps, $focus, @sequence) = @_;
	my ($w, $n) = (undef, 0);
	my $done = eval {
		$w = $class->new($server, $focus);
		foreach my $step (@sequence)
		{
			srand $step->[1];
			push @{ $w->{log} }, "-- $step->[0]";
			# Where somebody has the table locked, the world cannot look, and goes on.
			eval { $steps->{ $step->[0] }{code}->($w); 1 } or ref $@ && $@->{kind} eq 'X' && $@->{text} =~ /^55P03/ && $w->is_open or die $@;
			$n++;
		}
		$n--;
		push @{ $w->{log} }, '-- end';
		$w->end;
		1;
	};
	return if $done;
	my $failure = $@;
	die $failure if !ref $failure;
	delete $server->{session} if $failure->{kind} eq 'X';
	return { %$failure, step => $n, log => $w ? $w->{log} : [] };
}

# At the end all is committed, and readers come to the end.
sub end
{
	my ($w) = @_;
	$w->run($_, 'COMMIT') foreach grep { $w->{session}{$_}->status ne 'I' } qw(a b);
	foreach my $k (sort keys %{ $w->{tables} })
	{
		$w->check($k);
		$w->poll($k, $_, 1000, 1) foreach 0, 1;
	}
	return;
}

sub fail { die { kind => $_[1], text => $_[2] } }

sub run
{
	my ($w, $who, $sql) = @_;
	my $session = $w->{session}{$who};
	my $rows = $session->run($sql);
	push @{ $w->{log} }, "$who: $sql;" . ($rows ? '' : "  -- " . $w->said($who));
	$w->fail('X', $w->said($who)) if $session->{state} =~ /^(?:XX|08|57|40P01|53|58)/;
	return $rows;
}

# What the server has said to a session; the first line is the same for the same cause.
sub said
{
	my ($w, $who) = @_;
	my $session = $w->{session}{$who};
	return "$session->{state} $session->{message}\n$session->{detail}";
}

sub rows
{
	my ($w, $sql) = @_;
	return must($w->{server}, $sql);
}

sub value
{
	my ($w, $sql) = @_;
	my $rows = $w->rows($sql);
	return @$rows ? $rows->[0][0] : undef;
}

sub is_open { return grep({ $_[0]{session}{$_}->status ne 'I' } qw(a b)) > 0 }
sub is_out { return $_[0]{out} }
sub table { return $_[0]{tables}{ $_[1] } }

# One of these tables; that which the sequence is about, more often than not.
sub choose
{
	my ($w, @kinds) = @_;
	my $k = grep({ $_ eq $w->{focus} } @kinds) && rand() < ($w->{server}{rule}{name} ? 0.97 : 0.8) ? $w->{focus} : pick(@kinds);
	$w->make($k) if !$w->{tables}{$k};
	return $k;
}

sub make
{
	my ($w, $k) = @_;
	$w->enter if $w->is_out && $COLUMNS{$k} =~ /uid_next/;
	my @sql = "CREATE TABLE w.$k (id $COLUMNS{$k}, name text, tenant int NOT NULL DEFAULT 1, made timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp())" . ($k eq 'p' ? ' PARTITION BY RANGE (id)' : '');
	push @sql, "GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON w.$k TO a, b";
	push @sql, "GRANT USAGE ON SEQUENCE w.s_id_seq TO a, b" if $k eq 's';
	if ($k eq 'p')
	{
		must($w->{server}, join '; ', @sql[ 0, 1 ], "ALTER TABLE w.$k OWNER TO own");
		@sql = ("SELECT count(*) FROM public.uid_partitions('w.p', now() - interval '3 weeks', now() + interval '1 day', '1 week', true)",
			"INSERT INTO w.p (id, name, made) VALUES (public.uid_min(now() - interval '3 weeks'), 'old', now() - interval '3 weeks')");
	}
	push @sql, sprintf "INSERT INTO w.$k (%sname) VALUES (%s'0'), (%s'1')", $k eq 'k' ? ('id, ', "'a', ", "'b', ") : ('') x 3;
	foreach my $sql (@sql)
	{
		$w->run('own', $sql) // $w->fail('T', $w->said('own'));
	}
	$w->{tables}{$k} = { oid => $w->value("SELECT 'w.$k'::regclass::oid"), owner => 'own', readers => [ map { { copy => {} } } 0, 1 ], numbers => {} };
	return;
}

sub has_argument { my ($w, $function, $argument) = @_; return $w->value("SELECT count(*) FROM pg_proc WHERE proname = '$function' AND '$argument' = ANY (proargnames)") }
sub name { my ($w, $k) = @_; return $w->value("SELECT $w->{tables}{$k}{oid}::regclass") }
sub schema { my ($w, $k) = @_; return $w->value("SELECT relnamespace::regnamespace FROM pg_class WHERE oid = $w->{tables}{$k}{oid}") }
# The first column, "id" at first.
sub id { my ($w, $k) = @_; return $w->value("SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = $w->{tables}{$k}{oid} AND attnum = 1") }
sub type { my ($w, $k) = @_; return $w->value("SELECT atttypid::regtype FROM pg_attribute WHERE attrelid = $w->{tables}{$k}{oid} AND attnum = 1") }
sub primary_key { my ($w, $k) = @_; return $w->rows("SELECT c.conname, string_agg(a.attname, ', ' ORDER BY n.n) FROM pg_constraint AS c CROSS JOIN unnest(c.conkey) WITH ORDINALITY AS n (attnum, n) JOIN pg_attribute AS a ON a.attrelid = c.conrelid AND a.attnum = n.attnum WHERE c.conrelid = $w->{tables}{$k}{oid} AND c.contype = 'p' GROUP BY 1")->[0] }
sub leaves { my ($w) = @_; return map { $_->[0] } @{ $w->rows("SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = $w->{tables}{p}{oid} ORDER BY inhrelid") } }

# A statement of an application, in one of its two sessions, which may be in a transaction.  It fails only with one of these errors.
sub app
{
	my ($w, $sql, @may) = @_;
	my $who = pick(qw(a b));
	my $rows = $w->run($who, $sql);
	my ($state, $said) = ($w->{session}{$who}{state}, $w->said($who));
	# Another session holds a row, or the table; or the function that writes deleted keys knows a schema or a column by its former name, or the table of these a column by its former type.
	my $is_fine = $rows || grep { index($state, $_) == 0 } @may, $w->is_open ? '55P03' : (), grep({ $_->{renamed} } values %{ $w->{tables} }) ? ('42P01', '42703') : (),
	  grep({ $_->{retyped} } values %{ $w->{tables} }) ? '42804' : ();
	$w->run($who, 'ROLLBACK') if $w->{session}{$who}->status eq 'E';
	$w->fail('A', $said) if !$is_fine;
	return $rows;
}

# A statement of the owner's, which may fail; whether it has not.
sub ddl
{
	my ($w, $k, $sql) = @_;
	my $who = $w->{tables}{$k}{owner};
	my $rows = $w->run($who, $sql);
	$w->run($who, 'ROLLBACK') if $w->{session}{$who}->status ne 'I';
	return $rows ? 1 : 0;
}

# A tool, by the owner of the table.  It refuses only where there is a reason.
sub tool
{
	my ($w, $k, $sql, @may) = @_;
	my $t = $w->{tables}{$k};
	my $rows = $w->run($t->{owner}, $sql);
	my ($state, $said) = ($w->{session}{ $t->{owner} }{state}, $w->said($t->{owner}));
	$w->run($t->{owner}, 'ROLLBACK') if $w->{session}{ $t->{owner} }->status ne 'I';
	push @may, '55P03' if $w->is_open;
	push @may, '42883', '3F000' if $w->is_out;
	push @may, '42809', $t->{child} ne $t->{owner} ? '42501' : () if $t->{child};
	push @may, '42501', '42710', '42P07', '55000' if $t->{given};
	push @may, '55000' if !$w->primary_key($k);
	$w->fail('T', $said) if !$rows && !grep { index($state, $_) == 0 } @may;
	return $rows;
}

# ---- readers ----

# The table of deleted keys, and the columns of the key, where it has them all.
sub deleted
{
	my ($w, $k) = @_;
	my $row = $w->rows("SELECT c.oid::regclass, array_agg(quote_ident(a.attname)) FROM pg_trigger AS g JOIN pg_proc AS p ON p.oid = g.tgfoid JOIN pg_class AS c ON c.relname = p.proname AND c.relnamespace = p.pronamespace
			JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE g.tgrelid = $w->{tables}{$k}{oid} AND g.tgname = '~uid_delete' GROUP BY 1")->[0] or return;
	my %has = map { $_ => 1 } $row->[1] =~ /\w+/g;
	my @key = split /, /, ($w->primary_key($k) // [ '', '' ])->[1];
	return ($row->[0], grep({ !$has{$_} } @key) ? [] : \@key);
}

# What the owner writes into the same transaction where no trigger sees what he does.
sub mark
{
	my ($w, $k) = @_;
	my ($deleted) = $w->deleted($k);
	return $deleted && !$w->is_out ? "INSERT INTO $deleted DEFAULT VALUES;" : '';
}

# No trigger has seen what was done, or may see what is done from now on: only uid_track_changes() makes it good.
sub unsound
{
	my ($w, $k, $why) = @_;
	$w->{tables}{$k}{unsound} //= $why if $w->{tables}{$k}{tracked};
	return;
}

# It knows a name that was another one when the table was tracked.  With the former name again it is as it was.
sub renamed
{
	my ($w, $k, $why) = @_;
	my $t = $w->{tables}{$k};
	$t->{unsound} = 'perhaps' if ($t->{unsound} // '') eq $why;
	$w->unsound($k, $why);
	$t->{renamed} = 1 if $t->{tracked};
	return;
}

# A reader, by the statement of docs/readers.md, up to where it has all, and its copy is judged; or until what it lacks is held back.
sub poll
{
	my ($w, $k, $number, $limit, $is_last) = @_;
	my $t = $w->{tables}{$k};
	return if $w->is_out || !$t->{tracked};
	my ($reader, $rule) = ($t->{readers}[$number], $w->{server}{rule}{reader} // '');
	my ($deleted, $keys) = $w->deleted($k);
	my $name = $w->name($k);
	if (!$deleted || !@$keys)
	{
		return if $t->{unsound};
		$w->fail('R', 'the table of deleted keys has another key');
	}
	my $columns = join ', ', @$keys;
	my $changes = "(SELECT $columns, name::text AS name, changed, false AS gone FROM $name UNION ALL SELECT $columns, NULL, changed, true FROM $deleted) AS c";
	my $seen = $rule eq 'exists' ? 'true' : "NOT (c.gone AND EXISTS (SELECT FROM $name AS i WHERE (@{[ join ', ', map { qq(i.$_) } @$keys ]}) = (@{[ join ', ', map { qq(c.$_) } @$keys ]}) OFFSET 0))";
	my $final = $rule eq 'horizon' ? $seen : "$seen AND c.changed <= public.uid_horizon()";
	foreach my $try (1 .. ($is_last ? 2000 : 12))
	{
		my $is_first = !defined $reader->{place};
		my $rows = $w->{session}{su}->run("SELECT jsonb_build_array(@{[ join ', ', map { qq(c.$_) } @$keys ]}), c.name, c.changed, c.gone, c.$keys->[0] IS NULL FROM $changes WHERE $final"
			. ($is_first ? '' : " AND c.changed > $reader->{place} ORDER BY c.changed LIMIT $limit"));
		if (!$rows)
		{
			return if $t->{unsound} || $w->is_open && $w->{session}{su}{state} eq '55P03';
			$w->fail('R', $w->said('su'));
		}
		$reader->{copy} = {} if $is_first;
		push @{ $w->{log} }, "-- reader $number of $k from " . ($reader->{place} // 'the beginning') . ': ' . @$rows;
		my $is_told = 0;
		foreach my $row (@$rows)
		{
			my ($key, $value, $changed, $gone, $is_mark) = @$row;
			if ($is_mark eq 't' && !$is_first && $rule ne 'marks')
			{
				undef $reader->{place};
				$is_told = 1;
				last;
			}
			delete $reader->{copy}{$key};
			$reader->{copy}{$key} = $value // '' if $gone eq 'f';
			$reader->{place} = $changed if $changed > ($reader->{place} // -1);
		}
		next if $is_told || !$is_first && @$rows;
		my $last = $w->value("SELECT coalesce(max(c.changed), 0) FROM $changes WHERE $seen");
		return $w->judge_copy($k, $reader, $keys, $name) if $last <= ($reader->{place} // 0);
		return if $w->is_open;
		usleep(500) if $is_last;
	}
	$w->fail('R', 'the horizon does not come as far') if $is_last;
	return;
}

sub judge_copy
{
	my ($w, $k, $reader, $keys, $name) = @_;
	return if $w->{tables}{$k}{unsound};
	my %truth = map { $_->[0] => $_->[1] // '' } @{ $w->rows("SELECT jsonb_build_array(@{[ join ', ', @$keys ]}), name FROM $name") };
	my $copy = $reader->{copy};
	my @differences = ((map { "lacks a row" } grep { !exists $copy->{$_} } keys %truth), (map { "has a row that is gone" } grep { !exists $truth{$_} } keys %$copy),
		(map { "has an old row" } grep { exists $copy->{$_} && $copy->{$_} ne $truth{$_} } keys %truth));
	$w->fail('C', "the copy $differences[0]") if @differences;
	return;
}

# ---- uid_check_table(), as somebody who may do nothing else ----

sub check
{
	my ($w, $k) = @_;
	my $t = $w->{tables}{$k};
	return if $w->is_out || !$w->value("SELECT to_regprocedure('public.uid_check_table(regclass)')");
	my $rows = $w->run('watch', "SELECT class, what, statement FROM public.uid_check_table($t->{oid}::regclass)")
	  // $w->fail('K', $w->said('watch'));
	my %what = map { $_->[0] => $_->[1] // '' } @$rows;
	push @{ $w->{log} }, map { '-- ' . join ': ', map { $_ // '' } @$_ } @$rows;
	return if !$t->{tracked};
	$w->fail('K', "nothing is said of: $t->{unsound}") if $t->{unsound} && !exists $what{ $t->{child} ? 'tell' : 'anew' } && $t->{unsound} ne 'perhaps' && !$t->{given};
	$w->fail('K', "anew: $what{anew}") if !$t->{unsound} && exists $what{anew};
	$w->fail('K', "mend: $what{mend}") if !$t->{unsound} && exists $what{mend} && !$t->{may_mend};
	return;
}

# ---- numbers ----

sub number
{
	my ($w, $k) = @_;
	my ($t, $name, $id) = ($w->{tables}{$k}, $w->name($k), $w->id($k));
	my $has_begin = $w->has_argument('uid_number_rows', 'begin');
	my $begins = !$t->{number_table};
	# One call without it: it begins nothing.
	if ($begins && $has_begin && rand() < 0.2)
	{
		$w->fail('N', 'numbering began unasked') if $w->tool($k, "CALL public.uid_number_rows('$name', '$id')", '55000', '42P07');
		return;
	}
	my @may = ($w->type($k) ne 'bigint' || ($w->primary_key($k) // [ '', '' ])->[1] ne $id ? '55000' : (), $begins ? '42P07' : ());
	my $said = $w->tool($k, "CALL public.uid_number_rows('$name', '$id'" . ($begins && $has_begin ? ', begin => true' : '') . ')', @may) or return;
	$t->{numbered} //= $t->{owner};
	$t->{number_table} //= $w->value("SELECT c.oid FROM pg_class AS c JOIN pg_class AS n ON n.oid = $t->{oid} AND n.relnamespace = c.relnamespace AND c.relname = n.relname || '_number'");
	$w->judge_numbers($k, $said->[0][3]);
	return;
}

sub judge_numbers
{
	my ($w, $k, $horizon) = @_;
	my ($t, $id) = ($w->{tables}{$k}, $w->id($k));
	my $numbers = $w->value("SELECT $t->{number_table}::regclass") // '';
	my %number = map { $_->[1] => $_->[0] } @{ $w->rows("SELECT number, id FROM $numbers") };
	foreach my $key (sort keys %{ $t->{numbers} })
	{
		$w->fail('N', 'a number was lost') if !exists $number{$key};
		$w->fail('N', 'a number has changed') if $number{$key} != $t->{numbers}{$key};
	}
	my $n = 0;
	my $archived = $t->{archived} // {};
	$w->fail('N', 'a number was given again') if grep { $archived->{$_} } values %number;
	$w->fail('N', 'a gap') if grep { $_ != ++$n } sort { $a <=> $b } values %number, keys %$archived;
	$w->fail('N', 'a row has no number') if defined $horizon && $w->value("SELECT count(*) FROM @{[ $w->name($k) ]} AS t WHERE t.$id <= $horizon AND NOT EXISTS (SELECT FROM $numbers AS n WHERE n.id = t.$id)");
	$t->{numbers} = \%number;
	return;
}

# ---- the extensions, and the whole ----

sub leave
{
	my ($w) = @_;
	# Whoever has a transaction open holds its locks.
	return if $w->is_open;
	$w->run('su', 'DROP EXTENSION uidgen CASCADE') // $w->fail('X', $w->said('su'));
	$w->run('su', 'DROP EXTENSION IF EXISTS uidgen_tools CASCADE');
	$w->{out} = $w->{was_out} = $w->{server}{is_used} = 1;
	foreach my $k (keys %{ $w->{tables} })
	{
		$w->unsound($k, 'DROP EXTENSION');
		$w->{tables}{$k}{no_default} = 1 if !$w->value("SELECT atthasdef FROM pg_attribute WHERE attrelid = $w->{tables}{$k}{oid} AND attnum = 1") || $w->value("SELECT atthasdef FROM pg_attribute WHERE attrelid = $w->{tables}{$k}{oid} AND attnum = 1") eq 'f';
	}
	return;
}

# With the defaults, which the manual has the owner set.
sub enter
{
	my ($w) = @_;
	push @{ $w->{log} }, 'su: CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_tools;';
	make_extensions($w->{server});
	$w->{out} = 0;
	foreach my $k (sort keys %{ $w->{tables} })
	{
		my $t = $w->{tables}{$k};
		delete $t->{no_default} if $t->{no_default} && $k ne 'k' && $w->ddl($k, "ALTER TABLE @{[ $w->name($k) ]} ALTER COLUMN @{[ $w->id($k) ]} SET DEFAULT public.uid_next()");
	}
	return;
}

# Dumps both schemas, drops them, and restores them.  Readers begin anew.
sub restore
{
	my ($w) = @_;
	return if $w->is_open;
	my @kept = map { ([ $_, 'oid' ], $_->{number_table} ? [ $_, 'number_table' ] : ()) } values %{ $w->{tables} };
	my @names = map { $w->value("SELECT $_->[0]{$_->[1]}::regclass") } @kept;
	my ($dump, $said) = ('', '');
	my @target = ('-X', '-d', $w->{server}{node}->connstr($w->{server}{database}));
	IPC::Run::run([ 'pg_dump', '-n', 'w', '-n', 'w2', $target[2] ], '>', \$dump, '2>', \$said) or $w->fail('D', $said);
	push @{ $w->{log} }, 'su: pg_dump -n w -n w2; DROP SCHEMA w, w2 CASCADE; psql';
	$w->rows('DROP SCHEMA w, w2 CASCADE');
	$said = '';
	IPC::Run::run([ 'psql', '-q', '-v', 'ON_ERROR_STOP=1', @target ], '<', \$dump, '>', \my $out, '2>', \$said) or $w->fail('D', $said);
	$kept[$_][0]{ $kept[$_][1] } = $w->value("SELECT '" . $names[$_] =~ s/'/''/gr . "'::regclass::oid") foreach 0 .. $#kept;
	undef $_->{place} foreach map { @{ $_->{readers} } } values %{ $w->{tables} };
	return;
}

1;
