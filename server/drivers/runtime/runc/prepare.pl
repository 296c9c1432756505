# Makes the root file system and the network namespace of one container, in one process: what takes system calls that neither Node nor Debian's
# mount(8) offer. The plan comes on standard input, words ended by NUL, and is carried out as it comes; see prepare.ts. Its last step, `go`, names the
# program that follows in the same process. Dies with a sentence when something cannot be done.
#
# Mount points are walked to without following a symbolic link: what is in a volume was written by its tenants, and must lead nowhere.
use strict;
use warnings;

my %arity = (namespaces => 3, links => 4, overlay => 3, make => 2, mount => 3, 'mount-below' => 4, show => 2);
my ($open_tree, $move_mount, $openat2, $mount_setattr) = (428, 429, 437, 442);
my %old_calls = (x64 => { mount => 165, unshare => 272, setns => 308 }, arm64 => { mount => 40, unshare => 97, setns => 268 });
my $call = $old_calls{ $ARGV[0] } or die "unknown architecture\n";
my ($nosuid_nodev, $read_only, $idmap) = (2 | 4, 1, 0x100000);
my ($clone, $cloexec, $empty_path, $here) = (1, 0x80000, 0x1000, -100);
my ($no_symlinks, $path_only) = (4, 0x200000);
my $private = 1 << 18;
my ($new_user, $new_network, $bind) = (0x10000000, 0x40000000, 4096);
my $empty = '';
my $exists = 17; # EEXIST; asking %! for it would load a module at each start
my ($root, $users);

# The layers are named from the folder that has links to them: what a mount was made by can be read inside.
sub overlay {
    my ($at, $folder, $lower) = @_;
    my ($type, $options) = ('overlay', "lowerdir=$lower");
    chdir $folder or die "$folder: $!\n";
    syscall($call->{mount}, $type, $at, $type, $read_only | $nosuid_nodev, $options) == 0 or die "root: $!\n";
    chdir '/';
    $root = folder($here, $at);
}

# Both namespaces are kept by files, and live without a process. The network belongs to the users, or nobody could be let into it later.
# Ports below 1024 are not special in it: nothing runs there with a capability for them.
sub namespaces {
    my ($first, $users_file, $network_file) = @_;
    pipe(my $said, my $say) and pipe(my $told, my $tell) or die "pipe: $!\n";
    my $pid = fork // die "fork: $!\n";
    if (!$pid) {
        close $tell;
        syscall($call->{unshare}, $new_user) == 0 or die "user namespace: $!\n";
        syswrite $say, '.';
        sysread($told, my $word, 1) or exit 1;
        syscall($call->{unshare}, $new_network) == 0 or die "network namespace: $!\n";
        write_setting('ipv4/ip_unprivileged_port_start', '0');
        write_setting('ipv4/ping_group_range', '0 65535');
        write_setting('ipv6/conf/all/disable_ipv6', '1');
        syswrite $say, '.';
        sysread $told, $word, 1;
        exit 0;
    }
    close $say;
    sysread($said, my $word, 1) or die "no user namespace\n";
    for my $map ('uid_map', 'gid_map') {
        open my $file, '>', "/proc/$pid/$map" or die "$map: $!\n";
        syswrite $file, "0 $first 65536\n" or die "$map: $!\n";
    }
    syswrite $tell, '.';
    sysread($said, $word, 1) or die "no network namespace\n";
    keep("/proc/$pid/ns/user", $users_file);
    keep("/proc/$pid/ns/net", $network_file);
    open $users, '<', $users_file or die "$users_file: $!\n";
    close $tell;
    waitpid $pid, 0;
}

sub keep {
    my ($namespace, $at) = @_;
    open my $file, '>', $at or die "$at: $!\n";
    my $type = '';
    syscall($call->{mount}, $namespace, $at, $type, $bind, $type) == 0 or die "$at: $!\n";
}

sub write_setting {
    my ($setting, $value) = @_;
    open my $file, '>', "/proc/sys/net/$setting" or return;
    syswrite $file, $value;
}

sub folder {
    my ($from, $path) = @_;
    my $how = pack 'QQQ', $path_only | $cloexec, 0, $from == $here ? 0 : $no_symlinks;
    my $fd = syscall($openat2, $from, $path, $how, 24);
    $fd >= 0 or die "$path: $!\n";
    return $fd;
}

