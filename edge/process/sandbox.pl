# The sandbox that the edge runs in: it sees only what it may serve and what it is made of, and its rights end there. Node has no system call for any of
# this, hence perl. For root; dies with a sentence where it cannot be made.
#
#   perl sandbox.pl enter <version> <users> <count> <how> <path>... <program>...    makes one, and becomes the program inside
#   perl sandbox.pl show <process> <count> <how> <path>...                          shows the sandbox of that process what it does not see yet
#
# - The file system has nothing but what is shown, under the paths that it has outside; %shown says how. The kernel follows no link in what tenants write.
# - Files of applications belong to many users, so two capabilities are needed to read them and to connect to their sockets. They are held in a user
#   namespace alone, and what is shown is mounted so that its owners are users of that namespace: nobody else's file knows these capabilities.
# - A file system that cannot be mounted so leaves them to be held on the machine. Then the view is what keeps the edge to what it may serve, and the
#   system calls that reach around a view are refused; they are in any case.
#
# The mounts are of this namespace alone, so that nothing stays mounted when the last process of the edge has ended.
use strict;
use warnings;
use POSIX ();

my ($nosuid, $nodev, $noexec, $read_only, $nosymfollow, $idmap) = (2, 4, 8, 1, 0x200000, 0x100000);
my %shown = (
    serve  => { attributes => $read_only | $nosuid | $nodev | $noexec | $nosymfollow, users => 'needed' },
    keep   => { attributes => $nosuid | $nodev | $noexec | $nosymfollow, users => 'needed' },
    run    => { attributes => $read_only | $nosuid | $nodev, users => 'wished' },
    system => { attributes => $read_only | $nosuid | $nodev, users => 'none' },
    device => { attributes => $read_only | $nosuid | $noexec, users => 'none' },
);
my $setpriv = '/usr/bin/setpriv';
# Programs are Debian's, with all they need in these folders; names of other hosts are asked for as the machine does.
my %of_system = (
    system => [
        '/lib', '/lib64', '/usr/lib', '/usr/lib64', $setpriv, $^X,
        map { "/etc/$_" } qw(ld.so.cache resolv.conf hosts nsswitch.conf host.conf gai.conf),
    ],
    device => [map { "/dev/$_" } qw(null zero random urandom)],
);
my $version_file = 'sandbox-version';
# As on the disk, from 0; on the machine behind the users of all networks (slots.ts), where nobody is.
my ($first_user, $users_count) = (0x30000000, 65536);
my $capabilities = '+dac_read_search,+dac_override';

my $is_x64 = (POSIX::uname())[4] eq 'x86_64';
my ($mount, $unmount, $pivot_root, $unshare, $setns, $prctl, $seccomp) =
    $is_x64 ? (165, 166, 155, 272, 308, 157, 317) : (40, 39, 41, 97, 268, 167, 277);
my ($open_tree, $move_mount, $mount_setattr) = (428, 429, 442);
my ($new_mounts, $new_users) = (0x20000, 0x10000000);
my ($here, $clone, $close_on_exec, $empty_path) = (-100, 1, 0x80000, 0x1000);
my $empty = '';

# What mounts, enters namespaces, opens files by number instead of by path, or looks into other processes; and what only widens the way to the kernel.
my @refused = (
    425, 428 .. 433, 438, 442, 467, # io_uring_setup, open_tree to fspick, pidfd_getfd, mount_setattr, open_tree_attr
    $is_x64
    # ptrace, pivot_root, chroot, mount, umount2, init_module, delete_module, kexec_load, add_key, request_key, keyctl, unshare, perf_event_open,
    # name_to_handle_at, open_by_handle_at, setns, process_vm_readv, process_vm_writev, finit_module, kexec_file_load, bpf, userfaultfd
    ? (101, 155, 161, 165, 166, 175, 176, 246, 248 .. 250, 272, 298, 303, 304, 308, 310, 311, 313, 320, 321, 323)
    : (117, 41, 51, 40, 39, 105, 106, 104, 217 .. 219, 97, 241, 264, 265, 268, 270, 271, 273, 294, 280, 282),
);

my ($step, @words) = @ARGV;
$step eq 'enter' ? enter(@words) : show(@words);

