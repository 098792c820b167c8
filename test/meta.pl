# test/meta.pl
#	  What the files say about themselves and each other: META.json keeps PGXN's
#	  meta spec 1.0.0, one version is told everywhere, every test is run, and
#	  the sources keep the project's conventions.
#
# Core Perl only; runs from the root of the source tree.
use strict;
use warnings;

use lib 'tools/mutate', 'test/perl';

use Digest::SHA 'sha256_hex';
use File::Find;
use File::Temp 'tempdir';
use JSON::PP;
use Mutants qw(mutants_of describe killed_by named_mutant);
use Pages qw(blocks_of);
use Procedures;
use Test::More;

sub slurp
{
	my ($file) = @_;
	open(my $fh, '<', $file) or return '';
	local $/;
	return scalar <$fh>;
}

# The one capture of a pattern in a file.
sub grab
{
	my ($file, $pattern) = @_;
	return slurp($file) =~ $pattern ? $1 : undef;
}

# Passes if the list is empty, and shows it otherwise.
sub none
{
	my ($name, @bad) = @_;
	ok(!@bad, $name) or diag(map { "  $_\n" } @bad);
}

# The words of a variable of the Makefile.
sub words
{
	my ($variable) = @_;
	(my $makefile = slurp('Makefile')) =~ s/\\\n/ /g;
	return $makefile =~ /^$variable[ \t]*=[ \t]*(.*)$/m ? split(' ', $1) : ();
}

# The names of the files that match, without folder and ending.
sub names
{
	return map { m{([^/]+)\.\w+$} } glob($_[0]);
}

# Every file of the project, as a path from its root on.
my @files;
find(
	{
		no_chdir => 1,
		wanted => sub {
			s{^\./}{};
			$File::Find::prune = 1 if $_ eq '.git';
			push @files, $_ if -f && -T && !/\.(o|so|bc)$/;
		}
	},
	'.');

# ---- META.json ----

my $meta = eval { JSON::PP->new->utf8->decode(slurp('META.json')) };
ok(ref $meta eq 'HASH', 'META.json is a JSON object') or diag($@);
$meta = {} if ref $meta ne 'HASH';
my $provides = $meta->{provides} || {};
my $semver = qr/^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$/;

none(
	'META.json has what PGXN requires',
	grep({ !$meta->{$_} } qw(abstract license maintainer meta-spec name provides version)),
	grep({ !/^1\.0\.\d+$/ } $meta->{'meta-spec'}{version} || 'no meta-spec version'),
	map {
		my $extension = $_;
		map { "provides $extension without $_" }
		  grep { !$provides->{$extension}{$_} } qw(file version)
	} keys %$provides);
none(
	'META.json has no key that PGXN does not know',
	grep {
		!/^(x_.*|abstract|description|generated_by|license|maintainer|meta-spec|name|no_index|prereqs
			|provides|release_status|resources|tags|version)$/xi
	} keys %$meta);
like($meta->{release_status}, qr/^(stable|testing|unstable)$/, 'release status is one of three');
none(
	'every version is a semantic one',
	grep { $_ !~ $semver } $meta->{version},
	map({ $_->{version} } values %$provides),
	map({ values %$_ } values %{ $meta->{prereqs}{runtime} || {} }));
none(
	'every file that META.json names exists',
	grep { !-f } map { ($_->{file}, $_->{docfile} || ()) } values %$provides);
none(
	'every folder that META.json names exists',
	grep { !-d } @{ $meta->{no_index}{directory} || [] });

# ---- One version ----

my $version = $meta->{version} || 'no version';
foreach my $extension (qw(uidgen uidgen_registry uidgen_tools))
{
	is($provides->{$extension}{version}, $version, "version of $extension in META.json");
	is(grab("$extension.control", qr/^default_version = '(.*)'$/m), $version, "... and in $extension.control");
}
my @former = grep { $_ ne $version } slurp('CHANGELOG.md') =~ /^## \[(\S+)\] - \d{4}-\d\d-\d\d$/mg;
is_deeply(
	[ sort(words('UPDATES_FROM')) ],
	[ sort(@former) ],
	'a script leads from every version to the present one');
