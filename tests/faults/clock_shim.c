/* Stands before clock_gettime and adjtimex (LD_PRELOAD): the wall clock is as far off as a file says.
 *
 * CLOCK_SHIM_CONTROL names that file. It holds "SECONDS" or "SECONDS synchronised"; without the word
 * the kernel says that no time service keeps the clock. It is read at every call. No other clock is
 * touched.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

static void read_order(char *order, size_t size)
{
    const char *control = getenv("CLOCK_SHIM_CONTROL");
    int file = control ? open(control, O_RDONLY | O_CLOEXEC) : -1;
    memset(order, 0, size);
    if (file < 0)
        return;
    if (read(file, order, size - 1) < 0)
        order[0] = 0;
    close(file);
}

int clock_gettime(clockid_t which, struct timespec *into)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(which, into);
    if (result == 0 && which == CLOCK_REALTIME) {
        char order[64];
        read_order(order, sizeof order);
        into->tv_sec += strtol(order, NULL, 10);
    }
    return result;
}

int adjtimex(struct timex *ignored)
{
    char order[64];
    (void)ignored;
    read_order(order, sizeof order);
    return strstr(order, "synchronised") ? TIME_OK : TIME_ERROR;
}