sub enter {
    my ($version, $user_names, @rest) = @_;
    my @places = places(\@rest);
    my ($uid, $gid) = user_of($user_names);
    my $users = user_namespace();
    my @mounts = eval { map { mounted($_, $users) } @places };
    if (chomp(my $reason = $@)) {
        print STDERR "edge: $reason; its sandbox has no users of its own\n";
        $users = undef;
        @mounts = map { mounted($_, undef) } @places;
    }
    call('mounts of our own', $unshare, $new_mounts);
    make_root($version, @mounts);
    become_user_of($users) if defined $users;
    refuse_calls();
    my @become = defined $uid ? ("--reuid=$uid", "--regid=$gid", '--clear-groups') : ();
    exec $setpriv, @become, "--inh-caps=-all,$capabilities", "--ambient-caps=-all,$capabilities", "--bounding-set=-all,$capabilities", '--no-new-privs',
        '--', @rest or die "$setpriv: $!\n";
}

# Takes them from the beginning of the words.
sub places {
    my ($words) = @_;
    my @told = map { { how => $words->[2 * $_], path => $words->[2 * $_ + 1] } } 0 .. shift(@$words) - 1;
    splice @$words, 0, 2 * @told;
    my @system = map { my $how = $_; map { { how => $how, path => $_ } } grep { -e } @{ $of_system{$how} } } sort keys %of_system;
    my %seen;
    return grep { !$seen{ $_->{real} }++ || $_->{path} ne $_->{real} } map { { %$_, real => real_path($_->{path}) } } @told, @system;
}

# The first of the names that exists; without any it is root, with as little.
sub user_of {
    my ($user) = grep { defined getpwnam $_ } split /,/, $_[0];
    return defined $user ? (getpwnam $user)[2, 3] : ();
}

sub real_path {
    my ($path) = @_;
    sysopen my $file, $path, 0x200000 or die "$path: $!\n"; # O_PATH
    return readlink '/proc/self/fd/' . fileno $file;
}

# Held by the descriptor that is answered. Nothing inside may make another one.
sub user_namespace {
    pipe(my $said, my $say) and pipe(my $told, my $tell) or die "pipe: $!\n";
    my $pid = fork // die "fork: $!\n";
    if (!$pid) {
        close $tell;
        call('users of our own', $unshare, $new_users);
        write_file('/proc/sys/user/max_user_namespaces', '0');
        syswrite $say, '.';
        sysread $told, my $word, 1;
        POSIX::_exit(0);
    }
    close $say;
    sysread($said, my $word, 1) or die "no users of our own\n";
    write_file("/proc/$pid/$_", "0 $first_user $users_count\n") for 'uid_map', 'gid_map';
    open my $users, '<', "/proc/$pid/ns/user" or die "users of our own: $!\n";
    close $tell;
    waitpid $pid, 0;
    return $users;
}

sub write_file {
    my ($path, $text) = @_;
    open my $file, '>', $path or die "$path: $!\n";
    defined syswrite $file, $text or die "$path: $!\n";
}

# A mount that is nowhere yet.
sub mounted {
    my ($place, $users) = @_;
    my ($how, $path) = ($shown{ $place->{how} }, $place->{real});
    my $tree = call($path, $open_tree, $here, $path, $clone | $close_on_exec);
    my $found = { %$place, tree => $tree };
    my $plain = pack 'QQQQ', $how->{attributes}, 0, 0, 0;
    if (defined $users && $how->{users} ne 'none') {
        my $for_users = pack 'QQQQ', $how->{attributes} | $idmap, 0, 0, fileno $users;
        return $found if syscall($mount_setattr, $tree, $empty, $empty_path, $for_users, 32) == 0;
        die "$path is on a file system that cannot be mounted for users of a namespace: $!\n" if $how->{users} eq 'needed';
    }
    call($path, $mount_setattr, $tree, $empty, $empty_path, $plain, 32);
    return $found;
}

# It is made over /run, which is there on every machine, and then becomes all there is.
sub make_root {
    my ($version, @mounts) = @_;
    my ($type, $options, $processes, $hidden, $at, $root) = ('tmpfs', 'mode=755,size=1m', 'proc', 'hidepid=2', '/run', '/');
    my ($recursive, $private, $detach) = (0x4000, 0x40000, 2);
    call('/', $mount, $empty, $root, $empty, $recursive | $private, $empty);
    call($at, $mount, $type, $at, $type, $nosuid | $nodev | $noexec, $options);
    mkdir "$at/proc";
    call('/proc', $mount, $processes, "$at/proc", $processes, $nosuid | $nodev | $noexec | $read_only, $hidden);
    write_file("$at/$version_file", $version);
    place($at, $_) for by_depth(@mounts);
    chdir $at or die "$at: $!\n";
    my $itself = '.';
    call('the root', $pivot_root, $itself, $itself);
    call('the root', $unmount, $itself, $detach);
    chdir $root or die "$root: $!\n";
    set_root_read_only();
}

