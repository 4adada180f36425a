/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE 1           /* recvmmsg() */
#include <config.h>
#include "count-calls.h"

#include <sys/socket.h>

#include "ovs-atomic.h"

/* The build makes a linker option of each line. */
#define WRAP(NAME) __wrap_##NAME
ssize_t WRAP(sendmsg)(int, const struct msghdr *, int);
ssize_t WRAP(recvmsg)(int, struct msghdr *, int);
int WRAP(recvmmsg)(int, struct mmsghdr *, unsigned int, int,
                   struct timespec *);
ssize_t WRAP(send)(int, const void *, size_t, int);
ssize_t WRAP(recv)(int, void *, size_t, int);
ssize_t __real_sendmsg(int, const struct msghdr *, int);
ssize_t __real_recvmsg(int, struct msghdr *, int);
int __real_recvmmsg(int, struct mmsghdr *, unsigned int, int,
                    struct timespec *);
ssize_t __real_send(int, const void *, size_t, int);
ssize_t __real_recv(int, void *, size_t, int);

static atomic_count n_syscalls = ATOMIC_COUNT_INIT(0);

ssize_t
WRAP(sendmsg)(int fd, const struct msghdr *msg, int flags)
{
    atomic_count_inc(&n_syscalls);
    return __real_sendmsg(fd, msg, flags);
}

ssize_t
WRAP(recvmsg)(int fd, struct msghdr *msg, int flags)
{
    atomic_count_inc(&n_syscalls);
    return __real_recvmsg(fd, msg, flags);
}

int
WRAP(recvmmsg)(int fd, struct mmsghdr *msgs, unsigned int n, int flags,
               struct timespec *timeout)
{
    atomic_count_inc(&n_syscalls);
    return __real_recvmmsg(fd, msgs, n, flags, timeout);
}

ssize_t
WRAP(send)(int fd, const void *data, size_t len, int flags)
{
    atomic_count_inc(&n_syscalls);
    return __real_send(fd, data, len, flags);
}

ssize_t
WRAP(recv)(int fd, void *data, size_t len, int flags)
{
    atomic_count_inc(&n_syscalls);
    return __real_recv(fd, data, len, flags);
}

unsigned int
count_calls(void)
{
    return atomic_count_get(&n_syscalls);
}
