#!/usr/bin/perl
# Tells what is in subvolumes by reading their trees: what all files have on disk, and the tree itself. That takes one call for every few thousand files, opens
# none of them, and follows nothing that a tenant has made.
#
# Arguments: how many seconds it may go on, then for each subvolume its folder and the generation at which it was measured last (0: never).
# Prints for each one that has changed since, until the time is up: which of them it is, the subvolume's id, its generation, its bytes.
use strict;
use warnings;
use Fcntl qw(O_RDONLY O_DIRECTORY);
use Time::HiRes 'time';

my ($inode_item, $extent_item, $root_item, $root_tree, $first_file) = (1, 108, 132, 1, 256);
# An extent that is kept in the tree itself begins with so many bytes about it.
my $inline_head = 21;
my ($search, $lookup) = (0xC0709411, 0xD0009412);
my $room = 2**20;
my $no_more = 2**64 - 1;

my ($seconds, @asked) = @ARGV;
my $deadline = time + $seconds;
for (my $number = 0; @asked; $number++) {
  my ($folder, $known) = splice @asked, 0, 2;
  last if time > $deadline;
  # One that has been removed meanwhile is nobody's.
  sysopen my $opened, $folder, O_RDONLY | O_DIRECTORY or next;
  my ($id, $generation, $tree_bytes) = root_of($opened);
  next if !defined $generation || $generation == $known;
  my $bytes = $tree_bytes + file_bytes($opened);
  print "$number $id $generation $bytes\n";
}

sub root_of {
  my ($opened) = @_;
  my $asking = pack 'Q<Q<x4080', 0, $first_file;
  ioctl $opened, $lookup, $asking or die "INO_LOOKUP: $!\n";
  my ($id) = unpack 'Q<', $asking;
  my @found;
  each_item($opened, $root_tree, $id, $id, sub {
    my ($object, $type, $data) = @_;
    @found = ($id, unpack('x160 Q<', $data), unpack('x192 Q<', $data)) if $type == $root_item;
  });
  return @found;
}

sub file_bytes {
  my ($opened) = @_;
  my $bytes = 0;
  each_item($opened, 0, $first_file, $no_more, sub {
    my ($object, $type, $data) = @_;
    $bytes += unpack 'x24 Q<', $data if $type == $inode_item;
    $bytes -= length($data) - $inline_head if $type == $extent_item && unpack('x20 C', $data) == 0;
  });
  return $bytes;
}

sub each_item {
  my ($opened, $tree, $first, $last, $look) = @_;
  my ($object, $type, $offset) = ($first, 0, 0);
  while (1) {
    my $asking = pack('Q<7 L<4 x32 Q<', $tree, $object, $last, $offset, $no_more, 0, $no_more, $type, 255, 2**32 - 1, 0, $room) . "\0" x $room;
    ioctl $opened, $search, $asking or die "TREE_SEARCH_V2: $!\n";
    my $count = unpack 'x64 L<', $asking;
    return if $count == 0;
    my $at = 112;
    for (1 .. $count) {
      (undef, $object, $offset, $type, my $length) = unpack "x$at Q<3 L<2", $asking;
      $look->($object, $type, substr $asking, $at + 32, $length);
      $at += 32 + $length;
    }
    # The next key there can be.
    if ($offset < $no_more) { $offset++ }
    elsif ($type < 255) { ($type, $offset) = ($type + 1, 0) }
    elsif ($object < $last) { ($object, $type, $offset) = ($object + 1, 0, 0) }
    else { return }
  }
}
