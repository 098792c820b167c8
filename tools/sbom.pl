# tools/sbom.pl
#	  What a release is made of, as SPDX 2.3 in JSON: the files of the zip, with their checksums, and what they need to run.
#	  There is no more to tell: no file is copied from another project, and no package is downloaded to build it.
#
# tools/dist.sh calls it.  All of it comes from the commit, so that it has the same bytes each time.
#
# Usage: perl tools/sbom.pl TAR-OF-THE-COMMIT ZIP >uidgen-VERSION.spdx.json
use strict;
use warnings;

use Archive::Tar;
use Digest::SHA;
use File::Basename 'basename';
use JSON::PP;
use POSIX 'strftime';

my ($tar, $zip) = @ARGV;
my ($commit, $time) = split / /, `git log -1 --format='%H %ct' HEAD`;
my %content = map { $_->full_path =~ s{^[^/]*/}{}r => $_->get_content // '' } grep { $_->is_file } Archive::Tar->new($tar)->get_files;
my $meta = decode_json($content{'META.json'});
my ($version, $source) = ($meta->{version}, $meta->{resources}{repository}{web});
my $spdx_id = sub { 'SPDXRef-' . $_[0] =~ s/[^A-Za-z0-9.]/-/gr };

my @files = map { {
	fileName => "./$_",
	SPDXID => $spdx_id->("File-$_"),
	checksums => [ map { { algorithm => "SHA$_->[0]", checksumValue => $_->[1] } } [ 1, Digest::SHA::sha1_hex($content{$_}) ], [ 256, Digest::SHA::sha256_hex($content{$_}) ] ],
	licenseConcluded => 'PostgreSQL',
	licenseInfoInFiles => ['NOASSERTION'],
	copyrightText => 'NOASSERTION',
} } sort keys %content;

# Two names can become one identifier.
my %taken;
$_->{SPDXID} .= $taken{ $_->{SPDXID} }++ ? '-' . $taken{ $_->{SPDXID} } : '' foreach @files;

my $uidgen = {
	name => 'uidgen',
	SPDXID => 'SPDXRef-uidgen',
	versionInfo => $version,
	packageFileName => basename($zip),
	checksums => [ { algorithm => 'SHA256', checksumValue => Digest::SHA->new(256)->addfile($zip, 'b')->hexdigest } ],
	supplier => "Organization: $meta->{maintainer}",
	downloadLocation => "git+$source.git\@$commit",
	homepage => $source,
	filesAnalyzed => JSON::PP::true,
	packageVerificationCode => { packageVerificationCodeValue => Digest::SHA::sha1_hex(join '', sort map { $_->{checksums}[0]{checksumValue} } @files) },
	licenseConcluded => 'PostgreSQL',
	licenseDeclared => 'PostgreSQL',
	licenseInfoFromFiles => ['NOASSERTION'],
	copyrightText => $content{LICENSE} =~ /^((?:Portions )?Copyright .*)$/m ? "$1" : 'NOASSERTION',
	summary => $meta->{abstract},
	externalRefs => [ { referenceCategory => 'PACKAGE-MANAGER', referenceType => 'purl', referenceLocator => 'pkg:github/' . $source =~ s{^https://github\.com/}{}r . "\@v$version" } ],
};

# What is there already where it runs.
my @needed = map { {
	name => $_->[0],
	SPDXID => $spdx_id->($_->[0]),
	comment => $_->[1],
	downloadLocation => 'https://www.postgresql.org/ftp/source/',
	filesAnalyzed => JSON::PP::false,
	licenseConcluded => 'PostgreSQL',
	licenseDeclared => 'PostgreSQL',
	copyrightText => 'NOASSERTION',
} }
  [ 'postgresql', "the server that loads it, version $meta->{prereqs}{runtime}{requires}{PostgreSQL} or later" ],
  [ 'libpq', 'linked with uidgen_libpq alone, which a node of a fleet loads' ];

print JSON::PP->new->canonical->pretty->encode({
	spdxVersion => 'SPDX-2.3',
	dataLicense => 'CC0-1.0',
	SPDXID => 'SPDXRef-DOCUMENT',
	name => "uidgen-$version",
	documentNamespace => "$source/spdx/uidgen-$version-$commit",
	creationInfo => { created => strftime('%Y-%m-%dT%H:%M:%SZ', gmtime $time), creators => [ 'Tool: tools/sbom.pl', "Organization: $meta->{maintainer}" ] },
	packages => [ $uidgen, @needed ],
	files => \@files,
	relationships => [
		{ spdxElementId => 'SPDXRef-DOCUMENT', relationshipType => 'DESCRIBES', relatedSpdxElement => 'SPDXRef-uidgen' },
		(map { { spdxElementId => 'SPDXRef-uidgen', relationshipType => 'DEPENDS_ON', relatedSpdxElement => $_->{SPDXID} } } @needed),
		(map { { spdxElementId => 'SPDXRef-uidgen', relationshipType => 'CONTAINS', relatedSpdxElement => $_->{SPDXID} } } @files),
	],
});
