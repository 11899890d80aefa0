/* Notes each address beyond this machine that a process calls, looks up or sends to, and refuses it.
   SOCKET_SHIM_NOTES names the file; each line is the call and the address. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void note(const char *call, const char *address) {
    const char *path = getenv("SOCKET_SHIM_NOTES");
    char line[512];
    int length = snprintf(line, sizeof line, "%s %s\n", call, address);
    int file = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (file < 0)
        return;
    if (write(file, line, (size_t)length) != length)
        abort(); /* a note that is lost would look like silence */
    close(file);
}

/* 1 where the address leaves this machine; then it is noted. */
static int leaves(const char *call, const struct sockaddr *to) {
    char name[INET6_ADDRSTRLEN] = "";
    if (to == NULL)
        return 0;
    if (to->sa_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)to;
        unsigned first = ntohl(four->sin_addr.s_addr) >> 24;
        if (first == 127 || first == 0)
            return 0;
        inet_ntop(AF_INET, &four->sin_addr, name, sizeof name);
    } else if (to->sa_family == AF_INET6) {
        const struct in6_addr *six = &((const struct sockaddr_in6 *)to)->sin6_addr;
        if (IN6_IS_ADDR_LOOPBACK(six) || IN6_IS_ADDR_UNSPECIFIED(six))
            return 0;
        if (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == 127)
            return 0;
        inet_ntop(AF_INET6, six, name, sizeof name);
    } else {
        return 0;
    }
    note(call, name);
    errno = ENETUNREACH;
    return 1;
}

int connect(int fd, const struct sockaddr *to, socklen_t size) {
    static int (*real)(int, const struct sockaddr *, socklen_t);
    if (leaves("connect", to))
        return -1;
    if (real == NULL)
        real = (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect");
    return real(fd, to, size);
}

ssize_t sendto(int fd, const void *data, size_t length, int flags, const struct sockaddr *to,
               socklen_t size) {
    static ssize_t (*real)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
    if (leaves("sendto", to))
        return -1;
    if (real == NULL)
        real = (ssize_t(*)(int, const void *, size_t, int, const struct sockaddr *,
                           socklen_t))dlsym(RTLD_NEXT, "sendto");
    return real(fd, data, length, flags, to, size);
}

int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                struct addrinfo **found) {
    static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    unsigned char address[sizeof(struct in6_addr)];
    if (host != NULL && strcmp(host, "localhost") != 0 && inet_pton(AF_INET, host, address) != 1 &&
        inet_pton(AF_INET6, host, address) != 1) {
        note("getaddrinfo", host);
        return EAI_AGAIN;
    }
    if (real == NULL)
        real = (int (*)(const char *, const char *, const struct addrinfo *,
                        struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo");
    return real(host, port, hints, found);
}
