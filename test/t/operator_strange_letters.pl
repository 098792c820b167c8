# As operator_strange_names, with more names; with characters that a client does not see as the server does; and with functions, grants and
# dates that a stranger has put in the way of what is printed.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use StrangeNames;
use Twins;
use UidgenTest;

my $database = 'names';
foreach my $kind (kinds())
{
	my $node = server_of_names($kind);
	tries_names(
		"r\rALTER ROLE nobody SUPERUSER;\r--",
		"b\r\nALTER ROLE nobody SUPERUSER;\r\n/*",
		'p%s%I%L%1$s%% */ /* -- $$ $a$',
		"\\! touch gained\n\\q\nv:nobody :'nobody' :\"nobody\"",
		"U&\"\\000a\" \x01\x1b[2J\x7f\t \xc2\x85\xe2\x80\xa8\xe2\x80\xae \xc3\xa9");

	# ---- characters that a client does not see as the server does ----

	# In some encodings a quote, or a backslash, can be the second byte of a character, or a character becomes another one.
	{
		# the euro sign in GBK, one of JOHAB, the yen sign in Shift JIS
		my @signs = ("\xe2\x82\xac", "\xeb\x80\xa8", "\xc2\xa5", "\xe8\xa1\xa8");
		my $bad = '"; ALTER ROLE nobody SUPERUSER; \! touch gained #';
		$node->safe_psql($database, 'CREATE SCHEMA signs');
		my ($errors, $raw) = ('', '');
		foreach my $n (0 .. $#signs)
		{
			my $table = 'signs.' . ident("t$n$signs[$n]$bad");
			$node->safe_psql($database, "CREATE TABLE $table (id bigint GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME signs." . ident("s$n$signs[$n]\\'$bad") . ')); CREATE TABLE signs.'
				  . ident("p$n$signs[$n]$bad") . ' (id bigint) PARTITION BY RANGE (id)');
		}
		foreach my $encoding (qw(GBK GB18030 BIG5 UHC JOHAB SJIS SHIFT_JIS_2004 EUC_JP LATIN1 UTF8))
		{
			local $ENV{PGCLIENTENCODING} = $encoding;
			foreach my $n (0 .. $#signs)
			{
				my $of = sub { my ($kind) = @_; return "(SELECT oid::regclass FROM pg_class WHERE relnamespace = 'signs'::regnamespace AND relkind IN ('r', 'p') AND starts_with(relname, '$kind$n'))" };
				my $file = $node->basedir . "/signs_${encoding}_$n.sql";
				psql_says($database, '', '', '-c', "\\o $file", '-c', 'SELECT uid_adopt(' . $of->('t') . ", 'id')", '-c', 'SELECT uid_partitions(' . $of->('p') . ", '2025-02-01', '2025-03-01', '1 month', false, 'default')");
				my $text = slurp_file($file);
				$raw .= "$encoding $n " if $text !~ /^[\x0a\x20-\x7e]+$/ || $text !~ /COMMIT;\nBEGIN;\nSET .*;\nCREATE TABLE .*;\nCOMMIT;\n\z/;
				# undone, so that each encoding meets the same
				append_to_file($file . '.run', $text =~ s/^COMMIT;$/ROLLBACK;/mgr);
				$errors .= psql_says($database, '', '-c client_min_messages=error', '-v', 'ON_ERROR_STOP=1', '-f', $file . '.run') =~ s/^\d*\n//mgr;
			}
		}
		is($raw, '', 'statements are in ASCII alone, since a file may be run by a client of another encoding');
		is($errors, '', '... which runs');

		# Roles are shared with databases of other encodings.
		$node->safe_psql('postgres', "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C' LOCALE_PROVIDER libc; CREATE DATABASE bytes ENCODING 'SQL_ASCII' TEMPLATE template0 LOCALE 'C' LOCALE_PROVIDER libc");
		my $role = "z\xe9y\"\"; ROLLBACK; ALTER ROLE nobody SUPERUSER; --\x01";
		my $latin = $node->basedir . '/latin.sql';
		append_to_file($latin, "CREATE ROLE \"$role\";");
		local $ENV{PGCLIENTENCODING} = 'LATIN1';
		is(psql_says('latin', '', '', '-f', $latin), '', 'a role whose name is not text in UTF-8');
		delete $ENV{PGCLIENTENCODING};
		$node->safe_psql($database, q{CREATE TABLE signs.g (id bigint GENERATED ALWAYS AS IDENTITY);
			DO $$ DECLARE r name; BEGIN SELECT rolname INTO STRICT r FROM pg_roles WHERE starts_with(rolname, 'z'); EXECUTE format('GRANT USAGE ON SEQUENCE signs.g_id_seq TO %I', r); END $$});
		fails_with($node, "SELECT uid_adopt('signs.g', 'id')", '22021', qr/invalid byte sequence/, '... is not written', $database);

		# Kanji that Shift JIS has not become others.
		$node->safe_psql('postgres', "CREATE DATABASE euc ENCODING 'EUC_JP' TEMPLATE template0 LOCALE 'C' LOCALE_PROVIDER libc");
		put_twin_in($kind, $node, 'euc');
		my $euc = $node->basedir . '/euc.sql';
		append_to_file($euc, qq{SET client_encoding = EUC_JP; CREATE TABLE "x\x8f\xb0\xa1" (id bigserial);});
		is(psql_says('euc', '', '', '-f', $euc), '', 'a name that a client has not');
		{
			local $ENV{PGCLIENTENCODING} = 'SJIS';
			like(psql_says('euc', '', '', '-c', q{SELECT uid_adopt((SELECT oid::regclass FROM pg_class WHERE starts_with(relname, 'x') AND relkind = 'r'), 'id')}),
				qr/ERROR:  a name or text cannot be written in encoding SJIS\n/, '... is not written for it');
		}

		# Nor are bytes of which nobody knows the characters, for a client that would see some of its own.
		put_twin_in($kind, $node, 'bytes');
		my $bytes = $node->basedir . '/bytes.sql';
		append_to_file($bytes, "CREATE TABLE " . ident("t\x83$bad") . ' (id bigint) PARTITION BY RANGE (id);');
		is(psql_says('bytes', '', '', '-f', $bytes), '', 'a name of bytes, in a database without an encoding');
		my $print = q{SELECT uid_partitions((SELECT oid::regclass FROM pg_class WHERE relkind = 'p'), '2025-02-01', '2025-03-01', '1 month', false, 'default')};
		foreach my $encoding (qw(GBK BIG5 UHC SJIS))
		{
			local $ENV{PGCLIENTENCODING} = $encoding;
			like(psql_says('bytes', '', '', '-c', $print), qr/\AERROR:  a name or text cannot be written in encoding $encoding\n.*HINT:  Run SET client_encoding = SQL_ASCII\.\n/s, "... is not written for a client of $encoding");
		}
		like(psql_says('bytes', '', '', '-c', $print), qr/\ABEGIN;\nSET .*;\nCREATE TABLE .*;\nCOMMIT;\n\z/, '... and is for others');
		is($node->safe_psql('postgres', 'SELECT rolsuper FROM pg_roles WHERE rolname = $$nobody$$'), 'f', '... and nobody has gained a right');
		ok(!-e 'gained' && !-e $node->basedir . '/gained', '... nor has psql run a command');
	}

	# ---- what nobody has asked for ----

	# A function of a stranger that fits better than pg_catalog's: each database from before 15 lets everybody create in public.
	put_twin_in($kind, $node, 'postgres');
	$node->safe_psql('postgres', q{GRANT ALL ON SCHEMA public TO PUBLIC; CREATE SCHEMA shop; CREATE TABLE shop.inv (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY); INSERT INTO shop.inv DEFAULT VALUES});
	$node->safe_psql('postgres', <<'SQL', extra_params => [ '-U', 'nobody' ]);
CREATE FUNCTION public.gain() RETURNS void LANGUAGE plpgsql AS $$ BEGIN IF (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) THEN EXECUTE 'ALTER ROLE nobody SUPERUSER'; END IF; EXCEPTION WHEN OTHERS THEN NULL; END $$;
CREATE FUNCTION public.setval(a text, b bigint, c boolean) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN PERFORM public.gain(); RETURN 1; END $$;
CREATE FUNCTION public.setval(a pg_catalog.regclass, b bigint, c boolean) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN PERFORM public.gain(); RETURN 1; END $$;
CREATE FUNCTION public.nextval(a pg_catalog.regclass) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN PERFORM public.gain(); RETURN 1; END $$;
CREATE FUNCTION public.nextval(a text) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN PERFORM public.gain(); RETURN 1; END $$;
CREATE FUNCTION public.bigger(a bigint, b bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN PERFORM public.gain(); RETURN true; END $$;
CREATE OPERATOR public.>= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = public.bigger);
CREATE DOMAIN public.regclass AS text;
SQL
	{
		my $script = $node->basedir . '/unqualified.sql';
		append_to_file($script, "SELECT uid_adopt('shop.inv'::pg_catalog.regclass, 'id') \\gexec\n");
		my $said = psql_says('postgres', '', '-c search_path=public,pg_catalog', '-f', $script);
		unlike($said, qr/ERROR/, 'where others may create in public, an identity column is adopted');
		is($node->safe_psql('postgres', q{SELECT last_value FROM shop.inv_id_seq}), '1', '... its position by the right function');
		my ($back) = $said =~ /^ +(BEGIN;\n.*?^ +COMMIT;\n)/ms;
		$script .= '.back';
		append_to_file($script, $back // 'none');
		unlike(psql_says('postgres', '', '-c search_path=public,pg_catalog', '-v', 'ON_ERROR_STOP=1', '-f', $script), qr/ERROR/, '... and so is the way back');
	}
	# What whoever runs it grants on all new sequences is no grant on this one.
	$node->safe_psql('postgres', 'CREATE ROLE keeper LOGIN; CREATE ROLE watcher; CREATE TABLE shop.dp (id bigint GENERATED ALWAYS AS IDENTITY); ALTER TABLE shop.dp OWNER TO keeper; GRANT ALL ON SCHEMA shop TO keeper;
		ALTER DEFAULT PRIVILEGES GRANT ALL ON SEQUENCES TO watcher');
	{
		my $file = $node->basedir . '/dp.sql';
		psql_says('postgres', 'keeper', '', '-c', "\\o $file", '-c', "SELECT uid_adopt('shop.dp', 'id')");
		unlike(psql_says('postgres', '', '', '-v', 'ON_ERROR_STOP=1', '-f', $file), qr/ERROR/, 'what the owner has printed is run by a superuser');
		is($node->safe_psql('postgres', q{SELECT has_sequence_privilege('watcher', 'shop.dp_id_seq', 'SELECT, USAGE, UPDATE')}), 'f', '... and nobody gets a right by it');
	}
	# A day that is written one way and read another.
	$node->safe_psql('postgres', q{CREATE TABLE shop.days (id bigserial) PARTITION BY RANGE (id); CREATE TABLE shop.other PARTITION OF shop.days DEFAULT;
		ALTER TABLE shop.other ALTER id SET DEFAULT extract(epoch FROM '2020-02-01'::date)::bigint});
	like(psql_says('postgres', '', '-c datestyle=SQL,DMY', '-c', "SELECT FROM uid_adopt('shop.days', 'id')"), qr/'2020-02-01'::(?:pg_catalog\.)?date/, 'dates in the way back are ISO dates, whatever the session writes');

	is($node->safe_psql('postgres', 'SELECT rolsuper FROM pg_roles WHERE rolname = $$nobody$$'), 'f', '... and nobody has gained a right');

	$node->stop;
}
done_testing();