none('... which has to change what it finds there', grep { my ($old) = m{([^/]+)$}; !grep { $_ eq $old } @former } glob('script/*/update/*'));
my @parts;
foreach my $folder (qw(uidgen registry tools))
{
	my @here = glob("script/$folder/*.sql");
	is_deeply([ map { $_ eq '$(LOCAL_PART)' ? words('LOCAL_PART') : $_ } words(uc($folder) . '_HEAD'), words(uc($folder) . '_PARTS') ],
		[ map { m{([^/]+)\.sql$} } @here ], "the script of $folder is made of all parts, in the order of their names");
	push @parts, @here;
}
is_deeply([ map { words("SQL_$_") } qw(HEAD PARTS TOOLS) ], [ map { m{([^/]+)\.sql$} } glob('script/sql/*.sql') ], 'the edition in SQL is made of all parts, in the order of their names');
my $script = join '', map { slurp($_) } @parts;
# Its owner has made any schema that he likes, one that is called uidgen as well.
none('... and the registry calls nothing of the other extensions',
	map { my $file = $_; my $code = slurp($file) =~ s/--[^\n]*//gr =~ s/'(?:[^']|'')*'//gr; map { "$file: $_" } $code =~ /\b(uidgen(?:_tools)?\.\w+)/g } glob('script/registry/*.sql'));
none('... nor they anything of the registry, but in what they say', map { my $file = $_; map { "$file: $_" } slurp($file) =~ s/--[^\n]*//gr =~ s/'(?:[^']|'')*'//gr =~ /\b(uidgen_registry\.\w+)/g } glob('script/{uidgen,tools}/*.sql'));
none('... and every version up to which it may be left out is one of these or the present one',
	grep { my $since = $_; !grep { $_ eq $since } @former, $version } $script =~ /^-- \[since (.+)\]$/mg);
is(grab('CHANGELOG.md', qr/^## \[(\S+)\] - /m), $version, 'newest version in CHANGELOG.md');
none('... whose sections are those of Keep a Changelog', grep { !/^(?:Added|Changed|Deprecated|Removed|Fixed|Security)$/ } slurp('CHANGELOG.md') =~ /^### (.*)$/mg);
like(slurp('debian/changelog'), qr/^postgresql-uidgen \([\d.]+-\d+\) unstable;/, "Debian's package is of a release");
is(grab('debian/changelog', qr/^postgresql-uidgen \((.+)-\d+\) /), $version, "version of Debian's package");
is(grab('rpm/uidgen.spec', qr/^Version:\s+(.+)$/m), $version, '... of the RPM');
is(grab('images/cloudnativepg/metadata.hcl', qr/^ +sql += "(.+)"$/m), $version, "... in the extension image's description");
none('... and of the packages that pages name', grep { $_ ne $version } map { slurp($_) =~ /uidgen[-_](\d+\.\d+\.\d+)/g } qw(README.md docs/installing.md));
none('actions are pinned by commit', map { my $file = $_; map { "$file: $_" } grep { !/^[\w\/-]+\@[0-9a-f]{40} # v/ } slurp($file) =~ /^\s*-? ?uses: (.*)$/mg } glob('.github/workflows/*.yml'));

# Debian's present version of PostgreSQL; elsewhere PG_UPDATECONTROL=yes makes it anew.
is(slurp('debian/control'), slurp('debian/control.in') =~ s/PGVERSION/18/gr, 'debian/control is made of control.in');

# ---- What the reference lists ----

my $front = slurp('README.md') =~ s/^```.*?^```$|<!--.*?-->//msgr =~ s/!?\[([^]]*)\]\([^)]*\)/$1/gr;
none('the README is a front page: at most 120 lines, 15 words a cell and 25 a sentence', grep({ tr/\n// > 120 } slurp('README.md')), grep({ (my @words = split) > 15 } map { split / \| / } $front =~ /^\| (.*) \|$/mg),
	grep { (my @words = split) > 25 } map { split /(?<=[.?!])[*`")]* / } map { s/\s+/ /gr } split /\n\n|\n(?=- )/, $front =~ s/^[|#].*\n/\n/mgr);
my $glossary = join '|', map { lc } slurp('docs/glossary.md') =~ /^## (.*)$/mg;
none('each page that uses a word of the glossary leads there', grep { slurp($_) =~ /^[^|\n].*\b(?:$glossary)s?\b/m && slurp($_) !~ /\(glossary\.md#/ } grep { m{^docs/(?!glossary)[a-z-]+\.md$} } @files);
my @settings = slurp('src/memory/guc.c') =~ /^\t(?:define_\w+|DefineCustom\w+)\("(uidgen\.\w+)"/mg;
is_deeply([ sort(slurp('docs/reference/settings.md') =~ /^## (uidgen\.\w+)$/mg) ], [ sort(@settings) ], 'the page of settings has every setting');
my $views = slurp('docs/reference/views.md');
is_deeply([ sort($views =~ /^## (uidgen\w*\.\w+)$/mg) ], [ sort($script =~ /^CREATE VIEW (\S+)/mg) ], 'the page of views has every view');
my %columns = (
	'uidgen_registry.fleet' => [ grab('script/registry/34_fleet_owner.sql', qr/CREATE VIEW uidgen_registry\.fleet AS\nSELECT (.*?)^FROM/ms) =~ /(\w+)(?=,|\s*\z)/g ],
	'uidgen_registry.status' => [ grab('script/registry/48_registry_status.sql', qr/CREATE VIEW uidgen_registry\.status AS\nSELECT (.*?)^FROM/ms) =~ /(\w+),?\n/g ],
	'uidgen.presets' => [ grab('script/uidgen/60_layouts.sql', qr/CREATE FUNCTION uidgen\.presets\((.*)\)/) =~ /OUT (\w+)/g ]);
foreach ([ 'status', 'status' ], [ 'segment_status', 'segments' ], [ 'statistics', 'statistics' ])
{
	my ($view, $file) = @$_;
	$columns{"uidgen.$view"} = [ map { lc } grep { !/_COLUMNS$/ } grab("src/functions/$file.c", qr/enum \w+Column\n\{\n(.*?)\} \w+Column/s) =~ /\b([A-Z][A-Z_0-9]+)\b/g ];
}
push @{ $columns{'uidgen.status'} }, 'ids';	# which the view adds
none('monitoring asks for columns that are there', map { my ($name, $query) = /^query (\S+)\n(.*)/s; my ($view) = $query =~ /FROM (uidgen\.(?:status|statistics)) AS s/;
	$view ? map { "$name: $_" } grep { my $column = $_; !grep { $_ eq $column } @{ $columns{$view} } } $query =~ /\bs\.(\w+)/g : () } slurp('monitoring/uidgen.list') =~ /^(query .*?)(?=^query|\z)/msg);
$columns{'uidgen.horizon_holders'} = [ map { /AS (\w+)/ ? $1 : /(\w+)$/ } split /, /, grab('script/uidgen/58_horizon.sql', qr/CREATE VIEW uidgen\.horizon_holders AS\n\tSELECT (.*)/) ];
foreach my $view (sort keys %columns)
{
	my ($rows) = $views =~ /^\| column of `\Q$view\E` .*\n.*\n((?:\|.*\n?)+)/m;
	is_deeply([ map { /^\|([^|]+)\|/ ? $1 =~ /`(\w+)`/g : () } split /\n/, $rows // '' ], $columns{$view}, "... and every column of $view, in their order");
}

my $functions = slurp('docs/reference/functions.md');
my %made = map { s/^\@extschema\@\.//r => 1 } $script =~ /^\t*CREATE (?:FUNCTION|PROCEDURE) ([\w@.]+)\(/mg;
my @for_users = map { split /, / } $functions =~ /^### (.*)$/mg;
my @others = slurp('test/internal_functions') =~ /^([\w.]+)$/mg;
is_deeply([ sort @for_users, @others ], [ sort keys %made ], 'the page of functions has every function for users, and test/internal_functions the others');
none('... those for users with a signature', grep { my $name = $_; $functions !~ /^[^#\n]*`\Q$name\E\(/m } @for_users);

# As the sources name them; some of these names are of one code.
my %raised = map { s/^ERRCODE_(?:E_R_I_E_)?//r => 1 } map({ slurp($_) =~ /\b(ERRCODE_[A-Z0-9_]+)\b/g } grep { m{^src/.*\.[ch]$} } @files);
$raised{ uc $_ }++ foreach $script =~ /ERRCODE = '([a-z]\w+)'/g;
# What CREATE EXTENSION raises, to the keeper.
delete @raised{qw(TO_CATEGORY DATETIME_VALUE_OUT_OF_RANGE T_R_SERIALIZATION_FAILURE UNDEFINED_FILE UNIQUE_VIOLATION)};
is_deeply([ sort map { uc } slurp('docs/reference/messages.md') =~ /^\| \w{5} \| `(\w+)`/mg ], [ sort keys %raised ], 'the page of errors has every SQLSTATE');

# What the sources write to the log, as the page has it: N for a number, ... for something else.
sub as_in_the_page
{
	my ($format) = @_;
	$format =~ s/\\"/"/g;
	$format =~ s/%(?:l*d|i)|" INT64_FORMAT "/N/g;
	$format =~ s/%s|%/.../g;
	return $format;
}
my %logged;
foreach my $source (map { slurp($_) } grep { m{^src/.*\.c$} } @files)
{
	$logged{ as_in_the_page($_) } = 1 foreach map { /errmsg\("((?:[^"\\]|\\.)*)"/g } $source =~ /ereport\(LOG,(.*?)\)\);\n/sg;
}
$logged{ as_in_the_page($_) } = 1 foreach $script =~ /RAISE WARNING '([^']*)'/g;
my ($lines) = slurp('docs/operations.md') =~ /^\| line \| event .*\n.*\n((?:\|.*\n)+)/m;
is_deeply([ sort grep { !/^background worker/ } map { /^\| `(.*?)` \|/ } split /\n/, $lines // '' ], [ sort keys %logged ], 'the page of operations has every line of the log');

# Which pages are run: see Pages.pm.  Some have a program of their own.
my %is_run = map { $_ => 1 } qw(docs/backfilling.md docs/javascript.md docs/guests.md), map({ "docs/$_.md" } split / /, grab('test/t/fleet_page.pl', qr/ qw\((fleet .*)\);$/m)), split / /, grab('test/t/operator_pages.pl', qr/^my \@PAGES = qw\((.*)\);$/m);
none('every block of every page is run, or says why not',
	map { my $page = $_; $is_run{$page} ? () : map { "$page, line $_->{line}" } grep { !defined $_->{not_run} } blocks_of(slurp($page)) }
	  grep { m{^(?:README.*|SECURITY|docs/.*)\.md$} } @files);

# One line for a preset, and one command.
{
	my $folder = tempdir(CLEANUP => 1);
	my @committed = qw(docs/uidgen.mjs docs/decoder.html sql/vectors.sql);
	my $make = "env -u MAKEFLAGS make -s -C $folder made";
	is(system("tar -cf - Makefile *.control script src/core docs/build test/vectors.* @committed | tar -xf - -C $folder && $make"), 0, '"make made" makes what is made of the presets');
	none('... and what of that is committed is up to date', grep { slurp($_) ne slurp("$folder/$_") } @committed);
	my $table = slurp('src/core/layout.c') =~ s/^const UidgenPreset uidgen_presets.*\n\K/\t{"new", "time:41:1ms worker:9 sequence:13 epoch:2025-02-03",\n\t"one more"},\n/mr;
	open(my $fh, '>', "$folder/src/core/layout.c") or die "could not write: $!";
	print $fh $table;
	close $fh or die "could not write: $!";
	is(system($make), 0, '... also with one more');
	none('... which is in all of it', grep { slurp($_) !~ /'new'.*'time:41:1ms worker:9 sequence:13 epoch:2025-02-03'.*'one more'/ } map { "$folder/$_" } @committed[ 0, 1 ], map { "script/$_--$version.sql" } qw(uidgen-sql uidgen-registry));
}
cmp_ok(-s 'docs/decoder.html', '<', 100_000, '... in less than 100 kB');

# The table of parts has a row for each file, by its name without the suffix where that is .c and .h.
my ($table) = slurp('docs/design.md') =~ /^(\| room \| file \|.*?)^$/ms;
my %named = map { s/\.[ch]$//r => 1 } map { /`([\w.]+)`/g } map { /^\|[^|]*\|([^|]*)\|/ } split /\n/, $table;
none('docs/design.md names every file of src', grep { !$named{$_} } map { m{([^/]+)\.[ch]$} } grep { m{^src/} } @files);

# ---- What is promised for ever ----

# test/frozen/SUMS: the version, how many lines of a file stay as they are from it on, their sum, and the file.  Lines may follow.
sub sum_of
{
	my ($lines, $file) = @_;
	my @lines = split /^/, slurp($file);
	return @lines < $lines ? 'there are fewer' : sha256_hex(join '', @lines[ 0 .. $lines - 1 ]);
}
my @sums = map { [ split /\t/ ] } grep { /^[^#]/ } split /\n/, slurp('test/frozen/SUMS');
none('no value that a version has promised is another one', map { "$_->[3], its first $_->[1] lines, as of $_->[0]" } grep { sum_of(@$_[ 1, 3 ]) ne $_->[2] } @sums);
my %promised = map { ("$_->[0] $_->[3]" => 1) } @sums;
none('... and each minor version has promised some: what test/frozen/SUMS lacks', map {
	my $file = $_;
	my $lines = () = slurp($file) =~ /\n/g;
	map { "$_\t$lines\t" . sum_of($lines, $file) . "\t$file" } grep { !$promised{"$_ $file"} } '1.0.0', grep { /^[1-9]\d*\.\d+\.0$/ } @former, $version
} qw(test/vectors.tsv sql/scramble.sql), grep { !m{/SUMS$} } glob('test/frozen/*'));

# ---- Procedures, and links of the documents ----

# Word by word, and none of the run book's is left out.
{
	my %procedures = procedures();
	my %shown;
	my $as_is = sub { $_[0] =~ s/\s+/ /gr };
	foreach my $name (sort keys %procedures)
	{
		my ($page, $heading, $text, $statements) = @{ $procedures{$name} }{qw(page heading text statements)};
		my ($part, @blocks) = blocks_under(slurp($page), $heading);
		# What comes before is not the procedure's, as an installation.
		shift @blocks while @blocks && $text ne '' && index($text, $blocks[0]{text}) != 0;
		is(join('', map { $_->{text} } @blocks), $text, "$page has test/procedures/$name.steps") if $text ne '';
		none("... and its statements", grep { index($as_is->($part), $as_is->($_)) < 0 } @$statements);
		$shown{ $_->{text} } = 1 foreach @blocks;
	}
	none('each block of the run book is a procedure\'s', map { $_->{line} } grep { $_->{kind} eq 'sh' && !$shown{ $_->{text} } && $_->{text} !~ /^cd && rm -r/m } blocks_of(slurp('docs/runbook.md')));
}

# The names under which a page's headings are found.
sub anchors
{
	my ($page) = @_;
	my %taken;
	return map {
		my $anchor = lc s/\]\([^)]*\)//gr;
		$anchor =~ s/[^\w\- ]//g;
		$anchor =~ tr/ /-/;
		$taken{$anchor}++ ? "$anchor-" . ($taken{$anchor} - 1) : $anchor;
	} slurp($page) =~ /^#+ (.*)$/mg;
}
sub dead_links
{
	my ($page) = @_;
	my ($folder) = $page =~ m{^(.*/)?};
	(my $text = slurp($page)) =~ s/^```.*?^```$//msg;
	return map {
		my ($file, $anchor) = split /#/;
		$file = $file eq '' ? $page : ($folder // '') . $file;
		1 while $file =~ s{[^/.]+/\.\./}{};
		!-e $file || defined $anchor && !grep({ $_ eq $anchor } anchors($file)) ? "$page: $_" : ();
	} grep { !m{^\w+:} } $text =~ /\]\(([^) ]+)\)/g;
}
none('every link leads somewhere', map { dead_links($_) } 'llms.txt', grep { /\.md$/ } @files);
none('... and those of llms.txt are in lists, as its readers expect', grep { !/^(?:#+ |> |- \[|$)/ && /\]\(/ } split /\n/, slurp('llms.txt'));

# ---- The release ----

# The files, in a repository of their own: what is not committed counts, and a copy of the tree has none.
SKIP:
{
	skip 'there is no git', 5 if system('git --version >/dev/null 2>&1') != 0;
	my $folder = tempdir(CLEANUP => 1);
	local @ENV{qw(GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM GIT_CEILING_DIRECTORIES)} = ('/dev/null', 1, $folder);
	delete local @ENV{qw(GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE)};
	my $git = 'git -c user.name=uidgen -c user.email=maintainers@uidgen.invalid';
	system("mkdir $folder/one && tar -cf - --exclude=./.git --exclude='*.o' --exclude='*.so' --exclude='*.bc' . | tar -xf - -C $folder/one && cd $folder/one"
		  . " && $git init -q && $git add -A && $git commit -q -m release && mkdir ../a ../b && umask 077 && $git clone -q . ../two") == 0 or die 'no repository';
	# Elsewhere, later, by somebody with another zone and other rights for files.
	is(system("umask 022; cd $folder && TZ=UTC-9 one/tools/dist.sh a && find two -exec touch -d 2020-02-02 {} + && umask 077 && TZ=UTC+5 two/tools/dist.sh b"), 0, 'a release is made twice');
	foreach (map { "uidgen-$version.$_" } qw(zip spdx.json))
	{
		ok(-s "$folder/a/$_" && slurp("$folder/a/$_") eq slurp("$folder/b/$_"), "... $_ has the same bytes");
	}
	my $sbom = decode_json(slurp("$folder/a/uidgen-$version.spdx.json"));
	is_deeply(
		[ sort map { $_->{fileName} =~ s{^\./}{}r } @{ $sbom->{files} } ],
		[ sort grep { !m{^\.(?:ci/|editorconfig$|gitattributes$|github/|gitignore$)} } split /\n/, `cd $folder/one && $git ls-files` ],
		'... which names each file of the zip, and no other');
	is_deeply([ map { $_->{name} } @{ $sbom->{packages} } ], [qw(uidgen postgresql libpq)], '... and what uidgen needs');
}

# ---- Every test is run ----

is_deeply(
	[ sort(words('REGRESS'), 'numbers', 'unloaded') ],
	[ sort(names('sql/*.sql')) ],
	'REGRESS, PRIVATE_REGRESS and UNLOADED_REGRESS name every file of sql/');
is_deeply(
	[ sort(words('ISOLATION')) ],
	[ sort(names('test/isolation/specs/*.spec')) ],
	'ISOLATION names every specification');
# One file may make several programs: test_x and test_x_threads.
is_deeply(
	[ sort(grep { !/_threads$/ } words('UNIT_TESTS')) ],
	[ sort(map { "test/unit/$_" } names('test/unit/test_*.c')) ],
	'UNIT_TESTS names every unit test');
is_deeply(
	[ sort(words('FUZZ_TARGETS')) ],
	[ sort(map { "test/fuzz/$_" } names('test/fuzz/fuzz_*.c')) ],
	'FUZZ_TARGETS names every fuzz target');
is_deeply(
	[ sort(words('OBJS'), words('LIBPQ_OBJS')) ],
	[ sort(map { s/\.c$/.o/r } grep { m{^src/.*\.c$} } @files) ],
	'OBJS and LIBPQ_OBJS name every file of src/');
none('LIBPQ_OBJS are those that include libpq', grep { !m{^src/remote/} } words('LIBPQ_OBJS'));
none('... and no other includes it', grep { m{^src/(?!remote/)} && slurp($_) =~ /libpq-fe\.h/ } @files);

# The head of each file says what it proves, or what it is for.  Inputs and outputs of tests have none.
none('each test and helper begins with a comment',
	grep { m{^(?:test|tools|sql)/} && !m{/(?:corpus|expected|frozen|procedures)/|\.(?:md|json|out)$|/\.npmrc$} && slurp($_) !~ m{\A(?:#!.*\n)?\s*(?:#|//|/\*|--|""")} } @files);
my @listed = map { /^(\S+) +\S/ } split /\n/, `./check --list`;
is_deeply([ sort @listed ], [ sort grep { m{^(?:sql/\w+\.sql|test/(?:isolation/specs/\w+\.spec|unit/test_\w+\.c|fuzz/fuzz_\w+\.c|model/\w+\.pml|(?:\w+/)?\w+\.pl))$} } @files ], './check --list has a sentence of each test');

# ---- What ./check runs ----

# Of test/t a part, the suite glue, and the simulation; and all of some other folders.
my %gate = map { $_ => 1 } words('GLUE_LONG'), words('GLUE'), 'random_fleets';
my $programs = qr/`(?:test\/t\/)?(\w+)(?:\.pl)?`/;
sub is_tested
{
	my ($tests) = @_;
	return $tests =~ m{`(?:sql|test/(?:unit|fuzz|isolation))\b} || grep { $gate{$_} } $tests =~ /$programs/g;
}
none('each program of the gate is there', grep { !-e "test/t/$_.pl" } keys %gate);
# PROMISE | TESTS, for each promise of the page and each rule of segments.
my %proof = map { my ($promises, $tests) = @$_; map { $_ => $tests } $promises =~ /\b[PS]\d\b/g } map { [ /^\| ((?:[PS]\d(?:, )?)+) \|(.*)\|$/ ] } grep { /^\| [PS]\d/ } split /\n/, slurp('test/README.md');
is_deeply([ sort keys %proof ], [ sort(slurp('docs/design/words-and-promises.md') =~ /^- \*\*(P\d) /mg, slurp('docs/design/segments.md') =~ /^\| (S\d) \|/mg) ], 'each promise has its tests');
{
	my ($words) = slurp('docs/design/words-and-promises.md') =~ /^## Words\n(.*?)^## /ms;
	my ($experimental) = slurp('docs/compatibility.md') =~ /^## What is experimental\n(.*?)^## /ms;
	cmp_ok(scalar(map { split /, / } $words =~ /^\| ([^|*]+) \| \S/mg) + grep({ $experimental !~ /\b$_\b/ } keys %proof), '<=', 60, 'the words and the promises that are not experimental are few');
	my %pages = map { $_ => slurp("docs/$_") } $experimental =~ /^\| .* \| \[\w+\]\(([a-z]+\.md)/mg;
	none('... and each page of what is experimental says so', grep { $pages{$_} !~ /\(compatibility\.md#what-is-experimental\)/ } keys %pages);
}
none('... and ./check runs one of them', grep { !is_tested($proof{$_}) } sort keys %proof);
# Of each table of faults one, and what it names exists.
my (%faults, $kind);
foreach (map { split /\n/, slurp($_) } glob('docs/*.md'))
{
	$kind = $1 if /^#+ (.*)/;
	if (/^\| # \| fault \|/) { $faults{$kind} = '' }
	elsif (/^\|.*\|([^|]*)\|$/ && exists $faults{$kind}) { $faults{$kind} .= $1 }
}
cmp_ok(scalar keys %faults, '>=', 3, 'there are faults of several kinds');
none('... and ./check makes some of each', grep { !is_tested($faults{$_}) } sort keys %faults);
none('each program that stands for a promise, or for a fault, exists', grep { !-e "test/t/$_.pl" } map { /$programs/g } values %proof, values %faults);

# "# Promise:" and "# Kills:" at the head of each program of the gate.
my %headless = (attach_late => 1);	# needs 17
sub lacks_head
{
	my ($program) = @_;
	my ($head) = slurp("test/t/$program.pl") =~ /\A((?:#.*\n)*)/;
	my ($promises) = $head =~ /^# Promise: (.+)$/m;
	return 'no promise' unless $promises && ($promises =~ /^none; part: \S/ || !grep({ !exists $proof{$_} } split /, /, $promises));
	my @killed = killed_by($head);
	return @killed ? map { /^(\S+?):? / && named_mutant($_, slurp($1)) ? () : "no such mutant: $_" } @killed : 'no mutant';
}
none('each program of the gate says which promise it stands for, and has a mutant that is there', map { my $program = $_; map { "$program: $_" } lacks_head($program) } sort grep { !$headless{$_} } keys %gate);

# The edition in SQL shares parts of uidgen_tools.  What those call and do not make stands for something of the library's or of another script's, and so does
# all that is made before them.  A line above says for what, and which program tries it like the extension's: test/perl/Twins.pm.
{
	my @shared = split ' ', grab('Makefile', qr/TOOLS_IN_EDITION\) \$\(call parts,tools,([\w ]+)\)/) // '';
	cmp_ok(scalar @shared, '>', 2, 'the edition in SQL shares parts of the tools');
	my $text = join('', map { slurp("script/tools/$_.sql") } @shared) =~ s/^\s*--.*//mgr;
	my $CREATED = qr/^(?:\tCREATE|CREATE) (?:OR REPLACE )?(?:UNLOGGED )?(?:FUNCTION|TABLE|VIEW|SEQUENCE) (?:IF NOT EXISTS )?/m;
	my %shared = map { $_ => 1 } $text =~ /$CREATED[\w@]+\.(\w+)/g;
	my %called = map { $_ => 1 } grep { !$shared{$_} } $text =~ /\b(?:uidgen|uidgen_tools)\.(\w+)/g;
	my $edition = join '', map { slurp($_) } glob('script/sql/*.sql');
	my %made = map { $_ => 1 } $edition =~ /$CREATED\w+\.(\w+)/g;
	my %stand_ins = map { $_ => 1 } grep({ $made{$_} } keys %called), slurp('script/sql/tools_begin.sql') =~ /$CREATED\w+\.(\w+)/g;
	my $library = join '', map { slurp($_) } glob('script/uidgen/*.sql script/tools/*.sql');
	my %programs;
	while ($edition =~ /^\t?-- \[stands for (\w+\.(\w+))(?:\(\))?: (\w+)\]\n(?:\t?--.*\n)*(.*)/mg)
	{
		my ($original, $name, $program, $next) = ($1, $2, $3, $4);
		$programs{$name} = $program if $library =~ /$CREATED\Q$original\E\b/ && $next =~ /$CREATED\w+\.$name\b/;
	}
	is_deeply([ sort keys %programs ], [ sort keys %stand_ins ], '... and each function that stands for one of the extension names that, and a program');
	none('... which runs on both', grep { slurp("test/t/$_.pl") !~ /^foreach (?:my \$kind )?\(kinds\(\)\)$/m } values %programs);
	# A setting, and what is for tables that are tracked.
	none('... and nothing is called that is not there', grep { !$made{$_} && !/^(?:layout|write_mark|write_truncate_trigger)$/ } keys %called);
}

my $packages = eval { JSON::PP->new->utf8->decode(slurp('test/clients/package.json'))->{dependencies} } || {};
foreach ([ 'docs/javascript.md', 'pg', 'drizzle-orm' ], [ 'docs/applications.md', keys %$packages ])
{
	my ($file, @names) = @$_;
	my $page = slurp($file);
	none("$file names the versions that it is tried with", grep { $page !~ /\b\Q@{[ $packages->{$_} || 'none' ]}\E\b/ } @names);
}
unlike(slurp('test/clients/package-lock.json'), qr/"resolved"/, 'packages of npm are not bound to a host');

# The lines of a script are not all in its other outputs, in this order?
sub lacks_lines
{
	my ($out) = @_;
	my ($name) = $out =~ m{([^/]+)_\d\.out$};
	my @found = split /\n/, slurp($out);
	foreach my $line (grep { /./ } split /\n/, slurp("sql/$name.sql"))
	{
		shift @found while @found && $found[0] ne $line;
		return 1 if !@found;
		shift @found;
	}
	return 0;
}
none(
	'outputs that are expected elsewhere, NAME_1.out, are of the present tests',
	grep { lacks_lines($_) } glob('expected/*_[0-9].out'));

my @equivalent = map { [ split /\t/ ] } grep { /^[^#]/ } split /\n/, slurp('tools/mutate/equivalent');
my %mutants;
sub is_mutant
{
	my ($text) = @_;
	my ($file) = $text =~ /^(\S+)/;
	$mutants{$file} //= { map { describe($_) => 1 } -f $file ? mutants_of($file, slurp($file)) : () };
	return $mutants{$file}{$text};
}
none('each line of tools/mutate/equivalent is a mutant of the present sources', grep { !is_mutant($_) } map { "$_->[0] $_->[1]: $_->[2] => $_->[3]" } @equivalent);

# ---- Conventions ----

my $sizes = `$^X test/sizes.pl`;
is($?, 0, 'nothing is larger than test/sizes.pl allows') or diag($sizes);

none('versions of PostgreSQL are looked at in src/compat.h only', grep { $_ ne 'src/compat.h' && slurp($_) =~ /PG_VERSION_NUM/ } grep { m{^src/} } @files);
none('every source file begins with a comment that names it', grep { my ($name) = m{([^/]+)$}; slurp($_) !~ m{\A/\*[-\s*]*\Q$name\E\n} } grep { m{^src/.*\.[ch]$} } @files);

# Plain words: subject first, and no sentence that is read twice.
my %plain = map { $_ => slurp($_) } grep { m{^src/.*\.[ch]$|^script/(?:registry|uidgen)/.*\.sql$} } @files;
my @comments = map { my $file = $_; map { [ $file, $_ ] } grep { defined } $plain{$file} =~ m{/\*(.*?)\*/|((?:^[ \t]*--[^\n]*\n)+)}msg } sort keys %plain;
none('sources and scripts say whose without "that of"', map { my $file = $_; map { "$file: $_" } $plain{$file} =~ /\b(th(?:at|ose)(?:\s|\*|--)+of\b.*)/ig } sort keys %plain);
none('a COMMENT has at most 120 characters', map { my $file = $_; map { "$file: $_" } grep { length > 120 } map { s/''/'/gr } $plain{$file} =~ /^COMMENT ON .*?\sIS\s+'((?:[^']|'')*)';/msg } sort keys %plain);
none("a field's comment does not go on with its name", map { my $file = $_; map { "$file: $_" } $plain{$file} =~ m{^\t.*;\s+/\* ((?:of|that|who|whose|in which|to|was|were)\b.*)}mg } sort keys %plain);
none('a sentence of a comment has at most 25 words', map { my ($file, $text) = @$_; map { "$file: $_" } grep { !/\|/ && split(' ') > 25 } map { split /(?<=[.:;?])\s+/, s/\s+/ /gr } split /\n\s*\n|\n(?=\t\w|\s*-)/, $text =~ s/^[ \t]*(?:\*|--)?//mgr } @comments);

# Rooms: a folder of src/ holds what runs in the same place, and may include what lies
# in these.  Calls go one way, and what callers run never meets what the keeper runs.
my %rooms = (
	core => [],    # C99, without a server
	memory => [qw(core)],    # what callers and keeper share
	link => [qw(core memory)],    # the way to the registry
	ids => [qw(core memory link)],    # callers
	keeper => [qw(core memory link)],    # the background worker
	remote => [qw(core memory link)],    # the library file that needs libpq
	functions => [qw(core memory link ids)]);    # what SQL calls
my @sources = grep { m{^src/.+/.+\.[ch]$} } @files;
is_deeply(
	[ sort keys %rooms ],
	[ sort keys %{ { map { m{^src/(.+)/} ? ($1 => 1) : () } @sources } } ],
	'every folder of src/ is a room');
none(
	'a room includes what lies below it only',
	map {
		my $file = $_;
		my ($room) = $file =~ m{^src/(.+)/};
		my %allowed = map { $_ => 1 } $room, @{ $rooms{$room} || [] };
		map { "$file includes $_" }
		  grep { m{^(\w+)/} && $rooms{$1} && !$allowed{$1} || m{^\w+\.h$} && -f "src/$_" && $_ ne 'compat.h' }
		  slurp($file) =~ /^\s*#\s*include "([^"]+)"/mg;
	} @sources);
none(
	'the core knows the server only where it is compiled for one',
	grep {
		my $text = slurp($_);
		# Such a part begins with #ifndef UIDGEN_STANDALONE, or is its #else.
		$text =~ s/^#ifndef UIDGEN_STANDALONE\n.*?^#endif\n//msg;
		$text =~ s/^#ifdef UIDGEN_STANDALONE\n.*?^#endif\b.*?UIDGEN_STANDALONE.*?\n//msg;
		$text =~ /^\s*#\s*include "(?!core\/)/m;
	} grep { m{^src/core/} } @sources);
none('no trailing blanks, but for what psql prints', grep { !/\.out$/ && slurp($_) =~ /[ \t]$/m } @files);

done_testing();
