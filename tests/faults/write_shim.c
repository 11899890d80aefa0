/* Stands before every call by which a process changes a folder (LD_PRELOAD), and at the n-th one ends
 * the process, as `kill -9` does, or has it and all that follow find no room.
 *
 * `write_shim_arm(folder, n, is_full)` begins to count; `write_shim_seen()` says how many there were.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static char below[PATH_MAX];
static long at, seen;
static int full;

void write_shim_arm(const char *folder, long n, int is_full)
{
    strncpy(below, folder, sizeof below - 1);
    at = n;
    full = is_full;
    seen = 0;
}

long write_shim_seen(void)
{
    return seen;
}

/* 0: go on; -1: there is no room. `takes_room`: whether the call may need any. */
static int counted(const char *path, int takes_room)
{
    if (!below[0] || strncmp(path, below, strlen(below)) != 0)
        return 0;
    if (full && !takes_room)
        return 0;
    seen++;
    if (!full && seen == at)
        kill(getpid(), SIGKILL);
    if (full && at && seen >= at) {
        errno = ENOSPC;
        return -1;
    }
    return 0;
}

static int of_file(int file, int takes_room)
{
    char name[64], path[PATH_MAX] = {0};
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    if (readlink(name, path, sizeof path - 1) <= 0)
        return 0;
    return counted(path, takes_room);
}

#define REAL(result, name, ...) ((result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

ssize_t write(int file, const void *bytes, size_t size)
{
    return of_file(file, 1) ? -1 : REAL(ssize_t, "write", int, const void *, size_t)(file, bytes, size);
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t to)
{
    return of_file(file, 1) ? -1 : REAL(ssize_t, "pwrite", int, const void *, size_t, off_t)(file, bytes, size, to);
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t to)
{
    return of_file(file, 1) ? -1 : REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t)(file, bytes, size, to);
}

int ftruncate64(int file, off64_t size)
{
    return of_file(file, 0) ? -1 : REAL(int, "ftruncate64", int, off64_t)(file, size);
}

int fsync(int file)
{
    return of_file(file, 0) ? -1 : REAL(int, "fsync", int)(file);
}

int fdatasync(int file)
{
    return of_file(file, 0) ? -1 : REAL(int, "fdatasync", int)(file);
}

int unlink(const char *path)
{
    return counted(path, 0) ? -1 : REAL(int, "unlink", const char *)(path);
}

int rename(const char *from, const char *to)
{
    return counted(to, 1) ? -1 : REAL(int, "rename", const char *, const char *)(from, to);
}

int link(const char *from, const char *to)
{
    return counted(to, 1) ? -1 : REAL(int, "link", const char *, const char *)(from, to);
}

int mkdir(const char *path, mode_t mode)
{
    return counted(path, 1) ? -1 : REAL(int, "mkdir", const char *, mode_t)(path, mode);
}
