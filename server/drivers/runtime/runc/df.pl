# What `df` says inside of a container. The kernel answers for a volume as for the whole pool that it is on: with the pool's size, and with what everybody has on it.
# So Debian's df finds the mounts, by all of its own rules, and the lines of volumes are told with their sizes and what is in them, as the machine has
# written them down. What a program asks the kernel itself stays the pool's.
use strict;
use warnings;
use Getopt::Long qw(GetOptionsFromArray :config bundling no_ignore_case permute pass_through);

my ($told_file, $program) = ('/.offshoot/names/disks', '/usr/bin/df');
my @given = @ARGV;
my %is;
my @passed;
my $unit = $ENV{DF_BLOCK_SIZE} // $ENV{BLOCK_SIZE} // $ENV{BLOCKSIZE} // (exists $ENV{POSIXLY_CORRECT} ? '512' : 'K1');
my @unknown = @ARGV;
GetOptionsFromArray(
  \@unknown,
  'a|all' => sub { push @passed, '-a' }, 'l|local' => sub { push @passed, '-l' },
  'sync' => sub { push @passed, '--sync' }, 'no-sync' => sub { }, 'v' => sub { },
  't|type=s' => sub { push @passed, '-t', $_[1] }, 'x|exclude-type=s' => sub { push @passed, '-x', $_[1] },
  'B|block-size=s' => sub { $unit = $_[1] }, 'k' => sub { $unit = 'K1' }, 'm' => sub { $unit = 'M1' },
  'h|human-readable' => sub { $unit = 'human-readable' }, 'H|si' => sub { $unit = 'si' },
  'P|portability' => \$is{portable}, 'T|print-type' => \$is{typed}, 'total' => \$is{total}, 'output:s' => \$is{output},
);
my @paths = grep { $_ ne '--' } @unknown;
my $amount = amounts($unit);
# What is not ours to answer, or wrong, Debian's df answers: inodes, which nobody counts, `--help`, and options that there are not.
asis() if !$amount || grep { /^-./ } @paths;

my %headers = (
  source => 'Filesystem', fstype => 'Type', itotal => 'Inodes', iused => 'IUsed', iavail => 'IFree', ipcent => 'IUse%', size => $amount->{header},
  used => 'Used', avail => 'Avail', pcent => 'Use%', file => 'File', target => 'Mounted on',
);
my %widths = (source => 14, fstype => 4, pcent => 4, ipcent => 4, file => 0, target => 0);
my %is_text = map { $_ => 1 } qw(source fstype file target);
my @columns = columns();
asis() if grep { !exists $headers{$_} } @columns;

my @rows = rows();
my $code = $? >> 8;
push @rows, total(@rows) if $is{total};
show(@rows) if @rows;
exit $code;

sub asis { exec { $program } 'df', @given or die "df: $!\n" }

sub columns {
  if (defined $is{output}) { return split /,/, $is{output} || 'source,fstype,itotal,iused,iavail,ipcent,size,used,avail,pcent,file,target' }
  $headers{avail} = 'Available' unless $amount->{is_short};
  $headers{pcent} = 'Capacity' if $is{portable};
  return ('source', $is{typed} ? 'fstype' : (), qw(size used avail pcent target));
}

# By Debian's df, in bytes; a path that is not there it has complained about itself.
sub rows {
  local $ENV{LC_ALL} = 'C';
  my @names = qw(source fstype itotal iused iavail ipcent size used avail pcent target);
  my @lines = told_by('-B1', '--output=' . join(',', @names));
  my @files = (grep { $_ eq 'file' } @columns) ? told_by('--output=file') : ();
  my $volumes = volumes();
  return map {
    my %row;
    @row{@names} = /^(.*?)\s+(\S+)\s+(-?\d+|-)\s+(-?\d+|-)\s+(-?\d+|-)\s+(\d+%|-)\s+(-?\d+|-)\s+(-?\d+|-)\s+(-?\d+|-)\s+(\d+%|-)\s(.*)$/;
    $row{file} = shift @files // '-';
    measured(\%row, $volumes->{ $row{target} });
  } @lines;
}

sub told_by {
  # Under its own name, which its complaints begin with.
  my $pid = open(my $said, '-|') // die "df: $!\n";
  exec { $program } 'df', @_, @passed, '--', @paths or die "df: $!\n" unless $pid;
  my @lines = <$said>;
  close $said;
  chomp @lines;
  shift @lines;
  return @lines;
}

