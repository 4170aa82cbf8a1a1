/* output.c: files that are written whole or not at all; see output.h. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

nadir_status cli_output_open(cli_run *run, const char *path, cli_output *output)
{
    struct stat facts;
    *output = (cli_output){.path = path};
    if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode)) { /* a device, say, would be gone for good */
        return cli_fail(run, NADIR_ERROR_IO, "%s: cannot write the file: %s stands there", path,
                        S_ISDIR(facts.st_mode) ? "a directory" : "something that is no regular file");
    }
    const int length =
        snprintf(output->temporary, sizeof output->temporary, "%s.%ld.tmp", path, (long)getpid());
    errno = ENAMETOOLONG;
    const int descriptor = length > 0 && (size_t)length < sizeof output->temporary
                               ? open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)
                               : -1;
    output->out = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (output->out != NULL) {
        return NADIR_OK;
    }
    const int error = errno;
    if (descriptor >= 0) {
        close(descriptor);
        (void)unlink(output->temporary);
    }
    return cli_fail(run, NADIR_ERROR_IO, "%s: cannot write the file: %s", path, strerror(error));
}

nadir_status cli_output_close(cli_run *run, cli_output *output)
{
    int error = 0;
    if (fflush(output->out) != 0 || ferror(output->out) != 0 || fsync(fileno(output->out)) != 0) {
        error = errno;
    }
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
