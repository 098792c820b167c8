# SmallDisk.pm: small disks for a test, each a tmpfs in a namespace of this program, which runs itself anew in it, where
# the machine lets users have namespaces.  Before any other module of the test, since these have state:
#
#	use SmallDisk (data => '16m', wal => '16m');
#	... SmallDisk::path('wal')
#
# Where there are none, the program is skipped; or with the option optional, path() is undefined.
package SmallDisk;

use strict;
use warnings;
use IPC::Run;
use Test::More ();

my $disk;

sub import
{
	my ($class, %sizes) = @_;

	my $optional = delete $sizes{optional};
	$disk = $ENV{UIDGEN_SMALL_DISK};
	return if $disk;
	$disk = ($ENV{TMPDIR} // '/tmp') . "/small_disk.$$";
	mkdir $disk or die "$disk: $!";
	# As root of the one namespace, mount; in the next, be who we are: the server
	# does not run as root.
	my @inside = (
		'unshare', '-Urm', 'sh', '-c',
		join('', map { qq(mkdir -p "\$1/$_" && mount -t tmpfs -o size=$sizes{$_},mode=700 tmpfs "\$1/$_" || exit; ) } sort keys %sizes)
		  . 'shift; exec unshare -U "$@"', 'sh',
		$disk, "--map-user=$>", '--map-group=' . (split ' ', $))[0]);
	if (!IPC::Run::run([ @inside, 'true' ], '>', '/dev/null', '2>&1'))
	{
		undef $disk;
		return if $optional;
		Test::More::plan(skip_all => 'this machine has no namespaces for users');
	}
	$ENV{UIDGEN_SMALL_DISK} = $disk;
	exec @inside, $^X, $0 or die "unshare: $!";
}

# The folder on which the disk of this name is mounted.
sub path
{
	my ($name) = @_;
	return $disk && "$disk/$name";
}

1;
