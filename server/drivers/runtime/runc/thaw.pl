# Thaws what whoever started it froze and did not thaw itself. Hears on standard input, line by line, of what is frozen and what is thawed again: the word,
# and the file of the control group. When that ends it writes, into each file that is left, what it was given: THAWED, or 0 in version 2.
use strict;
use warnings;

$SIG{$_} = 'IGNORE' for qw(HUP INT TERM);
my ($thawed) = @ARGV;
my %frozen;
while (my $line = <STDIN>) {
    chomp $line;
    my ($state, $file) = split / /, $line, 2;
    if ($state eq 'frozen') { $frozen{$file} = 1 }
    else { delete $frozen{$file} }
}
for my $file (keys %frozen) {
    open my $freezer, '>', $file or next; # gone, with all that was in it
    syswrite $freezer, $thawed;
}
