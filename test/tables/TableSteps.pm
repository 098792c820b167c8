# TableSteps.pm: what can happen to the tables of TableWorld.pm.  Each step has a weight, by which it is drawn, the tables that it is for, and what it does;
# all that it chooses comes from the number with which it is repeated.
package TableSteps;

use strict;
use warnings;
use Chance;
use Exporter 'import';

our @EXPORT = qw(%STEPS);
our %STEPS;

# $name => weight, tables, code, which is given the world, and the letter, name and key column of a table, if it is for any.
sub step
{
	my ($name, $weight, $tables, $code) = @_;
	$STEPS{$name} = {
		weight => $weight,
		code => sub {
			my ($w) = @_;
			my $k = length $tables ? $w->choose(split //, $tables) : '';
			$code->($w, $k, length $tables ? ($w->name($k), $w->id($k)) : ());
		} };
	return;
}

# One row of a table, the first or the last.
sub some_row
{
	my ($name, $id) = @_;
	return sprintf "$id = (SELECT $id FROM $name ORDER BY $id %s LIMIT 1)", pick('', 'DESC');
}

# That of new rows, more often than not.
sub a_leaf
{
	my ($w, @leaves) = @_;
	return rand() < 0.6 && $w->value("SELECT tableoid::regclass FROM @{[ $w->name('p') ]} ORDER BY @{[ $w->id('p') ]} DESC LIMIT 1") || pick(@leaves);
}

# ---- the application ----

step(ins => 6, tskp => sub {
	my ($w, $k, $name, $id) = @_;
	my $n = ++$w->{count};
	my $is_out = $w->table($k)->{no_default} || $k ne 'k' && $w->is_out;
	my @may = ($is_out ? '23502' : (), $k eq 'p' && ($w->table('p')->{hole} || $is_out) ? '23514' : (), $k eq 's' ? '23505' : ());
	# A row of another day comes by its id.
	return $w->app("WITH d AS (SELECT now() - '@{[ int rand 22 ]} days'::interval AS day) INSERT INTO $name ($id, name, made) SELECT public.uid_min(day) + $n, 'old', day FROM d", '23514') if $k eq 'p' && !$w->is_out && rand() < 0.3;
	$w->app($k eq 'k' ? "INSERT INTO $name ($id, name) VALUES ('k$n', '$n')" : "INSERT INTO $name (name) VALUES ('$n')", @may);
});
step(upd => 4, tskp => sub {
	my ($w, $k, $name, $id) = @_;
	$w->app("UPDATE $name SET name = '" . ++$w->{count} . "' WHERE " . some_row($name, $id));
});
step(del => 6, tskp => sub {
	my ($w, $k, $name, $id) = @_;
	$w->app("DELETE FROM $name WHERE " . some_row($name, $id));
});
step(trunc => 2, tskp => sub {
	my ($w, $k, $name) = @_;
	$w->app("TRUNCATE $name");
});
step(key => 3, tskp => sub {
	my ($w, $k, $name, $id) = @_;
	$w->app("UPDATE $name SET $id = $id " . ($k eq 'k' ? "|| 'x'" : '+ 1') . ' WHERE ' . some_row($name, $id), '23505', $w->type($k) eq 'integer' ? () : '23514');
});
step(tenant => 2, tsk => sub {
	my ($w, $k, $name, $id) = @_;
	$w->app("UPDATE $name SET tenant = tenant + 1 WHERE " . some_row($name, $id), '23505');
});
# Another row of the same first column, where the key has two.
step(twin => 3, tsk => sub {
	my ($w, $k, $name, $id) = @_;
	$w->app("INSERT INTO $name ($id, name, tenant) SELECT $id, name, tenant + 1 FROM $name ORDER BY $id LIMIT 1", '23505');
});
step(again => 2, tskp => sub {
	my ($w, $k, $name, $id) = @_;
	$w->app("WITH gone AS (DELETE FROM $name WHERE " . some_row($name, $id) . " RETURNING $id, tenant, made) INSERT INTO $name ($id, name, tenant, made) SELECT $id, 'again', tenant + 1, made FROM gone", '23505');
});
step(upsert => 1, tsk => sub {
	my ($w, $k, $name, $id) = @_;
	my $key = $w->primary_key($k) or return;
	$w->app("INSERT INTO $name ($id, name, tenant) SELECT $id, name, tenant FROM $name ORDER BY $id LIMIT 1 ON CONFLICT ($key->[1]) DO UPDATE SET name = '" . ++$w->{count} . q('));
});
step(begin => 3, '' => sub {
	my ($w) = @_;
	my $who = pick(qw(a b));
	$w->run($who, 'BEGIN') if $w->{session}{$who}->status eq 'I' && (!$w->is_open || rand() < 0.3);
});
step(finish => 5, '' => sub {
	my ($w) = @_;
	$w->run($_, pick(qw(COMMIT COMMIT ROLLBACK))) foreach grep { $w->{session}{$_}->status ne 'I' } qw(a b);
});
# As a subscription does it.
step(apply => 1, tskp => sub {
	my ($w, $k, $name, $id) = @_;
	return if $w->is_open || $w->table($k)->{renamed};
	$w->run('su', 'SET session_replication_role = replica');
	$w->run('su', pick("UPDATE $name SET name = 'applied' WHERE ", "DELETE FROM $name WHERE ") . some_row($name, $id)) // $w->fail('A', $w->said('su'));
	$w->run('su', 'SET session_replication_role = origin');
});

# ---- readers, and who watches ----

step(poll => 6, tskp => sub {
	my ($w, $k) = @_;
	$w->poll($k, pick(0, 1), pick(2, 1000));
});
step(check => 1, tskp => sub {
	my ($w, $k) = @_;
	$w->check($k);
});

# ---- the tools ----

sub track
{
	my ($w, $k) = @_;
	my $t = $w->table($k);
	$w->tool($k, "SELECT public.uid_track_changes('@{[ $w->name($k) ]}', execute => true)") or return;
	# The first time, readers have no place; nor where what a former owner had is made anew, as the hint says.
	undef $_->{place} foreach ($t->{tracked} // '') eq $t->{owner} ? () : @{ $t->{readers} };
	$t->{tracked} = $t->{owner};
	$t->{given} = ($t->{numbered} // $t->{owner}) ne $t->{owner};	# numbers stay the former one's
	delete @$t{qw(unsound may_mend renamed retyped)};
	$w->check($k);
	$w->poll($k, $_, 1000) foreach 0, 1;
	return;
}
step(track => 8, tskp => sub { track(@_[ 0, 1 ]) });
step(purge => 3, tskp => sub {
	my ($w, $k, $name) = @_;
	my $t = $w->table($k);
	$w->tool($k, "SELECT public.uid_purge_deleted('$name', now() - interval '" . pick(0, 0, 20) . " ms')", $t->{tracked} && !$t->{unsound} ? () : '55000');
	$w->poll($k, 0, 1000);
});
step(number => 5, tsp => sub {
	my ($w, $k) = @_;
	$w->number($k);
});
step(parts => 2, p => sub {
	my ($w, $k, $name) = @_;
	$w->tool($k, "SELECT count(*) FROM public.uid_partitions('$name', now() - interval '1 week', now() + interval '" . int(1 + rand 2) . " weeks', '1 week', true)", $w->table('p')->{rest} ? '42P17' : ());
	$w->table('p')->{hole} = 0 if !$w->is_open && !$w->is_out && $w->{session}{ $w->table('p')->{owner} }{state} eq '';
});
step(drop => 4, p => sub {
	my ($w, $k, $name) = @_;
	my $before = "now() - interval '@{[ int 5 + rand 20 ]} days'";
	my $young = "SELECT count(*) FROM $name WHERE made > $before";
	my $count = $w->value($young);
	$w->tool($k, "SELECT public.uid_drop_partitions('$name', $before, true" . (rand() < 0.5 && $w->has_argument('uid_drop_partitions', 'force') ? ', force => true' : '') . ')', $w->{was_out} ? '55000' : ());
	$w->fail('P', 'a partition was dropped with rows younger than asked') if $w->value($young) != $count;
	# With it goes what was changed while it was none, and the mark has told all readers.
	my $t = $w->table('p');
	delete $t->{unsound} if ($t->{unsound} // '') =~ /while it was none/ && !$w->value("SELECT count(*) FROM pg_class WHERE oid = $t->{detached}");
	$w->poll($k, 0, 1000);
});
# Rows go with their numbers, the first or the last.
step(archive => 2, tsp => sub {
	my ($w, $k, $name, $id) = @_;
	my $t = $w->table($k);
	my $numbers = $t->{number_table} && $w->value("SELECT $t->{number_table}::regclass") or return;
	my ($way, $most) = (pick('', 'DESC'), int 1 + rand 3);
	my $gone = $w->run($t->{owner}, "WITH gone AS (DELETE FROM $numbers WHERE number IN (SELECT number FROM $numbers ORDER BY number $way LIMIT $most) AND (SELECT count(*) FROM $numbers) > $most RETURNING number, id),
		rows AS (DELETE FROM $name WHERE $id IN (SELECT id FROM gone)) SELECT number, id FROM gone") or return;
	foreach my $row (@$gone)
	{
		$t->{archived}{ $row->[0] } = 1;
		delete $t->{numbers}{ $row->[1] };
	}
});
# What may be run as it is gives no number again; the last number itself is put back.
step(lose => 1, tsp => sub {
	my ($w, $k, $name, $id) = @_;
	my $t = $w->table($k);
	return if $w->is_open || $w->is_out || $t->{given} || !$t->{number_table};
	my $find = "SELECT relation::regclass FROM uidgen_tools.list_number_records() WHERE record = 'uid_last_number_of' AND \"table\" = $t->{oid}";
	my $counter = $w->value($find) or return;
	my ($last) = @{ $w->rows("SELECT number, id FROM $counter") };
	$w->ddl($k, "DROP TABLE $counter") or return;
	my $check = sub { $w->ddl($k, $_->[0]) foreach @{ $w->rows("SELECT statement FROM uidgen_tools.check_numbers($t->{oid}) WHERE class = '$_[0]' AND statement IS NOT NULL") } };
	$check->('mend');
	my $said = $w->tool($k, "CALL public.uid_number_rows('$name', '$id')", '55000');
	return $w->judge_numbers($k, $said->[0][3]) if $said;
	$check->('tell');
	$counter = $w->value($find) and $w->ddl($k, "UPDATE $counter SET number = $last->[0], id = $last->[1]") or $w->fail('N', 'a lost last number cannot be put back');
});
# By another column, which is unique, too.
step(renumber => 1, ts => sub {
	my ($w, $k, $name) = @_;
	return if !$w->table($k)->{number_table} || !$w->ddl($k, "ALTER TABLE $name ADD COLUMN IF NOT EXISTS nr bigint GENERATED ALWAYS AS IDENTITY UNIQUE");
	$w->fail('N', 'rows were numbered by another column') if $w->tool($k, "CALL public.uid_number_rows('$name', 'nr')", '55000');
});
step(adopt => 4, s => sub {
	my ($w, $k, $name, $id) = @_;
	my $t = $w->table('s');
	my $rows = $w->tool($k, "SELECT public.uid_adopt('$name', '$id', true)", $t->{tracked} ? '2BP01' : ());
	delete $t->{no_default} if $rows;
	$w->poll($k, 0, 1000) if $rows;
});
# As its hint says where the table is tracked.
step(adopt_by_hint => 3, s => sub {
	my ($w, $k, $name, $id) = @_;
	my $t = $w->table('s');
	return if $w->is_open || $w->is_out || $t->{child} || $t->{given};
	if ($w->ddl($k, qq(BEGIN; DROP TRIGGER IF EXISTS "~uid_key" ON $name; SELECT count(*) FROM public.uid_adopt('$name', '$id', true); COMMIT)))
	{
		$w->unsound($k, 'a trigger was dropped');
		delete $t->{no_default};
	}
	$STEPS{track}{code}->($w);
});

# ---- what owners do ----

step(rename => 3, tskp => sub {
	my ($w, $k, $name) = @_;
	$w->ddl($k, "ALTER TABLE $name RENAME TO $k" . int rand 3) and $w->table($k)->{may_mend} = 1;
});
# As when one takes the place of another: with the tables of their deleted keys.
step(exchange => 3, tp => sub {
	my ($w, $k) = @_;
	my @both = ($k, $k eq 't' ? 'p' : 't');
	return if $w->is_open || $w->is_out;
	$w->table($_) || $w->make($_), track($w, $_) foreach @both;
	return if grep { my $t = $w->table($_); !$t->{tracked} || $t->{unsound} || $t->{given} || $t->{owner} ne 'own' || $w->schema($_) ne 'w' } @both;
	my @names = map { [ map { s/.*\.//r } $w->name($_), ($w->deleted($_))[0] ] } @both;
	$w->ddl($k, join '; ', 'BEGIN', (map { ("ALTER TABLE w.$names[0][$_] RENAME TO x", "ALTER TABLE w.$names[1][$_] RENAME TO $names[0][$_]", "ALTER TABLE w.x RENAME TO $names[1][$_]") } 0, 1), 'COMMIT') or return;
	$w->renamed($_, 'exchanged names') foreach @both;
});
step(schema => 2, tskp => sub {
	my ($w, $k, $name) = @_;
	$w->ddl($k, "ALTER TABLE $name SET SCHEMA " . pick('w', 'w2')) and $w->table($k)->{may_mend} = 1;
});
step(schemas => 1, '' => sub {
	my ($w) = @_;
	$w->run('su', 'ALTER SCHEMA w RENAME TO x; ALTER SCHEMA w2 RENAME TO w; ALTER SCHEMA x RENAME TO w2');
	$w->renamed($_, 'another name of the schema') foreach keys %{ $w->{tables} };
});
step(pk => 3, tsk => sub {
	my ($w, $k, $name, $id) = @_;
	my $former = $w->primary_key($k) or return;
	my $columns = pick($id, "tenant, $id", "$id, tenant");
	$w->ddl($k, "ALTER TABLE $name DROP CONSTRAINT $former->[0], ADD PRIMARY KEY ($columns)") or return;
	my @sets = map { join ', ', sort split /, / } $columns, $former->[1];
	# In another order the key is the same; and it may be again what it was.
	$w->table($k)->{unsound} = 'perhaps' if ($w->table($k)->{unsound} // '') eq 'another key';
	$w->unsound($k, $sets[0] eq $sets[1] ? 'perhaps' : 'another key') if $columns ne $former->[1];
	$w->table($k)->{may_mend} = 1;
});
# The trigger for keys that change is in the way.
step(type => 2, tsk => sub {
	my ($w, $k, $name, $id) = @_;
	my $type = $w->type($k);
	my $other = { integer => 'bigint', bigint => $k eq 't' ? 'numeric(20)' : 'bigint', numeric => 'bigint', text => 'varchar(60)', 'character varying' => 'text' }->{$type};
	$w->ddl($k, qq(DROP TRIGGER IF EXISTS "~uid_key" ON $name; ALTER TABLE $name ALTER COLUMN $id TYPE $other)) or return;
	$w->unsound($k, 'another type');
	$w->table($k)->{retyped} = 1;
});
# What is written then has other texts in the catalogs.
step(quoted => 1, '' => sub {
	my ($w) = @_;
	$w->run('own', 'SET quote_all_identifiers = ' . pick('on', 'off'));
});
# It writes all rows anew, and no trigger sees it.
step(using => 1, tskp => sub {
	my ($w, $k, $name) = @_;
	my $mark = $w->mark($k);
	my $t = $w->table($k);
	return if $t->{tracked} && ($w->is_out || $t->{unsound});
	$w->ddl($k, "ALTER TABLE $name ALTER COLUMN name TYPE varchar(40) USING left(name || 'u', 40); $mark");
});
step(column => 1, tskp => sub {
	my ($w, $k, $name) = @_;
	$w->ddl($k, "ALTER TABLE $name ADD COLUMN c" . ++$w->{count} . pick(' int', ' int DEFAULT 7', ' uuid DEFAULT gen_random_uuid()'));
});
step(rewrite => 1, tskp => sub {
	my ($w, $k, $name) = @_;
	$w->ddl($k, pick("VACUUM FULL $name", "ALTER TABLE $name SET (fillfactor = 50)", "ANALYZE $name"));
});
step(name_of_key => 1, tskp => sub {
	my ($w, $k, $name, $id) = @_;
	$w->ddl($k, "ALTER TABLE $name RENAME COLUMN $id TO " . ($id eq 'id' ? 'ident' : 'id')) or return;
	$w->renamed($k, 'another name of the key');
});
step(owner => 1, tsk => sub {
	my ($w, $k, $name) = @_;
	my $t = $w->table($k);
	return if $w->is_open;
	$w->run('su', "ALTER TABLE $name OWNER TO " . ($t->{owner} = $t->{owner} eq 'own' ? 'own2' : 'own'));
	# The function, and the tables beside, are still the former one's.
	$t->{given} = grep { $_ && $_ ne $t->{owner} } @$t{qw(tracked numbered)};
	# Nothing of it is the owner's any more.
	$t->{unsound} = 'perhaps' if $t->{unsound};
});
step(disable => 2, tskp => sub {
	my ($w, $k, $name, $id) = @_;
	$w->ddl($k, "ALTER TABLE $name DISABLE TRIGGER USER; UPDATE $name SET name = 'unseen' WHERE " . some_row($name, $id) . "; ALTER TABLE $name ENABLE TRIGGER USER") and $w->unsound($k, 'disabled triggers');
});
step(untrigger => 2, tskp => sub {
	my ($w, $k, $name) = @_;
	my $trigger = pick(qw(stamp key truncate delete));
	$w->ddl($k, qq(DROP TRIGGER "~uid_$trigger" ON $name)) and $w->unsound($k, 'a trigger was dropped');
});
step(child => 1, t => sub {
	my ($w, $k, $name) = @_;
	my $t = $w->table($k);
	if (!$t->{child})
	{
		$w->ddl($k, "CREATE TABLE w.child () INHERITS ($name)") or return;
		$t->{child} = $t->{owner};
		$w->unsound($k, 'a child');
	}
	elsif (rand() < 0.5)
	{
		my $child = $w->value("SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = $t->{oid}");
		$w->ddl($k, "INSERT INTO $child (@{[ $w->id($k) ]}, name) VALUES (" . ++$w->{count} . ", 'child')");
	}
	elsif (!$w->is_out && $w->ddl($k, "DROP TABLE w.child, w2.child; " . $w->mark($k)) || $w->ddl($k, "DROP TABLE w.child; " . $w->mark($k)) || $w->ddl($k, "DROP TABLE w2.child; " . $w->mark($k)))
	{
		delete $t->{child};
		delete $t->{unsound} if ($t->{unsound} // '') eq 'a child';
	}
});

# ---- partitions by hand: what changes them writes the mark in the same transaction ----

# Of numbers of a sequence, which are no ids.
step(hand => 3, p => sub {
	my ($w, $k, $name, $id) = @_;
	my $low = 100 * ++$w->{count};
	my $mark = $w->mark($k);
	return if $w->table('p')->{tracked} && ($w->is_out || $w->table('p')->{unsound});
	$w->ddl($k, "CREATE TABLE w.hand$low PARTITION OF $name FOR VALUES FROM ($low) TO (@{[ $low + 100 ]}); $mark") or return;
	$w->unsound($k, 'a partition by hand');
	$w->ddl($k, "INSERT INTO $name ($id, name) VALUES (@{[ $low + 7 ]}, 'hand')");
});
# Partitions of a partition, by time: made, and then dropped.
step(deep => 2, p => sub {
	my ($w, $k, $name, $id) = @_;
	return if $w->is_out || $w->is_open || $w->table('p')->{tracked} && $w->table('p')->{unsound};
	my $deep = $w->value("SELECT c.oid::regclass FROM pg_class AS c JOIN pg_inherits AS i ON i.inhrelid = c.oid WHERE i.inhparent = $w->{tables}{p}{oid} AND c.relname = 'deep'");
	if ($deep)
	{
		$w->tool($k, "SELECT public.uid_drop_partitions('$deep', now() - interval '5 weeks', true, force => true)", $w->{was_out} ? '55000' : ());
		return $w->poll($k, 0, 1000);
	}
	my $mark = $w->mark($k);
	my ($low, $high) = @{ $w->rows("SELECT public.uid_min(now() - interval '9 weeks'), public.uid_min(now() - interval '5 weeks')")->[0] };
	$w->ddl($k, "CREATE TABLE w.deep PARTITION OF $name FOR VALUES FROM ($low) TO ($high) PARTITION BY RANGE ($id); $mark") or return;
	$w->unsound($k, 'a partition by hand');
	$w->tool($k, "SELECT count(*) FROM public.uid_partitions('w.deep', now() - interval '8 weeks', now() - interval '6 weeks', '1 week', true)");
	$w->ddl($k, "INSERT INTO $name ($id, name, made) VALUES (public.uid_min(now() - interval '7 weeks'), 'deep', now() - interval '7 weeks')");
	$STEPS{track}{code}->($w) if rand() < 0.5;
});
step(leaf_trunc => 2, p => sub {
	my ($w, $k) = @_;
	my @leaves = $w->leaves or return;
	$w->ddl($k, 'TRUNCATE ' . a_leaf($w, @leaves));
	$w->poll($k, 0, 1000);
});
step(leaf_drop => 1, p => sub {
	my ($w, $k) = @_;
	my @leaves = $w->leaves or return;
	my $mark = $w->mark($k);
	return if $w->table('p')->{tracked} && ($w->is_out || $w->table('p')->{unsound});
	$w->ddl($k, 'DROP TABLE ' . a_leaf($w, @leaves) . "; $mark") and $w->table('p')->{hole} = 1;
});
# On what something depends, it stays.
step(view => 1, p => sub {
	my ($w, $k) = @_;
	my @leaves = $w->leaves or return;
	$w->ddl($k, "CREATE OR REPLACE VIEW w.shown AS SELECT count(*) FROM " . a_leaf($w, @leaves));
});
step(detach => 2, p => sub {
	my ($w, $k, $name, $id) = @_;
	my @leaves = $w->leaves or return;
	my $leaf = pick(@leaves);
	my $bounds = $w->value("SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE oid = '$leaf'::regclass");
	return if $w->table('p')->{tracked} && ($w->is_out || $w->table('p')->{unsound});
	$w->ddl($k, "ALTER TABLE $name DETACH PARTITION $leaf") or return;
	$w->ddl($k, "INSERT INTO $leaf ($id, name, made) SELECT $id + 1, 'detached', made FROM $leaf ORDER BY $id DESC LIMIT 1");
	$w->ddl($k, "ALTER TABLE $name ATTACH PARTITION $leaf $bounds") or $w->table('p')->{hole} = 1;
	$w->table('p')->{detached} = $w->value("SELECT '$leaf'::regclass::oid");
	$w->unsound($k, 'a partition that was changed while it was none');
});
step(rest => 1, p => sub {
	my ($w, $k, $name) = @_;
	my $mark = $w->mark($k);
	return if $w->table('p')->{tracked} && ($w->is_out || $w->table('p')->{unsound}) || $w->table('p')->{rest};
	$w->ddl($k, "CREATE TABLE w.rest PARTITION OF $name DEFAULT; $mark") or return;
	$w->table('p')->{rest} = 1;
	$w->unsound($k, 'a partition by hand');
});

# ---- the extensions, and the whole ----

step(ext => 2, '' => sub {
	my ($w) = @_;
	$w->is_out ? $w->enter : $w->leave;
	$w->enter if $w->is_out && rand() < 0.6;
});
step(restore => 1, '' => sub {
	my ($w) = @_;
	$w->restore;
	my $p = $w->table('p') or return;
	$p->{unsound} = 'perhaps' if ($p->{unsound} // '') =~ /while it was none/;	# all triggers are new
});

1;
