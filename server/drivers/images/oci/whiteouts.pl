# Writes what a layer takes away from those below it as overlayfs reads it: for `.wh.name` a device 0:0 called `name`, and for `.wh..wh..opq` an attribute of
# its folder. Arguments: the architecture, and the folder of the layer. No link is followed. Dies with a sentence when something cannot be done.
use strict;
use warnings;

my ($architecture, $root) = @ARGV;
my %calls = (x64 => { mknodat => 259, lsetxattr => 189 }, arm64 => { mknodat => 33, lsetxattr => 6 });
my $call = $calls{$architecture} or die "unknown architecture\n";
my ($here, $device) = (-100, 0020000);
my ($opaque, $yes) = ('trusted.overlay.opaque', 'y');

my @waiting = ($root);
while (defined(my $folder = pop @waiting)) {
    opendir my $entries, $folder or die "$folder: $!\n";
    my @names = grep { $_ ne '.' && $_ ne '..' } readdir $entries;
    closedir $entries;
    for my $name (@names) {
        my $path = "$folder/$name";
        if ($name !~ /^\.wh\./) {
            push @waiting, $path if !-l $path && -d _;
            next;
        }
        !-l $path && -f _ or die "$name marks something as removed and is no plain file\n";
        unlink $path or die "$name: $!\n";
        if ($name eq '.wh..wh..opq') {
            syscall($call->{lsetxattr}, $folder, $opaque, $yes, 1, 0) == 0 or die "$name: $!\n";
            next;
        }
        my $gone = substr $name, 4;
        # Other names that begin so are notes that some programs leave for themselves.
        next if $gone =~ /^\.wh\./;
        $gone ne '' && $gone ne '.' && $gone ne '..' or die "$name marks nothing that could be removed\n";
        # What the layer has itself under that name is in the place of what is below.
        next if -l "$folder/$gone" || -e _;
        my $at = "$folder/$gone";
        syscall($call->{mknodat}, $here, $at, $device, 0) == 0 or die "$name: $!\n";
    }
}
