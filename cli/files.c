/* files.c: the files that a command reads and writes; see files.h. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void cli_files_read(cli_files *files, const char *path)
{
    if (path != NULL && files->inputs < CLI_FILES_READ) {
        files->input[files->inputs++] = path;
    }
}

void cli_files_write(cli_files *files, const char *path)
{
    if (path != NULL && files->outputs < CLI_FILES_WRITTEN) {
        files->output[files->outputs++] = path;
    }
}

void cli_files_read_model(cli_files *files, const char *path, const nadir_read_settings *reading)
{
    cli_files_read(files, path);
    cli_files_read(files, reading->rewards);
    cli_files_read(files, reading->labels);
    cli_files_read(files, reading->initial);
}

void cli_files_read_ball(cli_files *files, const cli_ball *ball)
{
    cli_files_read(files, ball->radius_text);
    cli_files_read(files, ball->scales_path);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The folder that a path leads to, and the name there. */
static bool split(const char *path, char folder[PATH_MAX], const char **name)
{
    const char *slash = strrchr(path, '/');
    const size_t length = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    *name = path + length;
    if (length >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    (void)snprintf(folder, PATH_MAX, "%.*s", length > 0 ? (int)length : 1, length > 0 ? path : ".");
    return true;
}

static bool find_folder(const char *path, struct stat *folder, const char **name)
{
    char text[PATH_MAX];
    return split(path, text, name) && stat(text, folder) == 0;
}

/* Whether two paths lead to one file, be it there yet or not. */
static bool meet(const char *a, const char *b)
{
    struct stat facts[2];
    const char *names[2];
    const bool there[2] = {stat(a, &facts[0]) == 0, stat(b, &facts[1]) == 0};
    if (there[0] && there[1]) {
        return is_same(&facts[0], &facts[1]);
    }
    return !there[0] && !there[1] && find_folder(a, &facts[0], &names[0]) &&
           find_folder(b, &facts[1], &names[1]) && is_same(&facts[0], &facts[1]) &&
           strcmp(names[0], names[1]) == 0;
}

nadir_status cli_files_check(cli_run *run, const cli_files *files)
{
    for (int i = 0; i < files->outputs; i++) {
        const char *path = files->output[i];
        for (int j = 0; j < files->inputs; j++) {
            if (meet(path, files->input[j])) {
                return cli_fail(run, NADIR_ERROR_ARGUMENT,
                                "%s is read, and would be written over; write to another file", path);
            }
        }
        for (int j = 0; j < i; j++) {
            if (meet(path, files->output[j])) {
                return cli_fail(run, NADIR_ERROR_ARGUMENT,
                                "%s would be written twice; write to different files", path);
            }
        }
    }
    return NADIR_OK;
}

nadir_status cli_files_check_format(cli_run *run, const char *path)
{
    const char *format;
    return path != NULL ? nadir_write_format(run->context, path, &format) : NADIR_OK;
}

nadir_status cli_files_check_folders(cli_run *run, const cli_files *files)
{
    for (int i = 0; i < files->outputs; i++) {
        char folder[PATH_MAX];
        const char *name;
        struct stat facts;
        if (stat(files->output[i], &facts) == 0 && S_ISDIR(facts.st_mode)) {
            return cli_fail(run, NADIR_ERROR_IO, "%s: cannot write the file: a directory stands there",
                            files->output[i]);
        }
        if (!split(files->output[i], folder, &name) || access(folder, W_OK | X_OK) != 0) {
            return cli_fail(run, NADIR_ERROR_IO, "%s: cannot write the file: %s", files->output[i],
                            strerror(errno));
        }
    }
    return NADIR_OK;
}

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
