/*
 * shim_files.c: calls on files that fail; see shim.h.
 *
 * The C library's streams do not call read and write in a way that another library could see. Streams are
 * therefore made anew, by fopencookie, on top of the calls below; standard output, too. They fail as those
 * of the C library do: a short write is continued, an interrupted one is an error.
 */
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What is known of descriptors. */
enum { DESCRIPTORS = 1024, PATH = 512 };
static char paths[DESCRIPTORS][PATH]; /* "": not watched */

static const char *path_of(int descriptor)
{
    return descriptor >= 0 && descriptor < DESCRIPTORS ? paths[descriptor] : "";
}

static void set_path(int descriptor, const char *path)
{
    if (descriptor >= 0 && descriptor < DESCRIPTORS) {
        (void)snprintf(paths[descriptor], PATH, "%s", path);
    }
}

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool tells_of_machine(const char *path)
{
    return begins(path, "/proc") || begins(path, "/sys") || begins(path, "/dev/") || begins(path, "/etc/") ||
           begins(path, "/usr/") || strstr(path, ".gcda") != NULL;
}

static shim_verdict decide(shim_kind kind, int descriptor)
{
    const char *path = path_of(descriptor);
    return *path != '\0' ? shim_decide(kind, path) : SHIM_PASS;
}

/* ------------------------------------------------------------------------------------------ descriptors */

static int open_file(const char *path, int flags, unsigned mode)
{
    const bool watched = !tells_of_machine(path);
    if (watched && shim_decide(SHIM_OPEN, path) == SHIM_FAIL) {
        return -1;
    }
    const int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    char text[PATH];
    (void)snprintf(text, sizeof text, "%s%s", (flags & O_ACCMODE) == O_RDONLY ? "reading " : "", path);
    set_path(descriptor, watched ? text : "");
    return descriptor;
}

SHIM_PUBLIC int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, unsigned) : 0;
    va_end(arguments);
    return open_file(path, flags, mode);
}

SHIM_PUBLIC int fcntl(int descriptor, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    const bool copies = command == F_DUPFD || command == F_DUPFD_CLOEXEC;
    if (copies && decide(SHIM_OPEN, descriptor) == SHIM_FAIL) {
        return -1;
    }
    const int result = (int)syscall(SYS_fcntl, descriptor, command, argument);
    if (copies && result >= 0) {
        set_path(result, path_of(descriptor));
    }
    return result;
}

/* Linux closes the descriptor whatever it says. */
SHIM_PUBLIC int close(int descriptor)
{
    const shim_verdict verdict = decide(SHIM_CLOSE, descriptor);
    const int error = errno;
    set_path(descriptor, "");
    const int result = (int)syscall(SYS_close, descriptor);
    if (verdict == SHIM_FAIL) {
        errno = error;
        return -1;
    }
    return result;
}

static size_t shorten(shim_verdict verdict, size_t size)
{
    return verdict == SHIM_SHORT && size > 1 ? size / 2 : size;
}

SHIM_PUBLIC ssize_t read(int descriptor, void *buffer, size_t size)
{
    const shim_verdict verdict = decide(SHIM_READ, descriptor);
    if (verdict == SHIM_END) {
        return 0;
    }
    return verdict == SHIM_FAIL ? -1 : syscall(SYS_read, descriptor, buffer, shorten(verdict, size));
}

SHIM_PUBLIC ssize_t pread(int descriptor, void *buffer, size_t size, off_t offset)
{
    const shim_verdict verdict = decide(SHIM_READ, descriptor);
    if (verdict == SHIM_END) {
        return 0;
    }
    return verdict == SHIM_FAIL ? -1
                                : syscall(SYS_pread64, descriptor, buffer, shorten(verdict, size), offset);
}

SHIM_PUBLIC ssize_t write(int descriptor, const void *buffer, size_t size)
{
    const shim_verdict verdict = decide(SHIM_WRITE, descriptor);
    return verdict == SHIM_FAIL ? -1 : syscall(SYS_write, descriptor, buffer, shorten(verdict, size));
}

