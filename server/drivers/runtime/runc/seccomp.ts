/**
 * The system calls a container may make: the list that Podman and Docker allow by default (containers/common, seccomp.json), without what
 * needs a capability, what makes or enters namespaces and mounts, and the calls of 32-bit programs, which cannot run. All others answer
 * "not implemented", on which programs fall back to older calls; for clone3 that is wanted, as its flags, unlike those of clone, cannot be
 * looked at.
 */
const allowed = `
  accept accept4 access alarm arch_prctl bind brk cachestat capget capset chdir chmod chown clock_getres clock_gettime clock_nanosleep
  close close_range connect copy_file_range creat dup dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait
  epoll_pwait2 epoll_wait epoll_wait_old eventfd eventfd2 execve execveat exit exit_group faccessat faccessat2 fadvise64 fallocate
  fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fork fremovexattr fsetxattr fstat fstatfs
  fsync ftruncate futex futex_requeue futex_wait futex_waitv futex_wake futimesat get_mempolicy get_robust_list get_thread_area getcpu
  getcwd getdents getdents64 getegid geteuid getgid getgroups getitimer getpeername getpgid getpgrp getpid getppid getpriority getrandom
  getresgid getresuid getrlimit getrusage getsid getsockname getsockopt gettid gettimeofday getuid getxattr inotify_add_watch
  inotify_init inotify_init1 inotify_rm_watch io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit ioprio_get ioprio_set
  kill landlock_add_rule landlock_create_ruleset landlock_restrict_self lchown lgetxattr link linkat listen listxattr llistxattr
  lremovexattr lseek lsetxattr lstat madvise map_shadow_stack mbind membarrier memfd_create mincore mkdir mkdirat mknod mknodat mlock
  mlock2 mlockall mmap mprotect mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink mremap msgctl msgget msgrcv
  msgsnd msync munlock munlockall munmap nanosleep newfstatat open openat openat2 pause pidfd_open pidfd_send_signal pipe pipe2
  pkey_alloc pkey_free pkey_mprotect poll ppoll prctl pread64 preadv preadv2 prlimit64 process_mrelease process_vm_readv
  process_vm_writev pselect6 ptrace pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv recvfrom recvmmsg recvmsg
  remap_file_pages removexattr rename renameat renameat2 restart_syscall rmdir rseq rt_sigaction rt_sigpending rt_sigprocmask
  rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min
  sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam
  sched_setscheduler sched_yield seccomp select semctl semget semop semtimedop sendfile sendmmsg sendmsg sendto set_mempolicy
  set_mempolicy_home_node set_robust_list set_thread_area set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid
  setpriority setregid setresgid setresuid setreuid setrlimit setsid setsockopt setuid setxattr shmat shmctl shmdt shmget shutdown
  sigaltstack signalfd signalfd4 socket socketpair splice stat statfs statx symlink symlinkat sync sync_file_range syncfs sysinfo tee
  tgkill time timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime
  times tkill truncate umask uname unlink unlinkat utime utimensat utimes vfork wait4 waitid write writev
`;

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const newNamespaceFlags = 0x7e020000;
const notImplemented = 38;
/** Linux, 32-bit Linux, and with the randomisation of addresses switched off, which debuggers ask for; the last one only asks. */
const personalities = [0x0, 0x8, 0x20000, 0x20008, 0xffffffff];
/** Programs of 32 bits cannot run: each further architecture would have to be looked at in every call, and at every start. */
const architectures: Partial<Record<NodeJS.Architecture, string[]>> = { x64: ['SCMP_ARCH_X86_64'], arm64: ['SCMP_ARCH_AARCH64'] };

/** The file system's own requests, by the second byte of their number: with them a volume could be made inside a volume, beyond its limit. */
const btrfsRequests = 0x94;
/** Three of them are everybody's: sharing blocks between files (FICLONE, FICLONERANGE, FIDEDUPERANGE). */
const sharingRequests = [0x40049409, 0x4020940d, 0xc0189436];

const allow = 'SCMP_ACT_ALLOW';

/** Conditions can only be added up, so for each bit of that byte one rule allows all requests in which the bit differs. */
const ioctls = [
  ...Array.from({ length: 8 }, (_, bit) => ({
    index: 1,
    value: 0x100 << bit,
    valueTwo: ~(btrfsRequests << 8) & (0x100 << bit),
    op: 'SCMP_CMP_MASKED_EQ',
  })),
  ...sharingRequests.map((value) => ({ index: 1, value, op: 'SCMP_CMP_EQ' })),
].map((condition) => ({ action: allow, names: ['ioctl'], args: [condition] }));

export const seccompProfile = {
  defaultAction: 'SCMP_ACT_ERRNO',
  defaultErrnoRet: notImplemented,
  architectures: architectures[process.arch] ?? [],
  syscalls: [
    { action: allow, names: allowed.trim().split(/\s+/) },
    { action: allow, names: ['clone'], args: [{ index: 0, value: newNamespaceFlags, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }] },
    ...ioctls,
    ...personalities.map((value) => ({ action: allow, names: ['personality'], args: [{ index: 0, value, op: 'SCMP_CMP_EQ' }] })),
  ],
};

const makingNamespaces = `
  chroot fsconfig fsmount fsopen fspick mount mount_setattr move_mount name_to_handle_at open_tree setdomainname sethostname umount2
`;
/** CLONE_NEWUSER and CLONE_NEWNET: with users or a network of its own, a build would have every capability there, and the parts of the kernel that these lead to. */
const closedNamespaces = 0x10000000 | 0x40000000;
const openNamespaces = { index: 0, value: closedNamespaces, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' };

/**
 * For containers that build images: mounts and namespaces of their own, within their own range of users. Not pivot_root: the root that it would have them leave
 * behind cannot be let go of by them, so that builders have to fall back to chroot.
 */
export const nestedProfile = {
  ...seccompProfile,
  syscalls: [
    ...seccompProfile.syscalls,
    { action: allow, names: makingNamespaces.trim().split(/\s+/) },
    { action: allow, names: ['clone', 'unshare'], args: [openNamespaces] },
  ],
};