# A folder of a volume: on the way to it no link is followed. What is missing is made, and belongs to whom the volume belongs to.
sub below {
    my ($from, $path) = @_;
    my $at = folder($here, $from);
    my ($user, $group) = (stat "/proc/self/fd/$at/.")[4, 5];
    for my $part (split m{/}, $path) {
        my $made = mkdir "/proc/self/fd/$at/$part", 0755;
        $made or $! == $exists or die "$path: $!\n";
        my $next = eval { folder($at, "$part") };
        defined $next && -d "/proc/self/fd/$next/." or die "$path cannot be mounted: $part is not a folder, or a link that leads elsewhere\n";
        chown $user, $group, "/proc/self/fd/$next" if $made;
        $at = $next;
    }
    return $at;
}

sub mount_with {
    my ($from, $at, $flags, $users_fd) = @_;
    my $tree = syscall($open_tree, $here, $from, $clone | $cloexec);
    $tree >= 0 or die "$from: $!\n";
    place_tree($tree, $from, $at, $flags, $users_fd);
}

sub mount_below {
    my ($from, $path, $at, $flags, $users_fd) = @_;
    my $tree = syscall($open_tree, below($from, $path), $empty, $clone | $cloexec | $empty_path);
    $tree >= 0 or die "$path: $!\n";
    place_tree($tree, $path, $at, $flags, $users_fd);
}

sub place_tree {
    my ($tree, $from, $at, $flags, $users_fd) = @_;
    # It must hear of no mount that is made where it comes from.
    my $attributes = pack 'QQQQ', $flags, 0, $private, $users_fd;
    # What is only to be read need not belong to anybody inside, and not every file system can say that it does.
    my $plain = pack 'QQQQ', $flags & ~$idmap, 0, $private, 0;
    syscall($mount_setattr, $tree, $empty, $empty_path, $attributes, 32) == 0
        or ($flags & $read_only) && syscall($mount_setattr, $tree, $empty, $empty_path, $plain, 32) == 0
        or die "$from cannot be mounted for a range of users: $!\n";
    my $to = folder($root, $at);
    syscall($move_mount, $tree, $empty, $to, $empty, 0x44) == 0 or die "$at: $!\n";
}

# How a volume is mounted for the users of the container.
sub for_users { my ($mode) = @_; return $idmap | $nosuid_nodev | ($mode eq 'ro' ? $read_only : 0) }

sub run_ip {
    my ($batch) = @_;
    open my $ip, '|-', 'ip', '-batch', '-' or die "ip: $!\n";
    print $ip $batch;
    close $ip or die "ip could not set up the network\n";
}

sub enter {
    my ($namespace) = @_;
    open my $file, '<', $namespace or die "$namespace: $!\n";
    syscall($call->{setns}, fileno $file, $new_network) == 0 or die "$namespace: $!\n";
}

# While the file systems are mounted, and the container is created: launch.sh waits for the word in the file before it starts it.
sub links {
    my ($outside, $namespace, $inside, $word_file) = @_;
    my $linker = fork // die "fork: $!\n";
    return if $linker;
    my $done = eval { run_ip($outside); enter($namespace); run_ip($inside); 1 };
    print STDERR $@ unless $done;
    open my $file, '>', "$word_file.new" or die "$word_file: $!\n";
    syswrite $file, $done ? 'done' : 'failed';
    rename "$word_file.new", $word_file;
    exit 0;
}

$/ = "\0";
sub word {
    my $word = <STDIN> // die "the plan ended too early\n";
    chomp $word;
    return $word;
}
my %steps = (
    namespaces => \&namespaces, links => \&links, overlay => \&overlay, make => \&below,
    mount => sub { my ($from, $at, $mode) = @_; mount_with($from, $at, for_users($mode), fileno $users) },
    'mount-below' => sub { my ($from, $path, $at, $mode) = @_; mount_below($from, $path, $at, for_users($mode), fileno $users) },
    show => sub { my ($from, $at) = @_; mount_with($from, $at, $nosuid_nodev | $read_only, 0) },
);
while ((my $step = word()) ne 'go') {
    my $arity = $arity{$step} or die "unknown step $step\n";
    $steps{$step}->(map { word() } 1 .. $arity);
}
my @next = map { word() } 1 .. word();
exec @next or die "$next[0]: $!\n";
