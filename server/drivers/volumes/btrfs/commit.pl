#!/usr/bin/perl
# Waits until all that was done so far in the btrfs of a folder is on its disk. The command of btrfs-progs would also wait for what everybody is writing there.
use strict;
use warnings;
use Fcntl qw(O_RDONLY O_DIRECTORY);

my ($start_sync, $wait_sync) = (0x80089418, 0x40089416);

my ($folder) = @ARGV;
sysopen my $opened, $folder, O_RDONLY | O_DIRECTORY or die "$folder: $!\n";
my $transaction = pack 'Q<', 0;
ioctl $opened, $start_sync, $transaction or die "START_SYNC: $!\n";
ioctl $opened, $wait_sync, $transaction or die "WAIT_SYNC: $!\n";
