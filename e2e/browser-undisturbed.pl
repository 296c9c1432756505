#!/usr/bin/perl
# Starts the browser without news of the machine's networks: it gives up a page that it is opening whenever an interface comes or goes, and
# tests beside it make networks all the time. What tells of interfaces is a netlink socket, which is refused here by a seccomp filter.
use strict;
use warnings;
use POSIX ();

my ($architecture) = (POSIX::uname())[4];
my %numbers = (
    x86_64  => { prctl => 157, socket => 41 },
    aarch64 => { prctl => 167, socket => 198 },
);
my $number = $numbers{$architecture} or die "The numbers of system calls of $architecture are not known here.\n";

use constant { NO_NEW_PRIVS => 38, SECCOMP => 22, MODE_FILTER => 2, AF_NETLINK => 16, EAFNOSUPPORT => 97 };
use constant { LOAD => 0x20, JUMP_IF_EQUAL => 0x15, RETURN => 0x06, ALLOW => 0x7fff0000, FAIL => 0x00050000 };
# Where the number of the call and its first argument lie in what the filter is given.
use constant { CALL_AT => 0, FIRST_ARGUMENT_AT => 16 };

my @filter = (
    [LOAD,          0, 0, CALL_AT],
    [JUMP_IF_EQUAL, 0, 3, $number->{socket}],
    [LOAD,          0, 0, FIRST_ARGUMENT_AT],
    [JUMP_IF_EQUAL, 0, 1, AF_NETLINK],
    [RETURN,        0, 0, FAIL | EAFNOSUPPORT],
    [RETURN,        0, 0, ALLOW],
);
my $instructions = join '', map { pack 'SCCL', @$_ } @filter;
my $program      = pack 'S x6 P', scalar @filter, $instructions;

syscall($number->{prctl}, NO_NEW_PRIVS, 1, 0, 0, 0) == 0 or die "prctl: $!\n";
syscall($number->{prctl}, SECCOMP, MODE_FILTER, $program) == 0 or die "seccomp: $!\n";
exec '/usr/bin/chromium', @ARGV or die "chromium: $!\n";
