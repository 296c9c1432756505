# Opens the edge's ports, and stays as its guard: whatever ends, the listening sockets are held by somebody, so that connections wait instead of being
# refused. Node cannot listen without accepting, hence perl, which is part of every Debian.
#
#   perl launch.pl open <folder> <count> <host> <port>... <next>...    listens on descriptors 3, 4, …; becomes what is next, with them
#   perl launch.pl guard <folder> <main process> <program>...         runs the program, and runs it again when it fails
#
# Next is the guard; as root, sandbox.pl on the way to it.
#
# The main process may be replaced by a successor that it starts itself; the successor says so in the file `main-process`: its number, then its
# program, a word on each line. A main process that is not to be started again writes `stopped` there. SIGTERM is passed on; SIGHUP makes the guard
# the one of the successor's version.
use strict;
use warnings;
use POSIX ();
use Socket qw(:DEFAULT getaddrinfo AI_PASSIVE AI_NUMERICHOST);

my $backlog = 4096;
my $failed_soon_seconds = 5;
my $delay_seconds_max = 10;

my ($step, $folder, @rest) = @ARGV;
$step eq 'open' ? open_ports(@rest) : guard(@rest);

sub open_ports {
    my ($count, @words) = @_;
    my @listening = map { listen_on(splice @words, 0, 2) } 1 .. $count;
    my $duplicate = 0; # F_DUPFD: first above those that may be in the way
    my @high = map { fcntl($_, $duplicate, 100) // die "descriptors: $!\n" } @listening;
    for my $index (0 .. $#high) {
        POSIX::dup2($high[$index], 3 + $index) or die "descriptors: $!\n";
        POSIX::close($high[$index]);
    }
    exec @words or die "$words[0]: $!\n";
}

sub listen_on {
    my ($host, $port) = @_;
    my ($failed, $found) = getaddrinfo($host, $port, { flags => AI_PASSIVE | AI_NUMERICHOST, socktype => SOCK_STREAM });
    die "$host is not an address: $failed\n" if $failed;
    socket(my $socket, $found->{family}, SOCK_STREAM, 0) or die "socket: $!\n";
    setsockopt($socket, SOL_SOCKET, SO_REUSEADDR, 1) or die "socket: $!\n";
    bind($socket, $found->{addr}) && listen($socket, $backlog) or die "cannot listen on $host port $port: $!\n";
    return $socket;
}

sub guard {
    my ($main, @program) = @_;
    be_parent_of_orphans();
    $ENV{OFFSHOOT_EDGE_SECRET} //= new_secret();
    write_file('guard-process', "$$\n");
    $main = 0 unless $main && kill 0, $main;
    my $is_ending = 0;
    $SIG{TERM} = $SIG{INT} = sub { $is_ending = 1; kill 'TERM', $main if $main };
    $SIG{HUP} = sub { become_newer_guard(announced($main, @program)) };
    POSIX::sigprocmask(POSIX::SIG_UNBLOCK(), POSIX::SigSet->new(POSIX::SIGHUP()));
    my ($failures, $started) = (-1, 0);
    until ($is_ending && !$main) {
        if (!$main) {
            $started = time;
            $main = run(@program);
        }
        my $ended = waitpid -1, 0;
        sleep 1 if $ended < 0; # the main process is not our child: its parent, which was, has been killed this very moment
        ($main, @program) = announced($main, @program);
        exit 0 if $main eq 'stopped';
        next if $ended != $main && kill 0, $main;
        exit 0 if $is_ending;
        print STDERR "edge: the main process $main has ended and is started again\n";
        $failures = time - $started < $failed_soon_seconds ? $failures + 1 : 0;
        sleep($failures < 4 ? $failures : $delay_seconds_max);
        $main = 0;
    }
    exit 0;
}

# What an earlier one announced must not be taken for the word of this one.
sub run {
    my @program = @_;
    unlink "$folder/main-process";
    my $pid = fork // die "fork: $!\n";
    return $pid if $pid;
    exec @program or die "$program[0]: $!\n";
}

sub announced {
    my ($main, @program) = @_;
    open my $file, '<', "$folder/main-process" or return ($main, @program);
    chomp(my ($pid, @its_program) = <$file>);
    return defined $pid ? ($pid, @its_program) : ($main, @program);
}

# For whoever finds an edge that does not answer.
sub write_file {
    my ($name, $text) = @_;
    open my $file, '>', "$folder/$name" or die "$folder/$name: $!\n";
    syswrite $file, $text;
}

# Shared by all processes of the edge, and kept on no disk (edge-secret.ts).
sub new_secret {
    open my $random, '<:raw', '/dev/urandom' or die "/dev/urandom: $!\n";
    (read($random, my $bytes, 32) // 0) == 32 or die "/dev/urandom: $!\n";
    return unpack 'H*', $bytes;
}

# While the signal is handled another is blocked, and stays so in what we become until that can handle it.
sub become_newer_guard {
    my ($main, @program) = @_;
    my ($main_file) = grep { m{/main\.ts$} } @program;
    exec $^X, $main_file =~ s{[^/]+$}{launch.pl}r, 'guard', $folder, $main, @program or die "$main_file: $!\n";
}

# A successor whose parent has ended becomes our child.
sub be_parent_of_orphans {
    my $prctl = (POSIX::uname())[4] eq 'x86_64' ? 157 : 167;
    my $set_child_subreaper = 36;
    syscall($prctl, $set_child_subreaper, 1, 0, 0, 0) == 0 or die "prctl: $!\n";
}
