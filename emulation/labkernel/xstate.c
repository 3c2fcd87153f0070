/*
 * ptrace() for linux.uml on processors with a large extended state; preloaded into its process, never into the guest.
 *
 * The lab kernel (6.1) has room for 2,696 bytes of a process's extended state (NT_X86_XSTATE: x87, vector registers,
 * protection keys).  With AMX the host's is 11,008 bytes, and the host takes a whole area only, else EFAULT: the lab
 * kernel panics before its first command.  So its small area is laid over the beginning of the whole one.  What lies
 * behind stays as it is in the traced process; the guest does not know of it, so it cannot miss it.
 *
 * No header and no start-up code, so that tcc needs no libc to build it:  tcc -shared -nostdlib -o FILE.so xstate.c
 */
#ifndef __x86_64__
#error "user-mode Linux is made for x86-64 only"
#endif

typedef unsigned long size_t;

struct iovec {
  void *base;
  size_t length;
};

enum { SYS_PTRACE = 101 };
enum { PEEKTEXT = 1, PEEKUSER = 3, GETREGSET = 0x4204, SETREGSET = 0x4205, XSTATE = 0x202 };

extern long syscall(long number, ...);
extern void *memcpy(void *to, const void *from, size_t count);
extern int *__errno_location(void);

/* Not on the stack: a kernel stack of user-mode Linux has 16 KiB.  Only one thread of linux.uml traces processes. */
static char whole[65536];

static long set_or_get(int request, int pid, struct iovec *small) {
  struct iovec area = {whole, sizeof whole};
  size_t count;
  if (syscall(SYS_PTRACE, (long)GETREGSET, (long)pid, (long)XSTATE, &area) < 0)
    return -1;
  count = small->length < area.length ? small->length : area.length;
  if (request == SETREGSET) {
    memcpy(whole, small->base, count);
    return syscall(SYS_PTRACE, (long)SETREGSET, (long)pid, (long)XSTATE, &area);
  }
  memcpy(small->base, whole, count);
  small->length = count;
  return 0;
}

long ptrace(int request, int pid, void *address, void *data) {
  long word = 0;
  if ((request == GETREGSET || request == SETREGSET) && (long)address == XSTATE)
    return set_or_get(request, pid, data);
  if (request < PEEKTEXT || request > PEEKUSER)
    return syscall(SYS_PTRACE, (long)request, (long)pid, address, data);
  /* The system call writes the word to memory; the function of the C library returns it, which may look like -1. */
  if (syscall(SYS_PTRACE, (long)request, (long)pid, address, &word) < 0)
    return -1;
  *__errno_location() = 0;
  return word;
}
