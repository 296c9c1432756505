# Takes the place of a monitor (conmon) that was killed while its container runs on: adds what the container says to its log, as conmon does, waits for
# its end, and then starts it again as launch.sh says. How it ended only its parent could know, so that stays unknown: an empty file.
#
#   monitor.pl <architecture> <bundle> <process of the container, or 0> <token> <restart>
use strict;
use warnings;

my ($architecture, $bundle, $pid, $token, $restart) = @ARGV;
my %old_calls = (x64 => { time => 96 }, arm64 => { time => 169 });
my $call = $old_calls{$architecture} or die "unknown architecture\n";
my $pidfd_open = 434;
my $no_wait = 04000; # O_NONBLOCK
my $log_bytes_max = 8388608; # as launch.sh says it to conmon
my $chunk_bytes = 65536;

$SIG{$_} = 'IGNORE' for qw(HUP INT TERM PIPE);
chdir $bundle or exit 0; # removed meanwhile
my ($name) = $bundle =~ m{([^/]+)$};

sub write_whole {
    my ($path, $text) = @_;
    open my $file, '>', "$path.new" or die "$path: $!\n";
    syswrite $file, $text;
    rename "$path.new", $path;
}

sub now {
    my $time = pack 'qq', 0, 0;
    syscall $call->{time}, $time, 0;
    my ($seconds, $microseconds) = unpack 'qq', $time;
    my ($second, $minute, $hour, $day, $month, $year) = gmtime $seconds;
    return sprintf '%04d-%02d-%02dT%02d:%02d:%02d.%06d000+00:00', $year + 1900, $month + 1, $day, $hour, $minute, $second, $microseconds;
}

# Opened each time: the platform moves the log on.
sub add_lines {
    my ($stream, $said) = @_;
    my $path = 'durable/log';
    open my $log, (-s $path // 0) > $log_bytes_max ? '>' : '>>', $path or return;
    my $at = now();
    my $lines = '';
    # F: a whole line; P: it goes on with what is read next.
    $lines .= "$at $stream " . (/\n$/ ? "F $_" : "P $_\n") for $said =~ /[^\n]*\n|[^\n]+$/g;
    syswrite $log, $lines;
}

# False: there is nothing now, or will be nothing any more.
sub copy_some {
    my ($stream, $pipe) = @_;
    my $count = sysread($pipe, my $said, $chunk_bytes);
    return 0 unless $count;
    add_lines($stream, $said);
    return 1;
}

sub watch {
    my ($process) = @_;
    open my $ended, '<&=', $process or die "pidfd: $!\n";
    my %pipes;
    for my $at ([1, 'stdout'], [2, 'stderr']) {
        sysopen my $pipe, "/proc/$pid/fd/$at->[0]", $no_wait or next;
        $pipes{ $at->[1] } = $pipe if -p $pipe;
    }
    while (1) {
        my $wanted = '';
        vec($wanted, fileno $_, 1) = 1 for $ended, values %pipes;
        select(my $ready = $wanted, undef, undef, undef);
        my $is_over = vec $ready, fileno $ended, 1;
        for my $stream (keys %pipes) {
            next unless $is_over || vec $ready, fileno $pipes{$stream}, 1;
            my $had = copy_some($stream, $pipes{$stream});
            if ($is_over) { 1 while copy_some($stream, $pipes{$stream}) }
            elsif (!$had) { delete $pipes{$stream} } # it has closed it
        }
        return if $is_over;
    }
}

my $process = $pid > 0 ? syscall $pidfd_open, $pid + 0, 0 : -1;
watch($process) if $process >= 0;
write_whole("durable/exit/$name", '') unless -e "durable/exit/$name";
exit 0 if $restart eq 'never';
exec 'sh', '../../launch.sh', 'again', $bundle, $token, $restart;