# By mount point: which volume that is, how large it may be and what is in it.
sub volumes {
  my %told;
  if (open my $file, '<', $told_file) { /^(\S+) (\d+) (\d+)$/ and $told{$1} = [$2, $3] while <$file> }
  open my $mounts, '<', '/proc/self/mountinfo' or return {};
  my %found;
  while (<$mounts>) {
    my (undef, undef, undef, $root, $at, $options) = split / /;
    my ($name) = $root =~ m{/volumes/([a-z0-9-]+)/data(?:/|$)};
    $at =~ s/\\([0-7]{3})/chr oct $1/ge;
    delete $found{$at};
    $found{$at} = { name => $name, size => $told{$name}[0], used => $told{$name}[1], is_sealed => $options =~ /^ro\b/ }
      if defined $name && $told{$name};
  }
  return \%found;
}

# There is no more room in a volume than on its pool. What nobody can write to is full.
sub measured {
  my ($row, $volume) = @_;
  return $row unless $volume;
  my ($size, $used) = @$volume{qw(size used)};
  $size = $used if $volume->{is_sealed};
  my $left = $size > $used ? $size - $used : 0;
  my $avail = $row->{avail} =~ /^\d+$/ && $row->{avail} < $left ? $row->{avail} : $left;
  return { %$row, source => $volume->{name}, size => $size, used => $used, avail => $avail, pcent => percent($used, $avail) };
}

sub percent {
  my ($used, $avail) = @_;
  return $used + $avail > 0 ? ceiling(100 * $used / ($used + $avail)) . '%' : '-';
}

sub ceiling { my ($value) = @_; return int($value) < $value ? int($value) + 1 : int $value }

sub total {
  my %sum = (source => 'total', map { $_ => '-' } qw(fstype itotal iused iavail ipcent file target));
  for my $column (qw(size used avail)) { $sum{$column} = 0; /^\d+$/ and $sum{$column} += $_ for map { $_->{$column} } @_ }
  return { %sum, pcent => percent(@sum{qw(used avail)}) };
}

# How amounts are told: the header, and a function from bytes to text. Undefined: no size that we know.
sub amounts {
  my ($unit) = @_;
  return { header => 'Size', is_short => 1, text => sub { human($_[0], 1024, 'K') } } if $unit =~ /^human/;
  return { header => 'Size', is_short => 1, text => sub { human($_[0], 1000, 'k') } } if $unit eq 'si';
  my ($number, $letter, $decimal) = $unit =~ /^(\d*)([KMGTP]?)(?:iB|(B))?$/i or $unit eq 'K1' || $unit eq 'M1' or return;
  ($number, $letter) = (1, substr $unit, 0, 1) if $unit =~ /^[KM]1$/;
  my $power = $letter ? 1 + index('KMGTP', uc $letter) : 0;
  my $bytes = ($number eq '' ? 1 : $number) * ($decimal ? 1000 : 1024)**$power;
  return if $bytes < 1 || ($number eq '' && !$letter);
  my $suffix = $number eq '' ? uc($letter) . ($decimal ? 'B' : '') : '';
  my $called = $is{portable} && $bytes >= 1 ? "$bytes-blocks" : named($bytes) . '-blocks';
  return { header => $called, text => sub { ceiling($_[0] / $bytes) . $suffix } };
}

sub named {
  my ($bytes) = @_;
  my $power = 0;
  while ($power < 5 && $bytes >= 1024 && $bytes % 1024 == 0) { $bytes /= 1024; $power++ }
  return $bytes . ($power ? substr 'KMGTP', $power - 1, 1 : $bytes == 1 || $bytes == 512 ? 'B' : '');
}

# Rounded up, with one decimal below ten, as GNU's programs do.
sub human {
  my ($value, $base, $kilo) = @_;
  my @letters = ('', $kilo, qw(M G T P E));
  my $power = 0;
  while ($value >= $base && $power < $#letters) { $value /= $base; $power++ }
  my $tenths = ceiling($value * 10);
  return sprintf '%.1f%s', $tenths / 10, $letters[$power] if $power && $tenths < 100;
  my $whole = ceiling($value);
  return $whole < $base || $power == $#letters ? "$whole$letters[$power]" : "1.0$letters[$power + 1]";
}

sub show {
  my @table = ([map { $headers{$_} } @columns]);
  for my $row (@_) {
    push @table, [map { /^(?:size|used|avail)$/ && $row->{$_} =~ /^\d+$/ ? $amount->{text}->($row->{$_}) : $row->{$_} } @columns];
  }
  for my $index (0 .. $#columns) {
    my $width = $widths{ $columns[$index] } // 5;
    for (@table) { $width = length $_->[$index] if length $_->[$index] > $width }
    my $side = $is_text{ $columns[$index] } ? '-' : '';
    $_->[$index] = sprintf "%$side${width}s", $_->[$index] for @table;
  }
  for (@table) { (my $line = join ' ', @$_) =~ s/\s+$//; print "$line\n" }
}