sub by_depth { return sort { length $a->{real} <=> length $b->{real} } @_ }

# Where a path has links outside, it is one here.
sub place {
    my ($root, $mount) = @_;
    my ($path, $real) = @$mount{ 'path', 'real' };
    make_folders($root, $real =~ s{[^/]+$}{}r);
    my $at = "$root$real";
    if (-d "/proc/self/fd/$mount->{tree}/.") { mkdir $at unless -d $at }
    elsif (!-e $at) { write_file($at, '') }
    call($at, $move_mount, $mount->{tree}, $empty, $here, $at, 4); # F_EMPTY_PATH
    POSIX::close($mount->{tree});
    return if $path eq $real;
    make_folders($root, $path =~ s{[^/]+$}{}r);
    -e "$root$path" || -l "$root$path" || symlink $real, "$root$path" or die "$path: $!\n";
}

sub make_folders {
    my ($at, $path) = @_;
    for my $part (grep { length } split m{/}, $path) {
        $at .= "/$part";
        -d $at || mkdir $at or die "$at: $!\n";
    }
}

sub set_root_read_only { set_root($nosuid | $nodev | $noexec | $read_only, 0) }
sub set_root {
    my ($set, $clear) = @_;
    my ($root, $attributes) = ('/', pack 'QQQQ', $set, $clear, 0, 0);
    call('the root', $mount_setattr, $here, $root, 0, $attributes, 32);
}

# All capabilities, until they are given up, but in the namespace alone.
sub become_user_of {
    my ($users) = @_;
    call('users of our own', $setns, fileno $users, $new_users);
    $) = '0 0';
    POSIX::setgid(0) && POSIX::setuid(0) or die "users of our own: $!\n";
}

sub refuse_calls {
    my ($load, $is, $is_from, $return, $denied, $allowed) = (0x20, 0x15, 0x35, 0x06, 0x50001, 0x7fff0000);
    my @checks = map { [$is, $_] } @refused;
    push @checks, [$is_from, 0x40000000] if $is_x64; # the same calls by other numbers
    my $left = @checks;
    my $filter = join '', map { pack 'SCCL', @$_ } (
        [$load, 0, 0, 4], [$is, 0, $left + 2, $is_x64 ? 0xc000003e : 0xc00000b7], [$load, 0, 0, 0],
        (map { [$_->[0], $left--, 0, $_->[1]] } @checks), [$return, 0, 0, $allowed], [$return, 0, 0, $denied],
    );
    my $program = pack 'Sx6P', length($filter) / 8, $filter;
    my ($no_new_privileges, $set_filter, $as_fast_as_without) = (38, 1, 4);
    call('system calls', $prctl, $no_new_privileges, 1, 0, 0, 0);
    call('system calls', $seccomp, $set_filter, $as_fast_as_without, $program);
}

# What is there already is left alone, as requests are served from it; what has changed its place on disk is shown over what was there.
sub show {
    my ($process, @rest) = @_;
    my @missing = grep { identity($_->{real}) ne identity("/proc/$process/root$_->{real}") } places(\@rest);
    return if !@missing;
    my ($users, $view) = map { namespace_of($process, $_) } 'user', 'mnt';
    my @mounts = map { mounted($_, $users) } @missing;
    call('the sandbox', $setns, fileno $view, $new_mounts);
    set_root(0, $read_only);
    place('', $_) for by_depth(@mounts);
    set_root_read_only();
}

# Undefined where it is ours.
sub namespace_of {
    my ($process, $kind) = @_;
    return undef if readlink("/proc/$process/ns/$kind") eq readlink("/proc/self/ns/$kind");
    open my $namespace, '<', "/proc/$process/ns/$kind" or die "process $process: $!\n";
    return $namespace;
}

sub identity { my ($device, $file) = stat $_[0]; return defined $device ? "$device:$file" : '' }

sub call {
    my ($what, @call) = @_;
    my $result = syscall($call[0], @call[1 .. $#call]);
    $result >= 0 or die "$what: $!\n";
    return $result;
}
