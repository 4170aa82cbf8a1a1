/* files.c: whether files that are read or written meet; see files.h. */
#include "files.h"

#include <errno.h>
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
