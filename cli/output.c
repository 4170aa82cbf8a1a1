/* output.c: files that are written whole or not at all; see output.h. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Creates the temporary file; a process that was killed may have left one of the same name. Returns errno. */
static int create(cli_output *output)
{
    enum { ATTEMPTS = 1000 };
    int error = EEXIST;
    for (int attempt = 0; attempt < ATTEMPTS && (error == EEXIST || error == EINTR); attempt++) {
        const int length = snprintf(output->temporary, sizeof output->temporary, "%s.%ld-%d.tmp",
                                    output->path, (long)getpid(), attempt);
        if (length < 0 || (size_t)length >= sizeof output->temporary) {
            return ENAMETOOLONG;
        }
        output->descriptor = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        error = output->descriptor < 0 ? errno : 0;
    }
    return error;
}

/* The C library's own streams give up when a signal cuts a write short: these do not. */
static ssize_t write_all(void *cookie, const char *bytes, size_t size)
{
    cli_output *output = cookie;
    size_t done = 0;
    while (done < size) {
        const ssize_t count = write(output->descriptor, bytes + done, size - done);
        if (count == 0 || (count < 0 && errno != EINTR)) {
            errno = count == 0 ? ENOSPC : errno;
            output->error = output->error != 0 ? output->error : errno;
            break;
        }
        done += count > 0 ? (size_t)count : 0;
    }
    return (ssize_t)done;
}

/* Linux has closed the descriptor when a signal cuts the call short. */
static int close_file(void *cookie)
{
    const cli_output *output = cookie;
    return close(output->descriptor) == 0 || errno == EINTR ? 0 : -1;
}

nadir_status cli_output_open(cli_run *run, const char *path, cli_output *output)
{
    struct stat facts;
    *output = (cli_output){.path = path, .descriptor = -1};
    if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode)) { /* a device, say, would be gone for good */
        return cli_fail(run, NADIR_ERROR_IO, "%s: cannot write the file: %s stands there", path,
                        S_ISDIR(facts.st_mode) ? "a directory" : "something that is no regular file");
    }
    int error = create(output);
    if (error == 0) {
        output->out =
            fopencookie(output, "w", (cookie_io_functions_t){.write = write_all, .close = close_file});
        error = output->out == NULL ? errno : 0;
    }
    if (error == 0) {
        return NADIR_OK;
    }
    if (output->descriptor >= 0) {
        close(output->descriptor);
        (void)unlink(output->temporary);
    }
    return cli_fail(run, error == ENOMEM ? NADIR_ERROR_MEMORY : NADIR_ERROR_IO,
                    "%s: cannot write the file: %s", path, strerror(error));
}

/* Returns errno. */
static int sync_file(int descriptor)
{
    int result;
    do {
        result = fsync(descriptor);
    } while (result != 0 && errno == EINTR);
    return result != 0 ? errno : 0;
}

nadir_status cli_output_close(cli_run *run, cli_output *output)
{
    int error = fflush(output->out) != 0 ? errno : 0;
    error = output->error != 0 ? output->error : error != 0 ? error : sync_file(output->descriptor);
    if (fclose(output->out) != 0 && error == 0) {
        error = errno;
    }
    output->out = NULL;
    if (error == 0 && rename(output->temporary, output->path) != 0) {
        error = errno;
    }
    if (error != 0) {
        (void)unlink(output->temporary);
        return cli_fail(run, NADIR_ERROR_IO, "%s: cannot write the file: %s", output->path, strerror(error));
    }
    return NADIR_OK;
}

void cli_output_drop(cli_output *output)
{
    (void)fclose(output->out);
    output->out = NULL;
    (void)unlink(output->temporary);
}
