/* SPDX-License-Identifier: Apache-2.0 */

/* The first process of a kernel that has what its root file system needs in
 * modules: loads the files in /modules in the order of their names, mounts the
 * root as a kernel with all of it built in would do, and goes on with "init="
 * of the kernel's command line. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char cmdline[4096];

/* The kernel panics when its first process ends, and the lab shows that. */
static void
die(const char *what)
{
    fprintf(stderr, "initramfs: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void
check(const char *what, int result)
{
    if (result < 0) {
        die(what);
    }
}

static void
mount_at(const char *dir, const char *source, const char *type,
         unsigned long flags, const char *options)
{
    mkdir(dir, 0755);
    check(dir, mount(source, dir, type, flags, options));
}

static void
read_cmdline(void)
{
    int fd = open("/proc/cmdline", O_RDONLY);
    ssize_t n;

    check("/proc/cmdline", fd);
    n = read(fd, cmdline, sizeof cmdline - 1);
    check("/proc/cmdline", (int) n);
    cmdline[strcspn(cmdline, "\n")] = '\0';
    close(fd);
}

/* The value of 'name', with its "=", on the command line. */
static char *
parameter(const char *name)
{
    for (char *p = cmdline; (p = strstr(p, name)); p++) {
        if (p == cmdline || p[-1] == ' ') {
            p += strlen(name);
            return strndup(p, strcspn(p, " "));
        }
    }
    errno = EINVAL;
    die(name);
    return NULL;
}

static void
load_modules(void)
{
    struct dirent **files;
    int n = scandir("/modules", &files, NULL, alphasort);

    check("/modules", n);
    check("/modules", chdir("/modules"));
    for (int i = 0; i < n; i++) {
        const char *name = files[i]->d_name;
        int fd;

        if (name[0] == '.') {
            continue;
        }
        fd = open(name, O_RDONLY | O_CLOEXEC);
        check(name, fd);
        check(name, (int) syscall(SYS_finit_module, fd, "", 0));
        close(fd);
    }
}

int
main(void)
{
    char *init[] = { NULL, NULL };
    int console;

    mount_at("/dev", "devtmpfs", "devtmpfs", 0, NULL);
    console = open("/dev/console", O_RDWR);
    for (int fd = 0; fd < 3; fd++) {
        dup2(console, fd);
    }
    mount_at("/proc", "proc", "proc", 0, NULL);
    read_cmdline();
    load_modules();
    mount_at("/root", parameter("root="), parameter("rootfstype="), MS_RDONLY,
             parameter("rootflags="));
    init[0] = parameter("init=");
    umount2("/proc", MNT_DETACH);
    umount2("/dev", MNT_DETACH);
    check("chdir", chdir("/root"));
    check("moving the root", mount(".", "/", NULL, MS_MOVE, NULL));
    check("chroot", chroot("."));
    check("chdir", chdir("/"));
    execv(init[0], init);
    die(init[0]);
}
