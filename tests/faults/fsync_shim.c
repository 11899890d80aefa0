/* Stands before fsync and fdatasync (LD_PRELOAD) and makes them slow, or fail, as a file says.
 *
 * FSYNC_SHIM_CONTROL names that file. It holds "delay MILLISECONDS", "fail", or nothing, and is read
 * at every call, so that a test can change its mind while the process runs. A sync that fails does
 * not write anything: like a disk that is gone.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* 0: go on with the real call; -1: fail. */
static int misbehave(void)
{
    char order[64] = {0};
    const char *control = getenv("FSYNC_SHIM_CONTROL");
    int file = control ? open(control, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return 0;
    ssize_t length = read(file, order, sizeof order - 1);
    close(file);
    if (length > 0 && strncmp(order, "fail", 4) == 0) {
        errno = EIO;
        return -1;
    }
    if (length > 0 && strncmp(order, "delay ", 6) == 0) {
        long milliseconds = strtol(order + 6, NULL, 10);
        struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
        while (nanosleep(&left, &left) != 0 && errno == EINTR)
            ;
    }
    return 0;
}

static int real(const char *name, int file)
{
    int (*call)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    return call(file);
}

int fsync(int file)
{
    return misbehave() != 0 ? -1 : real("fsync", file);
}

int fdatasync(int file)
{
    return misbehave() != 0 ? -1 : real("fdatasync", file);
}