SHIM_PUBLIC ssize_t pwrite(int descriptor, const void *buffer, size_t size, off_t offset)
{
    const shim_verdict verdict = decide(SHIM_WRITE, descriptor);
    return verdict == SHIM_FAIL ? -1
                                : syscall(SYS_pwrite64, descriptor, buffer, shorten(verdict, size), offset);
}

SHIM_PUBLIC int ftruncate(int descriptor, off_t length)
{
    return decide(SHIM_WRITE, descriptor) == SHIM_FAIL ? -1 : (int)syscall(SYS_ftruncate, descriptor, length);
}

/* Nothing is done: what the process has written the next one reads, and disks are slow. */
SHIM_PUBLIC int fsync(int descriptor)
{
    return decide(SHIM_SYNC, descriptor) == SHIM_FAIL ? -1 : 0;
}

SHIM_PUBLIC int rename(const char *from, const char *to)
{
    return shim_decide(SHIM_RENAME, to) == SHIM_FAIL
               ? -1
               : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* ----------------------------------------------------------------------------------------------- streams */

static FILE *streams[DESCRIPTORS]; /* by descriptor */

static ssize_t stream_read(void *cookie, char *buffer, size_t size)
{
    return read((int)(intptr_t)cookie, buffer, size);
}

static ssize_t stream_write(void *cookie, const char *buffer, size_t size)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t count = write((int)(intptr_t)cookie, buffer + done, size - done);
        if (count < 0) {
            break;
        }
        done += (size_t)count;
    }
    return (ssize_t)done;
}

static int stream_seek(void *cookie, off64_t *offset, int whence)
{
    const off_t place = lseek((int)(intptr_t)cookie, *offset, whence);
    *offset = place;
    return place < 0 ? -1 : 0;
}

static int stream_close(void *cookie)
{
    const int descriptor = (int)(intptr_t)cookie;
    streams[descriptor] = NULL;
    return close(descriptor);
}

SHIM_PUBLIC FILE *fdopen(int descriptor, const char *mode)
{
    const cookie_io_functions_t calls = {stream_read, stream_write, stream_seek, stream_close};
    FILE *stream = descriptor < DESCRIPTORS ? fopencookie((void *)(intptr_t)descriptor, mode, calls) : NULL;
    if (stream != NULL) {
        streams[descriptor] = stream;
    }
    return stream;
}

SHIM_PUBLIC FILE *fopen(const char *path, const char *mode)
{
    const int access = strchr(mode, '+') != NULL ? O_RDWR : *mode == 'r' ? O_RDONLY : O_WRONLY;
    const int creation = *mode == 'r' ? 0 : *mode == 'w' ? O_CREAT | O_TRUNC : O_CREAT | O_APPEND;
    const int descriptor = open_file(path, access | creation | O_CLOEXEC, 0666);
    FILE *stream = descriptor >= 0 ? fdopen(descriptor, mode) : NULL;
    if (stream == NULL && descriptor >= 0) {
        (void)syscall(SYS_close, descriptor);
    }
    return stream;
}

SHIM_PUBLIC FILE *tmpfile(void)
{
    const int descriptor = open_file("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    return descriptor >= 0 ? fdopen(descriptor, "w+") : NULL;
}

SHIM_PUBLIC int fileno(FILE *stream)
{
    for (int i = 0; i < DESCRIPTORS; i++) {
        if (streams[i] == stream) {
            return i;
        }
    }
    void *found = dlsym(RTLD_NEXT, "fileno");
    int (*real)(FILE *);
    memcpy(&real, &found, sizeof real);
    return real(stream);
}

void shim_watch_output(void)
{
    set_path(STDOUT_FILENO, "standard output");
    FILE *stream = fdopen(STDOUT_FILENO, "w");
    if (stream != NULL) {
        stdout = stream;
    }
}
